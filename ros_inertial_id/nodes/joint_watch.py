"""What the player knows of the joints it moves, and of their driver: its clock and its speed."""

from collections import deque
from collections.abc import Callable
import time

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64

from .conversions import every, simulated_time, subscribe
from .parameters import JOINT_STATES
from .streams import Streams
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError, RecordingError
from ..measurement.live import carried
from ..measurement.recording import Channel

BEGINNING = 10**9  # [ns] of a simulated clock, in which joint states may be stamped 0
HELD_UP = 0.06  # [s] of wall time between two looks, above which this process had no time to look
CATCHES_UP = 0.01  # [s] for the middleware to hand on what came meanwhile
COUNTED_GAP = 0.02  # [s] between two looks that count as silence at most
CLOCK_STANDS = 10.0  # [s] of wall time in which simulated time may stand still
ON_ITS_WAY = 0.1  # [s] for messages that may be on their way
FIRST_STATE = 0.5  # [s] for the first of the joint states
STATE_LOOK = 0.005  # [s] between looks for it
CLOCKS = 0.04  # [s] between the stamps of the joint states and this computer's clock: within the
#                past of a piece, or every piece would begin with a jump
MOVES_AT_ONCE = 1.0  # [s], more than /clock does: it and the joint states are not ordered
CLOCK_LOOKS = 50  # at the clocks: the least of their delays counts
SPEED_SLACK = 0.5  # [%] by which the speed of a trajectory may be another than its own


class JointWatch:
    """
    Joint states of a ``node``'s robot, and what is wrong with them.

    driver : DriverWatch of the robot
    doubt : called with words when joint states cannot be read
    went_back : called with words when the driver's clock was set back
    take : called with stamps (N,) [ns] and {position, velocity, effort: (N, n)} of what came
    topic : of the joint states
    position : (n,) the newest, None before any came; newest_ns : its stamp [ns]

    Silence is of the robot's time.  What this process did not look at is no silence, or little,
    as it may be slow for ever: it reads all that waits before it judges.
    """

    def __init__(
        self,
        node: Node,
        driver: 'DriverWatch',
        doubt: Callable[[str], None],
        went_back: Callable[[str], None],
        take: Callable[[np.ndarray, dict[str, np.ndarray]], None],
        topic: str = JOINT_STATES,
    ):
        self._node, self._driver, self._doubt, self._hand_on = node, driver, doubt, take
        self._topic = topic
        self.streams = Streams(node, self._complain, went_back)
        self.simulated = simulated_time(node)
        every(node, 0.2, lambda: self.streams.look((topic,)))
        self._robot: RobotModel | None = None
        self._looked = self._silent = np.zeros(2)  # each by wall time [s] and the robot's [s]
        self._held_up = self._resumed = 0.0  # [s] of wall time: how long the last time, until when
        self._complaint = ''
        self.newest_ns = 0
        self.position: np.ndarray | None = None

    def watch_joints_of(self, robot: RobotModel) -> None:
        """Watch the joints of a RobotModel ``robot`` from now on."""
        if self._robot is None or robot.joint_names != self._robot.joint_names:
            self.position = None
        self._robot = robot

    def read(self) -> None:
        """Take all joint states since the last time."""
        now = np.array([time.monotonic(), self.now_ns() * 1e-9])
        gap, self._looked = now - self._looked, now
        if gap[0] > HELD_UP:
            self._resumed, self._held_up = now[0], gap[0]
            if self.simulated:  # what tells the time waits for threads that were held up as well
                time.sleep(CATCHES_UP)
        self._silent = self._silent + np.clip(gap, 0.0, COUNTED_GAP)
        self.streams.hand_to(self._take)

    def resumes(self, after: float = 0.0, within: float = ON_ITS_WAY) -> bool:
        """Return whether this process was held up for ``after`` [s] until ``within`` [s] ago."""
        return self._held_up > after and time.monotonic() - self._resumed < within

    def now_ns(self) -> int:
        """Return the time of the robot [ns], newer than a simulated clock that waits its turn."""
        now = self._node.get_clock().now().nanoseconds
        if self.simulated:
            return max(now, self.newest_ns)
        return now

    def clock_age(self) -> float:
        """Return for how long [s] of wall time ``now_ns`` cannot have moved on; real clocks go."""
        if self.simulated:
            return time.monotonic() - float(self._looked[0])
        return 0.0

    @property
    def silence(self) -> float:
        """Return the time [s] of the robot since the newest had come, at the last look."""
        by_wall_clock, by_its_clock = self._silent.tolist()
        if not self.simulated or by_wall_clock >= CLOCK_STANDS:
            return by_wall_clock
        if by_wall_clock < ON_ITS_WAY:
            return 0.0  # the clock may have leapt while this process was held up
        return by_its_clock

    def check_ready(self, stale: float) -> np.ndarray:
        """
        Return where the joints are; MotionError where they are not known.

        For another thread than the node's, which reads meanwhile.
        stale : [s] for which none may have come
        """
        if self.simulated and not self._node.get_clock().now().nanoseconds:
            raise MotionError(
                'use_sim_time: the clock stands at 0',
                expected='a publisher of /clock',
                found='none so far',
                do='start the simulation, or leave out use_sim_time',
            )
        end = time.monotonic() + FIRST_STATE
        while self._missing(stale) is not None and time.monotonic() < end:
            time.sleep(STATE_LOOK)
        error = self._missing(stale)
        if error is not None:
            raise error
        if self.streams.falls_behind():
            raise MotionError(self.streams.falls_behind())
        self._driver.check_ready(self.simulated)
        assert self.position is not None
        return self.position

    def _missing(self, stale: float) -> MotionError | None:
        """Return the error of joints not known, or not for ``stale`` [s]; None for none."""
        if self.position is None:
            return MotionError(
                self._complaint or 'no joint states',
                expected=self._node.resolve_topic_name(self._topic),
                do='start the robot driver',
            )
        silence = self.silence
        if silence > stale:
            return MotionError(
                self._complaint or 'the joint states are late',
                expected=f'one every {stale:g} s at the latest (stale:)',
                found=f'the last {silence:.2f} s ago',
            )
        unknown = np.flatnonzero(~np.isfinite(self.position))  # to a driver that just starts
        if self._robot is not None and len(unknown):
            names = [self._robot.joint_names[j] for j in unknown]
            return MotionError(f'{", ".join(names)}: position is not finite')
        return None

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
        rows, values = carried(
            channel, self._robot.joint_names, ('position', 'velocity', 'effort')
        )
        if not len(rows):
            return
        self.position = values['position'][-1]
        stamps = channel.stamp_ns[rows]
        self.newest_ns = int(stamps[-1])
        self._complaint, self._silent = '', np.zeros(2)
        ahead = (self.newest_ns - now) * 1e-9
        if not self.simulated:
            ahead += self.streams.waited  # ahead as it was when they came
        self._driver.stamped(ahead)
        self._hand_on(stamps, values)


