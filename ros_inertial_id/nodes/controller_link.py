"""
How a motion reaches the controller: piece by piece, by its topic or as goals of its action.

Every piece of a motion replaces the one before it, by either way.  An action also answers: each
goal that is accepted, so that no piece is sent to an arm that already brakes as the pieces
before it were lost; a goal that is refused or given up says why, and the last one how it ended.
A joint_trajectory_controller reads its topic best effort, so nothing is acknowledged there.
"""

from collections.abc import Callable, Sequence
from copy import copy
import time
from typing import Any

from builtin_interfaces.msg import Duration, Time
import numpy as np
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .conversions import advertise, message_class, seconds, simulated_time
from ..errors import ConfigError, MotionError
from ..excitation.braking import Brakes, LONGEST
from ..excitation.path_clock import PathClock, STEP
from ..excitation.playback import Course, HORIZON, LEAD, MARGIN, PAST

ACTION = 'follow_joint_trajectory'  # how the names of actions end, by ros2_controllers' convention
ABORTED = 6  # action_msgs/GoalStatus
CODES = {0: 'goal reached', -1: 'invalid goal', -2: 'invalid joints', -3: 'old header stamp',
         -4: 'path tolerance violated', -5: 'goal tolerance violated'}
VIOLATIONS = (-4, -5)  # of any goal; other ends of a goal that was replaced say nothing
BEFORE = 10 ** 9  # [ns] by which trajectories are stamped earlier: points may precede the course
ARRIVES, PATIENCE, LOOK = 1.0, 1.5, 0.02  # [s] after the end of a trajectory until the arm has to
#                                           be there, for the result, and between looks at it
ANY = -1.0  # of a tolerance: none
LATEST, TRIES = 0.02, 3  # [s] from the time of a piece until it is sent, and how often it is made
SPARE, AHEAD = 1.2, 0.5  # times as long as the last try is what the next may take, at most [s]
PIECE = 0.04  # [s] between pieces; each covers five of them, so that some may be late or lost
UNKNOWN = HORIZON - MARGIN - STEP  # [s] after which a piece has to have followed: then it brakes


class TopicLink:
    """
    Sends to a JointTrajectory topic ``name`` of a ``node``; it tells no outcome.

    What was not delivered within LATEST of the wall clock is not sent again, nor what a newer
    piece has replaced.
    """

    arrived = 0  # nothing is known

    def __init__(self, node: Node, name: str):
        self._node, self._name = node, name
        self._publisher = advertise(
            node, JointTrajectory, name, 1, 0.0 if simulated_time(node) else LATEST)
        self._followers: set[str] = set()  # when the first trajectory of a motion was sent

    def refuse(self) -> None:
        """Raise MotionError when nobody listens, or whoever did when the motion began has gone."""
        listeners = self._listeners()
        if not listeners:
            raise MotionError(f'nobody listens to {self._name}', do='start the '
                              'joint_trajectory_controller, or correct controller:')
        if not self._followers <= listeners:  # who is left may be a recorder
            gone = sorted(self._followers - listeners)
            raise MotionError(f'{", ".join(gone)} does not listen to {self._name} any more',
                              do='see whether the controller runs')

    def message(self, trajectory: JointTrajectory, tracking: float) -> bytes:
        """Return a ``trajectory`` ready to be sent: a process may be held up here, too."""
        return serialize_message(trajectory)

    def send(self, message: bytes) -> int:
        """Let the controller follow a trajectory from now on."""
        if not self._followers:
            listeners = self._listeners()
            # A controller of ros2_control has a node of its name; who else listens may leave.
            controller = self._node.resolve_topic_name(self._name).rpartition('/')[0]
            self._followers = listeners & {controller} or listeners
        self._publisher.publish(message)
        return self.arrived

    def withdraw(self) -> None:
        """Do nothing: what was not delivered is withdrawn by its lifespan."""

    def outcome(self, after: float) -> str:
        """Return '': no result comes."""
        self._followers = set()
        return ''

    def _listeners(self):
        """Return the names of the nodes that listen."""
        topic = self._node.resolve_topic_name(self._name)
        return {f'{end.node_namespace.rstrip("/")}/{end.node_name}'
                for end in self._node.get_subscriptions_info_by_topic(topic)}


