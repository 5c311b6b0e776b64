"""Statistics: how well a solution explains its data, and data that its fit has not seen."""

from typing import Any

import numpy as np

from .prediction import band_of
from .validation import fits
from ..fit.fitting import cross_validate_consistent
from ..fit.solution import Solution
from ..passes import Passes
from ..prepare.mounting import rank_of_bodies
from ...dynamics.friction import LAWS
from ...estimation.cross_validation import FOLDS
from ...estimation.statistics import dependence

LARGEST_CONDITION = float(1.0 / np.finfo(float).eps)  # beyond it is rounding


def judge(solution: Solution, passes: Passes) -> dict[str, Any]:
    """Return the ``statistics`` of a model file: of the fit, and of folds left out of it."""
    choice, fitted = solution.choice, solution.fitted
    data, reduced = choice.data, choice.reduced
    base, free, crossed = reduced.base, fitted.estimate, fitted.cross_validation
    out = _of_fit(solution)
    if solution.consistent:
        out['consistent'] = solution.consistent.entry
        out['unconstrained'] = {'training': fits(fitted.problem.factors, free.params),
                                'values': base.standard(free.params).tolist()}
        crossed = cross_validate_consistent(data, reduced.folds, fitted.problem, free,
                                            fitted.inherited)
    out['cross_validation'] = crossed and crossed.summary()
    if crossed and len(crossed.params) == FOLDS:
        residuals = passes.left_out(data, base.parameters,
                                    np.array([base.standard(x) for x in crossed.params]))
        bent = {p.owner for p in base.parameters if p.law in LAWS and LAWS[p.law].elastic}
        out['prediction_band'] = band_of(residuals, reduced.ranges, [
            joint for joint in data.method.angles(data.robot) if joint not in bent])
    out.update(rank_of_bodies(data.method, data.robots, base))
    out['choices'] = [*choice.entries, *reduced.laws]
    return out


def _of_fit(solution: Solution) -> dict[str, Any]:
    """Return what the estimate says of itself and of the training data."""
    reduced, fitted = solution.choice.reduced, solution.fitted
    base, estimate, problem = reduced.base, fitted.estimate, fitted.problem
    by_rows = estimate.cov_params if estimate.by_rows is None else estimate.by_rows
    return {
        'samples': max(g.rows for g in problem.factors.groups.values()), 'rank': len(base),
        'rank_in_data': estimate.rank, 'rank_gap': base.gap,
        'condition_number': min(estimate.condition_number, LARGEST_CONDITION),
        'standard_deviation': estimate.standard_deviation,
        'correlation_samples': estimate.correlation,
        'training': fits(problem.factors, solution.estimate.params),
        **reduced.notes,
        'dependence': dependence(base.names(), by_rows, estimate.determined)}
