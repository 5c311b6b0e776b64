"""
Hypothesis: what could be true of the data of an arm; Fitted: what a fit of it says.

Candidate: one thing that could be wrong with the data, with both.
"""

from dataclasses import dataclass

import numpy as np

from .finding import WRONG


@dataclass(frozen=True)
class Hypothesis:
    """
    What could be true of the data.

    gravity : (3,) [m/s^2]; target : (n,) which target column is the torque of joint j
    scale : (n,) by which the recorded efforts are to be multiplied to be torques
    extra : per joint (N, m) further columns, in units of what their parameters may be
    added : per joint (N,) torques that are missing in the efforts; with them no ``extra``
    """

    gravity: np.ndarray
    target: np.ndarray
    scale: np.ndarray
    extra: tuple[np.ndarray, ...] = ()
    added: tuple[np.ndarray, ...] = ()


@dataclass(frozen=True)
class Fitted:
    """
    What a fit of one set of rows says.

    evidence : [nats]; residual, torque : (n,) RMS on left-out data and of the target [N m]
    values : (p + m,) parameters of all data; weight : (n,) of squared residuals in their fit
    matrix : (p + m, p + m) its information, with the prior, in units of the prior
    """

    evidence: float
    residual: np.ndarray
    torque: np.ndarray
    values: np.ndarray
    weight: np.ndarray
    matrix: np.ndarray

    @property
    def relative(self) -> float:
        """Return the residual of all joints over their torque."""
        return float(np.linalg.norm(self.residual) / max(np.linalg.norm(self.torque), 1e-300))


@dataclass(frozen=True)
class Candidate:
    """
    One alternative, fitted.

    name, says, tests, do : as of a Finding; hypothesis, fit : of it; cost : nats of its freedom
    joints : concerned; severity : of the finding; windows : [s]; recording : its number
    axes : (n,) by which angles are to be multiplied, -1 of axes that are turned, None for none
    """

    name: str
    says: str
    do: str
    hypothesis: Hypothesis
    fit: Fitted
    joints: tuple[str, ...]
    severity: str = WRONG
    cost: float = 0.0
    tests: str = 'left-out evidence against the data as recorded'
    windows: tuple[tuple[float, float], ...] = ()
    recording: int = 0
    axes: np.ndarray | None = None
