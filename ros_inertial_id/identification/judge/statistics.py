"""Statistics: how well a solution explains its data, and data that its fit has not seen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .validation import band_of, fits, Folds, ResidualPass
from ..choose.choice import choice_entries
from ..fit.fitting import cross_validation_folds, parameters_of_rows, Solution
from ..prepare.mounting import across_gravity, rank_of_bodies, turned
from ..reduce.stretches import FOLDS, STRETCHES
from ...dynamics.friction import LAWS
from ...estimation.r_factors import merge, one_thread, RFactors
from ...estimation.residuals import Fit
from ...methods.capabilities import JointMotion

LARGEST_CONDITION = float(1.0 / np.finfo(float).eps)  # beyond it is rounding


@dataclass
class LeftOut(Fit):
    """A Fit of folds, and the base parameters (b,) of the others that predicted each."""

    params: list[np.ndarray] = field(default_factory=list)


@dataclass(frozen=True)
class CrossValidated:
    """crossed : LeftOut of folds; folds : Folds that predict each stretch from the others."""

    crossed: LeftOut
    folds: Folds | None


def cross_validated(solution: Solution) -> CrossValidated | None:
    """Return every fold of stretches as the parameters of the others predict it, None of one."""
    folds, wide = cross_validation_folds(solution, FOLDS), solution.choice.systems.wide
    with one_thread():
        crossed = cross_validate(folds, parameters_of_rows(solution))
    if crossed is None:
        return None
    fold = np.zeros(STRETCHES, dtype=int)
    fold[wide.kept] = np.arange(len(wide.kept)) % FOLDS
    base = solution.problem.base
    return CrossValidated(
        crossed,
        Folds(np.array([base.standard(x) for x in crossed.params]), fold, wide.numbers)
        if len(crossed.params) == FOLDS
        else None,
    )


def judge(
    solution: Solution, crossed: CrossValidated | None, explained: ResidualPass
) -> dict[str, Any]:
    """
    Return the ``statistics`` of a model file: of the fit, and of folds left out of it.

    explained : the rows under the model that predicts
    """
    data, base, free = solution.data, solution.problem.base, solution.free
    out = _of_fit(solution)
    if solution.consistent:
        out['consistent'] = solution.consistent.entry
        out['unconstrained'] = {
            'training': fits(solution.problem.factors, free.params),
            'values': base.standard(free.params).tolist(),
        }
    out['cross_validation'] = crossed and crossed.crossed.summary()
    if crossed and crossed.folds:
        bent = {
            p.owner
            for p in base.parameters
            if p.law in LAWS and LAWS[p.law].position and not LAWS[p.law].loaded
        }
        angles = data.method.angles(data.robot) if isinstance(data.method, JointMotion) else ()
        out['prediction_band'] = band_of(
            explained.left_out, solution.ranges, [joint for joint in angles if joint not in bent]
        )
    out.update(rank_of_bodies(data.method, data.robots, base))
    out['choices'] = [*choice_entries(solution.choice), *gravity_entries(solution)]
    return out


def gravity_entries(solution: Solution) -> list[dict[str, Any]]:
    """Return the entries of gravity as it was given, and as the torques show it."""
    shown = solution.choice.shown_tilt()
    if solution.tilt:
        given, angles, covariance = (
            solution.tilt.gravity,
            solution.tilt.angles,
            solution.tilt.covariance,
        )
    elif shown is None:
        return []
    else:
        angles, covariance = shown
        given = solution.data.robot.gravity_base
    size = np.linalg.norm(given)
    direction = turned(given / size, across_gravity(given), angles)
    angle = float(np.degrees(np.arccos(np.clip(direction @ given / size, -1.0, 1.0))))
    error = float(np.degrees(np.sqrt(np.linalg.eigvalsh(covariance)[-1])))
    worse, sd, evidence = solution.choice.without_tilt()
    words = f'{np.round(direction, 4).tolist()}, tilted by {angle:.2f} +- {error:.2f} deg'
    used = solution.tilt is not None
    return [
        {
            'what': 'gravity direction',
            'candidate': what,
            'chosen': chosen,
            'worse_percent': 0.0 if chosen else 50.0 * (worse if used else -worse),
            'worse_error_percent': 0.0 if chosen else 50.0 * sd,
            'evidence': evidence if what == words else -evidence,
            'tilt_deg': angle,
            'standard_error_deg': error,
        }
        for what, chosen in (('as given', not used), (words, used))
    ]


def _of_fit(solution: Solution) -> dict[str, Any]:
    """Return what the estimate says of itself and of the training data."""
    problem, estimate = solution.problem, solution.free
    base = problem.base
    by_rows = estimate.cov_params if estimate.by_rows is None else estimate.by_rows
    return {
        'samples': max(g.rows for g in problem.factors.groups.values()),
        'rank': len(base),
        'rank_in_data': estimate.rank,
        'rank_gap': base.gap,
        'condition_number': min(estimate.condition_number, LARGEST_CONDITION),
        'standard_deviation': estimate.standard_deviation,
        'correlation_samples': estimate.correlation,
        'cov_type': 'rows' if solution.estimate.by_rows is None else 'segments',
        'training': fits(problem.factors, solution.estimate.params),
        **({'nonlinear_parameters': solution.constants} if solution.constants else {}),
        'dependence': dependence(base.names(), by_rows, estimate.determined),
    }


def cross_validate(
    folds: Sequence[RFactors], estimated: Callable[[RFactors], np.ndarray]
) -> LeftOut | None:
    """
    Return the LeftOut Fit of every fold to the parameters of the others, per row group.

    folds : RFactors about b columns, each of some stretches of the data; those of many
        recordings are put together to FOLDS
    estimated : R factors -> base parameters (b,) that predict
    None where there is one fold only.
    """
    if len(folds) < 2:
        return None
    bounds = np.linspace(0, len(folds), min(FOLDS, len(folds)) + 1).astype(int)
    folds = [merge(folds[a:b]) for a, b in zip(bounds[:-1], bounds[1:])]
    fit = LeftOut()
    for k, fold in enumerate(folds):
        beta = estimated(merge([*folds[:k], *folds[k + 1 :]]))
        fit.params.append(beta)
        fit.samples += max(g.rows for g in fold.groups.values())
        for name, group in fold.groups.items():
            fit.residual[name] = fit.residual.get(name, 0.0) + group.residual(beta) ** 2
            fit.target[name] = fit.target.get(name, 0.0) + group.target() ** 2
    return fit


def dependence(
    names: Sequence[str], covariance: np.ndarray, determined: np.ndarray
) -> dict[str, dict[str, Any]]:
    """
    Return name -> inflation of its variance by the others, closest other, correlation to it.

    names, determined : (b,) of the base parameters, those that are determined take part
    covariance : (b, b) by independent rows: few stretches know correlations by chance only
    """
    where = np.flatnonzero(determined)
    if len(where) < 2:
        return {}
    size = np.sqrt(np.diag(covariance)[where])
    size = np.where(size > 0.0, size, 1.0)
    R = covariance[np.ix_(where, where)] / np.outer(size, size)
    # Nearly undetermined directions may leave R singular to working precision.
    inflation = np.maximum(1.0, np.diag(np.linalg.pinv(R, hermitian=True)))
    others = R - np.diag(np.diag(R))
    closest = np.argmax(np.abs(others), axis=1)
    used = [names[int(k)] for k in where]
    return {
        name: {
            'inflation': float(inflation[k]),
            'partner': used[closest[k]],
            'correlation': float(others[k, closest[k]]),
        }
        for k, name in enumerate(used)
    }
