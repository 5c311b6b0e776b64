"""
The profiles of the package name what robot drivers publish and follow.

Read from the drivers' sources (jazzy; of lbr_fri_ros2_stack 2.1).  franka: franka_bringup
(franka.launch.py), franka_fr3_moveit_config (moveit.launch.py, fr3_ros_controllers.yaml),
franka_gripper.  ur: ur_robot_driver (ur_control.launch.py, ur_controllers.yaml).  lbr:
lbr_ros2_control (lbr_controllers.yaml, system_interface.cpp), lbr_system_config.yaml; the sign of
its efforts: issue 249.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.nodes.parameters import load_driver
from ros_inertial_id.share import config_file


@dataclass(frozen=True)
class Driver:
    """
    What one driver does.

    controller : that moves the arm; joint_states : topic of those with effort; namespace
    effort : what its efforts are; held : joints of its description that no motor of the arm moves
    """

    controller: str
    joint_states: str = 'joint_states'
    namespace: str = ''
    effort: str = 'link'
    held: tuple[str, ...] = ()


FINGERS = ('fr3_finger_joint1', 'fr3_finger_joint2')
DRIVERS = {
    'franka': Driver('fr3_arm_controller', 'franka/joint_states'),
    'franka_hand': Driver('fr3_arm_controller', 'franka/joint_states', held=FINGERS),
    'ur': Driver('scaled_joint_trajectory_controller', effort='current'),
    'lbr': Driver('joint_trajectory_controller', namespace='lbr', effort='link_negated'),
}


@pytest.mark.parametrize('name', DRIVERS)
def test_topics_and_controller_of_a_profile_are_those_of_the_driver(name):
    expected, path = DRIVERS[name], Path(__file__).parents[2] / 'config' / f'{name}.yaml'
    assert config_file(name) == str(path)
    driver = load_driver(path)
    assert (driver.namespace, driver.joint_states) == (expected.namespace, expected.joint_states)
    assert driver.controller == f'{expected.controller}/joint_trajectory'
    options = load_options(str(path), 'serial_arm')[1]
    assert options.effort_kind == expected.effort
    assert options.locked_joints == expected.held
