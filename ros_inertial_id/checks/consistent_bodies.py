"""Consistent bodies: how well physically consistent ones predict stretches that are left out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..dynamics.inertial_parameters import Parameter
from ..estimation.base_parameters import BaseParameters
from ..estimation.consistency import consistent_values, Known
from ..estimation.estimators import Problem, ridge_and_weights
from ..estimation.r_factors import combined, GroupFactor, products_triangle, RFactors, Y, Y_RAW
from ..identification.fit.gravity import with_angles
from ..identification.reduce.left_out import LeftOut
from ..identification.reduce.model_columns import ModelColumns

SOLUTION_ACCURACY = 1e-4  # relative accuracy of a solution whose errors are compared


def consistent_errors(
    model_columns: ModelColumns,
    column_indices: np.ndarray,
    judge: LeftOut,
    target: np.ndarray,
    sets: Sequence[np.ndarray],
) -> np.ndarray:
    """
    Return squared errors (sets, stretches, n) of stretches left out, nan where not left out.

    model_columns : of which some, ``column_indices`` (k,), and the tilts are the unknowns of
        ``judge``, bodies free
    target : (n, e) of each group's elements; sets : of stretches that are left out together
    """
    base, order = _base_parameters(model_columns, column_indices, judge)
    out = np.full((len(sets), judge.count, len(judge.names)), np.nan)
    targets, solution = target[:, :, None], None
    for errors, stretches in zip(out, sets):
        factors = _factors(judge, judge.others(stretches), target, order)
        if solution is None:
            problem = Problem(factors, base, judge.correlation_rows)
            weights = ridge_and_weights(problem)[
                1
            ]  # by what the target leaves, not by what it replaces
            solution = consistent_values(problem, weights, Known(), enough=SOLUTION_ACCURACY)
        x = np.zeros((len(order), 1))
        x[order, 0] = base.reduce(solution(factors))
        errors[stretches] = judge.errors(x, stretches, targets)[:, :, 0]
    return out


def _base_parameters(
    model_columns: ModelColumns, column_indices: np.ndarray, judge: LeftOut
) -> tuple[Any, np.ndarray]:
    """Return BaseParameters of the unknowns, and which unknown (b,) each of them is."""
    base = model_columns.wide.structure.base
    unknown = {int(column): k for k, column in enumerate(column_indices)}
    more = [column for column in unknown if column >= len(base)]
    absent = [k for k in range(len(base)) if k not in unknown]
    order = [unknown[k] for k in range(len(base)) if k in unknown]
    order += [unknown[column] for column in more]
    reduced = with_lone(base.without(absent), [model_columns.parameters[k] for k in more])
    tilts = len(judge.prior.unit) - len(unknown)
    if tilts:
        reduced = with_angles(reduced)
        order += [len(unknown), len(unknown) + 1]
    return reduced, np.array(order)


def with_lone(base: BaseParameters, more: Sequence[Parameter]) -> BaseParameters:
    """Return the BaseParameters with ``more`` behind them, each by itself."""
    count = len(base.parameters)
    return replace(
        base,
        parameters=(*base.parameters, *more),
        independent=np.append(base.independent, count + np.arange(len(more))),
        X=np.vstack([base.X, np.zeros((len(more), base.X.shape[1]))]),
    )


def _factors(judge, stretches, target, order):
    """Return the RFactors of ``stretches`` about the unknowns in ``order``."""
    out, rank = RFactors(len(order)), np.argsort(order)
    for j, (group, joint_target) in enumerate(zip(judge.groups, target)):
        count = judge.rows[stretches, j].sum()
        if not count:
            continue
        k, name = group.count, judge.names[j]
        asked = np.zeros((len(group.products[0]), k + 1))
        asked[:k, :k] = np.eye(k)
        asked[k:, k] = joint_target
        R = np.zeros((k + 2, k + 2))
        R[:-1, :-1] = products_triangle(combined(group.products[stretches].sum(axis=0), asked))
        R[:, Y_RAW] = R[:, Y]
        out.groups[name] = GroupFactor(judge.wide.units[name], rank[group.index], R, count)
    return out
