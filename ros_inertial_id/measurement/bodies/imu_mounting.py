"""
How an IMU is mounted on a body whose motion is measured: its clock, its biases, its extrinsics.

A user measures by eye; what is off shows as a misfit between the readings and what an IMU there
must read in that motion.  Both go through one filter before they are compared, and its ends are
left out.  The smoother of imu_fusion.py starts from what is found here, and finds it better.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from .body_state import acceleration_at, BodyState, on_clock, state_of_pose
from .marker_clocks import clock_offset
from .sources import BodySource, Series
from .. import signals
from ...errors import RecordingError
from ...jackknife import left_out, standard_errors

ROUNDS = 2                 # of calibration: the offset of the clock is not linear
TURNED = np.radians(15.0)  # a mounting further off than that is a mistake
MENDED = 0.7               # share of the misfit that another mounting must leave at most
STRANGE = 0.5              # share of the turning that an IMU on this body cannot miss
SCALE = 0.01               # more of it is an error of the scale ...
SURE = 5.0                 # ... if so many standard errors
LIKELY = 0.1               # standard deviation of a scale error
PARTS = 16                 # stretches of time that tell them
BAND = 0.25                # of the pose's rate: noise of the IMU beyond would alias
# How far off: mounting [rad], biases [rad/s, m/s^2], position [m], each on three axes.
PRIOR = np.repeat([0.3, 0.5, 0.1, 0.02], 3)


@dataclass(frozen=True)
class PoseTrack:
    """
    The poses of a body on uniform stretches, and the motion that they alone show.

    times : uniform [(N,), ...] [s]; poses : [(N, 7), ...] position [m] and quaternion x y z w
    states : BodyState each; kernel : (2 h + 1,) low-pass; gravity : (3,) in the world [m/s^2]
    """

    times: list
    poses: list
    states: list
    kernel: np.ndarray
    gravity: np.ndarray

    @property
    def period(self) -> float:
        """Return the period [s] of the stretches."""
        return self.times[0][1] - self.times[0][0]


def pose_track(series: Series, times: list, kernel: np.ndarray, gravity: np.ndarray) -> PoseTrack:
    """
    Return the PoseTrack of a Series of poses.

    series : position [m] and quaternion x y z w (n, 7); times : uniform [(N,), ...] [s]
    kernel : (2 h + 1,) low-pass; gravity : (3,) in the world [m/s^2]
    """
    period = times[0][1] - times[0][0]
    poses = [on_clock(series.t, series.values, t) for t in times]
    states = [state_of_pose(x[:, :3], x[:, 3:], kernel, period, gravity) for x in poses]
    return PoseTrack(times, poses, states, kernel, gravity)


def calibrated_imu(imu: Series, source: BodySource, track: PoseTrack, limit: float
                   ) -> tuple[list, np.ndarray, np.ndarray, list[float | None]]:
    """
    Return (readings of every stretch, corrected; the mounting (13,); the residual (n, 6); scale).

    imu : Series of angular velocity [rad/s] and specific force [m/s^2] (n, 6), IMU axes
    source : BodySource with the described rotation and position; track : motion of the body
    limit : largest time offset of the IMU's stamps [s], 0: the same clock
    Mounting: rotation [rad], biases of gyro and accelerometer, shift [m], time offset [s].
    Scale: by how much of the reading each axis reads too much, None where it is no matter.

    Raises RecordingError for an IMU that is mounted another way, or on another body.
    """
    R, arm = np.asarray(source.rotation), np.asarray(source.position)
    turned = np.hstack([imu.values[:, :3] @ R.T, imu.values[:, 3:] @ R.T])
    pieces = _low_pass(imu.t, turned, BAND / track.period)
    predicted = [predicted_imu(state, arm) for state in track.states]
    offset = _offset(np.concatenate(track.times), np.concatenate(predicted), imu.t, turned, limit)
    for number in range(ROUNDS):
        read = [_at(pieces, t + offset) for t in track.times]
        compared = [_alike(*pair, track.kernel) for pair in zip(read, predicted)]
        # By the readings themselves: noise of the markers, in columns and misfit, would bias.
        columns = np.concatenate([mounting_columns(x, track.period) for x in compared])
        inside = np.isfinite(columns).all((1, 2))
        if inside.sum() < 10:
            raise RecordingError(f'the IMU {imu.topic} says nothing while the body is seen',
                                 do='record both, stamped with one clock')
        known, shown = np.concatenate(predicted)[inside], np.concatenate(compared)[inside]
        if not number:
            _check_mounting(imu.topic, known, shown, R)
        found, residual = _calibrate(columns[inside], shown - known, limit)
        offset = found[12] = offset + found[12]
    _check_body(imu.topic, known, residual)
    back = Rotation.from_rotvec(found[:3])
    return [np.hstack([back.apply(x) for x in np.split(values - found[3:9], 2, axis=1)])
            for values in read], found, residual, _scale_errors(columns[inside], shown,
                                                                shown - known, limit)


def _scale_errors(columns, read, misfit, limit):
    """
    Return by how much (6,) of the reading an IMU reads too much [-], None where it is no matter.

    columns (n, 6, 13), misfit (n, 6) of ``_calibrate``; read : (n, 6) readings, of which the
    scales are columns beside those of the mounting: bias and place look like them
    """
    size = np.repeat([x.std() + 1e-9 for x in np.split(misfit, 2, axis=1)], 3)
    A = np.concatenate([columns, read[:, :, None] * np.eye(6)], axis=2) / size[:, None]
    found, error = fit_by_parts(A, misfit / size, np.concatenate(
        [PRIOR, [max(limit, 1e-9)], np.full(6, LIKELY)]))
    return [float(x) if abs(x) > max(SCALE, SURE * e) else None
            for x, e in zip(found[13:], error[13:])]


def fit_by_parts(A: np.ndarray, y: np.ndarray,
                 prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return least squares (p,) of y (n, m) on A (n, m, p), and standard errors (p,).

    As it differs between stretches of time (jackknife): samples are correlated.
    prior : (p,) standard deviations before
    """
    known = np.diag(prior ** -2.0)
    found, without = left_out(
        [np.column_stack([np.einsum('nij,nik->jk', a, a), np.einsum('nij,ni->j', a, b)])
         for a, b in zip(np.array_split(A, PARTS), np.array_split(y, PARTS))],
        lambda sums: np.linalg.solve(sums[:, :-1] + known, sums[:, -1]))
    return found, standard_errors(without)


