"""
The energy of a tree as a linear function of the standard parameters.

Its gradient over random states has the base parameters of the mechanism in its columns, too
(Gautier 1991; closed-loop paper, Sec. 2.1): an independent way to the same groupings.
"""

import numpy as np

from .body_motion import apply, body_motions
from .robot_model import RobotModel


def energy_rows(robot: RobotModel, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """
    Return dH/d(standard parameters) (N, 10 n) of a tree at q, v (N, n), H = T + V [J].

    The energy has no zero of its own: the mean over the states is taken off every column.

    robot : RobotModel of the tree
    """
    gravity = np.asarray(robot.gravity_base)[:, None]
    columns = []
    for motion in body_motions(robot, q, v)[1:]:
        turn = np.swapaxes(motion.R, 0, 1)
        velocity, omega, down = (apply(turn, x) for x in (
            motion.v, motion.omega, np.broadcast_to(gravity, motion.v.shape)))
        # m c . (v x omega) is the coupling of translation and rotation; -m g.(p + R c) potential
        coupling = np.cross(velocity, omega, axis=0)
        x, y, z = omega
        columns += [0.5 * (velocity ** 2).sum(0) - (gravity * motion.p).sum(0),
                    *(coupling - down),
                    0.5 * x * x, x * y, 0.5 * y * y, x * z, y * z, 0.5 * z * z]
    rows = np.array(columns).T
    return rows - rows.mean(axis=0)
