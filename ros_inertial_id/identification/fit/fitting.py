"""
Fitting: from R factors to an estimate with its uncertainty, and to physically consistent links.

A method that knows the mass of all links together leaves the first one out of its unknowns: it is
the rest.  For the consistent estimate it comes back, as a column that no row shows, with the sum
as a constraint, so that this link too is physically consistent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .inherited_errors import inherited_errors, motion_noise, MotionNoise, without_noise
from ..passes import Passes
from ..prepare.dataset import Dataset
from ..reduce.reduction import Reduced
from ..reduce.structure import refine
from ...dynamics.inertial_parameters import bodies
from ...estimation.base_parameters import BaseParameters, is_known, with_known
from ...estimation.consistency import (consistent, consistent_values, ConsistentEstimate,
                                       DECREMENT, Known)
from ...estimation.cross_validation import cross_validate, LeftOut, parameters_by
from ...estimation.estimators import Estimate, ESTIMATORS, params_of, Problem
from ...estimation.r_factors import merge, one_thread, RFactors
from ...estimation.residuals import Residuals
from ...methods.capabilities import KnownMass, UnfilteredTorque


@dataclass(frozen=True)
class Fitted:
    """
    An Estimate with what surrounds it.

    problem : that it solves, with the correlation of its rows
    residuals : of a first estimate, for their correlation
    inherited : (b, k) errors of unit size that come with a calibrated robot or motion, or None
    noise : MotionNoise, in the errors of the estimate, None where the method draws none
    cross_validation : LeftOut of stretches, by the estimate of the others, None before
        ``completed``
    widened : (b, b) covariance by the search of constants, None before ``completed`` or without
    """

    problem: Problem
    estimate: Estimate
    residuals: Residuals
    inherited: np.ndarray | None
    noise: MotionNoise | None = None
    cross_validation: LeftOut | None = None
    widened: np.ndarray | None = None


def fit(data: Dataset, reduced: Reduced, passes: Passes) -> Fitted:
    """Return the Fitted estimate by independent rows, with errors of what it rests on."""
    estimator, base = ESTIMATORS[data.options.estimator], reduced.base
    read, instruments = passes.readers(data)
    total = merge(reduced.folds)
    draft = base.standard(params_of(estimator)(Problem(total, base, {})))
    residuals = passes.residuals(data, base.parameters, draft)
    method = data.method
    noise = motion_noise((draw for robot, observation in data.pairs() for draw in
                          method.noise(observation, robot, base.parameters, draft)),
                         base, residuals) if isinstance(method, UnfilteredTorque) else None
    problem = Problem(total, base, residuals.correlation(), read, instruments)
    estimate = estimator(problem)
    inherited = inherited_errors(data, base, estimate)
    if noise:
        estimate = noise.with_errors(problem, estimate)
    return Fitted(problem, estimate, residuals, inherited, noise)


def completed(data: Dataset, reduced: Reduced, fitted: Fitted) -> Fitted:
    """
    Return the Fitted with all errors by rows in its estimate, and its cross-validation.

    data, reduced, fitted : see ``fit``; adds to the notes of ``reduced``
    """
    problem, estimate, base = fitted.problem, fitted.estimate, reduced.base
    widened = None
    if reduced.refined:
        refined = refine(Problem(problem.factors, base, estimate.correlation, grid=reduced.grid),
                         reduced.searched)
        assert refined is not None
        widened = refined.inflation
        reduced.notes['nonlinear_parameters'] = refined.values
    if fitted.inherited is not None:
        estimate = estimate.widened(fitted.inherited @ fitted.inherited.T)
    estimate = without_noise(data, problem, estimate)
    estimator = ESTIMATORS[data.options.estimator]
    return replace(fitted, estimate=estimate, widened=widened, cross_validation=cross_validate(
        reduced.folds, parameters_by(estimator, base, estimate.correlation)))


@dataclass(frozen=True)
class ConsistentLinks:
    """
    The physically consistent parameters that predict, and how certain they are.

    values : (p,) standard parameters; entry : their entry in the statistics
    free : the unconstrained Estimate; found : ConsistentEstimate
    estimate : of the base parameters that predict, by independent rows
    """

    values: np.ndarray
    entry: dict[str, Any]
    free: Estimate
    found: ConsistentEstimate
    estimate: Estimate

    def carried(self, covariance: np.ndarray) -> np.ndarray:
        """
        Return by which covariance (b, b) one more of the unconstrained parameters widens these.

        covariance : (b, b).  What moves those moves these as far as the data decide (linearised).
        """
        scale = self.free.bse
        share = (self.estimate.cov_params / scale) @ np.linalg.pinv(
            self.free.cov_params / np.outer(scale, scale), rcond=1e-12, hermitian=True) / scale
        return share @ covariance @ share.T


def consistent_links(data: Dataset, problem: Problem, estimate: Estimate,
                     inherited: np.ndarray | None = None,
                     noise: MotionNoise | None = None) -> ConsistentLinks:
    """
    Return the ConsistentLinks of an unconstrained ``estimate`` by independent rows.

    inherited : (b, k), and noise of the motion, see identification/fit/inherited_errors.py
    """
    whole = replace(problem, base=_with_all_links(data, problem.base))
    with one_thread():
        found = consistent(whole, estimate, _known(data, whole.base, inherited))
    parameters = whole.base.parameters
    links = {link: found.values[k:k + 10].tolist() for link, k in bodies(parameters).items()}
    own = replace(estimate, params=found.params, cov_params=found.cov_params,
                  bse=np.sqrt(np.maximum(np.diag(found.cov_params), 0.0)))
    own = noise.under_prior(problem, own, found.prior) if noise else own
    return ConsistentLinks(
        found.values[len(parameters) - len(problem.base.parameters):],
        {'loss_percent': found.loss_percent,
         'smallest_pseudo_inertia_eigenvalue': found.smallest_eigenvalue, 'links': links},
        estimate, found, own)


def values_of_links(data: Dataset, problem: Problem, estimate: Estimate,
                    inherited: np.ndarray | None, enough: float = DECREMENT
                    ) -> Callable[[RFactors], np.ndarray]:
    """
    Return what gives the consistent standard parameters of all links (p,) for R factors.

    inherited : (b, k), see ``consistent_links``; enough : see ``consistent_values``
    """
    whole = replace(problem, base=_with_all_links(data, problem.base))
    return consistent_values(whole, estimate, _known(data, whole.base, inherited), enough)


def cross_validate_consistent(data: Dataset, folds: Sequence[RFactors], problem: Problem,
                              estimate: Estimate, inherited: np.ndarray | None
                              ) -> LeftOut | None:
    """
    Return the LeftOut Fit of every fold to the consistent parameters of the others.

    inherited : (b, k), see ``consistent_links``
    Weights are those of all data, as are laws, constants and gravity.
    """
    base = _with_all_links(data, problem.base)
    with one_thread():
        values = values_of_links(data, problem, replace(estimate, system=None), inherited)
        return cross_validate(folds, lambda factors: base.reduce(values(factors)))


def _known(data: Dataset, base: BaseParameters, inherited: np.ndarray | None) -> Known:
    """Return what the options and the description say of the parameters of all links."""
    options = data.options
    given = [p for p in with_known(base.parameters, options.given)
             if any(line.split()[0] in (p.name, p.owner) for line in options.given)]
    masses = [p for p in given if p.unit == 'kg' and not p.law and is_known(p)]
    total = data.method.total_mass(data.robot) if isinstance(data.method, KnownMass) else None
    return Known({p.owner: p.nominal for p in masses}, total,
                 [p.name for p in given if p not in masses], inherited)


def _with_all_links(data: Dataset, base: BaseParameters) -> BaseParameters:
    """Return BaseParameters with the mass in front that the method leaves out, if it does."""
    if not isinstance(data.method, KnownMass):
        return base
    names = {p.name for p in base.parameters}
    missing = [p for p in data.method.links(data.robot, data.options) if p.name not in names]
    count = len(missing)
    return replace(base, parameters=(*missing, *base.parameters),
                   independent=base.independent + count,
                   dependent=np.append(np.arange(count), base.dependent + count),
                   X=np.hstack([np.zeros((len(base), count)), base.X]))
