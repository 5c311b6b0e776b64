"""A body whose pose is measured and that carries an IMU: both fused into one motion."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Mapping, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from .body_state import acceleration_at, BodyState, state_of_pose, white_variance
from .imu_fusion import fuse, Fused, Track
from .sources import BodySource
from ...errors import ConfigError
from ...measurement import signals
from ...measurement.recording import Recording

Poses = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class FusedBody:
    """
    The motion of a body: BodyState of every stretch by its poses alone, and what an IMU adds.

    kernel : (2 h + 1,) low-pass of the result; gravity : (3,) in the world [m/s^2]
    """

    fused: Fused
    nominal: list[BodyState]
    kernel: np.ndarray
    gravity: np.ndarray

    def states(self, off: np.ndarray | float = 0.0) -> list[BodyState]:
        """
        Return the BodyState of every stretch, filtered.

        off : (19,) errors of the numbers of Fused under which the motion is wanted
        """
        if not np.ndim(off):
            return self._deviating(self.fused.deviation)
        pairs = zip(self.fused.deviation, self.fused.slope)
        return self._deviating([deviation + slope @ off for deviation, slope in pairs])

    def noisy(self, count: int, rng: np.random.Generator) -> Iterator[list[BodyState]]:
        """Yield ``count`` times ``states`` with an error drawn by ``rng``."""
        errors = self.fused.drawn(count, rng)
        for draw in range(count):
            yield self._deviating([x + e[draw] for x, e in zip(self.fused.deviation, errors)])

    def _deviating(self, deviations):
        """Return the BodyState of every stretch with a deviation (N, 18), filtered."""
        return [
            _filtered(moved(state, deviation, self.gravity), self.kernel, self.gravity)
            for state, deviation in zip(self.nominal, deviations)
        ]


def fuse_body(
    recording: Recording,
    source: BodySource,
    poses: Poses,
    kernel: np.ndarray,
    gravity: np.ndarray,
    limit: float,
) -> tuple[FusedBody, Mapping[str, Any]]:
    """
    Return (FusedBody, notes on the IMU) of a body's poses and the IMU on it.

    poses : [(uniform times (N,) [s], position [m] and quaternion x y z w (N, 7)), ...]
    kernel : (2 h + 1,) low-pass; gravity : (3,) in the world [m/s^2]
    limit : largest time offset of the IMU [s], 0: the same clock

    Raises RecordingError for an IMU mounted another way than described, or on another body.
    """
    if source.imu is None:
        raise ConfigError(f'body {source.name}', expected='an IMU', found='none')
    nominal, tracks = [], []
    for t, pose in poses:
        state = state_of_pose(pose[:, :3], pose[:, 3:], kernel, t[1] - t[0], gravity)
        turn = Rotation.from_quat(state.quaternion_xyzw)
        off = np.hstack(
            [
                pose[:, :3] - state.position,
                (turn.inv() * Rotation.from_quat(pose[:, 3:])).as_rotvec(),
            ]
        )
        acceleration = np.hstack([turn.apply(state.acc) + gravity, state.alpha])
        nominal.append(state)
        tracks.append(
            Track(
                t,
                acceleration,
                off,
                np.broadcast_to(white_variance(off), off.shape),
                kernel,
                partial(_readings, state, source.imu.position, gravity),
            )
        )
    fused = fuse(recording, [source.imu], tracks, limit)
    (note,) = fused.notes().values()
    return FusedBody(fused, nominal, kernel, np.asarray(gravity)), note


def _readings(nominal, arm, gravity, deviation):
    """Return readings (N, 1, 6) of an IMU at ``arm`` (3,) on a body that deviates (N, 18)."""
    state = moved(nominal, deviation, gravity)
    force = state.acc + acceleration_at(state.omega, state.alpha, arm)
    return np.hstack([state.omega, force])[:, None]


def moved(state: BodyState, deviation: np.ndarray, gravity: np.ndarray) -> BodyState:
    """
    Return the BodyState that deviates from a nominal one.

    deviation : (N, 18) displacement in the world, rotation vector in the body, rates of both,
    their second derivatives; gravity : (3,) in the world [m/s^2]
    """
    p, theta, v, rate, a, second = np.split(deviation, 6, axis=1)
    turn = Rotation.from_quat(state.quaternion_xyzw)
    acc = turn.apply(state.acc) + gravity
    turn = turn * Rotation.from_rotvec(theta)
    omega = state.omega + rate + np.cross(state.omega, theta)
    alpha = state.alpha + second + np.cross(state.alpha, theta) + np.cross(state.omega, rate)
    return BodyState(
        state.position + p,
        turn.as_quat(),
        omega,
        alpha,
        turn.inv().apply(acc + a - gravity),
        state.velocity + v,
    )


def _filtered(state, kernel, gravity):
    """Return a BodyState with all of it zero-phase filtered: beyond is noise."""
    turn = Rotation.from_quat(state.quaternion_xyzw)
    acc = signals.smooth(turn.apply(state.acc) + gravity, kernel)
    q = signals.smooth(state.quaternion_xyzw, kernel)
    q = q / np.linalg.norm(q, axis=1, keepdims=True)
    return replace(
        state,
        position=signals.smooth(state.position, kernel),
        quaternion_xyzw=q,
        omega=signals.smooth(state.omega, kernel),
        alpha=signals.smooth(state.alpha, kernel),
        acc=Rotation.from_quat(q).inv().apply(acc - gravity),
        velocity=signals.smooth(state.velocity, kernel),
    )
