"""The rows of a tree against pinocchio's rnea, MuJoCo, and Newton and Euler by hand."""

import mujoco_arm
import numpy as np
import pinocchio as pin
import pytest
from random_tree import BRANCHES, KINDS, tree_urdf

from ros_inertial_id.dynamics.friction import friction_column
from ros_inertial_id.dynamics.regressor import BLOCK, tree_rows
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.measurement.joints.kinematic_state import JointSpaceState
from ros_inertial_id.methods import METHODS

serial_arm = METHODS['serial_arm']

TILTED = (3.0, -4.0, -7.0)
EXACT = 1e-10  # relative: some hundred roundings of products of order ten (issue 2)


def torques(robot, q, v, a):
    """Return joint torques (N, n) of the nominal parameters by our rows."""
    rows = tree_rows(robot, q, v, a)
    return np.stack(
        [W.T @ robot.inertias[list(robot.subtree(j))].ravel() for j, W in enumerate(rows)], axis=1
    )


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
    sizes = [len(b.t) for b in blocks]
    assert sizes == [BLOCK, BLOCK + 5]
    for b, low in zip(blocks, (0, sizes[0])):
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


def test_a_slider_measures_force_and_a_hinge_torque():
    robot = load_robot_model(tree_urdf(('revolute', 'prismatic')))
    parameters = serial_arm.parameters(robot, serial_arm.Options())
    state = serial_arm.random_state(robot, 4, np.random.default_rng(0))
    (block,) = serial_arm.regress(state, robot, parameters)
    assert [g.unit for g in block.groups] == ['N m', 'N']


def test_a_base_that_is_accelerated_is_that_of_a_floating_base():
    urdf = mujoco_arm.description('franka')
    robot, rng = load_robot_model(urdf), np.random.default_rng(4)
    model = pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer())
    data, q = model.createData(), rng.uniform(-1.0, 1.0, (5, 7))
    field, none = rng.normal(size=6), np.zeros_like(q)
    ours = np.stack(
        [
            W.T @ robot.inertias[list(robot.subtree(j))].ravel()
            for j, W in enumerate(tree_rows(robot, q, none, none, field))
        ],
        axis=1,
    )
    model.gravity.linear[:] = 0.0
    theirs = [
        pin.rnea(
            model,
            data,
            np.concatenate([np.zeros(6), [1.0], x]),
            np.zeros(13),
            np.concatenate([-field, np.zeros(7)]),
        )[6:].copy()
        for x in q
    ]
    assert_same(ours, np.array(theirs))
