"""
Systems: least squares problems of a wide factor under one gravity, with stretches left out.

Of every set of stretches that is left out the rows of all others, weighted, and the prior of the
description are one triangle of [columns | two tilts of gravity | targets]: a model is a choice of
its columns, a fault of the efforts another combination of its targets.  QR throughout, columns in
units of their priors; no solution forms normal equations.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from .structure import alike_constants, usual_constants
from .wide_factor import WideFactor
from ..prepare.mounting import across_gravity
from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import Parameter
from ...estimation.r_factors import of_columns, RFactors, stack, triangle
from ...lapack import solve_triangular
from ...measurement.joints.kinematic_state import AT_REST

# Of the description's prior of bodies.  Free bodies explain what no body can, a spring above all;
# consistent ones cannot, and are as near to the description as ones that lean so much on it.
LEAN = 0.1
TILT = 0.05  # [rad] by how much a base is tilted that is called upright: prior deviation
ROUNDS = 3  # of weights by residuals
CORRELATION_MARGIN = 2.0  # the ends of stretches cut what lasts: pulls show about half of it
SEEN = 1e-6  # of the largest information on scaled columns: less is rounding
EXACT = 1e-8  # of the squared target, in an error: no model predicts better


class Systems:
    """
    The systems of a WideFactor about its places and two angles of gravity.

    wide : of rows under ``given`` (3,) gravity; gravity : (3,) asked, ``given`` by default
    beta : (places,) parameters at which a tilt pulls, those of the description by default
    plain : (k,) places of the model whose residuals give the weights, the simplest by default
    weights : sd (groups,) of rows as if independent, and {group: how many rows say what one
        would}, found if not given
    """

    def __init__(
        self,
        wide: WideFactor,
        given: np.ndarray,
        plain: np.ndarray | None = None,
        *,
        gravity: np.ndarray | None = None,
        beta: np.ndarray | None = None,
        weights: tuple[np.ndarray, dict[str, float]] | None = None,
    ) -> None:
        self.wide, self.given = wide, given
        self.plain = plain_places(wide) if plain is None else plain
        self.gravity = given if gravity is None else gravity
        structure, self.size = wide.structure, wide.places
        base = structure.base
        self.parameters: list[Parameter] = structure.parameters_of_places()
        self.nominal = np.zeros(self.size + 2)
        self.nominal[: len(base)] = base.nominal()
        self.beta = self.nominal[:-2] if beta is None else beta
        self.prior_sd = np.array([p.prior_sd for p in self.parameters] + 2 * [TILT])
        self.prior_sd[: len(base)] = base.prior_sd
        self.extras = 1 if not wide.joints else 2 + 2 * wide.joints
        further = wide.efforts + np.arange(self.extras - 1)
        if wide.joints:  # the rate of the own effort first
            further = np.r_[further[wide.joints], np.delete(further, wide.joints)]
        T = np.hstack(
            [
                wide.columns_under_gravity(self.gravity - given),
                self._tilts(),
                np.eye(wide.total.size)[:, further],
            ]
        )
        self._parts = [_combined(stretch, T, self.size + 2) for stretch in wide.stretches]
        self.names = tuple(wide.groups)
        self.rows = np.array(
            [
                [s.groups[n].rows if n in s.groups else 0.0 for n in self.names]
                for s in wide.stretches
            ]
        )
        self.count = len(wide.stretches)
        if weights is None:
            self.sd, self.correlation_rows = np.ones(len(self.names)), dict[str, float]()
            self._weigh()
        else:
            self.sd, self.correlation_rows = weights

    def _tilts(self):
        size = self.wide.total.size
        if not self.wide.gravity_columns.size or not self.given.any():
            return np.zeros((size, 2))
        g = self.gravity if self.gravity.any() else self.given
        return self.wide.tilts(self.beta, across_gravity(g) * np.linalg.norm(g))

    @cached_property
    def prior(self) -> np.ndarray:
        """Return the rows (size + 2, size + 3) of the prior, its target last."""
        base = self.wide.structure.base
        b, root = len(base), np.diag(1.0 / self.prior_sd)
        lean = np.array([1.0 if base.parameters[k].law else LEAN for k in base.independent])
        factor = np.linalg.cholesky(base.prior_covariance() * np.outer(lean, lean))
        root[:b, :b] = solve_triangular(factor, np.eye(b), lower=True)
        return np.column_stack([root * self.prior_sd, root @ self.nominal])

    def stacked(
        self,
        stretches: Sequence[int] | np.ndarray,
        targets: Sequence[np.ndarray] | None = None,
        prior: bool = True,
    ) -> np.ndarray:
        """
        Return the triangle of all weighted rows of ``stretches`` and of the prior.

        Columns in units of their priors, two tilts after the places, m targets, and the target
        of the prior.

        targets : of each group (e, m), what each target has of the first e of [measured | rate |
        efforts | slopes with angles]; by default minus the rate where there is one, and measured
        """
        size, first = self.size + 2, np.array([[0.0, 1.0], [-1.0, 0.0]])
        usual = targets is None
        targets = targets or [first if self.wide.joints else np.ones((1, 1))] * len(self.names)
        width = size + targets[0].shape[1] + 1
        groups = (
            self._groups
            if usual and len(stretches) == self.count
            else self._merged(stretches, len(targets[0]))
        )
        rows, low = np.zeros((sum(len(R) for *_, R in groups), width), order='F'), 0
        for j, index, R in groups:
            block, low = rows[low : low + len(R)], low + len(R)
            block[:, index] = R[:, : len(index)] * (self.prior_sd[index] / self.sd[j])
            block[:, size:-1] = R[:, len(index) :] @ (targets[j] / self.sd[j])
        if not prior:
            return triangle(rows)
        start, at = np.zeros((width, width), order='F'), np.append(np.arange(size), width - 1)
        start[np.ix_(at, at)] = self._prior_triangle
        return triangle(rows, start)

    @cached_property
    def _prior_triangle(self):
        return triangle(np.asfortranarray(self.prior))

    def _merged(self, stretches, further):
        """Return (group, columns, triangle with so many ``further`` ones) of ``stretches``."""
        out = []
        for j, name in enumerate(self.names):
            parts = [self._parts[s][name] for s in stretches if name in self._parts[s]]
            if parts:
                index, last = parts[0][0], len(parts[0][0]) + further
                out.append((j, index, triangle(stack([R[:last, :last] for _, R in parts]))))
        return out

    @cached_property
    def _groups(self):
        return self._merged(range(self.count), 2 if self.wide.joints else 1)

    def solve(self, stacked: np.ndarray, places: np.ndarray) -> np.ndarray:
        """
        Return the solutions (size + 2, m + 1) of chosen columns, zero elsewhere, the prior's last.

        stacked : triangle of ``stacked``; places : (k,) of the columns
        """
        size, k = self.size + 2, len(places)
        R = of_columns(stacked, np.append(places, np.arange(size, stacked.shape[1])))
        out = np.zeros((size, R.shape[1] - k))
        out[places] = (
            solve_triangular(R[:k, :k], R[:k, k:], check_finite=False)
            * self.prior_sd[places, None]
        )
        return out

    def solution(self, stacked: np.ndarray, places: np.ndarray) -> np.ndarray:
        """
        Return the solution of chosen columns for what was measured, (size + 2,).

        stacked : triangle of ``stacked`` with the usual targets; places : (k,) of the columns
        """
        return self.solve(stacked, places)[:, -2:].sum(1)

    @cached_property
    def _rows(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return of every group columns (k,), triangles (count, k + 2, k + 2) with the rate."""
        out = []
        for name in self.names:
            index = next(p[name][0] for p in self._parts if name in p)
            last = len(index) + min(self.extras, 2)
            A = np.zeros((self.count, last, last))
            for own, part in zip(A, self._parts):
                if name in part:
                    own[:] = part[name][1][:last, :last]
            out.append((index, A))
        return out

    def errors(
        self,
        x: np.ndarray,
        stretches: Sequence[int] | np.ndarray,
        only: int | None = None,
        offset: float = 0.0,
    ) -> np.ndarray:
        """
        Return squared errors of solutions x, of shape (stretches, groups, k), unweighted.

        x : (size + 2, k); only : of this group alone, the others zero
        offset : [s] by which efforts are late
        """
        out = np.zeros((len(stretches), len(self.names), x.shape[1]))
        for j, (index, A) in enumerate(self._rows):
            if only in (None, j):
                k, own = len(index), A[stretches]
                target = own[:, :, k] + (offset * own[:, :, k + 1] if offset else 0.0)
                left = target[:, :, None] - own[:, :, :k] @ x[index]
                out[:, j] = np.maximum(
                    np.einsum('sri,sri->si', left, left), EXACT * (target**2).sum(1)[:, None]
                )
        return out

    @cached_property
    def without(self) -> list[np.ndarray]:
        """Return the triangle without each of the sets that are left out."""
        return [
            self.stacked(np.setdiff1d(np.arange(self.count), one)) for one in self.wide.left_out()
        ]

    @cached_property
    def without_each(self) -> list[np.ndarray]:
        """Return the triangle without each stretch."""
        every = np.arange(self.count)
        return [self.stacked(np.delete(every, k)) for k in every]

    @cached_property
    def target(self) -> float:
        """Return the weighted squared target of all rows."""
        squares = self.errors(np.zeros((self.size + 2, 1)), np.arange(self.count))[:, :, 0]
        return float((squares / self.sd**2).sum())

    @cached_property
    def whole(self) -> np.ndarray:
        """Return the triangle of all stretches."""
        return self.stacked(range(self.count))

    def left_out(self, models: Sequence[np.ndarray]) -> np.ndarray:
        """
        Return (m, sets, count) weighted squared errors of stretches left out, nan elsewhere.

        models : of each of m the places (k,) of its columns
        """
        out = np.full((len(models), len(self.without), self.count), np.nan)
        for k, (one, stacked) in enumerate(zip(self.wide.left_out(), self.without)):
            x = np.column_stack([self.solution(stacked, places) for places in models])
            out[:, k, one] = self.sd**-2.0 @ self.errors(x, one).transpose(2, 1, 0)
        return out

    def exchanged(self, places: np.ndarray, alternatives: np.ndarray, group: int) -> np.ndarray:
        """
        Return squared errors (m, sets, count) of a group's stretches left out, nan elsewhere.

        places : (k,) of the columns; alternatives : (m,) places of which each stands beside them
        """
        sets, size = self.wide.left_out(), self.size + 2
        out = np.full((len(alternatives), len(sets), self.count), np.nan)
        k = len(places)
        for n, (one, T) in enumerate(zip(sets, self.without)):
            R = triangle(
                np.asfortranarray(
                    np.column_stack([T[:, places], T[:, alternatives], T[:, -2:].sum(1)])
                )
            )
            beside, target = R[k:, k:-1], R[k:, -1]
            share = beside.T @ target / np.maximum((beside**2).sum(0), 1e-300)
            x = np.zeros((size, len(alternatives)))
            x[places] = solve_triangular(R[:k, :k], R[:k, -1:] - R[:k, k:-1] * share)
            x[alternatives, np.arange(len(alternatives))] = share
            out[:, n, one] = self.errors(x * self.prior_sd[:, None], one, group)[:, group].T
        return out

    def _weigh(self):
        """Find deviations of rows by the plain model, and how many rows say what one would."""
        every = np.arange(self.count)
        for _ in range(ROUNDS):
            x = self.solution(self.stacked(every), self.plain)[:, None]
            squares = self.errors(x, every)[:, :, 0].sum(0)
            self.sd = np.sqrt(np.maximum(squares, 1e-300) / np.maximum(self.rows.sum(0), 1.0))
        pulls = np.array([self._pulls(j, x[:, 0]) for j in range(len(self.names))])
        # One joint's are known to a factor of two or so: half way to those of all.
        lasting = CORRELATION_MARGIN * np.sqrt(pulls * np.median(pulls))
        self.correlation_rows = dict(zip(self.names, np.maximum(1.0, lasting).tolist()))
        self.sd = self.sd * np.sqrt(list(self.correlation_rows.values()))

    def _pulls(self, j, x):
        """Return the mean square of what stretches pull at a joint, over that of white noise."""
        parts = [p[self.names[j]] for p in self._parts if self.names[j] in p]
        index = parts[0][0]
        own = np.flatnonzero(np.isin(index, self.plain))
        R = triangle(stack([R[:, own] for _, R in parts]))
        size = np.linalg.norm(R, axis=0)
        _, s, Vt = np.linalg.svd(R / np.maximum(size, 1e-300))
        seen = s > np.sqrt(SEEN) * s[0]
        if not seen.any():  # nothing moves what these rows are about
            return 0.0
        axes = (Vt[seen] / s[seen, None]).T
        pulls = np.array(
            [
                (R[:, own] / np.maximum(size, 1e-300)).T
                @ (R[:, len(index)] - R[:, : len(index)] @ x[index])
                for _, R in parts
            ]
        )
        z = pulls @ axes / self.sd[j]
        return float(np.square(z).sum(0).mean())


