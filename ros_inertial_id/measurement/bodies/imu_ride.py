"""
Ride: the motion of a body that carries an IMU and how the IMU sits on it, found together.

What the IMU tells of the motion depends on how it sits, and the motion tells how it sits.  Both
are linear near what was found first, so better knowledge of the one moves the other, at no cost.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from .body_state import BodyState
from .. import signals
from ...errors import RecordingError

SEAT = np.r_[0:3, 9:12]  # of the mounting: turn and place, which belong to the rig
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

    mounting : (13,) turn [rad], biases of gyro and accelerometer [rad/s, m/s^2], shift [m],
        lateness of the stamps [s], turn and shift against the description
    own : (13, 13) its errors by the noise of this recording, by numbers of unit variance
    shared : (13, 6) its errors by an error of what was known of the seat before
    """

    topic: str
    stretches: tuple
    kernel: np.ndarray
    gravity: np.ndarray
    mounting: np.ndarray
    own: np.ndarray
    shared: np.ndarray

    def states(self, off=None):
        """Return the BodyState of every stretch, filtered; with the mounting ``off`` (13,)."""
        out = []
        for s in self.stretches:
            change = s.change if off is None else s.change + s.slope @ off
            out.append(_filtered(_moved(s.state, change, self.gravity), self.kernel,
                                 self.gravity))
        return out

    def extrinsics(self):
        """Return turn and shift (6,) and their covariance by this recording alone."""
        own = self.own[SEAT]
        return self.mounting[SEAT], own @ own.T

    def seated(self, extrinsics, covariance):
        """
        Return the Ride of an IMU whose turn and shift (6,) are known with a covariance (6, 6).

        Raises RecordingError when the recording shows that it does not sit there.
        """
        here, spread = self.extrinsics()
        away, total = extrinsics - here, spread + covariance
        square = away @ np.linalg.solve(total, away)
        if square > len(SEAT) * STRAYED ** 2:
            raise RecordingError(
                f'the IMU {self.topic} does not sit where it was calibrated', expected='turn and '
                'place within the errors of the calibration', found=_words(away),
                do='calibrate anew, or leave out covariance: to have it found in each recording')
        P = self.own @ self.own.T
        gain = np.linalg.solve(total, P[SEAT]).T
        return replace(self.shifted(gain @ away), shared=gain,
                       own=self.own - gain @ self.own[SEAT])

    def shifted(self, change):
        """Return the Ride with the mounting and all that hangs on it changed (13,)."""
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
