"""
Distributions: what errors of few degrees of freedom need of Student's t and of the chi-square.

They are those of scipy.special, whose import takes longer than an identification's checks; the
tests hold both together.
"""

from functools import cache
from math import lgamma
from statistics import NormalDist

import numpy as np


def digamma(x: np.ndarray | float) -> np.ndarray:
    """Return the derivative of log Gamma at ``x`` (...) > 0 (Abramowitz and Stegun 1964, 6.3)."""
    y = np.asarray(x) + 16.0
    series = 1.0 / 12.0 - (1.0 / 120.0 - (1.0 / 252.0 - 1.0 / 240.0 / y**2) / y**2) / y**2
    return np.log(y) - 0.5 / y - series / y**2 - (1.0 / _below(x)).sum(-1)


def trigamma(x: np.ndarray | float) -> np.ndarray:
    """Return the second derivative of log Gamma at ``x`` (...) > 0 (ibid., 6.4)."""
    y = np.asarray(x) + 16.0
    series = 1.0 / 6.0 - (1.0 / 30.0 - (1.0 / 42.0 - 1.0 / 30.0 / y**2) / y**2) / y**2
    return 1.0 / y + 0.5 / y**2 + series / y**3 + (1.0 / _below(x) ** 2).sum(-1)


def _below(x):
    """Return x to x + 15 (..., 16): by their recurrence the series are taken where they hold."""
    return np.asarray(x)[..., None] + np.arange(16)


def normal_quantile(level: float) -> float:
    """Return the quantile ``level`` of the normal distribution."""
    return NormalDist().inv_cdf(level)


@cache
def student_quantile(level: float, freedom: float) -> float:
    """
    Return the quantile ``level``, 0.5 to 0.98, of Student's t of ``freedom`` degrees, 1 to 1e5.

    With t = sqrt(freedom) tan(angle) the density is a power of the cosine; Newton's steps from
    zero on the distribution, which is concave there, end below the quantile or at it.
    """
    nodes, weights = np.polynomial.legendre.leggauss(24)
    total = np.sqrt(np.pi) * np.exp(lgamma(freedom / 2.0) - lgamma((freedom + 1.0) / 2.0))
    angle, step = 0.0, 1.0
    while step > 1e-15 * angle:
        area = angle / 2.0 * weights @ np.cos(angle / 2.0 * (1.0 + nodes)) ** (freedom - 1.0)
        step = ((level - 0.5) * total - area) / np.cos(angle) ** (freedom - 1.0)
        angle += step
    return float(np.sqrt(freedom) * np.tan(angle))
