"""
Instrumental variables: an estimator for regressors that are noisy themselves.

Accelerations are differentiated positions; their noise biases least squares towards zero, by the
share of noise in the column and however long the recording is (Soederstroem and Stoica 1989).
"""

from dataclasses import replace

import numpy as np

from .problem import Estimate, finish, group_standard_deviation, Problem, two_step
from .residuals import residuals_of, score_covariance, tapered_autocovariances, whiten
from ..errors import EstimationError


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
    gamma = tapered_autocovariances(residuals)
    return score_covariance(problem.instruments(base.parameters), gamma,
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
