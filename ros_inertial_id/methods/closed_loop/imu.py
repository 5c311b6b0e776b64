"""
IMUs on the bodies of a mechanism, fused with the motion that markers saw.

What an IMU should measure follows from z, zdot, zddot through the mechanism; deviations from a
nominal motion (the filtered markers) are estimated by the error-state smoother of kalman.py.
Offset (in the middle) and drift of the clock come from correlating angular velocities, biases from
the mean misfit, a small turn and errors of the scales from imu_errors.py, and a mounting that
contradicts the motion is refused with the rotation that would fit.  Every reading counts once, at
the tick of the clock next to it, whatever the rate of its sensor.
"""

from typing import Any, Sequence

import numpy as np

from .continuity import nominal_motion
from .imu_errors import imu_errors, noted
from .markers import MarkerMotion
from ...dynamics.body_motion import apply, body_motions, Frame, frame_of, twists
from ...dynamics.continuation import newton
from ...dynamics.mechanism import Mechanism
from ...dynamics.regressor import BLOCK
from ...errors import ConfigError, RecordingError
from ...measurement.bodies.imu_mounting import better_mounting, TURNED
from ...measurement.bodies.marker_clocks import clock_drift, clock_offset
from ...measurement.bodies.sources import channel_of
from ...measurement.kalman import likeliest_motion, Readings, vague_start
from ...measurement.recording import Recording

INTENSITIES = np.geomspace(1e-5, 1.0, 11)  # [s] jerk noise per squared jerk, tried by likelihood
PASSES = 3                 # the last changes offsets by microseconds
TRIED = 1200               # samples on which they are tried
EPSILON = 1e-5             # of finite differences, relative to one radian or metre (per second)


def imu_links(robot: Mechanism, lines: Sequence[str]) -> tuple[tuple[str, Frame], ...]:
    """
    Return ((topic, Frame), ...) of the lines "TOPIC LINK" of a configuration.

    robot : Mechanism that has the links; lines : option ``imus``
    """
    links = []
    for line in lines:
        words = line.split()
        if len(words) != 2:
            raise ConfigError('option imus', expected='"TOPIC LINK"', found=repr(line))
        links.append((words[0], frame_of(robot.robot, words[1])))
    return tuple(links)


