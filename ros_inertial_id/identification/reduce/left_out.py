"""
LeftOut: weighted least squares of a wide factor, with sets of stretches left out in turn.

Choice of a model, causes, delay of the efforts, cross-validation and the jackknife ask one thing:
what do the other stretches say of those that are left out?  A model is a choice of columns, a
fault of the efforts another combination of *elements* (what was measured, its rate, efforts of
other joints, slopes with angles, torques of the described bodies), and what is believed beforehand
a prior: bodies that are free and bodies as described are two priors.  QR throughout, columns in
units of their priors; no solution forms normal equations.
"""

from collections.abc import Sequence
import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .wide_factor import SetsLeftOut, WideFactor
from ...estimation.r_factors import of_columns, stack, triangle
from ...lapack import solve_triangular

WEIGHTED = ('without', 'without_each', 'whole', 'target')  # what is computed once by weights
EXACT_ERROR = 1e-8  # of the squared target, in an error: no model predicts better


@dataclass(frozen=True)
class Elements:
    """
    Where the elements of targets stand: [measured | rate | efforts | slopes | described].

    described : torques of the described bodies by inertia, and by gravity along x, y and z
    joints : n joints whose efforts are among the columns of the wide factor, 0 without
    late : whether the rate is
    """

    joints: int
    late: bool

    @property
    def count(self) -> int:
        """Return the number of elements, what was measured included."""
        if not self.joints:
            return 1 + int(self.late)
        return 6 + 2 * self.joints

    measured = 0
    rate = 1

    def effort(self, joint: int) -> int:
        """Return the place of the efforts of a ``joint``, which every group may ask for."""
        return 2 + joint

    def slope(self, joint: int) -> int:
        """Return the place of the slope of torques with the angle of a ``joint``."""
        return 2 + self.joints + joint

    @property
    def still(self) -> int:
        """Return the place of torques of the described bodies without gravity."""
        return 2 + 2 * self.joints

    @property
    def gravity(self) -> slice:
        """Return the places of torques of the described bodies by gravity of 1 m/s^2 each."""
        return slice(self.still + 1, self.still + 4)

    @property
    def efforts(self) -> list[int]:
        """Return the places of what was measured, of the own joint and of all."""
        return [self.measured, *(self.effort(j) for j in range(self.joints))]


@dataclass(frozen=True)
class Prior:
    """
    What is believed of P unknowns beforehand.

    unit : (P,) in which they are solved for; rows : (r, P + 1) in these units, the target last
    """

    unit: np.ndarray
    rows: np.ndarray

    @classmethod
    def of_zero(cls, deviations: np.ndarray) -> 'Prior':
        """Return the Prior of unknowns that are zero within standard ``deviations`` (P,)."""
        rows = np.eye(len(deviations), len(deviations) + 1)
        return cls(deviations, rows)

    def of(self, column_indices: np.ndarray) -> 'Prior':
        """Return the Prior of the unknowns ``column_indices`` (k,), the others zero."""
        return Prior(self.unit[column_indices], self.rows[:, np.append(column_indices, -1)])


@dataclass(frozen=True)
class Weights:
    """
    How much rows count.

    sd : (groups,) standard deviation of a row as if all were independent
    correlation_rows : {group: how many rows say what one would}
    """

    sd: np.ndarray
    correlation_rows: dict[str, float]


@dataclass(frozen=True)
class GroupRows:
    """
    The rows of one group (joint), stretch by stretch.

    index : (k,) of the unknowns that occur in them
    R : (stretches, k + e, k + e) of [these unknowns | e elements], zero where a stretch has none
    """

    index: np.ndarray
    R: np.ndarray

    def about(self, T: np.ndarray) -> 'GroupRows':
        """Return the rows about unknowns x', x = T x', T (P, P')."""
        count = len(self.index)
        combination = T[self.index]
        index = np.flatnonzero(combination.any(axis=0))
        columns = self.R[:, :, :count] @ combination[:, index]
        rows = np.concatenate([columns, self.R[:, :, count:]], axis=2)
        triangles = [triangle(np.asfortranarray(stretch)) for stretch in rows]
        return GroupRows(index, np.array(triangles))


