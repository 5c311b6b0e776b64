"""
The choice of constants inside friction laws, and of a law among those of one coefficient.

Separable least squares over the constants tried (Golub and Pereyra 1973), joint by joint and
repeated until nothing changes; between laws what predicts folds left out decides.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import nnls

from .base_parameters import BaseParameters
from .estimators import params_of, ridge
from .problem import Problem
from .r_factors import merge, RFactors
from ..dynamics.friction import LAWS, nonlinear_unit
from ..dynamics.inertial_parameters import Parameter

SWEEPS = 10
LEAST = 0.05     # of squared error, by which a later law is better in sample where that is all
TINY = 1e-8      # of the squared target: no model predicts better


def choose_nonlinear(folds: Sequence[RFactors], base: BaseParameters,
                     choices: Mapping[str, Sequence[int]], parameters: Sequence[Parameter]
                     ) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """
    Return {name: chosen index into ``choices[name]``}, and entries of ``statistics['choices']``.

    folds : RFactors of stretches about the b base columns, then the further alternatives
    choices : name -> columns of the R factors of the alternatives, the first one a base column
    parameters : Parameter of every one of these columns

    Among constants of one law the least residual decides, of friction that does not drive: else
    wide steps stand against others of negative sign; see ``_bounded`` for the last one.  A law
    that is named after another one of the same coefficient has to predict folds left out better,
    by more than a standard error of the logarithm of squared errors (Breiman et al. 1984); of one
    fold, by LEAST.
    """
    factors = merge(folds)
    picked = {name: 0 for name in choices}
    entries: list[dict[str, Any]] = []
    for _ in range(SWEEPS):
        columns = np.arange(len(base))
        for name, k in picked.items():
            columns[choices[name][0]] = choices[name][k]
        beta = params_of(ridge)(Problem(factors.select(columns), base, {}))
        new: dict[str, int] = {}
        entries = []
        for name, ks in choices.items():
            residuals = _residuals(factors, beta, columns, ks, parameters)
            best = _best_of_laws(residuals, [parameters[k].law for k in ks])
            best = [_bounded(folds, beta, columns, ks, k, parameters) for k in best]
            left_out = _left_out(folds, beta, columns, [ks[k] for k in best], parameters) \
                if len(best) > 1 else np.ones((1, 1))
            law = _chosen_law(left_out)
            new[name] = best[law]
            if len(best) > 1:
                entries += _law_entries(name, [parameters[ks[k]] for k in best], left_out, law,
                                        _target(factors, parameters[ks[0]].owner))
        if new == picked:
            break
        picked = new
    return picked, entries


def _best_of_laws(residuals, laws):
    """Return the index of the least residual of every law, in the order of ``laws``."""
    return [min((k for k, own in enumerate(laws) if own == law), key=residuals.__getitem__)
            for law in dict.fromkeys(laws)]


def _bounded(folds, beta, columns, ks, best, parameters):
    """
    Return the constant of least residual, ``best``, unless it is the last that was tried.

    The data do not bound that one: then the first is taken that predicts folds left out as well
    within a standard error.
    """
    own = [k for k in range(len(ks)) if parameters[ks[k]].law == parameters[ks[best]].law]
    if best != own[-1] or len(own) < 2 or len(folds) < 2:
        return best
    left_out = _left_out(folds, beta, columns, [ks[k] for k in own], parameters)
    gains = [log_ratio(left_out[:, n], left_out[:, -1]) for n in range(len(own))]
    return next((k for k, (worse, error) in zip(own, gains) if worse <= error), best)


def _chosen_law(left_out):
    """Return which column of squared errors (folds, laws) is chosen: the first, or a better."""
    chosen = 0
    for law in range(1, left_out.shape[1]):
        gain, error = log_ratio(left_out[:, law], left_out[:, chosen])
        if gain < -(error if len(left_out) > 1 else LEAST):
            chosen = law
    return chosen


def log_ratio(errors: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """
    Return the mean logarithm of the ratio of squared errors, and its standard error.

    errors, others : (count,) or (sets, count) of independent stretches, of two models
    """
    ratios = np.nanmean(np.atleast_2d(np.log(errors / others)), axis=0)
    return float(ratios.mean()), float(ratios.std(ddof=1) / np.sqrt(len(ratios))
                                       ) if len(ratios) > 1 else 0.0


def _left_out(folds, beta, columns, ks, parameters):
    """
    Return the squared error (folds, len(ks)) of folds left out, by each of the alternatives.

    The joint's other friction is free, all else is held; of one fold the error is in sample.
    """
    owner, laws = parameters[ks[0]].owner, {parameters[k].name for k in ks}
    free = [c for c in columns if parameters[c].law and parameters[c].owner == owner
            and parameters[c].name not in laws]
    held = [i for i, c in enumerate(columns) if c not in free and parameters[c].name not in laws]
    grams = np.zeros((len(folds), *2 * [len(free) + len(ks) + 1]))
    for gram, fold in zip(grams, folds):
        size = fold.size
        groups = [fold.groups[owner]] if owner in fold.groups else list(fold.groups.values())
        for group in groups:
            W = group.equations(size)
            rows = np.column_stack([W[:, free], W[:, list(ks)],
                                    group.R[:, -2] - W[:, columns[held]] @ beta[held]])
            gram += rows.T @ rows
    places = np.array([np.r_[:len(free), len(free) + n, -1] for n in range(len(ks))])
    own = grams[:, places[:, :, None], places[:, None, :]]  # (folds, laws, k, k)
    rest = own.sum(0) - own if len(folds) > 1 else own
    x = np.linalg.pinv(rest[..., :-1, :-1], rcond=1e-12, hermitian=True) @ rest[..., :-1, -1:]
    x = np.concatenate([-x, np.ones_like(x[..., :1, :])], axis=-2)[..., 0]
    squares = np.einsum('...i,...ij,...j->...', x, own, x)
    return np.maximum(squares, TINY * own[..., -1, -1] + 1e-300)


def _target(factors, owner):
    """Return the squared target of the rows that show a joint's friction."""
    groups = {owner: factors.groups[owner]} if owner in factors.groups else factors.groups
    return sum(g.target() ** 2 for g in groups.values())


