"""
LeftOut: weighted least squares of a wide factor, with sets of stretches left out in turn.

Choice of a model, causes, delay of the efforts, cross-validation and the jackknife ask one thing:
what do the other stretches say of those that are left out?  A model is a choice of columns, a
fault of the efforts another combination of *elements* (what was measured, its rate, efforts of
other joints, slopes with angles, torques of the described bodies), and what is believed beforehand
a prior: bodies that are free and bodies as described are two priors.

All of it needs sums of products of columns, stretch by stretch: those of a set are added, a model
or a target is a combination of them.  They are taken from R factors, in units of priors, and what
a solution leaves of a target is known to 1e-13 of its square, far below EXACT_ERROR.  Estimates
that are given are by QR: see estimation.
"""

from collections.abc import Sequence
import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .wide_factor import SetsLeftOut, WideFactor
from ...estimation.r_factors import combined, products_triangle
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

    @cached_property
    def products(self) -> np.ndarray:
        """Return the sums (P + 1, P + 1) of products of two columns of the rows."""
        return self.rows.T @ self.rows


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
class GroupProducts:
    """
    The products of columns with each other, of the rows of one group (joint) in each stretch.

    index : (k,) of the unknowns that occur in them
    products : (stretches, k + e, k + e) of [these unknowns | e elements]
    """

    index: np.ndarray
    products: np.ndarray

    @property
    def count(self) -> int:
        """Return the number k of unknowns, behind which the elements are."""
        return len(self.index)

    @cached_property
    def measured_squares(self) -> np.ndarray:
        """Return the sums of squares (stretches,) of what was measured."""
        return self.products[:, self.count, self.count]

    @cached_property
    def of_all(self) -> np.ndarray:
        """Return the products (k + e, k + e) of all stretches together."""
        return np.asarray(self.products.sum(axis=0))

    def of_sets(self, sets: np.ndarray, elements: int) -> np.ndarray:
        """
        Return the products (m, k + e, k + e) of ``sets`` of stretches, first ``elements`` alone.

        sets : (m, stretches) bool
        """
        last = self.count + elements
        if sets.all():
            return np.repeat(self.of_all[None, :last, :last], len(sets), axis=0)
        return np.tensordot(sets.astype(float), self.products[:, :last, :last], 1)

    def about(self, T: np.ndarray) -> 'GroupProducts':
        """Return the products about unknowns x', x = T x', T (P, P')."""
        combination = T[self.index]
        index = np.flatnonzero(combination.any(axis=0))
        return GroupProducts(index, self._combined(combination[:, index]))

    def with_columns(
        self, columns: np.ndarray, index: np.ndarray, course: np.ndarray
    ) -> 'GroupProducts':
        """
        Return the products with q unknowns more, their ``columns`` (P, q) times a ``course``.

        index : (q,) of the new unknowns; course : (stretches,)
        """
        k, count = self.count, len(index)
        more = np.hstack([np.eye(k), columns[self.index]])
        products = self._combined(more)
        products[:, k : k + count] *= course[:, None, None]
        products[:, :, k : k + count] *= course[:, None, None]
        return GroupProducts(np.append(self.index, index), products)

    def _combined(self, T):
        """Return the products about unknowns x', x = T x', T (k, k'), and the same elements."""
        elements = self.products.shape[1] - len(T)
        with_elements = np.zeros((len(T) + elements, T.shape[1] + elements))
        with_elements[: len(T), : T.shape[1]] = T
        with_elements[len(T) :, T.shape[1] :] = np.eye(elements)
        return combined(self.products, with_elements)

    def squares(
        self,
        x: np.ndarray,
        target: np.ndarray,
        stretches: Sequence[int] | np.ndarray | slice = slice(None),
    ) -> np.ndarray:
        """
        Return (stretches, W) how large a ``target`` (e, 1 or W) less x (P, W) is, squared.

        ``target`` may be of the first elements alone.
        """
        count = self.count + len(target)
        column = np.zeros((count, x.shape[1]))
        column[: self.count] = -x[self.index]
        column[self.count :] = target
        products = self.products[stretches, :count, :count]
        return ((products @ column) * column).sum(axis=1)

    def target_squares(
        self, target: np.ndarray, stretches: Sequence[int] | np.ndarray | slice = slice(None)
    ) -> np.ndarray:
        """Return sums of squares (stretches, W) of a ``target`` (e, W), see ``squares``."""
        last = self.count + len(target)
        products = self.products[stretches, self.count : last, self.count : last]
        return ((products @ target) * target).sum(axis=1)

    def triangle(self, elements: int) -> np.ndarray:
        """Return R (k + e, k + e) of all stretches, upper, with the first ``elements`` alone."""
        last = self.count + elements
        return products_triangle(self.of_all[:last, :last])


