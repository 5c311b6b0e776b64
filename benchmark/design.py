"""
How good designed motions are, how soon, and what one look at a motion costs.

    python benchmark/design.py cost            value and gradient against a plain pinocchio loop
    python benchmark/design.py search [SEEDS]  Franka: best condition number over time, per seed

CPU seconds are of all processes; wall seconds depend on what else the machine does.
"""

import os
import pathlib
import sys
import time

import numpy as np
import pinocchio as pin
from threadpoolctl import threadpool_limits

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.design import design, DesignOptions, motion_at
from ros_inertial_id.excitation.feasible import grid
from ros_inertial_id.excitation.objective import Objective
from ros_inertial_id.excitation.problem import motion_problem
from ros_inertial_id.excitation.search import DENSER, keep_pages

URDF = pathlib.Path(__file__).parents[1] / 'urdf' / 'franka.urdf'
ACCELERATION = (15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0)  # Troebinger et al.
CASES = {'wall': ((9.81, 0.0, 0.0), {}), 'upright': ((0.0, 0.0, -9.81), {}),
         'wall, collisions off': ((9.81, 0.0, 0.0), {'collisions': False}),
         'wall, published start': ((9.81, 0.0, 0.0), {'collisions': False,
                                                      'start_at_offset': True}),
         'wall, box and sphere': ((9.81, 0.0, 0.0), {
             'box': (-0.6, -0.6, -0.2, 0.6, 0.6, 1.0), 'sphere': 0.3})}


def cpu_of(function, repeats):
    """Return the CPU time of one call [ms]."""
    function()
    began = time.process_time()
    for _ in range(repeats):
        function()
    return 1e3 * (time.process_time() - began) / repeats


def plain_value(robot, columns, q, v, a):
    """Return the condition number as a user would compute it, without a gradient."""
    data = robot.pin_model.createData()
    W = np.vstack([pin.computeJointTorqueRegressor(robot.pin_model, data, *x)
                   for x in zip(q, v, a)])
    return np.linalg.cond(W[:, columns])


def cost():
    """Print the CPU time of value and gradient."""
    robot = load_robot_model(URDF.read_text(), gravity_base=(9.81, 0.0, 0.0))
    keep_pages()
    print('samples   value+gradient   with collisions   plain value (no gradient)  [ms CPU]')
    for samples in (50, 100, 300, 1000):
        times = []
        for collisions in (False, True):
            options = DesignOptions(acceleration=ACCELERATION, collisions=collisions)
            problem = motion_problem(robot, options)[0]
            objective = Objective(problem, grid(problem, samples),
                                  grid(problem, DENSER * samples))
            x = 0.5 * np.random.default_rng(0).normal(size=7 * problem.space.shape[1])
            times.append(cpu_of(lambda: objective(x, 8.0, 100.0), 100))
        motion = motion_at(robot, problem, x).at(grid(problem, samples))
        plain = cpu_of(lambda: plain_value(robot, problem.columns, *motion), 10)
        print(f'{samples:7d} {times[0]:16.2f} {times[1]:17.2f} {plain:27.2f}', flush=True)


def search(seeds):
    """Print the best condition number after 5, 10, 20 s and at the end, per seed."""
    print('case, seed: condition number after 5, 10, 20 s wall; end; wall and CPU s; '
          'largest use of limits %')
    for name, (gravity, settings) in CASES.items():
        robot = load_robot_model(URDF.read_text(), gravity_base=gravity)
        for seed in range(seeds):
            seen = []
            options = DesignOptions(acceleration=ACCELERATION, seed=seed, **settings)
            result = design(robot, options, lambda p: seen.append((p.seconds, p.best)))
            marks = []
            for mark in (5.0, 10.0, 20.0):
                values = [best for seconds, best in seen if seconds <= mark and best]
                marks.append(f'{values[-1]:.2f}' if values else '-')
            print(f'{name}, {seed}: {" ".join(marks)}; {result.condition_number:.2f}; '
                  f'{result.seconds:.1f} {result.cpu_seconds:.1f}; '
                  f'{100.0 * max(map(max, result.use.joints.values())):.3f}', flush=True)


if __name__ == '__main__':
    with threadpool_limits(1, user_api='blas'):
        print(f'{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}')
        if sys.argv[1:2] == ['search']:
            search(int(sys.argv[2]) if len(sys.argv) > 2 else 5)
        else:
            cost()