class DriverWatch:
    """
    Clock and speed of the driver of a ``node``'s robot.

    topic : Float64 [%] of a driver that can scale the speed of trajectories, '' for none;
        ``slowed`` is called with words when it does
    """

    def __init__(self, node: Node, topic: str, slowed: Callable[[str], None]):
        self._ahead: deque[float] = deque(maxlen=CLOCK_LOOKS)
        self._scaling: dict[str, float] = {}  # topic -> [%] that it said last
        self._slowed = slowed
        if topic:
            subscribe(
                node,
                Float64,
                topic,
                lambda message: self.scaled(message.data, topic),
                QoSProfile(depth=10),
            )

    def stamped(self, ahead: float) -> None:
        """Note that joint states were stamped ``ahead`` [s] of this node's clock."""
        self._ahead.append(ahead)

    def scaled(self, percent: float, topic: str) -> None:
        """Note that trajectories run at ``percent`` [%] of their speed, as a ``topic`` says."""
        self._scaling[topic] = percent
        if abs(percent - 100.0) > SPEED_SLACK:
            self._slowed(
                f'the driver runs trajectories at {percent:.0f} % of their speed; the '
                'piece under way brakes by itself'
            )

    def check_ready(self, simulated: bool = False) -> None:
        """
        Refuse a driver that scales trajectories, or stamps by another clock, by a MotionError.

        simulated : whether the clock is /clock, which may be ahead or behind, as may be the stamps
        """
        for topic, percent in self._scaling.items():
            if abs(percent - 100.0) > SPEED_SLACK:
                raise MotionError(
                    'the driver does not run trajectories at their own speed',
                    expected='100 %',
                    found=f'{percent:.0f} % in {topic}',
                    do='set its speed to 100 %, and give speed: here instead',
                )
        if simulated:
            ahead, allowed = min(self._ahead, key=abs), MOVES_AT_ONCE
        else:
            ahead, allowed = max(self._ahead), CLOCKS
        if abs(ahead) > allowed:
            raise _other_clock(ahead, allowed)


def _other_clock(ahead: float, allowed: float) -> MotionError:
    """Return the error of stamps that are ``ahead`` [s] of this clock, by more than allowed."""
    late, do, side = '', '', 'ahead'
    if ahead < 0.0:
        late, side = 'late, or ', 'behind'
        do = 'give the computer of a driver that is late less to do; '
    return MotionError(
        f'{JOINT_STATES} is stamped {late}by another clock',
        expected=f'stamps within {allowed:.2g} s of this clock',
        found=f'{abs(ahead):.3f} s {side}',
        do=f'{do}synchronise the clocks of two computers; use_sim_time: if the robot is simulated',
    )
