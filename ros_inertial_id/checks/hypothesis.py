"""
Hypothesis: what could be true of the data of an arm; Fitted: what a fit of it says.

Candidate: one thing that could be wrong with the data, with both.  Score: what could be.

Described: how far the efforts are those of the description, friction apart.  Free bodies explain
efforts in another unit, with a load, or without gravity alike.  What the description itself
leaves, with as little changed as each of them needs, tells them apart: one factor, one per joint,
ten parameters of the last link, or none.  Compared by Schwarz's criterion (1978), friction fitted
in all of them.
"""

from dataclasses import dataclass

import numpy as np

from .finding import WRONG
from .samples import correlation_of, FRICTION, Samples

NOTHING = 1e-9     # of the efforts: described torques so small are rounding
DESCRIBED = 0.5    # a description's torques are right within a factor exp(0.5) or so,
UNDESCRIBED = 6.0  # and where they are not at all, a joint costs that many nats
LOAD = np.array([2.0] + [0.4] * 3 + [0.08] * 6)  # a usual payload [kg, kg m, kg m^2]
FLOOR = 0.05  # of a joint's torque: no description is better


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
    joints : concerned; severity : of the finding
    mended : the samples without the fault, where it is not of the efforts or of gravity
    surely : whether no law that the model may lack explains as much: evidence alone decides
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
    mended: Samples | None = None
    surely: bool = False


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


def without_friction(samples: Samples, j: int, x: np.ndarray,
                     laws: slice = slice(-FRICTION, None)) -> np.ndarray:
    """Return x (N,) or (N, k) of joint ``j`` without what its friction ``laws`` explain of it."""
    Q = np.linalg.qr(samples.columns(j)[:, laws])[0]
    return np.asarray(x - Q @ (Q.T @ x))


def ratios_of(samples: Samples, j: int, efforts: np.ndarray, gravity: np.ndarray,
              effective: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return (m,) ``efforts`` (N, m) over described torques of joint ``j``, and their errors.

    gravity : (3,) [m/s^2]; effective : number of independent samples
    """
    described = samples.torque(j, samples.mean, gravity)
    y, own = (without_friction(samples, j, x, slice(-FRICTION, -1)) for x in (efforts, described))
    square, largest = own @ own, (efforts ** 2).sum(axis=0).max()
    # It has no torque, or one like friction's.
    if square <= max(NOTHING * (described @ described), NOTHING ** 2 * largest):
        return np.zeros(y.shape[1]), np.full(y.shape[1], np.inf)
    ratio = own @ y / square
    left = ((y - np.outer(own, ratio)) ** 2).sum(axis=0)
    return ratio, np.sqrt(left / square / effective)


def described_residual(samples: Samples, gravity: np.ndarray) -> np.ndarray:
    """Return the (n,) RMS of what the description leaves under a ``gravity`` (3,) [N m or N]."""
    return np.array([np.sqrt(np.mean(without_friction(
        samples, j, samples.motion.tau[:, j] - samples.torque(j, samples.mean, gravity)) ** 2))
        for j in range(len(samples.robot))])


def surprise(ratio: float, error: float) -> float:
    """
    Return the nats that a joint costs whose torques are not those of the description.

    ratio, error : torques over described ones, and its standard error
    """
    unknown = (error / max(abs(ratio), 1e-12)) ** 2
    off = 0.5 * np.log(max(abs(ratio), 1e-12)) ** 2 / (DESCRIBED ** 2 + unknown)
    return float(min(UNDESCRIBED, off + UNDESCRIBED * (ratio < 0) / (1.0 + 4.0 * unknown)))


class Described:
    """
    How well changed descriptions explain the efforts of ``samples``.

    nats : {model: criterion}, of 'alone', 'percent' (of the limits), 'factor', 'factors' (one per
        joint), 'load' and 'no gravity'
    left : {model: (n,) RMS of what it leaves [N m]}; mass : of the load [kg]
    """

    def __init__(self, samples: Samples) -> None:
        count = len(samples.robot)
        y, D, inert, loads = ([without_friction(samples, j, x) for j, x in enumerate(own)]
                              for own in (
            samples.motion.tau.T,
            [samples.torque(j, samples.mean) for j in range(count)],
            [samples.torque(j, samples.mean, np.zeros(3)) for j in range(count)],
            [samples.load(j) * LOAD for j in range(count)]))
        own = [float(d @ t / max(d @ d, 1e-300)) for d, t in zip(D, y)]
        left = {'alone': [t - d for t, d in zip(y, D)],
                'no gravity': [t - d for t, d in zip(y, inert)],
                'factors': [t - s * d for t, d, s in zip(y, D, own)]}
        weight = [1.0 / max(float(r @ r), 1e-6 * float(t @ t), 1e-300)
                  for r, t in zip(left['factors'], y)]
        common = (sum(w * (d @ t) for w, d, t in zip(weight, D, y))
                  / max(sum(w * (d @ d) for w, d in zip(weight, D)), 1e-300))
        left['factor'] = [t - common * d for t, d in zip(y, D)]
        limits = samples.robot.effort
        if limits is not None and np.all(limits > 0):
            left['percent'] = [t - 100.0 / most * d for t, d, most in zip(y, D, limits)]
        H, b = np.eye(10), np.zeros(10)
        for w, X, r in zip(weight, loads, left['alone']):
            H += len(r) * w * X.T @ X
            b += len(r) * w * X.T @ r
        x = np.linalg.solve(H, b)
        left['load'] = [r - X @ x for r, X in zip(left['alone'], loads)]
        effective = np.where(samples.still, 1.0,
                             [len(r) / correlation_of(r) for r in left['alone']])
        free = {'alone': 0, 'percent': 0, 'no gravity': 0, 'factor': 1, 'factors': count,
                'load': 10}
        torque = np.sqrt(np.mean(samples.motion.tau ** 2, axis=0))
        self.left = {name: np.array([np.sqrt(np.mean(r ** 2)) for r in parts])
                     for name, parts in left.items()}
        self.nats = {name: -float(effective @ np.log(np.maximum(
            np.hypot(r, FLOOR * torque), 1e-300)))
            - 0.5 * free[name] * float(np.log(effective.sum())) for name, r in self.left.items()}
        self.mass = float(x[0] * LOAD[0])

    def total(self, model: str) -> float:
        """Return the RMS of what a model leaves of all joints [N m]."""
        return max(float(np.linalg.norm(self.left[model])), 1e-300)
