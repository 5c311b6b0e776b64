"""What is read from a robot description, and what is refused."""

import mujoco_arm
import numpy as np
import pytest
from random_tree import tree_urdf
from scipy.spatial.transform import Rotation

from ros_inertial_id.dynamics.inertial_parameters import inertia_tensor
from ros_inertial_id.dynamics.robot_model import (
    gravity_from_mounting,
    load_robot_model,
    robot_from_options,
    RobotOptions,
    rounded_mounting,
    STANDARD_GRAVITY,
)
from ros_inertial_id.errors import ConfigError, RobotModelError

ARM3 = mujoco_arm.description('arm3')


def test_limits_are_read_and_absent_ones_are_nan():
    robot = load_robot_model(tree_urdf(('revolute', 'continuous')))
    assert (robot.lower[0], robot.upper[0], robot.velocity[0], robot.effort[0]) == (-2, 2, 3, 50)
    assert np.isnan(robot.lower[1]) and np.isnan(robot.upper[1])


def test_fixed_links_join_the_body_that_carries_them():
    payload = (
        '<link name="load"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>'
        '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>'
        '<joint name="grip" type="fixed"><parent link="link3"/><child link="load"/>'
        '<origin xyz="0.3 0 0.05"/></joint></robot>'
    )
    before = load_robot_model(ARM3)
    after = load_robot_model(ARM3.replace('</robot>', payload))
    point = np.array([0.4, 0.0, 0.05])
    expected = before.inertias[2].copy()
    expected[:4] += [2.0, *(2.0 * point)]
    added = 2.0 * ((point @ point) * np.eye(3) - np.outer(point, point))
    np.testing.assert_allclose(after.inertias[2][:4], expected[:4], rtol=1e-12)
    np.testing.assert_allclose(
        inertia_tensor(after.inertias[2]), inertia_tensor(before.inertias[2]) + added, atol=1e-12
    )
    np.testing.assert_array_equal(after.inertias[:2], before.inertias[:2])


def test_meshes_need_not_exist():
    mesh = '<visual><geometry><mesh filename="package://nowhere/a.dae"/></geometry></visual>'
    robot = load_robot_model(ARM3.replace('<link name="link1">', f'<link name="link1">{mesh}'))
    assert len(robot) == 3


def test_kinematics_decide_whether_robots_move_alike():
    def digest(text):
        return load_robot_model(text).kinematics_sha256()

    assert digest(ARM3) == digest(ARM3.replace('mass value="3.5"', 'mass value="9"'))
    assert digest(ARM3) == digest(ARM3.replace('xyz="0 0 0.4"', 'xyz="-0 0 0.4"'))
    assert digest(ARM3) != digest(ARM3.replace('xyz="0 0 0.4"', 'xyz="0 0 0.41"'))
    assert digest(ARM3) != digest(ARM3.replace('name="joint2"', 'name="elbow"'))


@pytest.mark.parametrize(
    'mounting, gravity',
    [
        ('upright', (0, 0, -9.81)),
        ('rpy 3.141592653589793 0 0', (0, 0, 9.81)),
        ('rpy 0 1.5707963267948966 0', (9.81, 0, 0)),
        ('gravity 1 -2 3', (1, -2, 3)),
        ('gravity, 1, -2, 3', (1, -2, 3)),
        ('rho_phi 3.141592653589793 0.7', (0, 0, -9.81)),
        ('rho_phi 1.5707963267948966 1.5707963267948966', (0, 9.81, 0)),
    ],
)
def test_mountings_in_words_give_gravity_in_the_base_frame(mounting, gravity):
    np.testing.assert_allclose(gravity_from_mounting(mounting), gravity, atol=1e-14)


def test_roll_pitch_yaw_turn_the_base_in_the_world():
    # The base stands in the world as URDF's rpy says: extrinsic x, y, z.
    base_in_world = Rotation.from_euler('xyz', [0.3, -0.5, 1.2])
    expected = base_in_world.inv().apply([0, 0, -STANDARD_GRAVITY])
    np.testing.assert_allclose(gravity_from_mounting('rpy 0.3 -0.5 1.2'), expected, atol=1e-14)


def test_an_imu_gives_the_direction_and_not_the_magnitude():
    found = gravity_from_mounting('imu', np.array([0.0, 5.0, -5.0]))
    np.testing.assert_allclose(found, STANDARD_GRAVITY * np.array([0, 1, -1]) / np.sqrt(2))


@pytest.mark.parametrize(
    'mounting', ['sideways', 'rpy 1 2', 'gravity 0 0 x', 'rho_phi 1 nan', 'upright 3', '']
)
def test_mountings_that_mean_nothing_are_refused_with_those_that_do(mounting):
    with pytest.raises(ConfigError, match='mounting.*there is: upright, rpy R P Y'):
        gravity_from_mounting(mounting)


@pytest.mark.parametrize(
    'mounting, gravity',
    [
        ('rpy 3.1416 0 0', (0, 0, 9.81)),
        ('rpy 0 1.5708 0', (9.81, 0, 0)),
        ('rpy 1.5708 0 -3.14159', (0, -9.81, 0)),
        ('rho_phi 1.5708 3.1416', (-9.81, 0, 0)),
    ],
)
def test_a_rounded_right_angle_is_a_right_angle_and_that_is_said(mounting, gravity):
    found = gravity_from_mounting(mounting)
    np.testing.assert_allclose(found, gravity, atol=1e-14)  # 7e-5 m/s^2 would be a tilt
    assert rounded_mounting(mounting).endswith(' degrees') and '.' not in rounded_mounting(
        mounting
    )


