"""
A robot on a base that moves, while it runs: its joints, the Imu on its base, and its feet.

What the base does is filtered as it is of a recording, from the newest second of the Imu; what is
up is known by the past alone.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .base_motion import base_frame, IMU, UPRIGHT_WINDOW
from .contacts import Contacts, feet_by_topic, touching
from .first_look import Offsets
from .observation import FloatingState, TOUCH_PERIODS
from .robot import FloatingRobot
from ..measurement.body_state import acceleration_at
from ...dynamics.body_motion import Frame
from ...errors import ConfigError, RecordingError
from ...measurement import signals
from ...measurement.joints.kinematic_state import JointSpaceState
from ...measurement.joints.live_clock import through
from ...measurement.live import past_kernels, Window
from ...measurement.live_commands import live_joints
from ...measurement.recording import Channel
from ...measurement.sampling import LONGEST_GAP
from ...measurement.summary import Summary

KEPT = 1.0  # [s] of the Imu and of contacts behind the newest state


class LiveFloating:
    """
    The newest states of a FloatingRobot, see LiveSource.

    options : of the method, as identified; lag : age of the newest state [s]
    summary : of the observation that the model comes from
    ConfigError where it needs what cannot be had while the robot runs.
    """

    def __init__(self, robot: FloatingRobot, options: Any, lag: float, summary: Summary) -> None:
        if options.odometry_topic:
            raise ConfigError(
                'live prediction',
                expected='an Imu on the base',
                found=f'a base by {options.odometry_topic}',
                do='identify with the Imu, or predict afterwards: '
                'inertial-id identify BAG --validate OTHER_BAG',
            )
        self._robot, self._options = robot, options
        self._joints = live_joints(robot.tree, options, lag, summary)
        self._base = LiveImu(robot, options, summary, self._joints.seconds)
        self._joints.wait_for(self._base.window)
        self._takers: dict[str, Callable[[Channel], None]] = {self._base.topic: self._base.add}
        self._ground = summary.details.get('ground', 0.0)
        self._memory = TOUCH_PERIODS / options.cutoff
        self._touches = [Window() for _ in robot.feet]
        for topic, feet in feet_by_topic(robot, options).items():
            self._takers[topic] = self._touch_taker(feet)
        self._flagged = len(self._takers) > 1

    @property
    def origin_ns(self) -> int | None:
        """Return zero of its seconds [ns], None until joints came."""
        return self._joints.origin_ns

    @property
    def gaps(self) -> int:
        """Return how often samples were missing."""
        return self._joints.gaps

    @property
    def acceleration_noise_factor(self) -> float:
        """Return how many times noisier the acceleration is than at a lag of 0.1 s."""
        return self._joints.acceleration_noise_factor

    @property
    def topics(self) -> tuple[str, ...]:
        """Return the topics that it listens to."""
        return (*self._joints.topics, *self._takers)

    def add(self, channel: Channel) -> None:
        """Take a Channel of new samples of a topic; what comes before the joints is dropped."""
        if channel.topic in self._joints.topics:
            self._joints.add(channel)
        elif self.origin_ns is not None:
            self._takers[channel.topic](channel)

    def take(self) -> tuple[np.ndarray, FloatingState] | None:
        """Return (stamps [s], FloatingState on a uniform clock around them), or None."""
        taken = self._joints.take()
        if taken is None:
            return None
        stamps, joints = taken
        base = self._base.at(joints)
        self._base.window.forget(joints.t[0] - KEPT)
        standing = self._standing(joints.t)
        if base is None:
            return None
        motion, up = base
        still = np.zeros_like(motion)  # no clock is set right while it runs
        state = FloatingState.of(
            joints, base=motion, base_rate=still, up=up, standing=standing, ground=self._ground
        )
        return stamps, state

    def _touch_taker(self, feet: list[int]) -> Callable[[Channel], None]:
        """Return what takes the flags or forces of ``feet``, by their numbers."""

        def take(channel: Channel) -> None:
            t = self._joints.seconds(channel.stamp_ns)
            for number, on in zip(
                feet, touching(channel, self._robot, feet, self._options).T, strict=True
            ):
                self._touches[number].add(t, on[:, None], np.inf)

        return take

    def _standing(self, t: np.ndarray) -> np.ndarray:
        """Return whether each foot may touch at times t (N,) [s]: (N, feet)."""
        if not self._flagged:
            return Contacts().standing(t, len(self._touches), self._memory)
        series = []
        for window in self._touches:
            window.forget(t[0] - KEPT)
            series.append((window.t, window.rows[:, :1].ravel()))
        return Contacts(tuple(series)).standing(t, len(series), self._memory)


class LiveImu:
    """
    What the Imu on the base of a ``robot`` reads while it runs.

    options, summary : see LiveFloating; seconds : stamps (N,) [ns] -> [s] on the clock of joints
    topic : of the Imu; window : its newest gyro, accelerometer and what is up, (N, 9)
    """

    def __init__(
        self,
        robot: FloatingRobot,
        options: Any,
        summary: Summary,
        seconds: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self.topic: str = options.imu_topic or summary.details['base_topic']
        self.window = Window()
        self._robot, self._name, self._seconds = robot, options.base_frame, seconds
        self._cutoff = options.cutoff
        self._late = _applied_offset(summary)
        self._frame: Frame | None = None
        self._up, self._seen = np.zeros(3), 0.0  # [s] of which it is the mean

    def add(self, channel: Channel) -> None:
        """Take a Channel of its messages; RecordingError where it is no Imu."""
        if channel.type != IMU:
            raise RecordingError(
                f'{channel.topic} does not say how the base moves',
                found=channel.type,
                expected=IMU,
            )
        fields = channel.fields
        values = np.hstack([fields['angular_velocity'], fields['linear_acceleration']])
        t = self._seconds(channel.stamp_ns) - self._late
        good = np.isfinite(values).all(axis=1)
        t, values = t[good], values[good]
        if not len(t):
            return
        if self._frame is None:
            self._frame = base_frame(self._robot, self._name or channel.frame_id)
        self.window.add(t, np.hstack([values, self._upward(t, values)]), LONGEST_GAP)

    def at(self, joints: JointSpaceState) -> tuple[np.ndarray, np.ndarray] | None:
        """
        Return motion (N, 9) of the root link's frame, see ``BaseMotion.at``, and up (N, 3).

        joints : state at whose times it is, filtered as it is; None where the Imu was silent
        """
        around = joints.around
        if self._frame is None or around is None:
            return None
        period, kernel = float(around.t[1] - around.t[0]), around.kernel
        count, half = len(joints.t), len(kernel) // 2
        if half:
            slope, _ = signals.derivative_kernels(kernel, period, min(signals.STENCIL, half))
            past = ahead = len(slope) // 2
        else:  # nothing but the past is known
            _, slope, _ = past_kernels(period, self._cutoff)
            past, ahead = len(slope) - 1, 0
        ticks = joints.t[0] + np.arange(-past, count + ahead) * period
        if not self.window.covers(ticks):
            return None
        turned = self.window.at(ticks).reshape(-1, 3, 3) @ self._frame.rotation.T
        gyro, force, up = turned.transpose(1, 0, 2)
        near = slice(past - half, past + count + half)
        omega, force = (through(x[near], kernel, half) for x in (gyro, force))
        alpha = through(gyro, slope, len(slope) // 2)
        acceleration = force - acceleration_at(omega, alpha, self._frame.position)
        return np.hstack([acceleration, alpha, omega]), up[past : past + count]

    def _upward(self, t, values):
        """Return unit vectors (N, 3) against gravity: gravity turned by the gyro, forgetting."""
        turn = np.zeros((len(t), 3))
        turn[1:] = np.cumsum(values[1:, :3] * np.diff(t)[:, None], axis=0)
        since = 0.0
        if len(self.window.t):
            since = min(max(t[0] - self.window.t[-1], 0.0), LONGEST_GAP)
        turn += values[0, :3] * since
        attitude = Rotation.from_rotvec(turn)  # of a batch, since the newest before it
        readings = attitude.apply(values[:, 3:]).mean(axis=0)
        span = t[-1] - t[0] + since
        self._seen = min(self._seen + span, UPRIGHT_WINDOW)
        share = 1.0
        if self._seen:
            share = min(1.0, span / self._seen)
        up = self._up + share * (readings - self._up)
        out = attitude.apply(up, inverse=True)
        self._up = out[-1]
        return out / np.linalg.norm(out, axis=1, keepdims=True)


def _applied_offset(summary):
    """Return how late the Imu is stamped [s], as the identification set it right."""
    found, error = (summary.details.get(f'base_time_offset{end}', 0.0) for end in ('', '_error'))
    return Offsets(found, 0.0, error, 0.0).where_sure().base
