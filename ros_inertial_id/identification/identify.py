"""
identify: the spine. Recording -> state -> rows -> R factors -> base parameters -> estimate.

The same page serves the public API, the command line, the node and the tests; nothing here knows
ROS.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .accumulation import (accumulate, choose_alternatives, refine, standard, Structure,
                           structure_of)
from .consistent_links import consistent_links
from .dataset import Dataset, Progress, read_dataset
from .entries import base_entries, mounting_entry, provenance, robot_entry
from .gravity_direction import across_gravity, check_gravity, GravityCheck
from .inherited_errors import inflated, inherited_errors
from .model import IdentifiedModel
from .mounting import rank_of_bodies
from .noise_excitation import without_noise
from .reading import readers
from .robot import check_robot
from .settings import prediction_options
from .stretches import accumulate_stretches, robust_errors
from .time_offset import aligned
from .validation import evaluate, fits
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import RegressorBlock
from ..errors import ConfigError, RobotModelError
from ..estimation.base_parameters import BaseParameters
from ..estimation.cross_validation import left_out_percent
from ..estimation.dependent_parameters import choose_dependent
from ..estimation.estimators import Estimate, ESTIMATORS, Problem
from ..estimation.friction_choice import choose_laws
from ..estimation.known_parameters import with_known
from ..estimation.law_evidence import law_evidence
from ..estimation.motion_noise import motion_noise, MotionNoise
from ..estimation.nonlinear_parameters import Grid, RefinedNonlinear
from ..estimation.r_factors import merge, one_thread, RFactors
from ..estimation.residuals import Residuals
from ..estimation.statistics import condition_causes, essential_parameters, whiteness
from ..measurement.recording import Recording
from ..options import check_ranges


@dataclass(frozen=True)
class Identification:
    """A model, and thinned out RegressorBlocks of its data for the report's curves."""

    model: IdentifiedModel
    training: tuple[RegressorBlock, ...]
    validation: tuple[RegressorBlock, ...] = ()


@dataclass(frozen=True)
class Reduced:
    """
    The data as R factors about the base columns.

    base : BaseParameters; folds : RFactors of the base columns, one per stretch of time
    grid : of the nonlinear parameters tried, None where there are none; searched : their laws
    refined : what refining them gave; notes : {key of the statistics: what was chosen}
    tried : Structure, and folds about all its columns, alternatives included
    """

    base: BaseParameters
    folds: Sequence[RFactors]
    grid: Grid | None
    searched: set[str]
    refined: RefinedNonlinear | None
    notes: dict[str, Any]
    tried: tuple[Structure, Sequence[RFactors]]


@dataclass(frozen=True)
class Fitted:
    """
    An Estimate with what surrounds it.

    residuals : of a first estimate, for their correlation; curves, ranges : see ``evaluate``
    inherited : (b, k) errors of unit size that come with the robot or the motion, or None
    left_out : relative residual [%] of cross-validation
    """

    factors: RFactors
    estimate: Estimate
    residuals: Residuals
    curves: tuple[RegressorBlock, ...]
    ranges: dict[str, Any]
    inherited: np.ndarray | None
    left_out: float | None


@dataclass(frozen=True)
class Solution:
    """
    What one pass through the spine gives.

    values : (p,) standard parameters that predict; consistent : their entry in the statistics,
        None where they are not physically consistent; gravity : its check, None without
    """

    reduced: Reduced
    fitted: Fitted
    values: np.ndarray
    consistent: dict[str, Any] | None
    gravity: GravityCheck | None


