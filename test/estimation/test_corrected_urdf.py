"""The corrected URDF is the given one with other numbers, and moves like the identified model."""

from dataclasses import replace
import difflib
import re

import mujoco
import mujoco_arm
import numpy as np
import pinocchio as pin
import pytest

from ros_inertial_id.dynamics.friction import friction_parameters
from ros_inertial_id.dynamics.inertial_parameters import body_parameters, pseudo_inertia
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import EstimationError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.model.corrected_urdf import corrected_urdf
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.joints.kinematic_state import JointSpaceState
from ros_inertial_id.methods import METHODS

serial_arm = METHODS['serial_arm']

MERGED = """<?xml version='1.0'?>
<!-- a comment with a > in it -->
<robot name="merged">
  <link name="base"/>
  <link name='arm'> <!-- kept -->
    <inertial>
      <mass   value = "2.0" /><origin rpy="0.3 -0.2 0.1" xyz="0.1 0 0.05"/>
      <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.025"/>
    </inertial>
  </link>
  <link name="bracket"/>
  <link name="tool"><inertial><mass value="0.5"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <link name="camera"><inertial><origin xyz="0 0 0.02"/><mass value="0.2"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/>
    <origin xyz="0 0 0.2"/><axis xyz="0 1 0"/><dynamics damping="0.1"/>
    <limit lower="-3" upper="3" effort="10" velocity="2"/></joint>
  <joint name="hold" type="fixed"><parent link="arm"/><child link="bracket"/>
    <origin xyz="0.3 0 0" rpy="0 0.4 0"/></joint>
  <joint name="mount" type="fixed"><parent link="bracket"/><child link="tool"/>
    <origin xyz="0.1 0 0" rpy="0.5 0 0.7"/></joint>
  <joint name="look" type="fixed"><parent link="arm"/><child link="camera"/>
    <origin xyz="0.1 0.1 0" rpy="1.5 0 0"/></joint>
</robot>
"""


def parameters_of(robot):
    """Return the Parameters of a robot's bodies."""
    return [
        p
        for i, link in enumerate(robot.link_names)
        for p in body_parameters(i + 1, link, robot.inertias[i], robot.reach())
    ]


def other_bodies(robot, seed=0):
    """Return standard parameters (10 n,) of other bodies that can exist."""
    rng, out = np.random.default_rng(seed), []
    for pi in robot.inertias:
        stretch = np.eye(4) + 0.3 * rng.uniform(-1, 1, (4, 4))
        P = stretch @ pseudo_inertia(pi) @ stretch.T
        inertia = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
        centre = P[:3, 3] / P[3, 3]
        central = pin.Inertia(
            P[3, 3],
            centre,
            inertia - P[3, 3] * (centre @ centre * np.eye(3) - np.outer(centre, centre)),
        )
        out.append(central.toDynamicParameters())
    return np.concatenate(out)


TURNED = re.sub(r'rpy="0.3 -0.2 0.1"', 'quat_xyzw="0 1.4 0 1.4"', MERGED)
TURNED = TURNED.replace('rpy="0.5 0 0.7"', 'quat_xyzw="0.5 0.5 -0.5 0.5"')


@pytest.mark.parametrize(
    'urdf',
    [
        mujoco_arm.description('franka'),
        mujoco_arm.description('arm3'),
        MERGED,
        TURNED,
        *(
            TURNED.replace('name="merged"', f'name="m" version="{v}"')
            for v in ('1.0', '1.1', '1.2')
        ),
    ],
    ids=('franka', 'arm3', 'merged', 'no version', '1.0', '1.1', '1.2'),
)
def test_torques_are_those_of_the_parameters(urdf):
    robot = load_robot_model(urdf)
    values = other_bodies(robot)
    model = pin.buildModelFromXML(corrected_urdf(robot, parameters_of(robot), values))
    data, rng = model.createData(), np.random.default_rng(1)
    for _ in range(20):
        q, v, a = rng.uniform(-2, 2, (3, len(robot)))
        W = pin.computeJointTorqueRegressor(robot.pin_model, robot.pin_model.createData(), q, v, a)
        np.testing.assert_allclose(pin.rnea(model, data, q, v, a), W @ values, atol=1e-8)


