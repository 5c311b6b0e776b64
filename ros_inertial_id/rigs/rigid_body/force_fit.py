"""
What the force on one body shows by itself: gravity's direction and which side the sensor shows.

Force = m a + (alpha x + omega x omega x) mc - R' h + bias is linear in all of it, h the weight's
vector in the base frame; its length is confounded with m, its direction is not.  Sensors drift
and filtered samples are correlated, so a slow drift is fitted besides, and how the result changes
without one stretch of the recording says how well it is known (jackknife; Efron 1982).
"""

from typing import Any

import numpy as np

from ..measurement.body_state import acceleration_at
from ..measurement.sources import BodiesObservation
from ...errors import EstimationError
from ...jackknife import deviations, left_out

SURE = 5.0  # standard errors of the mass beyond which its sign is taken for known
STRETCHES = 16  # left out one by one
DRIFT = 3  # degree of the polynomial in time that a drift is


def legendre(t: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
    """
    Return the polynomials (N, DRIFT) of degree one and more that a slow drift consists of.

    t : (N,) [s]; ends : first and last time of the recording [s]
    """
    share = 2.0 * (t - ends[0]) / max(ends[1] - ends[0], 1e-9) - 1.0
    return np.polynomial.legendre.legvander(share, DRIFT)[:, 1:]


def ends_of(observation: BodiesObservation) -> tuple[float, float]:
    """Return first and last time [s] of an ``observation``."""
    segments = observation.clock.segments
    return segments[0][0], segments[-1][0] + segments[-1][1] * observation.clock.period


def force_sign(observation: BodiesObservation) -> float:
    """
    Return 1 where the wrench acts on the body, -1 where it is the reaction: mass > 0.

    observation : of one body behind one sensor
    """
    def columns(body):
        return body.acc[:, :, None]

    x, _ = _fit(observation, columns)
    return 1.0 if x[0] >= 0.0 else -1.0


def gravity_of_force(observation: BodiesObservation, gravity: np.ndarray, sign: float | None
                     ) -> tuple[np.ndarray, float, dict[str, Any]]:
    """
    Return (gravity (3,), sign, what was found) from the forces alone.

    observation : of one body behind one sensor, its accelerations without gravity
    gravity : (3,) [m/s^2], whose length counts; sign : see BodiesState, None: found, too
    Raises EstimationError where the mass is not known well enough to say the sign.
    """
    def columns(body):
        swing = np.stack([acceleration_at(body.omega, body.alpha, e) for e in np.eye(3)], axis=2)
        return np.concatenate([body.acc[:, :, None], swing, -body.rotation().transpose(0, 2, 1)],
                              axis=2)

    x, covariance = _fit(observation, columns)
    evidence = x[0] / np.sqrt(covariance[0, 0])
    if sign is None:
        if abs(evidence) < SURE:
            raise EstimationError('the sign of gravity is not determined',
                                  expected=f'a mass known to {SURE:g} standard errors by its '
                                  'acceleration', found=f'{abs(evidence):.1f}',
                                  do='give wrench_of:, or move faster')
        sign = float(np.sign(evidence))
    h = sign * x[4:7]
    length = np.linalg.norm(h)
    direction = h / length
    across = (np.eye(3) - np.outer(direction, direction)) / length
    error = np.sqrt(np.trace(across @ covariance[4:7, 4:7] @ across))
    return np.linalg.norm(gravity) * direction, sign, {
        'direction': direction.tolist(), 'standard_error_deg': float(np.degrees(error)),
        'sign_evidence': float(sign * evidence)}


def _fit(observation, columns_of):
    """Return (x (k,), covariance) of the force on columns (N, 3, k), bias and drift besides."""
    rows, forces, ends = [], [], ends_of(observation)
    for state in observation.states(training=True):
        columns = columns_of(state.bodies[0])
        slow = np.kron(np.column_stack([np.ones(len(state.t)), legendre(state.t, ends)]),
                       np.eye(3)).reshape(len(state.t), 3, -1)
        rows.append(np.concatenate([columns, slow], axis=2))
        forces.append(state.wrench[:, :3])
    A, y, own = np.concatenate(rows), np.concatenate(forces), columns.shape[2]
    size = np.sqrt((A ** 2).sum((0, 1))) + 1e-300
    parts = [(a.reshape(-1, len(size)), b.ravel()) for a, b in zip(
        np.array_split(A / size, STRETCHES), np.array_split(y, STRETCHES))]
    x, without = left_out(
        [np.column_stack([a.T @ a, a.T @ b]) for a, b in parts],
        lambda sums: np.linalg.pinv(sums[:, :-1], 1e-12, hermitian=True) @ sums[:, -1] / size)
    away = deviations(without[:, :own])
    return x[:own], away.T @ away
