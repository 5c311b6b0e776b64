"""
Noise is no excitation: directions in which the rows hold little but noise of the motion.

Rows W of a noisy motion have E[W'W] = W0'W0 + G, with G the contribution of the noise alone.
Where G is most of it the true rows show nothing, yet least squares finds a small number with a
small error (attenuation; Fuller 1987).  G comes from the same rows with the noise drawn once more.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.linalg import eigh

from .dataset import Dataset
from .inherited_errors import inflated
from ..estimation.base_parameters import BaseParameters
from ..estimation.estimators import Estimate
from ..estimation.r_factors import RFactors

LOST = 0.5  # of the prior standard deviation
SHARE = 0.5  # of the information in a direction: with more noise than that it has no number


def without_noise(data: Dataset, base: BaseParameters, factors: RFactors,
                  estimate: Estimate) -> Estimate:
    """
    Return the estimate without a number for what only noise excites.

    data : Dataset; base, factors, estimate : of it.  A direction of noise alone may be off by all
    that the prior allows: so much is added to the covariance, and a base parameter of which
    less than LOST of the prior is ruled out is not determined.
    """
    gram = noise_gram(data, base, estimate.standard_deviation)
    if gram is None:
        return estimate
    A = factors.system(estimate.standard_deviation)[0]
    scales = base.scales()
    information = (A.T @ A) * np.outer(scales, scales)
    tiny = 1e-12 * np.trace(information) / len(scales) * np.eye(len(scales))
    shares, directions = eigh(gram * np.outer(scales, scales), information + tiny)
    noisy = directions[:, shares > SHARE] * scales[:, None]
    if not noisy.size:
        return estimate
    prior = base.prior_sd
    wider = inflated(estimate, noisy / np.max(np.abs(noisy) / prior[:, None], axis=0))
    lost = wider.data_bse > LOST * prior
    return replace(wider, determined=estimate.determined & ~lost,
                   data_bse=np.where(lost, np.inf, wider.data_bse),
                   rank=max(0, estimate.rank - noisy.shape[1]))


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
