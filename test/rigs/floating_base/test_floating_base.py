"""floating_base: a MuJoCo quadruped on its feet, rows against pinocchio, and what goes wrong."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from rosbags.rosbag2 import Writer
from rosbags.typesys import get_typestore, Stores
from scipy.spatial.transform import Rotation
from standing_robots import Manner, ODOMETRY, OtherRobot

from ros_inertial_id.api.model import model_of
from ros_inertial_id.checks.check import check
from ros_inertial_id.demonstration.simulated_rigs.quadruped import (
    BASE_IMU,
    FEET,
    FEET_FORCES,
    LEG,
    LEGS,
    Quadruped,
    STAND,
    STATES,
)
from ros_inertial_id.dynamics.friction import as_step
from ros_inertial_id.dynamics.mjcf import mjcf_description
from ros_inertial_id.errors import InertialIdError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.model.outcome import robot_entry
from ros_inertial_id.identification.prepare.dataset import read_dataset
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.measurement import signals
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.recording import Channel, Recording
from ros_inertial_id.methods import METHODS
from ros_inertial_id.procedures.payload import identify_payload
from ros_inertial_id.report.summary import outline, summary
from ros_inertial_id.report.whole import whole_of
from ros_inertial_id.rigs.floating_base.base_motion import base_motion, upright
from ros_inertial_id.rigs.floating_base.contacts import recorded_contacts
from ros_inertial_id.simulation.true_robot import parse, perturbed_urdf

ROOT = Path(__file__).parents[3]
URDF = (ROOT / 'urdf' / 'quadruped.urdf').read_text()
LOAD = 3.0  # kg on the trunk
CHANGES = {'feet': [f'{foot} 0.02' for foot in FEET], 'contact_topic': FEET_FORCES}
FLOATING = METHODS['floating_base']


@pytest.fixture(scope='module')
def bare():
    """Return (Recording of the quadruped, its true parameters)."""
    rig = Quadruped(URDF, seed=3)
    return Recording(rig.advance(12.0), URDF), rig.truth


@pytest.fixture(scope='module')
def model(bare):
    return identify([bare[0]], options(), method='floating_base').model


def options(**changes):
    return load_options('', 'floating_base', {**CHANGES, **changes})[1]


def robot(**changes):
    return FLOATING.build(URDF, options(**changes), np.array([0.0, 0.0, -9.81]))


def centre(values, at):
    """Return mass [kg] and centre (3,) [m] of the quadruped at joints (12,), by pinocchio."""
    model = pin.buildModelFromXML(URDF, pin.JointModelFreeFlyer())
    for k in range(model.njoints - 1):
        names = ('m', 'mcx', 'mcy', 'mcz')
        mass, *moment = (values[f'{name}{k}'] for name in names)
        model.inertias[k + 1] = pin.Inertia(mass, np.array(moment) / mass, np.eye(3))
    model.inertias[0] = pin.Inertia.Zero()
    data = model.createData()
    q = np.concatenate([np.zeros(6), [1.0], at])
    return pin.computeTotalMass(model), pin.centerOfMass(model, data, q)


def test_whole_mass_and_its_centre_are_found_by_a_robot_on_its_feet(bare, model):
    truth = bare[1]
    found = dict(zip((p.name for p in model.parameters), model.values))
    (mass, place), (true_mass, true_place) = (centre(x, STAND) for x in (found, truth))
    assert mass == pytest.approx(true_mass, rel=0.01)
    np.testing.assert_allclose(place, true_place, atol=5e-3)
    assert model.statistics['cross_validation']['relative_percent'] < 3.0
    z = []
    for entry in model.base:
        if entry['determined']:
            true = sum(share * truth[name] for name, share in entry['grouping'].items())
            z.append((entry['value'] - true) / entry['standard_error'])
    assert len(z) > 80 and 0.5 < np.sqrt(np.mean(np.square(z))) < 1.5  # one recording of 12 s
    summary = model.preprocessing[0]
    assert summary['base_time_offset'] == pytest.approx(4e-3, abs=1e-3)


def test_feet_that_are_told_wrongly_are_named_and_the_whole_is_right(bare, model):
    recording, truth = bare
    higher = options(feet=[f'{foot} 0.0' for foot in FEET])  # they touch 20 mm further down
    told_wrongly = identify([recording], higher, method='floating_base').model
    (found,) = told_wrongly.preprocessing[0]['doubts']
    assert 'lower than described' in found['says']
    assert told_wrongly.preprocessing[0]['ground'] == pytest.approx(-0.02, abs=4e-3)
    whole = whole_of(told_wrongly)
    joints = told_wrongly.robot['joints']
    middle = [np.mean(told_wrongly.validity_range[joint]['q']) for joint in joints]
    mass, place = centre(truth, middle)
    assert abs(whole.mass - mass) < 3.0 * whole.mass_error
    assert whole.mass_error < 1.5 * whole_of(model).mass_error  # as where they are told rightly
    np.testing.assert_allclose(whole.centre, place, atol=3e-3)


def test_noise_alone_shows_no_height_of_feet():
    # In what a robot that stands still shows, all that varies is noise, of torques and its IMU.
    still = Quadruped(URDF, seed=3)
    still._amplitude[:] = 0.0
    still._lifts = False
    recording = Recording(still.advance(10.0), URDF)
    (observation,) = read_dataset([recording], options(), 'floating_base', '').observations
    details = observation.summary.details
    assert abs(details['ground'] + 1e-3) < 4.0 * details['ground_error'] < 8e-3


def test_vibrations_in_bursts_move_the_height_of_feet_within_its_error(bare):
    # What vibrates faster than the samples is in them as white noise, here a quarter of the time.
    imu = bare[0].channels[BASE_IMU]
    samples = np.arange(len(imu))
    vibrates = (samples // 25 % 4 == 0)[:, None]
    vibration = vibrates * np.random.default_rng(0).standard_normal((len(imu), 3))  # [m/s^2]
    force = imu.fields['linear_acceleration'] + vibration
    shaken = replace(imu, fields={**imu.fields, 'linear_acceleration': force})
    recording = replace(bare[0], channels={**bare[0].channels, BASE_IMU: shaken})
    (observation,) = read_dataset([recording], options(), 'floating_base', '').observations
    details = observation.summary.details
    assert abs(details['ground'] - 1e-3) < 2.0 * details['ground_error'] < 5e-3


def test_torques_that_no_model_has_are_no_noise_in_the_height_of_feet(bare):
    # Joints that cog by 1 N m: were what is left over noise, the ground would be too far down.
    joints = bare[0].channels[STATES]
    effort = joints.fields['effort'] + np.sin(30.0 * joints.fields['position'])
    cogging = replace(joints, fields={**joints.fields, 'effort': effort})
    recording = replace(bare[0], channels={**bare[0].channels, STATES: cogging})
    (observation,) = read_dataset([recording], options(), 'floating_base', '').observations
    details = observation.summary.details
    assert abs(details['ground'] - 1e-3) < 2.0 * details['ground_error'] < 4e-3


def test_upright_is_that_of_a_base_that_sways_slowly():
    # A base that rocks and sways along x at .4 Hz, seen by an IMU: what is up is known.
    t = np.arange(0.0, 30.0, 0.004)
    angle, rate = 0.1 * np.sin(3.0 * t), 0.3 * np.cos(3.0 * t)
    attitude = Rotation.from_rotvec(angle[:, None] * [0.0, 1.0, 0.0])
    pushed = np.column_stack([0.3 * np.cos(2.5 * t), 0.0 * t, np.full(len(t), 9.81)])
    omega = np.column_stack([0.0 * t, rate, 0.0 * t])
    up = upright(t, attitude.apply(pushed, inverse=True), omega)
    error = np.linalg.norm(up - attitude.apply([0.0, 0.0, 1.0], inverse=True), axis=1)
    assert error[(t > 5.0) & (t < 25.0)].max() < 1e-3  # of .03 that the push amounts to
    assert error.max() < 1e-2


def test_feet_that_may_yield_leave_the_height_of_the_whole_open(model):
    # A millimetre of rubber is some tenths of one of the whole's height, and nothing of x and y.
    x, y, z = whole_of(model).errors
    assert 2e-4 < z < 2e-3 and z > 2.0 * max(x, y)


def test_whole_is_said_with_errors_over_the_range(bare, model):
    found = dict(zip((p.name for p in model.parameters), model.values))
    middle = [np.mean(model.validity_range[joint]['q']) for joint in model.robot['joints']]
    whole = whole_of(model)
    mass, place = centre(found, middle)
    assert whole.mass == pytest.approx(mass)
    np.testing.assert_allclose(whole.centre, place, atol=1e-9)
    true_mass, true_place = centre(bare[1], middle)
    assert abs(mass - true_mass) < 4.0 * whole.mass_error
    assert np.all(np.abs(place - true_place) < 4.0 * whole.errors)
    assert np.all(whole.largest_errors >= whole.errors)
    assert np.all(whole.largest_errors < 2e-3)
    entry = outline(model)['whole']
    assert entry['mass']['value'] == whole.mass and entry['z']['value'] == whole.centre[2]
    assert f'All bodies together: {mass:.3f} ' in summary(model)


def test_load_on_the_trunk_is_weighed(model):
    rig = Quadruped(URDF, seed=3)
    trunk, place = rig.model.body('trunk'), np.array([0.05, 0.0, 0.06])
    mass = trunk.mass[0] + LOAD
    trunk.inertia[:] += trunk.mass[0] * LOAD / mass * np.sum((place - trunk.ipos) ** 2)
    trunk.ipos[:] = (trunk.mass[0] * trunk.ipos + LOAD * place) / mass
    trunk.mass[0] = mass
    load = identify_payload(model, [Recording(rig.advance(6.0), URDF)], link='trunk')
    assert load.mass == pytest.approx(LOAD, abs=0.1)
    np.testing.assert_allclose(load.center_of_mass, place, atol=3e-3)


def touching(model, data, foot, up, touch):
    """Return the Jacobian (3 or 6, 18) of a sole, or the lowest point of a ball, by pinocchio."""
    frame = model.getFrameId(foot)
    J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
    if touch == 'sole':
        return J
    return J[:3] - pin.skew(-0.02 * up) @ J[3:]


@pytest.mark.parametrize('touch', ['0.02', 'sole'])
def test_rows_hold_of_a_free_flyer_whatever_its_feet_push(touch):
    quadruped = robot(feet=[f'{foot} {touch}' for foot in FEET])
    rng = np.random.default_rng(1)
    model = pin.buildModelFromXML(URDF, pin.JointModelFreeFlyer())
    model.gravity.linear[:] = 0.0  # it is in what an accelerometer reads
    data = model.createData()
    state = FLOATING.random_state(quadruped, 5, rng)
    forces, stands = rng.normal(size=(4, 6)), np.array([1.0, 1.0, 0.0, 0.0])
    base, tau = state.base.copy(), np.zeros((5, 12))
    for k, up in enumerate(state.up):
        q = np.concatenate([np.zeros(6), [1.0], state.q[k]])
        v = np.concatenate([np.zeros(3), base[k, 6:], state.v[k]])
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        of_feet = np.zeros(18)
        for foot, force, on in zip(FEET, forces, stands):
            J = touching(model, data, foot, up, touch)
            of_feet += on * J.T @ force[: len(J)]
        still = np.concatenate([np.zeros(6), state.a[k]])
        bias = pin.rnea(model, data, q, v, still).copy()
        M = pin.crba(model, data, q)[:6, :6]
        base[k, :6] = np.linalg.solve(M, of_feet[:6] - bias[:6])  # nothing drives the base
        a = np.concatenate([base[k, :6], state.a[k]])
        tau[k] = (pin.rnea(model, data, q, v, a) - of_feet)[6:]
    standing = np.tile(stands > 0.0, (5, 1))
    on_feet = replace(state, base=base, tau=tau, tau_raw=tau, standing=standing)
    parameters = FLOATING.parameters(quadruped, options())
    bodies = np.concatenate([i.toDynamicParameters() for i in model.inertias[1:]])
    values = np.concatenate([bodies, np.zeros(len(parameters) - len(bodies))])
    (block,) = FLOATING.regress(on_feet, quadruped, parameters)
    assert len(block.groups) == 18
    for group in block.groups:
        np.testing.assert_allclose(group.W @ values[group.columns], group.y, atol=1e-9)


def test_one_topic_of_flags_per_foot_says_what_forces_say(bare, tmp_path):
    channel = bare[0].channels[FEET_FORCES].rows(slice(0, 2000))
    forces = replace(bare[0], channels={FEET_FORCES: channel})
    quadruped, topics = robot(), [f'/{foot}/contact' for foot in FEET]
    store = get_typestore(Stores.ROS2_JAZZY)
    flag = store.types['std_msgs/msg/Bool']
    threshold = 0.03 * quadruped.weight
    with Writer(tmp_path / 'bag', version=9) as writer:
        for topic, values in zip(topics, channel.fields['effort'].T):
            connection = writer.add_connection(topic, flag.__msgtype__, typestore=store)
            for stamp, force in zip(channel.stamp_ns, values):
                message = store.serialize_cdr(flag(bool(force > threshold)), flag.__msgtype__)
                writer.write(connection, int(stamp), message)
    flags = read_bag(tmp_path / 'bag')
    by_flags = recorded_contacts(flags, quadruped, options(contact_topic=' '.join(topics)))
    by_forces = recorded_contacts(forces, quadruped, options())
    t = np.linspace(0.1, (channel.stamp_ns[-1] - channel.stamp_ns[0]) * 1e-9 - 0.1, 300)
    standing = by_flags.standing(t, len(FEET), 0.02)
    np.testing.assert_array_equal(standing, by_forces.standing(t, len(FEET), 0.02))
    assert standing.any() and not standing.all()


def altered(recording, topic, **fields):
    channel = recording.channels[topic]
    channel = replace(channel, fields={**channel.fields, **fields})
    return replace(recording, channels={**recording.channels, topic: channel})


def said_of(recording, **changes):
    """Return the words of all findings of a ``recording``, but of stamps and values."""
    checkup = check([recording], options(**changes), method='floating_base')
    return ' '.join(f'{f.name}: {f.says}' for f in checkup.checks)


@pytest.mark.parametrize(
    'fault, words',
    [
        ('none', ''),
        ('accelerometer negated', 'accelerometer has the other sign'),
        ('accelerometer in g', 'it is in g'),
        ('gyro negated', 'gyro has the other sign'),
        ('IMU turned by 10 degrees', 'the IMU is turned by about'),
        ('foot said to be in the air', 'fl_foot carries the robot'),
        ('efforts negated', 'pulls at the ground'),
    ],
)
def test_what_was_said_wrongly_is_found(bare, fault, words):
    parts = {topic: c.rows(slice(1000, 4000)) for topic, c in bare[0].channels.items()}
    recording = replace(bare[0], channels=parts)
    imu = recording.channels[BASE_IMU].fields
    gyro, force = imu['angular_velocity'], imu['linear_acceleration']
    turn = Rotation.from_euler('y', 10.0, degrees=True).as_matrix().T
    feet = recording.channels[FEET_FORCES].fields['effort'].copy()
    feet[:, 0] = 0.0
    efforts = recording.channels[STATES].fields['effort']
    faults = {
        'none': (BASE_IMU, {}),
        'accelerometer negated': (BASE_IMU, {'linear_acceleration': -force}),
        'accelerometer in g': (BASE_IMU, {'linear_acceleration': force / 9.81}),
        'gyro negated': (BASE_IMU, {'angular_velocity': -gyro}),
        'IMU turned by 10 degrees': (
            BASE_IMU,
            {'angular_velocity': gyro @ turn, 'linear_acceleration': force @ turn},
        ),
        'foot said to be in the air': (FEET_FORCES, {'effort': feet}),
        'efforts negated': (STATES, {'effort': -efforts}),
    }
    topic, fields = faults[fault]
    said = said_of(altered(recording, topic, **fields))
    assert words in said and bool(words) == bool(said)


def test_fixed_base_that_moves_says_which_method_is_for_it(bare):
    _, of_arm = load_options('', 'serial_arm')
    checkup = check([bare[0]], of_arm)
    assert checkup.verdict.word == 'do not use'
    assert 'identify with --method floating_base' in ' '.join(f.do for f in checkup.checks)


def test_odometry_says_what_an_imu_reads():
    t = np.arange(0.0, 6.0, 0.002)
    angle = 0.3 * np.sin(2.0 * t)
    turn = Rotation.from_rotvec(np.outer(angle, [0.0, 1.0, 0.0]))
    rate = np.outer(0.6 * np.cos(2.0 * t), [0.0, 1.0, 0.0])
    velocity = np.outer(0.5 * np.sin(3.0 * t), [1.0, 0.0, 0.0])
    gain = np.outer(1.5 * np.cos(3.0 * t), [1.0, 0.0, 0.0])
    fields = {
        'orientation_xyzw': turn.as_quat(),
        'linear_velocity': turn.inv().apply(velocity),
        'angular_velocity': rate,
    }
    stamps = np.round(t * 1e9).astype(np.int64)
    odometry = Channel('/odom', 'nav_msgs/msg/Odometry', stamps, stamps, fields)
    quadruped, settings = robot(), options(odometry_topic='/odom')
    base = base_motion(Recording({'/odom': odometry}, URDF), quadruped, settings)
    inner = slice(500, -500)
    motion, _, up = base.at(t[inner], signals.zero_phase_kernel(0.002, 40.0), 0.002)
    vertical = turn.inv().apply([0.0, 0.0, 1.0])
    expected = turn.inv().apply(gain) + 9.81 * vertical
    np.testing.assert_allclose(motion[:, :3], expected[inner], atol=0.01)
    np.testing.assert_allclose(motion[:, 6:], rate[inner], atol=1e-3)
    np.testing.assert_allclose(up, vertical[inner], atol=1e-3)


def test_robot_is_weighed_by_odometry_as_well():
    joints = [f'{leg}_{joint}' for leg in LEGS for joint in LEG]
    truth = perturbed_urdf(parse(URDF), np.random.default_rng(5), 0.2, 0.1, 0.05)
    stand, manner = dict(zip(joints, STAND)), Manner(odometry=True)
    rig = OtherRobot(truth, dict.fromkeys(FEET, 0.02), stand, 'imu_link', manner=manner)
    recording = Recording(rig.advance(8.0), URDF)
    del recording.channels[BASE_IMU]
    by_odometry = options(odometry_topic=ODOMETRY)
    model = identify([recording], by_odometry, method='floating_base').model
    found = dict(zip((p.name for p in model.parameters), model.values))
    (mass, place), (true_mass, true_place) = (centre(x, STAND) for x in (found, rig.truth))
    assert mass == pytest.approx(true_mass, rel=0.01)
    np.testing.assert_allclose(place, true_place, atol=5e-3)


@pytest.mark.parametrize(
    'changes, words',
    [
        ({'feet': []}, 'option feet.*base: carried'),
        ({'feet': ['fl_foot']}, 'LINK RADIUS'),
        ({'base': 'carried'}, 'feet of a robot whose base is carried'),
        ({'feet': ['trunk 0.1']}, 'which no joint moves'),
        ({'feet': ['fl_foot 0.02 0 0']}, 'X Y Z'),
    ],
)
def test_feet_are_named_as_they_are(changes, words):
    with pytest.raises(InertialIdError, match=words):
        robot(**changes)


def test_foot_may_be_anywhere_in_a_link():
    by_link = robot(feet=['fl_foot sole']).feet[0].frame
    by_place = robot(feet=['fl_calf sole 0.0 0 -2.1e-1']).feet[0].frame
    np.testing.assert_allclose(by_place.position, by_link.position)
    assert by_place.body == by_link.body


def held_by_mujoco(identified):
    """Return a Model like an ``identified`` one, whose dry friction is a step."""
    return model_of(replace(identified, parameters=tuple(map(as_step, identified.parameters))))


def by_model(model, state, without=None):
    """Return force, moment and torques (N, 18) of a ``model``; without : a law left out."""
    robot, parameters = model._robot, model.identified.parameters
    values = model.identified.values * [p.law != without for p in parameters]
    (block,) = FLOATING.regress(state, robot, parameters)
    return np.stack(list(block.predicted(values).values()), axis=-1)


def by_mujoco(path, state, placed):
    """Return what ``by_model`` does by MuJoCo; placed : (4, 4) free body in the base's frame."""
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data, out = mujoco.MjData(model), []
    R, p = placed[:3, :3], placed[:3, 3]
    turns = Rotation.random(len(state.t), random_state=2)
    for k, turn in enumerate(turns):
        force, alpha, omega = state.base[k].reshape(3, 3)
        at = force + np.cross(alpha, p) + np.cross(omega, np.cross(omega, p))
        quaternion = (turn * Rotation.from_matrix(R)).as_quat()[[3, 0, 1, 2]]
        data.qpos[:] = np.concatenate([turn.apply(p), quaternion, state.q[k]])
        data.qvel[:] = np.concatenate([turn.apply(np.cross(omega, p)), R.T @ omega, state.v[k]])
        linear = turn.apply(at) + model.opt.gravity
        data.qacc[:] = np.concatenate([linear, R.T @ alpha, state.a[k]])
        mujoco.mj_inverse(model, data)
        dry = model.dof_frictionloss * np.sign(data.qvel)
        push, turning, tau = np.split(data.qfrc_inverse + dry, [3, 6])
        push = turn.inv().apply(push)
        out.append(np.concatenate([push, R @ turning + np.cross(p, push), tau]))
    return np.array(out)


