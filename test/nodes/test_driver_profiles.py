"""The simulated drivers publish under the names that the profiles of the package expect."""

import pytest

rclpy = pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")
pytest.importorskip('mujoco', reason='the simulated arm needs mujoco')

from driver_profiles import FINGERS, PROFILES  # noqa: E402
from live_graph import LATCHED, ROOT  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from ros_inertial_id.identification.settings import load_options  # noqa: E402
from ros_inertial_id.nodes.launching import load_driver  # noqa: E402
from ros_inertial_id.share import config_file  # noqa: E402


@pytest.mark.parametrize('name', PROFILES)
def test_topics_and_controller_of_a_profile_are_those_of_the_driver(name):
    profile, path = PROFILES[name], ROOT / 'config' / f'{name}.yaml'
    assert config_file(name) == str(path)
    driver = load_driver(path)
    assert (driver.namespace, driver.joint_states) == (profile.namespace, profile.joint_states)
    assert driver.controller == f'{profile.controller}/joint_trajectory'
    assert profile.controllers[profile.controller] == 'active'
    options = load_options(str(path), 'serial_arm')[1]
    link = 'link_negated' if profile.negated else 'link'
    assert options.effort_kind == ('current' if profile.current else link)
    assert options.locked_joints == (FINGERS if profile.fingers else ())


def test_a_franka_with_hand_publishes_a_slow_copy_with_fingers(graph):
    profile = PROFILES['franka_hand']
    graph.run('simulated_driver.py', 'franka_hand', ROOT / 'urdf' / 'franka.urdf')
    fast = graph.listen(JointState, '/franka/joint_states')
    slow = graph.listen(JointState, '/joint_states')
    descriptions = graph.listen(String, '/robot_description', LATCHED)
    graph.until(lambda: len(slow) > 2 and descriptions, 'both')
    assert tuple(fast[-1].name) == profile.published
    assert tuple(slow[-1].name) == (*profile.published, *FINGERS)
    assert all(f'name="{joint}" type="prismatic"' in descriptions[-1].data for joint in FINGERS)
    graph.until(lambda: graph.node.count_subscribers('/fr3_arm_controller/joint_trajectory'),
                'the controller')
