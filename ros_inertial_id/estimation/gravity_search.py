"""
The search for gravity's direction: two angles around a linear problem.

Variable projection (Golub and Pereyra 1973) with Gauss-Newton steps of Kaufman's kind, on rows
that are affine in gravity; standard errors are with all parameters free.
"""

from dataclasses import dataclass

import numpy as np

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
    standard_deviation: dict
    relative: float


@dataclass(frozen=True)
class GravitySearch:
    """Information about [W0, Gx, Gy, Gz] of the base columns, and weights per group."""

    base: object
    factors: RFactors
    correlation: dict = None
    standard_deviation: dict = None

    def system(self, gravity, standard_deviation):
        """Return the stacked weighted rows (m, b), targets (m,) and slopes (3, m, b)."""
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

    def minima(self, prior):
        """Return the best Minimum over all directions, and that of the opposite half-space."""
        found = sorted((self._profile(d, prior), tuple(d)) for d in _sphere(DIRECTIONS))
        best = min((self.refine(np.array(d), prior) for _, d in found[:3]),
                   key=lambda m: m.cost)
        weighed = GravitySearch(self.base, self.factors, self.correlation, best.standard_deviation)
        best = weighed.refine(best.direction, prior)
        return best, weighed.refine(-best.direction, prior)

    def _profile(self, direction, prior):
        A, y, _ = self.system(STANDARD_GRAVITY * direction, self.standard_deviation)
        return np.linalg.norm(y - A @ self._solve(A, y, prior))

    def _solve(self, A, y, prior):
        if prior is not None:
            A, y = np.vstack([A, prior[0]]), np.concatenate([y, prior[1]])
        scale = np.sqrt(np.diag(self.base.prior_covariance()))
        change, *_ = np.linalg.lstsq(A * scale, y, rcond=1e-10)
        return scale * change

    def refine(self, direction, prior):
        """Return the Minimum that Gauss-Newton reaches from a direction (3,)."""
        length = 1.0
        for _ in range(STEPS):
            A, y, G = self.system(STANDARD_GRAVITY * direction, self.standard_deviation)
            beta = self._solve(A, y, prior)
            T = tangent(direction)
            J = STANDARD_GRAVITY * np.einsum('kmb,b,kj->mj', G, beta, T)
            rest, whole = y - A @ beta, A
            if prior is not None:
                rest = np.concatenate([rest, prior[1] - prior[0] @ beta])
                whole, J = np.vstack([A, prior[0]]), np.vstack([J, np.zeros((len(beta), 2))])
            scale = np.sqrt(np.diag(self.base.prior_covariance()))
            basis = _orthonormal(whole * scale)
            J = J - basis @ (basis.T @ J)
            step, *_ = np.linalg.lstsq(J, rest - basis @ (basis.T @ rest), rcond=None)
            length = min(1.0, 0.3 / max(np.linalg.norm(step), 1e-300))
            if np.linalg.norm(step) < SMALL:
                break
            direction = direction + T @ (length * step)
            direction = direction / np.linalg.norm(direction)
        standard_deviation, relative = self._residual(direction, beta)
        return Minimum(direction, float(rest @ rest), np.linalg.pinv(J.T @ J), beta, standard_deviation,
                       relative)

    def evidence(self, one, other):
        """Return the log likelihood ratio of two Minimum, each with its own variances."""
        out = 0.0
        for name, group in self.factors.groups.items():
            news = group.rows / (self.correlation or {}).get(name, 1.0)
            out += news * np.log(other.standard_deviation[name] / one.standard_deviation[name])
        return float(out)

    def _residual(self, direction, beta):
        bare = GravitySearch(self.base, self.factors)
        A, y, _ = bare.system(STANDARD_GRAVITY * direction, None)
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


def heavy_columns(base):
    """Return which of the base columns gravity acts on: masses and first moments."""
    return np.array([i for i, k in enumerate(base.independent)
                     if not base.parameters[k].law and base.parameters[k].unit in ('kg', 'kg m')])


def tangent(direction):
    """Return two orthonormal vectors (3, 2) across a unit vector."""
    Q, _ = np.linalg.qr(np.column_stack([direction, np.eye(3)[:, np.argsort(np.abs(direction))]]))
    return Q[:, 1:3]


def _sphere(count):
    """Return directions (count, 3) evenly spread (Fibonacci spiral)."""
    k = np.arange(count) + 0.5
    z, turn = 1.0 - 2.0 * k / count, np.pi * (1.0 + 5 ** 0.5) * k
    across = np.sqrt(1.0 - z ** 2)
    return np.column_stack([across * np.cos(turn), across * np.sin(turn), z])
