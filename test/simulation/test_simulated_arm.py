"""The simulated arm is the truth of all recovery tests: is it physics?"""

import math
import xml.etree.ElementTree as ET

from controlled_arm import simulate
import mujoco
from mujoco_arm import description
import numpy as np
import pytest

from ros_inertial_id.errors import ConfigError, RobotModelError
from ros_inertial_id.simulation.arm import ArmOptions, SimulatedArm
from ros_inertial_id.simulation.joint_path import rest_at

ARMS = ('arm2', 'arm3', 'franka')
AS_DESCRIBED = {'mass_change': 0.0, 'center_shift': 0.0, 'shape_change': 0.0, 'friction': 0.0}
TWO_LINKS = """<robot name="planar">
  <link name="base"/>
  <link name="one"><inertial><origin xyz="0.2 0.05 0" rpy="0 0 0.4"/><mass value="2"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial></link>
  <link name="two"><inertial><origin xyz="0.15 0 0" rpy="0 0 0"/><mass value="1"/>
    <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.012" iyz="0" izz="0.013"/></inertial></link>
  <joint name="a" type="continuous"><parent link="base"/><child link="one"/>
    <axis xyz="0 0 1"/><limit effort="100" velocity="10"/></joint>
  <joint name="b" type="continuous"><parent link="one"/><child link="two"/>
    <origin xyz="0.5 0 0"/><axis xyz="0 0 1"/><limit effort="100" velocity="10"/></joint>
</robot>"""


def sines(arm, seed=0):
    """Return a smooth random reference that uses the middle half of positions and speeds."""
    rng, n = np.random.default_rng(seed), len(arm.joint_names)
    lower, upper = (np.clip(x, -math.pi, math.pi) for x in (arm.limits.lower, arm.limits.upper))
    omega = 2 * math.pi * np.array([0.2, 0.5, 0.9])[:, None]  # [rad/s]
    phase, size = rng.uniform(0, 2 * math.pi, (3, n)), rng.uniform(0.3, 1, (3, n))
    size /= np.maximum(
        size.sum(0) / ((upper - lower) / 4), (size * omega).sum(0) / (arm.limits.velocity / 2)
    )

    def reference(times):
        angle = omega * np.asarray(times)[:, None, None] + phase
        return (
            (lower + upper) / 2 + (size * np.sin(angle)).sum(1),
            (size * omega * np.cos(angle)).sum(1),
            (-size * omega**2 * np.sin(angle)).sum(1),
        )

    return reference


def inertials(urdf):
    """Return {link: (mass, centre, inertia)} read straight from the text."""
    found = {}
    for link in ET.fromstring(urdf).findall('link'):
        if link.find('inertial') is not None:
            tensor = {k: float(v) for k, v in link.find('inertial/inertia').attrib.items()}
            found[link.get('name')] = (
                float(link.find('inertial/mass').get('value')),
                np.array(link.find('inertial/origin').get('xyz').split(), dtype=float),
                np.array([[tensor['i' + ''.join(sorted(r + c))] for c in 'xyz'] for r in 'xyz']),
            )
    return found


@pytest.mark.parametrize('name', ARMS)
@pytest.mark.parametrize('seed', [0, 1, 2])
def test_true_bodies_are_possible_near_the_description_and_different(name, seed):
    arm = SimulatedArm(description(name), options=ArmOptions(seed=seed))
    nominal = inertials(description(name))
    for link, (mass, center, inertia) in inertials(arm.true_urdf).items():
        principal = np.linalg.eigvalsh(inertia)
        # positive-definite pseudo-inertia: mass > 0 and the strict triangle inequality
        assert mass > 0 and principal[0] > 0 and principal[2] < principal[0] + principal[1]
        assert 0.75 * nominal[link][0] <= mass <= 1.25 * nominal[link][0]
        assert mass != nominal[link][0]
        assert 0 < np.linalg.norm(center - nominal[link][1]) < 0.06
        assert np.abs(inertia - nominal[link][2]).max() > 1e-3 * principal[2]


@pytest.mark.parametrize('name', ARMS)
def test_true_description_differs_in_inertials_only(name):
    def without_inertials(urdf):
        root = ET.fromstring(urdf)
        for part in root.iterfind('link/inertial/*'):
            for key in ('value', 'xyz', 'ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'):
                part.attrib.pop(key, None)
        return ET.canonicalize(ET.tostring(root, encoding='unicode'))

    arm = SimulatedArm(description(name))
    assert without_inertials(arm.true_urdf) == without_inertials(description(name))
    assert arm.true_urdf != description(name)


