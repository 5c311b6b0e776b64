"""
Accuracy of closed_loop on mechanisms with loops, against pinocchio.

    python benchmark/machines.py [palletiser delta stewart four_bar hexapod excavator] [--seeds 10]
        [--base] [--pairs] [--ripple 0.05]

Motion and torques come from pinocchio's loop Jacobian (test/oracles/pinocchio_loops.py); 20 s at
250 Hz, encoders with 2e-5 rad or m of noise, torques with 1 % of their size; bodies of the
description are 20 % off.  Prints rank, error in standard errors and CPU time of every seed (three
to twenty seconds each), with ``--base`` the base parameters of the first.  With ``--pairs`` two
recordings of different motions that never repeat are identified each alone and compared, as one
does where nobody knows the truth; ``--ripple`` is a torque that nobody models, a sine of every
motor's position of so many times the size of its torque.
"""

import argparse
import os
import pathlib
import re
import sys
import time

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

import mechanisms  # noqa: E402
import numpy as np  # noqa: E402
import pinocchio_loops  # noqa: E402

from ros_inertial_id.dynamics.inertial_parameters import SYMBOLS  # noqa: E402
from ros_inertial_id.dynamics.robot_model import load_robot_model  # noqa: E402
from ros_inertial_id.identification.identify import identify  # noqa: E402
from ros_inertial_id.identification.settings import options_class  # noqa: E402

DURATION, RATE = 20.0, 250.0  # [s], [Hz]
PERIODIC, DISTINCT = (5, 0.2), (20, 0.05)  # harmonics: four periods, and none twice
RIPPLES = 20.0  # [rad] of a ripple along the size of a motion
NOISE = 2e-5, 0.01            # of positions [rad, m]; of torques, share of their size


def nominal(urdf):
    """Return the URDF with masses and inertias 20 % off, each body by its own factor."""
    rng = np.random.default_rng(7)

    def other(match):
        factor = rng.uniform(0.8, 1.25)
        return re.sub(r'(mass value|ixx|iyy|izz)="([0-9.e-]+)"',
                      lambda x: f'{x[1]}="{float(x[2]) * factor:.9g}"', match[0])

    return re.sub(r'<inertial>.*?</inertial>', other, urdf)


def moved(sample, seed, ripple, harmonics):
    """Return Loops, t, z and torques of one motion of (harmonics, lowest [Hz])."""
    loops = pinocchio_loops.Loops(sample.urdf, sample.closures, sample.independent, sample.start,
                                  sample.springs, sample.friction)
    t, z, zdot, zddot = pinocchio_loops.motion(sample.centre, sample.size, DURATION, RATE, seed,
                                               *harmonics)
    loops.approach(z[0])
    tau = loops.move(z, zdot, zddot)[1]
    return loops, t, z, tau + ripple * tau.std(0) * np.sin(RIPPLES * z / np.array(sample.size))


def truth_of(sample, names):
    """Return {parameter: true value}."""
    truth = {f'{symbol}{k}': x for k, row in enumerate(load_robot_model(sample.urdf).inertias, 1)
             for symbol, x in zip(SYMBOLS, row)}
    truth.update({f'k{k}': v[0] for k, v in enumerate(sample.springs.values(), 1)})
    for joint, values in sample.friction.items():
        truth.update(zip((f'{law}{1 + names.index(joint)}' for law in ('fv', 'fc')), values))
    return truth


def options_of(sample):
    """Return the options that describe a Sample."""
    return options_class('closed_loop')(
        closures=sample.closures, independent=sample.independent, start=sample.start,
        estimator='ridge', springs=tuple(f'joint {j} {v[1]}' for j, v in sample.springs.items()),
        friction=tuple(f'{joint} viscous coulomb' for joint in sample.friction))


def runs(sample, motions, seeds):
    """Yield (models of the motions, errors in standard errors, CPU [s] of the first) per seed."""
    options, truth = options_of(sample), truth_of(sample, motions[0][0].names)
    for seed in range(20, 20 + seeds):
        models, spent = [], []
        for k, (loops, t, z, tau) in enumerate(motions):
            made = pinocchio_loops.recording(loops, nominal(sample.urdf), t, z, tau,
                                             (NOISE[0], NOISE[1] * tau.std()), seed + 1000 * k)
            start = time.process_time()
            models.append(identify([made], options, method='closed_loop').model)
            spent.append(time.process_time() - start)
        yield models, np.concatenate([errors(model, truth) for model in models]), spent[0]


def errors(model, truth):
    """Return the errors (b,) of all that is determined, in standard errors."""
    return np.array([(e['value'] - sum(c * truth[n] for n, c in e['grouping'].items()))
                     / e['standard_error'] for e in model.base if e['determined']])


def apart(one, other):
    """Return the differences of what both models determine, in combined standard errors."""
    pairs = [(a, b) for a, b in zip(one.base, other.base) if a['determined'] and b['determined']]
    return np.array([(a['value'] - b['value']) / np.hypot(a['standard_error'], b['standard_error'])
                     for a, b in pairs])


def words(z):
    """Return how errors in standard errors are spread."""
    return (f'{100 * (np.abs(z) < 1.96).mean():.0f} % within 1.96, rms '
            f'{np.sqrt((z ** 2).mean()):.2f}, largest {np.abs(z).max():.2f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('names', nargs='*', default=['palletiser', 'delta', 'stewart'])
    parser.add_argument('--seeds', type=int, default=10)
    parser.add_argument('--base', action='store_true')
    parser.add_argument('--pairs', action='store_true')
    parser.add_argument('--ripple', type=float, default=0.0)
    arguments = parser.parse_args()
    for name in arguments.names:
        sample, each, pairs = getattr(mechanisms, name)(), [], []
        motions = [moved(sample, k, arguments.ripple, DISTINCT if arguments.pairs else PERIODIC)
                   for k in (1, 2)[:1 + arguments.pairs]]
        for number, (models, z, spent) in enumerate(runs(sample, motions, arguments.seeds)):
            each.append(z)
            rank = models[0].statistics
            print(f'{name}: rank {rank["rank_in_data"]} of {rank["rank"]}, truth '
                  f'{words(z)}, {spent:.1f} s of CPU', flush=True)
            if arguments.pairs:
                pairs.append(apart(*models))
            for e in models[0].base if arguments.base and not number else ():
                print(f"  {e['name']:8s} {e['value']:11.5f} +- {e['standard_error']:.5f} "
                      f"{e['unit']:6s} {e['expression']}")
        print(f'{name}, {len(each)} seeds: truth {words(np.concatenate(each))}'
              + (f'; two recordings {words(np.concatenate(pairs))}' if pairs else ''), flush=True)


if __name__ == '__main__':
    main()
