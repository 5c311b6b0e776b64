"""
IMUs on the bodies of a mechanism, fused with the motion that markers saw.

What an IMU should measure follows from z, zdot, zddot through the mechanism; deviations from a
nominal motion (the filtered markers) are estimated by the error-state smoother of kalman.py, with
readings that rigs/measurement/imu_calibration.py brought to the motion's clock: where an IMU sits
and how it is turned is in the description.

Live the same equations run forward only: a batch of samples is predicted from the last state,
markers alone make that the nominal motion, and the filter adds the IMUs to it.  Clock offsets,
biases and noises are those that the identification found.
"""

from typing import Any, Sequence

import numpy as np

from .markers import MarkerMotion
from ..dynamics.continuation import newton
from ..dynamics.mechanism import Mechanism
from ..measurement.imu_calibration import calibrated_imu
from ..measurement.kalman import (at_ticks, estimate, Readings, smoothed_by_white_jerk,
                                  vague_start, white_jerk)
from ..measurement.sources import BodySource, read_imu
from ...dynamics.body_motion import apply, body_motions, Frame, frame_of, twists
from ...dynamics.regressor import BLOCK
from ...errors import ConfigError, RecordingError
from ...measurement import signals
from ...measurement.live import Window
from ...measurement.recording import Channel, Recording
from ...measurement.sampling import LONGEST_GAP

INTENSITIES = np.geomspace(1e-5, 1.0, 11)  # [s] jerk noise per squared jerk, tried by likelihood
PASSES = 3                 # the last changes offsets by microseconds
TRIED = 1200               # samples on which they are tried
EPSILON = 1e-5             # of finite differences, relative to one radian or metre (per second)
PATIENCE = 0.03            # [s] samples wait at least for a sensor that may be late
FAR = 100.0                # standard deviations: a nominal moved by more is linearised again


def imu_links(robot: Mechanism, lines: Sequence[str]) -> tuple[tuple[str, Frame], ...]:
    """Return ((topic, Frame), ...) of the lines "TOPIC LINK" of option imus."""
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
    """
    links = imu_links(robot, lines)
    series = [read_imu(recording, BodySource(topic, 'imu', topic), recording.origin_ns())
              for topic, _ in links]
    model = ImuMeasurementModel(robot, [link for _, link in links])
    t, nominal = nominal_motion(seen.t, seen.z)
    visible = seen.t, seen.z, np.diagonal(seen.covariance, axis1=1, axis2=2)
    q = seen.q[np.clip(np.searchsorted(seen.t, t), 0, len(seen.t) - 1)]
    nominal, *_ = _smooth(nominal, t, [at_ticks(t, *visible, nominal)])
    notes: dict[str, dict[str, Any]] = {}
    for _ in range(PASSES):
        predicted, slopes = model.slopes(nominal, q)
        sensors = [at_ticks(t, *visible, nominal)]
        for i, imu in enumerate(series):
            read, note = calibrated_imu(imu, np.eye(3), [(t, predicted[:, i])], limit,
                                        checked=imu.topic in notes)
            # A motion that has seen these readings has followed some of their noise.
            note['variance'] = notes.get(imu.topic, note)['variance']
            near = (read.t >= t[0]) & (read.t <= t[-1])
            sensors.append(at_ticks(t, read.t[near], read.values[near], note['variance'],
                                    predicted[:, i], slopes[:, i]))
            notes[imu.topic] = note
        nominal, covariance, jerk = _smooth(nominal, t, sensors)
    standard_deviation = np.sqrt(np.median(np.diagonal(covariance, axis1=1, axis2=2), axis=0))
    count = len(robot)
    smoothed = {name: [float(x) for x in standard_deviation[i::count]]
                for i, name in enumerate(robot.coordinates)}
    return t, nominal[:, :count], nominal[:, count:2 * count], {
        'imus': notes, 'smoothed_deviation': smoothed, 'jerk_noise': jerk.tolist()}


def nominal_motion(stamps: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return a uniform clock t (N,) [s] and z, zdot, zddot (N, 3 k) low-passed where noise begins.

    stamps : (M,) [s] of z (M, k) [rad, m]
    """
    period = float(np.median(np.diff(stamps)))
    count = int(round((stamps[-1] - stamps[0]) / period)) + 1
    t = stamps[0] + np.arange(count) * period
    z = np.stack([np.interp(t, stamps, x) for x in z.T], axis=1)
    cutoff, _ = signals.choose_cutoff([signals.differentiate(z, period)], period)
    kernel = signals.zero_phase_kernel(period, cutoff)
    while len(kernel) // 2 + 2 > count // 3 and len(kernel) > 1:
        cutoff *= 1.5
        kernel = signals.zero_phase_kernel(period, cutoff)
    smooth = signals.smooth(z, kernel)
    rate = signals.differentiate(smooth, period)
    return t, np.hstack([smooth, rate, signals.differentiate(rate, period)])


