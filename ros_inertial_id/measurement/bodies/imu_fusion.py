"""
An IMU that rides on a body whose pose is measured: both fused into one motion.

Markers say where a body is, an IMU how it turns and what accelerates it; the noise of neither
reaches far into the other's domain.  Deviations from the motion that the markers alone show are
small, so the smoother of kalman.py is linear at any attitude: displacement along the world's
axes, rotation vector in the body's, each driven by random jerk.  How the IMU sits is constant and
part of the same state: what it costs not to know it is in the covariance.
"""

import numpy as np
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from .body_state import on_clock, state_of_pose
from .imu_mounting import calibrated_imu, comparable, felt_at, mounting_columns, PRIOR
from .imu_ride import FusedMotion, SEAT, Stretch
from .sources import read_imu
from ..kalman import estimate

INTENSITIES = np.geomspace(1e-4, 1.0, 5)  # [s] jerk noise per squared jerk, tried by likelihood
TRIED = 400  # samples on which they are tried
PIECE, OVERLAP = 4096, 128  # samples smoothed at once, and beyond both ends


def fuse_imu(recording, source, series, stretches, kernel, gravity, limit):
    """
    Return (Ride, what was found) of a body's poses and the IMU on it.

    source : BodySource with an ``imu``; series : of its poses (read_pose)
    stretches : uniform times [(N,), ...] [s]; kernel : filter of all results
    gravity : (3,) in the world; limit : largest offset of the IMU's clock [s], 0: the same clock
    Raises RecordingError for an IMU that sits another way than described, or on another body.
    """
    imu = read_imu(recording, source.imu, recording.origin_ns())
    step, period = np.median(np.diff(imu.t)), stretches[0][1] - stretches[0][0]
    poses = [on_clock(series.t, series.values, t) for t in stretches]
    states = [state_of_pose(x[:, :3], x[:, 3:], kernel, period, gravity) for x in poses]
    read, found, rest = calibrated_imu(imu, source.imu, stretches, states, kernel, gravity, limit)
    arm = np.asarray(source.imu.position) + found[9:12]
    # As if averaged over a period of the markers.
    noise = _white(imu.values).reshape(2, 3).mean(1).repeat(3) * step / period
    # By the readings: noise of the markers, in columns and misfit, would bias the place.
    columns = [mounting_columns(comparable(values, felt_at(state, arm, gravity), kernel), period)
               for values, state in zip(read, states)]
    ride = _ride(imu.topic, period, zip(poses, states, read, columns), arm, noise, found,
                 np.append(PRIOR, max(limit, 1e-9)), kernel, gravity)
    if source.imu.covariance is not None:
        ride = ride.seated(np.zeros(len(SEAT)), source.imu.covariance)
    return ride, _told(ride, imu, source.imu, step, stretches, read, rest)


def _told(ride, imu, source, step, stretches, read, rest):
    silent, since = max(_silence(*pair) for pair in zip(stretches, read))
    found, R = ride.mounting, np.asarray(source.rotation)
    gyro, force = R.T @ found[3:6], R.T @ found[6:9]
    return {'topic': imu.topic, 'rate': float(1.0 / step), 'clock_offset': float(found[12]),
            'gyro_bias': gyro.tolist(), 'accelerometer_bias': force.tolist(),
            'turned_degrees': np.degrees(found[:3]).tolist(), 'shifted': found[9:12].tolist(),
            'misfit': [float(np.sqrt((rest[:, k:k + 3] ** 2).mean())) for k in (0, 3)],
            'silent': silent, 'silent_from': since}


def _silence(t, read):
    """Return (duration, start) [s] of the longest time without readings (N, 6) in a stretch."""
    received = np.concatenate([[t[0]], t[np.isfinite(read).all(1)], [t[-1]]])
    k = int(np.argmax(np.diff(received)))
    return float(received[k + 1] - received[k]), float(received[k])


