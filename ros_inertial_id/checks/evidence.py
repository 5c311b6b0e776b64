"""
Evidence: how well a hypothesis about the data predicts stretches that its fit has not seen.

The parameters of all joints are fitted together (a body shows in every joint before it), with the
description as a wide prior and every joint weighed by its own residual, and each fold is
predicted from the others.  See the package's docstring for the number that results.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from .described import nominal_residual, ratio_of, ratios_of, surprise, undescribed
from .described_models import described_models, DescribedModels
from .grams import under_gravity
from .hypothesis import Fitted, Hypothesis
from .normal_equations import Part, solve, spans_of
from .rows import Rows
from ..estimation.cross_validation import FOLDS
from ..estimation.residuals import autocovariance, correlation_time

ROUNDS = 2        # of weights from residuals
FLOOR = 0.01      # of a joint's torque: no model of a robot is better, so less is no evidence
BRAKING = (0, 1)  # viscous and Coulomb friction among LAWS: never negative
WIDEST = 30.0     # nats that a friction that drives costs at most, per law
ALIKE = 0.1       # of all torques: standard deviation of every joint while searching


class Evidence:
    """
    Fits of Hypotheses to ``rows``.

    ``effective`` : (n,) independent samples per joint; from the residuals, unless given: only
    evidence of the same samples, counted alike, can be compared
    """

    def __init__(self, rows: Rows, effective: np.ndarray | None = None) -> None:
        self.rows = rows
        self._reduced: dict[bytes, Any] = {}
        self._described: dict[bytes, Any] = {}
        self._spans = [spans_of(at) for at in rows.places]
        count = len(rows.robot)
        self.as_recorded = Hypothesis(rows.gravity, np.arange(count), np.ones(count))
        if effective is None:
            self.effective = np.full(count, float(len(rows.fold)))
            effective = self.effective_of(self.as_recorded, self.fit(self.as_recorded))
            self._described.clear()  # whose errors depend on it
        self.effective = effective

    @cached_property
    def base(self) -> Fitted:
        """Return the fit of the data as they were recorded."""
        return self.fit(self.as_recorded)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Return the (p, p) covariance of the base fit's parameters, in units of the prior."""
        return np.linalg.inv(self.base.matrix)

    @cached_property
    def left(self) -> np.ndarray:
        """Return the (N, n) residuals of the base fit."""
        return self.residuals(self.as_recorded, self.base)

    @cached_property
    def nominal(self) -> np.ndarray:
        """Return the (n,) RMS of what the description alone leaves, friction fitted [N m]."""
        return nominal_residual(self.rows)

    @cached_property
    def described(self) -> DescribedModels:
        """Return how well changed descriptions explain the efforts."""
        return described_models(self.rows)

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
        torque = np.sqrt(np.maximum(np.array([p.yy.sum() for p in parts]) / count, 1e-300))
        mean, sd = self._prior(h.extra[0].shape[1] if h.extra else 0)
        # Density of what was recorded: a factor changes its unit, a torque that is added does not.
        unit = np.sqrt(np.array([h.scale[j] ** 2 * self._power(j, h) for j in chosen]) / count)
        sigma = 0.3 * torque
        for _ in range(ROUNDS):
            weight = self.effective[chosen] / count / sigma ** 2
            solution = solve(parts, weight, mean)
            square = np.array([part.square(solution.left_out) for part in parts])
            residual = np.sqrt(np.maximum(square / count, 0.0))
            sigma = np.hypot(residual, FLOOR * unit)
        evidence = -(self.effective[chosen] * np.log(sigma / np.maximum(unit, 1e-150))).sum()
        evidence -= 0.5 * ((solution.z - mean) ** 2).sum()
        evidence -= self._driving(solution.z, solution.matrix, chosen)
        if self.rows.prior.nominal:
            evidence -= (undescribed(h, chosen, *self.ratios(h.gravity)) if not h.added else
                         sum(self._surprise(j, part) for j, part in zip(chosen, parts)))
        return Fitted(float(evidence), residual, torque, sd * solution.z, weight,
                      solution.matrix)

    def total_residual(self, h: Hypothesis) -> tuple[float, np.ndarray]:
        """
        Return the left-out residual of all joints over their torque and the (p + m,) parameters.

        With every joint weighed alike, to search by: a joint with small torques must not decide
        where ``h`` is far from the truth.
        """
        parts = [self._part(j, h) for j in range(len(self.rows.robot))]
        count = float(len(self.rows.fold))
        power = np.sqrt(max(sum(p.yy.sum() for p in parts) / count, 1e-300))
        mean, sd = self._prior(h.extra[0].shape[1] if h.extra else 0)
        solution = solve(parts, self.effective / count / (ALIKE * power) ** 2, mean)
        square = max(sum(part.square(solution.left_out) for part in parts), 0.0)
        return np.sqrt(square / count) / power, sd * solution.z

    def ratios(self, gravity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return (n, n) efforts over the described torques, friction apart, and their errors.

        gravity : (3,) [m/s^2]; entry [j, k] is of the torque of joint j in effort column k
        """
        key = np.asarray(gravity, dtype=float).tobytes()
        if key not in self._described:
            self._described[key] = ratios_of(self.rows, self._reduce(gravity), self.effective)
        return self._described[key]

    @property
    def own_ratios(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (n,) efforts of each joint over its described torque, and their errors."""
        ratio, error = self.ratios(self.rows.gravity)
        return np.diagonal(ratio), np.diagonal(error)

    @cached_property
    def own_fits(self) -> np.ndarray:
        """Return (n, targets) residual over torque of every joint fitted alone to every target."""
        out = []
        for AA, AY, YY in self._reduce(self.rows.gravity):
            square = np.diagonal(YY, axis1=1, axis2=2)
            scale = np.maximum(square.sum(0), 1e-300)
            # The prior only keeps the solution finite: a thousandth of the torque is noise.
            ridge = 1e-6 * scale.min() * np.eye(AA.shape[1])
            x = np.linalg.solve(AA.sum(0) - AA + ridge, AY.sum(0) - AY)
            left = (square - 2 * (AY * x).sum(1) + (x * (AA @ x)).sum(1)).sum(0)
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

    def _part(self, j: int, h: Hypothesis) -> Part:
        """Return what joint ``j`` contributes to a fit of ``h``."""
        AA, AY, YY = self._reduce(h.gravity)[j]
        k, s, spans = h.target[j], h.scale[j], self._spans[j]
        if not (h.added or h.extra):
            return Part(spans, AA, s * AY[:, :, k], s * s * YY[:, k, k])
        A = self.rows.columns(j, h.gravity) * self.rows.prior.sd[self.rows.places[j]]
        y = self.rows.targets[j][:, k]
        folds = [self.rows.fold == f for f in range(FOLDS)]
        if h.added:
            g = h.added[j]
            Ag = np.array([A[c].T @ g[c] for c in folds])
            more = np.array([2 * s * g[c] @ y[c] + g[c] @ g[c] for c in folds])
            return Part(spans, AA, s * AY[:, :, k] + Ag, s * s * YY[:, k, k] + more)
        X, m = h.extra[j], h.extra[j].shape[1]
        sums = np.stack([X[c].T @ np.column_stack([A[c], X[c], s * y[c]]) for c in folds])
        cross, own, target = sums[:, :, :A.shape[1]], sums[:, :, -1 - m:-1], sums[:, :, -1]
        p, c = len(self.rows.prior.mean), A.shape[1]
        return Part((*spans, (slice(c, c + m), slice(p, p + m))),
                    np.concatenate([np.concatenate([AA, cross.transpose(0, 2, 1)], axis=2),
                                    np.concatenate([cross, own], axis=2)], axis=1),
                    np.concatenate([s * AY[:, :, k], target], axis=1), s * s * YY[:, k, k])

    def _surprise(self, j: int, part: Part) -> float:
        """Return the nats that the torques of joint ``j`` in ``part`` cost by the description."""
        ratio, error = ratio_of(self.rows, j, part.AA.sum(0), part.Ay.sum(0)[:, None],
                                part.yy.sum(keepdims=True), self.effective[j])
        return surprise(float(ratio[0]), float(error[0]))

    def _power(self, j: int, h: Hypothesis) -> float:
        """Return the sum of squares of the effort that joint ``j`` has by a Hypothesis ``h``."""
        k = self.rows.target(j, h.target[j])
        return float(self.rows.grams[j][:, k, k].sum())

    def _reduce(self, gravity: np.ndarray) -> Any:
        """
        Return [joint] (A'A, A'Y, Y'Y), folds first, in units of the prior.

        gravity : (3,); kept, as most hypotheses share one
        """
        key = np.asarray(gravity, dtype=float).tobytes()
        if key not in self._reduced:
            if len(self._reduced) > 2:
                self._reduced.pop(next(reversed(self._reduced)))
            out = []
            for gram, at, heavy in zip(self.rows.grams, self.rows.places, self.rows.heavy):
                AA, AY, YY = under_gravity(gram, len(at), heavy, gravity)
                sd = self.rows.prior.sd[at]
                out.append((AA * sd * sd[:, None], AY * sd[:, None], YY))
            self._reduced[key] = out
        return self._reduced[key]

    def _prior(self, extra: int) -> tuple[np.ndarray, np.ndarray]:
        """Return means in units of the prior, and standard deviations, (p + extra,) each."""
        prior = self.rows.prior
        return (np.append(prior.mean / prior.sd, np.zeros(extra)),
                np.append(prior.sd, np.ones(extra)))

    def _driving(self, z: np.ndarray, matrix: np.ndarray, joints: Sequence[int]) -> float:
        """Return the nats that friction costs which drives a joint instead of braking it."""
        first = 10 * len(self.rows.robot)
        places = np.array([first + 4 * j + law for j in joints for law in BRAKING])
        places = places[z[places] < 0.0]
        if not places.size:
            return 0.0
        unit = np.zeros((len(matrix), len(places)))
        unit[places, np.arange(len(places))] = 1.0
        variance = np.linalg.solve(matrix, unit)[places, np.arange(len(places))]
        return float(np.minimum(WIDEST, 0.5 * z[places] ** 2 / variance).sum())

    def effective_of(self, h: Hypothesis, fit: Fitted) -> np.ndarray:
        """Return (n,) how many samples are independent by what a ``fit`` of ``h`` leaves."""
        residual = self.residuals(h, fit)
        times = []
        for column in residual.T:
            lags, pairs = autocovariance(column[:, None])
            rho = lags / pairs
            times.append(correlation_time(rho / rho[0]) if rho[0] > 0 else 1.0)
        # While a joint stands still, its friction holds one value: that is one sample.
        return np.where(self.rows.still, 1.0, np.maximum(len(residual) / np.array(times), 10.0))