@pytest.mark.parametrize(
    'mounting',
    [
        'rpy 3.1418 0 0',
        'rpy 0.0002 0 0',
        'rpy 0 0 0',
        'upright',
        '',
        'gravity 0 0 -9.81',
        f'rpy {np.pi} 0 0',
    ],
)
def test_a_tilt_is_no_rounded_angle(mounting):
    assert rounded_mounting(mounting) == ''


def test_a_base_imu_must_have_been_recorded():
    with pytest.raises(ConfigError, match='mounting imu needs an IMU'):
        gravity_from_mounting('imu')


@pytest.mark.parametrize(
    'urdf, words',
    [
        ('hello', "not a URDF.*found 'hello'"),
        ('<robot name="x"><link name="a">', 'the URDF cannot be read'),
        ('<robot name="x"><link name="a"/></robot>', 'no moving joint'),
        (
            tree_urdf(('revolute', 'floating')),
            'this base moves.*\'j1\', which is floating.*floating_base.*--lock "j1"',
        ),
        (tree_urdf(('planar',)), 'this base moves.*which is planar'),
    ],
)
def test_descriptions_that_cannot_be_used_are_refused(urdf, words):
    with pytest.raises(RobotModelError, match=words):
        load_robot_model(urdf)


def test_a_floating_base_may_be_locked():
    robot = load_robot_model(tree_urdf(('floating', 'revolute')), locked={'j0': 0.0})
    assert robot.joint_names == ('j1',)


TURN = '<robot name="x" version="1.1"><link name="a"/><link name="b"/><joint name="j" type="{}"> \
<parent link="a"/><child link="b"/><origin {}/><axis xyz="{}"/><limit lower="{}" upper="1" \
effort="inf" velocity="+Infinity"/></joint></robot>'


@pytest.mark.parametrize(
    'origin, axis, lower, words',
    [
        ('rpy="0 0 0" quat_xyzw="0 0 0 1"', '0 0 1', '-1', 'by rpy and by quat_xyzw'),
        ('quat_xyzw="0 0 1"', '0 0 1', '-1', 'expected 4 numbers'),
        ('quat_xyzw="0 0 0 0"', '0 0 1', '-1', 'a quaternion'),
        ('', '100', '-1', 'axis; expected 3 numbers'),
        ('', '0 0 1', 'nan', 'limit lower'),
    ],
)
def test_joints_that_cannot_be_read_are_named(origin, axis, lower, words):
    with pytest.raises(RobotModelError, match=f"joint 'j' .*{words}"):
        load_robot_model(TURN.format('revolute', origin, axis, lower))


@pytest.mark.parametrize('kind', ['revolute', 'continuous', 'prismatic'])
def test_unbounded_joints_have_no_limits_and_fixed_ones_no_axis(kind):
    held = (
        '<link name="w"/><joint name="f" type="fixed"><parent link="w"/><child link="a"/>'
        '<axis xyz="100"/></joint></robot>'
    )
    text = TURN.format(kind, 'quat_xyzw="0 0 2 0" xyz="1 0 0"', '1 0 0', '-Inf')
    robot = load_robot_model(text.replace('</robot>', held))
    assert np.isnan([robot.lower[0], robot.velocity[0], robot.effort[0]]).all()
    np.testing.assert_allclose(robot.rotations[0], np.diag([-1.0, -1.0, 1.0]), atol=1e-12)


def test_a_joint_that_does_not_exist_is_named_with_those_that_do():
    with pytest.raises(
        RobotModelError,
        match="'joint9' is not a moving joint of robot 'arm3'; there is: joint1, joint2, joint3",
    ):
        load_robot_model(ARM3, ('joint1', 'joint9'))


def test_joints_neither_measured_nor_locked_are_named():
    with pytest.raises(
        RobotModelError, match='neither measured nor locked; found joint2; .*locked_joints:'
    ):
        load_robot_model(ARM3, ('joint1', 'joint3'))


def test_locked_positions_come_one_each():
    options = RobotOptions(locked_joints=('joint2', 'joint3'), locked_positions=(0.1,))
    with pytest.raises(ConfigError, match='locked_positions; expected 2 values.*found 1'):
        robot_from_options(ARM3, options, mujoco_arm.UPRIGHT)


@pytest.mark.parametrize(
    'locked, positions, expected',
    [
        (('joint3', 'joint*'), (-0.2, 0.4), {'joint2': 0.4, 'joint3': -0.2}),
        (('joint*',), (0.4, -0.2), {'joint2': 0.4, 'joint3': -0.2}),
        (('joint?',), (0.3,), {'joint2': 0.3, 'joint3': 0.3}),
        (('joint*',), (), {'joint2': 0.0, 'joint3': 0.0}),
    ],
)
def test_patterns_lock_what_is_not_named_and_take_positions(locked, positions, expected):
    options = RobotOptions(('*1',), locked, positions)
    by_name = load_robot_model(ARM3, ('joint1',), locked=expected)
    by_pattern = robot_from_options(ARM3, options, mujoco_arm.UPRIGHT)
    np.testing.assert_allclose(by_pattern.inertias, by_name.inertias, atol=1e-15)


def test_a_pattern_that_locks_all_joints_is_refused_with_their_names():
    options = RobotOptions(locked_joints=('joint*',))
    with pytest.raises(RobotModelError, match='locked; .*found locked_joints: joint1, joint2, j'):
        robot_from_options(ARM3, options, mujoco_arm.UPRIGHT)


def test_a_pattern_that_names_no_joint_locks_none():
    whole = robot_from_options(ARM3, RobotOptions(locked_joints=('*finger*',)), mujoco_arm.UPRIGHT)
    assert whole.joint_names == load_robot_model(ARM3).joint_names
    with pytest.raises(RobotModelError, match="joint 'finger' is not a moving joint"):
        load_robot_model(ARM3, locked={'finger': 0.0})
