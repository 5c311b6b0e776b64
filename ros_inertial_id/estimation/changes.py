"""
Changes: what differs from one recording of a robot to the next, all else held.

    target_d = A_d (beta + S delta_d) + noise of unit variance      for every day d

beta is common to all days, delta_d a few changes of each day (friction, a payload, a tilt of
gravity) with zero mean over the days, S their columns.  Alternating least squares: beta from all
days without their changes, the changes of each day without beta, until neither moves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .problem import least_squares

ROUNDS = 20
SETTLED = 1e-3  # of a standard error


@dataclass(frozen=True)
class Changes:
    """
    What changed from day to day.

    values, errors : (days, m) changes from the mean of all days and their standard errors
    common : (b,) beta
    """

    values: np.ndarray
    errors: np.ndarray
    common: np.ndarray


def changes_of(systems: Sequence[tuple[np.ndarray, np.ndarray]], S: np.ndarray, spread: np.ndarray,
               prior: tuple[np.ndarray, np.ndarray]) -> Changes:
    """
    Return the Changes of days.

    systems : (A (k, k), target (k,)) of every day, rows of unit variance
    S : (k, m) columns of the changes; spread : (m,) their prior standard deviations
    prior : rows (A, b) about beta (b,), whose columns are the first of A
    """
    size = prior[0].shape[1]
    maps = [A @ S for A, _ in systems]
    weights = [np.linalg.inv(B.T @ B + np.diag(1.0 / spread ** 2)) for B in maps]
    errors = np.sqrt(np.array([np.diag(w) for w in weights]))
    delta = np.zeros((len(systems), S.shape[1]))
    beta = np.zeros(size)
    for _ in range(ROUNDS):
        beta = least_squares(
            np.vstack([prior[0], *(A[:, :size] for A, _ in systems)]),
            np.concatenate([prior[1], *(t - B @ d for (_, t), B, d in zip(systems, maps, delta))]))
        new = np.array([w @ (B.T @ (t - A[:, :size] @ beta))
                        for w, B, (A, t) in zip(weights, maps, systems)])
        precision = 1.0 / errors ** 2
        new -= (precision * new).sum(0) / precision.sum(0)
        moved = np.abs((new - delta) / errors).max()
        delta = new
        if moved < SETTLED:
            break
    return Changes(delta, errors, beta)
