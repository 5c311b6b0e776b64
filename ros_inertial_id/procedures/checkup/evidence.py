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
DESCRIBED = 0.5   # a description's torques are right within a factor exp(0.5) or so,
UNDESCRIBED = 6.0  # and where they are not at all, a joint costs that many nats
NOTHING = 1e-9     # of the efforts: described torques so small are rounding
ALIKE = 0.1       # of all torques: standard deviation of every joint while searching


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
    """
    Fits of Hypotheses to ``rows``.

    ``effective`` : (n,) independent samples per joint; from the residuals, unless given: only
    evidence of the same samples, counted alike, can be compared
    """

    def __init__(self, rows: Rows, effective: np.ndarray | None = None) -> None:
        self.rows = rows
        self._width = rows.targets[0].shape[1]
        self._reduced: dict[bytes, Any] = {}
        self._described: dict[bytes, Any] = {}
        count = len(rows.robot)
        self.as_recorded = Hypothesis(rows.gravity, np.arange(count), np.ones(count))
        if effective is None:
            self.effective = np.full(count, float(len(rows.fold)))
            effective = self._effective(self.fit(self.as_recorded))
        self.effective = effective

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
        # Density of what was recorded: a factor changes its unit, a torque that is added does not.
        unit = np.sqrt(np.array([h.scale[j] ** 2 * self._power(j, h) for j in chosen]) / count)
        sigma = 0.3 * torque
        for _ in range(ROUNDS):
            # In units of the prior, so that parameters of any size are as well conditioned.
            H, b = _systems(parts, self.effective[chosen] / count / sigma ** 2, len(mean))
            H, b = H * sd * sd[:, None], b * sd
            whole, target = H.sum(0) + np.eye(len(sd)), b.sum(0) + mean / sd
            x = sd * np.linalg.solve(whole - H, (target - b)[:, :, None])[:, :, 0]
            square = np.array([_square(part, x) for part in parts])
            residual = np.sqrt(np.maximum(square / count, 0.0))
            sigma = np.hypot(residual, FLOOR * unit)
        values, covariance = sd * np.linalg.solve(whole, target), np.linalg.inv(whole)
        covariance = covariance * sd * sd[:, None]
        evidence = -(self.effective[chosen] * np.log(sigma / np.maximum(unit, 1e-150))).sum()
        evidence -= 0.5 * (((values - mean) / sd) ** 2).sum()
        evidence -= self._driving(values, covariance, chosen)
        evidence -= self._undescribed(h, chosen)
        return Fitted(float(evidence), residual, torque, values, covariance)

    def total_residual(self, h: Hypothesis) -> float:
        """
        Return the left-out residual of all joints over their torque, every joint weighed alike.

        To search by: a joint with small torques must not decide where ``h`` is far from the truth.
        """
        parts = [self._part(j, h) for j in range(len(self.rows.robot))]
        return float(self._alike(parts)[0])

    def values_alike(self, h: Hypothesis) -> np.ndarray:
        """Return the (p + m,) parameters of ``h`` with every joint weighed alike."""
        return self._alike([self._part(j, h) for j in range(len(self.rows.robot))])[1]

    def _alike(self, parts: list[tuple]) -> tuple[float, np.ndarray]:
        count = float(len(self.rows.fold))
        power = np.sqrt(max(sum(p[3].sum() for p in parts) / count, 1e-300))
        mean, sd = self._prior(len(parts[0][0]) - len(self.rows.places[0]))
        weight = self.effective / count / (ALIKE * power) ** 2
        H, b = _systems(parts, weight, len(mean))
        H, b = H * sd * sd[:, None], b * sd
        whole, target = H.sum(0) + np.eye(len(sd)), b.sum(0) + mean / sd
        x = sd * np.linalg.solve(whole - H, (target - b)[:, :, None])[:, :, 0]
        square = max(sum(_square(part, x) for part in parts), 0.0)
        return np.sqrt(square / count) / power, sd * np.linalg.solve(whole, target)

    def ratios(self, gravity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return (n, n) efforts over the described torques, friction apart, and their errors.

        gravity : (3,) [m/s^2]; entry [j, k] is of the torque of joint j in effort column k
        """
        key = np.asarray(gravity, dtype=float).tobytes()
        if key not in self._described:
            parts = [self._ratio(j, gravity) for j in range(len(self.rows.robot))]
            self._described[key] = tuple(np.array(x) for x in zip(*parts))
        return self._described[key]

    def _ratio(self, j: int, gravity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count, at = len(self.rows.robot), self.rows.places[j]
        AA, AY, YY = (x.sum(0) for x in self._reduce(gravity)[j])
        basis = np.zeros((len(at), 4))
        basis[:, 0] = self.rows.prior.mean[at]
        basis[-4:-1, 1:] = np.eye(3)
        H, b = basis.T @ AA @ basis, basis.T @ AY[:, :count]
        size = np.sqrt(np.maximum(np.diagonal(H), 1e-300))
        inverse = np.linalg.pinv(H / size / size[:, None], rcond=1e-9, hermitian=True)
        x = inverse @ (b / size[:, None])
        left = np.maximum(np.diagonal(YY)[:count] - (b / size[:, None] * x).sum(0), 0.0)
        described = H[0, 0] > NOTHING ** 2 * max(np.diagonal(YY)[:count].max(), 0.0)
        if not (described and inverse[0, 0] > 0.0):  # it has no torque, or one like friction's
            return np.zeros(count), np.full(count, np.inf)
        error = np.sqrt(inverse[0, 0] * left / self.effective[j])
        return x[0] / size[0], error / size[0]

    def _undescribed(self, h: Hypothesis, joints: Sequence[int]) -> float:
        """Return the nats that torques cost which are not those of the description."""
        if not self.rows.prior.nominal:
            return 0.0
        ratio, error = self.ratios(h.gravity)
        cost = 0.0
        for j in joints:
            k = h.target[j] if h.target[j] < len(ratio) else j  # or its own, delayed
            r, e = h.scale[j] * ratio[j, k], h.scale[j] * error[j, k]
            unknown = (e / max(abs(r), 1e-12)) ** 2
            off = 0.5 * np.log(max(abs(r), 1e-12)) ** 2 / (DESCRIBED ** 2 + unknown)
            cost += min(UNDESCRIBED, off + UNDESCRIBED * (r < 0) / (1.0 + 4.0 * unknown))
        return float(cost)

    def own_fits(self) -> np.ndarray:
        """Return (n, targets) residual over torque of every joint fitted alone to every target."""
        out = []
        for j, at in enumerate(self.rows.places):
            AA, AY, YY = self._reduce(self.rows.gravity)[j]
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
            if h.added:
                out[:, j] += h.added[j]
        return out

    def _part(self, j: int, h: Hypothesis) -> tuple:
        """Return (places, A'A, A'y, y'y) of a joint, leading axis the folds."""
        AA, AY, YY = self._reduce(h.gravity)[j]
        k, at, s = h.target[j], self.rows.places[j], h.scale[j]
        if h.added:
            A, g, y = self.rows.columns(j, h.gravity), h.added[j], self.rows.targets[j][:, k]
            folds = [self.rows.fold == f for f in range(FOLDS)]
            Ag = np.array([A[c].T @ g[c] for c in folds])
            more = np.array([2 * s * g[c] @ y[c] + g[c] @ g[c] for c in folds])
            return at, AA, s * AY[:, :, k] + Ag, s * s * YY[:, k, k] + more
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

    def _power(self, j: int, h: Hypothesis) -> float:
        """Return the sum of squares of the effort that joint ``j`` has by a Hypothesis ``h``."""
        k = h.target[j]
        return float(sum(gram[j][k - self._width, k - self._width] for gram in self.rows.grams))

    def _reduce(self, gravity: np.ndarray) -> Any:
        """Return [joint] (A'A, A'Y, Y'Y), folds first, under a gravity; kept: most share one."""
        key = np.asarray(gravity, dtype=float).tobytes()
        if key not in self._reduced:
            if len(self._reduced) > 2:
                self._reduced.pop(next(reversed(self._reduced)))
            folds = [[under_gravity(gram, len(self.rows.places[j]), self.rows.heavy[j], gravity)
                      for j, gram in enumerate(fold)] for fold in self.rows.grams]
            self._reduced[key] = [tuple(np.array(x) for x in zip(*(fold[j] for fold in folds)))
                                  for j in range(len(self.rows.places))]
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
    H, b = np.zeros((FOLDS, size * size)), np.zeros((FOLDS, size))
    for w, (at, AA, Ay, _) in zip(weight, parts):
        H[:, (size * at[:, None] + at).ravel()] += w * AA.reshape(FOLDS, -1)
        b[:, at] += w * Ay
    return H.reshape(FOLDS, size, size), b


def _square(part: tuple, x: np.ndarray) -> float:
    """Return the sum of squared residuals of a joint, fold by fold under solutions (folds, p)."""
    at, AA, Ay, yy = part
    own = x[:, at]
    square = ((own[:, None] @ AA)[:, 0] * own).sum()
    return float(yy.sum() - 2 * (Ay * own).sum() + square)