def fuse_imus(recording: Recording, robot: Mechanism, seen: MarkerMotion, lines: Sequence[str],
              limit: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """
    Return (t, z (N, k), zdot (N, k), notes) of MarkerMotion ``seen`` and IMUs.

    lines : "TOPIC LINK" each; limit : largest clock offset [s]
    The nominal motion is improved in PASSES: markers alone, then with the IMUs at the offsets and
    biases that the better motion shows.  notes: all that the same filter needs to run live.
    recording : with the IMUs' channels; robot : Mechanism that was seen
    """
    links = imu_links(robot, lines)
    channels = [channel_of(recording, topic) for topic, _ in links]
    model = ImuMeasurementModel(robot, [link for _, link in links])
    t, nominal = nominal_motion(seen.t, seen.z)
    visible = seen.t, seen.reading, np.diagonal(seen.covariance, axis1=1, axis2=2)
    q = seen.q[np.clip(np.searchsorted(seen.t, t), 0, len(seen.t) - 1)]
    nominal, _, alone = _smooth(
        nominal, t, [on_clock(t, visible[0], visible[1], visible[2], nominal)])
    notes: dict[str, dict[str, Any]] = {}
    for _ in range(PASSES):
        predicted, slopes = model.slopes(nominal, q)
        sensors = [on_clock(t, visible[0], visible[1], visible[2], nominal)]
        for i, channel in enumerate(channels):
            (stamps, readings), note = _aligned(channel, predicted[:, i], t, recording.origin_ns(),
                                                limit, notes.get(channel.topic))
            sensors.append(on_clock(t, stamps, readings, note['variance'], predicted[:, i],
                                    slopes[:, i]))
            notes[channel.topic] = note
        nominal, covariance, jerk = _smooth(nominal, t, sensors)
    standard_deviation = np.sqrt(np.median(np.diagonal(covariance, axis1=1, axis2=2), axis=0))
    count = len(robot)
    smoothed = {name: [float(x) for x in standard_deviation[i::count]]
                for i, name in enumerate(robot.coordinates)}
    return t, nominal[:, :count], nominal[:, count:2 * count], {
        'imus': notes, 'smoothed_deviation': smoothed, 'jerk_noise': jerk.tolist(),
        'jerk_noise_alone': alone.tolist()}


def _smooth(nominal, t, sensors):
    """Return the smoothed states (N, 3 k), covariance, and process noise (k,) by likelihood."""
    H, residual, variance = (np.concatenate(x, axis=1) for x in zip(*sensors))
    period, count = t[1] - t[0], nominal.shape[1] // 3
    readings = Readings(H, residual, variance)
    start = vague_start(np.nanmedian(variance[:, :count], axis=0))
    out, best = likeliest_motion(nominal, readings, start, period, (INTENSITIES, TRIED))
    return out.x, out.covariance, best


class ImuMeasurementModel:
    """What IMUs at Frames of a Mechanism measure of a motion: angular velocity, specific force."""

    def __init__(self, robot, links):
        self._robot, self._links = robot, links

    def slopes(self, motion: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, ...]:
        """
        Return what is measured (N, links, 6) and its change (N, links, 6, 3 k) with the motion.

        motion : (N, 3 k) z, zdot, zddot; q : (N, n) configurations nearby
        """
        parts = [self._block(motion[low:low + BLOCK], q[low:low + BLOCK])
                 for low in range(0, len(motion), BLOCK)]
        return tuple(np.concatenate(x) for x in zip(*parts))

    def _block(self, motion, q):
        robot, size, count = self._robot, len(q), len(self._robot)
        z, rate, acceleration = np.split(motion, 3, axis=1)
        steps = EPSILON * np.eye(count)[:, None]
        goal = np.vstack([z, *(z + steps)])
        near = np.tile(robot.closing(q)[0], (count + 1, 1, 1))
        q, _ = newton(robot, np.tile(q, (count + 1, 1)), near, goal, goal)
        R, _, _ = robot.closing(q)
        # The motion itself, z moved, zdot moved; it is linear in zddot.
        rows = np.concatenate([np.arange(len(q)), np.tile(np.arange(size), count)])
        rates = np.vstack([np.tile(rate, (count + 1, 1)), *(rate + 10 * steps)])
        v, a = robot.motion(q[rows], R[rows], rates, np.tile(acceleration, (2 * count + 1, 1)))
        motions, out = body_motions(robot.robot, q[rows], v), []
        for link in self._links:
            predicted, turn, arm = self._at(link, motions, a, R)
            base, *moved = np.split(predicted, 2 * count + 1)
            slope = np.zeros((size, 6, 3 * count))
            for k, m in enumerate(moved):
                slope[:, :, k] = (m - base) / (EPSILON * (1 if k < count else 10))
            slope[:, 3:, 2 * count:] = np.einsum('ijb,jkb->bik', turn[..., :size], arm)
            out.append((base, slope))
        return tuple(np.stack(x, axis=1) for x in zip(*out))

    def _at(self, link, motions, a, R):
        """Return readings (B, 6), base to link (3, 3, B), d acceleration / d zddot (3, k, N)."""
        at, size = motions[link.body + 1].at(link), len(R) // (1 + len(self._robot))
        force, arm = at.a - self._robot.gravity_base[:, None], 0.0
        for j, u, _ in twists(self._robot.robot, motions, link.body, at.p):
            force = force + u * a[:, j]
            arm = arm + u[:, None, :size] * R[:size, j].T
        turn = np.swapaxes(at.R, 0, 1)
        return (np.concatenate([apply(turn, at.omega), apply(turn, force)]).T, turn,
                arm + np.zeros((3, len(self._robot), size)))


def on_clock(t: np.ndarray, stamps: np.ndarray, readings: np.ndarray, variance: np.ndarray,
             predicted: np.ndarray,
             slopes: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return H (N, m, 3 k), residual and variance (N, m) of a sensor at the ticks t (N,).

    stamps (M,) [s], readings (M, m), variance (m,) or (M, m); predicted : (N, >= m) at the ticks
    slopes : (N, m, 3 k); None: readings are z.  Several readings at one tick count as their mean.
    """
    count = readings.shape[1]
    if slopes is None:
        slopes = np.broadcast_to(np.eye(count, predicted.shape[1]),
                                 (len(t), count, predicted.shape[1]))
    tick = np.clip(np.round((stamps - t[0]) / (t[1] - t[0])).astype(int), 0, len(t) - 1)
    residual = readings - at_times(stamps, t, predicted[:, :count])
    variance = np.broadcast_to(variance, residual.shape)
    weight = np.where(variance > 0.0, 1.0, 0.0)  # none: not determined
    np.divide(weight, variance, out=weight, where=weight > 0.0)
    total, factors = np.zeros((len(t), count)), np.zeros((len(t), count))
    np.add.at(total, tick, weight * residual)
    np.add.at(factors, tick, weight)
    nothing = factors == 0.0
    factors[nothing] = np.nan
    return slopes, total / factors, 1.0 / factors


def at_times(times: np.ndarray, t: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """
    Return rows (N, k) at t (N,) interpolated to times (M,), hardly outside of t.

    By cubics: what straight lines flatten, the smoother would make too lively.
    """
    from scipy.interpolate import make_interp_spline  # takes long to import: when needed
    return make_interp_spline(t, rows, k=min(3, len(t) - 1), check_finite=False)(times)


def _aligned(channel, predicted, t, origin, limit, before):
    """
    Return (stamps, readings (M, 6) without bias) of an IMU on the clock t, and what was found.

    before : what was found in the pass before; None: the nominal is that of the markers alone
    """
    stamps = (channel.stamp_ns - origin) * 1e-9
    readings = np.hstack([channel.fields['angular_velocity'],
                          channel.fields['linear_acceleration']])
    if not np.isfinite(readings).all():
        raise RecordingError(f'the IMU {channel.topic} is not finite',
                             found=f'{int((~np.isfinite(readings)).any(1).sum())} messages')
    turning = [predicted[:, :3], readings[:, :3]]
    if before is None:  # the mounting is not checked yet: the speed of turning has no direction
        turning = [np.linalg.norm(x, axis=1)[:, None] for x in turning]
    drift = 0.0
    if limit:  # a nominal that has followed readings says nothing of their drift
        drift = before['clock_drift'] if before else clock_drift(t, turning[0], stamps,
                                                                 turning[1], limit)
    stamps = stamps - drift * (stamps - 0.5 * (t[0] + t[-1]))
    offset = clock_offset(t, turning[0], stamps, turning[1], limit) if limit else 0.0
    inside = (stamps - offset >= t[0]) & (stamps - offset <= t[-1])
    stamps, readings = stamps[inside] - offset, readings[inside]
    expected = at_times(stamps, t, predicted)
    _check_mounting(channel.topic, expected, readings)
    # A nominal that has followed readings says nothing of their scale.
    errors = noted(before) if before else imu_errors(readings, expected)
    readings = errors.corrected(readings)
    bias = np.median(readings - expected, axis=0)
    residual = readings - expected - bias
    # White noise shows in third differences (1 3 3 1), what the nominal lacks does not.  A
    # nominal that has seen these readings has followed some of their noise.
    variance = (before['variance'] if before else
                ((np.diff(residual, 3, axis=0) ** 2).mean(0) / 20.0).tolist())
    return (stamps, readings - bias), {
        **errors.note(), 'clock_offset': offset, 'clock_drift': drift, 'variance': variance,
        'gyro_bias': bias[:3].tolist(), 'accelerometer_bias': bias[3:].tolist(),
        'misfit': [float(np.sqrt((residual[:, :3] ** 2).mean())),
                   float(np.sqrt((residual[:, 3:] ** 2).mean()))]}


def _check_mounting(topic, predicted, measured):
    """Raise RecordingError when another mounting explains the readings, and say which."""
    turn = better_mounting(predicted, measured)
    if turn is not None:
        angle, rpy = turn.magnitude(), np.rad2deg(turn.as_euler('xyz'))
        raise RecordingError(
            f'the IMU {topic} is mounted another way than its link says',
            expected=f'at most {np.rad2deg(TURNED):.0f} degrees off',
            found=f'{np.rad2deg(angle):.0f} degrees off',
            do=f'turn the link by rpy {rpy[0]:.0f} {rpy[1]:.0f} {rpy[2]:.0f} degrees in the URDF')
