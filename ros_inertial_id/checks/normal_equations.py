"""
Normal equations of all joints together, each fold left out in turn.

Parameters are in units of their prior: of each the prior is normal with standard deviation one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..estimation.cross_validation import FOLDS


@dataclass(frozen=True)
class Part:
    """
    What one joint contributes.

    spans : (own, whole) slices that place the joint's parameters among all
    AA : (FOLDS, c, c); Ay : (FOLDS, c); yy : (FOLDS,) sums of products of columns and torque
    """

    spans: tuple[tuple[slice, slice], ...]
    AA: np.ndarray
    Ay: np.ndarray
    yy: np.ndarray

    def square(self, z: np.ndarray) -> float:
        """Return the sum of squared residuals, fold by fold under solutions ``z`` (FOLDS, p)."""
        own = np.concatenate([z[:, whole] for _, whole in self.spans], axis=1)
        return float(self.yy.sum() - 2 * (self.Ay * own).sum()
                     + ((own[:, None] @ self.AA)[:, 0] * own).sum())


@dataclass(frozen=True)
class Solution:
    """z : (p,) of all data; left_out : (FOLDS, p) without each fold; matrix : (p, p) of all."""

    z: np.ndarray
    left_out: np.ndarray
    matrix: np.ndarray


def spans_of(places: np.ndarray) -> tuple[tuple[slice, slice], ...]:
    """Return (own, whole) slices of runs in ``places`` (c,): adding to slices is fast."""
    edges = np.flatnonzero(np.diff(places) != 1) + 1
    bounds = [0, *edges.tolist(), len(places)]
    return tuple((slice(a, b), slice(int(places[a]), int(places[a]) + b - a))
                 for a, b in zip(bounds[:-1], bounds[1:]))


def solve(parts: Sequence[Part], weight: np.ndarray, mean: np.ndarray) -> Solution:
    """
    Return the Solution of weighted joints with a prior.

    weight : of each of the ``parts``; mean : (p,) of the prior
    """
    size = len(mean)
    H, b = np.zeros((FOLDS, size, size)), np.zeros((FOLDS, size))
    for w, part in zip(weight, parts):
        AA = w * part.AA
        for own, whole in part.spans:
            b[:, whole] += w * part.Ay[:, own]
            for other, place in part.spans:
                H[:, whole, place] += AA[:, own, other]
    matrix = H.sum(0)
    matrix[np.arange(size), np.arange(size)] += 1.0
    target = b.sum(0) + mean
    np.subtract(matrix, H, out=H)
    right = np.subtract(target, b, out=b)
    left_out = np.linalg.solve(H, right[:, :, None])[:, :, 0]
    return Solution(np.linalg.solve(matrix, target), left_out, matrix)