def _ride(topic, period, observed, arm, noise, found, prior, kernel, gravity):
    """Return the Ride of (poses, BodyState, corrected readings, columns) of stretches."""
    smoothed, tau = [], None
    factors, pull = np.eye(13), np.zeros(13)  # of mounting / prior
    for pose, state, values, columns in observed:
        pieces = []
        for low in range(0, len(pose), PIECE):
            part = slice(max(0, low - OVERLAP), low + PIECE + OVERLAP)
            x, slope, off, P, tau = _smooth(period, pose[part], state.rows(part), values[part],
                                            columns[part] * prior, arm, noise, gravity, tau)
            own = np.linalg.inv(P) - np.eye(13)
            factors, pull = factors + own, pull + own @ off
            keep = slice(low - part.start, low - part.start + PIECE)
            pieces.append((x[keep] - slope[keep] @ off, slope[keep]))
        smoothed.append((state, *(np.concatenate(p) for p in zip(*pieces))))
    # In units of the prior: a clock that is known has none.
    stretches = tuple(Stretch(s, x, slope / prior) for s, x, slope in smoothed)
    own = prior[:, None] * np.linalg.inv(np.linalg.cholesky(factors)).T
    ride = FusedMotion(topic, stretches, kernel, np.asarray(gravity), found, own,
                np.zeros((13, len(SEAT))))
    return ride.shifted(prior * np.linalg.solve(factors, pull))


def _smooth(period, pose, state, values, columns, arm, noise, gravity, tau):
    """
    Return (x (N, 18), slope (N, 18, 13), off (13,), covariance, tau) of a piece.

    x : how poses (N, 7) and corrected readings deviate from a BodyState when the mounting is
    ``off`` in units of its prior, with this covariance; slope : how x hangs on it
    """
    turn = Rotation.from_quat(state.quaternion_xyzw)
    acc = turn.apply(state.acc) + gravity
    path = np.zeros((len(pose), 3))
    path[1:] = np.cumsum((turn[:-1].inv() * turn[1:]).as_rotvec(), axis=0)
    nominal = np.hstack([state.position, path, state.velocity, state.omega, acc, state.alpha])
    seen = np.hstack([pose[:, :3] - state.position,
                      (turn.inv() * Rotation.from_quat(pose[:, 3:])).as_rotvec()])
    residual = np.hstack([seen, values - felt_at(state, arm, gravity)])
    H = np.zeros((len(pose), 12, 31))
    H[:, :6, :6] = np.eye(6)
    H[:, 6:, :18] = _sensitivity(state, turn, arm)
    H[:, 6:, 18:] = columns
    variance = np.broadcast_to(np.concatenate([_white(seen), noise]), residual.shape)
    start = np.diag(100 * np.repeat([1.0, 30.0, 1000.0], 6) ** 2 * np.tile(variance[0, :6], 3))
    jerk = (np.gradient(nominal[:, 12:], period, axis=0) ** 2).mean(0)
    if tau is None:
        part = slice(0, TRIED)
        tried = [estimate(*_steady_jerk(period, jerk * x), nominal[part], H[part, :, :18],
                          residual[part], variance[part], start, False).log_likelihood
                 for x in INTENSITIES]
        tau = INTENSITIES[int(np.argmax(tried))]
    F, Q = _steady_jerk(period, jerk * tau)
    # Of the deviation, not of the motion: to take a swing for a random walk shrinks it, and the
    # mounting makes up for that.
    found = estimate(block_diag(F, np.eye(13)), block_diag(Q, np.zeros((13, 13))),
                     np.zeros((len(pose), 31)), H, residual, variance,
                     block_diag(start, np.eye(13)))
    x, P = found.x, found.covariance
    middle = len(x) // 2  # the constants are everywhere the same
    slope = np.linalg.solve(P[:, 18:, 18:], P[:, 18:, :18]).transpose(0, 2, 1)
    return x[:, :18], slope, x[middle, 18:], P[middle, 18:, 18:], tau


def _steady_jerk(period, intensity):
    """
    Return F, Q (18, 18) of motions whose jerk is random from sample to sample, steady in between.

    White jerk would let the velocity leave the sum of the accelerations seen; then the IMU's
    amplitude says nothing about the markers', and springs feel the difference.
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


def _white(x):
    """Return the variance (k,) of white noise in x (N, k), by third differences."""
    return (np.median(np.abs(np.diff(x, 3, axis=0)), axis=0) / 0.6745) ** 2 / 20.0 + 1e-18


def _skew(v):
    """Return [v] (..., 3, 3) with [v] u = v x u."""
    v = np.asarray(v)
    out = np.zeros(v.shape + (3,))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    return out - np.swapaxes(out, -1, -2)