def identify(recordings: Sequence[Recording], options: Any, *, method: str = 'serial_arm',
             urdf: str = '', validate: Sequence[Recording] = (),
             progress: Progress | None = None) -> Identification:
    """
    Return the Identification of a robot from Recordings.

    recordings, validate : to identify from, and to validate on
    options : of the method with EstimationOptions; method : its name
    urdf : text of the description, '' for the recordings' own
    progress : called with (stage, samples done, samples in all) on long work
    InertialIdError of all kinds for bad input: see the steps.
    """
    check_ranges(options)
    with one_thread():
        data = read_dataset(recordings, options, method, urdf, progress)
        _check_nominal(data)
        columns = _columns(data)
        data = aligned(data, columns)
        solution = _solve(data, columns)
        gravity = solution.gravity
        if gravity and gravity.overwhelming and not options.mounting:
            data = _tilted(data, gravity.direction)
            solution = replace(_with_gravity_errors(_solve(data, columns)), gravity=gravity)
        model = _model(data, solution, recordings)
    if not validate:
        return Identification(model, solution.fitted.curves)
    return Identification(model, solution.fitted.curves, _validate(model, validate, progress))


def validation(model: IdentifiedModel, recordings: Sequence[Recording], *,
               progress: Progress | None = None
               ) -> tuple[dict[str, Any], tuple[RegressorBlock, ...]]:
    """
    Return ({filtered, raw} residuals of a model on Recordings, blocks for the report's curves).

    The signals are prepared as they were for the identification (same cutoff, same velocity).

    model : IdentifiedModel; recordings : of its robot; progress : see ``identify``
    """
    with one_thread():
        data = read_dataset(recordings, prediction_options(model), model.method,
                            model.robot['urdf'], progress)
        for robot in data.robots:
            check_robot(model, robot)
        residuals, curves, _ = evaluate(data, model.parameters, model.values, False)
    return residuals.summary(), curves


def _columns(data: Dataset) -> tuple[Parameter, ...]:
    """Return the Parameters with what is given; refuse estimators without a prior."""
    options = data.options
    if options.given and options.estimator != 'ridge':
        raise ConfigError('given parameters', expected='estimator: ridge, which keeps them',
                          found=options.estimator)
    return with_known(data.method.parameters(data.robot, options), options.given)


def _check_nominal(data: Dataset) -> None:
    robot = data.robot
    virtual = data.method.virtual_links(robot)
    bare = [name for name, pi in zip(robot.link_names, robot.inertias)
            if pi[0] <= 0.0 and name not in virtual]
    if bare and data.options.estimator == 'ridge':
        raise RobotModelError('the URDF has links without inertia', found=bare,
                              expected='nominal inertias, which the ridge estimator leans on',
                              do='add <inertial>, or use estimator: weighted')


def _solve(data: Dataset, columns: Sequence[Parameter]) -> Solution:
    """Return the Solution under the mountings as they are, gravity checked against the torques."""
    reduced = _reduce(data, structure_of(data.method, data.robots, columns))
    fitted = _estimate(data, reduced)
    base, estimate = reduced.base, fitted.estimate
    values = choose_dependent(base, estimate.params, data.options.dependent)
    if not (data.options.consistent or _consistent_by_default(data)):
        return Solution(reduced, fitted, values, None, None)
    problem = Problem(fitted.factors, base, estimate.correlation)
    values, entry = consistent_links(data, problem, estimate, fitted.inherited)
    gravity = data.robot.gravity_base
    if not data.method.searches_gravity or not np.any(gravity):
        return Solution(reduced, fitted, values, entry, None)
    across = across_gravity(gravity)
    folds = accumulate_stretches(data, base, values, across)
    fitted = replace(fitted, estimate=robust_errors(problem, estimate, folds))
    alike = all(np.allclose(r.gravity_base, gravity) for r in data.robots)
    check = check_gravity(problem, estimate, values, folds, across) if alike else None
    return Solution(reduced, fitted, values, entry, check)


def _tilted(data: Dataset, direction: np.ndarray) -> Dataset:
    """Return the Dataset with gravity along a direction (3,) in the base frame."""
    gravity = np.linalg.norm(data.robot.gravity_base) * direction
    options = replace(data.options,
                      mounting='gravity ' + ' '.join(repr(float(g)) for g in gravity))
    robots = tuple(replace(robot, gravity_base=gravity) for robot in data.robots)
    return replace(data, options=options, robots=robots)


