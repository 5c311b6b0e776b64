"""Solution: the parameters that predict, under gravity as given or as the torques show it."""

from dataclasses import dataclass, replace

import numpy as np

from .consistent_links import consistent_links, ConsistentLinks
from .fitting import completed, fit, Fitted
from ..choose.gravity_direction import across_gravity, check_gravity, GravityCheck
from ..passes import Passes
from ..prepare.dataset import Dataset
from ..reduce.reduction import reduce_again, reduce_data, reduce_without, Reduced
from ..reduce.stretches import FEWEST, normal_equations, robust_errors
from ..reduce.structure import Structure, structure_of
from ...dynamics.friction import LAWS
from ...estimation.estimators import Estimate
from ...estimation.friction_choice import choose_laws, FrictionChoice
from ...estimation.r_factors import RFactors


@dataclass(frozen=True)
class Solution:
    """
    What one pass through the spine gives.

    data : the Dataset, under gravity as it was used; first : Reduced under gravity as given
    values : (p,) standard parameters that predict; estimate : of their base parameters
    consistent : ConsistentLinks that they are of, None where they need not be physically
        consistent and ``estimate`` is that of ``fitted``; gravity : its check, None without
    laws : what spoke for each friction law that was chosen by prediction
    """

    data: Dataset
    first: Reduced
    reduced: Reduced
    fitted: Fitted
    values: np.ndarray
    estimate: Estimate
    consistent: ConsistentLinks | None = None
    gravity: GravityCheck | None = None
    laws: tuple[FrictionChoice, ...] = ()


@dataclass(frozen=True)
class _Checked:
    """A Fitted with consistent links, folds of stretches, gravity's check."""

    fitted: Fitted
    links: ConsistentLinks
    folds: list[RFactors]
    gravity: GravityCheck | None


def solve(data: Dataset, structure: Structure, passes: Passes) -> Solution:
    """
    Return the Solution, gravity checked against the torques where the method asks for it.

    passes : over it.  Where nobody gave a mounting and
    the evidence is overwhelming, gravity's direction is the one that the torques show.
    """
    first = reduced = reduce_data(data, structure, passes)
    fitted = fit(data, reduced, passes)
    if not (data.options.consistent or consistent_by_default(data)):
        fitted = completed(data, reduced, fitted)
        values = reduced.base.standard(fitted.estimate.params, data.options.dependent)
        return Solution(data, first, reduced, fitted, values, fitted.estimate)
    if not data.method.searches_gravity or not np.any(data.robot.gravity_base):
        fitted = completed(data, reduced, fitted)
        links = consistent_links(data, fitted.problem, fitted.estimate, fitted.inherited)
        return Solution(data, first, reduced, fitted, links.values, links.estimate, links)
    checked = _checked(data, fitted, passes)
    gravity = checked.gravity
    if gravity and gravity.overwhelming and not data.options.mounting:
        data = _tilted(data, gravity.direction)
        reduced = reduce_again(data, first, passes)
        checked = _checked(data, fit(data, reduced, passes), passes)
    elif gravity and gravity.without_springs and not data.options.mounting:
        other = _without_springs(data, first, fitted, gravity.without_springs, passes)
        if other:
            (data, reduced), gravity = other, gravity.without_springs
            first, checked = reduced, _checked(data, fit(data, reduced, passes), passes)
    laws: tuple[FrictionChoice, ...] = ()
    if tuple(getattr(data.options, 'friction', ())) == ('auto',):
        reduced, checked, laws = _laws_that_predict(data, reduced, checked, passes)
        first = reduced if any(not law.stays for law in laws) else first
    fitted = completed(data, reduced, checked.fitted)
    links, estimate = checked.links, checked.links.estimate
    if fitted.widened is not None:
        estimate = estimate.widened(links.carried(fitted.widened))
    free = robust_errors(fitted.problem, fitted.estimate, checked.folds,
                         reduced.base.prior_covariance())
    estimate = robust_errors(fitted.problem, estimate, checked.folds, links.found.prior)
    if data.options.mounting and checked.gravity and checked.gravity is not gravity:
        errors = checked.gravity.errors()
        free = free.widened(errors @ errors.T)
        estimate = estimate.widened(links.carried(errors @ errors.T))
    return Solution(data, first, reduced, replace(fitted, estimate=free), links.values, estimate,
                    links, gravity, laws)


def _laws_that_predict(data: Dataset, reduced: Reduced, checked: _Checked, passes: Passes
                       ) -> tuple[Reduced, _Checked, tuple[FrictionChoice, ...]]:
    """Return both without the friction laws that do not predict stretches left out, and why."""
    fitted = checked.fitted
    problem, base = fitted.problem, reduced.base
    systems = normal_equations(problem, fitted.estimate, checked.folds)
    if len(systems) < FEWEST:
        return reduced, checked, ()
    choices = choose_laws(systems, base, tuple(problem.factors.groups))
    gone = [base.parameters[base.independent[k]].name
            for choice in choices if not choice.stays for k in choice.places]
    if gone:
        reduced = reduce_without(data, reduced, gone, passes)
        checked = _checked(data, fit(data, reduced, passes), passes)
    return reduced, checked, choices


def _without_springs(data: Dataset, first: Reduced, fitted: Fitted, gravity: GravityCheck,
                     passes: Passes) -> tuple[Dataset, Reduced] | None:
    """
    Return the data under another gravity, other laws chosen, where they predict left-out data.

    A spring in every joint explains the torques of a tilted base where the arm has been, and
    nowhere else: what is left of stretches left out decides.
    """
    if not gravity.overwhelming:
        return None
    other = _tilted(data, gravity.direction)
    columns = [p for p in first.tried[0].columns if not (p.law in LAWS and LAWS[p.law].position)]
    again = reduce_data(other, structure_of(data.method, other.robots, columns), passes)
    one, two = (completed(d, r, f).cross_validation for d, r, f in (
        (data, first, fitted), (other, again, fit(other, again, passes))))
    better = one and two and (two.relative_percent or 0.0) < (one.relative_percent or 0.0)
    return (other, again) if better else None


def consistent_by_default(data: Dataset) -> bool:
    """Return whether physically consistent bodies predict ``data`` though nobody asked for it."""
    options = data.options
    return (data.method.consistent_by_default and not options.unconstrained
            and options.estimator == 'ridge')


def _checked(data: Dataset, fitted: Fitted, passes: Passes) -> _Checked:
    """Return the consistent estimate and gravity's direction, both by stretches of motion."""
    problem, estimate = fitted.problem, fitted.estimate
    links = consistent_links(data, problem, estimate, fitted.inherited)
    across = across_gravity(data.robot.gravity_base)
    folds = passes.stretches(data, problem.base, links.values, across)
    alike = all(np.allclose(r.gravity_base, data.robot.gravity_base) for r in data.robots)
    check = check_gravity(problem, estimate, links.values, folds, across) if alike else None
    return _Checked(fitted, links, folds, check)


def _tilted(data: Dataset, direction: np.ndarray) -> Dataset:
    """Return the Dataset with gravity along a direction (3,) in the base frame."""
    gravity = np.linalg.norm(data.robot.gravity_base) * direction
    options = replace(data.options,
                      mounting='gravity ' + ' '.join(repr(float(g)) for g in gravity))
    robots = tuple(replace(robot, gravity_base=gravity) for robot in data.robots)
    return replace(data, options=options, robots=robots)
