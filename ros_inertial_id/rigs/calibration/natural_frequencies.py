"""
Links on a suspended platform by natural frequencies alone: where only those were measured.

The frequencies of a held posture are those of det(K - w^2 M) = 0 for the whole, whose ten
parameters are linear in the links' (Homma and Yamaura, Eqs. 5 to 7).  So all postures are one
nonlinear least squares problem in the base parameters.  Six numbers cannot fix nine: one posture
leaves a curved family of bodies with the same frequencies.  Only what is the same in every body
that explains the data, found from starts over the whole range, is called determined.

Errors of calibrated springs and platform move all frequencies together: their covariance is that
of the residual besides, so it is in the weights, in the test of fit and in the standard errors.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import chi2

from ..bodies.joints import random_bodies
from ..dynamics.rigid_bodies import Suspension, vibration
from ..suspended_platform.calibration import stiffness_of
from ..suspended_platform.held_frequencies import HeldFrequencies
from ..suspended_platform.method import SuspendedPlatform
from ..suspended_platform.postures import link_parameters, overall_rows
from ..suspended_platform.rig import CALIBRATED
from ...dynamics.inertial_parameters import parameters_of, pseudo_inertia
from ...errors import EstimationError
from ...estimation.base_parameters import BaseParameters, find_base_parameters

suspended_platform = SuspendedPlatform()

STARTS = 48    # at most
DRAFTS = 6     # by whose best the calibration is weighed
ENOUGH = 3     # bodies that explain the data: do they agree?
CHANCE = 1e-3  # that noise alone makes a misfit as large as that of such a body
APART = 3.0    # standard errors by which they may differ and still be one
NEAR = 0.1     # how much starts stretch and shift the bodies of the description
FAR = 1e3      # residual of a body that the springs do not carry
STEP = 1e-5    # of calibrated numbers for differences, stiffness relative to the smallest


@dataclass(frozen=True)
class FrequencyResult:
    """
    Base parameters by natural frequencies, and what these leave open.

    base : BaseParameters of held postures; params (b,), cov_params (b, b) : of the best body
    rank : relations between them that the frequencies fix around it
    bodies (k, b) : all that explain the data as well; chi_square : misfit of the best
    misfit : per posture, measured less predicted frequencies (m,) [Hz]
    """

    base: BaseParameters
    params: np.ndarray
    cov_params: np.ndarray
    rank: int
    bodies: np.ndarray
    chi_square: float
    misfit: tuple[np.ndarray, ...]

    def value(self, combination: Mapping[str, float]) -> tuple[float, float] | None:
        """Return (value, error) of a ``combination`` {parameter: factor}; None: it is open."""
        d = self.base.combined(combination)
        return None if d is None else self._determined(d)

    def values(self) -> list[tuple[float, float] | None]:
        """Return [(value, standard error) or None, ...] of the base parameters."""
        return [self._determined(d) for d in np.eye(len(self.base))]

    def _determined(self, d):
        error = float(np.sqrt(d @ self.cov_params @ d))
        prior_sd = np.sqrt(d @ self.base.prior_covariance() @ d)
        if error > prior_sd or np.ptp(self.bodies @ d) > 2 * APART * error:
            return None
        return float(d @ self.params), error


def identify_frequencies(text: str, held: HeldFrequencies, options: Any = None,
                         gravity: Sequence[float] = (0.0, 0.0, -9.81),
                         seed: int = 0) -> FrequencyResult:
    """
    Return the FrequencyResult of natural frequencies on the rig in a YAML ``text``.

    options : of suspended_platform, its defaults with damping as given if None
    gravity : (3,) in the base frame [m/s^2]
    EstimationError when no body explains the frequencies.

    Links that the description gives an ``inertial:`` are searched around it first.
    """
    options = options or suspended_platform.Options(damping='given')
    g = np.asarray(gravity, dtype=float)
    problem = _Problem(suspended_platform.build(text, options, g), options, held, g)
    if problem.robot.covariance is not None:
        problem.weigh_calibration(_fits(problem, np.random.default_rng(seed), DRAFTS)[0].x)
    best, bodies = _search(problem, np.random.default_rng(seed))
    _, s, Vt = np.linalg.svd(best.jac)
    inverse = np.full(len(problem.base), 1e6)  # a direction that nothing was said about
    inverse[:len(s)] = 1.0 / np.maximum(s, 1e-6)
    half = (problem.size[:, None] * Vt.T) * inverse
    return FrequencyResult(problem.base, best.x * problem.size, half @ half.T,
                           int((s > 1.0).sum()), bodies, 2 * best.cost, problem.misfit(best.x))


def _search(problem, rng):
    """Return (best fit, bodies (k, b)) of up to ENOUGH that explain the frequencies."""
    best, good, limit = _fits(problem, rng, STARTS)
    if len(good) < 2:
        raise EstimationError(
            'no body was found that explains the frequencies',
            found=f'chi-squared {2 * best.cost:.3g} at best',
            expected=f'below {limit:.3g}, from two starts',
            do='check springs, postures and deviations; give the links an inertial: to start from')
    return best, np.array([f.x for f in good]) * problem.size


def _fits(problem, rng, starts):
    """Return the best fit of so many starts, those that explain the data, and what these may."""
    measured = sum(map(len, problem.held.frequency))
    limit = chi2.isf(CHANCE, max(1, measured - len(problem.base)))
    fits: list[Any] = []
    for number in range(starts):
        fit = problem.fit(problem.start(rng, near=number % 2 == 0))
        if fit is not None:
            fits.append(fit)
        good = [f for f in fits if 2 * f.cost < limit]
        if len(good) == ENOUGH:
            break
    if not fits:
        raise EstimationError('no body was found that explains the frequencies', found='no start',
                              do='check springs and postures; give the links an inertial:')
    return min(fits, key=lambda f: f.cost), good, limit


class _Problem:
    """Least squares in base parameters, each in units of the prior about it."""

    def __init__(self, robot, options, held, gravity):
        self.held, self.robot, self.options = held, robot, options
        self.springs = Suspension(robot.stiffness, robot.preload, robot.rest_rotation, gravity)
        columns = tuple(p for p in suspended_platform.parameters(robot, options) if not p.law)
        self.E, self.e = link_parameters(robot, columns)
        self.base = find_base_parameters(self._structure(robot, gravity), columns)
        self.size = np.sqrt(np.diag(self.base.prior_covariance()))
        rows = overall_rows(held.rotations, held.positions).transpose(2, 0, 1)
        self.rows = rows @ self.E[:, self.base.independent] * self.size
        self.known = rows @ self.e + robot.platform
        self.root = np.eye(sum(map(len, held.frequency)))  # turns residuals into independent ones

    def weigh_calibration(self, x):
        """Let residuals count by the calibration's covariance too, as it acts near x (b,)."""
        slope = self._calibration_slope(x)
        C = self.robot.covariance[:slope.shape[1], :slope.shape[1]]
        self.root = np.linalg.inv(np.linalg.cholesky(np.eye(len(slope)) + slope @ C @ slope.T))

    def _calibration_slope(self, x):
        """Return the change (m, 43) of residuals by every calibrated number, see the rig."""
        still, robot = self._predicted(x)[0], self.robot
        K, out = robot.stiffness, np.zeros((len(still), CALIBRATED))
        for k in range(CALIBRATED):
            theta = np.zeros(CALIBRATED)
            theta[k] = STEP * (np.abs(np.diag(K)).min() if 10 <= k < 31 else 1.0)
            other = copy(self)
            other.known = self.known + theta[:10]
            other.springs = replace(self.springs, stiffness=K + stiffness_of(theta),
                                    preload=robot.preload + theta[37:])
            out[:, k] = (other._predicted(x)[0] - still) / theta[k]
        return out

    def _structure(self, robot, gravity):
        bodies = random_bodies(robot.joints, len(self.e), np.random.default_rng(0), gravity, True)
        platform = bodies[0]
        back = platform.rotation().transpose(0, 2, 1)
        rotations = np.stack([back @ b.rotation() for b in bodies[1:]], axis=1)
        positions = np.stack([np.einsum('nij,nj->ni', back, b.position - platform.position)
                              for b in bodies[1:]], axis=1)
        rows = overall_rows(rotations, positions).transpose(2, 0, 1)
        return (rows @ self.E).reshape(-1, self.E.shape[1])

    def start(self, rng, near):
        """Return base parameters (b,), scaled, of links of matter; ``near`` the description's."""
        robot, size, count = self.robot, self.options.size, len(self.robot.link_names)
        near = near and robot.inertias[:, 0].min() > 0.0
        mass = robot.mass if np.isfinite(robot.mass) else self.options.link_mass
        links = []
        for nominal, m in zip(robot.inertias, mass * rng.dirichlet(np.ones(count))):
            P, G = pseudo_inertia(nominal), np.eye(4)  # an affine map of matter is matter
            G[:3] += (NEAR if near else 1.0) * rng.standard_normal((3, 4)) * [1, 1, 1, size / 3]
            if not near:
                P = m * np.diag([(size / 3) ** 2] * 3 + [1.0])
            links.append(parameters_of(G @ P @ G.T))
        x, *_ = np.linalg.lstsq(self.E, np.concatenate(links) - self.e, rcond=None)
        return self.base.reduce(x) / self.size

    def fit(self, start):
        """Return the result of least_squares from a start, None where that is hopeless."""
        try:
            return least_squares(self._residual, start, self._slope, max_nfev=100)
        except np.linalg.LinAlgError:
            return None

    def misfit(self, x):
        """Return per posture measured less predicted frequencies (m,) [Hz]."""
        ends = np.cumsum([len(f) for f in self.held.frequency])[:-1]
        scaled = np.split(self._predicted(x)[0], ends)
        return tuple(r * d for r, d in zip(scaled, self.held.standard_deviation))

    def _residual(self, x):
        try:
            self._now = x.copy(), *(self.root @ z for z in self._predicted(x))
        except EstimationError:
            return np.full(sum(map(len, self.held.frequency)), FAR)
        return self._now[1]

    def _slope(self, x):
        # least_squares asks for it where it has just asked for the residual.
        if np.array_equal(self._now[0], x):
            return self._now[2]
        return self.root @ self._predicted(x)[1]

    def _predicted(self, x):
        """Return residuals (m,) and their slopes (m, b) in standard deviations."""
        residual, slope = [], []
        for rows, modes, slopes, frequency, standard_deviation in zip(
                self.rows, *vibration(self.springs, self.rows @ x + self.known),
                self.held.frequency, self.held.standard_deviation):
            # Which modes were not measured is unknown: the choice with the smallest residual.
            chosen = min((list(c) for c in combinations(range(6), len(frequency))), key=lambda c:
                         (((frequency - modes[c]) / standard_deviation) ** 2).sum())
            residual.append((frequency - modes[chosen]) / standard_deviation)
            slope.append(-slopes[chosen] @ rows / standard_deviation[:, None])
        return np.concatenate(residual), np.concatenate(slope)