def _with_gravity_errors(solution: Solution) -> Solution:
    """Return the Solution with what the found direction's errors add to the parameters'."""
    assert solution.gravity is not None
    estimate = inflated(solution.fitted.estimate, solution.gravity.errors())
    return replace(solution, fitted=replace(solution.fitted, estimate=estimate))


def _reduce(data: Dataset, structure: Structure) -> Reduced:
    """Return the data as R factors, friction laws and nonlinear parameters chosen."""
    options, notes = data.options, {}
    wide = accumulate(data, structure.columns, structure.keep)
    base, folds, grid = choose_alternatives(structure, wide)
    if _second_choice(structure, base):  # once more, counted in independent rows
        draft = ESTIMATORS[options.estimator](Problem(merge(folds), base, {}))
        residuals, _, _ = evaluate(data, base.parameters, standard(base, draft), True)
        base, folds, grid = choose_alternatives(structure, wide, residuals.correlation())
    if options.choose_friction:
        base, folds, notes['friction_choice'] = _choose_friction(data, base, folds)
        grid = None  # of columns that are no longer all there
    searched = structure.searched_laws & set(options.refine_nonlinear)
    read, _ = readers(data)
    refined = refine(Problem(merge(folds), base, {}, read, grid=grid), searched)
    if refined:
        base = refined.base
        folds = ([f.combine(grid.columns(base)) for f in wide] if grid else
                 accumulate(data, base.parameters, base.places()))
    return Reduced(base, folds, grid, searched, refined, notes, (structure, wide))


def _second_choice(structure: Structure, base: BaseParameters) -> bool:
    """Return whether a law was chosen that stands behind another one of the same coefficient."""
    first = {p.name: p.law for p in reversed(structure.columns)}
    return any(p.law != first[p.name] for p in base.parameters)


def _estimate(data: Dataset, reduced: Reduced) -> Fitted:
    """Return the estimate with its uncertainty: correlated residuals, noise, what it rests on."""
    estimator, base = ESTIMATORS[data.options.estimator], reduced.base
    read, instruments = readers(data)
    total = merge(reduced.folds)
    draft = estimator(Problem(total, base, {}))
    residuals, curves, ranges = evaluate(data, base.parameters, standard(base, draft), True)
    noise = _noise(data, base, draft)
    correlation = noise.correlation(residuals) if noise else residuals.correlation()
    problem = Problem(total, base, correlation, read, instruments)
    estimate = estimator(problem)
    if reduced.refined:
        refined = refine(Problem(total, base, estimate.correlation, read, grid=reduced.grid),
                         reduced.searched)
        assert refined is not None
        estimate = refined.inflate(estimate)
        reduced.notes['nonlinear_parameters'] = refined.values
    inherited = (noise.errors(problem, estimate) if noise else
                 inherited_errors(data, base, estimate))
    estimate = without_noise(data, base, total, inflated(estimate, inherited))
    left_out = left_out_percent(reduced.folds, base, estimator, estimate.correlation)
    return Fitted(total, estimate, residuals, curves, ranges, inherited, left_out)


def _noise(data: Dataset, base: BaseParameters, draft: Estimate) -> MotionNoise | None:
    """Return what noise of the motion does to the rows, where the method says so."""
    values = standard(base, draft)
    return motion_noise((draw for robot, observation in data.pairs() for draw in
                         data.method.noise(observation, robot, base.parameters, values)), base)


def _choose_friction(data: Dataset, base: BaseParameters, folds: Sequence[RFactors]
                     ) -> tuple[BaseParameters, list[RFactors], dict[str, Any]]:
    """Return base and folds with the laws that the data ask for, and the reasons."""
    estimator = ESTIMATORS[data.options.estimator]
    draft = estimator(Problem(merge(folds), base, {}))
    residuals, _, _ = evaluate(data, base.parameters, standard(base, draft), True)
    laws = {p.law for p in base.parameters if p.law}
    choice = choose_laws(folds, base, estimator, residuals.correlation(), laws)
    return (choice.base, [f.select(choice.selection) for f in folds],
            {'joints': choice.reasons, 'left_out_percent': list(choice.left_out_percent)})


