"""
What makes a motion good: functions of the singular values of the weighted base regressor.

Each criterion is a function of the eigenvalues of G = W'W (squares of the singular values of W)
and returns its value for the search with its derivative by the eigenvalues, so that the gradient
by G is V diag(.) V' (Overton 1988).  The search minimises logarithms: they are scale free.
"""

from dataclasses import dataclass
from typing import Callable

import numpy as np


@dataclass(frozen=True)
class Criterion:
    """
    search(eigenvalues (b,), sharpness) -> (value, derivative (b,)), to be minimised;
    report(singular values (b,)) -> the number as published, smaller is better.
    """

    search: Callable
    report: Callable


def _soft_maximum(x, sharpness):
    """Return log(sum exp(s x)) / s and its derivative: the maximum for large sharpness s."""
    top = x.max()
    e = np.exp(sharpness * (x - top))
    total = e.sum()
    return top + np.log(total) / sharpness, e / total


def condition_number(eigenvalues, sharpness):
    """Return log cond(W), with the largest and smallest singular value as p-norms."""
    logs = np.log(eigenvalues)
    largest, up = _soft_maximum(logs, sharpness)
    smallest, down = _soft_maximum(-logs, sharpness)
    return 0.5 * (largest + smallest), 0.5 * (up - down) / eigenvalues


def frobenius(eigenvalues, sharpness):
    """Return log(|W|_F |W^+|_F)."""
    total, inverse = eigenvalues.sum(), (1.0 / eigenvalues).sum()
    return (0.5 * np.log(total * inverse),
            0.5 / total - 0.5 / (inverse * eigenvalues ** 2))


def d_optimality(eigenvalues, sharpness):
    """Return -log det(W'W) / (2 b)."""
    count = 2.0 * len(eigenvalues)
    return -np.log(eigenvalues).sum() / count, -1.0 / (count * eigenvalues)


CRITERIA = {
    'condition_number': Criterion(condition_number, lambda s: s.max() / s.min()),
    'frobenius': Criterion(frobenius, lambda s: np.sqrt((s ** 2).sum() * (s ** -2.0).sum())),
    'd_optimality': Criterion(d_optimality, lambda s: -2.0 * np.log(s).sum()),
}


def search_value(name, G, sharpness):
    """
    Return (value, derivative by G (b, b)) of criterion ``name`` at the information G (b, b).

    Directions a motion does not excite at all are lifted to 1e-14 of the largest, so that the
    search can climb out of them.
    """
    eigenvalues, vectors = np.linalg.eigh(G)
    lifted = np.maximum(eigenvalues, 1e-14 * eigenvalues[-1])
    value, slope = CRITERIA[name].search(lifted, sharpness)
    return value, (vectors * slope) @ vectors.T


def reported_value(name, G):
    """Return the published form of criterion ``name`` at the information G (b, b)."""
    eigenvalues = np.linalg.eigvalsh(G)
    return float(CRITERIA[name].report(np.sqrt(np.maximum(eigenvalues, 1e-300))))