def _smooth(nominal, t, sensors):
    """Return the smoothed states (N, 3 k), covariance, and process noise (k,) by likelihood."""
    H, residual, variance = (np.concatenate(x, axis=1) for x in zip(*sensors))
    start = vague_start(np.nanmedian(variance[:, :nominal.shape[1] // 3], axis=0))
    out, jerk = smoothed_by_white_jerk(nominal, t[1] - t[0], Readings(H, residual, variance),
                                       start, INTENSITIES, TRIED)
    return out.x, out.covariance, jerk


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


class CausalFilter:
    """
    The motion of a Mechanism from markers and IMUs, batch by batch.

    lines : "TOPIC LINK" of the IMUs; metadata : summary of the observation the model comes from
    patience : [s] that an IMU is waited for: without it the acceleration has many times the noise
    """

    def __init__(self, robot, lines, metadata, patience):
        self._patience = patience
        if 'jerk_noise' not in metadata:
            raise ConfigError('the model does not say how to fuse the IMUs live',
                              do='identify again with this version')
        links = imu_links(robot, lines)
        self.topics = tuple(topic for topic, _ in links)
        self._model = ImuMeasurementModel(robot, [link for _, link in links])
        self._jerk = np.array(metadata['jerk_noise'])
        known = {topic.lstrip('/'): imu for topic, imu in metadata['imus'].items()}
        self._known = [known[topic.lstrip('/')] for topic in self.topics]
        self._readings = [Window() for _ in links]
        self._newest, self._silent = np.full(len(links), -np.inf), set()
        self.restart()

    def restart(self) -> None:
        """Begin another motion."""
        self.period: float | None = None
        self._t, self._x, self._P = 0.0, np.empty(0), np.empty(0)  # until the first markers
        self._used = -np.inf  # [s] until when markers have been used

    def receive(self, number: int, channel: Channel, t: np.ndarray) -> None:
        """Take new samples of the IMU ``number`` from a ``channel``, stamped at t (N,) [s]."""
        known = self._known[number]
        readings = np.hstack([channel.fields['angular_velocity'],
                              channel.fields['linear_acceleration']])
        good = np.isfinite(readings).all(1)
        bias = np.concatenate([known['gyro_bias'], known['accelerometer_bias']])
        if good.any():
            t = t[good] - known['clock_offset']
            self._readings[number].add(t, readings[good] - bias, np.inf)
            self._newest[number] = t[-1]
        if not good.all():
            raise RecordingError(f'the IMU {channel.topic} is not finite',
                                 found=f'{int((~good).sum())} messages')

    def known_until(self, newest: float) -> float | None:
        """
        Return until when the IMUs are known, at most ``newest`` [s] of the markers.

        None while one is silent; RecordingError says so once.
        """
        silent = {topic for topic, t in zip(self.topics, self._newest)
                  if t < newest - max(LONGEST_GAP, self._patience)}
        new, self._silent = silent - self._silent, silent
        if new:
            raise RecordingError(f'the IMU {", ".join(sorted(new))} is silent', do='see whether '
                                 'it runs: until then nothing is predicted')
        return None if silent else min(newest, *self._newest)

    def follow(self, t: np.ndarray, z: np.ndarray, variance: np.ndarray, q: np.ndarray,
               until: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return ticks (N,) [s], states (N, 3 k) and covariance (N, 3 k, 3 k) up to ``until``.

        t (M,), z, variance (M, k), q (M, n) : what the markers show; what was there the last time
        is passed over.  The first tick is the last of the batch before.
        """
        period = self.period or self._start(t, z, variance)
        count = max(0, int((until - self._t) / period + 1e-6)) + 1
        ticks = self._t + period * np.arange(count)
        if count == 1:
            return ticks, self._x[None], self._P[None]
        readings = [_until(window, ticks) for window in self._readings]
        F, Q = white_jerk(z.shape[1], period, self._jerk)
        new = (t > self._used) & (t <= ticks[-1])

        def estimated(nominal, imus, smooth):
            sensors = [at_ticks(ticks, t[new], z[new], variance[new], nominal), *imus]
            readings = Readings(*(np.concatenate(x, axis=1) for x in zip(*sensors)))
            return estimate(F, Q, nominal, readings, self._P, smooth)

        out = estimated(_predicted(self._x, F, count), [], True)
        if any(len(stamps) for stamps, _ in readings):
            # The nearest, whatever rounding made of its stamp: one Newton step is enough there.
            near = q[np.clip(np.searchsorted(t, ticks - 0.5 * period), 0, len(t) - 1)]
            out = self._fused(out.x, near, ticks, readings, estimated)
        self._t = self._used = ticks[-1]
        self._x, self._P = out.x[-1], out.covariance[-1]
        return ticks, out.x, out.covariance

    def _fused(self, nominal, near, ticks, readings, estimated):
        """Return the Estimates with IMUs, from the nominal (N, 3 k) that markers alone show."""
        for _ in range(PASSES):
            nominal[0] = self._x  # of which the covariance of the start is
            predicted, slopes = self._model.slopes(nominal, near)
            out = estimated(nominal, [
                at_ticks(ticks, stamps, values, known['variance'], predicted[:, i], slopes[:, i])
                for i, ((stamps, values), known) in enumerate(zip(readings, self._known))], False)
            standard_deviation = np.sqrt(np.diagonal(out.covariance, axis1=1, axis2=2))
            far = np.abs(out.x - nominal) > FAR * standard_deviation
            if not far[:, :2 * len(self._jerk)].any():  # in zddot all is linear
                break
            nominal = out.x.copy()
        return out

    def _start(self, t, z, variance):
        """Begin where the first markers are, at any speed; return the period [s]."""
        self.period, self._t = float(np.median(np.diff(t))), t[0]
        way, time = np.ptp(z, axis=0) + 10 * np.sqrt(np.median(variance, axis=0)), t[-1] - t[0]
        self._x = np.concatenate([z[0], (z[-1] - z[0]) / time, np.zeros(z.shape[1])])
        self._P = np.diag(100 * np.concatenate([way, way / time, way / time ** 2]) ** 2)
        return self.period


def _predicted(x, F, count):
    """Return the motion (count, s) from a state x (s,) on, nothing pushing it."""
    out = [x]
    for _ in range(count - 1):
        out.append(F @ out[-1])
    return np.array(out)


def _until(window, ticks):
    """Take the (stamps, readings) up to the last of ``ticks`` out of a Window; drop late ones."""
    if not len(window.t):
        return window.t, np.empty((0, 6))
    ripe = window.t <= ticks[-1]
    used = ripe & (window.t > 2 * ticks[0] - ticks[1])
    taken = window.t[used], window.rows[used]
    window.t, window.rows = window.t[~ripe], window.rows[~ripe]
    return taken
