"""
How small the error of predicted torques could be made by any motion within the limits.

    python benchmark/design_bound.py [ROBOT [STATES [RANDOM]]]

A motion passes from state to state.  An arm that could be in any state within its limits
(position, velocity, acceleration, torque) for any share of the time would do at least as well:
the optimal design over drawn states, many of them at the ends of the limits or slow, by
multiplicative steps (Silvey, Titterington and Torsney 1978), with the bound of the equivalence
theorem (Kiefer 1974) below which no design of these states lies.  Printed beside random motions
that use 90 % of a limit: V, of friction of known width, over the workspace.  Franka: 2 minutes.
"""

import sys

from excitation_value import random_feasible, URDF
import numpy as np
from threadpoolctl import threadpool_limits

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.assessment import assess_motion
from ros_inertial_id.excitation.criteria import reported_value
from ros_inertial_id.excitation.design import DesignOptions
from ros_inertial_id.excitation.feasible import finest_grid
from ros_inertial_id.excitation.objective import Objective
from ros_inertial_id.excitation.problem import motion_problem

AT_ENDS, SLOW, SLOWEST = 0.6, 0.25, 0.03  # shares of the states; largest slow speed [rad/s]
STEPS = 60


def drawn_states(problem, count, rng):
    """Return q, v, a (n, N) within position, velocity, acceleration; N <= ``count``."""
    limits, shape = problem.limits, (len(problem.start), count)

    def share():
        within = rng.uniform(-1.0, 1.0, shape)
        return np.where(rng.random(shape) < AT_ENDS, np.sign(within), within)

    q = limits.middle[:, None] + limits.half[:, None] * share()
    v = limits.velocity[:, None] * share()
    v = np.where(rng.random(shape) < SLOW, SLOWEST * rng.uniform(-1.0, 1.0, shape), v)
    a = limits.acceleration[:, None] * share()
    good = (limits.slowing.beyond(q, v)[0] <= 0.0).all(0)
    return q[:, good], v[:, good], a[:, good]


def weighted_rows(problem, states):
    """Return the rows (N, n, b) of states within the torque limits, over sigma."""
    objective = Objective(problem, np.zeros(states[0].shape[1]))
    _, _, rows, tau = objective.evaluate(*states)
    good = (np.abs(tau) <= problem.limits.effort[:, None]).all(0)
    out = np.zeros((good.sum(), len(rows), len(problem.columns)))
    for j, ((_, columns), W) in enumerate(zip(objective.rows, rows)):
        out[:, j, columns] = problem.weights[j] * W[:, good].T
    return out


def bound(problem, rows):
    """Return V of the best shares found of states' rows (N, n, b), and what none is below."""
    root = np.linalg.inv(problem.root)  # root' M root = 1
    shares, flat = np.full(len(rows), 1.0 / len(rows)), rows.reshape(-1, rows.shape[2])
    for _ in range(STEPS):
        G = (flat * np.repeat(shares, rows.shape[1])[:, None]).T @ flat
        sensitivity = np.linalg.solve(G, root)
        gains = ((flat @ sensitivity) ** 2).sum(1).reshape(len(rows), -1).sum(1)
        value = (root * sensitivity).sum()
        shares *= np.sqrt(gains)
        shares /= shares.sum()
    return np.sqrt(np.array([value, value ** 2 / gains.max()]) / problem.share)


def main(name='franka', states=40000, count=20):
    """Print the bound of one of our arms beside random motions."""
    robot = load_robot_model((URDF / f'{name}.urdf').read_text())
    options = DesignOptions()
    problem = motion_problem(robot, options)[0]
    best = bound(problem, weighted_rows(problem, drawn_states(
        problem, int(states), np.random.default_rng(0))))
    values = [reported_value('v_optimality', assess_motion(
        problem, lambda times: [x.T for x in motion.at(times)],
        finest_grid(problem)).factors, problem.root)
        for motion in random_feasible(robot, options, int(count), 0)]
    median = np.median(values)
    print(f'{name}, {options.period:g} s: V {best[0]:.3f} of the best shares of states, none '
          f'below {best[1]:.3f}; {len(values)} random motions {min(values):.3f} to '
          f'{max(values):.3f}, median {median:.3f}: at least {best[1] / median:.2f} of it')


if __name__ == '__main__':
    with threadpool_limits(1, user_api='blas'):
        main(*sys.argv[1:])
