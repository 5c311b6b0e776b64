"""
Are the stated errors of mechanisms true?  Errors over stated errors, seed by seed.

    python benchmark/stated_errors.py [gravity elastic hexapod excavator] [--seeds 10]

gravity : a slider-crank that swings freely after ten starts, encoder of 0.1 mrad, 250 and 500 Hz
elastic : a series-elastic joint with two encoders, by both estimators
hexapod : the Stewart platform of machines.py with viscous and Coulomb friction in its legs
excavator : boom and stick, each driven by a cylinder in a loop of its own, with friction
Motions and torques by closed forms or by pinocchio's loop Jacobian (test/oracles); the machines
have 20 s at 250 Hz, 2e-5 of encoder noise, 1 % of torque noise and bodies 20 % off; all options
are the defaults.  Three links on a platform: bodies.py leg.
"""

import argparse
import os
import pathlib
import sys
import time

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
ROOT = pathlib.Path(__file__).parents[1]
sys.path[1:1] = [str(ROOT), str(ROOT / 'test' / 'oracles')]  # machines: the one beside this

from machines import DURATION, NOISE, nominal, RATE, truth_of  # noqa: E402
import mechanisms  # noqa: E402
from mechanisms import inertial, joint, point  # noqa: E402
import numpy as np  # noqa: E402
import pinocchio_loops  # noqa: E402
import series_elastic  # noqa: E402
import slider_crank_lagrangian as crank  # noqa: E402
import slider_crank_runs  # noqa: E402

from ros_inertial_id.dynamics.robot_model import load_robot_model  # noqa: E402
from ros_inertial_id.identification.identify import identify  # noqa: E402
from ros_inertial_id.identification.settings import options_class  # noqa: E402

OPTIONS = options_class('closed_loop')


def excavator():
    """Return boom and stick in one plane, a cylinder below the boom and one above it."""
    below, eye, back = (0.5, 0.0, -0.3), (1.2, 0.0, 0.25), (-0.35, 0.0, 0.25)
    parts = [
        joint('boom', 'continuous', 'base', 'boom_link', axis=(0, -1, 0),
              body=inertial(120.0, (1.1, 0.02, 0.2), (2.4, 0.3, 0.4))),
        joint('stick', 'continuous', 'boom_link', 'stick_link', (2.4, 0, 0), axis=(0, -1, 0),
              body=inertial(60.0, (0.5, -0.01, 0.05), (1.6, 0.2, 0.3))),
        joint('foot', 'continuous', 'base', 'barrel', below, axis=(0, -1, 0),
              body=inertial(14.0, (0.4, 0.0, 0.01), (0.8, 0.12, 0.12))),
        joint('lift', 'prismatic', 'barrel', 'rod', axis=(1, 0, 0),
              body=inertial(8.0, (-0.4, 0.01, 0.0), (0.8, 0.06, 0.06))),
        joint('head', 'continuous', 'boom_link', 'upper_barrel', eye, axis=(0, -1, 0),
              body=inertial(10.0, (0.35, 0.0, 0.02), (0.7, 0.1, 0.1))),
        joint('reach', 'prismatic', 'upper_barrel', 'upper_rod', axis=(1, 0, 0),
              body=inertial(6.0, (-0.35, -0.01, 0.0), (0.7, 0.05, 0.05))),
        point('boom_eye', 'boom_link', (1.2, 0.0, -0.1)),
        point('stick_eye', 'stick_link', back)]
    boom, stick = 0.6, -1.2  # up is positive

    def turned(angle, place):
        return np.array([np.cos(angle) * place[0] - np.sin(angle) * place[2],
                         np.sin(angle) * place[0] + np.cos(angle) * place[2]])

    lift = turned(boom, (1.2, 0.0, -0.1)) - [below[0], below[2]]
    reach = [2.4 - eye[0], -eye[2]] + turned(stick, back)
    start = (f'boom {boom}', f'stick {stick}', f'foot {np.arctan2(lift[1], lift[0]):.6g}',
             f'lift {np.hypot(*lift):.6g}', f'head {np.arctan2(reach[1], reach[0]):.6g}',
             f'reach {np.hypot(*reach):.6g}')
    return mechanisms.Sample(
        mechanisms.robot('excavator', *parts), ('point boom_eye rod', 'point stick_eye upper_rod'),
        ('lift', 'reach'), start, (np.hypot(*lift), np.hypot(*reach)), (0.12, 0.12))


