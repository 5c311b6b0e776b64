"""Fitting: from the wide factor to the parameters that predict, with one covariance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .description import weight_of_description, WeightOfDescription
from .gravity import FreeGravity, GivenGravity, gravity_of, GRAVITY_ROUNDS, Tilt
from .model_errors import (
    constant_profiles,
    ConstantProfile,
    DELAY,
    LAWS,
    model_errors,
    statistical_errors,
)
from .predicting import ConsistentLinks, estimator_of, Predicting, predicting
from ..choose.choice import Choice
from ..prepare.dataset import Dataset
from ..reduce.structure import at_constants, structure_of
from ...dynamics.inertial_parameters import Parameter
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import effective_standard_deviation, Estimate, params_of, Problem
from ...estimation.r_factors import merge, RFactors
from ...estimation.residuals import Residuals
from ...methods.capabilities import EstimateOfRows, OwnErrors


@dataclass(frozen=True)
class Influence:
    """
    How errors of rows move the base parameters: by covariance @ rows' / variance.

    columns : (size, b') of the fit in those of the wide factor, angles of gravity among them
    params : (b',) of these columns; covariance : (b, b') of the base parameters with them, by rows
    standard_deviation : {row group: of its rows, as if they were independent}
    """

    columns: np.ndarray
    params: np.ndarray
    covariance: np.ndarray
    standard_deviation: dict[str, float]

    @classmethod
    def of(
        cls, columns: np.ndarray, problem: Problem, estimate: Estimate, count: int
    ) -> 'Influence':
        """
        Return the Influence on the first ``count`` parameters of an ``estimate``.

        columns : (size, b') of its ``problem`` in those of the wide factor
        """
        covariance = estimate.by_rows
        if covariance is None:
            covariance = estimate.cov_params
        deviation = effective_standard_deviation(problem, estimate.standard_deviation)
        return cls(columns, estimate.params, covariance[:count], deviation)


@dataclass(frozen=True)
class Solution:
    """
    The parameters that predict, with their covariance.

    data : under gravity as it is used; choice : of the model
    problem : about the base parameters; stretches : RFactors of each stretch about them
    values : (p,) standard parameters
    predicts : what the base parameters are of: consistent links, or themselves
    errors : {source: H (b, k)} of the base parameters, of unit size, by statistics and models
    influence : of rows on the base parameters
    inherited : (b, k) errors of calibrated numbers, or None
    tilt : of gravity as the torques show it, where it is used
    constants : {coefficient: {value}} inside its law, as chosen from those tried
    """

    data: Dataset
    choice: Choice
    problem: Problem
    stretches: Sequence[RFactors]
    values: np.ndarray
    predicts: Predicting
    errors: dict[str, np.ndarray]
    influence: Influence
    inherited: np.ndarray | None = None
    tilt: Tilt | None = None
    constants: dict[str, Any] = field(default_factory=dict)

    @property
    def estimate(self) -> Estimate:
        """Return the Estimate of the base parameters that predict."""
        return self.predicts.estimate

    @property
    def free(self) -> Estimate:
        """Return the Estimate without consistent links, the same where they are not asked for."""
        return self.predicts.free

    @property
    def consistent(self) -> ConsistentLinks | None:
        """Return the links that predict, None where they are not asked for."""
        if isinstance(self.predicts, ConsistentLinks):
            return self.predicts
        return None

    @property
    def errors_in_covariance(self) -> bool:
        """Return whether errors of models are in the covariance; see ``widened``."""
        return self.consistent is not None or self.estimate.leaning

    @property
    def ranges(self) -> dict[str, Any]:
        """Return {joint or body: {quantity: [smallest, largest]}} of the data."""
        return self.choice.model_columns.wide.ranges


def fit(
    data: Dataset,
    choice: Choice,
    residuals: Callable[[Dataset, Sequence[Parameter], np.ndarray], Residuals],
) -> Solution:
    """
    Return the Solution of a Choice on the wide factor of ``data``.

    Standard errors are those of the rows first, then of the scatter of stretches where the motion
    is that of joints; errors of the model (``model_errors``) are added last.

    residuals : gives the Residuals of standard parameters, where the correlation of rows is not
    known from stretches of distinct motion
    """
    gravity = gravity_of(choice)
    description: WeightOfDescription | None = None
    for number in range(GRAVITY_ROUNDS):
        problem, columns = _problem(data, choice, gravity)
        problem, rows = _estimated(data, problem, choice, residuals)
        if description is None:
            stretches = _stretches(choice, columns)
            description = weight_of_description(data, problem, rows, stretches)
        predicts = predicting(data, problem, rows, description.weight)
        data = gravity.corrected(data, problem.base, predicts)
        if gravity.settled:
            break
    if number:
        stretches = _stretches(choice, columns)
    predicts = predicts.with_stretch_errors(data, problem, stretches)
    tilt = gravity.tilt(data.robot.gravity_base, predicts.estimate)
    angled, estimate = problem, predicts.estimate
    problem, stretches, predicts = gravity.without_angles(problem, stretches, predicts)
    base = problem.base
    influence = Influence.of(columns, angled, estimate, len(base))
    profiles = {}
    if choice.joint_by_joint and choice.model_columns.measures_all:
        profiles = constant_profiles(choice, problem.correlation)
    errors = model_errors(data, choice, base, profiles.values())
    for source, more in ((DELAY, rows.of_clocks), (LAWS, rows.of_model)):
        if more is not None:
            errors[source] = np.hstack([errors[source], more[: len(base)]])
    assert description is not None  # there is a round
    errors[LAWS] = np.hstack([errors[LAWS], description.errors[: len(base)]])
    of_models = np.hstack([*errors.values()])
    errors.update(statistical_errors(predicts.estimate))
    predicts = predicts.widened(of_models @ of_models.T)
    return Solution(
        data,
        choice,
        problem,
        stretches,
        predicts.standard(data, base),
        predicts,
        errors,
        influence,
        rows.inherited,
        tilt,
        _constants(choice, base, profiles),
    )


def _problem(
    data: Dataset, choice: Choice, gravity: GivenGravity | FreeGravity
) -> tuple[Problem, np.ndarray]:
    """Return the Problem about base columns, angles of gravity last, and these columns."""
    wide, direction = choice.model_columns.wide, data.robot.gravity_base
    structure = structure_of(data.method, data.robots, choice.columns)
    base, T = at_constants(structure, choice.best.constants)
    change = direction - choice.model_columns.given
    columns = wide.columns_under_gravity(change)[:, structure.places_in(wide.structure)] @ T
    columns = gravity.columns(columns, direction)
    return Problem(wide.total.combine(columns), gravity.parameters(base), {}), columns


def _stretches(choice: Choice, columns: np.ndarray) -> Sequence[RFactors]:
    """Return what each stretch says of ``columns`` (size, b) of the wide factor."""
    return [stretch.combine(columns) for stretch in choice.model_columns.wide.stretches]


def _estimated(
    data: Dataset,
    problem: Problem,
    choice: Choice,
    residuals: Callable[[Dataset, Sequence[Parameter], np.ndarray], Residuals],
) -> tuple[Problem, EstimateOfRows]:
    """Return the Problem with the correlation of its rows, and EstimateOfRows."""
    estimator = estimator_of(data)
    if choice.model_columns.wide.joints:
        problem = replace(problem, correlation=choice.model_columns.correlation_rows)
        return problem, EstimateOfRows(estimator(problem))
    base = problem.base
    draft = base.standard(params_of(estimator)(problem))
    draft_residuals = residuals(data, base.parameters, draft)
    problem = replace(problem, correlation=draft_residuals.correlation())
    if isinstance(data.method, OwnErrors):
        return problem, data.method.estimate(data, problem, draft, draft_residuals)
    return problem, EstimateOfRows(estimator(problem))


def _constants(
    choice: Choice, base: BaseParameters, profiles: dict[str, ConstantProfile]
) -> dict[str, dict[str, float | None]]:
    """Return {coefficient of ``base``: {'value': its constant, and the limits of its profile}}."""
    names = {parameter.name for parameter in base.parameters}
    entries = {}
    for name, parameter in choice.best.constants.items():
        if name not in names:
            continue
        entries[name] = {'value': parameter.nonlinear}
        if name in profiles:
            entries[name].update(profiles[name].limits())
    return entries


def cross_validation_folds(solution: Solution, count: int) -> list[RFactors]:
    """Return R factors of ``count`` folds: every n-th stretch."""
    stretches = solution.stretches
    return [merge(stretches[k::count]) for k in range(min(count, len(stretches)))]


def parameters_of_rows(solution: Solution) -> Callable[[RFactors], np.ndarray]:
    """Return the function of R factors that gives the base parameters (b,) that predict them."""
    return solution.predicts.parameters_of_rows(
        solution.data, solution.problem, solution.inherited
    )
