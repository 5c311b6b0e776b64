"""What the player asks of the controller: whether it is active, and where it holds the arm."""

from collections.abc import Callable, Mapping
import time
from typing import Any

import numpy as np
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

from .conversions import every, message_class, seconds, subscribe
from .rclpy_internals import taken
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError
from ..excitation.playback import deviation, LEAD

ACTIVE = 'active'
PERIOD = 1.0  # [s] between questions
PATIENCE = 5.0  # [s] for an answer; after that the question is asked anew
CONTINUES, INTERFACES = 'interpolate_from_desired_state', 'command_interfaces'
EFFORT_RATE = 1000.0  # [N m/s or N/s] that is no jerk: Franka allows as much
STATE = 'control_msgs/msg/JointTrajectoryControllerState'
SETTLED = 0.3  # [s] after the end of a trajectory in which the arm comes to rest
STILL = 1e-3   # [rad or m] more than noise and creep of an arm that nobody has moved since
RECENT = 1.0   # [s] by which the controller's word may be older than the joint states


class Controllers:
    """
    Which controllers are active, as ``controller_manager/list_controllers`` says now and then.

    topic : of the controller, ``[namespace/]controller/joint_trajectory`` or of its action

    A ros2_control controller listens from its configuration on, also while it is inactive, so a
    subscriber says nothing: the arm would not move and the motion would end by its tracking.
    Where the driver has no controller_manager, or its messages are not installed, nothing is
    known and nothing refused.
    """

    _goes_on = _fades = False

    def __init__(self, node: Node, topic: str) -> None:
        self._node, self._topic = node, topic
        self._states: dict[str, tuple[str, str]] = {}  # name -> (state, type)
        self._asked, self._warned = 0.0, ''
        self._answer: Any = None
        namespace, self._name = node.resolve_topic_name(topic).rsplit('/', 2)[:2]
        kind = message_class('controller_manager_msgs/srv/ListControllers')
        if kind is not None:
            self._client = node.create_client(
                kind, f'{namespace}/controller_manager/list_controllers')
            every(node, PERIOD, self._look)
        self._parameters = node.create_client(
            GetParameters, f'{namespace}/{self._name}/get_parameters')
        every(node, PERIOD, self._ask_parameter)

    def _ask_parameter(self):
        """Ask from where the controller begins a trajectory; it may be started anew."""
        if self._parameters.service_is_ready():
            question = GetParameters.Request(names=[CONTINUES, INTERFACES])
            self._parameters.call_async(question).add_done_callback(self._take_parameters)
        else:
            self._goes_on = self._fades = False

    def _take_parameters(self, answer):
        values = answer.result().values
        known = len(values) == 2 and values[0].type == ParameterType.PARAMETER_BOOL
        self._goes_on = known and values[0].bool_value
        self._fades = known and list(values[1].string_array_value) == ['effort']

    def leads(self, robot: RobotModel) -> bool:
        """
        Return whether the controller leads an arm that rests smoothly to where it is measured.

        By its parameter CONTINUES it begins at its last command.  Where that is false a controller
        of efforts alone begins at the measured state with the effort that it commanded last, and
        lets it fade until the first point ahead: at most the effort limit in half of LEAD, should
        the piece be as late.  ros2_controllers has that from the version on that has CONTINUES
        (4.22), so a controller that declares it does so.
        """
        slow = np.all((robot.effort > 0) & (robot.effort <= EFFORT_RATE * 0.5 * LEAD))
        return bool(self._goes_on or self._fades and slow)

    def _look(self):
        """Take the answer that has come; ask again."""
        if self._answer is not None and self._answer.done():
            answer, self._answer = self._answer.result(), None
            self._states = {c.name: (c.state, c.type) for c in answer.controller}
            words = str(inactive(self._name, self._states) or '')
            if words not in ('', self._warned):
                self._node.get_logger().warning(words)
            self._warned = words
        late = time.monotonic() > self._asked + PATIENCE
        if self._client.service_is_ready() and (self._answer is None or late):
            self._asked, self._answer = time.monotonic(), self._client.call_async(
                self._client.srv_type.Request())

    def refuse(self) -> None:
        """Raise MotionError when the controller is there and not active."""
        error = inactive(self._name, self._states)
        if error is not None:
            raise error


