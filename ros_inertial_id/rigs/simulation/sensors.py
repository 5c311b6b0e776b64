"""Samples of simulated sensors to Channels: one way for all rigs; their types of messages."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ...measurement.recording import Channel

JOINT_STATE, IMU = 'sensor_msgs/msg/JointState', 'sensor_msgs/msg/Imu'
WRENCH, POINT, POSE, POSES = (f'geometry_msgs/msg/{kind}' for kind in (
    'WrenchStamped', 'PointStamped', 'PoseStamped', 'PoseArray'))
MARKER_ARRAY = 'visualization_msgs/msg/MarkerArray'


def channel(topic: str, kind: str, t: ArrayLike, fields: Mapping[str, np.ndarray],
            names: Sequence[str] = (), frame: str = '', begun: float = 0.0) -> Channel:
    """Return the Channel of ``fields`` (N, ...), stamped t (N,) [s] after ``begun`` [s]."""
    stamp = round(begun * 1e9) + np.round(np.asarray(t) * 1e9).astype(np.int64)
    return Channel(topic, kind, stamp, stamp.copy(), fields, tuple(names), frame)


def imu_channel(topic: str, t: ArrayLike, readings: np.ndarray, frame: str = '',
                begun: float = 0.0) -> Channel:
    """Return the Channel of an IMU's readings (N, 6) [rad/s, m/s^2]; t, begun : see channel."""
    return channel(topic, IMU, t, {'angular_velocity': readings[:, :3],
                                   'linear_acceleration': readings[:, 3:]}, (), frame, begun)


def wrench_channel(topic: str, t: ArrayLike, wrench: np.ndarray, frame: str = '',
                   begun: float = 0.0) -> Channel:
    """Return the Channel of a ``wrench`` (N, 6) [N, N m]; t, begun : see channel."""
    return channel(topic, WRENCH, t, {'force': wrench[:, :3], 'torque': wrench[:, 3:]}, (), frame,
                   begun)