def _law_entries(name, candidates, left_out, chosen, target):
    """Return entries of ``statistics['choices']`` of the laws of one coefficient."""
    entries = []
    for k, parameter in enumerate(candidates):
        law, constant, edge = LAWS[parameter.law], parameter.nonlinear or 0.0, ''
        tried = [x for x in law.nonlinear_values if x is not None]
        if constant <= min(tried) * 1.01:
            edge = ' (least tried: as sharp as a step)'
        elif constant >= max(tried) * 0.99:
            edge = ' (largest tried)'
        worse, error = log_ratio(left_out[:, k], left_out[:, chosen])
        entries.append({
            'what': f'{name} of {parameter.owner}',
            'candidate': f'{parameter.law}, {constant:.2g} '
                         f'{nonlinear_unit(parameter.law, parameter.unit)}{edge}',
            'left_out_error': float(100.0 * np.sqrt(left_out[:, k].sum() / max(target, 1e-300))),
            'worse_percent': float(50.0 * worse),
            'worse_error_percent': float(50.0 * error), 'chosen': k == chosen})
    return entries


def _residuals(factors, beta, columns, choice, parameters):
    """
    Return what each alternative leaves, the joint's other friction free, all else held.

    Friction of a joint without rows of its own (a dependent joint of a closed loop) shows in all.
    """
    owner = parameters[choice[0]].owner
    groups = factors.groups
    groups = [groups[owner]] if owner in groups else list(groups.values())
    size = factors.size
    W, free = np.vstack([group.equations(size) for group in groups]), []
    residual = np.concatenate([group.R[:, -2] for group in groups])
    for column, value in zip(columns, beta):
        if column in choice:
            continue
        if parameters[column].law and parameters[column].owner == owner:
            free.append(column)
        else:
            residual = residual - W[:, column] * value
    out = []
    for candidate in choice:
        # What may have either sign is taken off; the others are not negative.
        own = [*free, candidate]
        signed = [c for c in own if LAWS[parameters[c].law].signed]
        basis = _basis(W[:, signed])
        out.append(_left(*(x - basis @ (basis.T @ x) for x in (
            W[:, [c for c in own if c not in signed]], residual))))
    return out


def _left(A, b):
    """Return what columns A (m, k) times numbers that are not negative leave of b (m,)."""
    size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    try:
        return float(nnls(A / size, b, maxiter=100 * A.shape[1])[1])
    except RuntimeError:  # columns that differ by rounding alone: they explain nothing for sure
        return float(np.linalg.norm(b))


def _basis(A):
    """Return an orthonormal basis of the columns of A (m, k), scaled alike."""
    U, s, _ = np.linalg.svd(A / np.maximum(np.linalg.norm(A, axis=0), 1e-300),
                            full_matrices=False)
    return U[:, s > 1e-10 * s.max(initial=0.0)]