def plain_places(wide: WideFactor) -> np.ndarray:
    """Return the places (k,) of the simplest model: the laws of every joint, the usual width."""
    tried = alike_constants(wide.structure)
    usual, resting = tried[usual_constants(tried)], resting_columns(wide)
    return np.array(
        [
            k
            for k, p in enumerate(wide.structure.parameters_of_places())
            if p.name not in resting
            and usual.get(p.name, p) == p
            and not (p.law in LAWS and LAWS[p.law].optional)
        ]
    )


def resting_columns(wide: WideFactor) -> set[str]:
    """
    Return the names of friction and rotor inertia of joints that stood still.

    The noise of their velocities is all that a fit has for them: what it makes of that would be
    used as soon as they move.
    """
    if not wide.joints:
        return set()
    return {
        p.name
        for p in wide.structure.columns
        if p.law and np.ptp(wide.ranges.get(p.owner, {}).get('q', (0.0, np.inf))) < AT_REST
    }


def _combined(
    stretch: RFactors, T: np.ndarray, columns: int
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return {group: (its first ``columns``, triangle of [these | measured | further ones])}."""
    out = {}
    for name, group in stretch.groups.items():
        own = T[group.columns]
        index = np.flatnonzero(own[:, :columns].any(axis=0))
        rows = np.column_stack(
            [group.R[:, :-2] @ own[:, index], group.R[:, -2], group.R[:, :-2] @ own[:, columns:]]
        )
        out[name] = index, triangle(np.asfortranarray(rows))
    return out
