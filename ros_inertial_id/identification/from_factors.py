"""
From factors: the estimate of many recordings from their merged R factors, no data read again.

The steps are those of ``identify``, on R factors of the plan's columns: friction laws and
constants are chosen and refined from the columns of all that are tried, correlation comes from
the residuals of every recording's own estimate, standard errors are no smaller than those by
leaving stretches of time out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .accumulation import choose_alternatives, refine, Structure, structure_of
from .consistent_links import consistent_links
from .dataset import Dataset
from .fitting import Fitted
from .gravity_direction import across_gravity, check_gravity, GravityCheck
from .model import IdentifiedModel
from .outcome import model_of
from .plan import METHOD, Plan
from .reduction import Reduced
from .solution import consistent_by_default, Solution
from .stretches import robust_errors
from ..dynamics.inertial_parameters import Parameter
from ..errors import EstimationError
from ..estimation.base_parameters import BaseParameters
from ..estimation.constants_grid import Grid
from ..estimation.cross_validation import cross_validate, parameters_by
from ..estimation.dependent_parameters import choose_dependent
from ..estimation.estimators import Estimate, ESTIMATORS, Problem
from ..estimation.friction_choice import choose_laws
from ..estimation.r_factors import merge, one_thread, RFactors
from ..estimation.residuals import Residuals
from ..measurement.recording import Recording
from ..methods import METHODS

DIGITS = 3  # of gravity [m/s^2]: recordings of one mounting, whose tilts are the same columns


class _Summary:
    """What a model file needs of a recording that was accumulated before: ``summary``."""

    def __init__(self, summary: Mapping[str, Any]) -> None:
        self.summary = dict(summary)


def solve_merged(plan: Plan, groups: Sequence[RFactors], notes: Sequence[Mapping[str, Any]],
                 residuals: Residuals, ranges: Mapping[str, Any]) -> IdentifiedModel:
    """
    Return the IdentifiedModel of recordings by their R factors.

    plan : of all; groups : RFactors about its places and two tilts, of successive stretches of
    time; notes : of every recording, see BagFactors; residuals, ranges : of all together
    """
    with one_thread():
        data = _light(plan, notes)
        structure = structure_of(data.method, data.robots, plan.columns)
        alike = len(data.robots) == 1
        places = places_of(structure, plan.structure)
        tilts = groups[0].size - 2 + np.arange(2)
        wide = [g.select(places) for g in groups]
        reduced = _reduced(data, structure, wide, residuals.correlation())
        fitted = _fitted(data, reduced, residuals, ranges)
        tilted = [_tilted(g.select(np.append(places, tilts)), reduced) for g in groups]
        solution = _solution(data, reduced, fitted, tilted if alike else None)
        recordings = [Recording({}, mounting=n['mounting'], provenance=n['provenance'])
                      for n in notes]
        model = model_of(solution, recordings)
    model.provenance['plan'] = plan.to_dict()
    return model


def places_of(structure: Structure, general: Structure) -> np.ndarray:
    """
    Return (places of ``structure``,) their places in the factors of the ``general`` one.

    EstimationError where the latter do not hold a column.
    """
    out = np.full(int(structure.keep.max()) + 1, -1)
    chosen = structure.keep >= 0
    out[structure.keep[chosen]] = general.keep[chosen]
    if out.min() < 0:
        raise EstimationError('a base parameter of this mounting has no column in the factors',
                              do='round the placements of the robot description')
    return out


def at_constants(structure: Structure, chosen: Mapping[str, Parameter]
                 ) -> tuple[BaseParameters, np.ndarray]:
    """
    Return base parameters with given constants in their columns, and the map (places, b) to them.

    structure : of all columns that are tried; chosen : name -> Parameter with law and constant
    EstimationError where a law of ``chosen`` was not among those tried.
    """
    base, parameters = structure.base, structure.parameters_of_places()
    final, choices = list(base.parameters), {}
    for name, places in structure.choices.items():
        own = [k for k in places if parameters[k].law == chosen[name].law]
        if not own or chosen[name].nonlinear is None:
            raise EstimationError(f'{name} of the model: {chosen[name].law or "no law"}',
                                  exists=sorted({parameters[k].law for k in places}),
                                  do='identify the model again with the friction laws of the plan')
        choices[name] = own
        k = base.independent[places[0]]
        final[k] = replace(parameters[own[0]], nonlinear=chosen[name].nonlinear)
    base = replace(base, parameters=tuple(final))
    size = int(structure.keep.max()) + 1
    grid = Grid(RFactors(size), {name: ks[0] for name, ks in structure.choices.items()}, choices,
                tuple(parameters))
    return base, grid.columns(base)


def _light(plan: Plan, notes: Sequence[Mapping[str, Any]]) -> Dataset:
    """Return a Dataset of the robot under every mounting that occurs, without data."""
    method = METHODS[METHOD]
    distinct: dict[tuple[float, ...], Any] = {}
    for note in notes:
        gravity = tuple(np.round(note['gravity_base'], DIGITS))
        if gravity not in distinct:
            distinct[gravity] = method.build(plan.urdf, plan.options,
                                             np.array(note['gravity_base']))
    return Dataset(method, tuple(distinct.values()),
                   tuple(_Summary(n['summary']) for n in notes), plan.options)


def _reduced(data: Dataset, structure: Structure, wide: Sequence[RFactors],
             correlation: Mapping[str, float]) -> Reduced:
    """Return base parameters, friction laws and constants chosen, and the factors about them."""
    options, notes = data.options, dict[str, Any]()
    base, folds, grid = choose_alternatives(structure, wide, correlation)
    if options.choose_friction:
        choice = choose_laws(folds, base, ESTIMATORS[options.estimator], correlation,
                             {p.law for p in base.parameters if p.law})
        base, folds, grid = choice.base, [f.select(choice.selection) for f in folds], None
        notes['friction_choice'] = {'joints': choice.reasons,
                                    'left_out_percent': list(choice.left_out_percent)}
    searched = structure.searched_laws & set(options.refine_nonlinear) if grid else set[str]()
    refined = refine(Problem(merge(folds), base, {}, grid=grid), searched) if grid else None
    if refined and grid:
        base = refined.base
        folds = [f.combine(grid.columns(base)) for f in wide]
    return Reduced(base, folds, grid, searched, refined, notes, (structure, wide))


def _fitted(data: Dataset, reduced: Reduced, residuals: Residuals,
            ranges: Mapping[str, Any]) -> Fitted:
    """Return the estimate with its uncertainty."""
    estimator, base = ESTIMATORS[data.options.estimator], reduced.base
    total, correlation = merge(reduced.folds), residuals.correlation()
    problem = Problem(total, base, correlation)
    estimate = estimator(problem)
    if reduced.refined and reduced.grid:
        refined = refine(Problem(total, base, estimate.correlation, grid=reduced.grid),
                         reduced.searched)
        assert refined is not None
        estimate = refined.inflate(estimate)
        reduced.notes['nonlinear_parameters'] = refined.values
    return Fitted(problem, estimate, residuals, (), dict(ranges), None, cross_validate(
        reduced.folds, parameters_by(estimator, base, estimate.correlation)))


def _tilted(group: RFactors, reduced: Reduced) -> RFactors:
    """Return the RFactors about the base columns as chosen, and two tilts."""
    if reduced.grid is None:
        return RFactors(0)
    T = reduced.grid.columns(reduced.base)
    wide = np.zeros((group.size, T.shape[1] + 2))
    wide[:-2, :-2], wide[-2:, -2:] = T, np.eye(2)
    return group.combine(wide)


def _solution(data: Dataset, reduced: Reduced, fitted: Fitted,
              tilted: Sequence[RFactors] | None) -> Solution:
    """Return the Solution; the direction of gravity is compared and stays as the plan has it."""
    base, problem, options = reduced.base, fitted.problem, data.options
    folds = [f for f in tilted or () if f.groups]
    estimate = robust_errors(problem, fitted.estimate, folds or reduced.folds)
    fitted = replace(fitted, estimate=estimate)
    if not (options.consistent or consistent_by_default(data)):
        values = choose_dependent(base, estimate.params, options.dependent)
        return Solution(data, reduced, reduced, fitted, values)
    values, entry = consistent_links(data, problem, estimate, None)
    return Solution(data, reduced, reduced, fitted, values, entry,
                    _gravity(data, problem, estimate, values, folds))


def _gravity(data: Dataset, problem: Problem, estimate: Estimate, values: np.ndarray,
             folds: Sequence[RFactors]) -> GravityCheck | None:
    gravity = data.robot.gravity_base
    if not folds or not np.any(gravity):
        return None
    return check_gravity(problem, estimate, values, folds, across_gravity(gravity))
