"""
Motion of a base that nobody holds, in its own frame, from an IMU on it or from odometry.

Gyro, its derivative and the accelerometer are all that Newton and Euler ask of a base: gravity and
acceleration come as one, so that neither pose, nor attitude, nor velocity is needed.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .robot import FloatingRobot, FLYING
from ..measurement.body_state import acceleration_at, continuous, vector_of_product
from ..measurement.sources import channel_of
from ...dynamics.body_motion import Frame, frame_of
from ...errors import ConfigError, RecordingError
from ...measurement import signals
from ...measurement.recording import Channel, Recording
from ...measurement.sampling import convolve_inside, interpolate

IMU, ODOMETRY = 'sensor_msgs/msg/Imu', 'nav_msgs/msg/Odometry'
LEAST_GRAVITY, MOST_GRAVITY = 7.0, 13.0  # [m/s^2] mean of an accelerometer on a robot
IN_G = 0.7, 1.3  # the same in units of gravity
UPRIGHT_WINDOW = 5.0  # [s] before and after, in whose mean the accelerometer shows gravity: slow
# sway moves a base by centimetres with little acceleration, and a gyro's bias cancels between both
LEAST_CORRELATION = (
    0.3  # least correlation of a rate with the derivative of the attitude, with noise
)


@dataclass(frozen=True)
class BaseMotion(ABC):
    """
    What was measured of a base: stamps t (n,) [s] and values (n, k), and where.

    frame : of the sensor, fixed to the base
    late : [s] that its stamps are late; late_error : its standard error, None where it is as given
    """

    topic: str
    t: np.ndarray
    values: np.ndarray
    frame: Frame
    late: float = 0.0
    late_error: float | None = None

    @property
    def stamps(self) -> np.ndarray:
        """Return the stamps on the clock of the joints, (n,) [s]."""
        return self.t - self.late

    def with_late(self, late: float) -> 'BaseMotion':
        """Return the same with stamps that are ``late`` [s] more."""
        return replace(self, late=self.late + late)

    def with_more_noise(self, rng: np.random.Generator) -> 'BaseMotion':
        """Return it with noise drawn once more, as large as what is white of the values."""
        period = float(np.median(np.diff(self.t)))
        kernel = signals.zero_phase_kernel(period, signals.HIGHEST / period)
        noise = signals.white_noise([self.values], kernel)
        drawn = rng.standard_normal(self.values.shape)
        return replace(self, values=self.values + noise * drawn)

    def at(
        self, t: np.ndarray, kernel: np.ndarray, period: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return motion (N, 9) of the root link's frame at uniform times, its rate, and up (N, 3).

        t : (N,) [s], whole ``period``s [s] apart; kernel : (2 h + 1,) low-pass of the joints
        The motion is acceleration minus gravity [m/s^2], angular acceleration and velocity,
        along the axes of the root link, as is the unit vector against gravity.
        """
        reach = len(kernel) // 2 + 2 * signals.STENCIL
        before = min(reach, max(0, int((t[0] - self.stamps[0]) / period)))
        after = min(reach, max(0, int((self.stamps[-1] - t[-1]) / period)))
        ticks = np.round((t - t[0]) / period).astype(int) + before
        clock = t[0] + (np.arange(ticks[-1] + after + 1) - before) * period
        motion, rate, up = self.smoothed(clock, kernel, period)
        return motion[ticks], rate[ticks], up[ticks]

    @abstractmethod
    def smoothed(
        self, clock: np.ndarray, kernel: np.ndarray, period: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return motion, rate and up on a ``clock`` (N,) [s] of every ``period`` [s]; see ``at``.

        kernel : (2 h + 1,) low-pass
        """

    def _of_root(self, force, omega, alpha, jerk):
        """
        Return motion and rate (N, 9) of the root link's frame.

        force (N, 6) : acceleration minus gravity of the sensor's frame, and its rate
        omega, alpha, jerk : (N, 3), all along the root link's axes
        """
        arm = self.frame.position
        acceleration = force[:, :3] - acceleration_at(omega, alpha, arm)
        swing = np.cross(alpha, np.cross(omega, arm)) + np.cross(omega, np.cross(alpha, arm))
        acceleration_rate = force[:, 3:] - np.cross(jerk, arm) - swing
        return np.hstack([acceleration, alpha, omega]), np.hstack([acceleration_rate, jerk, alpha])


@dataclass(frozen=True)
class ImuMotion(BaseMotion):
    """
    The values are angular velocity [rad/s] and specific force [m/s^2] along the IMU's axes.

    upward : unit vectors (n, 3) against gravity at t, along the same axes
    """

    upward: np.ndarray = field(kw_only=True)

    @classmethod
    def of(cls, topic: str, t: np.ndarray, values: np.ndarray, frame: Frame) -> 'ImuMotion':
        """Return what an IMU of a ``topic`` measured in a ``frame``; t, values as of the class."""
        upward = upright(t, values[:, 3:], values[:, :3])
        return cls(topic, t, values, frame, upward=upward)

    def remounted(self, turn: np.ndarray, factors: np.ndarray) -> 'ImuMotion':
        """Return it turned by ``turn`` (3, 3), gyro and accelerometer times ``factors`` (2,)."""
        values = (self.values.reshape(-1, 2, 3) * factors[:, None]) @ turn.T
        other = self.of(self.topic, self.t, values.reshape(-1, 6), self.frame)
        return replace(other, late=self.late)

    def smoothed(
        self, clock: np.ndarray, kernel: np.ndarray, period: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return motion, rate and up on a ``clock`` (N,) [s] of every ``period`` [s]; see ``at``.

        kernel : (2 h + 1,) low-pass
        """
        values = interpolate(self.stamps, self.values, clock)
        turned = values.reshape(-1, 2, 3) @ self.frame.rotation.T
        rates = signals.smoothed_derivatives(turned[:, 0], kernel, period)
        force = signals.smoothed_derivatives(turned[:, 1], kernel, period, 1)
        up = interpolate(self.stamps, self.upward, clock) @ self.frame.rotation.T
        return *self._of_root(np.hstack(force), *rates), up


@dataclass(frozen=True)
class OdometryMotion(BaseMotion):
    """
    The values are quaternion x y z w, linear [m/s] and angular velocity [rad/s] of the base.

    Velocities are along the base's own axes, as nav_msgs/Odometry has them.
    gravity : its magnitude [m/s^2]
    """

    gravity: float = 9.81

    def smoothed(
        self, clock: np.ndarray, kernel: np.ndarray, period: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return motion, rate and up on a ``clock`` (N,) [s] of every ``period`` [s]; see ``at``.

        kernel : (2 h + 1,) low-pass
        """
        values = interpolate(self.stamps, self.values, clock)
        quaternion = signals.smooth(values[:, :4], kernel)
        vertical = Rotation.from_quat(quaternion).inv().as_matrix()[:, :, 2]
        velocity, gain = signals.smoothed_derivatives(values[:, 4:7], kernel, period, 1)
        omega, alpha, jerk = signals.smoothed_derivatives(values[:, 7:], kernel, period)
        force = gain + np.cross(omega, velocity) + self.gravity * vertical
        force_rate = signals.differentiate(force, period)
        out = (np.hstack([force, force_rate]), omega, alpha, jerk)
        R = self.frame.rotation
        turned = []
        for columns in out:
            turned.append(
                np.hstack([x @ R.T for x in np.split(columns, columns.shape[1] // 3, 1)])
            )
        return *self._of_root(*turned), vertical @ R.T


def upright(t: np.ndarray, force: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """
    Return unit vectors (n, 3) against gravity, along the axes of the base.

    force, omega : (n, 3) what accelerometer [m/s^2] and gyro [rad/s] of the base read at t (n,)
    The gyro turns the readings of UPRIGHT_WINDOW about an instant into one frame, where their
    mean is gravity: the base goes nowhere.  At the ends it is the mean of those that there are.
    """
    step = np.diff(t)[:, None]
    middle = 0.5 * (omega[1:] + omega[:-1]) * step
    attitude = Rotation.from_quat(turned_by(Rotation.from_rotvec(middle).as_quat()))
    half = min(int(UPRIGHT_WINDOW / np.median(step)), len(t))
    readings = np.pad(attitude.apply(force), ((half, half), (0, 0)))
    total = convolve_inside(readings, np.hanning(2 * half + 3)[1:-1])
    up = attitude.apply(total, inverse=True)
    return np.asarray(up / np.maximum(np.linalg.norm(up, axis=1, keepdims=True), 1e-9))


def turned_by(steps: np.ndarray) -> np.ndarray:
    """Return the attitudes (N + 1, 4) x y z w after each of N turns ``steps`` (N, 4)."""
    out = np.empty((len(steps) + 1, 4))
    x, y, z, w = 0.0, 0.0, 0.0, 1.0
    out[0] = x, y, z, w
    for k, (a, b, c, d) in enumerate(steps.tolist(), 1):
        x, y, z, w = (
            w * a + x * d + y * c - z * b,
            w * b - x * c + y * d + z * a,
            w * c + x * b - y * a + z * d,
            w * d - x * a - y * b - z * c,
        )
        out[k] = x, y, z, w
    return out


def base_motion(recording: Recording, robot: FloatingRobot, options: Any) -> BaseMotion:
    """
    Return the BaseMotion of a ``recording``, by an IMU, or by odometry where that is named.

    options : of the method
    RecordingError where there is none, or its accelerometer does not show gravity.
    """
    if options.odometry_topic:
        channel = channel_of(recording, options.odometry_topic, (ODOMETRY,))
        return _odometry(channel, robot, recording.origin_ns(), options)
    channel = channel_of(recording, options.imu_topic, (IMU,))
    needed = ('angular_velocity', 'linear_acceleration')
    values = np.hstack(_fields(channel, needed, 'an Imu with gyro and accelerometer'))
    frame = base_frame(robot, options.base_frame or channel.frame_id)
    t, values = _finite(channel, values, recording.origin_ns())
    if options.base != FLYING:
        _check_gravity(channel.topic, values[:, 3:])
    return ImuMotion.of(channel.topic, t, values, frame)


def _odometry(channel: Channel, robot: FloatingRobot, origin_ns: int, options: Any) -> BaseMotion:
    """Return the OdometryMotion of a ``channel``."""
    needed = ('orientation_xyzw', 'linear_velocity', 'angular_velocity')
    quaternion, *twist = _fields(channel, needed, 'nav_msgs/Odometry')
    values = np.hstack([continuous(quaternion, channel.topic), *twist])
    t, values = _finite(channel, values, origin_ns)
    _check_rates(channel.topic, t, values)
    frame = base_frame(robot, options.base_frame)
    return OdometryMotion(channel.topic, t, values, frame, gravity=options.gravity_magnitude)


def _fields(channel, names, expected):
    """Return the fields ``names`` of a Channel; RecordingError where one is missing."""
    missing = [name for name in names if name not in channel.fields]
    if missing:
        raise RecordingError(
            f'{channel.topic} does not say how the base moves',
            found=f'{channel.type} without {", ".join(missing)}',
            expected=expected,
        )
    return [channel.fields[name] for name in names]


def _finite(channel, values, origin_ns):
    """Return stamps (n,) [s] and ``values`` (n, k) without those that are no numbers."""
    good = np.isfinite(values).all(1)
    t = (channel.stamp_ns - origin_ns) * 1e-9
    good[1:] &= np.diff(t) > 0.0
    if np.count_nonzero(good) < 2 * signals.STENCIL:
        raise RecordingError(
            f'{channel.topic} holds no usable samples',
            found=f'{np.count_nonzero(good)} of {len(t)} are numbers with increasing stamps',
        )
    return t[good], values[good]


def base_frame(robot: FloatingRobot, name: str) -> Frame:
    """Return the Frame ``name`` of the base, that of the root link for ''."""
    frame = frame_of(robot.tree, name or robot.base_link, 'name it: base_frame:')
    if frame.body >= 0:
        raise ConfigError(
            'the motion of the base',
            found=f'a sensor on {name}, which joints move',
            expected='one on the base',
            do='name its frame: base_frame:, or another imu_topic:',
        )
    return frame


def _check_gravity(topic: str, force: np.ndarray) -> None:
    """Raise RecordingError where the mean of ``force`` (n, 3) [m/s^2] is not gravity's."""
    mean = float(np.linalg.norm(force.mean(0)))
    if LEAST_GRAVITY < mean < MOST_GRAVITY:
        return
    do = 'publish what the accelerometer reads, gravity in it'
    if IN_G[0] < mean < IN_G[1]:
        do = 'it is in g: publish m/s^2'
    raise RecordingError(
        f'the accelerometer of {topic} does not show gravity',
        expected='about 9.81 m/s^2 in the mean',
        found=f'{mean:.3g}',
        do=do,
    )


def _check_rates(topic: str, t: np.ndarray, values: np.ndarray) -> None:
    """Raise RecordingError where attitude and angular velocity (n, 10) contradict each other."""
    step = np.diff(t)[:, None]
    by_attitude = 2.0 * vector_of_product(values[:-1, :4], values[1:, :4]) / step
    said = 0.5 * (values[1:, 7:] + values[:-1, 7:])
    agreement = np.sum(by_attitude * said)
    sizes = np.linalg.norm(by_attitude) * np.linalg.norm(said)
    if agreement >= LEAST_CORRELATION * sizes:
        return
    raise RecordingError(
        f'{topic}: attitude and angular velocity contradict each other',
        expected='the twist along the axes of the base, in rad/s',
        found=f'a correlation of {agreement / max(sizes, 1e-300):.2f}',
    )
