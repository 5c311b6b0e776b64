"""
How an IMU sits on what it moves with, and its errors: NUMBERS that its readings show.

Rotation vector [rad] and shift [m] along the axes of what it is on, biases of gyro and
accelerometer [rad/s, m/s^2] and errors of scales [-] along its own, how late it is stamped [s]; in
the order rotation, biases, shift, scales, time offset.  The first look finds the clock by
correlation and refuses what no small error explains; the rest is estimated with the motion.
"""

from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from .body_state import acceleration_at, white_variance
from .delays import clock_offset
from .kalman import at_times, root_of
from .sources import BodySource, read_imu
from ...errors import RecordingError
from ...measurement import signals
from ...measurement.recording import Recording

MOUNTED_OTHERWISE = np.radians(15.0)  # a mounting further off than that is a mistake
MENDED = 0.7  # share of the misfit that another mounting must leave at most
STRANGE = 0.5  # share of the turning that an IMU on this body cannot miss
FEWEST_READINGS = 10  # readings while the motion is seen
ROTATION, GYRO, FORCE, SHIFT = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12)
SCALE, LATE = slice(12, 18), 18
NUMBERS = 19
EXTRINSICS = np.r_[ROTATION, SHIFT]  # what belongs to the rig
# Standard deviations of all but the clock.
PRIOR = np.repeat([0.3, 0.5, 0.3, 0.02, 0.01, 0.01], 3)


@dataclass(frozen=True)
class Imu:
    """
    An IMU as recorded, on the clock of the motion as far as correlation tells.

    t : (n,) [s]; values : (n, 6) angular velocity [rad/s] and specific force [m/s^2] along its
    axes; rotation : (3, 3) of these in what it is on, as described; late : [s] taken off its
    stamps; variance : (6,) of its noise; silent : longest time without readings, and from when
    [s]; root : (19, 19), root @ root.T the covariance of the
    mounting before the motion is looked at
    """

    topic: str
    t: np.ndarray
    values: np.ndarray
    rotation: np.ndarray
    late: float
    variance: np.ndarray
    silent: tuple[float, float]
    root: np.ndarray

    def note(self, mounting: np.ndarray) -> dict[str, Any]:
        """Return numbers for a report, with the ``mounting`` (19,) that was found."""
        return {
            'topic': self.topic,
            'rate': float(1.0 / np.median(np.diff(self.t))),
            'clock_offset': float(self.late + mounting[LATE]),
            'variance': self.variance.tolist(),
            'gyro_bias': mounting[GYRO].tolist(),
            'accelerometer_bias': mounting[FORCE].tolist(),
            'turned_degrees': np.degrees(mounting[ROTATION]).tolist(),
            'silent': self.silent[0],
            'silent_from': self.silent[1],
            'shifted': mounting[SHIFT].tolist(),
            'scale_error': mounting[SCALE].tolist(),
        }


def imu_on(
    recording: Recording,
    source: BodySource,
    times: Sequence[np.ndarray],
    predicted: Sequence[np.ndarray],
    limit: float,
) -> Imu:
    """
    Return the Imu of a BodySource that should read what was ``predicted``.

    times : uniform (N,) [s] of each stretch; predicted : (N, 6) of it along the axes of what it
        is on
    limit : largest offset of the clock [s], 0: the same clock

    Raises RecordingError for an IMU that is mounted another way, or on another body.
    """
    imu = read_imu(recording, source, recording.origin_ns())
    rotation = np.eye(3)
    if source.rotation is not None:
        rotation = np.asarray(source.rotation)
    late = 0.0
    if limit:  # of a wrong mounting the speed of turning is right
        speed, expected = (
            np.linalg.norm(x[:, :3], axis=1) for x in (imu.values, np.concatenate(predicted))
        )
        late = clock_offset(np.concatenate(times), expected, imu.t, speed, limit, imu.topic)
    t = imu.t - late
    seen = [(t >= x[0]) & (t <= x[-1]) for x in times]
    along = np.hstack([x @ rotation.T for x in np.hsplit(imu.values, 2)])
    read = np.concatenate([along[x] for x in seen])
    if len(read) < FEWEST_READINGS:
        raise RecordingError(
            f'the IMU {imu.topic} says nothing while the body is seen',
            do='record both, stamped with one clock',
        )
    expected = np.concatenate([at_times(t[x], *y) for x, *y in zip(seen, times, predicted)])
    _check_mounting(imu.topic, expected, read, rotation)
    _check_body(imu.topic, expected[:, :3], read[:, :3])
    root = np.diag(np.append(PRIOR, limit))
    if source.covariance is not None:
        root[np.ix_(EXTRINSICS, EXTRINSICS)] = root_of(source.covariance)
    variance = white_variance(read - expected).reshape(2, 3).mean(1).repeat(3)
    return Imu(imu.topic, t, imu.values, rotation, late, variance, _silence(t, times), root)


