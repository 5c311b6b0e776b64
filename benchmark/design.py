"""
How good designed motions are.

    python benchmark/design.py paper [SEEDS]   condition number of the 59 columns of the paper
    python benchmark/design.py surroundings SEED[,SEED ...] [UR10E_URDF]
        FR3 (and UR10e) on the floor, at a wall, at a table with a pillar, in a cell: improvements
        kept, distances, limits at 10 kHz, V, torque errors against random motions that are made to
        keep the same limits

CPU seconds are of all processes.
"""

import os
import pathlib
import re
import sys

import numpy as np
import pinocchio as pin
from threadpoolctl import threadpool_limits

from ros_inertial_id.dynamics.robot_model import gravity_from_mounting, load_robot_model
from ros_inertial_id.excitation.assessment import assess_motion, torque_errors
from ros_inertial_id.excitation.design import design, DesignOptions, motion_at, SEARCH_SAMPLES
from ros_inertial_id.excitation.feasible import finest_grid
from ros_inertial_id.excitation.problem import motion_problem
from ros_inertial_id.excitation.search import restart

URDF = pathlib.Path(__file__).parents[1] / 'urdf' / 'franka.urdf'
ACCELERATION = (15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0)  # Troebinger et al.

WALL = 'rpy 0 1.5708 0'
AROUND = {  # what stands around: mounting, options; lengths [m] of the FR3, of the UR10e
    'floor': ('upright', {}, {}),
    'wall': (WALL, {}, {}),
    'table, pillar': (
        'upright',
        {'obstacles': ('box 0.65 0 0.15 0.4 0.8 0.3', 'cylinder -0.4 0.4 0.7 0.1 1.4')},
        {'obstacles': ('box 1.0 0 0.2 0.6 1.2 0.4', 'cylinder -0.6 0.6 0.9 0.12 1.8')},
    ),
    'cell': (
        'upright',
        {
            'box': (-0.6, -0.6, 0.1, 0.6, 0.6, 1.1),
            'obstacles': ('box -0.75 0 0.6 0.1 1.5 1.2', 'box 0 0 1.35 1.5 1.5 0.1'),
        },
        {
            'box': (-1.1, -1.1, 0.1, 1.1, 1.1, 1.6),
            'obstacles': ('box -1.3 0 0.8 0.1 2.6 1.6', 'box 0 0 1.9 2.6 2.6 0.1'),
        },
    ),
}
RANDOM = 5  # motions to compare with


def paper(seeds):
    """Print the condition number of the published columns, limits and mounting, per seed."""
    text = re.sub('<collision>.*?</collision>', '', URDF.read_text(), flags=re.S)
    robot = load_robot_model(text, gravity_base=(9.81, 0.0, 0.0))  # kept from nothing
    for seed in range(seeds):
        result = design(
            robot,
            DesignOptions(
                acceleration=ACCELERATION,
                seed=seed,
                criterion='condition_number',
                sigma=(1.0,),
                velocity_margin=0.0,
                acceleration_margin=0.0,
                position_margin=0.0,
                effort_margin=0.0,
                limits='none',
            ),
        )
        print(
            f'{seed}: {result.condition_number:.2f} of {len(result.base_names)} columns, '
            f'{result.seconds:.0f} s wall, {result.cpu_seconds:.0f} s CPU, kept '
            f'{result.found - result.rejected} of {result.found}',
            flush=True,
        )


def use_at_10_khz(problem, motion):
    """Return the largest use of each limit at 10 000 samples per second, torques by pinocchio."""
    times = np.arange(0.0, motion.period, 1e-4)
    q, v, a = motion.at(times)
    robot, limits = problem.robot, problem.limits
    data = robot.pin_model.createData()
    tau = np.array(
        [
            pin.rnea(robot.pin_model, data, robot.pin_q(x), y, z)
            for x, y, z in zip(q[::10], v[::10], a[::10])
        ]
    )
    rates = {
        'position': np.abs(q - limits.middle) / limits.half,
        'velocity': np.abs(v)
        / np.minimum(limits.velocity[:, None], limits.slowing.at(q.T, v.T)).T,
        'acceleration': np.abs(a) / limits.acceleration,
        'effort': np.abs(tau) / limits.effort,
        'jerk': np.abs(np.diff(a, axis=0)) / 1e-4 / limits.jerk,
        'effort rate': np.abs(np.diff(tau, axis=0)) / 1e-3 / limits.effort_rate,
    }
    return {kind: 100.0 * float(use.max()) for kind, use in rates.items()}


def random_errors(problem, samples):
    """Return torque errors of random motions made to keep all limits, as relative_error."""
    out = []
    for seed in range(100):
        at_once = -np.inf, -np.inf
        start = next(restart(problem, samples, seed, 7, at_once))
        if np.isfinite(start.value):
            out.append(relative_error(problem, motion_at(problem.robot, problem, start.x)))
        if len(out) == RANDOM:
            break
    return np.array(out)


def relative_error(problem, motion):
    """Return the torque error of a motion over the workspace, in standard deviations."""
    result = assess_motion(problem, lambda t: [x.T for x in motion.at(t)], finest_grid(problem))
    return float(np.sqrt(np.mean((torque_errors(problem, result) * problem.weights) ** 2)))


def surroundings(seeds, ur10e=''):
    """Print the designs of arms in what stands around."""
    arms = {'FR3': (URDF, {})}
    if ur10e:
        arms['UR10e'] = (pathlib.Path(ur10e), {'limits': 'ur10e'})
    for seed in seeds:
        for index, (name, (path, settings)) in enumerate(arms.items()):
            for place, (mounting, *around) in AROUND.items():
                robot = load_robot_model(
                    path.read_text(), gravity_base=gravity_from_mounting(mounting)
                )
                options = DesignOptions(
                    seed=seed, restarts=2, mounting=mounting, **settings, **around[index]
                )
                tell(f'{name}, {place}, {seed}', robot, options)


def tell(title, robot, options):
    """Print one design."""
    result, problem = design(robot, options), motion_problem(robot, options)[0]
    error = relative_error(problem, result.motion)
    ratios = error / random_errors(problem, SEARCH_SAMPLES)
    use = ', '.join(f'{kind} {x:.1f}' for kind, x in use_at_10_khz(problem, result.motion).items())
    gap = result.summary().get('collision_clearance_at_least_m', np.nan)
    print(
        f'{title}: kept {result.found - result.rejected} of {result.found}; gap '
        f'{1e3 * gap:.1f} mm; V {result.value:.3f}; torque error / random '
        f'{np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f}); '
        f'{result.cpu_seconds:.0f} s CPU; % of limits at 10 kHz: {use}',
        flush=True,
    )


if __name__ == '__main__':
    with threadpool_limits(1, user_api='blas'):
        print(f'{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}')
        if sys.argv[1:2] == ['surroundings']:
            surroundings(map(int, sys.argv[2].split(',')), *sys.argv[3:])
        else:
            paper(int(sys.argv[2]) if len(sys.argv) > 2 else 5)
