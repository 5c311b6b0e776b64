"""What an IMU on the base says of the mounting, second by second."""

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import Imu

from .conversions import every, stream
from ..errors import InertialIdError
from ..identification.robot import imu_gravity
from ..measurement.bags.messages import decode
from ..measurement.recording import Recording

AVERAGE = 1.0  # [s] of samples behind a direction
CHANGE = np.deg2rad(1.0)  # a smaller change is no new mounting
IMU = 'sensor_msgs/msg/Imu'


class BaseImu:
    """
    Watches a base IMU of ``node``.

    robot : () -> RobotModel whose frames the IMU's frame is looked up in, or None
    changed : called with gravity in the base frame (3,) when its direction is new
    complain : called with words when the IMU cannot be used
    """

    def __init__(self, node: Node, topic, robot, changed, complain):
        self._node, self._topic, self._robot = node, topic, robot
        self._changed, self._complain = changed, complain
        self._messages, self._last, self._reader = [], None, None
        every(node, AVERAGE, self._look)

    def _look(self):
        if self._reader is None:
            if self._node.count_publishers(self._topic):
                self._reader = self._node.create_subscription(
                    Imu, self._topic, self._messages.append,
                    stream(self._node, self._topic), raw=True)
            return
        batch, self._messages[:] = [bytes(m) for m in self._messages], []
        robot = self._robot()
        if not batch or robot is None:
            return
        try:
            channel = decode(IMU, batch, self._topic, [0] * len(batch))
            gravity = imu_gravity(Recording({self._topic: channel}), robot)
        except InertialIdError as error:
            self._complain(str(error))
            return
        unit = gravity / np.linalg.norm(gravity)
        if self._last is None or np.arccos(np.clip(unit @ self._last, -1.0, 1.0)) > CHANGE:
            self._last = unit
            self._changed(gravity)
