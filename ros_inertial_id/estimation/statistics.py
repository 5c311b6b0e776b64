"""
Statistics of an estimate: intervals, what is essential, what spoils the condition, whiteness.

Everything comes from the R factors and running sums; nothing reads the data again.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import chdtrc, fdtri

from .problem import effective_standard_deviation, Estimate, Problem
from .residuals import Residuals

LAGS = 20
DECISIVE = 0.5  # share of a parameter's variance that one direction has to explain (Belsley)


def independent_rows(problem: Problem) -> float:
    """
    Return how many independent rows the data are worth, after their correlation.

    problem : with the correlation of its rows
    """
    return sum(g.rows / problem.correlation.get(name, 1.0)
               for name, g in problem.factors.groups.items())


def essential_parameters(problem: Problem, estimate: Estimate,
                         level: float = 0.05) -> dict[str, Any]:
    """
    Return {essential: (k,) places, left_out: list of {place, relative_percent, F, limit}}.

    The parameter with the largest relative error goes first, the others are fitted anew, and so
    on until an F-test of all that went against the full model rejects at ``level`` (Pham and
    Gautier 1991; Janot, Vandanjon and Gautier 2014).
    """
    A, b, outside = problem.factors.system(
        effective_standard_deviation(problem, estimate.standard_deviation))
    size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    U, s, Vt = np.linalg.svd(A / size, full_matrices=False)
    inverse = 1.0 / np.maximum(s, 1e-12 * s[0])
    P, x = (Vt.T * inverse ** 2) @ Vt, (Vt.T * inverse) @ (U.T @ b)
    free = max(1.0, independent_rows(problem) - len(b))
    # Weighted by their own deviations, all rows leave about one each.
    variance = (np.sum((b - A @ (x / size)) ** 2) + outside ** 2) / free
    kept, added = list(range(len(b))), 0.0
    left_out: list[dict[str, Any]] = []
    while len(kept) > 1:
        error = np.sqrt(np.maximum(P[kept, kept], 1e-300))
        k = kept[int(np.argmax(error / np.maximum(np.abs(x[kept]), 1e-150)))]
        added += x[k] ** 2 / max(P[k, k], 1e-300)  # the residual without it, exactly (Gauss)
        gone = len(left_out) + 1
        ratio = added / gone / max(variance, 1e-300)
        limit = float(fdtri(gone, free, 1.0 - level))
        if ratio > limit:
            break
        left_out.append({'place': k, 'F': float(ratio), 'limit': limit, 'relative_percent':
                         float(100 * np.sqrt(max(P[k, k], 0.0)) / max(abs(x[k]), 1e-150))})
        x, P = x - P[:, k] * x[k] / P[k, k], P - np.outer(P[:, k], P[k]) / P[k, k]
        kept.remove(k)
    return {'essential': np.array(kept), 'left_out': left_out}


def condition_causes(problem: Problem, estimate: Estimate, count: int = 3) -> list[dict[str, Any]]:
    """
    Return the weakest directions: list of {condition_index, parameters: {name: share}}.

    Variance decomposition of the weighted columns scaled to equal length (Belsley, Kuh and Welsch
    1980): the parameters whose variance comes by more than half from a weak direction are those
    that the data cannot tell apart (two or more), or hardly move (one).
    count : how many directions
    """
    A, _, _ = problem.factors.system(estimate.standard_deviation)
    size = np.linalg.norm(A, axis=0)
    names = problem.base.names()
    still = [n for n, s in zip(names, size) if s == 0.0]
    moved = np.flatnonzero(size)
    _, s, Vt = np.linalg.svd(A[:, moved] / size[moved])
    share = (Vt / np.maximum(s, 1e-300)[:, None]) ** 2
    share /= share.sum(0)
    out = [{'condition_index': float('inf'), 'parameters': {n: 1.0}} for n in still]
    for k in range(len(s) - 1, max(-1, len(s) - 1 - count), -1):
        strong = [i for i in np.argsort(-share[k]) if share[k, i] > DECISIVE]
        out.append({'condition_index': float(s[0] / max(s[k], 1e-300)),
                    'parameters': {names[moved[i]]: float(share[k, i]) for i in strong}})
    return out


def whiteness(residuals: Residuals, lags: int = LAGS) -> dict[str, dict[str, Any]]:
    """
    Return group -> {first (autocorrelation at one sample), p_value, white} of Residuals.

    Portmanteau test of Ljung and Box 1978: filtered signals never leave white residuals, which is
    why standard errors count independent rows; strong correlation far beyond the filter's length
    is a model that lacks something.
    lags : tested
    """
    out = {}
    for name, (total, pairs) in residuals.covariances.items():
        rho = np.clip((total / pairs)[1:lags + 1] / max(total[0] / pairs[0], 1e-300), -1, 1)
        count = pairs[0]
        weight = count * (count + 2) / (count - np.arange(1, len(rho) + 1))
        p_value = float(chdtrc(len(rho), np.sum(weight * rho ** 2)))
        out[name] = {'first': float(rho[0]), 'p_value': p_value, 'white': p_value > 0.05}
    return out


def dependence(names: Sequence[str], covariance: np.ndarray, determined: np.ndarray
               ) -> dict[str, dict[str, Any]]:
    """
    Return name -> inflation of its variance by the others, closest other, correlation to it.

    names, determined : (b,) of the base parameters, those that are determined take part
    covariance : (b, b) by independent rows: few stretches know correlations by chance only
    """
    where = np.flatnonzero(determined)
    if len(where) < 2:
        return {}
    size = np.sqrt(np.diag(covariance)[where])
    size = np.where(size > 0.0, size, 1.0)
    R = covariance[np.ix_(where, where)] / np.outer(size, size)
    # Nearly undetermined directions may leave R singular to working precision.
    inflation = np.maximum(1.0, np.diag(np.linalg.pinv(R, hermitian=True)))
    others = R - np.diag(np.diag(R))
    closest = np.argmax(np.abs(others), axis=1)
    used = [names[int(k)] for k in where]
    return {name: {'inflation': float(inflation[k]), 'partner': used[closest[k]],
                   'correlation': float(others[k, closest[k]])} for k, name in enumerate(used)}
