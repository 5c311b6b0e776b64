"""
An IMU on a body whose pose is measured: both fused into one motion.

Markers say where a body is, an IMU how it turns and what accelerates it; the noise of neither
reaches far into the other's domain.  Deviations from the motion that the markers alone show are
small, so the smoother of kalman.py is linear at any attitude: displacement along the world's
axes, rotation vector in the body's, each driven by random jerk.  The extrinsics of the IMU are
constant and part of the same state: what it costs not to know them is in the covariance.
"""

from dataclasses import dataclass, replace
from typing import Mapping

import numpy as np
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from .body_state import acceleration_at, BodyState, on_clock, state_of_pose, white_variance
from .fused_motion import EXTRINSICS, FusedMotion, Stretch
from .imu_calibration import calibrated_imu, mounting_columns, PRIOR
from .kalman import at_times, estimate, likeliest_intensity, Readings, squared_jerk, vague_start
from .sources import BodySource, read_imu, Series
from ...errors import ConfigError
from ...measurement import signals
from ...measurement.recording import Recording

INTENSITIES = np.geomspace(1e-4, 1.0, 5)  # [s] jerk noise per squared jerk, tried by likelihood
TRIED = 400  # samples on which they are tried
PIECE, OVERLAP = 4096, 128  # samples smoothed at once, and beyond both ends
GAP = 3.0  # periods of the IMU: between readings further apart nothing is filtered
BAND = 0.25  # of the pose's rate: noise of the IMU beyond would alias


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


@dataclass(frozen=True)
class _Imu:
    """An IMU's topic, place (3,) [m], noise (6,) [variances], mounting and its prior (13,)."""

    topic: str
    arm: np.ndarray
    noise: np.ndarray
    mounting: np.ndarray
    prior: np.ndarray


@dataclass(frozen=True)
class _Observed:
    """
    What was measured of a stretch.

    pose : (N, 7); state : BodyState of the poses alone; residual : (N, 6) of the calibrated
    readings against it; columns : (N, 6, 13) of the mounting, in units of its prior
    """

    pose: np.ndarray
    state: BodyState
    residual: np.ndarray
    columns: np.ndarray

    def rows(self, part):
        return _Observed(self.pose[part], self.state.rows(part), self.residual[part],
                         self.columns[part])


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


def fuse_imu(recording: Recording, source: BodySource, track: PoseTrack, limit: float
             ) -> tuple[FusedMotion, Mapping]:
    """
    Return (FusedMotion, notes on the IMU) of a body's poses and the IMU on it.

    track : PoseTrack of the body; limit : largest time offset of the IMU [s], 0: the same clock

    Raises RecordingError for an IMU mounted another way than described, or on another body.
    """
    if source.imu is None:
        raise ConfigError(f'body {source.name}', expected='an IMU', found='none')
    imu = read_imu(recording, source.imu, recording.origin_ns())
    step = float(np.median(np.diff(imu.t)))
    # As if averaged over a period of the markers.
    noise = white_variance(imu.values).reshape(2, 3).mean(1).repeat(3) * step / track.period
    R, arm = np.asarray(source.imu.rotation), np.asarray(source.imu.position)
    half = len(track.kernel) // 2  # at the ends of a stretch the low-pass guessed
    predicted = [predicted_imu(state, arm) for state in track.states]
    calibrated, note = calibrated_imu(_low_pass(imu, step, BAND / track.period), R, [
        (t[half:len(t) - half], y[half:len(y) - half]) for t, y in zip(track.times, predicted)],
        limit, PRIOR[9])
    prior = np.append(PRIOR, max(limit, 1e-9))
    observed = [_observed(track, k, calibrated, y, prior) for k, y in enumerate(predicted)]
    mounting = np.concatenate([
        np.radians(note['turned_degrees']), R @ note['gyro_bias'],
        R @ note['accelerometer_bias'], np.zeros(3), [note['clock_offset']]])
    fused = _fused(_Imu(imu.topic, arm, noise, mounting, prior), track, observed)
    if source.imu.covariance is not None:
        fused = fused.with_extrinsics(np.zeros(len(EXTRINSICS)), source.imu.covariance)
    silent, since = max(_silence(t, o.residual) for t, o in zip(track.times, observed))
    found = fused.mounting
    R = Rotation.from_rotvec(found[:3]).as_matrix() @ R
    return fused, {
        'topic': imu.topic, 'rate': 1.0 / step, **note, 'variance': noise.tolist(),
        'clock_offset': float(found[12]), 'gyro_bias': (R.T @ found[3:6]).tolist(),
        'accelerometer_bias': (R.T @ found[6:9]).tolist(),
        'turned_degrees': np.degrees(found[:3]).tolist(), 'shifted': found[9:12].tolist(),
        'silent': silent, 'silent_from': since}