def test_an_identified_urdf_reproduces_the_model_s_torques():
    urdf = mujoco_arm.description('franka')
    names = mujoco_arm.joints_of(urdf)
    t, q, v, a = mujoco_arm.motion(7, 15, 100, speed=0.8)
    tau = mujoco_arm.torque(mujoco_arm.true_urdf(urdf, 1), q, v, a)
    tau += mujoco_arm.friction(v, 0.5, 0.6, 0.02) + 0.1 * np.random.default_rng(0).normal(
        size=v.shape
    )
    options = replace(
        options_class('serial_arm')(),
        consistent=True,
        friction=('viscous', 'coulomb', 'armature', 'offset'),
    )
    model = identify([mujoco_arm.recording(names, t, q, v, tau)], options, urdf=urdf).model
    robot = load_robot_model(urdf)
    text = corrected_urdf(robot, model.parameters, model.values, model.validity_range)
    again = pin.buildModelFromXML(text)
    data, friction = again.createData(), {}
    for parameter, value in zip(model.parameters, model.values):
        friction[parameter.law, parameter.owner] = value, parameter.nonlinear
    rest = np.zeros_like(q)
    for j, name in enumerate(names):
        value, width = friction['coulomb', name]
        step = np.tanh(v[:, j] / width) if width else np.sign(v[:, j])
        rest[:, j] = (
            value * step
            + friction['viscous', name][0] * v[:, j]
            + friction['armature', name][0] * a[:, j]
            + friction['offset', name][0]
        )
    state = JointSpaceState(t, 0, q, v, a, tau, tau)
    low = 0
    for block in serial_arm.regress(state, robot, model.parameters):
        predicted = np.stack(list(model.predict(block).values()), axis=1)
        part = slice(low, low + len(predicted))
        rigid = [pin.rnea(again, data, *x) for x in zip(q[part], v[part], a[part])]
        np.testing.assert_allclose(predicted, rigid + rest[part], atol=1e-8)
        low += len(predicted)


def test_only_numbers_of_inertials_change():
    robot = load_robot_model(MERGED)
    text = corrected_urdf(robot, parameters_of(robot), other_bodies(robot))
    number = r'[-+]?\d[\d.]*(?:e[-+]?\d+)?'

    def bare(urdf):
        urdf = re.sub(r' xyz="[^"]*"(?=/><mass)', '', urdf)
        return re.sub(number, '#', re.sub(r'<origin xyz="[^"]*"/>', '', urdf))

    def joints(urdf):
        return urdf[urdf.index('<joint') :]

    assert joints(text) == joints(MERGED)
    assert '<!-- a comment with a > in it -->' in text
    assert "<link name='arm'> <!-- kept -->" in text
    assert '<mass   value = "' in text and 'rpy="0.3 -0.2 0.1"' in text
    changed = [
        line
        for line in difflib.ndiff(MERGED.splitlines(), text.splitlines())
        if line.startswith('- ')
    ]
    assert changed and all('mass' in c or 'inertia' in c or 'origin' in c for c in changed)


def test_merged_links_stay_bodies_and_massless_ones_stay_bare():
    robot = load_robot_model(MERGED)
    text = corrected_urdf(robot, parameters_of(robot), other_bodies(robot))
    model = pin.buildModelFromXML(text.replace('type="fixed"', 'type="continuous"'))
    masses = {name: i.mass for name, i in zip(model.names, model.inertias)}
    assert min(masses[n] for n in ('turn', 'mount', 'look')) > 0.0
    assert masses['hold'] == 0.0 and '<link name="bracket"/>' in text
    for inertia in model.inertias[1:]:
        if inertia.mass:
            pi = inertia.toDynamicParameters()
            assert np.linalg.eigvalsh(pseudo_inertia(pi))[0] > 0.0


def test_a_link_without_inertial_gets_one():
    urdf = MERGED
    for link in ('arm', 'tool', 'camera'):
        urdf = re.sub(
            rf"(<link name=['\"]{link}['\"]>.*?)<inertial>.*?</inertial>",
            r'\1',
            urdf,
            count=1,
            flags=re.DOTALL,
        )
    robot = load_robot_model(urdf)
    values = np.array([1.0, 0.1, 0, 0, 0.02, 0, 0.03, 0, 0, 0.02])
    again = load_robot_model(corrected_urdf(robot, parameters_of(robot), values))
    np.testing.assert_allclose(again.inertias[0], values, atol=1e-15)


def test_impossible_bodies_are_refused():
    robot = load_robot_model(MERGED)
    values = robot.inertias.ravel().copy()
    values[4] = -1.0
    with pytest.raises(EstimationError, match='no body has the parameters of arm.*--consistent'):
        corrected_urdf(robot, parameters_of(robot), values)


def test_friction_is_written_where_the_urdf_has_it():
    robot = load_robot_model(MERGED)
    laws = friction_parameters(
        1, 'turn', ('viscous', 'coulomb', 'offset'), 10.0, {'coulomb': (0.01,)}
    )
    parameters = parameters_of(robot) + laws
    text = corrected_urdf(robot, parameters, np.r_[robot.inertias.ravel(), 0.7, 0.3, 5.0])
    assert '<dynamics damping="0.7"/>' in text  # it has no friction attribute


@pytest.mark.skipif(not mujoco_arm.DATA.is_dir(), reason='shared/data is not here')
def test_a_repeated_part_that_mujoco_refuses_is_put_aside():
    urdf = (mujoco_arm.DATA / 'kuka_lwr4' / 'kuka_lwr4.urdf').read_text()
    robot = load_robot_model(urdf)
    text = corrected_urdf(robot, parameters_of(robot), other_bodies(robot))
    assert mujoco.MjModel.from_xml_string(text).nv == 7
    assert load_robot_model(text).kinematics_sha256() == robot.kinematics_sha256()
