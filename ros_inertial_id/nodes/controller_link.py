"""
How trajectories reach the controller: by its topic, or as goals of its action.

Every piece of a motion replaces the one before it, by either way.  An action also answers: a goal
that is refused or given up says why, and the last one how it ended.  Many drivers and MoveIt's
controllers take goals only.
"""

from collections.abc import Callable, Sequence
from typing import Any

from builtin_interfaces.msg import Duration, Time
import numpy as np
from rclpy.node import Node
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .conversions import seconds
from .quality import advertise
from ..errors import ConfigError, MotionError

ACTION = 'follow_joint_trajectory'  # how the names of actions end, by ros2_controllers' convention
ABORTED = 6  # action_msgs/GoalStatus
CODES = {0: 'goal reached', -1: 'invalid goal', -2: 'invalid joints', -3: 'old header stamp',
         -4: 'path tolerance violated', -5: 'goal tolerance violated'}
VIOLATIONS = (-4, -5)  # of any goal; other ends of a goal that was replaced say nothing
BEFORE = 10 ** 9  # [ns] by which trajectories are stamped earlier: points may precede the course
PATIENCE = 1.0  # [s] after the end of a trajectory for its result


class TopicLink:
    """Sends to a JointTrajectory topic ``name`` of a ``node``; it tells no outcome."""

    def __init__(self, node: Node, name: str):
        self._node, self._name = node, name
        self._publisher = advertise(node, JointTrajectory, name, 10)
        self._listeners = 0  # when the first trajectory of a motion was sent

    def refuse(self) -> None:
        """Raise MotionError when nobody listens, or fewer than when the motion began."""
        listeners = self._count()
        if not listeners:
            raise MotionError(f'nobody listens to {self._name}', do='start the '
                              'joint_trajectory_controller, or correct controller:')
        if listeners < self._listeners:  # who is left may be a recorder
            raise MotionError(f'a listener of {self._name} has gone, perhaps the controller',
                              expected=self._listeners, found=listeners)

    def send(self, trajectory: JointTrajectory) -> None:
        """Let the controller follow a ``trajectory`` from now on."""
        self._listeners = self._listeners or self._count()
        self._publisher.publish(trajectory)

    def await_result(self, after: float) -> None:
        """Nothing more is sent, the last trajectory ends ``after`` [s]: await nothing."""
        self._listeners = 0

    def outcome(self) -> str | None:
        """Return None: no result comes."""

    def _count(self):
        return self._node.count_subscribers(self._node.resolve_topic_name(self._name))


class ActionLink:
    """
    Sends goals to a FollowJointTrajectory action.

    node : that sends; name : of the action
    gave_up : called with words when the controller refuses a goal or gives it up
    Raises ConfigError where control_msgs is not installed.
    """

    def __init__(self, node: Node, name: str, gave_up: Callable[[str], None]):
        try:
            from control_msgs.action import FollowJointTrajectory
            from rclpy.action import ActionClient
        except ImportError:
            raise ConfigError(f'controller {name!r} is an action, which needs control_msgs',
                              do='install ros-$ROS_DISTRO-control-msgs, or give the topic '
                                 'joint_trajectory of the controller') from None
        self._goal_type: Any = FollowJointTrajectory.Goal
        self._client = ActionClient(node, FollowJointTrajectory, name)
        self._node, self._name, self._gave_up = node, name, gave_up
        self._newest = 0
        self._handle: Any = None
        self._deadline, self._result = 0.0, ''

    def refuse(self) -> None:
        """Raise MotionError when there is no such action."""
        if not self._client.server_is_ready():
            raise MotionError(f'nobody serves the action {self._name}',
                              do='start the controller, or correct controller:')

    def send(self, trajectory: JointTrajectory) -> None:
        """Let the controller follow a ``trajectory`` from now on."""
        self._newest, self._handle, self._result = self._newest + 1, None, ''
        self._deadline = 0.0
        number = self._newest
        self._client.send_goal_async(self._goal_type(trajectory=trajectory)).add_done_callback(
            lambda answer: self._answered(number, answer))

    def await_result(self, after: float) -> None:
        """Nothing more is sent, the last trajectory ends ``after`` [s]: await its result."""
        self._deadline = seconds(self._node) + after + PATIENCE

    def outcome(self) -> str | None:
        """
        Return once, in words, how the last goal ended; None while that is awaited, or nothing is.

        A goal without a result long after its end is cancelled: nothing may move the arm later.
        """
        if not self._deadline:
            return None
        if self._result:
            self._deadline = 0.0
            return f'controller: {self._result}'
        if seconds(self._node) < self._deadline:
            return None
        self._deadline = 0.0
        if self._handle is not None:
            self._handle.cancel_goal_async()
        return 'controller: no result; the goal was cancelled'

    def _answered(self, number: int, answer: Future) -> None:
        """Note that goal ``number`` was accepted, or say that it was not."""
        handle = answer.result()
        if not handle.accepted:
            if number == self._newest:
                self._result = 'goal refused'
                self._gave_up(f'{self._name} refused the goal; the controller logs why')
            return
        if number == self._newest:
            self._handle = handle
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
    """
    Return the link to a controller.

    node : that sends; name : topic, or action where it ends in ACTION; gave_up : see ActionLink
    """
    if name.endswith(ACTION):
        return ActionLink(node, name, gave_up)
    return TopicLink(node, name)


def trajectory_message(joint_names: Sequence[str], began: int,
                       piece: Sequence[np.ndarray]) -> JointTrajectory:
    """
    Return a piece of a course as a message.

    joint_names : (n,); began : time of the course's start [ns]
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
