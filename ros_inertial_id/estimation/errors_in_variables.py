"""
Errors in variables: what to do when the regressor is noisy, too.

Accelerations are differentiated positions; their noise biases least squares towards zero, by the
share of noise in the column and however long the recording is (Soederstroem and Stoica 1989).
"""

from dataclasses import replace

import numpy as np

from .coloured import autocovariances, score_covariance, whiten
from .problem import Estimate, finish, group_standard_deviation, Problem, two_step
from .residuals import residuals_of
from ..errors import EstimationError

GENERIC = 0.95  # ratio of singular values from which total least squares has no solution


def total(problem: Problem) -> Estimate:
    """
    Return the total least squares Estimate, weighted per joint.

    Assumes independent errors of one size in the torque and in all columns once these are scaled
    to equal norms (Golub and Van Loan 1980; Van Huffel and Vandewalle 1991).  It wants a well
    conditioned regressor: where a direction of it is no larger than the errors, it refuses.
    Standard errors are those of weighted least squares at this solution.
    problem : see Problem; EstimationError where the regressor is too poor.
    """
    _, standard_deviation = two_step(problem)
    A, b, outside = problem.factors.system(standard_deviation)
    size = np.linalg.norm(A, axis=0)
    if size.min() <= 0.0:
        raise EstimationError('a parameter has no effect in the recording',
                              found=problem.base.names()[int(np.argmin(size))],
                              do='use estimator: ridge')
    height = np.hypot(np.linalg.norm(b), outside)
    rows = np.zeros((len(b) + 1, len(b) + 1))
    rows[:-1, :-1], rows[:-1, -1], rows[-1, -1] = A / size, b / height, outside / height
    _, s, Vt = np.linalg.svd(rows)
    smallest = np.linalg.svd(A / size, compute_uv=False)[-1]
    if s[-1] > GENERIC * smallest and s[-1] > 1e-10 * s[0]:
        raise EstimationError('the recording is too poor for total least squares',
                              found=f'weakest direction {smallest:.2e}, errors {s[-1]:.2e}',
                              do='use estimator: instrumental, or a richer motion')
    beta = -height * Vt[-1, :-1] / (size * Vt[-1, -1])
    return finish(problem, beta, group_standard_deviation(problem, beta), None)


def instrumental(problem: Problem) -> Estimate:
    """
    Return the instrumental variables Estimate, weighted per joint.

    Instruments are the regressor of a motion that follows the measured one without its noise, so
    they are independent of the errors in the columns: the estimate is consistent where least
    squares is biased (Reiersol 1941; for robots Janot, Vandanjon and Gautier 2014, who simulate
    that motion).  Of a Problem without ``instruments`` (segments left out) it returns the
    weighted estimate.
    problem : with ``instruments`` and ``read``
    """
    beta, standard_deviation = two_step(problem)
    if problem.instruments is None:
        return finish(problem, beta, standard_deviation, None)
    moments = _moments(problem)
    scale = problem.base.prior_sd
    for _ in range(3):
        ZW, Zy = _weighted(moments, standard_deviation)
        beta = scale * np.linalg.lstsq(ZW * np.outer(scale, scale), scale * Zy, rcond=1e-13)[0]
        standard_deviation = group_standard_deviation(problem, beta)
    ZW, _ = _weighted(moments, standard_deviation)
    rows = whiten(_scores(problem, beta, standard_deviation), ZW)
    plain = finish(problem, beta, standard_deviation, None)
    # What no row shows has no error by the pseudo-inverse; least squares knows that it is large.
    half = scale[:, None] * np.linalg.pinv(rows * scale, rcond=1e-13)
    covariance = half @ half.T
    error = np.where(plain.determined, np.sqrt(np.diag(covariance)), plain.bse)
    covariance += np.diag(error ** 2 - np.diag(covariance))
    return replace(plain, cov_params=covariance, bse=error, data_bse=error,
                   determined=plain.determined & (error < scale), system=(rows, rows @ beta))


def _scores(problem, beta, standard_deviation):
    """Return the covariance (b, b) of Z'r weighted, r the residual of base parameters beta."""
    base = problem.base
    place = base.places()
    values = base.expand(beta, np.zeros(len(base.parameters)))
    residuals = residuals_of(problem.read(base.parameters), values)
    return score_covariance(problem.instruments(base.parameters), autocovariances(residuals),
                            standard_deviation, place)


def _moments(problem):
    """Return group -> (Z'W (b, b), Z'y (b,)) over all the data."""
    base = problem.base
    keep = base.places()
    out = {}
    for block, other in problem.instruments(base.parameters):
        if not np.array_equal(block.t, other.t):
            raise EstimationError('the instruments are of other samples than the data')
        for g, h in zip(block.groups, other.groups):
            place = keep[g.columns]
            seen = np.flatnonzero(place >= 0)
            where, W, Z = place[seen], g.W[:, seen], h.W[:, seen]
            if g.name not in out:
                b = len(base)
                out[g.name] = np.zeros((b, b)), np.zeros(b)
            ZW, Zy = out[g.name]
            ZW[np.ix_(where, where)] += Z.T @ W
            Zy[where] += Z.T @ g.y
    return out


def _weighted(moments, standard_deviation):
    """Return both moments summed over the groups by their weights."""
    return [sum(group[k] / standard_deviation[name] ** 2 for name, group in moments.items())
            for k in range(2)]
