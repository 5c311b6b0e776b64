"""
How a motion reaches the controller: piece by piece, by its topic or as goals of its action.

Every piece of a motion replaces the one before it, by either way.  An action also answers: each
goal that is accepted, so that no piece is sent to an arm that already brakes as the pieces
before it were lost; a goal that is refused or given up says why, and the last one how it ended.
A joint_trajectory_controller reads its topic best effort, so nothing is acknowledged there; where
it publishes its state, that says which piece it follows.
"""

from collections.abc import Callable
import time
from typing import Any

from builtin_interfaces.msg import Duration
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .conversions import advertise, message_class, seconds, simulated_time
from ..errors import ConfigError, MotionError

ACTION = 'follow_joint_trajectory'  # how the names of actions end, by ros2_controllers' convention
ABORTED = 6  # action_msgs/GoalStatus
CODES = {
    0: 'goal reached',
    -1: 'invalid goal',
    -2: 'invalid joints',
    -3: 'old header stamp',
    -4: 'path tolerance violated',
    -5: 'goal tolerance violated',
}
VIOLATIONS = (-4, -5)  # of any goal; other ends of a goal that was replaced say nothing
ARRIVES = 1.0  # [s] after the end of a trajectory until the arm has to be there
RESULT_COMES = 1.5  # [s] after the end of a trajectory for its result
RESULT_LOOK = 0.02  # [s] between looks for the result
ANY = -1.0  # of a tolerance: none
RESTS_LONGER = 3  # [s]
LATEST = 0.02  # [s] that a message may be late


class Link:
    """
    What both ways have: messages are numbered, and kept from the newest that was accepted on.

    arrived : number of the newest that was accepted, 0 for none
    answers : whether every message that is accepted is known to be
    """

    answers = False

    def __init__(self) -> None:
        self.arrived = self._newest = 0
        self._sent = dict[int, Any]()

    def accept(self, number: int) -> None:
        """Note that the controller follows message ``number``, or one after it."""
        self.arrived = max(self.arrived, number)
        self._sent = {k: message for k, message in self._sent.items() if k >= self.arrived}

    def _keep(self, message: Any) -> int:
        """Return the number of a ``message`` that is sent now."""
        self._newest += 1
        self._sent[self._newest] = message
        return self._newest


class TopicLink(Link):
    """
    Sends to a JointTrajectory topic ``name`` of a ``node``; it tells no outcome.

    What was not delivered within LATEST of the wall clock is not sent again, nor what a newer
    piece has replaced.
    """

    def __init__(self, node: Node, name: str):
        super().__init__()
        self._node, self._name = node, name
        lifespan = LATEST
        if simulated_time(node):  # of which the wall clock knows nothing
            lifespan = 0.0
        self._publisher = advertise(node, JointTrajectory, name, 1, lifespan)
        self._followers: set[str] = set()  # when the first trajectory of a motion was sent

    def check_ready(self) -> None:
        """Raise MotionError when nobody listens, or whoever did when the motion began has gone."""
        listeners = self._listeners()
        if not listeners:
            raise MotionError(
                f'nobody listens to {self._name}',
                do='start the joint_trajectory_controller, or correct controller:',
            )
        if not self._followers <= listeners:  # who is left may be a recorder
            gone = sorted(self._followers - listeners)
            raise MotionError(
                f'{", ".join(gone)} does not listen to {self._name} any more',
                do='see whether the controller runs',
            )

    def message(self, trajectory: JointTrajectory, tracking: float) -> bytes:
        """Return a ``trajectory`` ready to be sent; ``tracking`` is of actions alone."""
        return serialize_message(trajectory)

    def send(self, message: bytes) -> int:
        """Let the controller follow a trajectory from now on."""
        if not self._followers:
            listeners = self._listeners()
            # A controller of ros2_control has a node of its name; who else listens may leave.
            controller = self._node.resolve_topic_name(self._name).rpartition('/')[0]
            self._followers = listeners & {controller} or listeners
        self._publisher.publish(message)
        if not self.arrived:  # none is ever sent again
            self._sent.clear()
        return self._keep(message)

    def withdraw(self) -> None:
        """Let what was sent after the piece that is followed be replaced by it, where it waits."""
        if self.arrived in self._sent:
            followed = deserialize_message(self._sent[self.arrived], JointTrajectory)
            rest_longer(followed)
            self._publisher.publish(followed)

    def outcome(self, after: float, given_up: Callable[[], bool]) -> str:
        """Return '': no result comes ``after`` [s], ``given_up`` or not."""
        self._followers, self.arrived = set(), 0
        return ''

    def _listeners(self):
        """Return the names of the nodes that listen."""
        topic = self._node.resolve_topic_name(self._name)
        return {
            f'{end.node_namespace.rstrip("/")}/{end.node_name}'
            for end in self._node.get_subscriptions_info_by_topic(topic)
        }