def predicted_imu(state: BodyState, arm: np.ndarray) -> np.ndarray:
    """
    Return the angular velocity and specific force (N, 6) that an IMU reads of a motion.

    state : BodyState of the body; arm : (3,) position of the IMU in its frame, whose axes the
    reading is along [m]
    """
    return np.hstack([state.omega, state.acc + acceleration_at(state.omega, state.alpha, arm)])


def _low_pass(t, values, cutoff):
    """Return [(t uniform, values filtered), ...] per stretch without a gap."""
    clock = signals.uniform_clock(np.round(t * 1e9).astype(np.int64), 0, 'the IMU')
    kernel = signals.zero_phase_kernel(clock.period, cutoff)
    out = []
    for start, count in clock.segments:
        if count > len(kernel) // 2 + 2:
            at = start + np.arange(count) * clock.period
            out.append((at, signals.smooth(on_clock(t, values, at), kernel)))
    return out


def _at(pieces, t):
    """Return values (N, k) at times t (N,), NaN where no piece has any."""
    out = np.full((len(t), 6), np.nan)
    for at, values in pieces:
        inside = (t >= at[0]) & (t <= at[-1])
        if inside.any():
            out[inside] = on_clock(at, values, t[inside])
    return out


def _offset(t, predicted, stamps, values, limit):
    """Return the time offset of the IMU's stamps [s], by correlating the speed of turning."""
    if not limit:
        return 0.0
    # The mounting is not checked yet: the speed has no direction.
    speeds = [np.linalg.norm(x[:, :3], axis=1)[:, None] for x in (predicted, values)]
    return clock_offset(t, speeds[0], stamps, speeds[1], limit)


