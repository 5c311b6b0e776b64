"""
Jackknife: how estimates differ that each leave one stretch of the data out.

What correlates residuals, or what a model lacks, does not shrink it as it shrinks errors counted
by rows (Quenouille 1956; Tukey 1958; Efron 1982).
"""

import numpy as np


def deviations(left_out: np.ndarray) -> np.ndarray:
    """
    Return D (count, m), whose D'D is the covariance of m estimates.

    left_out : (count, m) the estimates without each of the stretches
    """
    count = len(left_out)
    return np.sqrt((count - 1) / count) * (left_out - left_out.mean(0))


def standard_errors(left_out: np.ndarray) -> np.ndarray:
    """
    Return the standard errors (m,) of m estimates.

    left_out : (count, m) the estimates without each of the stretches
    """
    return np.linalg.norm(deviations(left_out), axis=0)
