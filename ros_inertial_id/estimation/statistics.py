"""Statistics of an estimate: which parameters are known only together with others."""

from collections.abc import Sequence
from typing import Any

import numpy as np


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