def _alike(read, predicted, kernel):
    """Return readings (N, 6) filtered as the poses were; NaN where either filter guessed."""
    out, half = np.full(read.shape, np.nan), len(kernel) // 2
    silent = ~np.isfinite(read).all(1)
    near = np.convolve(silent, np.ones(2 * half + 1), 'same') > 0.5
    whole = signals.smooth(np.where(silent[:, None], predicted, read), kernel)
    out[half:len(out) - half] = whole[half:len(out) - half]
    out[near] = np.nan
    return out


def better_mounting(predicted: np.ndarray, measured: np.ndarray) -> Rotation | None:
    """
    Return the Rotation by which readings fit the motion far better, None where there is none.

    predicted, measured : (n, 6) angular velocity [rad/s] and specific force [m/s^2], along the
    axes that the IMU is said to have.  Both are weighed by how much they vary (Kabsch 1976).
    """
    weight = np.repeat([1.0 / (x.std() + 1e-9) for x in np.split(predicted, 2, axis=1)], 3)
    ours, theirs = ((x * weight).reshape(-1, 3) for x in (measured, predicted))
    turn, _ = Rotation.align_vectors(theirs, ours)
    left = [np.linalg.norm(theirs - x) for x in (turn.apply(ours), ours)]
    return turn if turn.magnitude() > TURNED and left[0] < MENDED * left[1] else None


def _check_mounting(topic, predicted, measured, R):
    """Raise RecordingError when another mounting explains the readings, and say which."""
    turn = better_mounting(predicted, measured)
    if turn is not None:
        rpy = (turn * Rotation.from_matrix(R)).as_euler('xyz')
        raise RecordingError(
            f'the IMU {topic} is mounted another way than described',
            expected=f'at most {np.degrees(TURNED):.0f} degrees off',
            found=f'{np.degrees(turn.magnitude()):.0f} degrees off',
            do='set imu_rpy: [{:.2f}, {:.2f}, {:.2f}], about'.format(*rpy))


def mounting_columns(read: np.ndarray, period: float) -> np.ndarray:
    """
    Return (N, 6, 13): the change of readings with rotation, biases, shift and time offset.

    read : (N, 6) angular velocity [rad/s] and specific force [m/s^2]; period : [s]
    """
    out = np.zeros((len(read), 6, 13))
    rate = signals.differentiate(read, period)
    omega, alpha = read[:, :3], rate[:, :3]
    for k, e in enumerate(np.eye(3)):
        out[:, :3, k], out[:, 3:, k] = np.cross(omega, e), np.cross(read[:, 3:], e)
        out[:, 3:, 9 + k] = acceleration_at(omega, alpha, e)
    out[:, :, 3:9] = np.eye(6)
    out[:, :, 12] = -rate
    return out


def comparable(read: np.ndarray, predicted: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """
    Return readings (N, 6) filtered as the poses were, the predicted ones where there is none.

    read, predicted : (N, 6) [rad/s, m/s^2], NaN in read where there is none
    kernel : (2 h + 1,) low-pass of the poses
    """
    out = _alike(read, predicted, kernel)
    return np.where(np.isfinite(out), out, predicted)


def _calibrate(columns, misfit, limit):
    """Return (the mounting (13,) that makes readings (N, 6) misfit, the residual (N, 6))."""
    found, prior = np.zeros(13), np.append(PRIOR, max(limit, 1e-9))
    for _ in range(2):  # weights by the residual that calibration leaves
        residual = misfit - columns @ found
        size = np.repeat([residual[:, :3].std(), residual[:, 3:].std()], 3) + 1e-9
        A = np.vstack([(columns / size[:, None]).reshape(-1, 13), np.diag(1.0 / prior)])
        y = np.concatenate([(misfit / size).ravel(), np.zeros(13)])
        found, *_ = np.linalg.lstsq(A, y, rcond=None)
    return found, misfit - columns @ found


def _check_body(topic, predicted, residual):
    turning, apart = (np.linalg.norm(x[:, :3].std(0)) for x in (predicted, residual))
    if apart > STRANGE * turning:
        raise RecordingError(
            f'the IMU {topic} does not turn as the body does',
            found=f'{apart:.2g} rad/s apart',
            expected=f'far less than the {turning:.2g} rad/s of the markers',
            do='check that it sits on this body, its clock, and that the body turns at all')
