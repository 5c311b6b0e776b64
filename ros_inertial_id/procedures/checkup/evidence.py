"""
Evidence: how well a hypothesis about the data predicts stretches that its fit has not seen.

The parameters of all joints are fitted together (a body shows in every joint before it), with the
description as a wide prior and every joint weighed by its own residual, and each fold is
predicted from the others.  See the package's docstring for the number that results.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .rows import FOLDS, Rows, under_gravity
from ...estimation.residuals import autocovariance, correlation_time

ROUNDS = 2        # of weights from residuals
FLOOR = 0.01      # of a joint's torque: no model of a robot is better, so less is no evidence
BRAKING = (0, 1)  # viscous and Coulomb friction among LAWS: never negative
WIDEST = 30.0     # nats that a friction that drives costs at most, per law


@dataclass(frozen=True)
class Hypothesis:
    """
    What could be true of the data.

    gravity : (3,) [m/s^2]; target : (n,) which target column is the torque of joint j
    scale : (n,) by which the recorded efforts are to be multiplied to be torques
    extra : per joint (N, m) further columns, in units of what their parameters may be
    """

    gravity: np.ndarray
    target: np.ndarray
    scale: np.ndarray
    extra: tuple[np.ndarray, ...] = ()


@dataclass(frozen=True)
class Fitted:
    """
    evidence : [nats]; residual, torque : (n,) RMS on left-out data and of the target [N m]

    values : (p + m,) parameters of all data; covariance : theirs, of independent samples
    """

    evidence: float
    residual: np.ndarray
    torque: np.ndarray
    values: np.ndarray
    covariance: np.ndarray

    @property
    def relative(self) -> float:
        """Return the residual of all joints over their torque."""
        return float(np.linalg.norm(self.residual) / max(np.linalg.norm(self.torque), 1e-300))


class Evidence:
    """Fits of Hypotheses to ``rows``; ``effective`` : (n,) independent samples per joint."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._reduced: dict[bytes, Any] = {}
        count = len(rows.robot)
        self.as_recorded = Hypothesis(rows.gravity, np.arange(count), np.ones(count))
        self.effective = np.full(count, float(len(rows.fold)))
        draft = self.fit(self.as_recorded)
        self.effective = self._effective(draft)

    @cached_property
    def base(self) -> Fitted:
        """Return the fit of the data as they were recorded."""
        return self.fit(self.as_recorded)

    def hypothesis(self, **changes: Any) -> Hypothesis:
        """Return the data as recorded but for some ``changes`` of a Hypothesis."""
        return replace(self.as_recorded, **changes)

    def fit(self, h: Hypothesis, joints: Sequence[int] | None = None) -> Fitted:
        """
        Return how well the Hypothesis ``h`` predicts left-out data.

        joints : that are fitted, all by default; evidence is theirs alone
        """
        chosen = list(range(len(self.rows.robot)) if joints is None else joints)
        parts = [self._part(j, h) for j in chosen]
        count = float(len(self.rows.fold))
        torque = np.sqrt(np.maximum(np.array([p[3].sum() for p in parts]) / count, 1e-300))
        mean, sd = self._prior(h.extra[0].shape[1] if h.extra else 0)
        sigma = 0.3 * torque
        for _ in range(ROUNDS):
            # In units of the prior, so that parameters of any size are as well conditioned.
            H, b = _systems(parts, self.effective[chosen] / count / sigma ** 2, len(mean))
            H, b = H * sd * sd[:, None], b * sd
            whole, target = H.sum(0) + np.eye(len(sd)), b.sum(0) + mean / sd
            x = sd * np.linalg.solve(whole - H, (target - b)[:, :, None])[:, :, 0]
            square = np.array([_square(part, x) for part in parts])
            residual = np.sqrt(np.maximum(square / count, 0.0))
            sigma = np.hypot(residual, FLOOR * torque)
        values, covariance = sd * np.linalg.solve(whole, target), np.linalg.inv(whole)
        covariance = covariance * sd * sd[:, None]
        evidence = -(self.effective[chosen] * np.log(sigma / torque)).sum()
        evidence -= 0.5 * (((values - mean) / sd) ** 2).sum()
        evidence -= self._driving(values, covariance, chosen)
        return Fitted(float(evidence), residual, torque, values, covariance)

    def own_fits(self) -> np.ndarray:
        """Return (n, targets) residual over torque of every joint fitted alone to every target."""
        out = []
        for j, at in enumerate(self.rows.places):
            AA, AY, YY = (np.array(x) for x in zip(*(fold[j] for fold in self._reduce(
                self.rows.gravity))))
            square = np.diagonal(YY, axis1=1, axis2=2)
            scale = np.maximum(square.sum(0), 1e-300)
            sd = self.rows.prior.sd[at][:, None]
            H, b = AA * sd * sd.T, AY * sd
            # The prior only keeps the solution finite: a thousandth of the torque is noise.
            ridge = 1e-6 * scale.min() * np.eye(len(at))
            x = sd * np.linalg.solve(H.sum(0) - H + ridge, b.sum(0) - b)
            left = (square - 2 * np.einsum('fct,fct->ft', AY, x)
                    + np.einsum('fct,fcd,fdt->ft', x, AA, x, optimize=True)).sum(0)
            out.append(np.sqrt(np.maximum(left / scale, FLOOR ** 2)))
        return np.array(out)

    def residuals(self, h: Hypothesis, fit: Fitted) -> np.ndarray:
        """Return (N, n) what a ``fit`` of ``h`` leaves of the torques, in time."""
        out = np.empty((len(self.rows.fold), len(self.rows.robot)))
        p = len(self.rows.prior.mean)
        for j, at in enumerate(self.rows.places):
            out[:, j] = (h.scale[j] * self.rows.targets[j][:, h.target[j]]
                         - self.rows.columns(j, h.gravity) @ fit.values[at])
            if h.extra:
                out[:, j] -= h.extra[j] @ fit.values[p:]
        return out

    def _part(self, j: int, h: Hypothesis) -> tuple:
        """Return (places, A'A, A'y, y'y) of a joint, leading axis the folds."""
        AA, AY, YY = (np.array(x) for x in zip(*(f[j] for f in self._reduce(h.gravity))))
        k, at, s = h.target[j], self.rows.places[j], h.scale[j]
        if not h.extra:
            return at, AA, s * AY[:, :, k], s * s * YY[:, k, k]
        A, X = self.rows.columns(j, h.gravity), h.extra[j]
        y, m = s * self.rows.targets[j][:, k], X.shape[1]
        sums = np.stack([X[c].T @ np.column_stack([A[c], X[c], y[c]])
                         for c in (self.rows.fold == f for f in range(FOLDS))])
        cross, own, target = sums[:, :, :A.shape[1]], sums[:, :, -1 - m:-1], sums[:, :, -1]
        return (np.append(at, len(self.rows.prior.mean) + np.arange(m)),
                np.concatenate([np.concatenate([AA, cross.transpose(0, 2, 1)], axis=2),
                                np.concatenate([cross, own], axis=2)], axis=1),
                np.concatenate([s * AY[:, :, k], target], axis=1), s * s * YY[:, k, k])

    def _reduce(self, gravity: np.ndarray) -> Any:
        """Return [fold][joint] (A'A, A'Y, Y'Y) under a gravity; kept, as most share one."""
        key = np.asarray(gravity, dtype=float).tobytes()
        if key not in self._reduced:
            if len(self._reduced) > 2:
                self._reduced.pop(next(reversed(self._reduced)))
            out = [[under_gravity(gram, len(self.rows.places[j]), self.rows.heavy[j], gravity)
                    for j, gram in enumerate(fold)] for fold in self.rows.grams]
            self._reduced[key] = out
        return self._reduced[key]

    def _prior(self, extra: int) -> tuple[np.ndarray, np.ndarray]:
        prior = self.rows.prior
        return (np.append(prior.mean, np.zeros(extra)),
                np.append(prior.sd, np.ones(extra)))

    def _driving(self, values: np.ndarray, covariance: np.ndarray,
                 joints: Sequence[int]) -> float:
        """Return the nats that friction costs which drives a joint instead of braking it."""
        first, cost = 10 * len(self.rows.robot), 0.0
        for j in joints:
            for law in BRAKING:
                k = first + 4 * j + law
                if values[k] < 0.0:
                    cost += min(WIDEST, 0.5 * values[k] ** 2 / covariance[k, k])
        return cost

    def _effective(self, draft: Fitted) -> np.ndarray:
        residual = self.residuals(self.as_recorded, draft)
        times = []
        for column in residual.T:
            lags, pairs = autocovariance(column[:, None])
            rho = lags / pairs
            times.append(correlation_time(rho / rho[0]) if rho[0] > 0 else 1.0)
        return np.maximum(len(residual) / np.array(times), 10.0)


def _systems(parts: list[tuple], weight: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal equations (folds, p, p) and (folds, p) of weighted joints."""
    H, b = np.zeros((FOLDS, size, size)), np.zeros((FOLDS, size))
    for w, (at, AA, Ay, _) in zip(weight, parts):
        H[:, at[:, None], at] += w * AA
        b[:, at] += w * Ay
    return H, b


def _square(part: tuple, x: np.ndarray) -> float:
    """Return the sum of squared residuals of a joint, fold by fold under solutions (folds, p)."""
    at, AA, Ay, yy = part
    own = x[:, at]
    square = np.einsum('fc,fcd,fd->', own, AA, own, optimize=True)
    return float(yy.sum() - 2 * (Ay * own).sum() + square)
