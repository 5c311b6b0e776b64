"""
What predicts: base parameters as they were estimated, or links that are physically consistent.

A method that knows the mass of all links together leaves the first one out of its unknowns: it is
the rest.  For the consistent estimate it comes back, as a column that no row shows, with the sum
as a constraint, so that this link too is physically consistent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..choose.choice import predicts_consistently
from ..prepare.dataset import Dataset
from ..reduce.model_columns import SCORE_MARGIN
from ...dynamics.inertial_parameters import bodies
from ...estimation.base_parameters import BaseParameters, is_known, with_known
from ...estimation.consistency import consistent, consistent_values, ConsistentEstimate, Known
from ...estimation.estimators import Estimate, ESTIMATORS, params_of, Problem, weighted
from ...estimation.r_factors import one_thread, RFactors
from ...estimation.residuals import robust_errors
from ...methods.capabilities import EstimateOfRows, JointMotion, JointTorques, KnownMass

# Of the information about a parameter that is not the data's: with more it is the description's.
LARGEST_DESCRIBED_SHARE = 0.5


@dataclass(frozen=True)
class EstimatedParameters:
    """Base parameters as estimated, with the errors that belong to their estimator."""

    free: Estimate

    @property
    def estimate(self) -> Estimate:
        """Return the Estimate that predicts."""
        return self.free

    def standard(self, data: Dataset, base: BaseParameters) -> np.ndarray:
        """Return the standard parameters (p,), dependent ones as the options have them."""
        return base.standard(self.free.params, data.options.dependent)

    def with_stretch_errors(
        self, data: Dataset, problem: Problem, stretches: Sequence[RFactors]
    ) -> 'EstimatedParameters':
        """Return those of the ridge with errors by ``stretches``, of others as they are."""
        if data.options.estimator != 'ridge' or not isinstance(data.method, JointMotion):
            return self
        prior = problem.base.prior_covariance()
        return EstimatedParameters(_by_stretches(data, problem, self.free, stretches, prior))

    def widened(self, covariance: np.ndarray) -> 'EstimatedParameters':
        """
        Return the ridge with the ``covariance`` (b, b) of model errors in its own.

        An estimator that is asked for by itself has the errors that belong to it.
        """
        if not self.free.leaning:
            return self
        return EstimatedParameters(self.free.widened(covariance))

    def first(self, count: int) -> 'EstimatedParameters':
        """Return the first ``count`` base parameters."""
        return EstimatedParameters(self.free.first(count))

    def parameters_of_rows(
        self, data: Dataset, problem: Problem, inherited: np.ndarray | None
    ) -> Callable[[RFactors], np.ndarray]:
        """
        Return the function of R factors that gives their base parameters (b,).

        inherited : (b, k) errors of calibrated numbers, or None
        """
        estimator = params_of(estimator_of(data))
        return lambda factors: estimator(replace(problem, factors=factors))


@dataclass(frozen=True)
class ConsistentLinks:
    """
    Physically consistent links, and how certain they are.

    values : (p,) standard parameters; entry : their entry in the statistics
    constrained : ConsistentEstimate; estimate : of the base parameters
    free : without consistent links
    """

    values: np.ndarray
    entry: dict[str, Any]
    constrained: ConsistentEstimate
    estimate: Estimate
    free: Estimate

    def standard(self, data: Dataset, base: BaseParameters) -> np.ndarray:
        """Return the standard parameters (p,) of ``base``."""
        return self.values[: len(base.parameters)]

    def with_stretch_errors(
        self, data: Dataset, problem: Problem, stretches: Sequence[RFactors]
    ) -> 'ConsistentLinks':
        """Return the same links with errors by ``stretches``, of joints that move."""
        if not isinstance(data.method, JointMotion):
            return self
        prior = problem.base.prior_covariance()
        return replace(
            self,
            free=_by_stretches(data, problem, self.free, stretches, prior),
            estimate=_by_stretches(
                data, problem, self.estimate, stretches, self.constrained.prior
            ),
        )

    def widened(self, covariance: np.ndarray) -> 'ConsistentLinks':
        """Return the same links with the ``covariance`` (b, b) of model errors in theirs."""
        return replace(self, estimate=self.estimate.widened(covariance))

    def first(self, count: int) -> 'ConsistentLinks':
        """Return the first ``count`` base parameters, all links."""
        return replace(self, free=self.free.first(count), estimate=self.estimate.first(count))

    def parameters_of_rows(
        self, data: Dataset, problem: Problem, inherited: np.ndarray | None
    ) -> Callable[[RFactors], np.ndarray]:
        """
        Return the function of R factors that gives their base parameters (b,).

        inherited : (b, k) errors of calibrated numbers, or None
        """
        weight = self.entry['weight_of_description']
        with_all_links, known = prior_knowledge(data, problem, inherited, weight)
        values = consistent_values(with_all_links, self.free.standard_deviation, known)
        return lambda factors: with_all_links.base.reduce(values(factors))


Predicting = EstimatedParameters | ConsistentLinks


def predicting(
    data: Dataset, problem: Problem, rows: EstimateOfRows, weight: float = 1.0
) -> Predicting:
    """
    Return the solution that predicts ``data``: consistent links where they are asked for.

    weight : of the divergence from the described bodies
    """
    if predicts_consistently(data):
        return consistent_links(data, problem, rows, weight)
    return EstimatedParameters(rows.free)


def estimator_of(data: Dataset) -> Callable[[Problem], Estimate]:
    """Return the estimator of the options, ``weighted`` where it is one of the method's own."""
    return ESTIMATORS.get(data.options.estimator, weighted)


