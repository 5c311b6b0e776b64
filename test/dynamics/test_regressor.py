"""The rows of a tree against pinocchio's rnea, MuJoCo, and Newton and Euler by hand."""

from dataclasses import replace
import re

import mujoco_arm
import numpy as np
import pinocchio as pin
import pytest
from random_tree import BRANCHES, KINDS, tree_urdf
from scipy.spatial.transform import Rotation

from ros_inertial_id.dynamics.body_motion import rotation_about
from ros_inertial_id.dynamics.friction import friction_column
from ros_inertial_id.dynamics.regressor import BLOCK, body_rows, nominal_torques, tree_rows
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.measurement.joints.kinematic_state import JointSpaceState
from ros_inertial_id.methods import METHODS

serial_arm = METHODS['serial_arm']

TILTED = (3.0, -4.0, -7.0)
EXACT = 1e-10  # relative: some hundred roundings of products of order ten (issue 2)


def torques(robot, q, v, a):
    """Return joint torques (N, n) of the nominal parameters by our rows."""
    rows = tree_rows(robot, q, v, a)
    return np.stack([W.T @ robot.inertias[list(robot.subtree(j))].ravel()
                     for j, W in enumerate(rows)], axis=1)


def rnea(robot, q, v, a):
    """Return joint torques (N, n) by pinocchio."""
    model, data = robot.pin_model, robot.pin_model.createData()
    return np.array([pin.rnea(model, data, robot.pin_q(x), y, z) for x, y, z in zip(q, v, a)])


def assert_same(ours, theirs):
    """Assert equality relative to the largest torque."""
    assert np.abs(ours - theirs).max() <= EXACT * np.abs(theirs).max()


def random_motion(robot, count=50, seed=0):
    """Return q, v, a (count, n)."""
    return 2.0 * np.random.default_rng(seed).normal(size=(3, count, len(robot)))


@pytest.mark.parametrize('gravity', [mujoco_arm.UPRIGHT, TILTED])
@pytest.mark.parametrize('kinds', KINDS.values(), ids=KINDS)
def test_rows_of_a_chain_are_rnea(kinds, gravity):
    robot = load_robot_model(tree_urdf(kinds), gravity_base=gravity)
    motion = random_motion(robot)
    assert_same(torques(robot, *motion), rnea(robot, *motion))


@pytest.mark.parametrize('axis', ['1 0 0', '0 -1 0', '0 0 1', '0 0 -1', '0.6 0 -0.8'])
def test_rows_are_rnea_whatever_the_axes(axis):
    urdf = re.sub('axis xyz="[^"]*"', f'axis xyz="{axis}"', tree_urdf(KINDS['mixed']))
    robot = load_robot_model(urdf, gravity_base=TILTED)
    motion = random_motion(robot)
    assert_same(torques(robot, *motion), rnea(robot, *motion))


@pytest.mark.parametrize('kind', ['revolute', 'prismatic', 'continuous'])
def test_rows_of_a_branched_tree_are_rnea(kind):
    kinds = tuple(kind if i % 2 else 'revolute' for i in range(len(BRANCHES)))
    robot = load_robot_model(tree_urdf(kinds, BRANCHES), gravity_base=TILTED)
    motion = random_motion(robot)
    assert_same(torques(robot, *motion), rnea(robot, *motion))


@pytest.mark.parametrize('name', ['arm2', 'arm3', 'franka'])
def test_rows_of_our_arms_are_mujocos_inverse_dynamics(name):
    urdf = mujoco_arm.description(name)
    robot = load_robot_model(urdf, gravity_base=TILTED)
    motion = random_motion(robot, 20)
    theirs = mujoco_arm.torque(urdf, *motion, gravity=TILTED)
    # MuJoCo's reader turns inertias into principal axes: 1e-9 of their size is lost there.
    np.testing.assert_allclose(torques(robot, *motion), theirs, atol=1e-7 * np.abs(theirs).max())


@pytest.mark.parametrize('path', ['kuka_lwr4/kuka_lwr4.urdf', 'panda/panda.urdf'])
def test_rows_of_real_descriptions_are_rnea(shared_data, path):
    robot = load_robot_model((shared_data / path).read_text())
    motion = random_motion(robot)
    assert_same(torques(robot, *motion), rnea(robot, *motion))


def test_locked_joints_are_joints_of_the_whole_robot_that_stand_still():
    urdf = tree_urdf(KINDS['mixed'], seed=3)
    whole = load_robot_model(urdf, gravity_base=TILTED)
    held = {'j1': 0.3, 'j2': -0.8}
    robot = load_robot_model(urdf, ('j0', 'j3', 'j4'), gravity_base=TILTED, locked=held)
    motion = random_motion(robot)
    place = [whole.joint_names.index(j) for j in robot.joint_names]
    full = np.zeros((3, len(motion[0]), len(whole)))
    full[:, :, place] = motion
    for joint, value in held.items():
        full[0, :, whole.joint_names.index(joint)] = value
    assert_same(torques(robot, *motion), rnea(whole, *full)[:, place])


