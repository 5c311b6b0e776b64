"""
Accuracy and speed of the method closed_loop on the paper's slider-crank.

    python benchmark/closed_loop.py [--runs 200] [--samples 100000] [--rigs 20]

Monte Carlo: crank angle with 1e-3 rad and torque with 1e-2 N m of white noise, 2 s at 1 kHz (the
closed-loop paper, Sec. 3.1); the cutoff is the one that the data of the first run choose.  Rigs:
markers at 800 Hz of the simulated rig, with and without IMU.  Speed: CPU time and growth of the
peak memory of a whole identification, BLAS on one thread.
"""

import argparse
from dataclasses import replace
import pathlib
import resource
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

import slider_crank_lagrangian as oracle  # noqa: E402

from ros_inertial_id.identification.identify import identify  # noqa: E402
from ros_inertial_id.identification.settings import options_class  # noqa: E402
from ros_inertial_id.rigs.simulation import slider_crank as rig  # noqa: E402

URDF = (ROOT / 'urdf' / 'slider_crank.urdf').read_text()
OPTIONS = options_class('closed_loop')(
    closures=oracle.CLOSURES, independent=('crank',), start=oracle.START, estimator='ordinary')
SEEN = replace(OPTIONS, markers=('/markers/crank_pin rod_link', '/markers/slider_pin slider_link',
                                 '/markers/rod_tag rod_tag pose'),
               marker_noise=1e-4, tag_noise=2e-3, torques=('crank /crank/torque z',))


def monte_carlo(motion, runs):
    """Return errors and standard errors (runs, 4) [%] of the four parameters, and the cutoff."""
    t = np.arange(0.0, 2.0, 1e-3)
    z, rate, second = motion(t)
    tau, rows, options = oracle.torque(z, rate, second), [], OPTIONS
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        noisy = oracle.encoder_recording(t, z + 1e-3 * rng.standard_normal(t.size),
                                         tau + 1e-2 * rng.standard_normal(t.size), URDF)
        model = identify([noisy], options, method='closed_loop').model
        options = replace(options, cutoff=model.preprocessing[0]['cutoff'])
        rows.append(four(model))
    errors, deviations = np.moveaxis(np.array(rows), 1, 0)
    return errors, deviations, options.cutoff


def four(model):
    """Return errors and standard errors (2, 4) of the four parameters [%]."""
    found = {entry['name']: entry for entry in model.base}
    return np.array([[100 * (found[n]['value'] / oracle.BASE[n] - 1) for n in oracle.FOUR],
                     [100 * found[n]['standard_error'] / oracle.BASE[n] for n in oracle.FOUR]])


def line(*cells):
    print('| ' + ' | '.join(str(c) for c in cells) + ' |', flush=True)


def words(values):
    return ' '.join(f'{x:.2f}' for x in values)


def accuracy(runs):
    line('trajectory', 'cutoff [Hz]', 'median error I1, m1X1, I2, m2X2 [%]',
         'all four below the paper [% of runs]', '95 % intervals that cover [%]')
    line(*['---'] * 5)
    line('paper, one run', '10/20', words(oracle.PAPER_ERRORS), '', '')
    for name, motion in (('cycloid of 6 pi', oracle.cycloid), ('6t + two sines', oracle.lively)):
        errors, deviations, cutoff = monte_carlo(motion, runs)
        below = (np.abs(errors) < oracle.PAPER_ERRORS).all(1).mean()
        cover = (np.abs(errors) < 1.96 * deviations).mean(0)
        line(name, f'{cutoff:.1f}', words(np.median(np.abs(errors), axis=0)),
             f'{100 * below:.0f}', ' '.join(f'{100 * x:.0f}' for x in cover))


def rigs(count, duration, first=1000):
    line(f'{duration:.0f} s, seeds {first} to {first + count - 1}',
         'largest |error| I1, m1X1, I2, m2X2 [%]', 'mean standard error [%]')
    line(*['---'] * 3)
    recordings = [rig.record(rig.SliderCrankRig(URDF, rig.RigOptions(seed=seed, mass_change=0.0)),
                             duration) for seed in range(first, first + count)]
    for name, options in (('markers', SEEN),
                          ('markers and IMU', replace(SEEN, imus=('/rod/imu rod_imu',)))):
        rows = np.array([four(identify([r], options, method='closed_loop').model)
                         for r in recordings])
        line(name, words(np.abs(rows[:, 0]).max(0)), words(rows[:, 1].mean(0)))


def speed(samples):
    line('samples', 'CPU [s]', 'peak memory grows by [MB]')
    line(*['---'] * 3)
    for count in (samples // 10, samples, 2 * samples):
        t = np.arange(count) * 1e-3
        z, rate, second = oracle.lively(t)
        made = oracle.encoder_recording(t, z, oracle.torque(z, rate, second), URDF)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        identify([made], replace(OPTIONS, cutoff=15.0), method='closed_loop')
        spent = time.process_time() - start
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        line(count, f'{spent:.2f}', f'{grown:.0f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--runs', type=int, default=200)
    parser.add_argument('--samples', type=int, default=100_000)
    parser.add_argument('--rigs', type=int, default=20)
    arguments = parser.parse_args()
    with threadpool_limits(limits=1):
        speed(arguments.samples)
        accuracy(arguments.runs)
        for duration in (5.0, 15.0):
            rigs(arguments.rigs, duration)


if __name__ == '__main__':
    main()