@pytest.mark.parametrize('name', ARMS)
def test_every_sample_satisfies_the_equation_of_motion(name):
    arm = SimulatedArm(
        description(name), gravity_base=(3.0, 0.0, -9.0), options=ArmOptions(armature=0.1)
    )
    motion = simulate(arm, sines(arm), 1.0)
    model = mujoco.MjModel.from_xml_string(arm.true_urdf)  # read again, without our reader
    model.opt.gravity[:] = 3.0, 0.0, -9.0
    model.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data, friction = mujoco.MjData(model), arm.true_friction
    for q, v, a, tau in zip(motion.q, motion.v, motion.a, motion.tau):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        mujoco.mj_inverse(model, data)
        expected = (
            data.qfrc_inverse
            + 0.1 * a
            + friction.viscous * v
            + friction.coulomb * np.tanh(100 * v)
        )
        assert tau == pytest.approx(expected, rel=1e-9, abs=1e-9)  # rounding


@pytest.mark.parametrize('name', ARMS)
def test_velocity_and_acceleration_are_the_derivatives_of_position(name):
    arm = SimulatedArm(description(name), options=ArmOptions(rate=1000.0))
    motion = simulate(arm, sines(arm), 1.5)
    settled = motion.time > 0.3  # the start on the reference excites modes of up to 700 1/s

    def derivative(x):  # central, order 6, error h^6/140 of the seventh derivative
        middle = slice(3, len(x) - 3)
        return middle, sum(
            weight * (np.roll(x, -k, axis=0) - np.roll(x, k, axis=0))
            for k, weight in ((1, 45), (2, -9), (3, 1))
        )[middle] * 1000 / 60

    for x, rate in (
        (motion.q[settled], motion.v[settled]),
        (motion.v[settled], motion.a[settled]),
    ):
        middle, slope = derivative(x)
        # a held torque or a lag of half a sample would leave 1e-3
        assert np.abs(slope - rate[middle]).max() < 1e-5 * np.abs(rate).max()


def test_torques_are_those_of_the_lagrangian_of_two_planar_links():
    g, (m1, m2), (c2, l1) = 9.81, (2.0, 1.0), (0.15, 0.5)
    center, (i1, i2) = np.array([0.2, 0.05]), (0.04, 0.013)
    arm = SimulatedArm(TWO_LINKS, options=ArmOptions(**AS_DESCRIBED), gravity_base=(0, -g, 0))
    motion = simulate(arm, sines(arm), 2.0)
    (q1, q2), (v1, v2), (a1, a2) = motion.q.T, motion.v.T, motion.a.T
    h = m2 * l1 * c2
    m12 = i2 + m2 * c2**2 + h * np.cos(q2)
    m11 = i1 + m1 * center @ center + m2 * l1**2 + m12 + h * np.cos(q2)
    weight2 = m2 * g * c2 * np.cos(q1 + q2)
    weight1 = (
        m1 * g * (center[0] * np.cos(q1) - center[1] * np.sin(q1))
        + m2 * g * l1 * np.cos(q1)
        + weight2
    )
    tau1 = m11 * a1 + m12 * a2 - h * np.sin(q2) * (2 * v1 * v2 + v2**2) + weight1
    tau2 = m12 * a1 + (i2 + m2 * c2**2) * a2 + h * np.sin(q2) * v1**2 + weight2
    assert motion.tau == pytest.approx(np.column_stack([tau1, tau2]), abs=1e-10)  # rounding