class ActionLink:
    """
    Sends goals to the FollowJointTrajectory action ``name``.

    gave_up : called with words when the controller refuses a goal or gives it up
    arrived : number of the newest goal that was accepted
    Raises ConfigError where control_msgs is not installed.

    A lifespan of goals would also be one of their answers, which a player that was held up could
    not read any more; so a goal that is not accepted in time is withdrawn.
    """

    def __init__(self, node: Node, name: str, gave_up: Callable[[str], None]):
        self._kind = message_class('control_msgs/action/FollowJointTrajectory')
        self._tolerance = message_class('control_msgs/msg/JointTolerance')
        if self._kind is None:
            raise ConfigError(f'controller {name!r} is an action, which needs control_msgs',
                              do='install ros-$ROS_DISTRO-control-msgs, or give the topic '
                                 'joint_trajectory of the controller')
        self._node, self._name, self._gave_up = node, name, gave_up
        self.arrived = self._newest = 0
        self._result = ''
        self._client = self._new_client()

    def refuse(self) -> None:
        """Raise MotionError when there is no such action."""
        if not self._client.server_is_ready():
            raise MotionError(f'nobody serves the action {self._name}',
                              do='start the controller, or correct controller:')

    def message(self, trajectory: JointTrajectory, tracking: float) -> Any:
        """Return the goal: a ``trajectory`` from which joints may be ``tracking`` [rad or m]."""
        names = trajectory.joint_names
        return self._kind.Goal(
            trajectory=trajectory, goal_time_tolerance=Duration(sec=round(ARRIVES)),
            path_tolerance=[self._tolerance(name=name, position=tracking) for name in names],
            goal_tolerance=[self._tolerance(name=name, position=tracking, velocity=ANY)
                            for name in names])

    def send(self, message: Any) -> int:
        """Let the controller follow a goal from now on; return its number."""
        self._newest, self._result = self._newest + 1, ''
        number = self._newest
        self._client.send_goal_async(message).add_done_callback(
            lambda answer: self._answered(number, answer))
        return number

    def withdraw(self) -> None:
        """Let a goal that was not accepted so far not be sent again."""
        self._client.destroy()
        self._client, self._result = self._new_client(), 'goal not accepted in time'

    def outcome(self, after: float) -> str:
        """
        Wait for the end of the last goal, ``after`` [s] from now; return in words how it ended.

        A goal without a result long after its end stands: cancelled, a controller would hold the
        arm where it is measured, and take the newton metres behind the difference away at once.
        """
        end = seconds(self._node) + after + PATIENCE
        while not self._result and seconds(self._node) < end:
            time.sleep(LOOK)
        return f"controller: {self._result or 'no result'}"

    def _new_client(self):
        return ActionClient(self._node, self._kind, self._name,
                            goal_service_qos_profile=QoSProfile(depth=1))

    def _answered(self, number: int, answer: Future) -> None:
        """Note that goal ``number`` was accepted, or say that it was not."""
        handle = answer.result()
        if not handle.accepted:
            if number == self._newest:
                self._result = 'goal refused'
                self._gave_up(f'{self._name} refused the goal; the controller logs why')
            return
        self.arrived = max(self.arrived, number)
        handle.get_result_async().add_done_callback(lambda end: self._ended(number, end.result()))

    def _ended(self, number: int, response: Any) -> None:
        """Note the result of goal ``number``; say it when the controller gave up."""
        code, newest = response.result.error_code, number == self._newest
        words = CODES.get(code, f'error {code}')
        if response.result.error_string:
            words += f' ({response.result.error_string})'
        if newest:
            self._result = words
        if response.status == ABORTED and (newest or code in VIOLATIONS):
            self._gave_up(f'the controller gave up: {words}')


def controller_link(node: Node, name: str, gave_up: Callable[[str], None]
                    ) -> TopicLink | ActionLink:
    """Return the link to a controller by its topic, or by its action: a name that ends so."""
    return ActionLink(node, name, gave_up) if name.endswith(ACTION) else TopicLink(node, name)


