"""
Estimators: from Information to numbers with their uncertainty.

An estimator is one function of ``Problem`` and one line of ``ESTIMATORS``.
"""

from dataclasses import dataclass
from typing import Callable

import numpy as np
from scipy.linalg import solve_triangular

from ..errors import EstimationError
from .information import triangle


@dataclass(frozen=True)
class Problem:
    """
    What every estimator gets.

    information : about the b base columns; base : BaseParameters
    correlation : group -> how many successive rows carry one row's worth of news (>= 1)
    read : read(parameters) -> the RegressorBlocks of the training data once more, their columns
        ``parameters``; for estimators that reweigh samples
    instruments : instruments(parameters) -> pairs of such a block and one of the same samples
        whose motion is free of the noise of the first
    """

    information: object
    base: object
    correlation: dict
    read: Callable = None
    instruments: Callable = None


@dataclass(frozen=True)
class Estimate:
    """
    Base parameters as determined.

    params : (b,); cov_params : (b, b) covariance; bse : (b,) standard errors
    data_bse : (b,) standard errors of the data alone, inf where they say nothing
    determined : (b,) bool, whether the data alone say more than the belief before them
    deviation : group -> standard deviation of its residual [unit of the group]
    correlation : as used; condition_number : of the weighted base regressor (unscaled columns)
    rank : number of directions in which the data alone say more than the belief before them
    """

    params: np.ndarray
    cov_params: np.ndarray
    bse: np.ndarray
    data_bse: np.ndarray
    determined: np.ndarray
    deviation: dict
    correlation: dict
    condition_number: float
    rank: int


def ordinary(problem):
    """
    Return the ordinary least squares Estimate.

    Assumes errors of equal variance in all rows, regressors without error (Gauss).
    """
    groups = problem.information.groups
    beta = _solve(problem.information.system(), problem.base)
    square = sum(g.residual(beta) ** 2 for g in groups.values())
    free = max(1, problem.information.rows() - len(beta))
    common = float(np.sqrt(square / free))
    deviation = {name: common for name in groups}
    return _finish(problem, beta, deviation, None)


def weighted(problem):
    """
    Return the two-step weighted least squares Estimate: each joint by its own residual.

    Assumes errors independent between joints, of one variance per joint (Aitken; Gautier 1997).
    """
    beta, deviation = _two_step(problem)
    return _finish(problem, beta, deviation, None)


def ridge(problem):
    """
    Return the weighted Estimate that leans towards the nominal parameters.

    The belief of the robot description (nominal value, spread of a body's own mass over a third
    of the reach) joins the data as further rows (Bayesian least squares; Hoerl and Kennard 1970):
    where the data speak it yields, where they are silent it keeps predictions sane.
    """
    _, deviation = _two_step(problem)
    prior = prior_rows(problem.base)
    beta = None
    for _ in range(2):  # the weights once more from the residuals of the final kind
        A, b, _ = problem.information.system(effective_deviation(problem, deviation))
        beta = _least_squares(np.vstack([A, prior[0]]), np.concatenate([b, prior[1]]))
        deviation = _deviation(problem, beta)
    return _finish(problem, beta, deviation, prior)


ESTIMATORS = {'ordinary': ordinary, 'weighted': weighted, 'ridge': ridge}


def _two_step(problem):
    beta = _solve(problem.information.system(), problem.base)
    deviation = _deviation(problem, beta)
    for _ in range(2):
        beta = _solve(problem.information.system(deviation), problem.base)
        deviation = _deviation(problem, beta)
    return beta, deviation


def _deviation(problem, beta):
    """Return the residual standard deviation per group; parameters shared out evenly."""
    groups = problem.information.groups
    share = len(beta) / len(groups)
    out = {}
    for name, group in groups.items():
        if group.rows <= share:
            raise EstimationError(f'the recording is too short: {name}',
                                  expected=f'more than {share:.0f} samples', found=group.rows)
        deviation = group.residual(beta) / np.sqrt(group.rows - share)
        # Exact data (simulations, tests) have no residual: keep the weights finite.
        floor = 1e-12 * group.target() / np.sqrt(group.rows)
        out[name] = float(max(deviation, floor, 1e-300))
    return out


def effective_deviation(problem, deviation):
    """Return group -> deviation of its rows as if they were independent: fewer, or noisier."""
    return {name: d * np.sqrt(problem.correlation.get(name, 1.0)) for name, d in deviation.items()}


def _solve(system, base):
    """Return the least squares solution, of minimum change from nominal where it is free."""
    A, b, _ = system
    scale = np.sqrt(np.diag(base.spread()))
    nominal = base.nominal()
    change, *_ = np.linalg.lstsq(A * scale, b - A @ nominal, rcond=1e-13)
    return nominal + scale * change


def _least_squares(A, b):
    R = triangle(np.asfortranarray(np.column_stack([A, b])))
    return solve_triangular(R[:-1, :-1], R[:-1, -1])


def prior_rows(base):
    """Return (A, b) of the rows L^-1 (beta - nominal) = 0, with L L' = spread."""
    factor = np.linalg.cholesky(base.spread())
    inverse = solve_triangular(factor, np.eye(len(base)), lower=True)
    return inverse, inverse @ base.nominal()


def _finish(problem, beta, deviation, prior):
    A, _, _ = problem.information.system(effective_deviation(problem, deviation))
    factor = np.linalg.cholesky(problem.base.spread())
    # Columns whitened by the belief: a singular value s is a direction known to 1/s of it.
    _, s, Vt = np.linalg.svd(A @ factor)
    floor = s > 1e-12 * s[0]
    inverse = np.where(floor, 1.0 / np.where(floor, s, 1.0), 1e12)
    data_bse = np.sqrt((((factor @ Vt.T) * inverse) ** 2).sum(1))
    if prior is None:
        kept = inverse
    else:
        kept = 1.0 / np.sqrt(s ** 2 + 1.0)
    half = (factor @ Vt.T) * kept
    covariance = half @ half.T
    spread = np.sqrt(np.diag(problem.base.spread()))
    weighted_rows = problem.information.system(deviation)[0]
    return Estimate(beta, covariance, np.sqrt(np.diag(covariance)), data_bse,
                    data_bse < spread, deviation, dict(problem.correlation),
                    float(np.linalg.cond(weighted_rows)), int((s > 1.0).sum()))
