"""
Accuracy of closed_loop on fifteen mechanisms with loops, each simulated without this package.

    python benchmark/machines.py [six_bar delta gripper ...] [--seeds 10] [--base] [--close]

Motion and torques come from pinocchio's loop Jacobian (test/oracles/pinocchio_loops.py), those of
mechanisms in MJCF from MuJoCo, those of the series-elastic joint from its closed form: 8 000
samples, encoders with 2e-5 rad or m of noise, torques with 1 % of their size.  Every seed moves
otherwise, and is described otherwise: by a draw from the prior (drawn_descriptions.py), or with
``--close`` with masses and inertias 20 % off, which is better than the method may suppose.  Prints
rank, errors in stated standard errors, CPU time and verdict; with ``--base`` the base parameters
of the first seed.  Errors that the data make stand beside those that the description makes.
"""

import argparse
import contextlib
from functools import partial
import os
import pathlib
import re
import sys
import tempfile
import time

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

import benchmark_mechanisms  # noqa: E402
import drawn_descriptions  # noqa: E402
import driven_mechanisms  # noqa: E402
import mechanisms  # noqa: E402
import mjcf_runs  # noqa: E402
import numpy as np  # noqa: E402
import pinocchio_loops  # noqa: E402
import series_elastic  # noqa: E402

from ros_inertial_id.api.identify import identify  # noqa: E402
from ros_inertial_id.dynamics.inertial_parameters import SYMBOLS  # noqa: E402
from ros_inertial_id.dynamics.mjcf import mjcf_description  # noqa: E402
from ros_inertial_id.dynamics.robot_model import load_robot_model  # noqa: E402
from ros_inertial_id.options import described_blocks  # noqa: E402

DURATION, RATE = 20.0, 400.0  # [s], [Hz]
NOISE = 2e-5, 0.01  # of positions [rad, m]; of torques, share of their size


def close(urdf, seed):
    """Return the URDF with masses and inertias 20 % off, each body by its own factor."""
    rng = np.random.default_rng([7, seed])

    def other(match):
        factor = rng.uniform(0.8, 1.25)
        return re.sub(
            r'(mass value|ixx|iyy|izz)="([0-9.e-]+)"',
            lambda x: f'{x[1]}="{float(x[2]) * factor:.9g}"',
            match[0],
        )

    return re.sub(r'<inertial>.*?</inertial>', other, urdf)


def truth_of(sample, names):
    """Return {parameter: true value}."""
    truth = {
        f'{symbol}{k}': x
        for k, row in enumerate(load_robot_model(sample.urdf).inertias, 1)
        for symbol, x in zip(SYMBOLS, row)
    }
    truth.update({f'k{k}': v[0] for k, v in enumerate(sample.springs.values(), 1)})
    for joint, values in sample.friction.items():
        truth.update(zip((f'{law}{1 + names.index(joint)}' for law in ('fv', 'fc')), values))
    return truth


def by_loops(make, seed, described):
    """Return (Recording, options, truth) of a Sample; ``described`` : its URDF and seed to one."""
    sample = make()
    loops = pinocchio_loops.Loops(
        sample.urdf,
        sample.closures,
        sample.independent,
        sample.start,
        sample.springs,
        sample.friction,
    )
    t, path, tau = followed(loops, sample, seed)
    made = pinocchio_loops.recording(
        loops,
        described(sample.urdf, seed),
        t,
        path[0],
        tau,
        (NOISE[0], NOISE[1] * tau.std()),
        seed,
    )
    return (
        made,
        {
            'closures': sample.closures,
            'independent': sample.independent,
            'start': sample.start,
            'springs': tuple(f'joint {j} {v[1]}' for j, v in sample.springs.items()),
            'friction': tuple(f'{joint} viscous coulomb' for joint in sample.friction),
        },
        truth_of(sample, loops.names),
    )


def followed(loops, sample, seed):
    """Return times, path, torques of the first motion by ``seed`` that meets no dead centre."""
    for drawn in range(seed, 1000 + seed, 100):
        t, *path = pinocchio_loops.motion(sample.centre, sample.size, DURATION, RATE, drawn)
        with contextlib.suppress(pinocchio_loops.CannotClose):
            loops.approach(path[0][0])
            return t, path, loops.move(*path)[1]
    raise ValueError(f'{sample}: no motion of ten can be followed')