@dataclass(frozen=True, eq=False)
class Stacked:
    """
    What all weighted rows of some stretches say, and the prior.

    products : of columns with each other: P unknowns in units of their prior, W targets, and the
        target of the prior
    """

    products: np.ndarray

    @cached_property
    def triangle(self) -> np.ndarray:
        """Return the triangle R of these columns, R'R the products."""
        return products_triangle(self.products)

    def triangle_of(self, column_indices: np.ndarray) -> np.ndarray:
        """Return the triangle of some ``column_indices`` (k,) alone, in their order."""
        return products_triangle(self.products[column_indices[:, None], column_indices])


class LeftOut:
    """
    Solutions by rows of P unknowns, without each set of stretches.

    wide : whose stretches are left out; groups : GroupProducts of each of its row groups
    rows : (stretches, groups) how many rows these stand for
    prior : of the unknowns; weights : of rows; elements : of targets
    floor : of the efforts, which is added to every residual: below it nothing is evidence
    Targets are arrays (groups, e, W): of each group what each of W targets has of its elements.
    """

    def __init__(
        self,
        wide: WideFactor,
        groups: Sequence[GroupProducts],
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
            size = group.products.shape[1]
            T = np.eye(size, size + 1)
            T[: group.count, -1] = params[group.index]
            groups.append(GroupProducts(group.index, combined(group.products, T)))
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
        index = unknowns + np.arange(count)
        groups = [
            group.with_columns(of_group, index, course)
            for group, of_group in zip(self.groups, columns)
        ]
        rows = np.insert(self.prior.rows, [unknowns] * count, 0.0, axis=1)
        of_course = np.eye(count, rows.shape[1], unknowns)
        prior = Prior(np.append(self.prior.unit, deviations), np.vstack([rows, of_course]))
        return LeftOut(self.wide, groups, prior, self.weights, self.elements, self.floor)

    def torque_squares(self, params: np.ndarray) -> np.ndarray:
        """Return the sums of squares (groups,) of the torque of ``params`` (P,)."""
        nothing = np.zeros((1, 1))
        return np.array([g.squares(params[:, None], nothing).sum() for g in self.groups])

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
        self, stretches: Sequence[int] | np.ndarray, targets: np.ndarray | None = None
    ) -> Stacked:
        """Return the Stacked rows of ``stretches``; targets : W, ``measured`` by default."""
        return self.each_stacked([stretches], targets)[0]

    def each_stacked(
        self,
        sets: Sequence[Sequence[int] | np.ndarray],
        targets: np.ndarray | None = None,
    ) -> list[Stacked]:
        """Return the Stacked rows of each of ``sets`` of stretches; targets : see ``stacked``."""
        if targets is None:
            targets = self.measured
        chosen = np.zeros((len(sets), self.count), dtype=bool)
        for of_set, stretches in zip(chosen, sets):
            of_set[np.asarray(stretches, dtype=int)] = True
        unknowns, elements = len(self.prior.unit), targets.shape[1]
        of_prior = self._prior_products(unknowns + targets.shape[2])
        products = np.repeat(of_prior[None], len(sets), axis=0)
        for group, target, sd in zip(self.groups, targets, self.sd):
            k, index = group.count, group.index
            of_group = group.of_sets(chosen, elements)
            unit = self.prior.unit[index] / sd
            asked = of_group[:, :, k:] @ (target / sd)
            places = (index[:, None] * products.shape[1] + index).ravel()
            scaled = unit[:, None] * of_group[:, :k, :k] * unit
            for of_set, of_rows in zip(products.reshape(len(sets), -1), scaled):
                of_set[places] += of_rows.ravel()
            products[:, index, unknowns:-1] += unit[:, None] * asked[:, :k]
            products[:, unknowns:-1, unknowns:-1] += (target / sd).T @ asked[:, k:]
        products[:, unknowns:-1, :unknowns] = products[:, :unknowns, unknowns:-1].swapaxes(1, 2)
        return [Stacked(of_set) for of_set in products]

    def _prior_products(self, size):
        """Return products (size + 1, size + 1) of the rows of the prior, whose target is last."""
        of_prior, unknowns = self.prior.products, len(self.prior.unit)
        out = np.zeros((size + 1, size + 1))
        out[:unknowns, :unknowns] = of_prior[:-1, :-1]
        out[:unknowns, -1] = out[-1, :unknowns] = of_prior[:-1, -1]
        out[-1, -1] = of_prior[-1, -1]
        return out

    def solve(self, stacked: Stacked, column_indices: np.ndarray) -> np.ndarray:
        """
        Return the solutions (P, W + 1) of chosen columns, zero elsewhere, the prior's last.

        stacked : of ``stacked``; column_indices : (k,) of the unknowns
        """
        unknowns, k = len(self.prior.unit), len(column_indices)
        targets = np.arange(unknowns, len(stacked.products))
        R = stacked.triangle_of(np.append(column_indices, targets))
        solution = solve_triangular(R[:k, :k], R[:k, k:], check_finite=False)
        out = np.zeros((unknowns, R.shape[1] - k))
        out[column_indices] = solution * self.prior.unit[column_indices, None]
        return out

    def solution(self, stacked: Stacked, column_indices: np.ndarray) -> np.ndarray:
        """
        Return the (P,) solution of chosen columns for what was measured, others zero.

        stacked : of ``stacked``, targets by default; column_indices : (k,) of the unknowns
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
        of_group = self.groups[group]
        chosen = np.asarray(stretches, dtype=int)
        if targets is None:
            target = np.ones((1, 1))
            target_squares = effort_squares = of_group.measured_squares[chosen, None]
        else:
            target = targets[group]
            target_squares = effort_squares = of_group.target_squares(target, chosen)
            if self.floor:
                efforts = np.zeros_like(target)
                efforts[self.elements.efforts] = target[self.elements.efforts]
                effort_squares = of_group.target_squares(efforts, chosen)
        squares = of_group.squares(x, target, chosen) + self.floor**2 * effort_squares
        return np.maximum(squares, EXACT_ERROR * target_squares)

    @cached_property
    def sets(self) -> SetsLeftOut:
        """Return the sets of stretches that are left out together."""
        return self.wide.sets_left_out()

    @cached_property
    def without(self) -> list[Stacked]:
        """Return the Stacked rows of what was measured without each of the sets."""
        return self.each_stacked([self.others(stretches) for stretches in self.sets.every])

    @cached_property
    def without_each(self) -> list[Stacked]:
        """Return the Stacked rows of what was measured without each stretch."""
        return self.each_stacked([self.others([k]) for k in range(self.count)])

    def others(self, stretches: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the stretches that are not among ``stretches``."""
        return np.setdiff1d(np.arange(self.count), stretches)

    @cached_property
    def whole(self) -> Stacked:
        """Return the Stacked rows of what was measured, of all stretches."""
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
        others = [self.others(stretches) for stretches in sets]
        for k, (stretches, stacked) in enumerate(zip(sets, self.each_stacked(others, targets))):
            x = self.solved_targets(stacked)
            out[:, k, stretches] = self.errors(x, stretches, targets).transpose(2, 0, 1)
        return out

    def solved_targets(self, stacked: Stacked) -> np.ndarray:
        """Return the solutions (P, W) of all columns for the targets of ``stacked`` rows."""
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
        measured_and_prior = len(self.whole.products) + np.arange(-2, 0)
        chosen = np.concatenate([column_indices, alternatives, measured_and_prior])
        out = np.full((len(alternatives), len(self.without), self.count), np.nan)
        for n, (left_out, stacked) in enumerate(zip(self.sets.every, self.without)):
            R = stacked.triangle_of(chosen)
            columns, measured = R[:, :-2], R[:, -2:].sum(1)
            beside, target = columns[k:, k:], measured[k:]
            share = beside.T @ target / np.maximum((beside**2).sum(0), 1e-300)
            x = np.zeros((unknowns, len(alternatives)))
            x[column_indices] = solve_triangular(
                columns[:k, :k], measured[:k, None] - columns[:k, k:] * share
            )
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