class LeftOut:
    """
    Solutions by rows of P unknowns, without each set of stretches.

    wide : whose stretches are left out; groups : GroupRows of each of its row groups
    rows : (stretches, groups) how many rows these stand for
    prior : of the unknowns; weights : of rows; elements : of targets
    floor : of the efforts, which is added to every residual: below it nothing is evidence
    Targets are arrays (groups, e, W): of each group what each of W targets has of its elements.
    """

    def __init__(
        self,
        wide: WideFactor,
        groups: Sequence[GroupRows],
        prior: Prior,
        weights: Weights,
        elements: Elements,
        floor: float,
    ) -> None:
        self.wide, self.groups, self.prior = wide, groups, prior
        self.weights, self.elements, self.floor = weights, elements, floor
        self.names = wide.groups
        self.count = len(wide.stretches)
        self.rows = rows_of(wide)

    def about(
        self, T: np.ndarray, prior: Prior, weights: Weights, floor: float | None = None
    ) -> 'LeftOut':
        """
        Return the LeftOut of the same rows about unknowns x', x = T x', T (P, P').

        prior, weights, floor : of these, as of the class; floor of this one by default
        """
        groups = [group.about(T) for group in self.groups]
        if floor is None:
            floor = self.floor
        return LeftOut(self.wide, groups, prior, weights, self.elements, floor)

    def with_weights(self, weights: Weights) -> Any:
        """Return the same rows with other ``weights``."""
        out = copy.copy(self)
        out.weights = weights
        for name in WEIGHTED:
            out.__dict__.pop(name, None)
        return out

    def with_fitted_torque(self, params: np.ndarray) -> 'LeftOut':
        """Return the LeftOut with one element more, the last: the torque of ``params`` (P,)."""
        groups = []
        for group in self.groups:
            k = len(group.index)
            fitted = group.R[:, :, :k] @ params[group.index]
            wider = np.pad(group.R, ((0, 0), (0, 1), (0, 1)))
            wider[:, :-1, -1] = fitted
            groups.append(GroupRows(group.index, wider))
        return LeftOut(self.wide, groups, self.prior, self.weights, self.elements, self.floor)

    def with_course(
        self, columns: np.ndarray, deviations: np.ndarray, course: np.ndarray
    ) -> 'LeftOut':
        """
        Return the LeftOut with q unknowns more, the last: ``columns`` times a ``course``.

        columns : (groups, P, q) of the unknowns, in the rows of each group
        deviations : (q,) of the new ones beforehand
        course : (stretches,)
        """
        _, unknowns, count = columns.shape
        groups = []
        for group, of_group in zip(self.groups, columns):
            k = len(group.index)
            more = group.R[:, :, :k] @ of_group[group.index] * course[:, None, None]
            rows = np.concatenate([group.R[:, :, :k], more, group.R[:, :, k:]], axis=2)
            triangles = [triangle(np.asfortranarray(stretch)) for stretch in rows]
            index = np.append(group.index, unknowns + np.arange(count))
            groups.append(GroupRows(index, np.array(triangles)))
        rows = np.insert(self.prior.rows, [unknowns] * count, 0.0, axis=1)
        of_course = np.eye(count, rows.shape[1], unknowns)
        prior = Prior(np.append(self.prior.unit, deviations), np.vstack([rows, of_course]))
        return LeftOut(self.wide, groups, prior, self.weights, self.elements, self.floor)

    def torque_squares(self, params: np.ndarray) -> np.ndarray:
        """Return the sums of squares (groups,) of the torque of ``params`` (P,)."""
        out = []
        for group in self.groups:
            torque = group.R[:, :, : len(group.index)] @ params[group.index]
            out.append(float((torque**2).sum()))
        return np.array(out)

    @property
    def sd(self) -> np.ndarray:
        """Return the standard deviations (groups,) of rows as if all were independent."""
        return self.weights.sd

    @property
    def correlation_rows(self) -> dict[str, float]:
        """Return {group: how many rows say what one would}."""
        return self.weights.correlation_rows

    @cached_property
    def measured(self) -> np.ndarray:
        """Return the targets (groups, 1 or 2, 1 or 2): minus the rate, if any, and measured."""
        if not self.elements.late:
            return np.ones((len(self.names), 1, 1))
        late = np.array([[0.0, 1.0], [-1.0, 0.0]])
        return np.repeat(late[None], len(self.names), axis=0)

    def stacked(
        self,
        stretches: Sequence[int] | np.ndarray,
        targets: np.ndarray | None = None,
        prior: bool = True,
    ) -> np.ndarray:
        """
        Return the triangle of all weighted rows of ``stretches``, and of the prior.

        Columns are P unknowns in units of their prior, the W ``targets`` (``measured`` by
        default), and the target of the prior.
        """
        if targets is None:
            targets = self.measured
        unknowns, count = len(self.prior.unit), targets.shape[2]
        blocks = []
        merged = self.merged_rows(targets.shape[1], stretches)
        for group, target, sd in zip(merged, targets, self.sd):
            k = len(group.index)
            block = np.zeros((len(group.R), unknowns + count + 1), order='F')
            block[:, group.index] = group.R[:, :k] * (self.prior.unit[group.index] / sd)
            block[:, unknowns:-1] = group.R[:, k:] @ (target / sd)
            blocks.append(block)
        rows = stack(blocks)
        if not prior:
            return triangle(rows)
        start = np.zeros((rows.shape[1], rows.shape[1]), order='F')
        prior_columns = np.append(np.arange(unknowns), rows.shape[1] - 1)
        start[np.ix_(prior_columns, prior_columns)] = self._prior_triangle
        return triangle(rows, start)

    @cached_property
    def _prior_triangle(self):
        return triangle(np.asfortranarray(self.prior.rows))

    def merged_rows(
        self, elements: int, stretches: Sequence[int] | np.ndarray | None = None
    ) -> list[GroupRows]:
        """
        Return GroupRows whose R (k + e, k + e) is of some ``stretches`` together, all by default.

        elements : how many of the first ones are kept
        """
        if stretches is None or len(stretches) == self.count:
            if elements not in self._merged_whole:
                self._merged_whole[elements] = self._merged(elements, np.arange(self.count))
            return self._merged_whole[elements]
        return self._merged(elements, np.asarray(stretches, dtype=int))

    def _merged(self, elements, stretches):
        out, blocks = [], _aligned_blocks(stretches)
        for group in range(len(self.groups)):
            parts = [self._block(group, elements, *block) for block in blocks]
            out.append(GroupRows(self.groups[group].index, triangle(stack(parts))))
        return out

    def _block(self, group, elements, first, count):
        """Return the triangle of ``count`` stretches, a power of two, of a ``group``."""
        key = group, elements, first, count
        if key not in self._blocks:
            rows = self.groups[group]
            last = len(rows.index) + elements
            if count == 1:
                self._blocks[key] = rows.R[first, :last, :last]
            else:
                half = count // 2
                R = self._block(group, elements, first, half)
                rows = np.array(self._block(group, elements, first + half, half), order='F')
                self._blocks[key] = triangle(rows, R, trapezoid=len(rows))
        return self._blocks[key]

    @cached_property
    def _blocks(self) -> dict[tuple[int, int, int, int], np.ndarray]:
        return {}

    @cached_property
    def _merged_whole(self) -> dict[int, list[GroupRows]]:
        return {}

    def solve(self, stacked: np.ndarray, column_indices: np.ndarray) -> np.ndarray:
        """
        Return the solutions (P, W + 1) of chosen columns, zero elsewhere, the prior's last.

        stacked : triangle of ``stacked``; column_indices : (k,) of the unknowns
        """
        unknowns, k = len(self.prior.unit), len(column_indices)
        R = of_columns(stacked, np.append(column_indices, np.arange(unknowns, stacked.shape[1])))
        solution = solve_triangular(R[:k, :k], R[:k, k:], check_finite=False)
        out = np.zeros((unknowns, R.shape[1] - k))
        out[column_indices] = solution * self.prior.unit[column_indices, None]
        return out

    def solution(self, stacked: np.ndarray, column_indices: np.ndarray) -> np.ndarray:
        """
        Return the (P,) solution of chosen columns for what was measured, others zero.

        stacked : triangle of ``stacked`` by default; column_indices : (k,) of the unknowns
        """
        return self.solve(stacked, column_indices)[:, -2:].sum(1)

    @cached_property
    def every(self) -> np.ndarray:
        """Return the indices (P,) of all unknowns."""
        return np.arange(len(self.prior.unit))

    def errors(
        self,
        x: np.ndarray,
        stretches: Sequence[int] | np.ndarray,
        targets: np.ndarray | None = None,
    ) -> np.ndarray:
        """
        Return squared errors of solutions x (P, W), of shape (stretches, groups, W), unweighted.

        targets : (groups, e, W or 1), what was measured by default
        """
        out = np.zeros((len(stretches), len(self.names), x.shape[1]))
        for j in range(len(self.names)):
            out[:, j] = self.group_errors(j, x, stretches, targets)
        return out

    def group_errors(
        self,
        group: int,
        x: np.ndarray,
        stretches: Sequence[int] | np.ndarray,
        targets: np.ndarray | None = None,
    ) -> np.ndarray:
        """
        Return squared errors (stretches, W) of one ``group`` alone.

        x : (P, W); targets : (groups, e, W or 1), see ``errors``
        """
        rows = self.groups[group]
        k, R = len(rows.index), rows.R[np.asarray(stretches, dtype=int)]
        target = np.ones((1, 1))
        if targets is not None:
            target = targets[group]
        measured = R[:, :, k : k + len(target)] @ target
        residual = measured - R[:, :, :k] @ x[rows.index]
        squares = np.einsum('sri,sri->si', residual, residual)
        if self.floor:
            efforts = self.elements.efforts
            driven = R[:, :, k + np.array(efforts)] @ target[efforts]
            squares += self.floor**2 * np.einsum('sri,sri->si', driven, driven)
        return np.maximum(squares, EXACT_ERROR * np.einsum('sri,sri->si', measured, measured))

    @cached_property
    def sets(self) -> SetsLeftOut:
        """Return the sets of stretches that are left out together."""
        return self.wide.sets_left_out()

    @cached_property
    def without(self) -> list[np.ndarray]:
        """Return the triangle of what was measured without each of the sets."""
        return [self.stacked(self.others(stretches)) for stretches in self.sets.every]

    @cached_property
    def without_each(self) -> list[np.ndarray]:
        """Return the triangle of what was measured without each stretch."""
        return [self.stacked(self.others([k])) for k in range(self.count)]

    def others(self, stretches: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the stretches that are not among ``stretches``."""
        return np.setdiff1d(np.arange(self.count), stretches)

    @cached_property
    def whole(self) -> np.ndarray:
        """Return the triangle of what was measured, of all stretches."""
        return self.stacked(range(self.count))

    @cached_property
    def target(self) -> float:
        """Return the weighted squared target of all rows."""
        zero = np.zeros((len(self.prior.unit), 1))
        squares = self.errors(zero, np.arange(self.count))[:, :, 0]
        return float((squares / self.sd**2).sum())

    def left_out(self, models: Sequence[np.ndarray]) -> np.ndarray:
        """
        Return (m, sets, count) weighted squared errors of stretches left out, nan elsewhere.

        models : of each of m the indices (k,) of its columns
        """
        out = np.full((len(models), len(self.without), self.count), np.nan)
        for k, (stretches, stacked) in enumerate(zip(self.sets.every, self.without)):
            x = np.column_stack([self.solution(stacked, columns) for columns in models])
            out[:, k, stretches] = self.sd**-2.0 @ self.errors(x, stretches).transpose(2, 1, 0)
        return out

    def left_out_of_groups(self, column_indices: np.ndarray) -> np.ndarray:
        """
        Return squared errors (groups, sets, count) of stretches left out, nan elsewhere.

        column_indices : (k,) of the model
        """
        out = np.full((len(self.names), len(self.without), self.count), np.nan)
        for k, (stretches, stacked) in enumerate(zip(self.sets.every, self.without)):
            x = self.solution(stacked, column_indices)[:, None]
            out[:, k, stretches] = self.errors(x, stretches)[:, :, 0].T
        return out

    def targets_left_out(self, targets: np.ndarray, sets: Sequence[np.ndarray]) -> np.ndarray:
        """
        Return squared errors (W, sets, stretches, groups) of all columns, nan if not left out.

        targets : (groups, e, W); sets : of stretches that are left out together
        """
        shape = targets.shape[2], len(sets), self.count, len(self.names)
        out = np.full(shape, np.nan)
        for k, stretches in enumerate(sets):
            x = self.solved_targets(self.stacked(self.others(stretches), targets))
            out[:, k, stretches] = self.errors(x, stretches, targets).transpose(2, 0, 1)
        return out

    def solved_targets(self, stacked: np.ndarray) -> np.ndarray:
        """Return the solutions (P, W) of all columns for the targets of a ``stacked`` triangle."""
        solutions = self.solve(stacked, self.every)
        return solutions[:, :-1] + solutions[:, -1:]

    def exchanged(
        self, column_indices: np.ndarray, alternatives: np.ndarray, group: int
    ) -> np.ndarray:
        """
        Return squared errors (m, sets, count) of a group's stretches left out, nan elsewhere.

        column_indices : (k,) of the model; alternatives : (m,) columns of which each stands
        beside them
        """
        unknowns, k = len(self.prior.unit), len(column_indices)
        out = np.full((len(alternatives), len(self.without), self.count), np.nan)
        for n, (left_out, T) in enumerate(zip(self.sets.every, self.without)):
            columns = [T[:, column_indices], T[:, alternatives], T[:, -2:].sum(1)]
            R = triangle(np.asfortranarray(np.column_stack(columns)))
            beside, target = R[k:, k:-1], R[k:, -1]
            share = beside.T @ target / np.maximum((beside**2).sum(0), 1e-300)
            x = np.zeros((unknowns, len(alternatives)))
            x[column_indices] = solve_triangular(R[:k, :k], R[:k, -1:] - R[:k, k:-1] * share)
            x[alternatives, np.arange(len(alternatives))] = share
            params = x * self.prior.unit[:, None]
            out[:, n, left_out] = self.group_errors(group, params, left_out).T
        return out


def rows_of(wide: WideFactor) -> np.ndarray:
    """Return the number of rows (stretches, groups) of each group of each stretch."""
    out = np.zeros((len(wide.stretches), len(wide.groups)))
    for k, stretch in enumerate(wide.stretches):
        for j, name in enumerate(wide.groups):
            if name in stretch.groups:
                out[k, j] = stretch.groups[name].rows
    return out


def _aligned_blocks(stretches):
    """Return (first, count) of blocks of successive ``stretches``, of powers of two each."""
    chosen, out, k = set(np.asarray(stretches).tolist()), [], 0
    last = max(chosen, default=-1)
    while k <= last:
        count = 1
        while k % (2 * count) == 0 and chosen.issuperset(range(k, k + 2 * count)):
            count *= 2
        if k in chosen:
            out.append((k, count))
        k += count
    return out
