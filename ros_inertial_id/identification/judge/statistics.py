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
from ...estimation.base_parameters import BaseParameters
from ...estimation.r_factors import merge, one_thread, RFactors
from ...estimation.residuals import Fit
from ...methods.capabilities import JointMotion

LARGEST_CONDITION = float(1.0 / np.finfo(float).eps)  # beyond it is rounding


@dataclass
class FoldFit(Fit):
    """A Fit of folds, and the base parameters (b,) of the others that predicted each."""

    params: list[np.ndarray] = field(default_factory=list)


@dataclass(frozen=True)
class CrossValidated:
    """crossed : FoldFit of folds; folds : Folds that predict each stretch from the others."""

    crossed: FoldFit
    folds: Folds | None


def cross_validated(solution: Solution) -> CrossValidated | None:
    """Return every fold of stretches as the parameters of the others predict it, None of one."""
    folds = cross_validation_folds(solution, FOLDS)
    with one_thread():
        crossed = cross_validate(folds, parameters_of_rows(solution))
    if crossed is None:
        return None
    if len(crossed.params) != FOLDS:
        return CrossValidated(crossed, None)
    wide, base = solution.choice.model_columns.wide, solution.problem.base
    fold = np.zeros(STRETCHES, dtype=int)
    fold[wide.kept] = np.arange(len(wide.kept)) % FOLDS
    values = np.array([base.standard(params) for params in crossed.params])
    return CrossValidated(crossed, Folds(values, fold, wide.numbers))


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
    out['cross_validation'] = None
    if crossed:
        out['cross_validation'] = crossed.crossed.summary()
        if crossed.folds:
            out['prediction_band'] = band_of(
                explained.left_out, solution.ranges, _periodic_joints(solution)
            )
    out.update(rank_of_bodies(data.method, data.robots, base))
    out['choices'] = [*choice_entries(solution.choice), *gravity_entries(solution)]
    return out


def _periodic_joints(solution):
    """Return the joints whose torque a turn further is the same: no spring, no torque ripple."""
    data = solution.data
    if not isinstance(data.method, JointMotion):
        return []
    sprung = {p.owner for p in solution.problem.base.parameters if _tells_turns_apart(p)}
    return [joint for joint in data.method.angles(data.robot) if joint not in sprung]


def _tells_turns_apart(parameter):
    """Return whether the torque of a joint's ``parameter`` depends on its own position."""
    law = LAWS.get(parameter.law)
    return law is not None and law.position and not law.loaded


def gravity_entries(solution: Solution) -> list[dict[str, Any]]:
    """Return the entries of gravity as it was given, and as the torques show it."""
    estimate = _estimated_tilt(solution)
    if estimate is None:
        return []
    given, angles, covariance = estimate
    magnitude = np.linalg.norm(given)
    direction = turned(given / magnitude, across_gravity(given), angles)
    cosine = np.clip(direction @ given / magnitude, -1.0, 1.0)
    angle = float(np.degrees(np.arccos(cosine)))
    error = float(np.degrees(np.sqrt(np.linalg.eigvalsh(covariance)[-1])))
    words = f'{np.round(direction, 4).tolist()}, tilted by {angle:.2f} +- {error:.2f} deg'
    worse, sd, evidence = solution.choice.without_tilt()
    tilt_is_used = solution.tilt is not None
    as_given = _gravity_entry('as given', not tilt_is_used, -evidence, angle, error)
    as_shown = _gravity_entry(words, tilt_is_used, evidence, angle, error)
    if tilt_is_used:
        as_given.update(worse_percent=50.0 * worse, worse_error_percent=50.0 * sd)
    else:
        as_shown.update(worse_percent=50.0 * -worse, worse_error_percent=50.0 * sd)
    return [as_given, as_shown]


def _estimated_tilt(solution):
    """Return gravity as given (3,), angles (2,) [rad] of its tilt, covariance; or None."""
    tilt = solution.tilt
    if tilt:
        return tilt.gravity, tilt.angles, tilt.covariance
    estimated = solution.choice.estimated_tilt
    if estimated is None:
        return None
    return solution.data.robot.gravity_base, *estimated


