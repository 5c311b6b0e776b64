"""
Fitting: from the wide factor to physically consistent parameters with one covariance.

A tilt of gravity is two angles beside the base parameters, linear where they are small: rows
under the direction that was found are algebra on the wide factor, so no tilt reads a row again.

A method that knows the mass of all links together leaves the first one out of its unknowns: it is
the rest.  For the consistent estimate it comes back, as a column that no row shows, with the sum
as a constraint, so that this link too is physically consistent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .model_errors import choice_errors, constant_profiles, offset_errors
from ..choose.choice import Choice, GRAVITY, predicts_consistently
from ..prepare.dataset import Dataset
from ..prepare.mounting import across_gravity, turned
from ..reduce.structure import at_constants, structure_of
from ..reduce.systems import CORRELATION_MARGIN, TILT
from ...dynamics.inertial_parameters import bodies, Parameter
from ...estimation.base_parameters import BaseParameters, is_known, with_known
from ...estimation.consistency import consistent, consistent_values, ConsistentEstimate, Known
from ...estimation.estimators import Estimate, ESTIMATORS, params_of, Problem, weighted
from ...estimation.r_factors import merge, one_thread, RFactors
from ...estimation.residuals import Residuals, robust_errors
from ...methods.capabilities import EstimateOfRows, JointMotion, JointTorques, KnownMass, OwnErrors

ROUNDS = 4  # of the direction of gravity, and the tilt that is left
SETTLED = 0.25  # of the error of the direction


@dataclass(frozen=True)
class Tilt:
    """angles : (2,) [rad] about ``across_gravity`` of the gravity given; covariance : (2, 2)."""

    gravity: np.ndarray
    angles: np.ndarray
    covariance: np.ndarray


@dataclass(frozen=True)
class Solution:
    """
    The parameters that predict, with their covariance.

    data : under gravity as it is used; choice : of the model
    problem : about the base parameters; stretches : RFactors of each stretch about them
    values : (p,) standard parameters; estimate : of the base parameters
    free : the Estimate without consistent bodies, the same where they are not asked for
    consistent : ConsistentLinks or None; inherited : (b, k) errors of calibrated numbers, or None
    tilt : of gravity as the torques show it, where it is used
    constants : {coefficient: {value}} inside its law, as chosen from those tried
    """

    data: Dataset
    choice: Choice
    problem: Problem
    stretches: Sequence[RFactors]
    values: np.ndarray
    estimate: Estimate
    free: Estimate
    consistent: 'ConsistentLinks | None' = None
    inherited: np.ndarray | None = None
    tilt: Tilt | None = None
    constants: dict[str, Any] = field(default_factory=dict)

    @property
    def ranges(self) -> dict[str, Any]:
        """Return {joint or body: {quantity: [smallest, largest]}} of the data."""
        return self.choice.systems.wide.ranges


@dataclass(frozen=True)
class ConsistentLinks:
    """
    The physically consistent parameters that predict, and how certain they are.

    values : (p,) standard parameters; entry : their entry in the statistics
    found : ConsistentEstimate; estimate : of the base parameters, by independent rows
    """

    values: np.ndarray
    entry: dict[str, Any]
    found: ConsistentEstimate
    estimate: Estimate


def fit(
    data: Dataset,
    choice: Choice,
    residuals: Callable[[Dataset, Sequence[Parameter], np.ndarray], Residuals],
) -> Solution:
    """
    Return the Solution of a Choice on the wide factor of ``data``.

    residuals : gives the Residuals of standard parameters, where the correlation of rows is not
    known from stretches of distinct motion
    """
    wide, given, beta = choice.systems.wide, choice.systems.given, choice.systems.beta
    consistently = predicts_consistently(data)
    for _ in range(ROUNDS if choice.tilted else 1):
        problem, stretches = _problem(data, wide, choice, (given, beta))
        problem, rows = _estimated(data, problem, choice, residuals)
        free, inherited = rows.free, rows.inherited
        links = consistent_links(data, problem, rows) if consistently else None
        if not choice.tilted:
            break
        assert links is not None
        angles, covariance = links.found.params[-2:], links.found.cov_params[-2:, -2:]
        gravity = _turned(data.robot.gravity_base, angles)
        beta = wide.at_places(problem.base.parameters, links.found.values)
        done = angles @ np.linalg.solve(covariance, angles) < SETTLED**2
        data = under_gravity(data, gravity)
        if done:
            break
    return _solution(data, choice, (problem, stretches), (free, links, inherited), given)


def _problem(data, wide, choice, known):
    """Return the Problem about base columns, angles of gravity last, and that of stretches."""
    given, beta = known
    gravity = data.robot.gravity_base
    structure = structure_of(data.method, data.robots, choice.columns)
    places = structure.places_in(wide.structure)
    base, T = at_constants(structure, choice.best.constants)
    columns = wide.columns_under_gravity(gravity - given)[:, places] @ T
    if choice.tilted:
        base = with_angles(base)
        columns = np.hstack(
            [columns, wide.tilts(beta, across_gravity(gravity) * np.linalg.norm(gravity))]
        )
    stretches = [s.combine(columns) for s in wide.stretches]
    return Problem(merge(stretches), base, {}), stretches


def _estimated(data, problem, choice, residuals):
    """Return the Problem with the correlation of its rows, and EstimateOfRows."""
    estimator = ESTIMATORS.get(data.options.estimator, weighted)  # a method may have its own
    if isinstance(data.method, JointTorques):
        problem = replace(problem, correlation=choice.systems.correlation_rows)
        return problem, EstimateOfRows(estimator(problem))
    base = problem.base
    draft = base.standard(params_of(estimator)(problem))
    seen = residuals(data, base.parameters, draft)
    problem = replace(problem, correlation=seen.correlation())
    return problem, (
        data.method.estimate(data, problem, draft, seen)
        if isinstance(data.method, OwnErrors)
        else EstimateOfRows(estimator(problem))
    )


def _solution(data, choice, system, estimates, given):
    """Return the Solution with one covariance: rows, stretches, choice."""
    (problem, stretches), (free, links, inherited) = system, estimates
    base, count = problem.base, len(problem.base) - 2 * choice.tilted
    # An estimator that is asked for by itself has the errors that belong to it.
    by_stretches = isinstance(data.method, JointMotion) and (
        links is not None or data.options.estimator == 'ridge'
    )
    estimate, tilt = links.estimate if links else free, None
    if by_stretches:
        # How long residuals last was taken with room to spare: of errors stretches decide.
        least = 1.0 / CORRELATION_MARGIN if isinstance(data.method, JointTorques) else 1.0
        free = robust_errors(problem, free, stretches, base.prior_covariance(), least)
        estimate = (
            robust_errors(problem, estimate, stretches, links.found.prior, least)
            if links
            else free
        )
    if choice.tilted:
        tilt = Tilt(
            given, _angles_between(given, data.robot.gravity_base), estimate.cov_params[-2:, -2:]
        )
        base = _without_angles(base, choice)
        problem = replace(problem, base=base, factors=problem.factors.select(np.arange(count)))
        stretches = [s.select(np.arange(count)) for s in stretches]
        free, estimate = free.first(count), estimate.first(count)
    profiles = (
        constant_profiles(choice)
        if choice.joint_by_joint and isinstance(data.method, JointTorques)
        else {}
    )
    errors = np.hstack(
        [
            choice_errors(choice, base),
            *(profile.errors(choice, base) for profile in profiles.values()),
            *_delay_errors(data, choice, base),
        ]
    )
    estimate = estimate.widened(errors @ errors.T)
    values = (
        links.values[: len(base.parameters)]
        if links
        else base.standard(free.params, data.options.dependent)
    )
    return Solution(
        data,
        choice,
        problem,
        stretches,
        values,
        estimate if links else free,
        free,
        links,
        inherited,
        tilt,
        {
            name: {'value': p.nonlinear, **(profiles[name].limits() if name in profiles else {})}
            for name, p in choice.best.constants.items()
            if name in {q.name for q in base.parameters}
        },
    )


def _delay_errors(data, choice, base):
    """Return [H (b, 1)] of what is not known of the delay of commands, [] of measured efforts."""
    one: Any = next(iter(data.observations), None)  # none of what is learnt online
    source = getattr(one, 'effort_source', None)  # of arms
    error = one.summary.time_offset_error if source and source.is_commanded else None
    return [offset_errors(choice, base, error)] if error else []


def with_angles(base: BaseParameters) -> BaseParameters:
    """Return the BaseParameters with two angles of gravity behind them, each by itself."""
    count = len(base.parameters)
    angles = tuple(
        Parameter(f'{GRAVITY}{k}', 'rad', TILT, 0.0, TILT, GRAVITY, GRAVITY) for k in (1, 2)
    )
    return replace(
        base,
        parameters=base.parameters + angles,
        independent=np.append(base.independent, [count, count + 1]),
        X=np.vstack([base.X, np.zeros((2, base.X.shape[1]))]),
    )


def _without_angles(base, choice):
    return base.without([len(base) - 2, len(base) - 1]) if choice.tilted else base


def _turned(gravity, angles):
    size = np.linalg.norm(gravity)
    return size * turned(gravity / size, across_gravity(gravity), angles)


def _angles_between(given, gravity):
    """Return (2,) the angles about ``across_gravity`` by which ``gravity`` is from ``given``."""
    return across_gravity(given).T @ gravity / np.linalg.norm(given)


def under_gravity(data: Dataset, gravity: np.ndarray) -> Dataset:
    """Return the Dataset with its robots mounted so that ``gravity`` (3,) is in the base frame."""
    options = replace(
        data.options, mounting='gravity ' + ' '.join(repr(float(g)) for g in gravity)
    )
    robots = tuple(replace(robot, gravity_base=gravity) for robot in data.robots)
    return replace(data, options=options, robots=robots)


def cross_validation_folds(solution: Solution, count: int) -> list[RFactors]:
    """Return R factors of ``count`` folds: every so-manieth stretch."""
    stretches = solution.stretches
    return [merge(stretches[k::count]) for k in range(min(count, len(stretches)))]


def parameters_of_rows(solution: Solution) -> Callable[[RFactors], np.ndarray]:
    """Return what gives the base parameters (b,) that predict, for R factors of other rows."""
    problem, data = solution.problem, solution.data
    if solution.consistent is None:
        estimator = params_of(ESTIMATORS.get(data.options.estimator, weighted))
        return lambda factors: estimator(replace(problem, factors=factors))
    whole = replace(problem, base=_with_all_links(data, problem.base))
    values = consistent_values(
        whole, solution.free.standard_deviation, _known(data, whole.base, solution.inherited)
    )
    return lambda factors: whole.base.reduce(values(factors))


def consistent_links(data: Dataset, problem: Problem, rows: EstimateOfRows) -> ConsistentLinks:
    """Return the ConsistentLinks of an unconstrained estimate by independent ``rows``."""
    estimate = rows.free
    whole = replace(problem, base=_with_all_links(data, problem.base))
    with one_thread():
        found = consistent(whole, estimate, _known(data, whole.base, rows.inherited))
    parameters = whole.base.parameters
    links = {link: found.values[k : k + 10].tolist() for link, k in bodies(parameters).items()}
    own = replace(
        estimate,
        params=found.params,
        cov_params=found.cov_params,
        bse=np.sqrt(np.maximum(np.diag(found.cov_params), 0.0)),
    )
    own = rows.under_prior(problem, own, found.prior) if rows.under_prior else own
    return ConsistentLinks(
        found.values[len(parameters) - len(problem.base.parameters) :],
        {
            'loss_percent': found.loss_percent,
            'smallest_pseudo_inertia_eigenvalue': found.smallest_eigenvalue,
            'links': links,
        },
        found,
        own,
    )


def _known(data: Dataset, base: BaseParameters, inherited: np.ndarray | None) -> Known:
    """Return what the options and the description say of the parameters of all links."""
    options = data.options
    given = [
        p
        for p in with_known(base.parameters, options.given)
        if any(line.split()[0] in (p.name, p.owner) for line in options.given)
    ]
    masses = [p for p in given if p.unit == 'kg' and not p.law and is_known(p)]
    total = data.method.total_mass(data.robot) if isinstance(data.method, KnownMass) else None
    return Known(
        {p.owner: p.nominal for p in masses},
        total,
        [p.name for p in given if p not in masses],
        inherited,
    )


def _with_all_links(data: Dataset, base: BaseParameters) -> BaseParameters:
    """Return BaseParameters with the mass in front that the method leaves out, if it does."""
    if not isinstance(data.method, KnownMass):
        return base
    names = {p.name for p in base.parameters}
    missing = [p for p in data.method.links(data.robot, data.options) if p.name not in names]
    count = len(missing)
    return replace(
        base,
        parameters=(*missing, *base.parameters),
        independent=base.independent + count,
        dependent=np.append(np.arange(count), base.dependent + count),
        X=np.hstack([np.zeros((len(base), count)), base.X]),
    )
