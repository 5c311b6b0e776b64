"""
What makes a motion good: functions of the singular values of the weighted base regressor.

Each criterion is a function of the eigenvalues of G = W'W (squares of the singular values of W)
and returns its value for the search with its derivative by the eigenvalues, so that the gradient
by G is V diag(.) V' (Overton 1988).  The search minimises logarithms: they are scale free.

The condition number is that of W with its columns as they are, in SI units: it depends on which
columns take part and on their units, and says little about the error of predicted torques.
V-optimality is about that error; see workspace.py.
"""

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np


@dataclass(frozen=True)
class Criterion:
    """
    What a design makes small.

    search(eigenvalues (b,), sharpness) -> (value, derivative (b,)), to be minimised;
    report(singular values (b,)) -> the number as published, smaller is better
    whitened : whether both are about W in the coordinates in which the moments M of the workspace
        are the unit matrix
    """

    search: Callable[[np.ndarray, float], tuple[float, np.ndarray]]
    report: Callable[[np.ndarray], Any]
    whitened: bool = False


def _soft_maximum(x, sharpness):
    """Return log(sum exp(s x)) / s and its derivative: the maximum for large sharpness s."""
    top = x.max()
    e = np.exp(sharpness * (x - top))
    total = e.sum()
    return top + np.log(total) / sharpness, e / total


def condition_number(eigenvalues: np.ndarray, sharpness: float) -> tuple[float, np.ndarray]:
    """Return log cond(W) as p-norms: eigenvalues (b,) of W'W, sharpness the exponent p."""
    logs = np.log(eigenvalues)
    largest, up = _soft_maximum(logs, sharpness)
    smallest, down = _soft_maximum(-logs, sharpness)
    return 0.5 * (largest + smallest), 0.5 * (up - down) / eigenvalues


def d_optimality(eigenvalues: np.ndarray, sharpness: float) -> tuple[float, np.ndarray]:
    """Return -log det(W'W) / (2 b) from the eigenvalues (b,) of W'W; sharpness is not used."""
    count = 2.0 * len(eigenvalues)
    return -np.log(eigenvalues).sum() / count, -1.0 / (count * eigenvalues)


def v_optimality(eigenvalues: np.ndarray, sharpness: float) -> tuple[float, np.ndarray]:
    """Return log trace(M (W'W)^-1) / 2 from whitened eigenvalues (b,); sharpness is not used."""
    total = (1.0 / eigenvalues).sum()
    return 0.5 * np.log(total), -0.5 / (total * eigenvalues**2)


CRITERIA = {
    'v_optimality': Criterion(v_optimality, lambda s: np.sqrt((s**-2.0).sum()), True),
    'condition_number': Criterion(condition_number, lambda s: s.max() / s.min()),
    'd_optimality': Criterion(d_optimality, lambda s: -2.0 * np.log(s).sum()),
}


def search_value(
    name: str, G: np.ndarray, sharpness: float, root: np.ndarray, widths: float = 0.0
) -> tuple[float, np.ndarray, float]:
    """
    Return (value, derivative by G (b, b), by widths) of criterion ``name`` at G = W'W (b, b).

    sharpness : exponent of the p-norms of the criterion
    root : (b, b) whitens the moments M of the workspace, root M root' = 1
    widths : variance by friction widths, which adds to that of V-optimality; see friction_width.py
    Directions a motion does not excite at all are lifted to 1e-14 of the largest, so that the
    search can climb out of them.
    """
    whitened = CRITERIA[name].whitened
    if whitened:
        G = root @ G @ root.T
    eigenvalues, vectors = np.linalg.eigh(G)
    lifted = np.maximum(eigenvalues, 1e-14 * eigenvalues[-1])
    value, slope = CRITERIA[name].search(lifted, sharpness)
    by_G = (vectors * slope) @ vectors.T
    if not whitened:
        return value, by_G, 0.0
    variance = np.exp(2.0 * value)
    total = variance + widths
    return 0.5 * float(np.log(total)), variance / total * (root.T @ by_G @ root), 0.5 / total


def reported_value(name: str, G: np.ndarray, root: np.ndarray, widths: float = 0.0) -> float:
    """Return criterion ``name`` at G = W'W (b, b) as published; root, widths : search_value."""
    whitened = CRITERIA[name].whitened
    if whitened:
        G = root @ G @ root.T
    eigenvalues = np.linalg.eigvalsh(G)
    value = CRITERIA[name].report(np.sqrt(np.maximum(eigenvalues, 1e-300)))
    if whitened:
        value = np.hypot(value, np.sqrt(widths))
    return float(value)
