"""
The search for gravity's direction: two angles around a linear problem.

Variable projection (Golub and Pereyra 1973) with Gauss-Newton steps of Kaufman's kind, on rows
that are affine in gravity; standard errors are with all parameters free.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from .base_parameters import BaseParameters
from .r_factors import RFactors
from ..dynamics.robot_model import STANDARD_GRAVITY

DIRECTIONS = 60  # of the first search: 15 degrees apart
STEPS = 30
SMALL = 1e-9     # rad, the last step


@dataclass(frozen=True)
class Minimum:
    """A local minimum: direction, weighted cost, covariance of the angles, base parameters."""

    direction: np.ndarray
    cost: float
    covariance: np.ndarray
    params: np.ndarray
    standard_deviation: dict[str, float]
    relative: float


@dataclass(frozen=True)
class GravitySearch:
    """
    R factors about [W0, Gx, Gy, Gz] of the base columns, and weights per group.

    magnitude : of gravity [m/s^2]
    """

    base: BaseParameters
    factors: RFactors
    correlation: Mapping[str, float] | None = None
    standard_deviation: Mapping[str, float] | None = None
    magnitude: float = STANDARD_GRAVITY

    def system(self, gravity: np.ndarray, standard_deviation: Mapping[str, float] | None
               ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return the stacked weighted rows (m, b), targets (m,) and slopes (3, m, b).

        gravity : (3,) in the base frame [m/s^2]
        standard_deviation : group -> of its rows; None: ones
        """
        size, heavy = len(self.base), heavy_columns(self.base)
        A, y, G = [], [], []
        for name, group in self.factors.groups.items():
            full = group.equations(self.factors.size)
            slope = np.zeros((3, len(full), size))
            for k in range(3):
                slope[k][:, heavy] = full[:, size + k * len(heavy):][:, :len(heavy)]
            scale = 1.0 / standard_deviation[name] if standard_deviation else 1.0
            if self.correlation:
                scale /= np.sqrt(self.correlation.get(name, 1.0))
            A.append(scale * (full[:, :size] + np.tensordot(gravity, slope, 1)))
            y.append(scale * group.R[:, -2])
            G.append(scale * slope)
        return np.vstack(A), np.concatenate(y), np.concatenate(G, axis=1)

    def minima(self, prior: tuple[np.ndarray, np.ndarray] | None) -> tuple[Minimum, Minimum]:
        """
        Return the best Minimum over all directions, and that of the opposite half-space.

        prior : rows (A, b) about the base parameters, see ``prior_rows``; None: without
        """
        profiles = sorted((self._profile(d, prior), tuple(d)) for d in sphere(DIRECTIONS))
        best = min((self.refine(np.array(d), prior) for _, d in profiles[:3]),
                   key=lambda m: m.cost)
        weighted = replace(self, standard_deviation=best.standard_deviation)
        best = weighted.refine(best.direction, prior)
        return best, weighted.refine(-best.direction, prior)

    def _profile(self, direction, prior):
        A, y, _ = self.system(self.magnitude * direction, self.standard_deviation)
        return np.linalg.norm(y - A @ self._solve(A, y, prior))

    def _solve(self, A, y, prior):
        if prior is not None:
            A, y = np.vstack([A, prior[0]]), np.concatenate([y, prior[1]])
        scale = self.base.prior_sd
        change, *_ = np.linalg.lstsq(A * scale, y, rcond=1e-10)
        return scale * change

    def refine(self, direction: np.ndarray,
               prior: tuple[np.ndarray, np.ndarray] | None) -> Minimum:
        """
        Return the Minimum that Gauss-Newton reaches from a direction (3,).

        direction : unit vector in the base frame; prior : see ``minima``
        """
        length = 1.0
        for _ in range(STEPS):
            A, y, G = self.system(self.magnitude * direction, self.standard_deviation)
            beta = self._solve(A, y, prior)
            T = tangent(direction)
            J = self.magnitude * np.einsum('kmb,b,kj->mj', G, beta, T)
            residual, whole = y - A @ beta, A
            if prior is not None:
                residual = np.concatenate([residual, prior[1] - prior[0] @ beta])
                whole, J = np.vstack([A, prior[0]]), np.vstack([J, np.zeros((len(beta), 2))])
            scale = self.base.prior_sd
            basis = _orthonormal(whole * scale)
            J = J - basis @ (basis.T @ J)
            step, *_ = np.linalg.lstsq(J, residual - basis @ (basis.T @ residual), rcond=None)
            length = min(1.0, 0.3 / max(float(np.linalg.norm(step)), 1e-300))
            if np.linalg.norm(step) < SMALL:
                break
            direction = turned(direction, T, length * step)
        standard_deviation, relative = self._residual(direction, beta)
        return Minimum(direction, float(residual @ residual), np.linalg.pinv(J.T @ J), beta,
                       standard_deviation, relative)

    def evidence(self, one: Minimum, other: Minimum) -> float:
        """Return the log likelihood ratio of two Minimum, each with its own variances."""
        out = 0.0
        for name, group in self.factors.groups.items():
            effective = group.rows / (self.correlation or {}).get(name, 1.0)
            out += effective * np.log(other.standard_deviation[name]
                                      / one.standard_deviation[name])
        return float(out)

    def _residual(self, direction, beta):
        bare = GravitySearch(self.base, self.factors, magnitude=self.magnitude)
        A, y, _ = bare.system(self.magnitude * direction, None)
        error, out, low = y - A @ beta, {}, 0
        for name, group in self.factors.groups.items():
            high = low + len(group.R)
            free = max(1.0, group.rows - (len(beta) + 2) / len(self.factors.groups))
            floor = 1e-12 * np.linalg.norm(y[low:high])
            out[name] = max(np.linalg.norm(error[low:high]), floor, 1e-300) / np.sqrt(free)
            low = high
        return out, float(np.linalg.norm(error) / np.linalg.norm(y))


