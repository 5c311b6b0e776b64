"""
The direction of gravity as a check in every identification of a tree robot's joint torques.

A tilt of the base pulls at all links alike: two angles, linear where they are small, join the
parameters of the physically consistent estimate in one Gauss-Newton step, with the curvature of
its prior (Laplace approximation).  Free inertias would explain much of a tilt; consistent ones
cannot.  Stretches of the motion left out one by one give a covariance that model errors do not
shrink.  A spring in every joint can explain a tilt, too: where the data show none beside springs,
a second check leaves those out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..reduce.stretches import as_wide, FEWEST, joined
from ...dynamics.friction import LAWS
from ...estimation.consistency import prior_curvature
from ...estimation.estimators import Estimate
from ...estimation.gravity_search import tangent
from ...estimation.problem import effective_standard_deviation, Problem
from ...estimation.r_factors import RFactors
from ...jackknife import deviations

OVERWHELMING = 5.0  # nats, odds of 150 to 1: from which what is found replaces what is given
TILT = 0.05  # [rad] by how much a base is tilted that is called upright: prior standard deviation
LEAST = 0.002  # [rad] of tilt, a tenth of a degree: the same mounting
LARGEST = 0.35  # [rad] of tilt; beyond it the description is likelier wrong than the mounting


@dataclass(frozen=True)
class GravityCheck:
    """
    The direction of gravity that the torques show, against the given one, in the base frame.

    given, direction : (3,) unit vectors; covariance : (2, 2) of the angles [rad^2]
    evidence_nats : log odds against ``given``; halves_agree : both halves of the data prefer
        ``direction``, within 3 standard errors of each other
    sensitivity : (b, 2) change of the base parameters by the angles [1/rad]
    without_springs : the check without the torques that depend on the position alone, None where
        there are none or ``direction`` is overwhelming beside them
    """

    given: np.ndarray
    direction: np.ndarray
    covariance: np.ndarray
    evidence_nats: float
    halves_agree: bool
    sensitivity: np.ndarray
    without_springs: 'GravityCheck | None' = None

    @property
    def tilt(self) -> float:
        """Return the angle between both directions [rad]."""
        return float(np.arctan2(np.linalg.norm(np.cross(self.given, self.direction)),
                                self.given @ self.direction))

    @property
    def overwhelming(self) -> bool:
        """Return whether ``direction`` is to be used where nobody insists on ``given``."""
        return bool(self.evidence_nats > OVERWHELMING and self.halves_agree
                    and LEAST < self.tilt < LARGEST)

    def errors(self) -> np.ndarray:
        """Return H (b, 2): errors of the base parameters by the direction's, of unit size."""
        return self.sensitivity @ np.linalg.cholesky(self.covariance)

    def choices(self, used: bool) -> list[dict[str, Any]]:
        """Return the entries of ``statistics['choices']``; used : whether direction is used."""
        error = np.degrees(np.sqrt(np.linalg.eigvalsh(self.covariance)[-1]))
        found = (f'{np.round(self.direction, 4).tolist()}, tilted by '
                 f'{np.degrees(self.tilt):.2f} +- {error:.2f} deg'
                 + ('' if self.halves_agree else ' (the halves of the data disagree)'))
        entry = {'what': 'gravity direction', 'left_out_error': None,
                 'tilt_deg': float(np.degrees(self.tilt)), 'halves_agree': self.halves_agree}
        return [{**entry, 'candidate': 'as given', 'evidence': -self.evidence_nats,
                 'chosen': not used},
                {**entry, 'candidate': found, 'evidence': self.evidence_nats, 'chosen': used}]


def across_gravity(gravity: np.ndarray) -> np.ndarray:
    """Return unit vectors (3, 2) across ``gravity`` (3,), their cross product along it."""
    direction = gravity / np.linalg.norm(gravity)
    across = tangent(direction)
    return across if np.cross(*across.T) @ direction > 0.0 else across[:, ::-1]


def check_gravity(problem: Problem, estimate: Estimate, values: np.ndarray,
                  folds: Sequence[RFactors], across: np.ndarray) -> GravityCheck | None:
    """
    Return the GravityCheck, None where there are too few stretches of motion.

    values : (p,) physically consistent standard parameters
    folds : of ``Passes.stretches`` with these values; across : (3, 2) as there
    """
    if len(folds) < FEWEST:
        return None
    step = _Step(problem, estimate, values)
    systems = np.array([step.normal(f) for f in folds])
    check = _check(step, systems, joined(problem, systems), across)
    if check.overwhelming or not step.springs.any():
        return check
    step.used = ~step.springs
    return replace(check, without_springs=_check(step, systems, joined(problem, systems), across))