def _gravity_entry(candidate, chosen, evidence, angle, error):
    """Return the entry of a direction of gravity that predicts no worse than the chosen one."""
    return {
        'what': 'gravity direction',
        'candidate': candidate,
        'chosen': chosen,
        'worse_percent': 0.0,
        'worse_error_percent': 0.0,
        'evidence': evidence,
        'tilt_deg': angle,
        'standard_error_deg': error,
    }


def _of_fit(solution: Solution) -> dict[str, Any]:
    """Return the statistics of the estimate and of the training data."""
    problem, unconstrained = solution.problem, solution.free
    base = problem.base
    cov_type = 'segments'
    if solution.estimate.by_rows is None:
        cov_type = 'rows'
    covariance_by_rows = unconstrained.by_rows
    if covariance_by_rows is None:
        covariance_by_rows = unconstrained.cov_params
    out = {
        'samples': max(group.rows for group in problem.factors.groups.values()),
        'rank': len(base),
        'rank_in_data': unconstrained.rank,
        'determined': int(solution.estimate.determined.sum()),
        'bodies': _of_bodies(base, solution.estimate.determined),
        'rank_gap': base.gap,
        'condition_number': min(unconstrained.condition_number, LARGEST_CONDITION),
        'standard_deviation': unconstrained.standard_deviation,
        'correlation_samples': unconstrained.correlation,
        'cov_type': cov_type,
        'training': fits(problem.factors, solution.estimate.params),
    }
    if solution.constants:
        out['nonlinear_parameters'] = solution.constants
    determined = solution.estimate.determined
    out['dependence'] = dependence(base.names(), covariance_by_rows, determined)
    return out


def _of_bodies(base: BaseParameters, determined: np.ndarray) -> dict[str, int]:
    """Return how many base parameters of bodies are not known, and are ``determined`` (b,)."""
    of_bodies = np.array([not base.parameters[k].law for k in base.independent], dtype=bool)
    asked = of_bodies & ~base.known
    return {'rank': int(asked.sum()), 'determined': int((asked & determined).sum())}


def cross_validate(
    folds: Sequence[RFactors], estimated: Callable[[RFactors], np.ndarray]
) -> FoldFit | None:
    """
    Return the FoldFit of every fold to the parameters of the others, per row group.

    folds : RFactors about b columns, each of some stretches of the data; those of many
        recordings are put together to FOLDS
    estimated : R factors -> base parameters (b,) that predict
    None where there is one fold only.
    """
    if len(folds) < 2:
        return None
    bounds = np.linspace(0, len(folds), min(FOLDS, len(folds)) + 1).astype(int)
    folds = [merge(folds[first:end]) for first, end in zip(bounds[:-1], bounds[1:])]
    fit = FoldFit()
    for k, fold in enumerate(folds):
        beta = estimated(merge([*folds[:k], *folds[k + 1 :]]))
        fit.params.append(beta)
        fit.samples += max(group.rows for group in fold.groups.values())
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
    columns = np.flatnonzero(determined)
    if len(columns) < 2:
        return {}
    sd = np.sqrt(np.diag(covariance)[columns])
    sd = np.where(sd > 0.0, sd, 1.0)
    R = covariance[np.ix_(columns, columns)] / np.outer(sd, sd)
    # Nearly undetermined directions may leave R singular to working precision.
    inflation = np.maximum(1.0, np.diag(np.linalg.pinv(R, hermitian=True)))
    off_diagonal = R - np.diag(np.diag(R))
    partner = np.argmax(np.abs(off_diagonal), axis=1)
    determined_names = [names[int(k)] for k in columns]
    out = {}
    for k, name in enumerate(determined_names):
        out[name] = {
            'inflation': float(inflation[k]),
            'partner': determined_names[partner[k]],
            'correlation': float(off_diagonal[k, partner[k]]),
        }
    return out
