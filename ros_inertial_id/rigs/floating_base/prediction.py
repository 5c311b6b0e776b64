"""Live prediction of a robot on a base that moves: what forces of its feet do not change."""

from collections.abc import Sequence

import numpy as np

from .observation import FloatingState
from .robot import FloatingRobot
from .rows import FloatingRows, row_names
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.pinocchio_model import moving_base_dynamics
from ...methods.arm_friction import speed_ratios
from ...methods.arm_prediction import FrictionPrediction
from ...methods.contract import LiveTorques


class FloatingPrediction:
    """
    Predicts the rows of ``floating_base``, as a recording of it is judged.

    parameters, values : (p,) of the columns
    """

    def __init__(
        self, robot: FloatingRobot, parameters: Sequence[Parameter], values: np.ndarray
    ) -> None:
        self._robot, (self._names, _) = robot, row_names(robot)
        self._rows = FloatingRows(robot, parameters, np.zeros(len(parameters), dtype=bool))
        identified = 10 * len(robot.link_names)
        bodies = np.zeros(10 * (1 + len(robot)))  # of a base that is carried nothing is known
        bodies[-identified:] = values[:identified]
        self._dynamics = moving_base_dynamics(robot.tree, bodies)
        first = identified - 10 * len(robot)  # of the joints, as an arm has them
        of_joints = parameters[first:]
        ratios = speed_ratios(robot.tree, of_joints)
        self._friction = FrictionPrediction(robot.tree, ratios, of_joints, values[first:])

    def __call__(self, state: FloatingState) -> LiveTorques:
        """Return the LiveTorques of the samples of a ``state``, which follows the last one."""
        rigid = self._rigid(state.base, state.q, state.v, state.a)
        now, filtered = self._friction(state)
        drives = np.stack([now, filtered, state.tau], axis=1)
        rows = np.zeros((len(state.t), 3, 6 + len(self._robot)))
        rows[:, :2] = rigid[:, None]
        rows[:, :, 6:] += drives
        left = self._rows.projection(state)(rows.transpose(2, 1, 0))
        predicted, filtered, measured = left.transpose(1, 2, 0)
        return LiveTorques(tuple(self._names), predicted, measured - filtered, measured)

    def states(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the rows (N, 6 + n), carried (N, n), of q, v, a (N, n) on a base held upright."""
        base = np.zeros((len(q), 9))
        base[:, :3] = -self._robot.gravity_base
        rows = self._rigid(base, q, v, a)
        rows[:, 6:] += self._friction.states(q, v, a)
        return rows[:, -len(self._names) :]

    def _rigid(self, base, q, v, a):
        """Return the rows (N, 6 + n) of the bodies on a ``base`` (N, 9) that moves."""
        return np.array([self._dynamics(*sample) for sample in zip(base, q, v, a)])
