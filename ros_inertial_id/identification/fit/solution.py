"""Solution: the parameters that predict, with errors that hold over stretches of the motion."""

from dataclasses import dataclass, replace

import numpy as np

from .fitting import completed, consistent_links, ConsistentLinks, Fitted
from ..choose.choice import Choice
from ..reduce.stretches import robust_errors
from ...estimation.estimators import Estimate


@dataclass(frozen=True)
class Solution:
    """
    What one pass through the spine gives.

    choice : of the model that was fitted
    values : (p,) standard parameters that predict; estimate : of their base parameters
    consistent : ConsistentLinks that they are of, None where they need not be physically
        consistent and ``estimate`` is that of ``fitted``
    """

    choice: Choice
    fitted: Fitted
    values: np.ndarray
    estimate: Estimate
    consistent: ConsistentLinks | None = None


def solve(choice: Choice) -> Solution:
    """Return the Solution of a Choice."""
    data, reduced, stretches = choice.data, choice.reduced, choice.stretches
    fitted, tilt = completed(data, reduced, choice.fitted), choice.tilt
    free, base, widened = fitted.estimate, reduced.base, fitted.widened
    if widened is not None:
        free = free.with_standard_errors(widened)
    if stretches:
        free = robust_errors(fitted.problem, free, stretches.factors, base.prior_covariance())
        if tilt:
            free = free.with_standard_errors(tilt.free @ tilt.covariance @ tilt.free.T)
    if not choice.consistent:
        return Solution(choice, replace(fitted, estimate=free),
                        base.standard(free.params, data.options.dependent), free)
    links = consistent_links(data, fitted.problem, fitted.estimate, fitted.inherited,
                             fitted.noise)
    estimate = links.estimate
    if widened is not None:
        estimate = estimate.with_standard_errors(links.carried(widened))
    if stretches:
        estimate = robust_errors(fitted.problem, estimate, stretches.factors, links.found.prior)
        if tilt:
            estimate = estimate.with_standard_errors(
                tilt.consistent @ tilt.covariance @ tilt.consistent.T)
        errors = choice.model_errors()
        estimate = estimate.with_standard_errors(errors @ errors.T)
    return Solution(choice, replace(fitted, estimate=free), links.values, estimate, links)
