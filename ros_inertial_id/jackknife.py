"""
Jackknife: how estimates differ that each leave one stretch of the data out.

What correlates residuals, or what a model lacks, does not shrink it as it shrinks errors counted
by rows (Quenouille 1956; Tukey 1958; Efron 1982).
"""

from collections.abc import Callable, Sequence

import numpy as np


def left_out(parts: Sequence[np.ndarray] | np.ndarray,
             solve: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the estimates (m,) of all data, and those (count, m) without each of the stretches.

    parts : (count, ...) sums over the stretches, such as normal equations, that add up
    solve : sums -> estimates
    """
    whole = sum(parts, np.zeros(()))
    return solve(whole), np.array([solve(whole - part) for part in parts])


def deviations(without: np.ndarray) -> np.ndarray:
    """
    Return D (count, m), whose D'D is the covariance of m estimates.

    without : (count, m) of ``left_out``
    """
    count = len(without)
    return np.sqrt((count - 1) / count) * (without - without.mean(0))


def standard_errors(without: np.ndarray) -> np.ndarray:
    """
    Return the standard errors (m,) of m estimates.

    without : (count, m) of ``left_out``
    """
    return np.linalg.norm(deviations(without), axis=0)
