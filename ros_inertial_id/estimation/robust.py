"""
Robust estimation: few wild samples (contacts, dropouts, spikes) must not bend the parameters.

Huber's M-estimator by iterated reweighting: a row whose residual is beyond TUNING standard
deviations counts only in proportion to TUNING / |residual| (Huber 1964; scale by his proposal 2;
covariance of Huber and Ronchetti 2009, Eq. 7.84).
"""

from dataclasses import replace
import logging

import numpy as np
from scipy.special import ndtr

from .problem import Estimate, finish, Problem, solve, two_step
from .r_factors import RFactors
from ..dynamics.regressor import RegressorBlock, RowGroup

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