def by_mujoco(make, seed, described):
    """Return (Recording, options, which are in the file, truth) of a Driven mechanism."""
    driven = make()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'mechanism.xml'
        path.write_text(driven.mjcf)
        urdf = mjcf_description(path)
        made = mjcf_runs.recording(
            path,
            described(urdf, seed),
            driven.motors,
            driven.motors,
            8.0,
            size=driven.size,
            noise=NOISE,
            seed=seed,
        )
    return (
        made,
        {'urdf': made.robot_description},
        mjcf_runs.truth(urdf, described_blocks(urdf)['closed_loop']),
    )


def elastic(seed, described):
    """Return (Recording, options, truth) of the series-elastic joint, which is described well."""
    return series_elastic.recording(seed, 16.0), series_elastic.PASSIVE, series_elastic.TRUE


MACHINES = {
    **{
        name: partial(by_loops, getattr(benchmark_mechanisms, name))
        for name in (
            'six_bar',
            'rssr',
            'linear_delta',
            'corexy',
            'three_rrr',
            'pantograph',
        )
    },
    **{
        name: partial(by_loops, getattr(mechanisms, name))
        for name in ('five_bar', 'palletiser', 'delta', 'hexapod')
    },
    'series_elastic': elastic,
    **{
        name: partial(by_mujoco, getattr(driven_mechanisms, name))
        for name in ('gripper', 'excavator', 'scissor_lift', 'spherical_wrist')
    },
}


def errors(model, truth):
    """Return the errors (b,) of all that is determined, in standard errors."""
    return np.array(
        [
            (e['value'] - sum(c * truth.get(n, 0.0) for n, c in e['grouping'].items()))
            / e['standard_error']
            for e in model.base
            if e['determined']
        ]
    )


def described(model):
    """Return (b,) bool of what is determined: whether the description makes most of its error."""
    entries = [entry for entry in model.base if entry['determined']]
    errors = np.array([entry['standard_error'] for entry in entries])
    by_description = np.array([entry['budget'].get('description', 0.0) for entry in entries])
    return by_description**2 > errors**2 / 2


def words(z, leans):
    """Return how errors in standard errors are spread; ``leans`` : see ``described``."""
    if not z.size:
        return 'no number'
    parts = [f'z rms {rms(z):.2f}, largest {np.abs(z).max():.2f}']
    for name, chosen in (('data', ~leans), ('description', leans)):
        if chosen.any():
            parts.append(f'{rms(z[chosen]):.2f} of {chosen.sum()} by the {name}')
    return ', '.join(parts)


def rms(z):
    """Return the root mean square of ``z``."""
    return np.sqrt((z**2).mean())


def main():
    """Print a line a seed, and one a mechanism."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('names', nargs='*', default=list(MACHINES))
    parser.add_argument('--seeds', type=int, default=10)
    parser.add_argument('--base', action='store_true')
    parser.add_argument('--close', action='store_true')
    arguments = parser.parse_args()
    describe = drawn_descriptions.drawn
    if arguments.close:
        describe = close
    for name in arguments.names:
        each, leaning = [], []
        for seed in range(1, 1 + arguments.seeds):
            made, options, truth = MACHINES[name](seed, describe)
            start = time.process_time()
            model = identify(made, method='closed_loop', **options).identification.model
            spent, rank = time.process_time() - start, model.statistics
            each.append(errors(model, truth))
            leaning.append(described(model))
            spread = words(each[-1], leaning[-1])
            print(
                f'{name}: {len(each[-1])} of {rank["rank"]} determined, {spread}, '
                f'{spent:.1f} s of CPU, {rank["verdict"]["word"]}',
                flush=True,
            )
            for e in model.base if arguments.base and seed == 1 else ():
                value = (
                    ''
                    if e['value'] is None
                    else (f'{e["value"]:11.5f} +- {e["standard_error"]:.5f}')
                )
                print(f'  {e["name"]:8s} {value} {e["unit"]:6s} {e["expression"]}')
        together = words(np.concatenate(each), np.concatenate(leaning))
        print(f'{name}, {len(each)} seeds: {together}', flush=True)


if __name__ == '__main__':
    main()
