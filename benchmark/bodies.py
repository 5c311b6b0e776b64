"""
Accuracy of what cameras, wrench sensors, springs and gravity show, against models written here.

    python benchmark/bodies.py [occluded astray still still-instrumental coils leg
        gravity-250 gravity-500 elastic-ridge elastic-weighted] [--seeds 10]

Nothing but Recordings and the verbs' functions is taken from the package; the models are MJCF text
in four_bar.py, still_chain.py and coil_platform.py (the leg: rigs/simulation/platform.py), closed
forms in passive_joints.py.  Prints rank, error in standard errors and CPU time of every seed, up
to thirty seconds each.

occluded : a four-bar, two pins seen with 0.3 mm, each hidden in a fifth of the frames
astray : with a tag, 0.5 mm, a twentieth of the frames exchanged and of the readings anywhere, the
    camera somewhere and creeping by 1 mm
still : three bodies between two wrench sensors, of which the first never turns; by both estimators
coils : 52 kg on a platform that hangs on coil springs, calibrated empty and with 2, 5 or 52 kg
leg : three links on a platform
gravity : a slider-crank that swings freely, encoder of 0.1 mrad at 250 and 500 Hz
elastic : a series-elastic joint with two encoders, by both estimators
"""

import argparse
import os
import pathlib
import sys
import time

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

from body_recordings import SYMBOLS  # noqa: E402
import coil_platform  # noqa: E402
import four_bar  # noqa: E402
import numpy as np  # noqa: E402
import passive_joints  # noqa: E402
import platform_truth  # noqa: E402
import still_chain  # noqa: E402

from ros_inertial_id.errors import InertialIdError  # noqa: E402
from ros_inertial_id.identification.identify import identify  # noqa: E402
from ros_inertial_id.identification.settings import options_class  # noqa: E402


def judged(model, known):
    """Return (errors in standard errors of what is known, how many are determined, names)."""
    z, without = [], []
    for entry in model.base:
        if not entry['determined']:
            without.append(entry['name'])
        elif set(entry['grouping']) <= set(known):
            right = sum(c * known[n] for n, c in entry['grouping'].items())
            z.append((entry['value'] - right) / entry['standard_error'])
    return np.array(z), without


def runs(cases):
    """Yield (z, undetermined, model, CPU [s]) of (recordings, options, method, text, truth)."""
    for recordings, options, method, urdf, known in cases:
        begun = time.process_time()
        try:
            model = identify(recordings, options, method=method, urdf=urdf).model
        except InertialIdError as error:
            print(f'  {error}', flush=True)
            continue
        yield *judged(model, known), model, time.process_time() - begun


def leg(seeds):
    """Yield (recordings, options, method, description, truth) of three links on a platform."""
    def turned(x, y, z):
        return (platform_truth.turned('z', z) @ platform_truth.turned('y', y)
                @ platform_truth.turned('x', x))

    postures = [((0, 0, 0), 0, (0, 0, 0)), ((40, 0, 0), -60, (20, 0, 0)),
                ((0, -80, 0), -30, (0, 60, 0)), ((60, 30, 60), -90, (40, -40, 40)),
                ((-30, 40, -70), -100, (-80, 0, 90)), ((80, 0, 80), -20, (90, 40, 0)),
                ((50, 0, 0), -40, (30, 20, 0)), ((0, 50, 30), -70, (0, -40, 30)),
                ((40, -50, 30), -20, (40, 40, 30))]
    text, links = platform_truth.description(platform_truth.LEG), platform_truth.LEG
    known = {f'{s}{k}': x for k, link in enumerate(links[1:])
             for s, x in zip(SYMBOLS, platform_truth.ten(link))}
    for seed in range(seeds):
        recordings = [platform_truth.record(
            links, [turned(*hip), platform_truth.turned('x', knee), turned(*ankle)],
            10.0 if k < 6 else 5.0, 1000 * seed + 20 + k, held=k < 6)
            for k, (hip, knee, ankle) in enumerate(postures)]
        yield (recordings, options_class('suspended_platform')(), 'suspended_platform', text,
               known)


ROWS = {
    'occluded': lambda seeds: four_bar.markers(seeds, False),
    'astray': lambda seeds: four_bar.markers(seeds, True),
    'still': lambda seeds: still_chain.still(seeds, 'weighted'),
    'still-instrumental': lambda seeds: still_chain.still(seeds, 'instrumental'),
    'coils': coil_platform.coils,
    'leg': leg,
    'gravity-250': lambda seeds: passive_joints.gravity(seeds, 250.0),
    'gravity-500': lambda seeds: passive_joints.gravity(seeds, 500.0),
    'elastic-ridge': lambda seeds: passive_joints.elastic(seeds, 'ridge'),
    'elastic-weighted': lambda seeds: passive_joints.elastic(seeds, 'weighted')}


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('names', nargs='*', default=list(ROWS))
    parser.add_argument('--seeds', type=int, default=10)
    arguments = parser.parse_args()
    for name in arguments.names:
        each = []
        for z, without, model, spent in runs(ROWS[name](arguments.seeds)):
            each.append(z)
            print(f'{name}: rank {model.statistics["rank_in_data"]} of '
                  f'{model.statistics["rank"]}, without a number {" ".join(without) or "none"}, '
                  f'z rms {np.sqrt((z ** 2).mean()):.2f} largest {np.abs(z).max():.2f}, '
                  f'{spent:.1f} s of CPU', flush=True)
        whole = np.concatenate(each) if each else np.zeros(1)
        print(f'{name}, {len(each)} seeds: z rms {np.sqrt((whole ** 2).mean()):.2f}, '
              f'largest {np.abs(whole).max():.2f}', flush=True)


if __name__ == '__main__':
    main()
