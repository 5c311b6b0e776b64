"""
The causal half of imu.py: z, zdot, zddot and covariance while the mechanism moves.

The equations are the smoother's, run forward only: a batch of samples is predicted from the last
state, markers alone make that the nominal motion, and the filter adds the IMUs to it.  Clock
offsets, biases and noises are those that the identification found.
"""

import numpy as np

from .imu import imu_links, ImuMeasurementModel, PASSES
from ..measurement.imu_calibration import noted
from ..measurement.kalman import at_ticks, estimate, Readings, white_jerk
from ...errors import ConfigError, RecordingError
from ...measurement.interpolation import LONGEST_GAP
from ...measurement.live import Window
from ...measurement.recording import Channel

PATIENCE = 0.03  # [s] samples wait for an IMU that may be late
FAR = 100.0      # standard deviations: a nominal that moved by more is linearised again


class CausalFilter:
    """
    The motion of a Mechanism from markers and IMUs, batch by batch.

    lines : "TOPIC LINK" of the IMUs; metadata : summary of the observation the model comes from
    """

    def __init__(self, robot, lines, metadata):
        if 'jerk_noise' not in metadata:
            raise ConfigError('the model does not say how to fuse the IMUs live',
                              do='identify again with this version')
        links = imu_links(robot, lines)
        self.topics = tuple(topic for topic, _ in links)
        self._model = ImuMeasurementModel(robot, [link for _, link in links])
        self._jerk = np.array(metadata['jerk_noise'])
        self._alone = np.array(metadata['jerk_noise_alone'])
        known = {topic.lstrip('/'): imu for topic, imu in metadata['imus'].items()}
        self._known = [known[topic.lstrip('/')] for topic in self.topics]
        self._readings = [Window() for _ in links]
        self._newest, self._silent = np.full(len(links), -np.inf), set()
        self.resumed = -np.inf  # [s] since when none that was silent has been so again
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
            readings = noted(known).corrected(readings[good]) - bias
            self._readings[number].add(t, readings, np.inf)
            if self.topics[number] in self._silent:
                self.resumed = t[0]
            self._newest[number] = t[-1]
        if not good.all():
            raise RecordingError(f'the IMU {channel.topic} is not finite',
                                 found=f'{int((~good).sum())} messages')

    @property
    def all_silent(self) -> bool:
        """Return whether no IMU has been received for a while."""
        return len(self._silent) == len(self.topics)

    def known_until(self, newest: float) -> float:
        """
        Return until when the IMUs are known, at most ``newest`` [s] of the markers.

        None is waited for that is silent; RecordingError says so once.
        """
        silent = {topic for topic, t in zip(self.topics, self._newest)
                  if t < newest - LONGEST_GAP}
        new, self._silent = silent - self._silent, silent
        if new:
            raise RecordingError(f'the IMU {", ".join(sorted(new))} is silent',
                                 do='see whether it runs: until then markers have to do')
        awaited = self._newest[self._newest > newest - PATIENCE]
        return min(newest, *awaited) if len(awaited) else newest

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
        received = any(len(stamps) for stamps, _ in readings)
        F, Q = white_jerk(z.shape[1], period, self._jerk if received else self._alone)
        new = (t > self._used) & (t <= ticks[-1])

        def estimated(nominal, imus, smooth):
            sensors = [at_ticks(ticks, t[new], z[new], variance[new], nominal), *imus]
            readings = Readings(*(np.concatenate(x, axis=1) for x in zip(*sensors)))
            return estimate(F, Q, nominal, readings, self._P, smooth)

        out = estimated(_predicted(self._x, F, count), [], received)
        if received:
            near = q[np.clip(np.searchsorted(t, ticks), 0, len(t) - 1)]
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