def by_pinocchio(path, state):
    """Return what ``by_model`` does by pinocchio's free flyer of a URDF."""
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    data, out = model.createData(), []
    for k, turn in enumerate(Rotation.random(len(state.t), random_state=2)):
        force, alpha, omega = state.base[k].reshape(3, 3)
        q = np.concatenate([np.zeros(3), turn.as_quat(), state.q[k]])
        v = np.concatenate([np.zeros(3), omega, state.v[k]])
        linear = force + turn.inv().apply(model.gravity.linear)
        a = np.concatenate([linear, alpha, state.a[k]])
        dry = model.upperDryFrictionLimit * np.sign(v)
        out.append(pin.rnea(model, data, q, v, a) + model.damping * v + dry)
    return np.array(out)


def test_written_robot_has_the_force_on_its_base_and_the_torques(model, tmp_path):
    robot = held_by_mujoco(model)
    state = FLOATING.random_state(robot._robot, 20, np.random.default_rng(4))
    path = tmp_path / 'robot.xml'
    assert robot.export('mujoco', path).not_held == []
    expected = by_model(robot, state)
    np.testing.assert_allclose(by_mujoco(path, state, np.eye(4)), expected, rtol=0.0, atol=1e-9)
    path = tmp_path / 'robot.urdf'
    assert len(robot.export('urdf', path).not_held) == 12  # rotors
    expected = by_model(robot, state, 'armature')
    np.testing.assert_allclose(by_pinocchio(path, state), expected, rtol=0.0, atol=1e-9)
    assert len(robot.to_urdf(path)) >= 12
    written = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    assert pin.computeTotalMass(written) == pytest.approx(robot.total_mass.value, abs=1e-9)