def machine(sample, viscous, coulomb, seeds):
    """Yield (recording, options, truth) of a mechanism with friction in its independent joints."""
    loops = pinocchio_loops.Loops(sample.urdf, sample.closures, sample.independent, sample.start)
    t, z, zdot, zddot = pinocchio_loops.motion(sample.centre, sample.size, DURATION, RATE, 1)
    loops.approach(z[0])
    tau = loops.move(z, zdot, zddot)[1] + viscous * zdot + coulomb * np.sign(zdot)
    names = load_robot_model(sample.urdf).joint_names
    true = truth_of(sample, names)
    for name, fv, fc in zip(sample.independent, viscous, coulomb):
        true |= {f'fv{names.index(name) + 1}': fv, f'fc{names.index(name) + 1}': fc}
    options = OPTIONS(closures=sample.closures, independent=sample.independent, start=sample.start,
                      friction=tuple(f'{n} viscous coulomb' for n in sample.independent))
    for seed in range(60, 60 + seeds):
        yield (pinocchio_loops.recording(loops, nominal(sample.urdf), t, z, tau,
                                         (NOISE[0], NOISE[1] * tau.std()), seed), options, true)


def hexapod(seeds):
    """Yield the Stewart platform."""
    k = np.arange(6)
    yield from machine(mechanisms.stewart(), 40.0 + 10.0 * k, 8.0 + k, seeds)


def digger(seeds):
    """Yield the excavator."""
    yield from machine(excavator(), np.array([900.0, 700.0]), np.array([120.0, 90.0]), seeds)


def gravity(seeds):
    """Yield free swings; the first base parameter is known."""
    options = OPTIONS(closures=crank.CLOSURES, independent=('crank',), start=crank.START,
                      estimator='ordinary', actuated=('none',),
                      known=(f"mcxR1 {crank.BASE['mcxR1']}",))
    for rate in (250.0, 500.0):
        for seed in range(seeds):
            rng, t = np.random.default_rng(seed), np.arange(0.0, 20.0, 1.0 / rate)
            z = crank.free_motion(t, (rng.uniform(0.0, 6.0), rng.uniform(3.0, 8.0)))
            z += 1e-4 * rng.standard_normal(len(t))
            yield (crank.encoder_recording(t, z, np.full_like(t, np.nan), slider_crank_runs.URDF),
                   options, crank.BASE)


def elastic(seeds):
    """Yield the series-elastic joint for both estimators."""
    for estimator in ('ridge', 'weighted'):
        for seed in range(seeds):
            yield (series_elastic.recording(seed), OPTIONS(
                estimator=estimator, **series_elastic.PASSIVE), series_elastic.TRUE)


ROWS = {'gravity': gravity, 'elastic': elastic, 'hexapod': hexapod, 'excavator': digger}


def main():
    """Print a line a seed and a row."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('names', nargs='*', default=list(ROWS))
    parser.add_argument('--seeds', type=int, default=10)
    arguments = parser.parse_args()
    for name in arguments.names:
        each, spent = [], []
        for recording, options, true in ROWS[name](arguments.seeds):
            begun = time.process_time()
            model = identify([recording], options, method='closed_loop').model
            spent.append(time.process_time() - begun)
            z = np.array([(e['value'] - sum(c * true[n] for n, c in e['grouping'].items()))
                          / e['standard_error'] for e in model.base
                          if e['determined'] and set(e['grouping']) <= set(true)])
            each.append(z)
            print(f'{name}: rank {model.statistics["rank_in_data"]} of {model.statistics["rank"]}'
                  f', cutoff {model.preprocessing[0]["cutoff"]:.1f} Hz, z rms '
                  f'{np.sqrt((z ** 2).mean()):.2f} largest {np.abs(z).max():.2f}, '
                  f'{spent[-1]:.1f} s of CPU', flush=True)
        for k in range(0, len(each), arguments.seeds):
            whole = np.concatenate(each[k:k + arguments.seeds])
            print(f'{name}, seeds {k} to {k + arguments.seeds - 1}: z rms '
                  f'{np.sqrt((whole ** 2).mean()):.2f}, largest {np.abs(whole).max():.2f}, '
                  f'{np.median(spent[k:k + arguments.seeds]):.1f} s of CPU', flush=True)


if __name__ == '__main__':
    main()
