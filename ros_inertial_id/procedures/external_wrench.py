"""
The wrench at a link that explains external torques, with what is not known of it.

A wrench w at the origin of a link turns the joints by tau = J' w.  From torques with independent
errors of standard deviations s, generalized least squares gives w and its covariance

    P = (J S^-1 J' + I / UNSEEN_WRENCH^2)^-1,   w = P J S^-1 tau,   S = diag(s^2)

(Aitken 1936; of contacts: Magrini, Flacco and De Luca 2014).  Near a singular posture, and with
fewer than six joints, the torques do not show all of w: its covariance has a direction with a
standard deviation that grows up to UNSEEN_WRENCH, and the wrench nothing of it.
"""

from collections.abc import Callable

import numpy as np

from .momentum_observer import External
from ..dynamics.pinocchio_model import link_jacobian
from ..dynamics.robot_model import RobotModel

UNSEEN_WRENCH = 1e4  # [N], [N m] deviation of what no torque shows: more than any robot bears


class WrenchObserver:
    """
    Wrenches at the origin of a link, in its axes, of a robot of n joints.

    robot : RobotModel; link : a name of the URDF, also of a fixed one; '' : the last that moves
    Raises RobotModelError for a link that does not exist.
    """

    def __init__(self, robot: RobotModel, link: str = '') -> None:
        self.link = link or robot.link_names[-1]
        self._jacobian: Callable[[np.ndarray], np.ndarray] = link_jacobian(robot, self.link)

    def wrenches(self, q: np.ndarray, external: External) -> tuple[np.ndarray, np.ndarray]:
        """
        Return what the surroundings do, (N, 6) [N, N m], and its covariance (N, 6, 6).

        q : (N, n) positions [rad, m]; external : External at these instants
        Beyond the validity range nothing is known: not a number.
        """
        wrench, covariance = np.full((len(q), 6), np.nan), np.full((len(q), 6, 6), np.nan)
        for k in np.flatnonzero(~external.outside.any(axis=1)):
            J = self._jacobian(q[k])
            weighted = J / external.standard_deviation[k] ** 2
            covariance[k] = np.linalg.inv(weighted @ J.T + np.eye(6) / UNSEEN_WRENCH**2)
            wrench[k] = covariance[k] @ weighted @ external.torque[k]
        return wrench, covariance