def trajectory_message(joint_names: Sequence[str], began: int,
                       piece: Sequence[np.ndarray]) -> JointTrajectory:
    """
    Return a piece of a course that ``began`` [ns] as a message.

    piece : times (N,) since then [s], q, v, a (N, n)
    """
    message, stamp = JointTrajectory(joint_names=list(joint_names)), began - BEFORE
    message.header.stamp = Time(sec=stamp // 10 ** 9, nanosec=stamp % 10 ** 9)
    for t, q, v, a in zip(*piece):
        nanoseconds = BEFORE + round(t * 1e9)
        message.points.append(JointTrajectoryPoint(
            positions=q.tolist(), velocities=v.tolist(), accelerations=a.tolist(),
            time_from_start=Duration(sec=nanoseconds // 10 ** 9,
                                     nanosec=nanoseconds % 10 ** 9)))
    return message


class CourseSender:
    """
    Sends one course at a time, on the clock of the robot: ``now_ns`` returns its time [ns].

    duration : of the course [s]; now : time since it began [s]
    behind : time for which nothing was sent [s], negative where the clock went back
    delay : by how much late pieces have stretched the course [s]
    """

    def __init__(self, link: TopicLink | ActionLink, now_ns: Callable[[], int]) -> None:
        self._link, self._now_ns = link, now_ns
        self._course: Any = None
        self._clock: Any = None
        self._names: Sequence[str] = ()
        self._tracking = 0.0
        self._began, self._first, self._newest = 0, 0.0, 0
        self._sent: dict[int, float] = {}  # number of a piece -> when it was made [s]

    def begin(self, course: Course, brakes: Brakes, joint_names: Sequence[str], held: bool,
              tracking: float) -> None:
        """
        Send the first piece, LEAD before the start of ``course``.

        held : whether it begins where the controller holds the arm.  Then pieces are sent from
            the first on, all with a past: they change nothing until the start.  Otherwise the
            first lies wholly ahead and is alone until the start: a controller that goes on from
            its command reaches it smoothly.
        tracking : how far [rad or m] from the course a joint may be
        """
        self._course, self._names, self._tracking = course, joint_names, tracking
        self._began = self._now_ns() + round(LEAD * 1e9)
        self._first = -LEAD if held else 0.0
        self._clock = PathClock(0.0, brakes)
        self._clock.go_on(self._first, HORIZON, MARGIN)
        self._sent = {}
        self._send(self._first, self._message(self._clock, self._first, PAST if held else 0))

    @property
    def now(self) -> float:
        return (self._now_ns() - self._began) * 1e-9

    @property
    def duration(self) -> float:
        return float(self._course.duration)

    @property
    def behind(self) -> float:
        return self.now - self._sent[self._newest]

    @property
    def delay(self) -> float:
        return float(self._clock.delay)

    @property
    def unknown(self) -> bool:
        """Return whether the arm may already brake as pieces are not known to have arrived."""
        arrived = self._link.arrived
        made = self._sent.get(arrived, STEP - HORIZON)  # before the first it rests until the start
        return arrived < self._newest and self.now - made > UNKNOWN

    def passed(self, since: float = 0.0) -> bool:
        """Return whether the end of the course lies ``since`` [s] back."""
        return bool(self._clock.state(np.array([self.now]))[0, 0] >= self._course.duration + since)

    def stamps(self, path_times: np.ndarray) -> np.ndarray:
        """Return the (N,) stamps [ns] at which the course is at ``path_times`` (N,) [s]."""
        return (self._began + np.round(self._clock.times(path_times) * 1e9)).astype(np.int64)

    def expected(self, stamps: np.ndarray) -> np.ndarray:
        """Return the positions (N, n) of the course at ``stamps`` (N,) [ns]."""
        return self._course.at(self._clock.state((stamps - self._began) * 1e-9)[0])[0]

    def send(self) -> bool:
        """Send the next piece; return whether it came too late to go on at full speed."""
        return self.now >= max(self._first, self._sent[self._newest]) and self._promise(
            lambda clock, now: clock.go_on(now, HORIZON, MARGIN))

    def brake(self) -> None:
        """Send the way to rest along the course, from now on; nothing to an arm that rests."""
        if self._clock.rests_at() > self.now:  # else the last piece may still be on its way
            self._promise(lambda clock, now: clock.brake(now))

    def rests_in(self) -> float:
        """Return in how many seconds the last piece rests, also where the clock went back."""
        return min(max(0.0, float(self._clock.rests_at()) - self.now), HORIZON + LONGEST)

    def _promise(self, change):
        """
        Send the piece of a changed clock; return what ``change`` of (clock, now) does.

        One that this process was held up with is made anew, since the arm would leap to it, and
        for the moment at which it will be ready if that takes as long again: to plan anew takes
        longer than a piece may be late.  Where none is made in time, the arm comes to rest as it
        was promised before.
        """
        takes = 0.0  # [s]
        for _ in range(TRIES):
            clock, now = copy(self._clock), self.now + takes
            changed = change(clock, now)
            # A past from now on: a controller goes to a first point ahead from where it is.
            message = self._message(clock, now, PAST + int(np.ceil(takes / STEP)))
            late = self.now - now
            if late < LATEST:
                self._clock = clock
                self._send(now, message)
                return bool(changed)
            takes = min(SPARE * (takes + late), AHEAD)
        return False

    def _message(self, clock, now, past):
        piece = self._course.piece(clock, now, past)
        return self._link.message(trajectory_message(self._names, self._began, piece),
                                  self._tracking)

    def _send(self, now, message):
        self._newest = self._link.send(message)
        self._sent[self._newest] = now
