"""
The choice of friction laws, joint by joint, by an information criterion.

All laws asked for take part at first.  A law whose coefficient adds less to the likelihood than
its place costs by the Bayesian information criterion (Schwarz 1978), z^2 < ln N with N the
independent rows of its joint, is left out, the least significant first, and all others are fitted
anew.  At last the smaller set has to stand on segments of the data that it did not see.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .base_parameters import BaseParameters
from .cross_validation import cross_validate, parameters_by
from .problem import Estimate, Problem
from .r_factors import merge, RFactors

WORSE = 1.01  # the chosen laws may leave this much more in unseen segments than all of them


@dataclass(frozen=True)
class FrictionChoice:
    """
    Which friction laws the data choose.

    base : BaseParameters without the laws left out
    reasons : joint -> list of {law, kept (bool), z_square, threshold}
    left_out_percent : residual on unseen segments with all laws and with those chosen [%]
    """

    base: BaseParameters
    reasons: dict[str, list[dict[str, Any]]]
    left_out_percent: tuple[float, float]


def choose_laws(folds: Sequence[RFactors], base: BaseParameters,
                estimator: Callable[[Problem], Estimate], correlation: Mapping[str, float],
                laws: Collection[str]) -> FrictionChoice:
    """
    Return the FrictionChoice among ``laws`` (names), every other column staying.

    A law that is grouped with other parameters (a rotor inertia with a link's) stays, too.

    folds : RFactors of the b base columns, of successive stretches of the data
    correlation : group -> autocorrelation time of the residual [samples]
    estimator : see estimators.py
    """
    total = merge(folds)
    selection = np.arange(len(base))
    reasons: dict[tuple[str, str], tuple[bool, float, float]] = {}
    small = base
    while True:
        problem = Problem(total.select(selection), small, correlation)
        estimate = estimator(problem)
        z_square = (estimate.params / estimate.bse) ** 2
        weakest, margin = None, 0.0
        for i, parameter in _optional(small, laws, total.groups):
            group = total.groups[parameter.owner]
            threshold = np.log(group.rows / correlation.get(parameter.owner, 1.0))
            reasons[parameter.owner, parameter.law] = (True, z_square[i], threshold)
            if z_square[i] - threshold < margin:
                weakest, margin = i, z_square[i] - threshold
        if weakest is None:
            break
        gone = small.parameters[small.independent[weakest]]
        reasons[gone.owner, gone.law] = (False, *reasons[gone.owner, gone.law][1:])
        selection, small = np.delete(selection, weakest), without(small, weakest)
    whole, part = (fit.relative_percent or 0.0 if fit else 0.0 for fit in (
        cross_validate(folds, parameters_by(estimator, base, correlation)),
        cross_validate([f.select(selection) for f in folds],
                       parameters_by(estimator, small, correlation))))
    if part > WORSE * whole:
        small = base
        reasons = {key: (True, *value[1:]) for key, value in reasons.items()}
    by_joint: dict[str, list[dict[str, Any]]] = {}
    for (joint, law), (kept, z, threshold) in reasons.items():
        by_joint.setdefault(joint, []).append({'law': law, 'kept': kept, 'z_square': float(z),
                                               'threshold': float(threshold)})
    return FrictionChoice(small, by_joint, (whole, part))


def without(base: BaseParameters, place: int) -> BaseParameters:
    """
    Return the BaseParameters without the base parameter ``place``, grouped with no other.

    base : whose parameter ``place`` stands alone
    """
    k = base.independent[place]
    independent = np.delete(base.independent, place)
    return replace(
        base, parameters=base.parameters[:k] + base.parameters[k + 1:],
        independent=independent - (independent > k),
        dependent=base.dependent - (base.dependent > k), X=np.delete(base.X, place, axis=0))


def _optional(base, laws, groups):
    """Yield (place, Parameter) of the base parameters of ``laws`` in a joint that stand alone."""
    for i, (k, row) in enumerate(zip(base.independent, base.X)):
        own = base.parameters[k]
        if own.law in laws and own.owner in groups and not np.any(row):
            yield i, base.parameters[k]
