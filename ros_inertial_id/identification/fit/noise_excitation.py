"""
Noise of the motion: what only it excites has no number, what it shrinks is made good.

Rows W of a noisy motion have E[W'W] = W0'W0 + G, with G the contribution of the noise alone.
Where G is most of it the true rows show nothing, yet least squares finds a small number with a
small error; elsewhere it finds too little, by the share of the noise (attenuation).  G comes from
the same rows with the noise drawn once more, and W'W - G in the place of W'W is consistent (Fuller
1987, Sec. 2.2).
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.linalg import eigh

from ..prepare.dataset import Dataset
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import Estimate, Problem
from ...estimation.problem import effective_standard_deviation, prior_rows, solved_weights

LOST = 0.5  # of the prior standard deviation
SHARE = 0.5  # of the information in a direction: with more noise than that it has no number
UNBIASED = ('instrumental', 'total')  # estimators that noise of the motion does not shrink


def without_noise(data: Dataset, problem: Problem, estimate: Estimate) -> Estimate:
    """
    Return the estimate as it is without noise in the rows, and no number for what only it excites.

    data : Dataset; problem, estimate : of it.  Of least squares a direction of noise alone may be
    off by all that the prior allows: so much is added to the covariance; instruments do not
    shrink it, and their covariance says how little is known of it.  A base parameter of which
    less than LOST of the prior is ruled out by least squares is not determined.
    """
    base, weights = problem.base, solved_weights(problem, estimate)
    gram = noise_gram(data, base, weights)
    if gram is None:
        return estimate
    A = problem.factors.system(weights)[0]
    scales = base.scales()
    information = (A.T @ A) * np.outer(scales, scales)
    tiny = 1e-12 * np.trace(information) / len(scales) * np.eye(len(scales))
    shares, directions = eigh(gram * np.outer(scales, scales), information + tiny)
    unbiased = data.options.estimator in UNBIASED
    if not unbiased:
        prior = prior_rows(base)[0] * scales if estimate.leaning else np.zeros((0, len(scales)))
        estimate = _made_good(problem, estimate, scales, (information + tiny, prior),
                              (shares, directions))
    noisy = directions[:, shares > SHARE] * scales[:, None]
    if not noisy.size:
        return estimate
    prior_sd = base.prior_sd
    lost_errors = noisy / np.max(np.abs(noisy) / prior_sd[:, None], axis=0)
    wider = estimate.widened(lost_errors @ lost_errors.T)
    lost = wider.data_bse > LOST * prior_sd
    kept = estimate if unbiased else wider
    return replace(kept, determined=estimate.determined & ~lost,
                   data_bse=np.where(lost, np.inf, kept.data_bse),
                   rank=max(0, estimate.rank - noisy.shape[1]))


def _made_good(problem, estimate, scales, rows, noise):
    """
    Return the Estimate by the information less that of the noise, where that is not most of it.

    scales : (b,) of the base parameters; rows : (information (b, b), prior rows (k, b)) about
    scaled ones; noise : (shares (b,), directions (b, b)) of that information
    """
    information, prior = rows
    shares, directions = noise
    part = np.where(shares > SHARE, 0.0, shares)
    dual = information @ directions  # inverse of the directions, transposed
    whole = information + prior.T @ prior
    move = scales[:, None] * np.linalg.solve(whole - (dual * part) @ dual.T, whole) / scales
    covariance = move @ estimate.cov_params @ move.T
    error = np.sqrt(np.diag(covariance))
    independent = effective_standard_deviation(problem, estimate.standard_deviation)
    A, b, _ = problem.factors.system(independent)
    keep = scales[:, None] * directions * (1.0 - part) @ dual.T / scales
    return replace(estimate, params=move @ estimate.params, cov_params=covariance, bse=error,
                   data_bse=estimate.data_bse * error / estimate.bse, system=(A @ keep, b))


def noise_gram(data: Dataset, base: BaseParameters,
               standard_deviation: Mapping[str, float]) -> np.ndarray | None:
    """
    Return the expected contribution G (b, b) of the motion's noise to W'W of the base columns.

    data : Dataset; base : BaseParameters of its columns; None where the method draws no noise
    standard_deviation : group -> of its residual, by which the rows are weighted
    """
    place, gram, drawn = base.places(), np.zeros((len(base), len(base))), False
    for robot, observation in data.pairs():
        for rows, noisy, times in data.method.noisy_rows(observation, robot, base.parameters):
            drawn = True
            for one, other in zip(rows.groups, noisy.groups):
                where = place[one.columns]
                change = (other.W - one.W)[:, where >= 0]
                where = where[where >= 0]
                weight = times / standard_deviation[one.name] ** 2
                gram[np.ix_(where, where)] += weight * (change.T @ change)
    return gram if drawn else None
