"""
Rows of hard recordings of the slider-crank: rank, errors in stated standard errors, CPU time.

    python benchmark/slider_crank_rows.py [ROW ...] [--seeds 10]

Markers by hand (test/oracles/seen_slider_crank.py), 6 s at 240 Hz: 0.3 mm with a fifth unseen;
0.5 mm from a camera of unknown pose that drifts, pins exchanged and readings astray.  A minute
with an IMU and clocks that drift (test/oracles/clocks_slider_crank.py).  A crank at constant
speed, encoder and torque with the paper's noise, whose own inertia no torque shows.  Some five
seconds a recording.
"""

import argparse
from dataclasses import replace
import os
import pathlib
import sys
import time

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

import clocks_slider_crank as clocks  # noqa: E402
import numpy as np  # noqa: E402
import seen_slider_crank as seen  # noqa: E402
import slider_crank_lagrangian as oracle  # noqa: E402
import slider_crank_runs  # noqa: E402

from ros_inertial_id.identification.identify import identify  # noqa: E402

CAMERA = (0.8, -1.2, 0.5, 2.2, -0.4, 1.9)
OTHER_CAMERA = (-0.9, -0.7, 0.8, 1.1, 0.6, -2.4)
POINTS = (seen.CRANK, seen.SLIDER)
ALL = (*POINTS, seen.TAG)


def steady(t):
    """Return a crank at 9 rad/s."""
    return 9.0 * t, np.full_like(t, 9.0), np.zeros_like(t)


def occluded(seed, topics=POINTS):
    """Return the Recording of markers of which a fifth is not seen, and options."""
    return (seen.recording(seed, dict.fromkeys(topics, seen.four_of_five)),
            replace(seen.OPTIONS, markers=seen.LINES[:len(topics)]))


def mixed_up(seed):
    """Return the same with more noise, exchanges, outliers, drift and an unknown camera."""
    made = seen.recording(seed, dict.fromkeys(ALL, seen.four_of_five), 0.02, CAMERA, 5e-4, 2e-3)
    return made, replace(seen.OPTIONS, markers=seen.LINES, find_camera=True, marker_noise=5e-4)


def two_cameras(seed, faster=0.0, duration=seen.DURATION):
    """Return markers of two cameras at unknown places, the second 12.3 ms late, and options."""
    made = seen.of_two_cameras(seed, CAMERA, OTHER_CAMERA, {seen.CRANK: seen.always}, 0.0123, 0.3,
                               faster, seen=dict.fromkeys((seen.SLIDER, seen.TAG), seen.always),
                               duration=duration)
    return made, replace(seen.OPTIONS, markers=seen.LINES, find_camera=True, cameras=(seen.CRANK,))


def drifting(seed, torque=0.0, imu=None, rate=240.0, duration=60.0):
    """Return a minute of markers, torque and IMU with drifting clocks [s per s], and options."""
    made = clocks.recording(
        seed, duration, clocks.Clock(rate), None if imu is None else clocks.Clock(200, 2e-3, imu),
        clocks.Clock(1000, 5e-3, torque))
    return made, replace(seen.OPTIONS, markers=seen.LINES,
                         imus=() if imu is None else (f'{clocks.IMU} rod_imu',))


ROWS = {
    'points 0.3 mm, 20 % unseen': occluded,
    'points and tag 0.3 mm, 20 % unseen': lambda seed: occluded(seed, ALL),
    '0.5 mm, exchanges, outliers, drift, unknown camera': mixed_up,
    'two cameras, both unknown, one 12.3 ms late': two_cameras,
    'two cameras for 20 s': lambda seed: two_cameras(seed, 0.0, 20.0),
    'two cameras for 20 s, one 100 ppm fast': lambda seed: two_cameras(seed, 1e-4, 20.0),
    '60 s, torque 5 ms late': drifting,
    '60 s, torque 100 ppm fast': lambda seed: drifting(seed, 1e-4),
    '60 s, 120 Hz and IMU': lambda seed: drifting(seed, imu=0.0, rate=120.0),
    '60 s, 120 Hz and IMU 100 ppm fast': lambda seed: drifting(seed, imu=1e-4, rate=120.0),
    '5 s, 120 Hz and IMU': lambda seed: drifting(seed, imu=0.0, rate=120.0, duration=5.0),
    'constant speed': lambda seed: (
        slider_crank_runs.recording(steady, duration=4.0, seed=seed), slider_crank_runs.OPTIONS),
}


def errors(model):
    """Return the errors of what is determined, in standard errors."""
    return np.array([(e['value'] - oracle.BASE[e['name']]) / e['standard_error']
                     for e in model.base if e['determined']])


def main():
    """Print a line a row."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('rows', nargs='*', metavar='ROW', help=f'part of: {"; ".join(ROWS)}')
    parser.add_argument('--seeds', type=int, default=10)
    arguments = parser.parse_args()
    print('| recording | rank | z rms, largest | standard errors of I1, m1X1, I2, m2X2 [%] | '
          'CPU [s] |\n| --- | --- | --- | --- | --- |')
    for name, row in ROWS.items():
        if arguments.rows and not any(word in name for word in arguments.rows):
            continue
        ranks, z, stated, spent = set(), [], [], []
        for seed in range(30, 30 + arguments.seeds):
            made, options = row(seed)
            start = time.process_time()
            model = identify([made], options, method='closed_loop').model
            spent.append(time.process_time() - start)
            ranks.add(model.statistics['rank_in_data'])
            z.append(errors(model))
            sizes = {e['name']: e['standard_error'] for e in model.base}
            stated.append([100 * (sizes[n] or np.nan) / oracle.BASE[n] for n in oracle.FOUR])
        z = np.concatenate(z)
        sizes = ' '.join(f'{x:.2f}' for x in np.median(stated, axis=0))
        print(f'| {name} | {" ".join(map(str, sorted(ranks)))} | {np.sqrt((z ** 2).mean()):.2f} '
              f'{np.abs(z).max():.2f} | {sizes} | {min(spent):.1f} to {max(spent):.1f} |',
              flush=True)


if __name__ == '__main__':
    main()
