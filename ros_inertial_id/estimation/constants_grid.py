"""
The grid of constants tried inside friction laws, whose columns were accumulated together.

Between the constants tried a column is their cubic interpolation over the logarithm, so that the
residual at any constant follows from R factors, with all coefficients free (variable projection,
Golub and Pereyra 1973): what does not depend on the constants is eliminated once.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math

import numpy as np
from scipy.linalg import solve_triangular

from .base_parameters import BaseParameters
from .problem import FULL_RANK, reciprocal_condition
from .r_factors import RFactors, triangle
from ..dynamics.inertial_parameters import Parameter

STEP = 0.01      # of the logarithm of a nonlinear parameter, for its derivative


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


class Profile:
    """
    The residual over the logarithms (s,) of some constants of a Grid, its coefficients free.

    grid : of the b base parameters of ``base``; places : (s,) theirs; sigma : group -> of its rows
    """

    def __init__(self, grid: Grid, base: BaseParameters, places: Sequence[int],
                 sigma: Mapping[str, float]) -> None:
        names = [base.parameters[base.independent[i]].name for i in places]
        self._nodes = [grid.logarithms(name).tolist() for name in names]
        others = [i for i in range(len(base)) if i not in places]
        tried = np.eye(grid.factors.size)[:, [k for name in names for k in grid.choices[name]]]
        T = np.hstack([grid.columns(base)[:, others], tried])
        R = triangle(np.asfortranarray(np.vstack([
            np.column_stack([group.R[:, :-2] @ T[group.columns], group.R[:, -2]]) / sigma[name]
            for name, group in grid.factors.groups.items()])))
        split = self._split = len(others)
        self._scale = base.prior_sd[others + list(places)]
        self._fixed, self._across = R[:split, :split], R[:split, split:]
        self._rows = R[split:, split:]

    def step(self, logarithms: np.ndarray) -> tuple[np.ndarray, float] | None:
        """
        Return the (s,) Gauss-Newton step and the squared residual; None where rank is lacking.

        logarithms : (s,) of the constants (Kaufman 1975)
        """
        count = len(logarithms)
        T = np.zeros((self._rows.shape[1], 2 * count + 1))
        T[-1, -1], low = 1.0, 0
        for n, (nodes, x) in enumerate(zip(self._nodes, logarithms.tolist())):
            T[low:low + len(nodes), n] = _interpolation(nodes, x)
            ahead, behind = (_interpolation(nodes, x + s) for s in (STEP, -STEP))
            T[low:low + len(nodes), count + n] = np.subtract(ahead, behind) / (2 * STEP)
            low += len(nodes)
        R = triangle(np.asfortranarray(self._rows @ T))
        own, slopes = R[:count, :count], R[count:, count:-1]
        whole = np.zeros((self._split + count,) * 2)
        whole[:self._split, :self._split] = self._fixed
        whole[:self._split, self._split:] = self._across @ T[:, :count]
        whole[self._split:, self._split:] = own
        if reciprocal_condition(whole * self._scale) <= FULL_RANK:
            return None
        beta, residual = solve_triangular(own, R[:count, -1]), R[count:, -1]
        move, *_ = np.linalg.lstsq(slopes * beta, residual, rcond=1e-9)
        return move, float(residual @ residual)
