"""
Described models: the description alone, times a factor, with a load, or without gravity.

Free bodies explain efforts in another unit, with a load, or without gravity alike.  What the
description itself leaves, with as little changed as each of them needs, tells them apart: one
factor, one per joint, ten parameters of the last link, or none.  Compared by Schwarz's criterion
(1978), friction fitted in all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .rows import Rows
from ..estimation.residuals import autocovariance, correlation_time

LOAD = np.array([2.0] + [0.4] * 3 + [0.08] * 6)  # a usual payload [kg, kg m, kg m^2]
FLOOR = 0.05  # of a joint's torque: no description is better


@dataclass(frozen=True)
class DescribedModels:
    """
    How well changed descriptions explain the efforts.

    nats : {model: criterion}, of 'alone', 'percent' (of the limits), 'factor', 'factors' (one per
        joint), 'load' and 'no gravity'
    left : {model: (n,) RMS of what it leaves [N m]}; mass : of the load [kg]
    """

    nats: Mapping[str, float]
    left: Mapping[str, np.ndarray]
    mass: float

    def best(self) -> str:
        """Return the model that explains the efforts best for its parameters."""
        return max(self.nats, key=lambda name: self.nats[name])


def described_models(rows: Rows) -> DescribedModels:
    """Return the DescribedModels of ``rows``, whose prior is a description."""
    count = len(rows.robot)
    y, D, inert, loads = (list(x) for x in zip(*(_without_friction(rows, j)
                                                 for j in range(count))))
    own = [float(d @ t / max(d @ d, 1e-300)) for d, t in zip(D, y)]
    left = {'alone': [t - d for t, d in zip(y, D)],
            'no gravity': [t - d for t, d in zip(y, inert)],
            'factors': [t - s * d for t, d, s in zip(y, D, own)]}
    weight = [1.0 / max(float(r @ r), 1e-6 * float(t @ t), 1e-300)
              for r, t in zip(left['factors'], y)]
    common = (sum(w * (d @ t) for w, d, t in zip(weight, D, y))
              / max(sum(w * (d @ d) for w, d in zip(weight, D)), 1e-300))
    left['factor'] = [t - common * d for t, d in zip(y, D)]
    if rows.robot.effort is not None and np.all(rows.robot.effort > 0):
        left['percent'] = [t - 100.0 / most * d for t, d, most in zip(y, D, rows.robot.effort)]
    H, b = np.eye(10), np.zeros(10)
    for w, X, r in zip(weight, loads, left['alone']):
        H += len(r) * w * X.T @ X
        b += len(r) * w * X.T @ r
    x = np.linalg.solve(H, b)
    left['load'] = [r - X @ x for r, X in zip(left['alone'], loads)]
    effective = np.where(rows.still, 1.0, [_effective(r) for r in left['alone']])
    free = {'alone': 0, 'percent': 0, 'no gravity': 0, 'factor': 1, 'factors': count, 'load': 10}
    torque = np.array([np.sqrt(np.mean(rows.targets[j][:, j] ** 2)) for j in range(count)])
    rms = {name: np.array([np.sqrt(np.mean(r ** 2)) for r in parts])
           for name, parts in left.items()}
    nats = {name: -float(effective @ np.log(np.maximum(np.hypot(r, FLOOR * torque), 1e-300)))
            - 0.5 * free[name] * float(np.log(effective.sum())) for name, r in rms.items()}
    return DescribedModels(nats, rms, float(x[0] * LOAD[0]))


def _without_friction(rows: Rows, j: int) -> tuple[np.ndarray, ...]:
    """Return efforts, described torques with and without gravity, and columns of a load."""
    at, last = rows.places[j], len(rows.robot) - 1
    A, bare = rows.columns(j, rows.gravity), rows.columns(j, np.zeros(3))
    mean = rows.prior.mean[at[:-4]]
    own = np.flatnonzero((at >= 10 * last) & (at < 10 * last + 10))
    load = A[:, own] * LOAD if own.size else np.zeros((len(A), 10))
    Q = np.linalg.qr(A[:, -4:])[0]
    out = (rows.targets[j][:, j], A[:, :-4] @ mean, bare[:, :-4] @ mean, load)
    return tuple(x - Q @ (Q.T @ x) for x in out)


def _effective(residual: np.ndarray) -> float:
    lags, pairs = autocovariance(residual[:, None])
    rho = lags / pairs
    return len(residual) / (correlation_time(rho / rho[0]) if rho[0] > 0 else 1.0)
