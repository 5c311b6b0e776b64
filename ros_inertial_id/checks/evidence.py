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

from .finding import CERTAIN
from .hypothesis import (Described, described_residual, Fitted, Hypothesis, ratios_of, Score,
                         surprise)
from .samples import correlation_of, FRICTION, Samples
from ..estimation.cross_validation import without_each
from ..estimation.problem import solve_positive

ROUNDS = 2        # of weights from residuals
FLOOR = 0.01      # of a joint's torque: no model of a robot is better, so less is no evidence
BRAKING = (0, 1)  # viscous and Coulomb friction among LAWS: never negative
WIDEST = 30.0     # nats that a friction that drives costs at most, per law
SEARCHED = 0.1    # of all torques: standard deviation of every joint while searching
BADLY = 0.1       # relative residual from which costly alternatives are asked
VISIBLE = 0.02    # of all torques, that is worth a word
ALIKE = 1.1       # factor between two residuals, or two gains, that says nothing
WORTH = 3.0       # nats on the data fitted: less is never certain on data left out
# What a model lacks is in every fold alike and not in these odds: what is named for its evidence
# alone must be certain three times over.
SURELY = 3 * CERTAIN


@dataclass(frozen=True)
class Equations:
    """
    Normal equations of all joints, fold by fold, in units of the prior.

    AA : (n, folds, p, p); AY : (n, folds, p, m); YY : (n, folds, m, m) of columns and targets;
    of one target each AY is (n, folds, p) and YY (n, folds)
    """

    AA: np.ndarray
    AY: np.ndarray
    YY: np.ndarray

    def left_out(self, weight: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (n,) squares left of each fold by the others, joints weighed; and (F, p)."""
        z = without_each(np.tensordot(weight, self.AA, 1), np.tensordot(weight, self.AY, 1),
                         np.eye(len(mean)), mean)
        left = (self.YY - 2.0 * (self.AY * z).sum(-1)
                + ((self.AA @ z[:, :, None])[..., 0] * z).sum(-1))
        return np.maximum(left.sum(1), 0.0), z


class Evidence:
    """
    Fits of Hypotheses to ``samples``.

    ``effective`` : (n,) independent samples per joint; from the residuals, unless given: only
    evidence of the same samples, counted alike, can be compared
    """

    def __init__(self, samples: Samples, effective: np.ndarray | None = None) -> None:
        self.samples = samples
        self._reduced: dict[bytes, Equations] = {}
        self._ratios: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        count = len(samples.robot)
        self.as_recorded = Hypothesis(samples.gravity, np.arange(count), np.ones(count))
        if effective is None:
            self.effective = np.full(count, float(len(samples.fold)))
            effective = self.effective_of(self.as_recorded, self.fit(self.as_recorded))
            self._ratios.clear()  # whose errors depend on it
        self.effective = effective

    @cached_property
    def base(self) -> Fitted:
        """Return the fit of the data as they were recorded."""
        return self.fit(self.as_recorded)

    @cached_property
    def left(self) -> np.ndarray:
        """Return the (N, n) residuals of the base fit."""
        return self.residuals(self.as_recorded, self.base)

    @cached_property
    def nominal(self) -> np.ndarray:
        """Return the (n,) RMS of what the description alone leaves, friction fitted [N m]."""
        return self.nominal_under(self.samples.gravity)

    def nominal_under(self, gravity: np.ndarray) -> np.ndarray:
        """Return ``nominal`` under a ``gravity`` (3,) [m/s^2]."""
        return described_residual(self.samples, gravity)

    @cached_property
    def descriptions(self) -> Described:
        """Return how well changed descriptions explain the efforts."""
        return Described(self.samples)

    def hypothesis(self, **changes: Any) -> Hypothesis:
        """Return the data as recorded but for some ``changes`` of a Hypothesis."""
        return replace(self.as_recorded, **changes)

    def of_joint(self, j: int, X: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return columns X (N, m) of joint ``j``, zero for the others."""
        return tuple(X if k == j else np.zeros_like(X) for k in range(len(self.effective)))

    def fit(self, h: Hypothesis, without: int | None = None) -> Fitted:
        """Return how well ``h`` predicts left-out data; ``without`` : a joint not asked."""
        equations, count = self.equations(h), float(len(self.samples.fold))
        torque = np.sqrt(np.maximum(equations.YY.sum(1) / count, 1e-300))
        mean, sd = self._prior(equations)
        # Of what was recorded: a factor changes its unit, a torque that is added does not.
        unit = torque if not h.added else np.sqrt(self.equations(
            replace(h, added=())).YY.sum(1) / count)
        sigma, there = 0.3 * torque, np.arange(len(torque)) != without
        for _ in range(ROUNDS):
            weight = there * self.effective / count / sigma ** 2
            square, _ = equations.left_out(weight, mean)
            residual = np.sqrt(square / count)
            sigma = np.hypot(residual, FLOOR * unit)
        matrix = np.tensordot(weight, equations.AA.sum(1), 1) + np.eye(len(mean))
        z = solve_positive(matrix, np.tensordot(weight, equations.AY.sum(1), 1) + mean)
        evidence = -(self.effective * np.log(sigma / np.maximum(unit, 1e-150))).sum()
        n = len(h.target)
        brakes = np.add.outer(10 * n + FRICTION * np.arange(n), BRAKING).ravel()
        evidence -= 0.5 * ((z - mean) ** 2).sum() + self._driving(z, matrix, brakes)
        if self.samples.described:
            evidence -= self._undescribed(h)
        return Fitted(float(evidence), residual, torque, sd * z, weight, matrix)

    def total_residual(self, h: Hypothesis) -> tuple[float, np.ndarray]:
        """
        Return the residual of all joints over their torque and the (p + m,) parameters, to search.

        Of all data, with every joint weighed alike: a joint with small torques must not decide
        where ``h`` is far from the truth.
        """
        equations, count = self.equations(h, whole=True), float(len(self.samples.fold))
        AA, Ay, yy = (x.sum(1) for x in (equations.AA, equations.AY, equations.YY))
        mean, sd = self._prior(equations)
        weight = self.effective / count / (SEARCHED ** 2 * max(yy.sum() / count, 1e-300))
        z = solve_positive(np.tensordot(weight, AA, 1) + np.eye(len(mean)), weight @ Ay + mean)
        square = yy.sum() - 2.0 * Ay.sum(0) @ z + z @ AA.sum(0) @ z
        return float(np.sqrt(max(square, 0.0) / max(yy.sum(), 1e-300))), sd * z

    def ratios(self, gravity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return (n, n) efforts over the described torques, friction apart, and their errors.

        gravity : (3,) [m/s^2]; entry [j, k] is of the torque of joint j in effort column k
        """
        key = np.asarray(gravity, dtype=float).tobytes()
        if key not in self._ratios:
            efforts = self.samples.motion.tau
            ratio, error = zip(*(ratios_of(self.samples, j, efforts, gravity, count)
                                 for j, count in enumerate(self.effective)))
            self._ratios[key] = np.array(ratio), np.array(error)
        return self._ratios[key]

    @property
    def own_ratios(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (n,) efforts of each joint over its described torque, and their errors."""
        ratio, error = self.ratios(self.samples.gravity)
        return np.diagonal(ratio), np.diagonal(error)

    @cached_property
    def own_fits(self) -> np.ndarray:
        """Return (n, targets) residual over torque of every joint fitted alone to every target."""
        out, whole = [], self.under(self.samples.gravity)
        for j, at in enumerate(self.samples.places):
            AA, AY = whole.AA[j][:, at[:, None], at], whole.AY[j][:, at]
            square = np.diagonal(whole.YY[j], axis1=1, axis2=2)
            scale = np.maximum(square.sum(0), 1e-300)
            # The prior only keeps the solution finite: a thousandth of the torque is noise.
            ridge = 1e-6 * scale.min() * np.eye(len(at))
            x = np.linalg.solve(AA.sum(0) - AA + ridge, AY.sum(0) - AY)
            left = (square - 2 * (AY * x).sum(1) + (x * (AA @ x)).sum(1)).sum(0)
            out.append(np.sqrt(np.maximum(left / scale, FLOOR ** 2)))
        return np.array(out)

    def residuals(self, h: Hypothesis, fit: Fitted) -> np.ndarray:
        """Return (N, n) what a ``fit`` of ``h`` leaves of the torques, in time."""
        out, p = np.empty_like(self.samples.motion.tau), len(self.samples.mean)
        for j, at in enumerate(self.samples.places):
            out[:, j] = self._target(j, h) - self.samples.columns(j, h.gravity) @ fit.values[at]
            if h.extra:
                out[:, j] -= h.extra[j] @ fit.values[p:]
        return out

    def effective_of(self, h: Hypothesis, fit: Fitted) -> np.ndarray:
        """Return (n,) how many samples are independent by what a ``fit`` of ``h`` leaves."""
        residual = self.residuals(h, fit)
        times = np.array([correlation_of(column) for column in residual.T])
        # While a joint stands still, its friction holds one value: that is one sample.
        return np.where(self.samples.still, 1.0, np.maximum(len(residual) / times, 10.0))

    def score(self, columns: Sequence[np.ndarray],
              chosen: np.ndarray | slice = slice(None)) -> Score:
        """
        Return what further ``columns`` could explain of the residual, none of them fitted.

        columns : per joint (M, m); chosen : (M,) samples that stand for all, in which the fitted
        columns are taken as well
        """
        s, base = self.samples, self.base
        share = 1.0 if isinstance(chosen, slice) else len(s.fold) / len(chosen)
        few, m = not isinstance(chosen, slice), columns[0].shape[1]
        information = np.eye(len(s.mean)) if few else base.matrix
        cross, own = np.zeros((len(s.mean), m)), np.eye(m)
        toward, pull = np.zeros(m), (s.mean - base.values) / s.sd
        for j, (at, X) in enumerate(zip(s.places, columns)):
            if not (few or X.any()):
                continue
            w = share * base.weight[j]
            A, left = s.columns(j)[chosen] * s.sd[at], self.left[chosen, j]
            if few:
                information[np.ix_(at, at)] += w * A.T @ A
                pull[at] += w * A.T @ left
            cross[at] += w * A.T @ X
            own += w * X.T @ X
            toward += w * X.T @ left
        shared = np.linalg.solve(information, cross)
        return Score(own - cross.T @ shared, toward - shared.T @ pull if few else toward)

    def under(self, gravity: np.ndarray) -> Equations:
        """Return the Equations of all targets under a ``gravity`` (3,); kept: most share one."""
        key = np.asarray(gravity, dtype=float).tobytes()
        if key not in self._reduced:
            if len(self._reduced) > 2:
                self._reduced.pop(next(reversed(self._reduced)))
            self._reduced[key] = self._combined(gravity, self.samples.products)
        return self._reduced[key]

    def _combined(self, gravity, products):
        """Return the Equations of all targets under a gravity (3,) by ``Samples.products``."""
        s, n, p = self.samples, len(self.samples.robot), len(self.samples.mean)
        folds, m = len(products[0]), s.targets(0).shape[1]
        out = Equations(np.zeros((n, folds, p, p)), np.zeros((n, folds, p, m)),
                        np.empty((n, folds, m, m)))
        for j, (at, heavy) in enumerate(zip(s.places, s.heavy)):
            c = len(at)
            half = _pulled(products[j], c, heavy, gravity)
            P = _pulled(half.transpose(0, 2, 1), c, heavy, gravity)
            out.AA[j][:, at[:, None], at] = P[:, :c, :c] * s.sd[at] * s.sd[at][:, None]
            out.AY[j][:, at] = P[:, :c, c:] * s.sd[at][:, None]
            out.YY[j] = P[:, c:, c:]
        return out

    def equations(self, h: Hypothesis, whole: bool = False) -> Equations:
        """Return the Equations of the one target that every joint has by ``h``, of one fold."""
        s, joints = self.samples, np.arange(len(h.target))
        before = self._combined(h.gravity, self._whole) if whole else self.under(h.gravity)
        one = Equations(before.AA, h.scale[:, None, None] * before.AY[joints, :, :, h.target],
                        h.scale[:, None] ** 2 * before.YY[joints, :, h.target, h.target])
        if not (h.extra or h.added):
            return one
        n, folds, p = one.AY.shape
        m = h.extra[0].shape[1] if h.extra else 0
        AA, Ay, yy = np.zeros((n, folds, p + m, p + m)), np.zeros((n, folds, p + m)), one.YY
        AA[:, :, :p, :p], Ay[:, :, :p] = one.AA, one.AY
        parts = [slice(None)] if whole else [s.fold == k for k in range(folds)]
        for j, at in enumerate(s.places):
            if not (h.added or h.extra[j].any()):
                continue
            A, y = s.columns(j, h.gravity) * s.sd[at], self._target(j, h)
            new = np.column_stack([*h.extra[j:j + 1], y])
            for k, f in enumerate(parts):
                cross, own = A[f].T @ new[f], new[f].T @ new[f]
                AA[j, k, at, p:] = AA[j, k, p:, at] = cross[:, :-1]
                AA[j, k, p:, p:] = own[:-1, :-1]
                Ay[j, k, at], Ay[j, k, p:], yy[j, k] = cross[:, -1], own[:-1, -1], own[-1, -1]
        return Equations(AA, Ay, yy)

    @cached_property
    def _whole(self):
        return [P.sum(0, keepdims=True) for P in self.samples.products]

    def _target(self, j: int, h: Hypothesis) -> np.ndarray:
        """Return the (N,) torque of joint ``j`` by ``h``."""
        y = h.scale[j] * self.samples.targets(j)[:, h.target[j]]
        return y + h.added[j] if h.added else y

    def _prior(self, equations: Equations) -> tuple[np.ndarray, np.ndarray]:
        """Return means in units of the prior, and standard deviations, (p + extra,) each."""
        s, extra = self.samples, equations.AY.shape[2] - len(self.samples.mean)
        return (np.append(s.mean / s.sd, np.zeros(extra)), np.append(s.sd, np.ones(extra)))

    def _undescribed(self, h: Hypothesis) -> float:
        """Return the nats that torques cost which are not those of the description."""
        cost, n = 0.0, len(h.target)
        ratio, error = self.ratios(h.gravity)
        for j in range(n):
            if h.added:
                r, e = ratios_of(self.samples, j, self._target(j, h)[:, None], h.gravity,
                                 self.effective[j])
                cost += surprise(float(r[0]), float(e[0]))
                continue
            k = h.target[j] if h.target[j] < n else j  # or its own, delayed
            cost += surprise(h.scale[j] * ratio[j, k], h.scale[j] * error[j, k])
        return cost

    def driving(self, j: int) -> float:
        """Return the nats that the base fit's friction of joint ``j`` costs as it drives it."""
        first = 10 * len(self.samples.robot) + FRICTION * j
        return self._driving(self.base.values / self.samples.sd, self.base.matrix,
                             first + np.array(BRAKING))

    def _driving(self, z: np.ndarray, matrix: np.ndarray, places: np.ndarray) -> float:
        """Return the nats that friction in ``places`` costs which drives instead of braking."""
        places = places[z[places] < 0.0]
        if not places.size:
            return 0.0
        variance = np.linalg.solve(matrix, np.eye(len(matrix))[:, places])[
            places, np.arange(len(places))]
        return float(np.minimum(WIDEST, 0.5 * z[places] ** 2 / variance).sum())


def _pulled(P, count, heavy, gravity):
    """Return products (F, k, l) with rows [W, targets] under a gravity, of [W, G, targets]."""
    out = np.concatenate([P[:, :count], P[:, count + 3 * len(heavy):]], axis=1)
    for k in np.flatnonzero(gravity):
        out[:, heavy] += gravity[k] * P[:, count + k * len(heavy):][:, :len(heavy)]
    return out