def test_mjcf_of_a_free_body_keeps_its_joint_and_gets_the_numbers(model, tmp_path):
    given = tmp_path / 'given.xml'
    held_by_mujoco(model).export('mujoco', given)
    where = 'name="trunk" pos="0.1 -0.2 0.3" quat="0.6 0 0.8 0"'
    text = given.read_text().replace('name="trunk"', where)
    given.write_text(text)
    flying = {'base': 'flying', 'feet': [], 'coulomb_width': 0.0}
    gravity = np.array([0.0, 0.0, -9.81])
    quadruped = FLOATING.build(mjcf_description(given), options(**flying), gravity)
    assert quadruped.weight == pytest.approx(9.81 * model_of(model).total_mass.value)
    parameters = FLOATING.parameters(quadruped, options(**flying))
    bodies = 1.1 * quadruped.inertias.ravel()
    values = np.concatenate([bodies, np.linspace(0.01, 0.1, len(parameters) - len(bodies))])
    changed = replace(
        model,
        robot=robot_entry(quadruped),
        options={**model.options, **flying},
        parameters=parameters,
        values=values,
    )
    robot, path = model_of(changed), tmp_path / 'robot.xml'
    robot.export('mujoco', path)
    assert path.read_text().count('<freejoint />') == 1
    assert len(path.read_text().splitlines()) == len(text.splitlines())
    state = FLOATING.random_state(robot._robot, 20, np.random.default_rng(4))
    expected = by_model(robot, state)  # in the frame of the body, wherever it is drawn
    np.testing.assert_allclose(by_mujoco(path, state, np.eye(4)), expected, rtol=0.0, atol=1e-9)
