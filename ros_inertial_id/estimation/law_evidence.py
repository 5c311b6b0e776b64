"""
What speaks for each law that was tried for one friction coefficient, for the table of choices.

Per law its best constant, the residual on stretches of the motion left out, and the log odds
against the chosen one, counted in independent rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .base_parameters import BaseParameters
from .estimators import params_of, ridge
from .problem import Problem
from .r_factors import merge, RFactors
from ..dynamics.friction import LAWS, nonlinear_unit
from ..dynamics.inertial_parameters import Parameter


def law_evidence(folds: Sequence[RFactors], base: BaseParameters,
                 choices: Mapping[str, Sequence[int]], parameters: Sequence[Parameter],
                 correlation: Mapping[str, float]) -> list[dict[str, Any]]:
    """
    Return entries {what, candidate, left_out_error [%], evidence [nats], chosen}, law by law.

    folds : RFactors about all columns, of successive stretches; base : as chosen
    choices : name -> columns of all alternatives, the first one a base column
    parameters : Parameter of every column; correlation : group -> see Problem
    """
    out = []
    columns = _chosen_columns(base, choices, parameters)
    beta = params_of(ridge)(Problem(merge(folds).select(columns), base, {}))
    for name, ks in choices.items():
        owner = parameters[ks[0]].owner
        laws = list(dict.fromkeys(parameters[k].law for k in ks))
        if owner not in folds[0].groups or len(laws) < 2:
            continue
        squares = _left_out(folds, owner, columns, beta, ks, parameters)
        chosen = base.parameters[base.independent[ks[0]]]
        target = sum(f.groups[owner].target() ** 2 for f in folds)
        rows = sum(f.groups[owner].rows for f in folds) / correlation.get(owner, 1.0)
        best = {law: min((k for k in ks if parameters[k].law == law), key=squares.__getitem__)
                for law in laws}
        least = squares[best[chosen.law]]
        for law, k in best.items():
            constant = chosen.nonlinear if law == chosen.law else parameters[k].nonlinear
            out.append({
                'what': f'{name} of {owner}',
                'candidate': f'{law}, {constant:.2g} {nonlinear_unit(law, parameters[k].unit)}'
                             + _edge(constant, LAWS[law].nonlinear_values),
                'left_out_error': float(100.0 * np.sqrt(squares[k] / max(target, 1e-300))),
                'evidence': float(0.5 * rows * np.log(max(least, 1e-300)
                                                      / max(squares[k], 1e-300))),
                'chosen': law == chosen.law})
    return out


def _chosen_columns(base, choices, parameters):
    """Return the columns (b,) of the base parameters as chosen, the nearest constant tried."""
    columns = np.arange(len(base))
    for ks in choices.values():
        chosen = base.parameters[base.independent[ks[0]]]
        own = [k for k in ks if parameters[k].law == chosen.law]
        columns[ks[0]] = min(own, key=lambda k: abs(
            np.log(max(parameters[k].nonlinear, 1e-12) / max(chosen.nonlinear, 1e-12))))
    return columns


def _left_out(folds, owner, columns, beta, ks, parameters):
    """
    Return {k: squared residual of a joint on folds left out} of its alternatives ``ks``.

    The joint's other friction is free, all else is held.
    """
    free = [c for c in columns if c not in ks and parameters[c].law
            and parameters[c].owner == owner]
    held = [i for i, c in enumerate(columns) if c not in ks and c not in free]
    grams = []
    for fold in folds:
        group = fold.groups[owner]
        W = group.equations(fold.size)
        rows = np.column_stack([W[:, free], W[:, list(ks)],
                                group.R[:, -2] - W[:, columns[held]] @ beta[held]])
        grams.append(rows.T @ rows)
    places = np.array([np.r_[:len(free), len(free) + n, -1] for n in range(len(ks))])
    # (folds, alternatives, k, k)
    own = np.array(grams)[:, places[:, :, None], places[:, None, :]]
    return dict(zip(ks, _predicted(own.sum(0) - own, own).sum(0).tolist()))


def _predicted(others, grams):
    """Return squared residuals (...) in ``grams`` of [W, y] by the least squares of ``others``."""
    inverse = np.linalg.pinv(others[..., :-1, :-1], rcond=1e-12, hermitian=True)
    x = inverse @ others[..., :-1, -1:]
    x = np.concatenate([-x, np.ones_like(x[..., :1, :])], axis=-2)[..., 0]
    return np.maximum(0.0, np.einsum('...i,...ij,...j->...', x, grams, x))


def _edge(constant, tried):
    """Return words where a constant lies at an end of those tried."""
    if constant <= min(tried) * 1.01:
        return ' (least tried: as sharp as a step)'
    return ' (largest tried)' if constant >= max(tried) * 0.99 else ''
