"""
Gram matrices of an arm's equations, fold by fold, with gravity left open.

The stacked columns of joint j are ``[W, Gx, Gy, Gz, Y]``: without gravity, of a unit gravity
along each axis (on masses and first moments alone), and all targets.  What any hypothesis
asks of the data is a combination of them, so of their Gram matrix and not of the samples.
"""

from collections.abc import Sequence

import numpy as np

from ..estimation.cross_validation import FOLDS


def grams_of(matrices: Sequence[np.ndarray], targets: Sequence[np.ndarray],
             fold: np.ndarray) -> tuple[np.ndarray, ...]:
    """
    Return per joint the Gram matrices (FOLDS, k, k) of [columns, targets].

    matrices, targets : per joint (N, k) and (N, m); fold : (N,) number of each sample
    """
    chosen = [np.flatnonzero(fold == number) for number in range(FOLDS)]
    out = []
    for M, Y in zip(matrices, targets):
        stacked = np.hstack([M, Y])
        parts = (stacked[rows] for rows in chosen)
        out.append(np.array([part.T @ part for part in parts]))
    return tuple(out)


def under_gravity(gram: np.ndarray, count: int, heavy: np.ndarray,
                  gravity: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return (A'A, A'Y, Y'Y), folds first, of the columns that a joint has under a gravity.

    gram : (FOLDS, k, k); count : c, parameters; heavy : (h,) which of them gravity acts on
    gravity : (3,) [m/s^2]
    """
    end, size = count + 3 * len(heavy), len(heavy)
    half = gram[:, :count].copy()  # rows of the columns without gravity, against everything
    for k, g in enumerate(gravity):
        if g:
            half[:, heavy] += g * gram[:, count + k * size:count + (k + 1) * size]
    out = half[:, :, :count].copy()
    for k, g in enumerate(gravity):
        if g:
            out[:, :, heavy] += g * half[:, :, count + k * size:count + (k + 1) * size]
    return out, half[:, :, end:], gram[:, end:, end:]


def stacked(values: np.ndarray, heavy: np.ndarray, gravity: np.ndarray, size: int) -> np.ndarray:
    """
    Return (size, m) combinations of the stacked columns that are torques of parameters.

    values : (c, m) of the joint's parameters; heavy : (h,) which of them gravity acts on
    gravity : (3,) [m/s^2]; size : k, of the Gram matrix
    """
    out = np.zeros((size, values.shape[1]))
    out[:len(values)] = values
    for k, g in enumerate(gravity):
        first = len(values) + k * len(heavy)
        out[first:first + len(heavy)] = g * values[heavy]
    return out
