"""
What robot drivers publish and follow, read from their sources (jazzy; of lbr_fri_ros2_stack 2.1).

franka: franka_bringup/launch/franka.launch.py, franka_fr3_moveit_config (moveit.launch.py,
fr3_ros_controllers.yaml), franka_gripper.  ur: ur_robot_driver (ur_control.launch.py,
ur_controllers.yaml, ur5e_update_rate.yaml).  lbr: lbr_ros2_control (lbr_controllers.yaml,
system_interface.cpp), lbr_fri_ros2 (filters.cpp, interfaces/state.cpp), lbr_system_config.yaml;
the sign of its efforts: issue 249.
"""

from dataclasses import dataclass
import xml.etree.ElementTree as ET

FINGERS = ('fr3_finger_joint1', 'fr3_finger_joint2')


@dataclass(frozen=True)
class Profile:
    """
    One driver.

    joints : as the description has them; published : as the joint states have them
    rate : of the joint states with effort [Hz]
    controllers : {name: state} that controller_manager lists; controller : that moves the arm
    copy_rate : of joint_state_publisher's copy on joint_states [Hz], 0 where there is none
    current : [A/(N m)] of a driver that publishes motor currents, empty: effort is a torque
    cutoff : of the driver's own filter of efforts [Hz], 0: none; it then differentiates positions
    negated : whether efforts have the opposite sign, as those of KUKA's FRI
    """

    joints: tuple[str, ...]
    published: tuple[str, ...]
    rate: float
    controllers: dict[str, str]
    controller: str
    joint_states: str = 'joint_states'
    namespace: str = ''
    copy_rate: float = 0.0
    scaling: bool = False
    current: tuple[float, ...] = ()
    cutoff: float = 0.0
    negated: bool = False
    fingers: bool = False


FR3 = tuple(f'fr3_joint{k}' for k in range(1, 8))
LBR = tuple(f'lbr_A{k}' for k in range(1, 8))
UR = ('shoulder_pan_joint', 'shoulder_lift_joint', 'elbow_joint', 'wrist_1_joint',
      'wrist_2_joint', 'wrist_3_joint')
FRANKA = {
    'joints': FR3, 'published': FR3, 'rate': 1000.0, 'joint_states': 'franka/joint_states',
    'copy_rate': 30.0, 'controller': 'fr3_arm_controller',
    'controllers': {'joint_state_broadcaster': 'active', 'fr3_arm_controller': 'active',
                    'franka_robot_state_broadcaster': 'active'}}
PROFILES = {
    'franka': Profile(**FRANKA),
    'franka_hand': Profile(**FRANKA, fingers=True),
    'ur': Profile(
        UR, (*UR[1:], UR[0]), 500.0, scaling=True,
        controller='scaled_joint_trajectory_controller',
        controllers={**dict.fromkeys((
            'joint_state_broadcaster', 'io_and_status_controller',
            'speed_scaling_state_broadcaster', 'force_torque_sensor_broadcaster',
            'tcp_pose_broadcaster', 'ur_configuration_controller', 'gravity_update_controller',
            'friction_model_controller', 'scaled_joint_trajectory_controller'), 'active'),
            **dict.fromkeys((
                'joint_trajectory_controller', 'forward_velocity_controller',
                'forward_position_controller', 'forward_effort_controller',
                'force_mode_controller', 'passthrough_trajectory_controller',
                'freedrive_mode_controller', 'tool_contact_controller'), 'inactive')},
        current=(0.076, 0.076, 0.076, 0.1, 0.1, 0.1)),
    'lbr': Profile(
        LBR, LBR, 100.0, namespace='lbr', controller='joint_trajectory_controller', cutoff=10.0,
        negated=True,
        controllers=dict.fromkeys((
            'joint_state_broadcaster', 'force_torque_broadcaster', 'lbr_state_broadcaster',
            'joint_trajectory_controller'), 'active')),
}


def descriptions(urdf: str, profile: Profile) -> tuple[str, str]:
    """
    Return (published, simulated) URDF of an arm under the names of a driver.

    urdf : of any serial arm; movable joints beyond those of the profile become fixed
    The gripper's fingers move in the published one and are held in the simulated one.
    """
    robot = ET.fromstring(urdf)
    movable = [j for j in robot.iter('joint') if j.get('type') != 'fixed']
    for joint, name in zip(movable, profile.joints):
        joint.set('name', name)
    for joint in movable[len(profile.joints):]:
        _fix(joint)
    if not profile.fingers:
        return (ET.tostring(robot, encoding='unicode'),) * 2
    children = {j.find('parent').get('link') for j in robot.iter('joint')}
    tip = next(link.get('name') for link in robot.iter('link')
               if link.get('name') not in children)
    for name, side in zip(FINGERS, (1, -1)):
        robot.extend(ET.fromstring(_FINGER.format(name=name, side=side, tip=tip)))
    published = ET.tostring(robot, encoding='unicode')
    for joint in robot.iter('joint'):
        if joint.get('name') in FINGERS:
            _fix(joint)
    return published, ET.tostring(robot, encoding='unicode')


def _fix(joint):
    joint.set('type', 'fixed')
    for child in joint.findall('axis') + joint.findall('limit') + joint.findall('mimic'):
        joint.remove(child)


_FINGER = """<more>
<link name="{name}_link"><inertial><origin xyz="0 {side}e-2 2e-2"/><mass value="0.015"/>
<inertia ixx="2.4e-6" iyy="2.4e-6" izz="7.5e-7" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{name}" type="prismatic"><parent link="{tip}"/><child link="{name}_link"/>
<origin xyz="0 0 0.0584"/><axis xyz="0 {side} 0"/>
<limit lower="0.0" upper="0.04" effort="100" velocity="0.2"/></joint></more>"""