def _silence(t, times):
    """Return (duration, start) of the longest time that an IMU at t (n,) left out of ``times``."""
    gaps = []
    for x in times:
        received = np.concatenate([[x[0]], t[(t > x[0]) & (t < x[-1])], [x[-1]]])
        k = int(np.argmax(np.diff(received)))
        gaps.append((float(received[k + 1] - received[k]), float(received[k])))
    return max(gaps)


def as_mounted(
    predicted: np.ndarray,
    rotation: np.ndarray,
    mounting: np.ndarray,
    period: float,
    kernel: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return readings (N, 6) of an IMU that is mounted otherwise, and two slopes of them.

    predicted : (N, 6) readings at its place, along the axes of what it is on; rotation : (3, 3)
    of its axes there; both as described; mounting : (19,); period : [s]
    kernel : (2 h + 1,) low-pass of the motion, beyond which a change of readings is noise
    The second (6, 6) turns readings along these axes to its own, the third (N, 6, 19) is the
    change with the mounting.
    """
    turn = rotation.T @ Rotation.from_rotvec(-mounting[ROTATION]).as_matrix()
    smooth = signals.smooth(predicted, kernel)
    omega, alpha = smooth[:, :3], signals.differentiate(smooth[:, :3], period)
    arm = acceleration_at(omega, alpha, mounting[SHIFT])

    def turned(readings):
        return np.hstack([readings[:, :3] @ turn.T, (readings[:, 3:] + arm) @ turn.T])

    smooth = turned(smooth)
    change = np.zeros((len(predicted), 6, NUMBERS))
    for k, e in enumerate(np.eye(3)):
        axis = rotation[k]  # e along its own axes
        for part in (slice(0, 3), slice(3, 6)):
            change[:, part, k] = np.cross(smooth[:, part], axis)
        change[:, 3:, SHIFT.start + k] = acceleration_at(omega, alpha, e) @ turn.T
    change[:, :, GYRO.start : FORCE.stop] = np.eye(6)
    change[:, :, SCALE] = smooth[:, :, None] * np.eye(6)
    change[:, :, LATE] = -signals.differentiate(smooth, period)
    scale = 1.0 + mounting[SCALE]
    return (
        turned(predicted) * scale + mounting[GYRO.start : FORCE.stop],
        scale[:, None] * block_diag(turn, turn),
        change,
    )


def _check_mounting(topic, predicted, measured, rotation):
    """
    Raise RecordingError when another mounting explains the readings (n, 6), and say which.

    Both are weighed by how much they vary (Kabsch 1976).
    """
    weight = np.repeat([1.0 / (x.std() + 1e-9) for x in np.split(predicted, 2, axis=1)], 3)
    ours, theirs = ((x * weight).reshape(-1, 3) for x in (measured, predicted))
    turn, _ = Rotation.align_vectors(theirs, ours)
    after, before = (np.linalg.norm(theirs - x) for x in (turn.apply(ours), ours))
    if turn.magnitude() > MOUNTED_OTHERWISE and after < MENDED * before:
        rpy = (turn * Rotation.from_matrix(rotation)).as_euler('xyz')
        raise RecordingError(
            f'the IMU {topic} is mounted another way than described',
            expected=f'at most {np.degrees(MOUNTED_OTHERWISE):.0f} degrees off',
            found=f'{np.degrees(turn.magnitude()):.0f} degrees off',
            do='set imu_rpy: [{:.2f}, {:.2f}, {:.2f}], about; in a URDF turn its link by '
            'that'.format(*rpy),
        )


def _check_body(topic, predicted, measured):
    """Raise RecordingError where a gyro says another turning (n, 3), beside its white noise."""
    turning, misfit = np.linalg.norm(predicted.std(0)), measured - predicted
    apart = np.sqrt(max(0.0, (misfit.var(0) - white_variance(misfit)).sum()))
    if apart > STRANGE * turning:
        raise RecordingError(
            f'the IMU {topic} does not turn as the body does',
            found=f'{apart:.2g} rad/s apart',
            expected=f'far less than the {turning:.2g} rad/s of the markers',
            do='check that it sits on this body, its clock, and that the body turns at all',
        )
