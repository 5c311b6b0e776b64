"""
IMUs on the bodies of a mechanism, fused with the motion that markers saw.

What an IMU must feel follows from z, zdot, zddot through the mechanism; deviations from a nominal
motion (the filtered markers) are estimated by the error-state smoother of measurement/kalman.py.
The clock offset comes from correlating angular velocities, biases from the mean misfit, and a
mounting that contradicts the motion is refused with the rotation that would fit.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from ..dynamics.body_motion import apply, body_motions, frame_of, twists
from ..dynamics.continuation import newton
from ..errors import ConfigError, RecordingError
from ..measurement import signals
from ..measurement.kalman import estimate, white_jerk
from ..measurement.markers import channel_of, clock_offset

TURNED = np.deg2rad(15.0)  # a mounting further off than that is a mistake
INTENSITIES = np.geomspace(1e-5, 1.0, 6)  # [s] jerk noise per squared jerk, tried by likelihood
PASSES = 3                 # the last changes offsets by microseconds
TRIED = 1200               # samples on which they are tried
EPSILON = 1e-5             # of finite differences, relative to one radian or metre (per second)


def fuse_imus(recording, robot, seen, lines, limit):
    """
    Return (t, z (N, k), zdot (N, k), notes) of MarkerMotion ``seen`` and IMUs.

    lines : "TOPIC LINK" each; limit : largest clock offset [s]
    The nominal motion is improved in PASSES: markers alone, then with the IMUs at the offsets and
    biases that the better motion shows.
    """
    t, nominal, visible = _nominal(robot, seen)
    links = []
    for line in lines:
        words = line.split()
        if len(words) != 2:
            raise ConfigError('option imus', expected='"TOPIC LINK"', found=repr(line))
        links.append((channel_of(recording, words[0]), frame_of(robot.robot, words[1])))
    nominal, covariance = _smooth(robot, nominal, t, visible, [])
    for number in range(PASSES):
        imus, found = [], {}
        for channel, link in links:
            feel = _Feel(robot, link, seen, t)
            measured, found[channel.topic] = _aligned(channel, feel(nominal), t,
                                                      recording.origin_ns(), limit, number > 0)
            imus.append((feel, measured))
        nominal, covariance = _smooth(robot, nominal, t, visible, imus)
    deviation = np.sqrt(np.median(np.diagonal(covariance, axis1=1, axis2=2), axis=0))
    count = len(robot)
    smoothed = {name: [float(x) for x in deviation[i::count]]
                for i, name in enumerate(robot.coordinates)}
    return t, nominal[:, :count], nominal[:, count:2 * count], {
        'imus': found, 'smoothed_deviation': smoothed}


def _smooth(robot, nominal, t, visible, imus):
    """Return the smoothed states (N, 3 k) and covariance; process noise by likelihood."""
    H, residual, variance = _sensors(robot, nominal, t, visible, imus)
    period, count = t[1] - t[0], len(robot)
    start = 10 * np.repeat([1.0, 30.0, 1000.0], count) * np.sqrt(
        np.tile(np.nanmedian(variance[:, :count], axis=0), 3))
    scale, part = _jerk(nominal, t), slice(0, min(len(t), TRIED))
    tried = [estimate(*white_jerk(count, period, scale * tau), nominal[part], H[part],
                      residual[part], variance[part], start, False).log_likelihood
             for tau in INTENSITIES]
    best = scale * INTENSITIES[int(np.argmax(tried))]
    out = estimate(*white_jerk(count, period, best), nominal, H, residual, variance, start)
    return out.x, out.covariance


class _Feel:
    """What an IMU on a link feels: (N, 6) angular velocity and specific force of a motion."""

    def __init__(self, robot, link, seen, t):
        self._robot, self._link = robot, link
        near = np.clip(np.searchsorted(seen.t, t), 0, len(seen.t) - 1)
        self._q = seen.q[near]

    def __call__(self, motion):
        robot = self._robot
        z, rate, acceleration = np.split(motion, 3, axis=1)
        q, _ = newton(robot, self._q, robot.transformation(self._q)[0], z, z)
        R, _ = robot.transformation(q)
        v, a = robot.motion(q, R, rate, acceleration)
        motions = body_motions(robot.robot, q, v)
        at = motions[self._link.body + 1].at(self._link)
        force = at.a - robot.gravity_base[:, None]
        for j, u, _ in twists(robot.robot, motions, self._link.body, at.p):
            force = force + u * a[:, j]
        turn = np.swapaxes(at.R, 0, 1)
        return np.concatenate([apply(turn, at.omega), apply(turn, force)]).T


def _nominal(robot, seen):
    """Return uniform t (N,), nominal (N, 3 k) from filtered markers, and what they saw (N, k)."""
    period = float(np.median(np.diff(seen.t)))
    count = int(round((seen.t[-1] - seen.t[0]) / period)) + 1
    t = seen.t[0] + np.arange(count) * period
    z = np.stack([np.interp(t, seen.t, x) for x in seen.z.T], axis=1)
    cutoff, _ = signals.choose_cutoff([signals.differentiate(z, period)], period)
    kernel = signals.zero_phase_kernel(period, cutoff)
    while len(kernel) // 2 + 2 > count // 3 and len(kernel) > 1:
        cutoff *= 1.5
        kernel = signals.zero_phase_kernel(period, cutoff)
    smooth = signals.smooth(z, kernel)
    rate = signals.differentiate(smooth, period)
    nominal = np.hstack([smooth, rate, signals.differentiate(rate, period)])
    visible = np.full((count, len(robot), 2), np.nan)
    place = np.clip(np.round((seen.t - t[0]) / period).astype(int), 0, count - 1)
    late = (seen.t - t[place])[:, None] * rate[place]
    visible[place, :, 0] = seen.z - late
    visible[place, :, 1] = np.diagonal(seen.covariance, axis1=1, axis2=2)
    return t, nominal, visible


def _aligned(channel, felt, t, origin, limit, trusted):
    """Return readings (N, 6) of an IMU on the clock t, bias removed, and what was found."""
    stamps = (channel.stamp_ns - origin) * 1e-9
    readings = np.hstack([channel.fields['angular_velocity'],
                          channel.fields['linear_acceleration']])
    if not np.isfinite(readings).all():
        raise RecordingError(f'the IMU {channel.topic} is not finite',
                             found=f'{int((~np.isfinite(readings)).any(1).sum())} messages')
    turning = [felt[:, :3], readings[:, :3]]
    if not trusted:  # the mounting is not checked yet: the speed of turning has no direction
        turning = [np.linalg.norm(x, axis=1)[:, None] for x in turning]
    offset = clock_offset(t, turning[0], stamps, turning[1], limit) if limit else 0.0
    measured = np.stack([np.interp(t + offset, stamps, x, np.nan, np.nan)
                         for x in readings.T], 1)
    inside = np.isfinite(measured).all(1)
    _check_mounting(channel.topic, felt[inside], measured[inside])
    bias = np.median(measured[inside] - felt[inside], axis=0)
    rest = measured[inside] - felt[inside] - bias
    return measured - bias, {
        'clock_offset': offset, 'gyro_bias': bias[:3].tolist(),
        'accelerometer_bias': bias[3:].tolist(),
        'misfit': [float(np.sqrt((rest[:, :3] ** 2).mean())),
                   float(np.sqrt((rest[:, 3:] ** 2).mean()))]}


def _check_mounting(topic, felt, measured):
    """Raise RecordingError when another mounting explains the readings, and say which."""
    weights = 1.0 / np.array([felt[:, :3].std() + 1e-9, felt[:, 3:].std() + 1e-9])
    pairs = [(w * measured[:, part], w * felt[:, part])
             for w, part in zip(weights, (slice(0, 3), slice(3, 6)))]
    ours, theirs = (np.vstack(x) for x in zip(*pairs))
    turn, _ = Rotation.align_vectors(theirs, ours)
    angle = turn.magnitude()
    as_said = np.linalg.norm(theirs - ours)
    turned = np.linalg.norm(theirs - turn.apply(ours))
    if angle > TURNED and turned < 0.7 * as_said:
        rpy = np.rad2deg(turn.as_euler('xyz'))
        raise RecordingError(
            f'the IMU {topic} is mounted another way than its link says',
            expected='at most 15 degrees off', found=f'{np.rad2deg(angle):.0f} degrees off',
            do=f'turn the link by rpy {rpy[0]:.0f} {rpy[1]:.0f} {rpy[2]:.0f} degrees in the URDF')


def _sensors(robot, nominal, t, visible, imus):
    """Return H (N, m, 3 k), residual and variance (N, m): markers' z, then IMU readings."""
    count, size = len(robot), nominal.shape[1]
    H = [np.broadcast_to(np.eye(count, size), (len(t), count, size))]
    residual, variance = [visible[:, :, 0] - nominal[:, :count]], [visible[:, :, 1]]
    steps = EPSILON * np.repeat([1.0, 10.0, 100.0], count)
    for feel, measured in imus:
        base = feel(nominal)
        slope = np.stack([(feel(nominal + step * unit) - base) / step
                          for step, unit in zip(steps, np.eye(size))], axis=2)
        rest = measured - base
        # White noise shows in successive differences, whatever the nominal lacks does not.
        white = 0.5 * np.nanmean(np.diff(rest, axis=0) ** 2, axis=0)
        H.append(slope)
        residual.append(rest)
        variance.append(np.broadcast_to(white, rest.shape))
    return np.concatenate(H, axis=1), np.hstack(residual), np.hstack(variance)


def _jerk(nominal, t):
    """Return the mean squared jerk (k,) of the nominal motion."""
    count = nominal.shape[1] // 3
    jerk = np.gradient(nominal[:, 2 * count:], t[1] - t[0], axis=0)
    return (jerk ** 2).mean(0)
