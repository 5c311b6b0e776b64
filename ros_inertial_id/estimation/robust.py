"""
Estimators for data that break the assumptions of least squares: wild samples, noisy regressors.

Contacts, dropouts and spikes: Huber's M-estimator by iterated reweighting; a row whose residual is
beyond TUNING standard deviations counts only in proportion to TUNING / |residual| (Huber 1964;
scale by his proposal 2; covariance of Huber and Ronchetti 2009, Eq. 7.84).

Accelerations are differentiated positions; their noise biases least squares towards zero, by the
share of noise in the column and however long the recording is (Soederstroem and Stoica 1989).
"""

from dataclasses import replace
import logging

import numpy as np
from scipy.special import ndtr

from .problem import Estimate, finish, group_standard_deviation, Problem, solve, two_step
from .r_factors import RFactors
from .residuals import residuals_of, score_covariance, tapered_autocovariances, whiten
from ..dynamics.regressor import RegressorBlock, RowGroup
from ..errors import EstimationError

LOG = logging.getLogger(__name__)
TUNING = 1.345   # 95 % as efficient as least squares on Gaussian errors
PASSES = 20      # over the data
SETTLED = 0.01    # of the deviations; the parameters have settled long before

# Mean of psi(u)^2 of Gaussian rows: what the mean over the data has to be at the right scale.
_SQUARE = (2.0 * ndtr(TUNING) - 1.0
           - 2.0 * TUNING * np.exp(-TUNING ** 2 / 2.0) / np.sqrt(2.0 * np.pi)
           + 2.0 * TUNING ** 2 * ndtr(-TUNING))


def robust(problem: Problem) -> Estimate:
    """
    Return Huber's M-estimate, each joint by its own robust deviation.

    Assumes most rows Gaussian with one variance per joint and some of them wild; regressors
    without error.  Reads the data again several times; of a Problem without ``read`` (segments
    left out) it returns the weighted estimate.
    problem : with ``read``
    """
    beta, standard_deviation = two_step(problem)
    if problem.read is None:
        return finish(problem, beta, standard_deviation, None)
    floor = {name: max(1e-12 * group.target() / np.sqrt(group.rows), 1e-300)
             for name, group in problem.factors.groups.items()}  # exact data
    for _ in range(PASSES):
        factors, tallies = _reweigh(problem, beta, standard_deviation)
        new = {name: max(standard_deviation[name] * np.sqrt(square / (rows * _SQUARE)),
                         floor[name])
               for name, (square, _, rows) in tallies.items()}
        beta = solve(factors.system(new), problem.base)
        change = max(abs(new[name] / standard_deviation[name] - 1.0) for name in new)
        standard_deviation = new
        if change < SETTLED:
            break
    else:
        LOG.warning('the robust estimate has not settled after %d passes: standard deviations '
                    'change by %.1f %% a pass; more than a few samples are wild, look at the '
                    'residuals', PASSES, 100.0 * change)
    # sigma^2 mean(psi^2) / mean(psi')^2 instead of sigma^2: what the wild rows cost.
    loss = {name: np.sqrt(square / rows) / max(inside / rows, 1e-3)
            for name, (square, inside, rows) in tallies.items()}
    estimate = finish(problem, beta, {n: d * loss[n] for n, d in standard_deviation.items()}, None)
    return replace(estimate,
                   standard_deviation={n: float(d) for n, d in standard_deviation.items()})


def _reweigh(problem, beta, standard_deviation):
    """Return the RFactors of rows by weight, and {group: [sum psi^2, rows inside, rows]}."""
    base = problem.base
    keep = base.places()
    factors = RFactors(len(base))
    tallies = {name: [0.0, 0, 0] for name in problem.factors.groups}
    for block in problem.read(base.parameters):
        weights = {}
        for group in block.groups:
            place = keep[group.columns]
            seen = np.flatnonzero(place >= 0)
            u = (group.y - group.W[:, seen] @ beta[place[seen]]) / standard_deviation[group.name]
            size = np.abs(u)
            weights[group.name] = TUNING / np.maximum(size, TUNING)
            tally = tallies[group.name]
            tally[0] += float(np.sum(np.minimum(size, TUNING) ** 2))
            tally[1] += int(np.count_nonzero(size < TUNING))
            tally[2] += len(u)
        factors.accumulate(_weigh(block, weights), keep)
    return factors, tallies


def _weigh(block, weights):
    """Return a RegressorBlock with every row times the root of its weight, group -> (B,)."""
    groups = []
    for g in block.groups:
        root = np.sqrt(weights[g.name])
        # The transpose keeps samples last in memory, as the QR factorisation wants it.
        groups.append(RowGroup(g.name, g.unit, g.columns, (g.W.T * root).T, g.y * root,
                               g.y_raw * root))
    return RegressorBlock(block.t, block.segment, tuple(groups))


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
