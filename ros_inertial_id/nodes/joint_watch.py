"""What the player knows of the joints it moves, and of their driver: its clock and its speed."""

from collections import deque
from collections.abc import Callable
import time

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64

from .conversions import every, simulated_time, subscribe
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
CLOCKS = 0.04  # [s] between the stamps of the joint states and this computer's clock: within the
#                past of a piece, or every piece would begin with a jump
LOOKS = 50  # at the clocks: the least of their delays counts
SET = 1.0  # [s] by which a clock was set anew: no delay
SCALED = 0.5  # [%] by which the speed of a trajectory may be another than its own


class JointWatch:
    """
    Joint states of a ``node``'s robot, and what is wrong with them.

    topics : of the joint states, and of the driver's speed scaling, '' for none
    doubt : called with words when joint states cannot be read
    slowed : called with words when trajectories are scaled, or the driver's clock went back
    seen : called with stamps (N,) [ns] and {position, velocity, effort: (N, n)} of what came

    Silence is of the robot's time.  What this process did not look at is no silence: it reads
    all that waits before it judges.
    """

    def __init__(self, node: Node, topics: tuple[str, str], doubt: Callable[[str], None],
                 slowed: Callable[[str], None],
                 seen: Callable[[np.ndarray, dict[str, np.ndarray]], None]):
        self._node, self._doubt, self._seen = node, doubt, seen
        self.streams = Streams(node, self._complain, slowed, ReliabilityPolicy.BEST_EFFORT)
        self._simulated = simulated_time(node)
        self._topic, scaling_topic = topics
        every(node, 0.2, lambda: self.streams.look((self._topic,)))
        self._driver = DriverWatch(node, scaling_topic, slowed)
        self._robot: RobotModel | None = None
        self._received_at, self._looked_at, self._resumed_at = 0.0, 0.0, 0.0  # wall time [s]
        self._received_ns = self._looked_ns = self._resumed_ns = 0  # by the node's clock
        self._held_up = 0.0  # [s] of wall time, before it resumed for the last time
        self._complaint = ''
        self._newest = 0  # stamp [ns]
        self.position: np.ndarray | None = None

    def scaled(self, percent: float, topic: str) -> None:
        """Note that trajectories run at ``percent`` [%] of their speed, as a ``topic`` says."""
        self._driver.scaled(percent, topic)

    def of(self, robot: RobotModel | None) -> None:
        """Watch the joints of a RobotModel ``robot`` from now on."""
        if robot is None or self._robot is None or robot.joint_names != self._robot.joint_names:
            self.position = None
        self._robot = robot

    def read(self) -> None:
        """Take all joint states since the last time."""
        now, clock = time.monotonic(), self._clock_ns()
        if now - self._looked_at > HELD_UP:
            self._resumed_at, self._resumed_ns = now, clock  # more may be on its way
            self._held_up = now - self._looked_at
        self._looked_at, self._looked_ns = now, clock
        self.streams.hand_to(self._take)

    def catches_up(self, after: float) -> bool:
        """Return whether a simulated clock may leap: more than ``after`` [s] nothing was read."""
        return (self._simulated and self._held_up > after
                and time.monotonic() - self._resumed_at < ON_ITS_WAY)

    def now_ns(self) -> int:
        """Return the time of the robot [ns], newer than a simulated clock that waits its turn."""
        now = self._clock_ns()
        ahead = self._newest - now
        return now + ahead if self._simulated and 0 < ahead < OVERTAKES else now

    @property
    def silence(self) -> float:
        """Return how long none had come at the last look, by the robot's time [s]."""
        silent = self._looked_at - max(self._received_at, self._resumed_at)
        if self._simulated and silent < ON_ITS_WAY:
            return 0.0  # the clock may have leapt while this process was held up
        if self._simulated and silent < STANDS:
            return (self._looked_ns - max(self._received_ns, self._resumed_ns)) * 1e-9
        return silent

    def _clock_ns(self) -> int:
        return int(self._node.get_clock().now().nanoseconds)

    def refuse(self, stale: float) -> None:
        """Raise MotionError without sound joint states of the last ``stale`` [s]."""
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
        self._driver.refuse(self.streams.slow())

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
            self._driver.stamped(ahead + self.streams.waited)  # as it was when they came
        self._seen(stamps, values)


class DriverWatch:
    """
    Clock and speed of the driver of a ``node``'s robot.

    topic : Float64 [%] of a driver that can scale the speed of trajectories, '' for none;
        ``slowed`` is called with words when it does
    """

    def __init__(self, node: Node, topic: str, slowed: Callable[[str], None]):
        self._ahead: deque[float] = deque(maxlen=LOOKS)
        self._clocks: deque[int] = deque(maxlen=LOOKS)  # [ns] of a simulated clock, as received
        self._scaling: dict[str, float] = {}  # topic -> [%] that it said last
        self._slowed = slowed
        if topic:
            subscribe(node, Float64, topic, lambda message: self.scaled(message.data, topic),
                      QoSProfile(depth=10))

    def stamped(self, ahead: float) -> None:
        """Note that joint states were stamped ``ahead`` [s] of this computer's clock."""
        if self._ahead and abs(ahead - max(self._ahead)) > SET:
            self._ahead.clear()
        self._ahead.append(ahead)

    def simulated(self, ahead: float, clock: int) -> None:
        """
        Note that joint states were stamped ``ahead`` [s] of a simulated clock.

        clock : [ns] what it showed: a subscription of its own, which may be behind or ahead by as
            much as it moves at once
        """
        if not self._clocks or self._clocks[-1] != clock:  # else it stands, as in a callback
            self._clocks.append(clock)
            self._ahead.append(ahead)

    def _other(self) -> tuple[float, float]:
        """Return by how much [s] the stamps are of another clock, and how much is none."""
        if not self._clocks:
            return max(self._ahead), CLOCKS
        steps = np.abs(np.diff(self._clocks)) * 1e-9
        step = float(np.median(steps)) if len(steps) > 2 else SET  # too few to know
        return min(self._ahead, key=abs), CLOCKS + 2.0 * step

    def scaled(self, percent: float, topic: str) -> None:
        """Note that trajectories run at ``percent`` [%] of their speed, as a ``topic`` says."""
        self._scaling[topic] = percent
        if abs(percent - 100.0) > SCALED:
            self._slowed(f'the driver runs trajectories at {percent:.0f} % of their speed; the '
                         'piece under way brakes by itself')

    def refuse(self, slow: str = '') -> None:
        """
        Refuse a driver that stamps by another clock, or scales trajectories, by a MotionError.

        slow : how the stamps of the joint states fall behind, which is refused as well
        """
        for topic, percent in self._scaling.items():
            if abs(percent - 100.0) > SCALED:
                raise MotionError('the driver does not run trajectories at their own speed',
                                  expected='100 %', found=f'{percent:.0f} % in {topic}',
                                  do='set its speed to 100 %, and give speed: here instead')
        if slow:
            raise MotionError(slow)
        away, allowed = self._other()
        if abs(away) > allowed:
            raise MotionError(
                'the joint states are stamped by another clock',
                expected=f'stamps within {allowed:.2g} s of this clock',
                found=f"{abs(away):.3f} s {'ahead' if away > 0 else 'behind'}",
                do='synchronise the computers, or give use_sim_time: if the robot is simulated')