def _low_pass(imu, step, cutoff):
    """Return the Series of an IMU, a reading every ``step`` [s], low-passed between its gaps."""
    kernel = signals.zero_phase_kernel(step, cutoff)
    pieces = np.split(imu.values, np.flatnonzero(np.diff(imu.t) > GAP * step) + 1)
    return replace(imu, values=np.concatenate([
        signals.smooth(x, kernel) if len(x) > len(kernel) // 2 + 2 else x for x in pieces]))


def _observed(track, number, imu, predicted, prior):
    """Return the _Observed of a stretch with calibrated readings, predicted ones (N, 6)."""
    t, state = track.times[number], track.states[number]
    residual = _at_ticks(t, imu, predicted)
    # By the readings: noise of the markers, in columns and misfit, would bias the position.
    read = _filtered_alike(predicted + residual, predicted, track.kernel)
    rate = signals.differentiate(read, track.period)
    columns = np.concatenate([mounting_columns(read, np.hstack([read[:, :3], rate[:, :3]])),
                              -rate[:, :, None]], axis=2)
    return _Observed(track.poses[number], state, residual, columns * prior)


def _at_ticks(t, imu, predicted):
    """Return readings less the ``predicted`` ones (N, 6) at t (N,), NaN where it was silent."""
    inside = (imu.t >= t[0]) & (imu.t <= t[-1])
    stamps, period = imu.t[inside], t[1] - t[0]
    if len(stamps) < 2:
        return np.full(predicted.shape, np.nan)
    out = on_clock(stamps, imu.values[inside] - at_times(stamps, t, predicted), t)
    after = np.searchsorted(stamps, t).clip(1, len(stamps) - 1)
    away = np.minimum(abs(t - stamps[after - 1]), abs(t - stamps[after]))
    out[away > max(np.median(np.diff(stamps)), period)] = np.nan
    return out


def predicted_imu(state: BodyState, arm: np.ndarray) -> np.ndarray:
    """
    Return the angular velocity and specific force (N, 6) that an IMU reads of a motion.

    state : BodyState of the body; arm : (3,) position of the IMU in its frame, whose axes the
    reading is along [m]
    """
    return np.hstack([state.omega, state.acc + acceleration_at(state.omega, state.alpha, arm)])


def _filtered_alike(read, predicted, kernel):
    """
    Return readings (N, 6) filtered as the poses were, the predicted ones where there is none.

    So also where the filter guesses: near to ends and to where the IMU was silent.
    """
    out, half = predicted.copy(), len(kernel) // 2
    silent = ~np.isfinite(read).all(1)
    near = np.convolve(silent, np.ones(2 * half + 1), 'same') > 0.5
    near[:half] = near[len(near) - half:] = True
    whole = signals.smooth(np.where(silent[:, None], predicted, read), kernel)
    out[~near] = whole[~near]
    return out


def _silence(t, read):
    """Return (duration, start) [s] of the longest time without readings (N, 6) in a stretch."""
    received = np.concatenate([[t[0]], t[np.isfinite(read).all(1)], [t[-1]]])
    k = int(np.argmax(np.diff(received)))
    return float(received[k + 1] - received[k]), float(received[k])


def _fused(imu, track, observed):
    """Return the FusedMotion of an _Imu and the _Observed stretches of a PoseTrack."""
    smoothed, intensity = [], None
    factors, pull = np.eye(13), np.zeros(13)  # of mounting / prior
    for whole in observed:
        pieces, count = [], len(whole.pose)
        for low in range(0, count, PIECE):
            part = slice(max(0, low - OVERLAP), low + PIECE + OVERLAP)
            x, slope, off, P, intensity = _smooth(whole.rows(part), imu, track, intensity)
            own = np.linalg.inv(P) - np.eye(13)
            factors, pull = factors + own, pull + own @ off
            keep = slice(low - part.start, low - part.start + PIECE)
            pieces.append((x[keep] - slope[keep] @ off, slope[keep]))
        smoothed.append((whole.state, *(np.concatenate(p) for p in zip(*pieces))))
    # In units of the prior: a clock that is known has none.
    stretches = tuple(Stretch(s, x, slope / imu.prior) for s, x, slope in smoothed)
    own = imu.prior[:, None] * np.linalg.inv(np.linalg.cholesky(factors)).T
    fused = FusedMotion(imu.topic, stretches, track.kernel, np.asarray(track.gravity),
                        imu.mounting, own, np.zeros((13, len(EXTRINSICS))))
    return fused.shifted(imu.prior * np.linalg.solve(factors, pull))


def _smooth(observed, imu, track, intensity):
    """
    Return (x (N, 18), slope (N, 18, 13), off (13,), covariance, intensity) of an _Observed.

    x : how poses and corrected readings deviate from the BodyState when the mounting is ``off``
    in units of its prior, with this covariance; slope : how x depends on it
    intensity : of the jerk noise, found by likelihood where it is None
    """
    pose, state, period = observed.pose, observed.state, track.period
    turn = Rotation.from_quat(state.quaternion_xyzw)
    seen = np.hstack([pose[:, :3] - state.position,
                      (turn.inv() * Rotation.from_quat(pose[:, 3:])).as_rotvec()])
    nominal = _nominal(state, turn, track.gravity)
    H = np.zeros((len(pose), 12, 31))
    H[:, :6, :6] = np.eye(6)
    H[:, 6:, :18] = _sensitivity(state, turn, imu.arm)
    H[:, 6:, 18:] = observed.columns
    residual = np.hstack([seen, observed.residual])
    variance = np.broadcast_to(np.concatenate([white_variance(seen), imu.noise]), residual.shape)
    start, jerk = vague_start(variance[0, :6]), squared_jerk(nominal[:, 12:], period)
    if intensity is None:
        intensity = likeliest_intensity(
            lambda x: _steady_jerk(period, jerk * x), INTENSITIES, nominal[:TRIED],
            Readings(H[:, :, :18], residual, variance).first(TRIED), start)
    F, Q = _steady_jerk(period, jerk * intensity)
    # Of the deviation, not of the motion: to take a swing for a random walk shrinks it, and the
    # mounting makes up for that.
    found = estimate(block_diag(F, np.eye(13)), block_diag(Q, np.zeros((13, 13))),
                     np.zeros((len(pose), 31)), Readings(H, residual, variance),
                     block_diag(start, np.eye(13)))
    x, P = found.x, found.covariance
    middle = len(x) // 2  # the constants are everywhere the same
    slope = np.linalg.solve(P[:, 18:, 18:], P[:, 18:, :18]).transpose(0, 2, 1)
    return x[:, :18], slope, x[middle, 18:], P[middle, 18:, 18:], intensity


def _nominal(state, turn, gravity):
    """Return (N, 18) place and path of turning, their rates and second derivatives."""
    acc = turn.apply(state.acc) + gravity
    path = np.zeros((len(acc), 3))
    path[1:] = np.cumsum((turn[:-1].inv() * turn[1:]).as_rotvec(), axis=0)
    return np.hstack([state.position, path, state.velocity, state.omega, acc, state.alpha])


def _steady_jerk(period, intensity):
    """
    Return F, Q (18, 18) of motions whose jerk is random from sample to sample, steady in between.

    White jerk would let the velocity leave the sum of the accelerations seen; then the IMU's
    amplitude says nothing about the markers', and the stiffness of springs is biased.
    """
    h = period
    F = np.array([[1.0, h, h * h / 2], [0.0, 1.0, h], [0.0, 0.0, 1.0]])
    w = np.array([h ** 3 / 6, h ** 2 / 2, h])
    return np.kron(F, np.eye(6)), np.kron(np.outer(w, w) / h, np.diag(intensity))


def _sensitivity(state, turn, arm):
    """Return d reading / d deviation (N, 6, 18): displacement, rotation vector, their rates."""
    w, a = _skew(state.omega), _skew(state.alpha)
    r, eye = _skew(arm), np.eye(3)
    out = np.zeros((len(w), 6, 18))
    out[:, :3, 3:6], out[:, :3, 9:12] = w, eye
    # d(alpha x r + omega x (omega x r)) = -[r] dalpha - ([omega x r] + [omega] [r]) domega
    swing = -(_skew(np.cross(state.omega, arm)) + w @ r)
    out[:, 3:, 3:6] = _skew(state.acc) - r @ a + swing @ w
    out[:, 3:, 9:12] = -r @ w + swing
    out[:, 3:, 12:15] = turn.inv().as_matrix()
    out[:, 3:, 15:] = -r
    return out


def _skew(v):
    """Return [v] (..., 3, 3) with [v] u = v x u."""
    v = np.asarray(v)
    out = np.zeros(v.shape + (3,))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    return out - np.swapaxes(out, -1, -2)
