"""
Least squares and rank: what rows say of parameters, and how that differs without some of them.

Parameters come in the units of what they may be, so that kg and kg m^2 meet as equals.  In these
a singular value below ROUNDING of the largest is rounding: rows do not show that direction.  Which
directions a structure has, whose description is rounded too, the widest gap decides.

Estimates that each leave one block of the data out tell errors that are not white (jackknife;
Quenouille 1956; Tukey 1958; Efron 1982): what correlates residuals, or what a model lacks, does
not shrink as errors do that are counted by rows.
"""

from collections.abc import Callable, Sequence

import numpy as np

from .r_factors import triangle

ROUNDING = 1e-12  # of the largest singular value: a thousand times that of one sum
LARGEST_NOISE = 1e-6  # relative singular values above it are structure, whatever gap follows


def pseudo_inverse(rows: np.ndarray, scale: np.ndarray | float = 1.0) -> np.ndarray:
    """
    Return the pseudo-inverse (p, m) of ``rows`` (m, p), zero in directions that they do not show.

    scale : (p,) of the parameters, in which the solution is the smallest
    """
    return np.asarray((np.linalg.pinv(rows * scale, rcond=ROUNDING).T * scale).T)


def smallest_solution(rows: np.ndarray, target: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """
    Return the smallest of the solutions (p,) of ``rows`` (m, p) for a ``target`` (m,).

    scale : (p,) of the parameters, in which it is the smallest
    """
    return scale * np.linalg.lstsq(rows * scale, target, rcond=ROUNDING)[0]


def nonnegative_solution(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """
    Return the x (p,), none below zero, of least |A x - b| (Lawson and Hanson 1974, 23.3).

    A : (m, p); b : (m,).  RuntimeError where columns differ by rounding alone.
    """
    R = triangle(np.asfortranarray(np.column_stack([A, b])))
    A, b = R[:, :-1], R[:, -1]
    x = np.zeros(A.shape[1])
    least_slope = ROUNDING * np.linalg.norm(A, axis=0) * np.linalg.norm(b)
    free = x > 0.0
    for _ in range(100 * len(x) + 1):
        slope = np.where(free, -np.inf, A.T @ (b - A @ x) - least_slope)
        if slope.max(initial=-np.inf) <= 0.0:
            return x
        free[slope.argmax()] = True
        while True:
            y = np.zeros(len(x))
            y[free] = np.linalg.lstsq(A[:, free], b, rcond=None)[0]
            negative = free & (y <= 0.0)
            if not negative.any():
                break
            step = (x[negative] / (x[negative] - y[negative])).min()
            x += step * (y - x)
            free &= ~negative | (x > ROUNDING * np.abs(y).max())
        x = y
    raise RuntimeError('the solution that is not negative did not settle')


def span(columns: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (m, rank) of ``columns`` (m, k), taken to be of one length."""
    lengths = np.linalg.norm(columns, axis=0)
    U, s, _ = np.linalg.svd(columns / np.maximum(lengths, 1e-300), full_matrices=False)
    return U[:, s > ROUNDING * s.max(initial=0.0)]


def relative_residuals(columns: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """
    Return the residual of each of d targets, relative to its size (d,).

    columns : (N, p) that explain them; targets : (d, N) or (d, N, m)
    """
    Q = span(columns)
    sizes = [max(np.linalg.norm(y), 1e-300) for y in targets]
    return np.array([np.linalg.norm(y - Q @ (Q.T @ y)) / x for y, x in zip(targets, sizes)])


def decide_rank(singular: np.ndarray) -> tuple[int, float]:
    """
    Return the rank and the gap there, of ``singular`` (p,) values, largest first.

    The gap is the widest ratio of successive values of which the second is below LARGEST_NOISE.
    """
    if singular[0] == 0.0:
        return 0, np.inf
    if len(singular) == 1:
        return 1, np.inf
    relative = np.maximum(np.asarray(singular) / max(singular[0], 1e-300), 1e-17)
    ratios = relative[:-1] / relative[1:]
    candidates = np.flatnonzero(relative[1:] < LARGEST_NOISE)
    if not candidates.size:
        return len(singular), np.inf
    k = candidates[int(np.argmax(ratios[candidates]))]
    return int(k) + 1, float(ratios[k])


def left_out(
    parts: Sequence[np.ndarray] | np.ndarray, solve: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``solve`` (m,) of the sum of ``parts`` (count, ...), and (count, m) without each."""
    total = sum(parts, np.zeros(()))
    return solve(total), np.array([solve(total - part) for part in parts])


def solved_sums(sums: np.ndarray) -> np.ndarray:
    """Return the solution (k,) of normal equations ``sums`` (k, k + 1), [A'A, A'b]."""
    return np.asarray(np.linalg.pinv(sums[:, :-1], ROUNDING, hermitian=True) @ sums[:, -1])


def deviations(without: np.ndarray) -> np.ndarray:
    """Return D (count, m), D'D the covariance of m estimates, from those ``without`` a block."""
    count = len(without)
    return np.sqrt((count - 1) / count) * (without - without.mean(0))


def standard_errors(without: np.ndarray) -> np.ndarray:
    """Return the standard errors (m,) of estimates by those ``without`` a block (count, m)."""
    return np.linalg.norm(deviations(without), axis=0)
