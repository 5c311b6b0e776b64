"""Cross-validation by R factors: every stretch predicted from the others (Stone 1974)."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .base_parameters import BaseParameters
from .estimators import params_of
from .problem import Estimate, Problem
from .r_factors import merge, RFactors


def left_out_percent(folds: Sequence[RFactors], base: BaseParameters,
                     estimator: Callable[[Problem], Estimate],
                     correlation: Mapping[str, float]) -> float | None:
    """
    Return the relative residual [%] of every fold under the estimate of the others.

    folds : RFactors about the base columns of ``base``, of successive stretches of the data
    estimator : see estimators.py; correlation : group -> see Problem
    None where there is one fold only.
    """
    if len(folds) < 2:
        return None
    square, target = 0.0, 0.0
    for k, fold in enumerate(folds):
        others = merge([*folds[:k], *folds[k + 1:]])
        beta = params_of(estimator)(Problem(others, base, dict(correlation)))
        square += sum(g.residual(beta) ** 2 for g in fold.groups.values())
        target += sum(g.target() ** 2 for g in fold.groups.values())
    return float(100.0 * np.sqrt(square / target))