def inactive(name: str, states: Mapping[str, tuple[str, str]]) -> MotionError | None:
    """
    Return the error that says that controller ``name`` would not move the arm, None if it would.

    states : {name: (state, type)} of all that the manager has; of others nothing is said
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


class HeldPosition:
    """
    Where the controller holds an arm that rests, which is not quite where the arm is.

    controller : its topic ``[namespace/]controller/joint_trajectory``, or its action
    scaled : called with the share [%] of its speed at which the controller runs a trajectory, as
        its state says, and the topic that says so

    Gravity that the drives do not know and dry friction keep a resting arm away from its command,
    by what the drives' stiffness makes of them: milliradians, behind which stand newton metres.  A
    course from the measured position would take that away at once: the command steps and the arm
    jerks.

    A joint_trajectory_controller says its command on ``~/controller_state`` (control_msgs).
    Without these messages the end of what was played last is known, as long as the arm stays as it
    came to rest there.
    """

    _scales = False  # until it has said that it runs at all

    def __init__(self, node: Node, controller: str, scaled: Callable[[float, str], None]) -> None:
        self._node, self._scaled = node, scaled
        self._topic = f"{controller.rpartition('/')[0]}/controller_state"
        self._kind = message_class(STATE)
        self._reader: Any = None
        self._newest = b''  # not yet read
        self._state: Any = None
        self._state_at, self._joints_at = -np.inf, 0.0
        self._end: np.ndarray | None = None
        self._rests: np.ndarray | None = None
        self._settled_at = 0.0
        if self._kind is not None:
            quality = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
            self._reader = subscribe(node, self._kind, self._topic, self._receive, quality,
                                     raw=True)

    def _receive(self, data: bytes) -> None:
        self._newest = data  # a controller may publish a thousand times a second

    def read(self) -> None:
        """Take the newest state of the controller."""
        for data, _ in taken(self._reader) if self._reader is not None else ():
            self._receive(data)
        if not self._newest:
            return
        self._state, self._newest = deserialize_message(self._newest, self._kind), b''
        self._state_at = seconds(self._node)
        # Messages before control_msgs 5.3 lack it; ros2_controllers before 4.39 leave it at 0.
        share = getattr(self._state, 'speed_scaling_factor', 0.0)
        self._scales = self._scales or share > 0.0
        if self._scales:
            self._scaled(100.0 * share, self._topic)

    def moves(self) -> None:
        """Note that the arm moves from now on: what the controller held is over."""
        self._end, self._state_at = None, -np.inf

    def ended(self, end: np.ndarray, after: float) -> None:
        """Note that the last trajectory leads to ``end`` (n,) and rests there ``after`` [s]."""
        self._end, self._rests = end, None
        self._settled_at = seconds(self._node) + after + SETTLED

    def seen(self, position: np.ndarray) -> None:
        """Note a measured ``position`` (n,)."""
        self._joints_at = seconds(self._node)
        if self._rests is None and self._joints_at > self._settled_at:
            self._rests = position

    def position(self, robot: RobotModel, measured: np.ndarray, tracking: float
                 ) -> np.ndarray | None:
        """
        Return the command (n,) at which the arm is held, None where that is not known.

        measured : (n,) where the arm is, in the order of the ``robot``'s joints
        tracking : how far [rad or m] from its command it may be
        Raises MotionError when the controller holds it farther away: it does not follow.
        """
        self.read()
        held = self._said(robot.joint_names)
        if held is None:
            return self._remembered(robot, measured, tracking)
        away = deviation(robot, measured, held)
        if (away > tracking).any():
            j = int(away.argmax())
            raise MotionError(f'{robot.joint_names[j]} does not follow its controller',
                              expected=f'{held[j]:.4g}, as {self._topic} says',
                              found=f'{measured[j]:.4g}',
                              do='deactivate and activate the controller')
        return held

    def unknown(self) -> MotionError:
        """Return the error that says that a first command would be a guess."""
        name = self._topic.rpartition('/')[0]
        return MotionError(
            'where the controller holds the arm is not known: the first command may make it jerk',
            expected=f'messages on {self._topic} (control_msgs), or {CONTINUES}: true of {name}, '
            f"or {INTERFACES}: ['effort'] and limits of at most {EFFORT_RATE * 0.5 * LEAD:g} N m",
            do=f'set {CONTINUES}: true there; or from_command: true of this node, where a '
            'controller goes on from its command and cannot say so')

    def _remembered(self, robot, measured, tracking):
        """Return the end (n,) of the last trajectory, None when the arm is not held there."""
        moved = (self._rests is not None
                 and deviation(robot, measured, self._rests).max() > STILL)
        if (self._end is None or moved
                or deviation(robot, measured, self._end).max() > tracking):
            return None
        return self._end

    def _said(self, joint_names):
        """Return the command (n,) by the controller's own word, None without a recent one."""
        if self._joints_at - self._state_at > RECENT:
            return None
        names, held = list(self._state.joint_names), np.array(self._state.reference.positions)
        if len(held) != len(names) or not set(joint_names) <= set(names):
            return None
        return held[[names.index(name) for name in joint_names]]
