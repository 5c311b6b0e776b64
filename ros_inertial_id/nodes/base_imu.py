"""What an IMU on the base says of the mounting, second by second."""

from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.node import Node

from .conversions import every
from .streams import Streams
from ..errors import RecordingError
from ..identification.prepare.robot import imu_gravity
from ..measurement.recording import Channel, Recording

AVERAGE = 1.0  # [s] of samples behind a direction
CHANGE = np.deg2rad(1.0)  # a smaller change is no new mounting
IMU = 'sensor_msgs/msg/Imu'


class BaseImu:
    """
    Watches a base IMU of ``node``.

    topic : of its sensor_msgs/Imu messages
    robot : () -> RobotModel whose frames the IMU's frame is looked up in, or None
    changed : called with gravity in the base frame (3,) [m/s^2] when its direction is new
    complain : called with words when the IMU cannot be used
    """

    def __init__(self, node: Node, topic: str, robot: Callable[[], Any],
                 changed: Callable[[np.ndarray], None], complain: Callable[[str], None]) -> None:
        self._topic, self._robot, self._changed = topic, robot, changed
        self._last: np.ndarray | None = None
        self._streams = Streams(node, complain)
        every(node, AVERAGE, self._look)

    def _look(self) -> None:
        self._streams.hand_to(self._average)
        self._streams.look((self._topic,))

    def _average(self, channel: Channel) -> None:
        """Take the direction of gravity from the samples of a second."""
        robot = self._robot()
        if robot is None:
            return
        if channel.type != IMU:
            raise RecordingError(f'{self._topic} is no IMU', expected=IMU, found=channel.type)
        gravity = imu_gravity(Recording({self._topic: channel}), robot)
        if gravity is None:
            return
        unit = gravity / np.linalg.norm(gravity)
        if self._last is None or np.arccos(np.clip(unit @ self._last, -1.0, 1.0)) > CHANGE:
            self._last = unit
            self._changed(gravity)