def consistent_links(
    data: Dataset, problem: Problem, rows: EstimateOfRows, weight: float = 1.0
) -> ConsistentLinks:
    """
    Return the ConsistentLinks of an unconstrained estimate by independent ``rows``.

    weight : of the divergence from the described bodies
    """
    with_all_links, known = prior_knowledge(data, problem, rows.inherited, weight)
    base = with_all_links.base
    with one_thread():
        constrained = consistent(with_all_links, rows.free, known)
    first = bodies(base.parameters)
    estimate = replace(
        rows.free,
        params=constrained.params,
        cov_params=constrained.cov_params,
        bse=np.sqrt(np.maximum(np.diag(constrained.cov_params), 0.0)),
    )
    if rows.under_prior is not None:
        estimate = rows.under_prior(problem, estimate, constrained.prior)
    shown = constrained.described_share <= LARGEST_DESCRIBED_SHARE
    estimate = replace(estimate, determined=estimate.determined & shown)
    entry = {
        'loss_percent': constrained.loss_percent,
        'weight_of_description': weight,
        'smallest_pseudo_inertia_eigenvalue': constrained.smallest_eigenvalue,
        'links': {link: constrained.values[k : k + 10].tolist() for link, k in first.items()},
    }
    missing = len(base.parameters) - len(problem.base.parameters)
    return ConsistentLinks(constrained.values[missing:], entry, constrained, estimate, rows.free)


def _by_stretches(
    data: Dataset,
    problem: Problem,
    estimate: Estimate,
    stretches: Sequence[RFactors],
    prior: np.ndarray,
) -> Estimate:
    """
    Return an Estimate with errors by what differs between ``stretches``.

    prior : (b, b) covariance of what is known without data
    """
    least = 1.0
    if isinstance(data.method, JointTorques):
        # How long residuals last was taken with room to spare: of errors stretches decide.
        least = 1.0 / SCORE_MARGIN
    return robust_errors(problem, estimate, stretches, prior, least)


def prior_knowledge(
    data: Dataset, problem: Problem, inherited: np.ndarray | None, weight: float
) -> tuple[Problem, Known]:
    """
    Return the Problem with the columns of all links, and what is Known of them.

    inherited : (b, k) errors of calibrated numbers, or None
    weight : of the divergence from the described bodies
    """
    base = _with_all_links(data, problem.base)
    return replace(problem, base=base), replace(_known(data, base, inherited), weight=weight)


def _known(data: Dataset, base: BaseParameters, inherited: np.ndarray | None) -> Known:
    """Return the prior knowledge of all links, by the options and the description."""
    lines = data.options.given
    parameters = with_known(base.parameters, lines)
    named = {line.split()[0] for line in lines}
    masses, names = {}, []
    for parameter in parameters:
        if named.isdisjoint((parameter.name, parameter.owner)):
            continue
        is_mass = parameter.unit == 'kg' and not parameter.law
        if is_mass and is_known(parameter):
            masses[parameter.owner] = parameter.nominal
        else:
            names.append(parameter.name)
    total = None
    if isinstance(data.method, KnownMass):
        total = data.method.total_mass(data.robot)
    return Known(masses, total, names, inherited)


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