def _check(step: '_Step', systems: np.ndarray, longer: np.ndarray, across: np.ndarray
           ) -> GravityCheck:
    """Return the GravityCheck by normal equations of stretches, and of ``longer`` ones."""
    whole, count = systems.sum(0), len(systems)
    angles, curvature = step.solve(whole)
    jackknife = _jackknife(step, whole, systems)
    square = angles @ np.linalg.solve(jackknife, angles)
    # Of a covariance with count - 1 degrees of freedom: Student's t instead of the normal.
    nats = min(0.5 * angles @ np.linalg.solve(curvature, angles),
               0.5 * (count - 1) * np.log1p(square / (count - 1)))
    covariance = max(jackknife, curvature, key=np.trace)
    stated = as_wide(len(longer) - 1) ** 2 * _jackknife(step, whole, longer)
    # Every other stretch: half of a trajectory alone may show no gravity direction.
    one, two = (step.solve(part.sum(0))[0] for part in (systems[::2], systems[1::2]))
    apart = (one - two) @ np.linalg.solve(4.0 * covariance, one - two)
    agree = apart < 9.0 and all(np.linalg.norm(x - angles) < np.linalg.norm(x)
                                for x in (one, two))
    given = np.cross(across[:, 0], across[:, 1])
    direction = given + across @ angles
    return GravityCheck(given, direction / np.linalg.norm(direction),
                        max(covariance, stated, key=np.trace), float(nats), bool(agree),
                        step.sensitivity(whole))


def _jackknife(step: '_Step', whole: np.ndarray, systems: np.ndarray) -> np.ndarray:
    """Return the covariance (2, 2) of the angles by leaving each of the ``systems`` out."""
    away = deviations(np.array([step.solve(whole - own)[0] for own in systems]))
    return away.T @ away + 1e-14 * np.eye(2)


class _Step:
    """One Gauss-Newton step of base parameters (b,) and two angles from those of ``values``."""

    def __init__(self, problem, estimate, values):
        self.sigma = effective_standard_deviation(problem, estimate.standard_deviation)
        self.base = problem.base
        gradient, hessian = prior_curvature(problem, estimate, values)
        # Of the base parameters alone: what no row shows is at the minimum of the prior.
        K, b = problem.base.matrix(), len(problem.base)
        size = 1.0 / np.sqrt(np.diag(hessian))
        spread = K @ (size[:, None] * np.linalg.solve(
            hessian * size * size[:, None], size[:, None] * np.column_stack([K.T, gradient])))
        scale = 1.0 / np.sqrt(np.diag(spread))
        inverse = np.linalg.inv(spread[:, :b] * scale * scale[:, None]) * scale * scale[:, None]
        self.prior = np.zeros((b + 2, b + 2))
        self.prior[:b, :b], self.prior[b:, b:] = inverse, np.eye(2) / TILT ** 2
        self.gradient = np.append(inverse @ spread[:, b], [0.0, 0.0])
        self.start = np.append(K @ values, [0.0, 0.0])
        laws = [LAWS.get(problem.base.parameters[i].law) for i in problem.base.independent]
        self.springs = np.array([bool(law and law.position) for law in laws] + [False, False])
        # The fit is linear in them, so that it may begin at zero with them and without.
        self.start[self.springs] = self.gradient[self.springs] = 0.0
        self.used = np.ones(b + 2, dtype=bool)

    def normal(self, factors):
        """Return the normal equations (b + 3, b + 3) of [W, tilts, y], weighted."""
        out = np.zeros((factors.size + 1,) * 2)
        for name, group in factors.groups.items():
            rows = np.column_stack([group.equations(factors.size), group.R[:, -2]])
            out += rows.T @ rows / self.sigma[name] ** 2
        return out

    def solve(self, normal):
        """Return the angles (2,) and their covariance by the curvature (2, 2)."""
        A, b = normal[:-1, :-1], normal[:-1, -1]
        b = (b - A @ self.start - self.gradient)[self.used]
        hessian = (A + self.prior)[np.ix_(self.used, self.used)]
        size = 1.0 / np.sqrt(np.diag(hessian))
        angles = np.eye(len(b))[:, -2:] * size[:, None]
        # The last rows of the inverse, which is symmetric.
        inverse = size[:, None] * np.linalg.solve(hessian * size * size[:, None], angles)
        return inverse.T @ b, inverse[-2:]

    def sensitivity(self, normal):
        """Return (b, 2): change of the unconstrained base parameters by the angles."""
        scale = self.base.prior_sd
        A = normal[:-3, :-3] * np.outer(scale, scale) + np.eye(len(scale))
        return -scale[:, None] * np.linalg.solve(A, scale[:, None] * normal[:-3, -3:-1])
