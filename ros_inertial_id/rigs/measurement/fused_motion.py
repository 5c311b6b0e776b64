"""
Fused motion: how a body that carries an IMU moved, and the extrinsics of the IMU, found together.

What the IMU says of the motion depends on its extrinsics (orientation and position on the body),
and the motion shows the extrinsics.  Both are linear near what was found first, so better
knowledge of the one moves the other, at no cost.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from .body_state import BodyState
from ...errors import RecordingError
from ...measurement import signals

EXTRINSICS = np.r_[0:3, 9:12]  # of the mounting: rotation and position, which belong to the rig
STRAYED = 5.0  # rms of the six, in their standard deviations: it was mounted anew


@dataclass(frozen=True)
class Stretch:
    """
    A uniform stretch of a body's motion.

    state : nominal BodyState; change : (N, 18) by which the motion deviates from it (displacement
    in the world, rotation vector in the body, their rates and second derivatives)
    slope : (N, 18, 13) how the change depends on the mounting
    """

    state: BodyState
    change: np.ndarray
    slope: np.ndarray


@dataclass(frozen=True)
class FusedMotion:
    """
    Stretches of motion and the mounting of the IMU.

    topic : of the IMU; stretches : Stretch each; kernel : (2 h + 1,) low-pass of all results
    gravity : (3,) in the world [m/s^2]
    mounting : (13,) rotation [rad], biases of gyro and accelerometer [rad/s, m/s^2], shift [m],
        time offset of the stamps [s], rotation and shift against the description
    own : (13, 13) its errors by the noise of this recording, by numbers of unit variance
    shared : (13, 6) its errors by an error of what was known of the extrinsics before
    """

    topic: str
    stretches: tuple
    kernel: np.ndarray
    gravity: np.ndarray
    mounting: np.ndarray
    own: np.ndarray
    shared: np.ndarray

    def states(self, off: np.ndarray | None = None) -> list[BodyState]:
        """
        Return the BodyState of every stretch, filtered.

        off : (13,) change of the mounting under which the motion is wanted; None: none
        """
        out = []
        for s in self.stretches:
            change = s.change if off is None else s.change + s.slope @ off
            out.append(_filtered(_moved(s.state, change, self.gravity), self.kernel,
                                 self.gravity))
        return out

    def extrinsics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rotation and shift (6,) [rad, m] and their covariance by this recording."""
        own = self.own[EXTRINSICS]
        return self.mounting[EXTRINSICS], own @ own.T

    def with_extrinsics(self, extrinsics: np.ndarray, covariance: np.ndarray) -> 'FusedMotion':
        """
        Return the fused motion of an IMU whose extrinsics were known before.

        extrinsics : (6,) rotation vector [rad] and shift [m] against the description
        covariance : (6, 6) of them

        Raises RecordingError when the recording shows that the IMU does not sit there.
        """
        here, covariance_here = self.extrinsics()
        away, total = extrinsics - here, covariance_here + covariance
        square = away @ np.linalg.solve(total, away)
        if square > len(EXTRINSICS) * STRAYED ** 2:
            raise RecordingError(
                f'the IMU {self.topic} does not sit where it was calibrated', expected='rotation '
                'and position within the errors of the calibration', found=_words(away),
                do='calibrate anew, or leave out covariance: to have it found in each recording')
        P = self.own @ self.own.T
        gain = np.linalg.solve(total, P[EXTRINSICS]).T
        return replace(self.shifted(gain @ away), shared=gain,
                       own=self.own - gain @ self.own[EXTRINSICS])

    def shifted(self, change: np.ndarray) -> 'FusedMotion':
        """Return the fused motion under a mounting changed by ``change`` (13,)."""
        moved = tuple(replace(s, change=s.change + s.slope @ change) for s in self.stretches)
        return replace(self, stretches=moved, mounting=self.mounting + change)


def _words(away):
    return (f'{np.degrees(np.linalg.norm(away[:3])):.2f} degrees and '
            f'{1e3 * np.linalg.norm(away[3:]):.1f} mm away')


def _moved(state, change, gravity):
    """Return the BodyState that deviates by ``change`` (N, 18) from a nominal one."""
    p, theta, v, rate, a, second = np.split(change, 6, axis=1)
    turn = Rotation.from_quat(state.quaternion_xyzw)
    acc = turn.apply(state.acc) + gravity
    turn = turn * Rotation.from_rotvec(theta)
    omega = state.omega + rate + np.cross(state.omega, theta)
    alpha = (state.alpha + second + np.cross(state.alpha, theta) + np.cross(state.omega, rate))
    return BodyState(state.position + p, turn.as_quat(), omega, alpha,
                     turn.inv().apply(acc + a - gravity), state.velocity + v)


def _filtered(state, kernel, gravity):
    """Return a BodyState with all of it zero-phase filtered: beyond is noise."""
    turn = Rotation.from_quat(state.quaternion_xyzw)
    acc = signals.smooth(turn.apply(state.acc) + gravity, kernel)
    q = signals.smooth(state.quaternion_xyzw, kernel)
    q = q / np.linalg.norm(q, axis=1, keepdims=True)
    return replace(state, position=signals.smooth(state.position, kernel), quaternion_xyzw=q,
                   omega=signals.smooth(state.omega, kernel),
                   alpha=signals.smooth(state.alpha, kernel),
                   acc=Rotation.from_quat(q).inv().apply(acc - gravity),
                   velocity=signals.smooth(state.velocity, kernel))
