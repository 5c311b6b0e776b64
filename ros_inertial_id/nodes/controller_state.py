"""What the player asks of the controller: whether it is active, and where it holds the arm."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.time import Time

from .conversions import ask, message_class, seconds
from .rclpy_internals import taken
from .running import GuardedNode
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError
from ..excitation.playback import deviation, LEAD

ACTIVE = 'active'
CONTROLLER_ANSWERS = 1.0  # [s]
BLENDS = 'allow_trajectory_replacement'
CONTINUES, INTERFACES = 'interpolate_from_desired_state', 'command_interfaces'
EFFORT_RATE = 1000.0  # [N m/s or N/s] that is no jerk: Franka allows as much
FADING_EFFORT = EFFORT_RATE * 0.5 * LEAD  # [N m or N] that fade without a jerk before the start
STATE_TYPE = 'control_msgs/msg/JointTrajectoryControllerState'
LIST_TYPE = 'controller_manager_msgs/srv/ListControllers'
STATE_AGE = 1.0  # [s] by which the controller's word may be older than the joint states


class Controllers:
    """
    Asks the controller_manager and the controller itself, and waits for their answers.

    beside : a Node whose executor spins in another thread
    topic : of the controller, ``[namespace/]controller/joint_trajectory`` or of its action
    """

    def __init__(self, beside: Node, topic: str) -> None:
        namespace, self._name = topic.rsplit('/', 2)[:2]
        self._manager: Any = None  # where its messages are not installed
        kind = message_class(LIST_TYPE)
        if kind is not None:
            self._manager = beside.create_client(
                kind, f'{namespace}/controller_manager/list_controllers'
            )
        self._controller = beside.create_client(
            GetParameters, f'{namespace}/{self._name}/get_parameters'
        )

    def check_active(self) -> None:
        """
        Raise MotionError when the controller is there and not active.

        A ros2_control controller listens from its configuration on, also while it is inactive, so
        a subscriber says nothing: the arm would not move and the motion would end by its tracking.
        Where the driver has no controller_manager, or its messages are not installed, nothing is
        known and nothing refused.
        """
        if self._manager is None:
            return
        answer = _answer(self._manager, self._manager.srv_type.Request())
        if answer is None:
            return
        error = inactive(self._name, {c.name: (c.state, c.type) for c in answer.controller})
        if error is not None:
            raise error

    def check_stamps_count(self) -> None:
        """
        Raise MotionError when the controller starts a trajectory as it comes, whatever its stamp.

        So does a ros2_controllers that has the parameter BLENDS (after 6.9), while another is
        under way: the points of a piece would come as late as its stamp is old.
        """
        answer = _answer(self._controller, GetParameters.Request(names=[BLENDS]))
        values: Any = getattr(answer, 'values', ())
        if len(values) == 1 and values[0].bool_value:
            raise MotionError(
                f'controller {self._name} starts pieces of a motion when they come, not when '
                'their stamps say',
                expected=f'{BLENDS}: false',
                found='true',
                do='set it so where the controller is configured',
            )

    def leads(self, robot: RobotModel) -> bool:
        """
        Return whether the controller leads an arm that rests smoothly to where it is measured.

        By its parameter CONTINUES it begins at its last command.  Where that is false a controller
        of efforts alone begins at the measured state with the effort that it commanded last, and
        lets it fade until the first point ahead: at most the effort limit in half of LEAD, should
        the piece be as late.  ros2_controllers has that from the version on that has CONTINUES
        (4.22), so a controller that declares it does so.
        """
        question = GetParameters.Request(names=[CONTINUES, INTERFACES])
        values: Any = getattr(_answer(self._controller, question), 'values', ())
        if len(values) != 2 or values[0].type != ParameterType.PARAMETER_BOOL:
            return False
        if values[0].bool_value:
            return True
        if list(values[1].string_array_value) != ['effort']:
            return False
        fades_in_time = (robot.effort > 0) & (robot.effort <= FADING_EFFORT)
        return bool(np.all(fades_in_time))


def _answer(client, question):
    """Return the answer of a service, None where there is none or it does not come."""
    if not client.service_is_ready():
        return None
    return ask(client, question, CONTROLLER_ANSWERS)


def inactive(name: str, states: Mapping[str, tuple[str, str]]) -> MotionError | None:
    """
    Return the error that says that controller ``name`` would not move the arm, None if it would.

    states : {name: (state, type)} of all that the manager has; of others nothing is said
    """
    state = states.get(name, (ACTIVE, ''))[0]
    if state == ACTIVE:
        return None
    active = [
        other
        for other, (word, kind) in states.items()
        if word == ACTIVE and 'JointTrajectoryController' in kind
    ]
    if not active:
        return MotionError(
            f'controller {name} does not move the arm',
            expected=ACTIVE,
            found=state,
            do=f'ros2 control switch_controllers --activate {name}',
        )
    return MotionError(
        f'controller {name} does not move the arm',
        expected=ACTIVE,
        found=state,
        exists=[f'{other} (active)' for other in active],
        do=f'set controller: to {active[0]}/joint_trajectory, or ros2 control '
        f'switch_controllers --deactivate {active[0]} --activate {name}',
    )


class HeldPosition:
    """
    Where the controller holds an arm that rests, which is not quite where the arm is.

    controller : its topic ``[namespace/]controller/joint_trajectory``, or its action
    scaled : called with the share [%] of its speed at which the controller runs a trajectory, as
        its state says, and the topic that says so

    Gravity that the drives do not know and dry friction keep a resting arm away from its command,
    by what the drives' stiffness makes of them: milliradians, behind which stand newton metres.  A
    course from the measured position would take that away at once: the command steps and the arm
    jerks.  A joint_trajectory_controller says its command on ``~/controller_state``
    (control_msgs).
    """

    _scales = False  # until it has said that it runs at all

    def __init__(
        self, node: GuardedNode, controller: str, scaled: Callable[[float, str], None]
    ) -> None:
        self._node, self._scaled = node, scaled
        self._topic = f'{controller.rpartition("/")[0]}/controller_state'
        self._kind = message_class(STATE_TYPE)
        self._state: Any = None
        self._state_at = -np.inf
        self._reader: Any = None  # where its messages are not installed
        if self._kind is not None:
            quality = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
            self._reader = node.reader(self._kind, self._topic, quality)

    def read(self) -> None:
        """Take the newest state of the controller."""
        if self._reader is None:
            return
        waiting = taken(self._reader)
        if not waiting:
            return
        self._state = deserialize_message(waiting[-1][0], self._kind)
        self._state_at = seconds(self._node)
        # Messages before control_msgs 5.3 lack it; ros2_controllers before 4.39 leave it at 0.
        share = getattr(self._state, 'speed_scaling_factor', 0.0)
        if share > 0.0:
            self._scales = True
        if self._scales:
            self._scaled(100.0 * share, self._topic)

    @property
    def followed(self) -> tuple[int, int] | None:
        """Return the stamps [ns] of the trajectory that is followed, and of the state of it."""
        if self._state is None:
            return None
        said = Time.from_msg(self._state.header.stamp)
        began = said - Duration.from_msg(self._state.reference.time_from_start)
        return int(began.nanoseconds), int(said.nanoseconds)

    def position(
        self, robot: RobotModel, measured: np.ndarray, tracking: float
    ) -> np.ndarray | None:
        """
        Return the command (n,) at which the arm is held, None where that is not known.

        measured : (n,) where the arm is, in the order of the ``robot``'s joints
        tracking : how far [rad or m] from its command it may be
        Raises MotionError when the controller holds it farther away: it does not follow.
        """
        self.read()
        if seconds(self._node) - self._state_at > STATE_AGE:
            return None
        names, commands = list(self._state.joint_names), self._state.reference.positions
        if len(commands) != len(names) or not set(robot.joint_names) <= set(names):
            return None
        held = np.array(commands)[[names.index(name) for name in robot.joint_names]]
        if not np.isfinite(held).all():  # of a controller that commands no positions
            return None
        distances = deviation(robot, measured, held)
        if (distances > tracking).any():
            j = int(distances.argmax())
            raise MotionError(
                f'{robot.joint_names[j]} does not follow its controller',
                expected=f'{held[j]:.4g}, as {self._topic} says',
                found=f'{measured[j]:.4g}',
                do='deactivate and activate the controller',
            )
        return held

    def unknown(self) -> MotionError:
        """Return the error that says that a first command would be a guess."""
        name = self._topic.rpartition('/')[0]
        return MotionError(
            'where the controller holds the arm is not known: the first command may make it jerk',
            expected=f'messages on {self._topic} (control_msgs), or {CONTINUES}: true of {name}, '
            f"or {INTERFACES}: ['effort'] and limits of at most {FADING_EFFORT:g} N m",
            do=f'set {CONTINUES}: true there; or from_command: true of this node, where a '
            'controller goes on from its command and cannot say so',
        )
