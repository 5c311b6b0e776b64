"""What a controller_manager says of its controllers goes before what the graph shows."""

from dataclasses import replace
from types import SimpleNamespace

from arm_recordings import ARM
import numpy as np
import pytest
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import MotionError
from ros_inertial_id.nodes import controller_state
from ros_inertial_id.nodes.controller_state import Controllers, inactive

SCALED, PLAIN = 'scaled_joint_trajectory_controller', 'joint_trajectory_controller'
UR = {
    'joint_state_broadcaster': ('active', 'joint_state_broadcaster/JointStateBroadcaster'),
    SCALED: ('active', 'ur_controllers/ScaledJointTrajectoryController'),
    PLAIN: ('inactive', 'joint_trajectory_controller/JointTrajectoryController'),
}


def test_an_inactive_controller_is_refused_with_the_active_one_and_both_ways_out():
    assert str(inactive(PLAIN, UR)) == (
        f'controller {PLAIN} does not move the arm; expected active; found inactive; there is: '
        f'{SCALED} (active); set controller: to {SCALED}/joint_trajectory, or ros2 control '
        f'switch_controllers --deactivate {SCALED} --activate {PLAIN}'
    )


def test_without_another_one_it_is_to_be_activated():
    alone = {PLAIN: UR[PLAIN], 'joint_state_broadcaster': UR['joint_state_broadcaster']}
    assert str(inactive(PLAIN, alone)).endswith(
        f'found inactive; ros2 control switch_controllers --activate {PLAIN}'
    )


@pytest.mark.parametrize('name', [SCALED, 'of_another_program'])
def test_nothing_is_said_of_an_active_one_or_of_one_that_is_not_listed(name):
    assert inactive(name, UR) is None


class Beside:
    """A node that asks a controller_manager of its ``states``, which is there if it has any."""

    def __init__(self, states):
        listed = [SimpleNamespace(name=k, state=s, type=t) for k, (s, t) in states.items()]
        self._client = SimpleNamespace(
            srv_type=SimpleNamespace(Request=object),
            service_is_ready=lambda: bool(states),
            call=lambda question, patience: SimpleNamespace(controller=listed),
        )
        self.services = []

    def create_client(self, kind, service):
        self.services.append(service)
        return self._client


@pytest.mark.parametrize('installed', [True, False], ids=['', 'without its messages'])
@pytest.mark.parametrize(
    'name, states, refused',
    [(PLAIN, UR, True), (SCALED, UR, False), (PLAIN, {}, False)],
    ids=['inactive', 'active', 'no manager'],
)
def test_only_what_a_controller_manager_calls_inactive_is_refused(
    monkeypatch, name, states, refused, installed
):
    monkeypatch.setattr(
        controller_state, 'message_class', lambda _: SimpleNamespace if installed else None
    )
    beside, error = Beside(states), None
    try:
        Controllers(beside, f'/left/{name}/joint_trajectory').check_active()
    except MotionError as raised:
        error = str(raised)
    assert ('/left/controller_manager/list_controllers' in beside.services) == installed
    assert error == (str(inactive(PLAIN, UR)) if refused and installed else None)


@pytest.mark.parametrize(
    'goes_on, interfaces, effort, leads',
    [
        (True, ['position'], 900.0, True),
        (False, ['position'], 87.0, False),
        (False, ['effort'], 87.0, True),
        (False, ['effort', 'position'], 87.0, False),
        (False, ['effort'], 101.0, False),
        (False, ['effort'], 0.0, False),
        (None, ['effort'], 87.0, False),
    ],
)  # before ros2_controllers 4.22
def test_who_leads_an_arm_smoothly_to_where_it_is_measured(
    graph, goes_on, interfaces, effort, leads
):
    asked = []

    def answer(request, response):
        values = (
            (
                ParameterValue()
                if goes_on is None
                else ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=goes_on)
            ),
            (
                ParameterValue(
                    type=ParameterType.PARAMETER_STRING_ARRAY, string_array_value=interfaces
                )
            ),
        )
        response.values = values
        asked.append(request.names)
        return response

    controllers = Controllers(graph.node, '/joint_trajectory_controller/joint_trajectory')
    robot = load_robot_model(ARM.read_text())
    robot = replace(robot, effort=np.full(len(robot), effort))
    assert not controllers.leads(robot)  # nobody is there
    graph.node.create_service(GetParameters, 'joint_trajectory_controller/get_parameters', answer)
    graph.until(
        lambda: graph.beside(lambda: controllers.leads(robot)) == leads and asked, 'the answer'
    )
    assert asked[0] == ['interpolate_from_desired_state', 'command_interfaces']


@pytest.mark.parametrize(
    'values, refused',
    [
        ([ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=True)], True),
        ([ParameterValue(type=ParameterType.PARAMETER_BOOL)], False),
        ([ParameterValue()], False),
        ([], False),
    ],
    ids=['blends', 'does not', 'simulated', 'older'],
)
def test_a_controller_that_starts_pieces_when_they_come_is_refused(values, refused):
    asked = []

    def call(question, patience):
        asked.append(question.names)
        return SimpleNamespace(values=values)

    client = SimpleNamespace(service_is_ready=lambda: True, call=call)
    beside = SimpleNamespace(create_client=lambda kind, service: client)
    controllers = Controllers(beside, 'arm_controller/joint_trajectory')
    error = ''
    try:
        controllers.check_stamps_count()
    except MotionError as raised:
        error = str(raised)
    assert ('allow_trajectory_replacement: false' in error) == refused
    assert asked == [['allow_trajectory_replacement']]
