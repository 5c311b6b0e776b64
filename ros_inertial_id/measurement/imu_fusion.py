"""
An IMU that rides on a body whose pose is measured: both fused into one motion.

Markers say where a body is, an IMU how it turns and what accelerates it; the noise of neither
reaches far into the other's domain.  Deviations from the motion that the markers alone show are
small, so the smoother of kalman.py is linear at any attitude: displacement along the world's
axes, rotation vector in the body's, each driven by white jerk.
"""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from . import signals
from .body_sources import read_imu
from .body_state import BodyState, on_clock, state_of_pose
from .imu_mounting import calibrated_imu, felt_at
from .kalman import estimate, white_jerk

INTENSITIES = np.geomspace(1e-4, 1.0, 5)  # [s] jerk noise per squared jerk, tried by likelihood
TRIED = 1000  # samples on which they are tried


def fuse_imu(recording, source, series, stretches, kernel, gravity, limit):
    """
    Return (BodyState of every stretch, what was found) of a body's poses and the IMU on it.

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
    out, tau = [], None
    for pose, state, values in zip(poses, states, read):
        state, tau = _smooth(period, pose, state, values, arm, noise, gravity, tau)
        out.append(_filtered(state, kernel, gravity))
    silent, since = max(_silence(*pair) for pair in zip(stretches, read))
    gyro, force = (np.asarray(source.imu.rotation).T @ x for x in (found[3:6], found[6:9]))
    return out, {
        'topic': imu.topic, 'rate': float(1.0 / step), 'clock_offset': float(found[12]),
        'gyro_bias': gyro.tolist(), 'accelerometer_bias': force.tolist(),
        'turned_degrees': np.degrees(found[:3]).tolist(), 'shifted': found[9:12].tolist(),
        'misfit': [float(np.sqrt((rest[:, k:k + 3] ** 2).mean())) for k in (0, 3)],
        'silent': silent, 'silent_from': since}


def _silence(t, read):
    """Return (duration, start) [s] of the longest time without readings (N, 6) in a stretch."""
    heard = np.concatenate([[t[0]], t[np.isfinite(read).all(1)], [t[-1]]])
    k = int(np.argmax(np.diff(heard)))
    return float(heard[k + 1] - heard[k]), float(heard[k])


def _smooth(period, pose, state, values, arm, noise, gravity, tau):
    """Return (BodyState, tau) of poses (N, 7) and corrected readings around a BodyState."""
    turn = Rotation.from_quat(state.quaternion_xyzw)
    acc = turn.apply(state.acc) + gravity
    path = np.zeros((len(pose), 3))
    path[1:] = np.cumsum((turn[:-1].inv() * turn[1:]).as_rotvec(), axis=0)
    nominal = np.hstack([state.position, path, state.velocity, state.omega, acc, state.alpha])
    seen = np.hstack([pose[:, :3] - state.position,
                      (turn.inv() * Rotation.from_quat(pose[:, 3:])).as_rotvec()])
    residual = np.hstack([seen, values - felt_at(state, arm, gravity)])
    H = np.zeros((len(pose), 12, 18))
    H[:, :6, :6] = np.eye(6)
    H[:, 6:] = _sensitivity(state, turn, arm)
    variance = np.broadcast_to(np.concatenate([_white(seen), noise]), residual.shape)
    start = np.diag(100 * np.repeat([1.0, 30.0, 1000.0], 6) ** 2 * np.tile(variance[0, :6], 3))
    jerk = (np.gradient(nominal[:, 12:], period, axis=0) ** 2).mean(0)
    if tau is None:
        part = slice(0, TRIED)
        tried = [estimate(*white_jerk(6, period, jerk * x), nominal[part], H[part],
                          residual[part], variance[part], start, False).log_likelihood
                 for x in INTENSITIES]
        tau = INTENSITIES[int(np.argmax(tried))]
    x = estimate(*white_jerk(6, period, jerk * tau), nominal, H, residual, variance, start).x
    return _moved(state, turn, acc, x - nominal, gravity), tau


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


def _moved(state, turn, acc, change, gravity):
    """Return the BodyState that deviates by ``change`` (N, 18) from a nominal one."""
    p, theta, v, rate, a, second = np.split(change, 6, axis=1)
    turn = turn * Rotation.from_rotvec(theta)
    omega = state.omega + rate + np.cross(state.omega, theta)
    alpha = (state.alpha + second + np.cross(state.alpha, theta) + np.cross(state.omega, rate))
    return BodyState(state.position + p, turn.as_quat(), omega, alpha,
                     turn.inv().apply(acc + a - gravity), state.velocity + v)


def _white(x):
    """Return the variance (k,) of white noise in x (N, k), by third differences."""
    return (np.median(np.abs(np.diff(x, 3, axis=0)), axis=0) / 0.6745) ** 2 / 20.0 + 1e-18


def _skew(v):
    """Return [v] (..., 3, 3) with [v] u = v x u."""
    v = np.asarray(v)
    out = np.zeros(v.shape + (3,))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    return out - np.swapaxes(out, -1, -2)


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
