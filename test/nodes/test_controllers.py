"""What a controller_manager says of its controllers goes before what the graph shows."""

import pytest

rclpy = pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")

from ros_inertial_id.nodes.controller_state import Controllers, inactive  # noqa: E402

SCALED, PLAIN = 'scaled_joint_trajectory_controller', 'joint_trajectory_controller'
UR = {'joint_state_broadcaster': ('active', 'joint_state_broadcaster/JointStateBroadcaster'),
      SCALED: ('active', 'ur_controllers/ScaledJointTrajectoryController'),
      PLAIN: ('inactive', 'joint_trajectory_controller/JointTrajectoryController')}


def test_an_inactive_controller_is_refused_with_the_active_one_and_both_ways_out():
    assert str(inactive(PLAIN, UR)) == (
        f'controller {PLAIN} does not move the arm; expected active; found inactive; there is: '
        f'{SCALED} (active); set controller: to {SCALED}/joint_trajectory, or ros2 control '
        f'switch_controllers --deactivate {SCALED} --activate {PLAIN}')


def test_without_another_one_it_is_to_be_activated():
    alone = {PLAIN: UR[PLAIN], 'joint_state_broadcaster': UR['joint_state_broadcaster']}
    assert str(inactive(PLAIN, alone)).endswith(
        f'found inactive; ros2 control switch_controllers --activate {PLAIN}')


@pytest.mark.parametrize('name', [SCALED, 'of_another_program'])
def test_nothing_is_said_of_an_active_one_or_of_one_that_is_not_listed(name):
    assert inactive(name, UR) is None


def test_without_a_controller_manager_nothing_is_refused(graph):
    controllers = Controllers(graph.node, 'joint_trajectory_controller/joint_trajectory')
    graph.spin(0.2)
    controllers.refuse()