def test_franka_flange_is_where_the_published_dh_parameters_put_it():
    rows = (
        (0, 0, 0.333),
        (-np.pi / 2, 0, 0),
        (np.pi / 2, 0, 0.316),
        (np.pi / 2, 0.0825, 0),
        (-np.pi / 2, -0.0825, 0.384),
        (np.pi / 2, 0, 0),
        (np.pi / 2, 0.088, 0),
    )
    text = description('franka').replace(
        '<robot name="franka">',
        '<robot name="franka"><mujoco><compiler fusestatic="false"/></mujoco>',
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for q in np.random.default_rng(0).uniform(
        model.jnt_range[:, 0], model.jnt_range[:, 1], (10, 7)
    ):
        pose = np.eye(4)
        for (alpha, a, d), theta in zip((*rows, (0, 0, 0.107)), (*q, 0.0)):
            ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
            pose = pose @ np.array(
                [
                    [ct, -st, 0, a],
                    [st * ca, ct * ca, -sa, -sa * d],
                    [st * sa, ct * sa, ca, ca * d],
                    [0, 0, 0, 1],
                ]
            )
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        assert data.body('fr3_flange').xpos == pytest.approx(pose[:3, 3], abs=1e-12)
        assert data.body('fr3_flange').xmat == pytest.approx(pose[:3, :3].ravel(), abs=1e-12)


@pytest.mark.parametrize('name', ARMS)
def test_arm_strays_from_its_reference_by_milliradians(name):
    arm = SimulatedArm(description(name))
    reference = sines(arm)
    motion = simulate(arm, reference, 3.0)
    error = np.abs(motion.q - reference(motion.time)[0]).max()
    assert 1e-5 < error < 0.015  # a truth that is not the controller's model, but controlled


def test_noise_is_as_asked_and_the_seed_repeats_everything():
    options = ArmOptions(position_noise=1e-4, velocity_noise=2e-3, torque_noise=0.3)
    first, again = (SimulatedArm(description('arm3'), options=options) for _ in range(2))
    other = SimulatedArm(description('arm3'), options=ArmOptions(seed=1))
    motion, same = (simulate(arm, sines(arm), 2.0) for arm in (first, again))
    for measured, truth, standard_deviation in (
        (motion.measured_q, motion.q, 1e-4),
        (motion.measured_v, motion.v, 2e-3),
        (motion.measured_tau, motion.tau, 0.3),
    ):
        # 3000 numbers: standard error of a standard deviation 1.3 %
        assert np.std(measured - truth) == pytest.approx(standard_deviation, rel=0.06)
    assert np.array_equal(motion.measured_tau, same.measured_tau)
    assert first.true_urdf == again.true_urdf != other.true_urdf
    assert not np.array_equal(first.true_friction.coulomb, other.true_friction.coulomb)


def test_shapes_meshes_and_drive_entries_of_a_description_change_nothing():
    extra = TWO_LINKS.replace(
        '</robot>',
        """
      <link name="tool"><visual><geometry><mesh filename="package://none/x.stl"/></geometry>
      </visual><collision><geometry><box size="1 1 1"/></geometry></collision></link>
      <joint name="fix" type="fixed"><parent link="two"/><child link="tool"/></joint></robot>""",
    )
    extra = extra.replace('velocity="10"/>', 'velocity="10"/><dynamics damping="3" friction="2"/>')
    q, v, a = np.random.default_rng(0).normal(size=(3, 2))
    plain, loaded = (SimulatedArm(urdf).bodies.inverse(q, v, a) for urdf in (TWO_LINKS, extra))
    assert loaded == pytest.approx(plain, abs=1e-12)


@pytest.mark.parametrize(
    'change, message',
    [
        (('<robot name="planar">', '<robot name="planar"'), 'not XML'),
        (('<mass value="1"/>', ''), "link 'two'"),
        (('<mass value="1"/>', '<mass value="heavy"/>'), "link 'two'"),
        (('izz="0.013"', 'izz="0.13"'), "link 'two'"),
        ((' effort="100"', ''), "joint 'a'.*effort"),
        (('type="continuous"', 'type="fixed"'), 'no movable joint'),
        (
            (
                '<inertial><origin xyz="0.15 0 0" rpy="0 0 0"/><mass value="1"/>\n'
                '    <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.012" iyz="0" '
                'izz="0.013"/></inertial>',
                '',
            ),
            'MuJoCo cannot simulate',
        ),
    ],
)
def test_description_that_cannot_be_simulated_is_refused_by_name(change, message):
    assert change[0] in TWO_LINKS
    with pytest.raises(RobotModelError, match=message):
        SimulatedArm(TWO_LINKS.replace(*change))


def test_gravity_that_is_no_vector_is_refused():
    with pytest.raises(ConfigError, match='gravity_base.*three'):
        SimulatedArm(description('arm2'), gravity_base=(0, 1))


def test_arm_that_is_told_nothing_rests_at_home():
    arm = SimulatedArm(description('franka'), options=ArmOptions(**AS_DESCRIBED))
    sample = [arm.step() for _ in range(100)][-1]
    home = rest_at(sum((arm.limits.lower, arm.limits.upper)) / 2)([0.0])[0][0]
    assert sample.q == pytest.approx(home, abs=1e-9) and not sample.v.any()
