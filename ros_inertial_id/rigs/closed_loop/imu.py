"""IMUs on the bodies of a mechanism: what they read of its motion, fused with the markers'."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from .markers import MarkerMotion
from ..dynamics.continuation import newton
from ..dynamics.mechanism import Mechanism
from ..measurement.fusion import fuse, Fused, Track
from ..measurement.kalman import at_ticks, at_times
from ..measurement.sources import BodySource, read_imu
from ...dynamics.body_motion import apply, body_motions, Frame, frame_of, twists
from ...dynamics.regressor import BLOCK
from ...errors import ConfigError
from ...measurement import signals
from ...measurement.recording import Recording


def imu_links(robot: Mechanism, lines: Sequence[str]) -> tuple[tuple[str, Frame], ...]:
    """Return ((topic, Frame), ...) of the lines "TOPIC LINK" of option imus."""
    links = []
    for line in lines:
        words = line.split()
        if len(words) != 2:
            raise ConfigError('option imus', expected='"TOPIC LINK"', found=repr(line))
        links.append((words[0], frame_of(robot.robot, words[1])))
    return tuple(links)


@dataclass(frozen=True)
class FusedCoordinates:
    """
    Independent coordinates by markers and IMUs.

    t : uniform (N,) [s]; z, rate : (N, k) [rad, m, s]; fusion : Fused, on one stretch
    """

    t: np.ndarray
    z: np.ndarray
    rate: np.ndarray
    fusion: Fused

    def drawn(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Return errors (count, N, 2 k) of z and zdot, drawn by ``rng``."""
        return self._of_both(self.fusion.drawn(count, rng)[0])

    def erring(self) -> np.ndarray:
        """Return the change (e, N, 2 k) by each independent error of how IMUs sit."""
        under_errors = np.array([deviation for (deviation,) in self.fusion.erring(shared=False)])
        return self._of_both(under_errors - self.fusion.deviation[0])

    def _of_both(self, deviations):
        """Return z and zdot (..., 2 k) of ``deviations`` (..., 3 k)."""
        return deviations[..., : 2 * self.z.shape[1]]


def fuse_imus(
    recording: Recording, robot: Mechanism, seen: MarkerMotion, lines: Sequence[str], limit: float
) -> FusedCoordinates:
    """
    Return the FusedCoordinates of MarkerMotion ``seen`` and IMUs.

    lines : "TOPIC LINK" each; limit : largest clock offset [s]
    """
    topics, links = zip(*imu_links(robot, lines))
    sources = [BodySource(topic, 'imu', topic) for topic in topics]
    stamps = [read_imu(recording, source, 0).t for source in sources]
    period = min(float(np.median(np.diff(x))) for x in (seen.t, *stamps))
    t, kernel, *nominal = nominal_motion(seen.t, seen.z, period)
    off, variance = at_ticks(
        t, seen.t, seen.z, np.diagonal(seen.covariance, axis1=1, axis2=2), nominal[0]
    )
    q = seen.q[np.clip(np.searchsorted(seen.t, t), 0, len(seen.t) - 1)]
    readings = partial(imu_readings, robot, links, q, np.hstack(nominal))
    track = Track(t, nominal[2], off, variance, kernel, readings)
    fused = fuse(recording, sources, [track], limit)
    z, rate, _ = np.split(np.hstack(nominal) + fused.deviation[0], 3, axis=1)
    return FusedCoordinates(t, z, rate, fused)


def nominal_motion(stamps: np.ndarray, z: np.ndarray, period: float) -> tuple[np.ndarray, ...]:
    """
    Return a uniform clock t (N,) of a ``period`` [s], a low-pass and z, zdot, zddot (N, k).

    The low-pass (2 h + 1,) begins where noise does; stamps : (M,) [s] of z (M, k) [rad, m]
    """
    slow = float(np.median(np.diff(stamps)))
    count = int(round((stamps[-1] - stamps[0]) / slow)) + 1
    ticks = stamps[0] + np.arange(count) * slow
    z = np.stack([np.interp(ticks, stamps, x) for x in z.T], axis=1)
    cutoff, _ = signals.choose_cutoff([signals.differentiate(z, slow)], slow)
    kernel = signals.zero_phase_kernel(slow, cutoff)
    while len(kernel) // 2 + 2 > count // 3 and len(kernel) > 1:
        cutoff *= 1.5
        kernel = signals.zero_phase_kernel(slow, cutoff)
    t = np.arange(ticks[0], ticks[-1], period)
    z = at_times(t, ticks, signals.smooth(z, kernel))
    rate = signals.differentiate(z, period)
    return (
        t,
        signals.zero_phase_kernel(period, cutoff),
        z,
        rate,
        signals.differentiate(rate, period),
    )


def imu_readings(
    robot: Mechanism,
    links: Sequence[Frame],
    q: np.ndarray,
    nominal: np.ndarray,
    deviation: np.ndarray,
) -> np.ndarray:
    """
    Return angular velocity and specific force (N, n, 6) that IMUs at n ``links`` read.

    nominal, deviation : (N, 3 k), of z, zdot, zddot [rad, m, s], the sum of which is the motion
    q : (N, n) configurations nearby
    """
    motion = nominal + deviation
    parts = range(0, len(q), BLOCK)
    return np.concatenate(
        [_block(robot, links, q[k : k + BLOCK], motion[k : k + BLOCK]) for k in parts]
    )


def _block(robot, links, q, motion):
    z, rate, acceleration = np.split(motion, 3, axis=1)
    q, _ = newton(robot, q, robot.closing(q)[0], z, z)
    v, a = robot.motion(q, robot.closing(q)[0], rate, acceleration)
    motions, out = body_motions(robot.robot, q, v), []
    for link in links:
        at = motions[link.body + 1].at(link)
        force = at.a - robot.gravity_base[:, None]
        for j, u, _ in twists(robot.robot, motions, link.body, at.p):
            force = force + u * a[:, j]
        into = np.swapaxes(at.R, 0, 1)
        out.append(np.concatenate([apply(into, at.omega), apply(into, force)]).T)
    return np.stack(out, axis=1)
