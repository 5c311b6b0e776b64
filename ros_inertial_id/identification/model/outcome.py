"""Outcome: the identified model of a solution, with what was chosen and why."""

from collections.abc import Sequence
from dataclasses import asdict
import datetime
import platform
from typing import Any

import numpy as np

from .identified_model import IdentifiedModel, plain
from ..fit.consistent_links import cross_validate_consistent
from ..fit.solution import Solution
from ..judge.mounting import mounting_parameters, rank_of_bodies
from ..judge.prediction import band_of
from ..judge.validation import fits
from ..passes import Passes
from ..prepare.dataset import Dataset
from ... import __version__
from ...estimation.base_parameters import BaseParameters, is_known
from ...estimation.cross_validation import FOLDS
from ...estimation.estimators import Estimate
from ...estimation.r_factors import one_thread
from ...estimation.statistics import condition_causes, dependence, essential_parameters, whiteness
from ...measurement.recording import Recording
from ...methods.contract import Robot


def model_of(solution: Solution, recordings: Sequence[Recording],
             passes: Passes) -> IdentifiedModel:
    """
    Return the IdentifiedModel of a ``solution``, with its statistics.

    recordings : that it was identified from
    """
    choice, fitted = solution.choice, solution.fitted
    data, reduced = choice.data, choice.reduced
    base, free = reduced.base, fitted.estimate
    statistics, crossed = _statistics(solution), fitted.cross_validation
    if solution.consistent:
        statistics['consistent'] = solution.consistent.entry
        statistics['unconstrained'] = {
            'training': fits(fitted.problem.factors, free.params),
            'values': base.standard(free.params).tolist()}
        crossed = cross_validate_consistent(data, reduced.folds, fitted.problem, free,
                                            fitted.inherited)
    statistics['cross_validation'] = crossed and crossed.summary()
    if crossed and len(crossed.params) == FOLDS:
        residuals = passes.left_out(data, base.parameters,
                                    np.array([base.standard(x) for x in crossed.params]))
        statistics['prediction_band'] = band_of(residuals, reduced.ranges)
    statistics.update(rank_of_bodies(data.method, data.robots, base))
    statistics['choices'] = [*choice.entries, *reduced.laws]
    return IdentifiedModel(
        data.method.name, asdict(data.options), robot_entry(data.robot),
        mounting_entry(data, [r.mounting for r in recordings], base), base.parameters,
        solution.values,
        base_entries(base, solution.estimate, free if solution.consistent else None),
        solution.estimate.cov_params, statistics,
        reduced.ranges, [o.summary for o in data.observations], provenance(recordings))


def _statistics(solution: Solution) -> dict[str, Any]:
    """Return what the model file says of the estimate, beside the parameters."""
    reduced, fitted = solution.choice.reduced, solution.fitted
    base, estimate, problem = reduced.base, fitted.estimate, fitted.problem
    names = base.names()
    essential = essential_parameters(problem, estimate)['essential']
    by_rows = estimate.cov_params if estimate.by_rows is None else estimate.by_rows
    return {
        'samples': max(g.rows for g in problem.factors.groups.values()), 'rank': len(base),
        'rank_in_data': estimate.rank, 'rank_gap': base.gap,
        'condition_number': estimate.condition_number,
        'standard_deviation': estimate.standard_deviation,
        'correlation_samples': estimate.correlation,
        'training': fits(problem.factors, solution.estimate.params),
        **reduced.notes,
        'essential': [names[k] for k in essential],
        'condition_causes': condition_causes(problem, estimate),
        'dependence': dependence(names, by_rows, estimate.determined),
        'whiteness': whiteness(fitted.residuals)}


def robot_entry(robot: Robot) -> dict[str, Any]:
    """Return what a model file says of a ``robot``: enough to build it again."""
    return {'name': robot.name, 'joints': list(robot.joint_names),
            'links': list(robot.link_names), 'base_link': robot.base_link,
            'kinematics_sha256': robot.kinematics_sha256(), 'urdf': robot.urdf}


def mounting_entry(data: Dataset, texts: list[str], base: BaseParameters) -> dict[str, Any]:
    """
    Return what a model file says of the mountings of a Dataset.

    texts : one per recording, as recorded
    base : BaseParameters that these mountings show
    """
    gravity: list[list[float]] = []
    for robot in data.robots:
        if not any(np.allclose(robot.gravity_base, g) for g in gravity):
            gravity.append([float(x) for x in robot.gravity_base])
    with one_thread():
        generalized = mounting_parameters(data.method, data.robot.urdf, data.options, base)
    return {'text': texts, 'gravity_base': gravity, **generalized}


def base_entries(base: BaseParameters, estimate: Estimate, unconstrained: Estimate | None = None
                 ) -> list[dict[str, Any]]:
    """
    Return one entry per base parameter: name, expression, unit, value, standard error, nominal.

    estimate : of them, that predicts; what is not determined has no value
    unconstrained : the Estimate by the data alone, a pair (value, standard error) beside it
    """
    out = []
    # A given value is a value, though no data showed it.
    given = np.array([is_known(base.parameters[k]) for k in base.independent])
    rows = zip(base.names(), base.expressions(), base.units(), estimate.params, estimate.bse,
               estimate.determined | given, base.nominal(), base.groupings())
    for name, expression, unit, value, error, determined, nominal, grouping in rows:
        known = bool(determined)
        out.append({'name': name, 'expression': expression, 'unit': unit, 'determined': known,
                    'value': float(value) if known else None,
                    'standard_error': float(error) if known else None,
                    'relative_percent': float(100 * error / abs(value)) if known and value
                    else None, 'nominal': float(nominal), 'grouping': grouping})
    if unconstrained:
        for entry, pair in zip(out, zip(unconstrained.params, unconstrained.bse)):
            entry['unconstrained'] = [float(x) for x in pair] if entry['determined'] else None
    return out


def provenance(recordings: Sequence[Recording]) -> dict[str, Any]:
    """Return what a model file says of its ``recordings`` and of the versions at work."""
    import pinocchio
    import scipy
    return {'recordings': [plain(dict(r.provenance)) for r in recordings],
            'created': datetime.datetime.now(datetime.timezone.utc).isoformat('T', 'seconds'),
            'versions': {'ros_inertial_id': __version__, 'python': platform.python_version(),
                         'numpy': np.__version__, 'scipy': scipy.__version__,
                         'pinocchio': pinocchio.__version__}}
