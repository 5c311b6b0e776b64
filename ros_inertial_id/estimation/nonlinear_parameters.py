"""
Nonlinear parameters: the constants inside a friction law that are not linear, one per joint.

Columns for every constant tried are accumulated together with the others, so a choice needs no
second look at the data: separable least squares over a grid (Golub and Pereyra 1973), see
``choose_nonlinear``.  ``refine_nonlinear`` then leaves the grid and gives
standard errors: between the constants tried a column is their cubic interpolation over the
logarithm, so that this too is done on R factors, what does not depend on the constants eliminated
once (variable projection).
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
import math
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from .base_parameters import BaseParameters
from .estimators import (effective_standard_deviation, FULL_RANK, group_standard_deviation,
                         params_of, Problem, reciprocal_condition, ridge)
from .r_factors import RFactors, triangle
from ..dynamics.friction import LAWS
from ..dynamics.inertial_parameters import Parameter

STEP = 0.01      # of the logarithm of a nonlinear parameter, for its derivative
PASSES = 8       # while refining
SWEEPS = 10      # joint by joint, until nothing changes
SETTLED = 1e-3   # of the logarithm: a thousandth of the parameter


@dataclass(frozen=True)
class Grid:
    """
    The columns for all constants tried.

    factors : about the b base columns, then the further alternatives; parameters : Parameter of
    every column; places : name -> its base column; choices : name -> columns of its chosen law
    """

    factors: RFactors
    places: Mapping[str, int]
    choices: Mapping[str, Sequence[int]]
    parameters: tuple[Parameter, ...]

    def logarithms(self, name: str) -> np.ndarray:
        """Return the logarithms of the constants tried for a coefficient, increasing."""
        return np.log([self.parameters[k].nonlinear or 0.0 for k in self.choices[name]])

    def weights(self, name: str, logarithm: float) -> np.ndarray:
        """
        Return (p,) what the column at exp(logarithm) is of the columns of the grid.

        logarithm : of the constant between those tried
        """
        out = np.zeros(self.factors.size)
        out[list(self.choices[name])] = _interpolation(self.logarithms(name).tolist(), logarithm)
        return out

    def columns(self, base: BaseParameters) -> np.ndarray:
        """
        Return T (p, b): the columns of base parameters with constants between those tried.

        base : with b base parameters
        """
        T = np.eye(self.factors.size)[:, :len(base)]
        for name, place in self.places.items():
            constant = base.parameters[base.independent[place]].nonlinear
            T[:, place] = self.weights(name, np.log(constant))
        return T


def _interpolation(nodes, x):
    """Return the weights of values at ``nodes`` (a list) in their cubic at x (Lagrange)."""
    out = [0.0] * len(nodes)
    first = min(max(bisect_left(nodes, x) - 2, 0), max(0, len(nodes) - 4))
    near = range(first, min(first + 4, len(nodes)))
    for k in near:
        out[k] = math.prod((x - nodes[j]) / (nodes[k] - nodes[j]) for j in near if j != k)
    return out


def alternatives(parameters: Sequence[Parameter]) -> dict[str, list[int]]:
    """
    Return {name: [column, ...]} of parameters that differ in their nonlinear parameter alone.

    parameters : (p,) of the columns
    """
    columns: dict[str, list[int]] = {}
    for k, parameter in enumerate(parameters):
        columns.setdefault(parameter.name, []).append(k)
    return {name: ks for name, ks in columns.items() if len(ks) > 1}


def one_alternative(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Return the ``parameters`` with one alone of every set: the middle one of the last law."""
    drop: set[int] = set()
    for ks in alternatives(parameters).values():
        last = [k for k in ks if parameters[k].law == parameters[ks[-1]].law]
        drop |= set(ks) - {last[len(last) // 2]}
    return tuple(p for k, p in enumerate(parameters) if k not in drop)


@dataclass(frozen=True)
class RefinedNonlinear:
    """
    Nonlinear parameters off the grid.

    base, factors : with the refined columns
    values : name of the coefficient -> {value, standard_error}; the error is None where the data
        do not bound the constant (its column is collinear with others)
    inflation : (b, b) what not knowing the constants adds to the covariance of base parameters
    """

    base: BaseParameters
    factors: RFactors
    values: dict[str, dict[str, Any]]
    inflation: np.ndarray


def refine_nonlinear(problem: Problem, standard_deviation: Mapping[str, float],
                     laws: Collection[str] | None = None) -> RefinedNonlinear:
    """
    Return the RefinedNonlinear near those of ``problem.base``, by Gauss-Newton over all at once.

    Every pass needs the columns at the constants and a step beside them, from ``problem.grid``;
    the derivative by the logarithm of a constant is one more column (Kaufman 1975), so standard
    errors are of constants and coefficients together.
    standard_deviation : group -> of its rows, to start with
    laws : names of those to refine, default all that have such a constant
    """
    base, grid = problem.base, problem.grid
    places = [i for i, k in enumerate(base.independent) if base.parameters[k].nonlinear
              and (laws is None or base.parameters[k].law in laws)]
    current = np.log([base.parameters[base.independent[i]].nonlinear for i in places])
    tried = [grid.logarithms(base.parameters[base.independent[i]].name) for i in places]
    low, high = np.array([(x[0], x[-1]) for x in tried]).T  # what is not bounded runs away
    rows = _stacked(grid, effective_standard_deviation(problem, standard_deviation))
    length = 1.0
    best: Any = None
    for _ in range(PASSES):
        _, move, cost, _ = _gauss_newton(grid, base, rows, places, current)
        if best is not None and cost > best[0]:
            length /= 4.0  # overshot: a shorter step from the best so far
        else:
            best, length = (cost, current, np.clip(move, -0.7, 0.7)), 1.0
        if length * np.abs(best[2]).max() < SETTLED:
            break
        current = np.clip(best[1] + length * best[2], low, high)
    current = best[1]
    reached = _at(base, places, current)
    factors = grid.factors.combine(grid.columns(reached))
    beta = _gauss_newton(grid, base, rows, places, current)[0]
    # A wrong constant leaves more than noise: errors by what the last one leaves.
    rows = _stacked(grid, effective_standard_deviation(problem, group_standard_deviation(
        replace(problem, factors=factors), beta)))
    # At the end of its grid a constant hardly matters beyond it: known to a factor e, no less.
    edge = np.flatnonzero((current <= low) | (current >= high))
    slopes = _gauss_newton(grid, base, rows, places, current)[3]
    covariance = _covariance(base, np.vstack([slopes, np.eye(slopes.shape[1])[len(base) + edge]]))
    size, values = len(base), {}
    for n, i in enumerate(places):
        error = float(np.sqrt(covariance[size + n, size + n]))
        bounded = error < 1.0 and low[n] < current[n] < high[n]
        value = float(np.exp(current[n]))
        values[base.parameters[base.independent[i]].name] = {
            'value': value, 'standard_error': value * error if bounded else None}
    across = covariance[:size, size:]
    inflation = across @ np.linalg.pinv(covariance[size:, size:]) @ across.T
    return RefinedNonlinear(reached, factors, values, (inflation + inflation.T) / 2)


def _at(base, places, logarithms):
    """Return the BaseParameters with other nonlinear parameters."""
    parameters = list(base.parameters)
    for i, value in zip(places, logarithms):
        k = base.independent[i]
        parameters[k] = replace(parameters[k], nonlinear=float(np.exp(value)))
    return replace(base, parameters=tuple(parameters))


def _stacked(grid, sigma):
    """Return the triangle of [W, y] of all columns of a Grid, weighted by ``sigma``."""
    factors = grid.factors
    return triangle(np.asfortranarray(np.vstack(
        [np.column_stack([group.equations(factors.size), group.R[:, -2]]) / sigma[name]
         for name, group in factors.groups.items()])))


def _gauss_newton(grid, base, rows, places, logarithms):
    """
    Return coefficients (b,), step of the logarithms (s,), squared residual, scaled rows.

    Those are (m, b + s): the columns at the constants, and the slopes by them.
    """
    size, scale = len(base), base.prior_sd
    slopes = [grid.columns(_at(base, places, logarithms))]
    for i, value in zip(places, logarithms):
        name = base.parameters[base.independent[i]].name
        slopes.append((grid.weights(name, value + STEP) - grid.weights(name, value - STEP)
                       )[:, None] / (2 * STEP))
    R = triangle(np.asfortranarray(np.column_stack(
        [rows[:, :-1] @ np.hstack(slopes), rows[:, -1]])))
    R[:, :size] *= scale
    target = R[:, -1]
    whole = reciprocal_condition(R[:size, :size]) > FULL_RANK
    if whole:
        solution = solve_triangular(R[:size, :size], target[:size])
    else:
        solution, *_ = np.linalg.lstsq(R[:, :size], target, rcond=1e-12)
    beta = scale * solution
    R[:, size:-1] *= beta[places]
    residual = target - R[:, :size] @ solution
    beside = R[size:, size:-1] if whole else R[:, :-1]
    move, *_ = np.linalg.lstsq(beside, residual[size:] if whole else residual, rcond=1e-9)
    return beta, move[-len(places):], float(residual @ residual), R[:, :-1]


def _covariance(base, rows):
    """Return the covariance (b + s, b + s) of coefficients and logarithms by scaled rows."""
    _, s, Vt = np.linalg.svd(rows, full_matrices=False)
    # Directions without data keep the prior, or a constant known to a factor e.
    half = Vt.T * np.where(s > 1e-9 * s[0], np.minimum(1.0 / np.maximum(s, 1e-300), 1e3), 1e3)
    half = half * np.append(base.prior_sd, np.ones(rows.shape[1] - len(base)))[:, None]
    return half @ half.T


def choose_nonlinear(factors: RFactors, base: BaseParameters,
                     choices: Mapping[str, Sequence[int]], parameters: Sequence[Parameter]
                     ) -> dict[str, int]:
    """
    Return {name: chosen index into ``choices[name]``}: of least residual, joint by joint.

    factors : RFactors about the b base columns, then the further alternatives
    choices : name -> columns of the R factors of the alternatives, the first one a base column
    parameters : Parameter of every one of these columns

    Friction does not drive in any of them: else wide steps stand against others of negative sign.
    """
    picked = {name: 0 for name in choices}
    for _ in range(SWEEPS):
        columns = np.arange(len(base))
        for name, k in picked.items():
            columns[choices[name][0]] = choices[name][k]
        beta = params_of(ridge)(Problem(factors.select(columns), base, {}))
        new = {name: int(np.argmin(_residuals(factors, beta, columns, ks, parameters)))
               for name, ks in choices.items()}
        if new == picked:
            break
        picked = new
    return picked


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
