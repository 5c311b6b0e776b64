"""Fitting: from R factors to an estimate with its uncertainty."""

from dataclasses import dataclass, replace

import numpy as np

from .inherited_errors import inherited_errors, motion_noise, MotionNoise, without_noise
from ..passes import Passes
from ..prepare.dataset import Dataset
from ..reduce.reduction import Reduced
from ..reduce.structure import refine
from ...estimation.base_parameters import BaseParameters
from ...estimation.cross_validation import cross_validate, LeftOut, parameters_by
from ...estimation.estimators import Estimate, ESTIMATORS, params_of, Problem
from ...estimation.r_factors import merge
from ...estimation.residuals import Residuals


@dataclass(frozen=True)
class Fitted:
    """
    An Estimate with what surrounds it.

    problem : that it solves, with the correlation of its rows
    residuals : of a first estimate, for their correlation
    inherited : (b, k) errors of unit size that come with the robot or the motion, or None
    cross_validation : LeftOut of stretches, by the estimate of the others, None before
        ``completed``
    widened : (b, b) covariance by the search of constants, in the estimate once ``completed``
    """

    problem: Problem
    estimate: Estimate
    residuals: Residuals
    inherited: np.ndarray | None
    cross_validation: LeftOut | None = None
    widened: np.ndarray | None = None


def fit(data: Dataset, reduced: Reduced, passes: Passes) -> Fitted:
    """Return the Fitted estimate by independent rows, with errors of what it rests on."""
    estimator, base = ESTIMATORS[data.options.estimator], reduced.base
    read, instruments = passes.readers(data)
    total = merge(reduced.folds)
    draft = base.standard(params_of(estimator)(Problem(total, base, {})))
    residuals = passes.residuals(data, base.parameters, draft)
    noise = _noise(data, base, draft)
    problem = Problem(total, base, residuals.correlation(), read, instruments)
    estimate = estimator(problem)
    inherited = inherited_errors(data, base, estimate)
    if noise:
        estimate, inherited = noise.with_errors(problem, estimate, residuals)
    return Fitted(problem, estimate, residuals, inherited)


def completed(data: Dataset, reduced: Reduced, fitted: Fitted) -> Fitted:
    """
    Return the Fitted with all errors in its estimate, and its cross-validation.

    data, reduced, fitted : see ``fit``; adds to the notes of ``reduced``
    """
    problem, estimate, base = fitted.problem, fitted.estimate, reduced.base
    widened = None
    if reduced.refined:
        refined = refine(Problem(problem.factors, base, estimate.correlation, grid=reduced.grid),
                         reduced.searched)
        assert refined is not None
        widened = refined.inflation
        estimate = estimate.widened(widened)
        reduced.notes['nonlinear_parameters'] = refined.values
    if fitted.inherited is not None:
        estimate = estimate.widened(fitted.inherited @ fitted.inherited.T)
    estimate = without_noise(data, problem, estimate)
    estimator = ESTIMATORS[data.options.estimator]
    return replace(fitted, estimate=estimate, widened=widened, cross_validation=cross_validate(
        reduced.folds, parameters_by(estimator, base, estimate.correlation)))


def _noise(data: Dataset, base: BaseParameters, values: np.ndarray) -> MotionNoise | None:
    """Return what noise of the motion does to the rows of ``values`` (p,), if the method says."""
    return motion_noise((draw for robot, observation in data.pairs() for draw in
                         data.method.noise(observation, robot, base.parameters, values)), base)
