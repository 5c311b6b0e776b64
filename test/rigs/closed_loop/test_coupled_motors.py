"""Two motors that turn two joints together, by pinocchio's inverse dynamics of tree and rotors."""

from dataclasses import replace
import re

import mujoco_arm
import numpy as np
import pinocchio as pin
import pytest
from recordings import joint_states, of_rig
import slider_crank_lagrangian as crank
from tolerances import scores

from ros_inertial_id.errors import RobotModelError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.prepare.mounting import mounting_parameters, structural_base
from ros_inertial_id.identification.reduce.structure import structure_of
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.methods import METHODS

SPEEDS = np.array([[1.0, 1.0], [2.0, -1.5]])  # of the motors (rows) by the joints
LINK = (
    '<link name="{}"><inertial><mass value="{}"/><origin xyz="{} 0 0"/><inertia ixx="0.02" '
    'iyy="{}" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/><origin '
    'xyz="{} 0 0"/><axis xyz="0 1 0"/><limit effort="50" velocity="10"/></joint>'
)
URDF = (
    '<robot name="differential"><link name="base"/>'
    + LINK.format('upper', 3.0, 0.2, 0.04)
    + LINK.format('lower', 2.0, 0.15, 0.03)
    + LINK.format('left_rotor', 0.5, 0.0, 0.02)
    + LINK.format('right_rotor', 0.5, 0.0, 0.03)
    + JOINT.format('shoulder', 'base', 'upper', 0.0)
    + JOINT.format('elbow', 'upper', 'lower', 0.4)
    + JOINT.format('left', 'base', 'left_rotor', 0.0)
    + JOINT.format('right', 'base', 'right_rotor', 0.0)
    + '</robot>'
)
CLOSURES = ('coupling left shoulder 1 elbow 1', 'coupling right shoulder 2 elbow -1.5')
VISCOUS, COULOMB = np.array([0.4, 0.7]), np.array([1.2, 0.8])  # of the motors
ROTORS = np.array([0.02, 0.03])  # [kg m^2]
NAMES = 'shoulder', 'elbow'
TRUE = {
    'mcx1': 7.2e-3,
    'Izz1': 3.84e-4,
    'm2': 0.22,
    'mcx2': 0.0275,
    'Izz2': 0.22 * 0.0625 / 3,
    'm3': 0.25,
}  # of the slider-crank


