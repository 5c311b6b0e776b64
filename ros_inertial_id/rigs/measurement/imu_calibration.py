"""
Calibration of an IMU by a motion that others measured: its clock, axes, scales and biases.

What it should read of that motion differs from what it reads by noise, by a late clock, and by
errors of the IMU.  The offset of the clock comes from correlating angular velocities.  A turn and
errors of scales are taken out of the readings where they are beyond doubt: correcting by a number
that is mostly noise would only add some.  Biases are the typical misfit, and a mounting that
contradicts the motion is refused with the one that fits.
"""

from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from .body_state import acceleration_at, white_variance
from .kalman import at_times
from .clock_offset import clock_offset
from .sources import Series
from ...errors import RecordingError
from ...measurement import signals

TURNED = np.radians(15.0)  # a mounting further off than that is a mistake
MENDED = 0.7   # share of the misfit that another mounting must leave at most
STRANGE = 0.5  # share of the turning that an IMU on this body cannot miss
FEWEST = 10    # readings while the motion is seen
SURE = 5.0     # standard errors of an error of the IMU beyond which it is no chance
MOVES = 0.7    # share of an axis' readings that the motion explains, or its scale does not show
PARTS = 16     # stretches of time that tell standard errors
EDGE = 20      # part of the readings that is left out at both ends
ROUNDS = 3     # a turn of ten degrees is not small
SMALL = 2e-3   # error of a scale: by so much filters and a turn bend the motion that shows it
LIKELY = 0.1   # standard deviation of a scale error
# How far off: mounting [rad], biases [rad/s, m/s^2], position [m], each on three axes.
PRIOR = np.repeat([0.3, 0.5, 0.1, 0.02], 3)
TURN, SCALE = slice(0, 3), slice(12, 18)


def calibrated_imu(imu: Series, rotation: np.ndarray,
                   motion: Sequence[tuple[np.ndarray, np.ndarray]], limit: float,
                   moved: float | None = None,
                   checked: bool = False) -> tuple[Series, dict[str, Any]]:
    """
    Return the readings along the described axes on the motion's clock, corrected, and a note.

    imu : Series of angular velocity [rad/s] and specific force [m/s^2] (n, 6), IMU axes
    rotation : (3, 3) IMU to the axes that it is described to have
    motion : uniform times (N,) [s] of each stretch, and the readings (N, 6) it leads to
    limit : largest offset of the clock [s], 0: the same clock
    moved : standard deviation of the place that was predicted for [m]; None: the description is
        right, only the biases are found
    checked : whether the mounting was checked before, so that turning has a direction

    Raises RecordingError for an IMU that is mounted another way, or on another body.
    """
    turned = _along(imu.values, rotation)
    times, predicted = (np.concatenate(x) for x in zip(*motion))
    offset = _clock_offset(imu, turned, times, predicted, limit, checked)
    stamps = imu.t - offset
    stretches = [(stamps >= t[0]) & (stamps <= t[-1]) for t, _ in motion]
    read = np.concatenate([turned[x] for x in stretches])
    if len(read) < FEWEST:
        raise RecordingError(f'the IMU {imu.topic} says nothing while the body is seen',
                             do='record both, stamped with one clock')
    expected = np.concatenate([at_times(stamps[x], *y) for x, y in zip(stretches, motion)])
    _check_mounting(imu.topic, expected, read, rotation)
    _check_body(imu.topic, expected[:, :3], read[:, :3])
    note = {}
    if moved is not None:
        errors = imu_errors(read, expected, float(np.median(np.diff(stamps))), moved)
        read, turned, note = errors.corrected(read), errors.corrected(turned), errors.note()
    bias = np.median(read - expected, axis=0)
    residual = read - expected - bias
    gyro, force = np.split(_along(bias[None], rotation.T)[0], 2)
    return Series(imu.topic, stamps, turned - bias), {
        **note, 'clock_offset': offset, 'variance': white_variance(residual).tolist(),
        'gyro_bias': gyro.tolist(), 'accelerometer_bias': force.tolist(),
        'misfit': [float(np.sqrt((x ** 2).mean())) for x in np.split(residual, 2, axis=1)]}


@dataclass(frozen=True)
class ImuErrors:
    """
    Turn and scale errors of an IMU: zeros where there is none beyond doubt.

    turn : (3,) rotation vector from the axes it has to those of its link [rad]
    scale : (6,) of gyro and accelerometer, share of the reading that is too much [-]
    """

    turn: np.ndarray
    scale: np.ndarray

    def corrected(self, readings: np.ndarray) -> np.ndarray:
        """Return readings (N, 6) [rad/s, m/s^2] of an IMU as described, without scale errors."""
        return _along(readings * (1.0 - self.scale), Rotation.from_rotvec(self.turn).as_matrix())

    def note(self) -> dict[str, list[Any]]:
        """Return what was found, for the report; None is no scale error."""
        return {'turned_degrees': np.degrees(self.turn).tolist(),
                'scale_corrected': [float(x) or None for x in self.scale]}


def imu_errors(read: np.ndarray, expected: np.ndarray, period: float,
               moved: float) -> ImuErrors:
    """
    Return the ImuErrors of readings against what markers say that they should be.

    read, expected : (N, 6) angular velocity [rad/s] and specific force [m/s^2] at the same times
    period : [s] between them; moved : standard deviation of where the IMU is [m]
    """
    out = ImuErrors(np.zeros(3), np.zeros(6))
    for _ in range(ROUNDS):
        found = _beyond_doubt(out.corrected(read), expected, period, moved)
        turn = Rotation.from_rotvec(found[TURN]) * Rotation.from_rotvec(out.turn)
        out = ImuErrors(turn.as_rotvec(), out.scale + found[SCALE])
    return ImuErrors(out.turn, np.where(np.abs(out.scale) > SMALL, out.scale, 0.0))