def _model(data: Dataset, solution: Solution,
           recordings: Sequence[Recording]) -> IdentifiedModel:
    """Return the IdentifiedModel with its statistics, physically consistent when asked for."""
    reduced, fitted, options = solution.reduced, solution.fitted, data.options
    base, estimate = reduced.base, fitted.estimate
    statistics = _statistics(reduced, fitted)
    if solution.consistent:
        statistics['consistent'] = solution.consistent
    statistics.update(rank_of_bodies(data.method, data.robots, base))
    statistics['choices'] = _choices(data, solution)
    return IdentifiedModel(
        data.method.name, asdict(options), robot_entry(data.robot),
        mounting_entry(data, [r.mounting for r in recordings], base), base.parameters,
        solution.values, base_entries(base, estimate), estimate.cov_params, statistics,
        fitted.ranges, [o.summary for o in data.observations], provenance(recordings))


def _consistent_by_default(data: Dataset) -> bool:
    options = data.options
    return (data.method.consistent_by_default and not options.unconstrained
            and options.estimator == 'ridge')


def _choices(data: Dataset, solution: Solution) -> list[dict[str, Any]]:
    """Return what was chosen and why: {what, candidate, left_out_error, evidence, chosen}."""
    reduced, fitted = solution.reduced, solution.fitted
    structure, wide = reduced.tried
    own = {p.name for p in reduced.base.parameters}
    consistent = solution.consistent is not None
    entries: list[dict[str, Any]] = [
        {'what': 'predictor', 'candidate': f'{data.options.estimator}, base parameters',
         'left_out_error': fitted.left_out, 'evidence': None, 'chosen': not consistent}]
    if consistent:
        entries.append({'what': 'predictor', 'candidate': 'physically consistent bodies',
                        'left_out_error': None, 'evidence': None, 'chosen': True})
    if solution.gravity:
        given = np.allclose(solution.gravity.given, data.robot.gravity_base
                            / np.linalg.norm(data.robot.gravity_base), atol=1e-9)
        entries += solution.gravity.choices(used=not given)
    if len(reduced.base) == len(structure.base):
        columns = structure.parameters_of_places()
        entries += law_evidence(wide, reduced.base,
                                {n: ks for n, ks in structure.choices.items() if n in own},
                                columns, fitted.estimate.correlation)
    return entries


def _statistics(reduced: Reduced, fitted: Fitted) -> dict[str, Any]:
    """Return what the model file says of the estimate, beside the parameters."""
    base, estimate, total = reduced.base, fitted.estimate, fitted.factors
    problem, names = Problem(total, base, estimate.correlation), base.names()
    essential = essential_parameters(problem, estimate)['essential']
    return {
        'samples': max(g.rows for g in total.groups.values()), 'rank': len(base),
        'rank_in_data': estimate.rank, 'rank_gap': base.gap,
        'condition_number': estimate.condition_number,
        'standard_deviation': estimate.standard_deviation,
        'correlation_samples': estimate.correlation,
        'training': fits(total, estimate.params), 'left_out_relative_percent': fitted.left_out,
        **reduced.notes,
        'essential': [names[k] for k in essential],
        'condition_causes': condition_causes(problem, estimate),
        'whiteness': whiteness(fitted.residuals)}


def _validate(model: IdentifiedModel, recordings: Sequence[Recording],
              progress: Progress | None) -> tuple[RegressorBlock, ...]:
    """Put the validation into the statistics of a model; return blocks for the curves."""
    statistics = model.statistics
    statistics['validation'], curves = validation(model, recordings, progress=progress)
    model.provenance['validation'] = [dict(r.provenance) for r in recordings]
    if 'consistent' in statistics:
        consistent = statistics['consistent']
        consistent['unconstrained_validation'], _ = validation(
            replace(model, values=np.array(consistent['unconstrained_values'])), recordings)
    return curves
