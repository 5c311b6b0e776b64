"""How a robot is mounted while it runs: as a parameter says, or as an IMU on its base measures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .conversions import every
from .parameters import check_mounting
from .running import GuardedNode
from .streams import Streams
from ..dynamics.robot_model import gravity_from_mounting
from ..errors import ConfigError, RobotModelError
from ..identification.prepare.mounting import imu_gravity
from ..measurement.recording import Channel, Recording
from ..options import option, topic_option

IMU = 'imu'  # mounting in words
IMU_AVERAGE = 1.0  # [s] of samples of the base IMU behind a direction of gravity
NEW_MOUNTING = np.deg2rad(1.0)  # a smaller change of direction is none


@dataclass(frozen=True)
class LiveMountingOptions:
    """How the robot is mounted, or which IMU says so."""

    mounting: str = option(
        '',
        'how the robot is mounted now, may be changed while it runs; imu: '
        'as base_imu_topic says; empty: as identified',
    )
    base_imu_topic: str = topic_option('', 'topic of an IMU on the base, for mounting: imu')


def check_live_mounting(options: LiveMountingOptions) -> None:
    """Raise ConfigError for a mounting that is none, or an IMU without its topic."""
    if options.mounting == IMU and not options.base_imu_topic:
        raise ConfigError('mounting: imu', expected='base_imu_topic:', found='none')
    check_mounting(options.mounting)


class LiveMounting:
    """
    The mounting of the robot of a ``node``.

    turned : called when the base IMU shows another mounting than before, and it is asked for
    """

    def __init__(
        self, node: GuardedNode, options: LiveMountingOptions, turned: Callable[[], object]
    ) -> None:
        self._words, self._topic = options.mounting, options.base_imu_topic
        self._turned = turned
        self._measured: np.ndarray | None = None  # gravity (3,) in the base frame [m/s^2]
        self._robot: Any = None  # as built last, in which the frame of the IMU is found
        if self._topic:
            self._imu = Streams(node, node.complain)
            every(node, IMU_AVERAGE, self._look)

    @property
    def awaited(self) -> bool:
        """Return whether the base IMU is still to say how the robot is mounted."""
        return self._words == IMU and self._measured is None

    def change(self, words: str) -> None:
        """Take another mounting, in the ``words`` of the parameter."""
        self._words = words

    def robot(
        self, build: Callable[[np.ndarray], Any], identified: np.ndarray, magnitude: float
    ) -> Any:
        """
        Return the robot as it is mounted now; RobotModelError while the IMU is awaited.

        build : gravity (3,) in the base frame [m/s^2] -> robot
        identified : (3,) gravity that the model was identified under [m/s^2]
        magnitude : of gravity where the words give its direction alone [m/s^2]
        """
        gravity = identified
        if self._words and not self.awaited:
            gravity = gravity_from_mounting(self._words, self._measured, magnitude)
        self._robot = build(gravity)
        if self.awaited:
            raise RobotModelError(
                'the mounting is not known yet',
                expected=f'a second at rest on {self._topic} (sensor_msgs/msg/Imu)',
            )
        return self._robot

    def _look(self):
        self._imu.hand_to(self._update_gravity)
        self._imu.look((self._topic,))

    def _update_gravity(self, channel: Channel) -> None:
        """Take the direction of gravity from a second of the base IMU."""
        if self._robot is None:
            return
        gravity = imu_gravity(Recording({channel.topic: channel}), self._robot)
        if gravity is None or not self._is_new(gravity):
            return
        self._measured = gravity
        if self._words == IMU:
            self._turned()

    def _is_new(self, gravity: np.ndarray) -> bool:
        """Return whether the base has turned since the last direction of gravity (3,) [m/s^2]."""
        if self._measured is None:
            return True
        change = np.linalg.norm(gravity - self._measured)
        return bool(change >= NEW_MOUNTING * np.linalg.norm(gravity))