def _orthonormal(A):
    """Return a basis of the columns of A."""
    U, s, _ = np.linalg.svd(A, full_matrices=False)
    return U[:, s > 1e-10 * s[0]]


def heavy_columns(base: BaseParameters) -> np.ndarray:
    """
    Return which of the base columns gravity acts on: masses and first moments.

    base : with b base parameters
    """
    return np.array([i for i, k in enumerate(base.independent)
                     if not base.parameters[k].law and base.parameters[k].unit in ('kg', 'kg m')])


def tangent(direction: np.ndarray) -> np.ndarray:
    """
    Return two orthonormal vectors (3, 2) across a unit vector.

    direction : (3,)
    """
    Q, _ = np.linalg.qr(np.column_stack([direction, np.eye(3)[:, np.argsort(np.abs(direction))]]))
    return Q[:, 1:3]


def turned(direction: np.ndarray, across: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """
    Return a unit vector turned by small angles.

    direction : (3,) unit vector; across : (3, 2) two across it; angles : (2,) towards these [rad]
    """
    moved = direction + across @ angles
    return np.asarray(moved / np.linalg.norm(moved))


def across_gravity(gravity: np.ndarray) -> np.ndarray:
    """Return unit vectors (3, 2) across ``gravity`` (3,), their cross product along it."""
    direction = gravity / np.linalg.norm(gravity)
    across = tangent(direction)
    return across if np.cross(*across.T) @ direction > 0.0 else across[:, ::-1]


def sphere(count: int) -> np.ndarray:
    """Return directions (count, 3) evenly spread (Fibonacci spiral)."""
    k = np.arange(count) + 0.5
    z, turn = 1.0 - 2.0 * k / count, np.pi * (1.0 + 5 ** 0.5) * k
    across = np.sqrt(1.0 - z ** 2)
    return np.column_stack([across * np.cos(turn), across * np.sin(turn), z])
