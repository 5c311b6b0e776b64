"""
Accuracy of closed_loop on a palletiser, a delta robot and a Stewart platform, against pinocchio.

    python benchmark/machines.py [palletiser delta stewart] [--seeds 10] [--base]

Motion and torques come from pinocchio's loop Jacobian (test/oracles/pinocchio_loops.py); 20 s at
250 Hz, encoders with 2e-5 rad or m of noise, torques with 1 % of their size; bodies of the
description are 20 % off.  Prints rank, error in standard errors and CPU time of every seed (three
to twenty seconds each), with ``--base`` the base parameters of the first.
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
NOISE = 2e-5, 0.01            # of positions [rad, m]; of torques, share of their size


def nominal(urdf):
    """Return the URDF with masses and inertias 20 % off, each body by its own factor."""
    rng = np.random.default_rng(7)

    def other(match):
        factor = rng.uniform(0.8, 1.25)
        return re.sub(r'(mass value|ixx|iyy|izz)="([0-9.e-]+)"',
                      lambda x: f'{x[1]}="{float(x[2]) * factor:.9g}"', match[0])

    return re.sub(r'<inertial>.*?</inertial>', other, urdf)


def truth_of(sample):
    """Return {parameter: value} of bodies and springs."""
    truth = {f'{symbol}{k}': x for k, row in enumerate(load_robot_model(sample.urdf).inertias, 1)
             for symbol, x in zip(SYMBOLS, row)}
    return truth | {f'k{k}': v[0] for k, v in enumerate(sample.springs.values(), 1)}


def runs(name, seeds):
    """Yield (model, errors in standard errors of all that is determined, CPU [s]) per seed."""
    sample = getattr(mechanisms, name)()
    loops = pinocchio_loops.Loops(sample.urdf, sample.closures, sample.independent, sample.start,
                                  sample.springs)
    t, z, zdot, zddot = pinocchio_loops.motion(sample.centre, sample.size, DURATION, RATE, 1)
    loops.approach(z[0])
    tau = loops.move(z, zdot, zddot)[1]
    truth = truth_of(sample)
    options = options_class('closed_loop')(
        closures=sample.closures, independent=sample.independent, start=sample.start,
        estimator='ridge', springs=tuple(f'joint {j} {v[1]}' for j, v in sample.springs.items()))
    for seed in range(20, 20 + seeds):
        made = pinocchio_loops.recording(loops, nominal(sample.urdf), t, z, tau,
                                         (NOISE[0], NOISE[1] * tau.std()), seed)
        start = time.process_time()
        model = identify([made], options, method='closed_loop').model
        spent = time.process_time() - start
        errors = [(e['value'] - sum(c * truth[n] for n, c in e['grouping'].items()))
                  / e['standard_error'] for e in model.base if e['determined']]
        yield model, np.array(errors), spent


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('names', nargs='*', default=['palletiser', 'delta', 'stewart'])
    parser.add_argument('--seeds', type=int, default=10)
    parser.add_argument('--base', action='store_true')
    arguments = parser.parse_args()
    for name in arguments.names:
        each = []
        for number, (model, errors, spent) in enumerate(runs(name, arguments.seeds)):
            each.append(errors)
            print(f'{name}: rank {model.statistics["rank_in_data"]} of '
                  f'{model.statistics["rank"]}, z rms {np.sqrt((errors ** 2).mean()):.2f} '
                  f'largest {np.abs(errors).max():.2f}, {spent:.1f} s of CPU', flush=True)
            for e in model.base if arguments.base and not number else ():
                print(f"  {e['name']:8s} {e['value']:11.5f} +- {e['standard_error']:.5f} "
                      f"{e['unit']:6s} {e['expression']}")
        whole = np.concatenate(each)
        print(f'{name}, {len(each)} seeds: z rms {np.sqrt((whole ** 2).mean()):.2f}, '
              f'largest {np.abs(whole).max():.2f}')


if __name__ == '__main__':
    main()
