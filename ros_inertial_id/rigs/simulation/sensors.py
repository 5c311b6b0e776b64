"""Samples of simulated sensors to Channels: one way for all rigs; their types of messages."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ...measurement.recording import Channel

JOINT_STATE, IMU = 'sensor_msgs/msg/JointState', 'sensor_msgs/msg/Imu'
WRENCH, POINT, POSE, POSES = (f'geometry_msgs/msg/{kind}' for kind in (
    'WrenchStamped', 'PointStamped', 'PoseStamped', 'PoseArray'))
STEP = 0.01  # [s]: at most that late is what a rig says
SYMBOLS = ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')


def stamps(t: ArrayLike, begun: float = 0.0) -> np.ndarray:
    """Return the int64 header times (N,) [ns] of times t (N,) [s] after ``begun`` [s]."""
    return round(begun * 1e9) + np.round(np.asarray(t) * 1e9).astype(np.int64)


def channel(topic: str, kind: str, stamp_ns: np.ndarray, fields: Mapping[str, np.ndarray],
            names: Sequence[str] = (), frame: str = '') -> Channel:
    """Return the Channel of ``fields`` (N, ...) that are stamped at ``stamp_ns`` (N,)."""
    return Channel(topic, kind, stamp_ns, stamp_ns.copy(), fields, tuple(names), frame)


def imu_channel(topic: str, stamp_ns: np.ndarray, readings: np.ndarray,
                frame: str = '') -> Channel:
    """Return the Channel of an IMU's readings (N, 6) [rad/s, m/s^2] at ``stamp_ns`` (N,)."""
    return channel(topic, IMU, stamp_ns, {'angular_velocity': readings[:, :3],
                                          'linear_acceleration': readings[:, 3:]}, frame=frame)


def wrench_channel(topic: str, stamp_ns: np.ndarray, wrench: np.ndarray,
                   frame: str = '') -> Channel:
    """Return the Channel of a ``wrench`` (N, 6) [N, N m] at ``stamp_ns`` (N,)."""
    return channel(topic, WRENCH, stamp_ns, {'force': wrench[:, :3], 'torque': wrench[:, 3:]},
                   frame=frame)