def test_body_rows_are_newton_and_euler_about_the_centre_of_mass():
    rng = np.random.default_rng(0)
    mass, c = 1.7, rng.normal(size=3)
    half = rng.normal(size=(3, 3))
    central = half @ half.T
    acc, alpha, omega, u, w = rng.normal(size=(5, 3))
    force = mass * (acc + np.cross(alpha, c) + np.cross(omega, np.cross(omega, c)))
    torque = central @ alpha + np.cross(omega, central @ omega) + np.cross(c, force)
    inertia = central + mass * ((c @ c) * np.eye(3) - np.outer(c, c))
    pi = [mass, *(mass * c), *inertia[(0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)]]
    row = body_rows(*(x[:, None] for x in (u, w, acc, alpha, omega)))
    assert pi @ row[:, 0] == pytest.approx(u @ force + w @ torque, rel=1e-12)


@pytest.mark.parametrize('kind', KINDS)
def test_torques_of_bodies_are_those_of_rnea_under_the_gravity_of_the_robot(kind):
    urdf = tree_urdf(KINDS[kind])
    upright, tilted = load_robot_model(urdf), load_robot_model(urdf, gravity_base=TILTED)
    motion = random_motion(upright, BLOCK + 3)
    turned = replace(upright, gravity_base=tilted.gravity_base)
    assert_same(nominal_torques(turned, *motion), rnea(tilted, *motion))


def test_rotations_are_those_of_scipy():
    axis = np.array([0.36, -0.48, 0.8])
    q = np.linspace(-7, 7, 9)
    theirs = Rotation.from_rotvec(q[:, None] * axis).as_matrix()
    np.testing.assert_allclose(rotation_about(axis, q), np.moveaxis(theirs, 0, -1), atol=1e-14)


def test_regress_adds_each_joints_friction_to_its_own_rows():
    robot = load_robot_model(mujoco_arm.description('arm3'))
    options = serial_arm.Options(friction=('viscous', 'coulomb', 'offset'), coulomb_width=0.05)
    parameters = serial_arm.parameters(robot, options)
    q, v, a = random_motion(robot, 2 * BLOCK + 5)
    tau = rnea(robot, q, v, a)
    values = np.array([p.nominal for p in parameters])
    coefficients = {'viscous': 0.7, 'coulomb': 0.4, 'offset': -0.2}
    for k, p in enumerate(parameters):
        if p.law:
            values[k] = coefficients[p.law]
            j = robot.joint_names.index(p.owner)
            tau[:, j] += values[k] * friction_column(p, q[:, j], v[:, j], a[:, j])
    state = JointSpaceState(np.arange(len(q)) * 1.0, 3, q, v, a, tau, tau + 1.0)
    blocks = list(serial_arm.regress(state, robot, parameters))
    assert [len(b.t) for b in blocks] == [BLOCK, BLOCK, 5]
    for b, low in zip(blocks, (0, BLOCK, 2 * BLOCK)):
        assert b.segment == 3
        for j, g in enumerate(b.groups):
            part = slice(low, low + len(b.t))
            assert g.name == robot.joint_names[j]
            assert_same(g.W @ values[g.columns], tau[part, j])
            np.testing.assert_array_equal(g.y, tau[part, j])
            np.testing.assert_array_equal(g.y_raw, tau[part, j] + 1.0)
    chosen = blocks[0].rows(np.array([4, 2]))
    np.testing.assert_array_equal(chosen.t, [4.0, 2.0])
    np.testing.assert_array_equal(chosen.groups[1].W, blocks[0].groups[1].W[[4, 2]])


def test_wanted_columns_are_those_of_all_rows():
    robot = load_robot_model(tree_urdf(('revolute',) * len(BRANCHES), BRANCHES))
    parameters = serial_arm.parameters(robot, serial_arm.Options())
    state = serial_arm.random_state(robot, 9, np.random.default_rng(0))
    wanted = np.random.default_rng(1).random(len(parameters)) < 0.4
    whole, = serial_arm.regress(state, robot, parameters)
    block, = serial_arm.regress_wanted(state, robot, parameters, wanted)
    for every, some in zip(whole.groups, block.groups):
        chosen = wanted[every.columns]
        np.testing.assert_array_equal(some.columns, every.columns[chosen])
        # The kernel of BLAS may differ with the size of a product.
        np.testing.assert_allclose(some.W, every.W[:, chosen], rtol=1e-12, atol=1e-12)


def test_a_slider_measures_force_and_a_hinge_torque():
    robot = load_robot_model(tree_urdf(('revolute', 'prismatic')))
    parameters = serial_arm.parameters(robot, serial_arm.Options())
    state = serial_arm.random_state(robot, 4, np.random.default_rng(0))
    block, = serial_arm.regress(state, robot, parameters)
    assert [g.unit for g in block.groups] == ['N m', 'N']


def test_a_base_that_is_accelerated_is_that_of_a_floating_base():
    urdf = mujoco_arm.description('franka')
    robot, rng = load_robot_model(urdf), np.random.default_rng(4)
    model = pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer())
    data, q = model.createData(), rng.uniform(-1.0, 1.0, (5, 7))
    field, none = rng.normal(size=6), np.zeros_like(q)
    ours = np.stack([W.T @ robot.inertias[list(robot.subtree(j))].ravel() for j, W in enumerate(
        tree_rows(robot, q, none, none, field))], axis=1)
    model.gravity.linear[:] = 0.0
    theirs = [pin.rnea(model, data, np.concatenate([np.zeros(6), [1.0], x]), np.zeros(13),
                       np.concatenate([-field, np.zeros(7)]))[6:].copy() for x in q]
    assert_same(ours, np.array(theirs))
