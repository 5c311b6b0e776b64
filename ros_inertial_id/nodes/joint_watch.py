"""What the player knows of the joints it moves: where they are, since when, and by which clock."""

from collections.abc import Callable
import time

import numpy as np
from rclpy.node import Node

from .driver_watch import DriverWatch
from .streams import Streams
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError, RecordingError
from ..measurement.live import carried
from ..measurement.recording import Channel

BEGINNING = 10 ** 9  # [ns] of a simulated clock, in which joint states may be stamped 0


class JointWatch:
    """
    Joint states of a ``node``'s robot, and what is wrong with them.

    topic, scaling_topic : of the joint states, of the driver's speed scaling ('' for none)
    doubt : called with words when joint states cannot be read
    slowed : called with words when the driver slows trajectories down
    seen : called with stamps (N,) [ns] and {position, velocity, effort: (N, n)} of what came
    """

    def __init__(self, node: Node, topics: tuple[str, str], doubt: Callable[[str], None],
                 slowed: Callable[[str], None],
                 seen: Callable[[np.ndarray, dict[str, np.ndarray]], None]):
        self._node, self._doubt, self._seen = node, doubt, seen
        self._topic, scaling_topic = topics
        self._streams = Streams(node, self._complain)
        self._driver = DriverWatch(node, scaling_topic, slowed)
        self._robot: RobotModel | None = None
        self._received_at, self._complaint = 0.0, ''
        self.position: np.ndarray | None = None

    def of(self, robot: RobotModel | None) -> None:
        """Watch the joints of a RobotModel ``robot`` from now on."""
        if robot is None or self._robot is None or robot.joint_names != self._robot.joint_names:
            self.position = None
        self._robot = robot

    def look_for_publishers(self) -> None:
        """Subscribe as the publishers of the joint states ask for."""
        self._streams.look((self._topic,))

    def read(self) -> None:
        """Take all joint states since the last time."""
        self._streams.hand_to(self._take)

    @property
    def silence(self) -> float:
        """Return how long ago the last joint states came [s]."""
        return time.monotonic() - self._received_at

    def excuse(self, seconds: float) -> None:
        """Do not count ``seconds`` in which this process read nothing as silence."""
        self._received_at += seconds

    def refuse(self, stale: float) -> None:
        """
        Refuse without joint states on our clock of the last ``stale`` [s].

        Raises MotionError, also when the driver slows trajectories down.
        """
        silence = self.silence
        if self.position is None:
            raise MotionError(self._complaint or 'no joint states',
                              expected=self._node.resolve_topic_name(self._topic),
                              do='start the robot driver')
        if silence > stale:
            raise MotionError(self._complaint or 'the joint states are late',
                              expected=f'one every {stale:g} s at the latest (stale:)',
                              found=f'the last {silence:.2f} s ago')
        self._driver.refuse(self._topic)

    def _complain(self, words: str) -> None:
        self._complaint = words
        self._doubt(words)

    def _take(self, channel: Channel) -> None:
        if self._robot is None:
            return
        now = self._node.get_clock().now().nanoseconds
        # One may be the first of a simulated clock that begins at 0; a driver that does not stamp
        # sends nothing else.
        first = self.position is None and now < BEGINNING
        if np.count_nonzero(channel.stamp_ns) < len(channel.stamp_ns) - first:
            raise RecordingError('joint_states carry no stamps', do='let the driver stamp them')
        rows, values = carried(channel, self._robot.joint_names,
                               ('position', 'velocity', 'effort'))
        if not len(rows):
            return
        self._complaint, self._received_at = '', time.monotonic()
        self.position = values['position'][-1]
        stamps = channel.stamp_ns[rows]
        ahead = (stamps[-1] - now) * 1e-9
        self._driver.stamped(ahead + self._streams.waited)  # as it was when they came
        self._seen(stamps, values)
