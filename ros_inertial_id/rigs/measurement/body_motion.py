"""
How a body moves: by its pose, into which the IMU on it is fused where there is one.

Poses alone are low-passed and differentiated, and their noise goes the same way.  An IMU adds
deviations from that motion, whose errors are those of the smoother.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .body_state import acceleration_at, BodyState, on_clock, state_of_pose, white_variance
from .fusion import fuse, Fused, Track
from .sources import BodySource, NoisySeries, Series
from ...measurement import signals
from ...measurement.recording import Recording

Stretches = tuple[tuple[np.ndarray, BodyState], ...]  # times (N,) [s] of each


@dataclass(frozen=True)
class BodyMotion:
    """
    The motion of one body in one recording, behind a low-pass.

    pose : Series of position [m] and quaternion x y z w (n, 7), in the world
    clock : of the motion; kernel : (2 h + 1,) low-pass; gravity : (3,) in the world [m/s^2]
    fusion : Fused where an IMU adds to the pose; nominal : Stretches of the pose alone there
    stretches : the motion there
    """

    pose: Series
    clock: signals.Clock
    kernel: np.ndarray
    gravity: np.ndarray
    fusion: Fused | None = None
    nominal: Stretches = ()
    stretches: Stretches = ()

    def at(self, t: np.ndarray) -> BodyState:
        """Return the BodyState at uniform times t (N,) [s] of the clock."""
        for times, state in self.stretches:
            first = int(round((t[0] - times[0]) / self.clock.period))
            if 0 <= first <= len(times) - len(t):
                return state.rows(slice(first, first + len(t)))
        pose = on_clock(self.pose.t, self.pose.values, t)
        return self._state_of(pose)

    def attitude(self, t: np.ndarray) -> np.ndarray:
        """Return x y z w (N, 4) at times t (N,) [s] by the pose as measured, unfiltered."""
        return on_clock(self.pose.t, self.pose.values[:, 3:], t)

    def fused(
        self, recording: Recording, imu: BodySource, times: Sequence[np.ndarray], limit: float
    ) -> tuple['BodyMotion', dict[str, Any]]:
        """
        Return the motion with an IMU on the body, and notes on the IMU.

        times : uniform (N,) [s] of each stretch; limit : largest time offset of the IMU [s], 0:
        the same clock

        Raises RecordingError for an IMU mounted another way than described, or on another body.
        """
        nominal, tracks = [], []
        for t in times:
            pose = on_clock(self.pose.t, self.pose.values, t)
            state = self._state_of(pose)
            nominal.append((t, state))
            tracks.append(_track(t, pose, state, imu, self.kernel, self.gravity))
        fusion = fuse(recording, [imu], tracks, limit)
        (note,) = fusion.notes().values()
        motion = replace(self, fusion=fusion, nominal=tuple(nominal))
        return motion._deviating(fusion.deviation), note

    def noisy(self, count: int, rng: np.random.Generator) -> Iterator['BodyMotion']:
        """Yield the motion ``count`` times with noise of its sensors drawn by ``rng``."""
        noise = NoisySeries(self.pose, self.clock, self.kernel)
        deviations: Iterable[Sequence[np.ndarray]] = [()] * count
        if self.fusion is not None:
            deviations = self.fusion.noisy(count, rng)
        for of_stretches in deviations:
            yield replace(self, pose=noise.again(rng))._deviating(of_stretches)

    def erring(self, shared: bool) -> Iterator['BodyMotion']:
        """
        Yield the motion under each independent error of unit size of how its IMU is mounted.

        shared : those of the calibration, which are the same in all recordings, or the others
        """
        if self.fusion is None:
            return
        for deviations in self.fusion.erring(shared):
            yield self._deviating(deviations)

    def extrinsics(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return rotation and shift (6,) [rad, m] of its IMU, and their errors (6, r), or None."""
        if self.fusion is None:
            return None
        return self.fusion.extrinsics()

    def _state_of(self, pose):
        """Return the BodyState of a pose (N, 7) alone."""
        return state_of_pose(
            pose[:, :3], pose[:, 3:], self.kernel, self.clock.period, self.gravity
        )

    def _deviating(self, deviations):
        """Return the motion that deviates so [(N, 18), ...] from that of the pose alone."""
        stretches = []
        for (t, nominal), deviation in zip(self.nominal, deviations):
            state = moved(nominal, deviation, self.gravity)
            stretches.append((t, _filtered(state, self.kernel, self.gravity)))
        return replace(self, stretches=tuple(stretches))


def _track(t, pose, state, imu, kernel, gravity):
    """Return the Track of a body at uniform t (N,): its pose (N, 7) beside its nominal state."""
    turn = Rotation.from_quat(state.quaternion_xyzw)
    aside = (turn.inv() * Rotation.from_quat(pose[:, 3:])).as_rotvec()
    off = np.hstack([pose[:, :3] - state.position, aside])
    acceleration = np.hstack([turn.apply(state.acc) + gravity, state.alpha])
    variance = np.broadcast_to(white_variance(off), off.shape)
    readings = partial(_readings, state, imu.position, gravity)
    return Track(t, acceleration, off, variance, kernel, readings)


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
