"""
Which controllers of a robot are active, as its controller_manager says.

A ros2_control controller listens from its configuration on, also while it is inactive, so a
subscriber says nothing: the arm would not move and the motion would end by its tracking.
"""

from collections.abc import Mapping
import importlib
import time
from typing import Any

from rclpy.node import Node

from .conversions import every
from ..errors import MotionError

ACTIVE = 'active'
PERIOD = 1.0  # [s] between questions
PATIENCE = 5.0  # [s] for an answer; after that the question is asked anew


class Controllers:
    """
    Asks ``controller_manager/list_controllers`` beside a controller, now and then.

    node : that asks
    topic : of the controller, ``[namespace/]controller/joint_trajectory`` or of its action

    Where the driver has no controller_manager, or its messages are not installed, nothing is
    known and nothing refused.
    """

    def __init__(self, node: Node, topic: str) -> None:
        self._node, self._topic = node, topic
        self._states: dict[str, tuple[str, str]] = {}  # name -> (state, type)
        self._asked, self._warned = 0.0, ''
        self._answer: Any = None
        namespace, self._name = _split(node.resolve_topic_name(topic))
        kind = _list_controllers()
        if kind is not None:
            self._client = node.create_client(
                kind, f'{namespace}/controller_manager/list_controllers')
            every(node, PERIOD, self._look)

    def _look(self):
        """Take the answer that has come; ask again."""
        if self._answer is not None and self._answer.done():
            answer, self._answer = self._answer.result(), None
            self._states = {c.name: (c.state, c.type) for c in answer.controller}
            self._tell()
        late = time.monotonic() > self._asked + PATIENCE
        if self._client.service_is_ready() and (self._answer is None or late):
            self._asked, self._answer = time.monotonic(), self._client.call_async(
                self._client.srv_type.Request())

    def _tell(self):
        """Warn once of a controller that would not move the arm."""
        words = inactive(self._name, self._states)
        if words is not None and str(words) != self._warned:
            self._node.get_logger().warning(str(words))
        self._warned = '' if words is None else str(words)

    def refuse(self) -> None:
        """Raise MotionError when the controller is there and not active."""
        error = inactive(self._name, self._states)
        if error is not None:
            raise error


def inactive(name: str, states: Mapping[str, tuple[str, str]]) -> MotionError | None:
    """
    Return the error that says that a controller would not move the arm, None where it would.

    name : of the controller; states : {name: (state, type)} of all that the manager has
    Of a ``name`` that the manager does not have nothing is said.
    """
    state = states.get(name, (ACTIVE, ''))[0]
    if state == ACTIVE:
        return None
    others = [other for other, (word, kind) in states.items()
              if word == ACTIVE and 'JointTrajectoryController' in kind]
    do = (f'set controller: to {others[0]}/joint_trajectory, or ' if others else '')
    away = f'--deactivate {others[0]} ' if others else ''
    return MotionError(f'controller {name} does not move the arm', expected=ACTIVE, found=state,
                       exists=[f'{other} (active)' for other in others] or None,
                       do=f'{do}ros2 control switch_controllers {away}--activate {name}')


def _split(topic: str) -> tuple[str, str]:
    """Return (namespace, controller) of a resolved topic or action name."""
    head = topic.rpartition('/')[0]
    namespace, _, name = head.rpartition('/')
    return namespace, name


def _list_controllers() -> Any:
    """Return the service type, None where controller_manager_msgs is not installed."""
    try:
        return importlib.import_module('controller_manager_msgs.srv').ListControllers
    except ImportError:
        return None
