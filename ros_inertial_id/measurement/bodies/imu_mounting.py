"""
How an IMU rides on a body whose motion is measured: its clock, its biases, how it really sits.

A user measures by eye; what is off shows as a misfit between the readings and what an IMU there
must feel of the motion.  Both go through one filter before they are compared, and its ends are
left out.  The smoother of imu_fusion.py starts from what is found here, and finds it better.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from .body_state import on_clock
from .markers import clock_offset
from .. import signals
from ...errors import RecordingError

ROUNDS = 2                 # of calibration: the offset of the clock is not linear
TURNED = np.radians(15.0)  # a mounting further off than that is a mistake
MENDED = 0.7               # share of the misfit that another mounting must leave at most
STRANGE = 0.5              # share of the turning that an IMU on this body cannot miss
BAND = 0.25                # of the pose's rate: noise of the IMU beyond would fold back
# How far off: mounting [rad], biases [rad/s, m/s^2], place [m], each on three axes.
PRIOR = np.repeat([0.3, 0.5, 0.1, 0.02], 3)


def calibrated_imu(imu, source, stretches, states, kernel, gravity, limit):
    """
    Return (readings of every stretch, corrected, what was found (13,), the rest (n, 6)).

    Found: turn [rad], biases of gyro and accelerometer, shift [m], lateness of the stamps [s].
    """
    R, arm = np.asarray(source.rotation), np.asarray(source.position)
    turned = np.hstack([imu.values[:, :3] @ R.T, imu.values[:, 3:] @ R.T])
    period = stretches[0][1] - stretches[0][0]
    pieces = _low_pass(imu.t, turned, BAND / period)
    felt = [felt_at(state, arm, gravity) for state in states]
    offset = _offset(np.concatenate(stretches), np.concatenate(felt), imu.t, turned, limit)
    for number in range(ROUNDS):
        read = [_at(pieces, t + offset) for t in stretches]
        compared = [_alike(*pair, kernel) for pair in zip(read, felt)]
        # By the readings themselves: noise of the markers, in columns and misfit, would bias.
        columns = np.concatenate([mounting_columns(x, period) for x in compared])
        compared = np.concatenate(compared)
        inside = np.isfinite(columns).all((1, 2))
        if inside.sum() < 10:
            raise RecordingError(f'the IMU {imu.topic} says nothing while the body is seen',
                                 do='record both, stamped with one clock')
        known, shown = np.concatenate(felt)[inside], compared[inside]
        if not number:
            _check_mounting(imu.topic, known, shown, R)
        found, rest = _calibrate(columns[inside], shown - known, limit)
        offset = found[12] = offset + found[12]
    _check_body(imu.topic, known, rest)
    back = Rotation.from_rotvec(found[:3])
    return [np.hstack([back.apply(x) for x in np.split(values - found[3:9], 2, axis=1)])
            for values in read], found, rest


def felt_at(state, arm, gravity):
    """Return (N, 6) what an IMU at ``arm`` in the body, along its axes, feels of a BodyState."""
    swing = np.cross(state.alpha, arm) + np.cross(state.omega, np.cross(state.omega, arm))
    return np.hstack([state.omega, state.acc + swing])


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


def _offset(t, felt, stamps, values, limit):
    """Return by how much the IMU's stamps are late [s], by correlating the speed of turning."""
    if not limit:
        return 0.0
    # The mounting is not checked yet: the speed has no direction.
    speeds = [np.linalg.norm(x[:, :3], axis=1)[:, None] for x in (felt, values)]
    return clock_offset(t, speeds[0], stamps, speeds[1], limit)


def _alike(read, felt, kernel):
    """Return readings (N, 6) filtered as the poses were; NaN where either filter guessed."""
    out, half = np.full(read.shape, np.nan), len(kernel) // 2
    silent = ~np.isfinite(read).all(1)
    near = np.convolve(silent, np.ones(2 * half + 1), 'same') > 0.5
    whole = signals.smooth(np.where(silent[:, None], felt, read), kernel)
    out[half:len(out) - half] = whole[half:len(out) - half]
    out[near] = np.nan
    return out


def _check_mounting(topic, felt, measured, R):
    """Raise RecordingError when another mounting explains the readings, and say which."""
    weight = np.repeat([1.0 / (felt[:, :3].std() + 1e-9), 1.0 / (felt[:, 3:].std() + 1e-9)], 3)
    ours, theirs = ((x * weight).reshape(-1, 3) for x in (measured, felt))
    turn, _ = Rotation.align_vectors(theirs, ours)
    left = [np.linalg.norm(theirs - x) for x in (turn.apply(ours), ours)]
    if turn.magnitude() > TURNED and left[0] < MENDED * left[1]:
        rpy = (turn * Rotation.from_matrix(R)).as_euler('xyz')
        raise RecordingError(
            f'the IMU {topic} is mounted another way than described',
            expected=f'at most {np.degrees(TURNED):.0f} degrees off',
            found=f'{np.degrees(turn.magnitude()):.0f} degrees off',
            do='set imu_rpy: [{:.2f}, {:.2f}, {:.2f}], about'.format(*rpy))


def mounting_columns(read, period):
    """Return (N, 6, 13): turn, biases of gyro and accelerometer, shift, lateness in a reading."""
    out = np.zeros((len(read), 6, 13))
    rate = signals.differentiate(read, period)
    omega, alpha = read[:, :3], rate[:, :3]
    for k, e in enumerate(np.eye(3)):
        out[:, :3, k], out[:, 3:, k] = np.cross(omega, e), np.cross(read[:, 3:], e)
        out[:, 3:, 9 + k] = np.cross(alpha, e) + np.cross(omega, np.cross(omega, e))
    out[:, :, 3:9] = np.eye(6)
    out[:, :, 12] = -rate
    return out


def comparable(read, felt, kernel):
    """Return readings (N, 6) filtered as the poses were; what must be felt where there is none."""
    out = _alike(read, felt, kernel)
    return np.where(np.isfinite(out), out, felt)


def _calibrate(columns, misfit, limit):
    """Return (what makes readings (N, 6) misfit the motion (13,), the rest (N, 6))."""
    found, prior = np.zeros(13), np.append(PRIOR, max(limit, 1e-9))
    for _ in range(2):  # weights by the rest that calibration leaves
        rest = misfit - columns @ found
        size = np.repeat([rest[:, :3].std(), rest[:, 3:].std()], 3) + 1e-9
        A = np.vstack([(columns / size[:, None]).reshape(-1, 13), np.diag(1.0 / prior)])
        y = np.concatenate([(misfit / size).ravel(), np.zeros(13)])
        found, *_ = np.linalg.lstsq(A, y, rcond=None)
    return found, misfit - columns @ found


def _check_body(topic, felt, rest):
    turning = felt[:, :3].std(0)
    if np.linalg.norm(rest[:, :3].std(0)) > STRANGE * np.linalg.norm(turning):
        raise RecordingError(
            f'the IMU {topic} does not turn as the body does',
            found=f'{np.linalg.norm(rest[:, :3].std(0)):.2g} rad/s apart',
            expected=f'far less than the {np.linalg.norm(turning):.2g} rad/s of the markers',
            do='check that it sits on this body, its clock, and that the body turns at all')
