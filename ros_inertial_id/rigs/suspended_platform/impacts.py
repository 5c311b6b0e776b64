"""Impacts: stretches of a recording in which something touched the platform."""

from typing import Any

import numpy as np

from .rig import PlatformRig, spring_wrench
from ..dynamics.rigid_bodies import composite_rows
from ..measurement.body_state import on_clock
from ..measurement.sources import BodiesObservation
from ...measurement import signals

IMPACT = 6.0  # times the usual residual: something touched the platform ...
SEEN = 0.5  # of what the markers' noise makes in the rows: less is not believed
QUIET = 0.25  # share of the time that surely nothing touched it
VISIBLE = 0.01  # ... if it is also that share of the springs' force: without noise nothing is


def impacts_in(observation: BodiesObservation, robot: PlatformRig) -> list[list[float]]:
    """
    Return [[from, to], ...] [s] where no bodies on these springs could move like that.

    Whatever the links weigh, the rows of free bodies fit all of a recording alike, but for the
    noise of the markers; a stop, a hand or a slipping bolt leaves bursts of residual force.

    observation : of the PlatformRig ``robot``
    """
    states = list(observation.states(training=True))
    if not np.isfinite(robot.stiffness).all() or not states:
        return []
    rows, wrench = [], []
    for state in states:
        force, dx = spring_wrench(robot, state.bodies[0])
        W = composite_rows(state.bodies, state.bodies[0].position)
        damping = np.eye(6)[:, :, None] * dx.T[None]
        rows.append(np.concatenate([W, damping], axis=1).transpose(2, 0, 1))
        wrench.append(force)
    A, y = np.concatenate(rows), np.concatenate(wrench)
    x, *_ = np.linalg.lstsq(A.reshape(-1, A.shape[2]), y.ravel(), rcond=1e-9)
    residual = y - A @ x
    least = VISIBLE * y.std(0).max()
    usual = np.quantile(_level(residual), QUIET, axis=0)
    if np.isfinite(robot.mass):  # a platform may lie on its stop all the time
        noise = acceleration_noise(observation) * (robot.mass + robot.platform[0])
        usual[:3] = np.minimum(usual[:3], noise)
        # An IMU makes less noise, but links that move are still seen by markers.
        usual *= max(1.0, SEEN * (noise / usual[:3]).max())
    out, first = [], 0
    for state in states:
        count = len(state.t)
        level = _level(residual[first:first + count])
        bad = ((level > IMPACT * usual) & (level > least)).any(1)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], bad.astype(int), [0]])))
        out += [[round(float(state.t[a]), 3), round(float(state.t[b - 1]), 3)]
                for a, b in edges.reshape(-1, 2)]
        first += count
    return out


def acceleration_noise(observation: BodiesObservation) -> np.ndarray:
    """
    Return how the markers' noise shows in the platform's filtered acceleration (3,) [m/s^2].

    White noise has third differences of sqrt(20) times its size; those of a swing are far less.

    observation : whose first body is the platform
    """
    motion: Any = observation.motion  # a PlatformMotion
    square = []
    for start, count in observation.clock.segments:
        series = motion.series[0]
        t = start + np.arange(count) * motion.period
        square.append(np.abs(np.diff(on_clock(series.t, series.values[:, :3], t), 3, axis=0)))
    standard_deviation = np.median(np.concatenate(square), axis=0) / 0.6745 / np.sqrt(20.0)
    pulse = np.zeros((4 * len(motion.kernel) + 101, 1))
    pulse[len(pulse) // 2] = 1.0
    _, _, second = signals.smoothed_derivatives(pulse, motion.kernel, motion.period)
    return standard_deviation * np.linalg.norm(second)


def _level(residual):
    """Return the local size (N, 6) of residuals, over half a second at 100 Hz."""
    width = min(49, 2 * ((len(residual) - 1) // 4) + 1)
    power = signals.smooth(residual ** 2, np.full(width, 1.0 / width))
    return np.sqrt(np.maximum(power, 0.0))