def _beyond_doubt(read, expected, period, moved):
    """
    Return turn, biases, shift and scale errors (18,) of readings, zeros where they may be chance.

    By linear least squares on the readings, which have less noise than what is expected.  Biases
    and shift are not used, but look like errors of scales where a body hardly moves.
    """
    size = np.repeat([x.std() + 1e-12 for x in np.split(read - expected, 2, axis=1)], 3)
    rate = np.hstack([expected[:, :3], signals.differentiate(expected[:, :3], period)])
    A = np.concatenate([mounting_columns(read, rate), read[:, :, None] * np.eye(6)],
                       axis=2) / size[:, None]
    moves = expected.std(0) > MOVES * read.std(0)
    prior = np.concatenate([PRIOR[:9], np.full(3, max(moved, 1e-9)),
                            np.where(moves, LIKELY, 1e-9)])
    # In the beginning and in the end the smoother knows least.
    inner = slice(len(A) // EDGE, len(A) - len(A) // EDGE)
    found, error = _fit_by_parts(A[inner], ((read - expected) / size)[inner], prior)
    sure = np.abs(found) > SURE * error
    sure[TURN] = sure[TURN].any()
    sure[SCALE] &= moves
    return found * sure


def mounting_columns(read: np.ndarray, turning: np.ndarray) -> np.ndarray:
    """
    Return (N, 6, 12): the change of readings with a turn, biases and a shift of the IMU.

    read : (N, 6) angular velocity [rad/s] and specific force [m/s^2]
    turning : (N, 6) angular velocity and acceleration [rad/s, rad/s^2], less noisy if may be
    """
    out = np.zeros((len(read), 6, 12))
    for k, e in enumerate(np.eye(3)):
        out[:, :3, k], out[:, 3:, k] = np.cross(read[:, :3], e), np.cross(read[:, 3:], e)
        out[:, 3:, 9 + k] = acceleration_at(turning[:, :3], turning[:, 3:], e)
    out[:, :, 3:9] = np.eye(6)
    return out


def _fit_by_parts(A, y, prior):
    """
    Return least squares (p,) of y (n, m) on A (n, m, p), and standard errors (p,).

    As it differs between stretches of time (jackknife): samples are correlated.
    prior : (p,) standard deviations before
    """
    known = np.diag(prior ** -2.0)
    parts = [np.column_stack([np.einsum('nij,nik->jk', a, a), np.einsum('nij,ni->j', a, b)])
             for a, b in zip(np.array_split(A, PARTS), np.array_split(y, PARTS))]
    sums = sum(parts) - np.array([np.zeros_like(parts[0]), *parts])
    found, *without = np.linalg.solve(sums[:, :, :-1] + known, sums[:, :, -1:])[:, :, 0]
    return found, np.sqrt(PARTS - 1.0) * np.std(without, axis=0)


def _clock_offset(imu, turned, t, predicted, limit, checked):
    """Return how late [s] an IMU is stamped against the clock t (N,) of the motion."""
    if not limit:
        return 0.0
    turning, expected = turned[:, :3], predicted[:, :3]
    if not checked:  # of a wrong mounting the speed of turning is right
        turning, expected = (np.linalg.norm(x, axis=1)[:, None] for x in (turning, expected))
    return clock_offset(t, expected, imu.t, turning, limit, imu.topic)


def _check_mounting(topic, predicted, measured, rotation):
    """
    Raise RecordingError when another mounting explains the readings (n, 6), and say which.

    Both are weighed by how much they vary (Kabsch 1976).
    """
    weight = np.repeat([1.0 / (x.std() + 1e-9) for x in np.split(predicted, 2, axis=1)], 3)
    ours, theirs = ((x * weight).reshape(-1, 3) for x in (measured, predicted))
    turn, _ = Rotation.align_vectors(theirs, ours)
    left, before = (np.linalg.norm(theirs - x) for x in (turn.apply(ours), ours))
    if turn.magnitude() > TURNED and left < MENDED * before:
        rpy = (turn * Rotation.from_matrix(rotation)).as_euler('xyz')
        raise RecordingError(
            f'the IMU {topic} is mounted another way than described',
            expected=f'at most {np.degrees(TURNED):.0f} degrees off',
            found=f'{np.degrees(turn.magnitude()):.0f} degrees off',
            do='set imu_rpy: [{:.2f}, {:.2f}, {:.2f}], about; in a URDF turn its link by '
               'that'.format(*rpy))


def _check_body(topic, predicted, measured):
    """Raise RecordingError where a gyro says another turning (n, 3), beside its white noise."""
    turning, misfit = np.linalg.norm(predicted.std(0)), measured - predicted
    apart = np.sqrt(max(0.0, (misfit.var(0) - white_variance(misfit)).sum()))
    if apart > STRANGE * turning:
        raise RecordingError(
            f'the IMU {topic} does not turn as the body does',
            found=f'{apart:.2g} rad/s apart',
            expected=f'far less than the {turning:.2g} rad/s of the markers',
            do='check that it sits on this body, its clock, and that the body turns at all')


def _along(readings, rotation):
    """Return readings (N, 6) along the axes that a rotation (3, 3) brings them to."""
    return np.hstack([readings[:, :3] @ rotation.T, readings[:, 3:] @ rotation.T])