def recording(turns=0.0, seed=1):
    """Return 20 s of both joints and motors; ``turns`` : a speed besides [rad/s]."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 20.0, 4e-3)
    w = 2.0 * np.pi * np.array([0.2, 0.5, 0.9])
    sizes, phase = rng.uniform(0.2, 0.6, (2, 3)), rng.uniform(0.0, 6.28, (2, 3))
    angle = t[:, None, None] * w + phase
    q = (sizes * np.sin(angle)).sum(-1) + np.outer(t, [turns, 0.0])
    v = (sizes * w * np.cos(angle)).sum(-1) + [turns, 0.0]
    a = -(sizes * w**2 * np.sin(angle)).sum(-1)
    model = pin.buildModelFromXML(URDF)
    data = model.createData()
    order = [model.joints[model.getJointId(n)] for n in (*NAMES, 'left', 'right')]
    torque = np.empty((len(t), 4))
    for k, (x, y, z) in enumerate(zip(*(np.hstack([s, s @ SPEEDS.T]) for s in (q, v, a)))):
        at, rate, second = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        for joint, angle, speed, change in zip(order, x, y, z):
            at[joint.idx_q : joint.idx_q + 2] = np.cos(angle), np.sin(angle)
            rate[joint.idx_v], second[joint.idx_v] = speed, change
        tau = pin.rnea(model, data, at, rate, second)
        torque[k] = [tau[joint.idx_v] for joint in order]
    speed = v @ SPEEDS.T
    motors = (
        torque[:, :2] @ np.linalg.inv(SPEEDS)
        + torque[:, 2:]
        + VISCOUS * speed
        + COULOMB * np.sign(speed)
        + 0.02 * rng.standard_normal((len(t), 2))
    )
    states = joint_states(
        (*NAMES, 'left', 'right'),
        t,
        position=np.hstack([q, q @ SPEEDS.T]) + 1e-5 * rng.standard_normal((len(t), 4)),
        effort=np.hstack([np.full_like(q, np.nan), motors]),
    )
    return of_rig(URDF, states, path='pinocchio')


def options(**changes):
    return options_class('closed_loop')(
        **{'closures': CLOSURES, 'independent': NAMES, 'actuated': ('left', 'right'), **changes}
    )


def without_rotors(urdf):
    """Return the URDF as most are drawn: what turns the joints is not in it."""
    return re.sub(r'<(link|joint) name="(left|right)(_rotor)?".*?</\1>', '', urdf)


def test_friction_of_coupled_motors_is_found():
    friction = ('left viscous coulomb', 'right viscous coulomb')
    model = identify([recording()], options(friction=friction), method='closed_loop').model
    found = {entry['name']: entry['value'] for entry in model.base}
    # Bodies are in the order of their names: the rotors first.
    for k, (viscous, coulomb) in enumerate(zip(VISCOUS, COULOMB), 1):
        assert found[f'fv{k}'] == pytest.approx(viscous, rel=0.03)
        assert found[f'fc{k}'] == pytest.approx(coulomb, rel=0.03)
    assert model.statistics['training']['raw']['relative_percent'] < 1.0


@pytest.mark.parametrize('encoders', [NAMES, ('left', 'right')])
def test_a_motor_that_only_its_coupling_describes_has_friction_and_rotor(encoders):
    law = 'viscous coulomb armature'
    own = options(friction=(f'left {law}', f'right {law}'), independent=encoders)
    made = recording()
    made = replace(made, robot_description=without_rotors(made.robot_description))
    model = identify([made], own, method='closed_loop').model
    truth = {
        'mcx1': 0.6,
        'mcx2': 0.3,
        'Iyy1': 0.04 + 3.0 * 0.2**2,
        'm2': 2.0,
        'mcz1': 0.0,
        'Iyy2': 0.03 + 2.0 * 0.15**2,
        'mcz2': 0.0,
    }
    for k, values in enumerate(zip(VISCOUS, COULOMB, ROTORS), 3):  # behind the joints of the tree
        truth.update(zip((f'fv{k}', f'fc{k}', f'Ia{k}'), values))
    z = np.array(list(scores(model.base, truth).values()))
    # Eleven correlated errors of one seed; ten seeds: see doc/describing_mechanisms.md.
    assert len(z) == model.statistics['rank'] == 11 and np.abs(z).max() < 3.5


def test_a_misspelled_joint_of_a_coupling_is_no_motor():
    exist = 'left, right, shoulder, elbow'
    with pytest.raises(RobotModelError, match=f"joint 'lift'; there is: {exist}"):
        METHODS['closed_loop'].build(
            URDF, options(closures=(*CLOSURES, 'coupling lift shoulder 1')), np.zeros(3)
        )


def test_range_of_a_crank_that_turns_is_within_a_turn_unless_a_coupling_counts_it():
    closed_loop = METHODS['closed_loop']
    t = np.arange(0.0, 10.0, 0.01)
    q, zero = np.column_stack([3.0 * t, 0.0 * t]), np.zeros((len(t), 2))
    for closures, widest in ((), 2.0 * np.pi), (CLOSURES, 30.0):
        own = options_class('closed_loop')(closures=closures)
        if not closures:
            own = options_class('closed_loop')(independent=(*NAMES, 'left', 'right'))
        mechanism = closed_loop.build(URDF, own, np.array([0.0, 0.0, -9.81]))
        motion = q if closures else np.hstack([q, zero])
        state = closed_loop.state_of(mechanism, motion, 0.0 * motion, 0.0 * motion)
        name = mechanism.coordinates[0]
        spread = np.ptp(closed_loop.validity_range(state, mechanism)[name]['q'])
        assert spread == pytest.approx(widest, abs=0.05)


@pytest.mark.parametrize('ratio', [1.0, 100.0, 6283.0])
@pytest.mark.parametrize('independent', ['slider', 'screw', 'crank', 'motor'])
def test_a_motor_of_any_ratio_is_followed_however_far_it_turns(independent, ratio):
    """A screw at the slide, one of 1 mm lead among them, or a gear at the crank; by the oracle."""
    t = np.arange(0.0, 4.0, 5e-3)
    at_slide, w = independent in ('slider', 'screw'), 2.0 * np.pi * np.array([0.4, 1.3])
    z, rate, second = (
        (
            1.5 + np.sin(np.outer(t, w)) @ [0.6, 0.2],
            np.cos(np.outer(t, w)) @ ([0.6, 0.2] * w),
            -np.sin(np.outer(t, w)) @ ([0.6, 0.2] * w**2),
        )
        if at_slide
        else crank.lively(t)
    )  # the one stays between dead centres, the other turns

    def place(z):
        """Return what the motor is coupled to."""
        return 0.08 * np.cos(z) + np.sqrt(0.25**2 - (0.08 * np.sin(z)) ** 2) if at_slide else z

    name, joint = ('screw', 'slider') if at_slide else ('motor', 'crank')
    before, by_hand, after = (place(z + k * 1e-5) for k in (-1, 0, 1))
    slope, bend = (after - before) / 2e-5, (after - 2 * by_hand + before) / 1e-10
    gear = ratio if independent == name else 1.0
    motion = [gear * x[:, None] for x in (by_hand, slope * rate, slope * second + bend * rate**2)]
    urdf = mujoco_arm.description('slider_crank')
    start = (
        f'crank {z[0]:.3f}',
        f'rod {-z[0] - np.arcsin(0.32 * np.sin(z[0])):.3f}',
        f'slider {0.08 * np.cos(z[0]) + 0.25 * np.sqrt(1 - (0.32 * np.sin(z[0])) ** 2):.3f}',
    )
    closed_loop = METHODS['closed_loop']
    own = options_class('closed_loop')(
        closures=(*crank.CLOSURES, f'coupling {name} {joint} {ratio}'),
        start=start,
        independent=(independent,),
        actuated=(name,),
    )
    robot = closed_loop.build(urdf, own, np.array([0.0, 0.0, -9.81]))
    state = closed_loop.state_of(robot, *motion, t)
    np.testing.assert_allclose(
        state.q[:, robot.joint_names.index(name)], ratio * by_hand, atol=1e-6 * ratio
    )
    columns = closed_loop.parameters(robot, own)
    force = np.concatenate(
        [
            b.groups[0].W @ [TRUE.get(p.name, 0.0) for p in columns]
            for b in closed_loop.regress(state, robot, columns)
        ]
    )
    true = crank.torque(z, rate, second) / slope / gear
    np.testing.assert_allclose(force, true, atol=2e-4 * np.abs(true).max())
    # What decides of parameters has to see it move, whatever its coordinate is.
    reached = closed_loop.random_state(robot, 100, np.random.default_rng(0))
    assert np.ptp(reached.q[:, robot.joint_names.index('crank')]) > 1.0


def test_a_sum_that_only_another_mounting_shows_is_told_from_one_of_its_name():
    """A rotor on a level slide is as a mass without weight: mcxR1 holds it, as nothing tells."""
    own = options_class('closed_loop')(
        closures=(*crank.CLOSURES, 'coupling screw slider 100'),
        independent=('crank',),
        start=crank.START,
        actuated=('screw',),
        friction=('screw armature',),
    )
    closed_loop, urdf = METHODS['closed_loop'], mujoco_arm.description('slider_crank')
    robot = closed_loop.build(urdf, own, np.array([0.0, 0.0, -9.81]))
    base = structural_base(closed_loop, [robot], closed_loop.parameters(robot, own))
    assert 'mcxR1' in base.names()
    missing = mounting_parameters(closed_loop, urdf, own, base)['missing']
    assert 'mcxR1 = mcx1 + 0.08 m2 + 0.08 m3' in missing and 'mcxR1' not in missing


@pytest.mark.parametrize('width', [-1.0, 0.0, 0.05])
def test_of_dry_friction_on_both_sides_of_a_fixed_ratio_only_the_sum_exists(width):
    own = options_class('closed_loop')(
        closures=(*crank.CLOSURES, 'coupling drive crank 50'),
        independent=('crank',),
        start=crank.START,
        actuated=('drive',),
        friction=('crank viscous coulomb', 'drive viscous coulomb'),
        coulomb_width=width,
    )
    closed_loop, urdf = METHODS['closed_loop'], mujoco_arm.description('slider_crank')
    robot = closed_loop.build(urdf, own, np.array([0.0, 0.0, -9.81]))
    columns = closed_loop.parameters(robot, own)
    base = structure_of(closed_loop, [robot], columns).base
    friction = {words for words in base.expressions() if 'f' in words}
    assert friction == {'fv1 + 2500 fv4', 'fc1 + 50 fc4'}
