"""What the player knows of the joints it moves: where they are, since when, and by which clock."""

from collections.abc import Callable
import time

import numpy as np
from rclpy.node import Node

from .conversions import simulated_time
from .driver_watch import DriverWatch
from .streams import Streams
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError, RecordingError
from ..measurement.live import carried
from ..measurement.recording import Channel

BEGINNING = 10 ** 9  # [ns] of a simulated clock, in which joint states may be stamped 0
HELD_UP = 0.06  # [s] of wall time between two looks, above which this process had no time to look
OVERTAKES = 60 * 10 ** 9  # [ns] by which joint states may be ahead of /clock as this node has it:
#                           it stands still while a callback runs
STANDS = 10.0  # [s] of wall time in which simulated time may stand still
LOOK, ON_ITS_WAY = 0.005, 0.1  # [s] between looks, and for messages that may be on their way


class JointWatch:
    """
    Joint states of a ``node``'s robot, and what is wrong with them.

    topic, scaling_topic : of the joint states, of the driver's speed scaling ('' for none)
    doubt : called with words when joint states cannot be read
    slowed : called with words when the driver slows trajectories down, or its clock went back
    seen : called with stamps (N,) [ns] and {position, velocity, effort: (N, n)} of what came

    Silence is of the robot's time.  What this process did not look at is no silence: it reads
    all that waits before it judges.
    """

    def __init__(self, node: Node, topics: tuple[str, str], doubt: Callable[[str], None],
                 slowed: Callable[[str], None],
                 seen: Callable[[np.ndarray, dict[str, np.ndarray]], None]):
        self._node, self._doubt, self._seen = node, doubt, seen
        self._topic, scaling_topic = topics
        self._streams = Streams(node, self._complain, polled=True, went_back=slowed)
        self._simulated = simulated_time(node)
        self._driver = DriverWatch(node, scaling_topic, slowed)
        self._robot: RobotModel | None = None
        self._received_at, self._looked_at, self._resumed_at = 0.0, 0.0, 0.0  # wall time [s]
        self._received_ns, self._resumed_ns = 0, 0  # the same by the node's clock
        self._complaint = ''
        self._newest = 0  # stamp [ns]
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
        now = time.monotonic()
        if now - self._looked_at > HELD_UP:
            self._resumed_at, self._resumed_ns = now, self._clock_ns()  # more may be on its way
        self._streams.hand_to(self._take)
        self._looked_at = time.monotonic()

    def now_ns(self) -> int:
        """Return the time of the robot [ns], newer than a simulated clock that waits its turn."""
        now = self._clock_ns()
        ahead = self._newest - now
        return now + ahead if self._simulated and 0 < ahead < OVERTAKES else now

    @property
    def silence(self) -> float:
        """Return how long ago the last joint states came, by the robot's time [s]."""
        silent = time.monotonic() - max(self._received_at, self._resumed_at)
        if self._simulated and silent < ON_ITS_WAY:
            return 0.0  # the clock may have leapt while this process was held up
        if self._simulated and silent < STANDS:
            return (self._clock_ns() - max(self._received_ns, self._resumed_ns)) * 1e-9
        return silent

    def _clock_ns(self) -> int:
        return int(self._node.get_clock().now().nanoseconds)

    def slow(self) -> str:
        """Return in words how joint states fall behind, '' when they do not."""
        return self._streams.slow()

    def values(self) -> dict[str, str]:
        """Return {key: value} of the stamps for diagnostics."""
        return self._streams.values()

    def refuse(self, stale: float) -> None:
        """
        Refuse without joint states on our clock of the last ``stale`` [s].

        Raises MotionError, also when the driver is too slow or slows trajectories down.
        """
        if self._simulated and not self._clock_ns():
            raise MotionError('use_sim_time: the clock stands at 0',
                              expected='a publisher of /clock', found='none so far',
                              do='start the simulation, or leave out use_sim_time')
        silence = self._read_newest(stale)
        if self.position is None:
            raise MotionError(self._complaint or 'no joint states',
                              expected=self._node.resolve_topic_name(self._topic),
                              do='start the robot driver')
        if silence > stale:
            raise MotionError(self._complaint or 'the joint states are late',
                              expected=f'one every {stale:g} s at the latest (stale:)',
                              found=f'the last {silence:.2f} s ago')
        self._driver.refuse(self._topic, self.slow())

    def _read_newest(self, stale: float) -> float:
        """Return the silence [s] after all has been read that came while this process was busy."""
        end = time.monotonic() + ON_ITS_WAY
        while True:
            self.read()
            now = time.monotonic()
            silent = ((self._clock_ns() - self._received_ns) * 1e-9 if self._simulated
                      else now - self._received_at)
            if silent <= stale or now > end:
                return silent
            time.sleep(LOOK)

    def _complain(self, words: str) -> None:
        self._complaint = words
        self._doubt(words)

    def _take(self, channel: Channel) -> None:
        if self._robot is None:
            return
        now = self._clock_ns()
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
        self._newest = int(stamps[-1])
        self._received_ns = self.now_ns()
        ahead = (self._newest - now) * 1e-9
        if self._simulated:
            self._driver.simulated(ahead, now)
        else:
            self._driver.stamped(ahead + self._streams.waited)  # as it was when they came
        self._seen(stamps, values)