class ActionLink(Link):
    """
    Sends goals to the FollowJointTrajectory action ``name``.

    gave_up : called with words when the controller refuses a goal or gives it up
    Raises ConfigError where control_msgs is not installed.

    A lifespan of goals would also be one of their answers, which a player that was held up could
    not read any more; so a goal that is not accepted in time is withdrawn.
    """

    answers = True

    def __init__(self, node: Node, name: str, gave_up: Callable[[str], None]):
        super().__init__()
        self._kind = message_class('control_msgs/action/FollowJointTrajectory')
        self._tolerance = message_class('control_msgs/msg/JointTolerance')
        if self._kind is None:
            raise ConfigError(
                f'controller {name!r} is an action, which needs control_msgs',
                do='install ros-$ROS_DISTRO-control-msgs, or give the topic '
                'joint_trajectory of the controller',
            )
        self._node, self._name, self._gave_up = node, name, gave_up
        self._result = ''
        self._client = ActionClient(
            node, self._kind, name, goal_service_qos_profile=QoSProfile(depth=1)
        )

    def check_ready(self) -> None:
        """Raise MotionError when there is no such action."""
        if not self._client.server_is_ready():
            raise MotionError(
                f'nobody serves the action {self._name}',
                do='start the controller, or correct controller:',
            )

    def message(self, trajectory: JointTrajectory, tracking: float) -> Any:
        """Return the goal: a ``trajectory`` from which joints may be ``tracking`` [rad or m]."""
        names = trajectory.joint_names
        return self._kind.Goal(
            trajectory=trajectory,
            goal_time_tolerance=Duration(sec=round(ARRIVES)),
            path_tolerance=[self._tolerance(name=name, position=tracking) for name in names],
            goal_tolerance=[
                self._tolerance(name=name, position=tracking, velocity=ANY) for name in names
            ],
        )

    def send(self, message: Any) -> int:
        """Let the controller follow a goal from now on; return its number."""
        self._result = ''
        number = self._keep(message)
        self._client.send_goal_async(message).add_done_callback(
            lambda answer: self._answered(number, answer)
        )
        return number

    def withdraw(self) -> None:
        """Let a goal that was not accepted so far not be sent again."""
        if self.arrived in self._sent:  # depth 1; on the path of this one the arm is, or rests
            followed = self._sent[self.arrived]
            rest_longer(followed.trajectory)
            self._client.send_goal_async(followed)
        self._result = 'goal not accepted in time'

    def outcome(self, after: float, given_up: Callable[[], bool]) -> str:
        """
        Wait for the end of the last goal, ``after`` [s] from now; return in words how it ended.

        given_up : whether it is not to be waited for any more
        A goal without a result long after its end stands: cancelled, a controller would hold the
        arm where it is measured, and take the newton metres behind the difference away at once.
        """
        end = seconds(self._node) + after + RESULT_COMES
        while not self._result and seconds(self._node) < end and not given_up():
            time.sleep(RESULT_LOOK)
        return f'controller: {self._result or "no result"}'

    def _answered(self, number: int, answer: Future) -> None:
        """Note that goal ``number`` was accepted, or say that it was not."""
        handle = answer.result()
        if not handle.accepted:
            if number == self._newest:
                self._result = 'goal refused'
                self._gave_up(f'{self._name} refused the goal; the controller logs why')
            return
        self.accept(number)
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


def rest_longer(trajectory: JointTrajectory) -> None:
    """
    Let a ``trajectory`` rest at its end until all that was sent after it has ended as well.

    A controller refuses what has ended: it would follow a newer one that comes with it.
    """
    last = trajectory.points[-1]
    rests = JointTrajectoryPoint(
        positions=last.positions,
        velocities=last.velocities,
        accelerations=last.accelerations,
        time_from_start=Duration(
            sec=last.time_from_start.sec + RESTS_LONGER, nanosec=last.time_from_start.nanosec
        ),
    )
    trajectory.points.append(rests)


def controller_link(
    node: Node, name: str, gave_up: Callable[[str], None]
) -> TopicLink | ActionLink:
    """Return the link to a controller by its topic, or by its action: a name that ends so."""
    if name.endswith(ACTION):
        return ActionLink(node, name, gave_up)
    return TopicLink(node, name)
