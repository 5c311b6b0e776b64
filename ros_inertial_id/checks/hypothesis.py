"""
Hypothesis: what could be true of the data of an arm; Fitted: what a fit of it says.

Candidate: one thing that could be wrong with the data, with both.  Score: what could be.
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

    @property
    def scales_all(self) -> bool:
        """Return whether the efforts of all joints are in another unit."""
        return bool(np.all(self.scale != 1.0))


@dataclass(frozen=True)
class Fitted:
    """
    What a fit of one set of samples says.

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

    name, says, do, tests : as of a Finding; hypothesis, fit : of it; cost : nats of its freedom
    joints : concerned; severity : of the finding; windows : [s]
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
    axes: np.ndarray | None = None


@dataclass(frozen=True)
class Score:
    """
    Rao's score statistic of further columns (Rao 1948): one solution for all alternatives.

    information : (m, m) of the columns that the fitted parameters do not share
    toward : (m,) their products with the residual
    """

    information: np.ndarray
    toward: np.ndarray

    def each(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (m,) nats of each column alone, and its value."""
        S = np.diagonal(self.information)
        return 0.5 * self.toward ** 2 / S, self.toward / S

    def together(self) -> float:
        """Return the nats of all columns at once, less their number."""
        x = np.linalg.solve(self.information, self.toward)
        return float(0.5 * self.toward @ x - len(self.toward))
