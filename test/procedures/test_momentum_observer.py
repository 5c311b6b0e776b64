"""The momentum observer against MuJoCo: pushes are found in time, motion alone is none."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from scipy.stats import norm

from ros_inertial_id.dynamics.regressor import nominal_torques
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import ConfigError, EstimationError
from ros_inertial_id.excitation.fourier import random_motion
from ros_inertial_id.methods.serial_arm import SerialArm, SerialArmOptions
from ros_inertial_id.procedures.momentum_observer import MomentumObserver
from ros_inertial_id.procedures.observed_friction import JointTerm, ObservedFriction
from ros_inertial_id.simulation.arm import ArmOptions, SimulatedArm

URDF = Path(__file__).parents[2] / 'urdf'
TEXT = (URDF / 'arm3.urdf').read_text()
FORCE = np.array([0.0, 4.0, 3.0])  # [N] on the last link
RATE = 500.0
SOFT = {'rate': RATE, 'bandwidth': 40.0}  # a soft controller: little to compute


def run(seconds, push=None, **options):
    """Return the arm, its samples while it follows a random motion, and the push' torques."""
    arm = SimulatedArm(TEXT, options=ArmOptions(**{**SOFT, **options}))
    limits = arm.limits
    motion = random_motion(
        arm.joint_names,
        (limits.lower, limits.upper, 0.5 * limits.velocity),
        np.random.default_rng(3),
        period=6.0,
    )
    begin = round(push * RATE) if push is not None else None
    samples = []
    arm._path, first = motion.at, motion.at(np.zeros(1))
    arm._state = np.array([first[0][0], first[1][0]])
    for k in range(round(seconds * RATE)):
        if k == begin:
            arm.bodies.data.xfrc_applied[last_link(arm), :3] = FORCE
        samples.append(arm.step())
    return arm, samples


def last_link(arm):
    """Return MuJoCo's index of the last link, which is pushed at its centre of mass."""
    return arm.bodies.model.joint(arm.joint_names[-1]).bodyid[0]


def observer(arm, **options):
    """Return an observer that knows what the arm truly is, and the robot."""
    robot = load_robot_model(arm.true_urdf, arm.joint_names)
    friction = arm.true_friction
    parameters = SerialArm().parameters(
        robot,
        SerialArmOptions(friction=('viscous', 'coulomb'), coulomb_width=friction.velocity_scale),
    )
    values = np.array([p.nominal for p in parameters])
    for k, p in enumerate(parameters):
        if p.law:
            j = robot.joint_names.index(p.owner)
            values[k] = (friction.viscous if p.law == 'viscous' else friction.coulomb)[j]
    known = band(robot, options.pop('half', 0.04), options.pop('ranges', {}))
    return MomentumObserver(robot, parameters, values, band=known, **options), robot


def band(robot, half=0.0, ranges=None):
    """Return a band of half a width [N m] which model errors hardly leave, and the ranges."""
    terms = {
        'constant': half,
        'per_speed': 0.0,
        'per_acceleration': 0.0,
        'near_reversal': 0.0,
        'slow': 0.0,
        'peak': 1.0,
        'peak_scale': 0.1,
    }
    return {'joints': {joint: terms for joint in robot.joint_names}}, ranges or {}


def observed(arm, samples, one):
    t = np.array([s.time for s in samples])
    return t, one.add(
        t, *(np.array([getattr(s, f'measured_{k}') for s in samples]) for k in ('q', 'v', 'tau'))
    )


@pytest.fixture(scope='module')
def pushed():
    """Return arm, samples of 3 s with a push from 2 s on, and what was observed."""
    arm, samples = run(3.0, push=2.0)
    return arm, samples, *observed(arm, samples, observer(arm)[0])


def test_torque_of_a_push_is_the_jacobian_s(pushed):

    arm, samples, t, out = pushed
    body, model = last_link(arm), arm.bodies.model
    data, settled = mujoco.MjData(model), np.flatnonzero(t > 2.3)
    truth = []
    for k in settled:
        data.qpos[arm.bodies.dof] = samples[k].q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        jacobian = np.zeros((3, model.nv))
        mujoco.mj_jacBodyCom(model, data, jacobian, None, body)
        truth.append((jacobian.T @ FORCE)[arm.bodies.dof])
    error = out.torque[settled] - np.array(truth)
    # 20 ms behind a torque that changes with the posture: a share of a newton metre
    assert np.abs(error.mean(0)).max() < 0.05
    assert np.sqrt((error**2).mean(0)).max() < 0.15


def test_push_is_noticed_in_time_and_motion_alone_never(pushed):
    _, _, t, out = pushed
    hit = out.contact.any(1)
    assert not hit[t < 2.0].any()
    assert t[np.argmax(hit)] - 2.0 < 0.05
    assert hit[t > 2.1].mean() > 0.9


def test_standard_deviation_is_that_of_the_residual_where_the_model_is_exact():
    arm, samples = run(4.0)
    t, out = observed(arm, samples, observer(arm, half=0.0)[0])
    z = out.torque[t > 1.0] / out.standard_deviation[t > 1.0]
    assert 0.8 < np.sqrt((z**2).mean()) < 1.25  # 3 s, 50 rad/s: about 75 free values a joint


def test_joints_share_the_false_alarms_of_an_hour():
    """Three joints may call thrice an hour as often as two joints twice: once each."""
    limits = {}
    for name, per_hour in (('arm2', 2.0), ('arm3', 3.0), ('arm3', 1.0)):
        robot = load_robot_model((URDF / f'{name}.urdf').read_text())
        parameters = SerialArm().parameters(robot, SerialArmOptions(friction=()))
        one = MomentumObserver(
            robot,
            parameters,
            np.array([p.nominal for p in parameters]),
            band=band(robot),
            false_alarms=per_hour,
        )
        rng, t = np.random.default_rng(0), np.arange(500) / RATE
        v = 0.01 * rng.normal(size=(len(t), len(robot)))
        out = one.add(t, 0.0 * v, v, nominal_torques(robot, 0.0 * v, 0.0 * v, 0.0 * v))
        # Of the exact band nothing is added: what is left is the deviation of the mean.
        limits[name, per_hour] = (out.limit[-1] / out.mean_deviation[-1]).tolist()
    assert limits['arm3', 3.0] == pytest.approx([limits['arm2', 2.0][0]] * 3)
    # Every 40 ms a joint has another mean; exp(-k^2 / 2) bounds what is beyond k deviations.
    alarms = 3600.0 / 0.04 * 3 * 2.0 * norm.sf(limits['arm3', 1.0][0])
    assert 0.05 < alarms < 1.0


def test_noise_that_is_not_white_is_no_contact():
    arm, samples = run(6.0)
    rng, noise = np.random.default_rng(0), np.zeros(3)
    for k, sample in enumerate(samples):  # as of a velocity behind a filter of 20 Hz
        noise = noise + 0.25 * (0.05 * rng.normal(size=3) - noise)
        samples[k] = replace(sample, measured_v=sample.measured_v + noise)
    t, out = observed(arm, samples, observer(arm)[0])
    assert not out.contact.any() and not out.unknown.any()
    z = out.torque[t > 1.0] / out.standard_deviation[t > 1.0]
    assert 0.7 < np.sqrt((z**2).mean()) < 1.4  # 5 s, 50 rad/s: about 125 free values a joint


def test_beyond_the_training_nothing_is_claimed(pushed):
    arm, samples, t, out = pushed
    speeds = np.abs([s.v for s in samples])
    ranges = {
        joint: {'q': [-9.0, 9.0], 'v': [-0.5 * v, 0.5 * v]}
        for joint, v in zip(arm.joint_names, speeds.max(0))
    }
    _, found = observed(arm, samples, observer(arm, ranges=ranges)[0])
    outside = speeds > 0.6 * speeds.max(0)
    assert out.contact[outside].any() and found.unknown[outside].any()
    assert not found.contact[outside].any()


def test_samples_in_pieces_give_what_they_give_at_once_and_a_gap_begins_anew(pushed):
    arm, samples, t, out = pushed
    one = observer(arm)[0]
    pieces = [observed(arm, samples[k : k + 37], one)[1] for k in range(0, len(samples), 37)]
    np.testing.assert_allclose(np.concatenate([p.torque for p in pieces]), out.torque, atol=1e-9)
    late = [replace(s, time=s.time + 1.0) for s in samples[-3:]]
    assert np.abs(observed(arm, late, one)[1].torque[0]).max() == 0.0


def test_what_it_cannot_use_is_refused():
    arm, _ = run(0.004)
    robot = load_robot_model(arm.true_urdf, arm.joint_names)
    parameters = SerialArm().parameters(robot, SerialArmOptions(friction=('viscous',)))
    values = np.array([p.nominal for p in parameters])
    values[0] = -1.0
    with pytest.raises(EstimationError, match='no body has the parameters of'):
        MomentumObserver(robot, parameters, values, band=band(robot))
    coupled = (*parameters, replace(parameters[-1], owner='joint3 motor'))
    with pytest.raises(ConfigError, match='coupled drives'):
        MomentumObserver(robot, coupled, np.append(values, 0.0), band=band(robot))


def test_a_push_of_the_smallest_size_that_is_said_to_be_seen_is_seen():
    arm, samples = run(6.0)
    rng, hits = np.random.default_rng(1), []
    t, free = observed(arm, samples, observer(arm)[0])
    smallest = free.smallest_seen(0.05, 1.0 / RATE)
    assert (smallest > free.limit).all()
    assert np.isinf(free.smallest_seen(0.05, 0.03)).all()  # two samples take 60 ms
    for joint in range(3):
        for begin in rng.uniform(1.0, 5.5, 7):
            first = np.searchsorted(t, begin)
            part = samples[max(0, first - 300) : first + 25]  # 50 ms
            size = np.zeros(3)
            size[joint] = smallest[first : first + 25, joint].max()
            pushed = [
                replace(s, measured_tau=s.measured_tau - size * (s.time >= t[first])) for s in part
            ]
            _, out = observed(arm, pushed, observer(arm)[0])
            hits.append(bool(out.contact[-25:, joint].any()))
    assert np.mean(hits) > 0.8  # nine of ten, of 21: less than eight of ten is one in twenty


def test_friction_that_grows_with_the_load_is_no_torque_from_outside():
    robot, t = load_robot_model(TEXT), np.arange(0.0, 2.0, 0.002)
    parameters = SerialArm().parameters(
        robot, SerialArmOptions(friction=('coulomb_load',), coulomb_width=0.1)
    )
    values = np.array([0.2 if p.law else p.nominal for p in parameters])
    phase = np.outer(t, [2.0, 3.0, 4.0])
    q, v, a = np.sin(phase), np.cos(phase) * [2.0, 3.0, 4.0], -np.sin(phase) * [4.0, 9.0, 16.0]
    friction = 0.2 * np.abs(nominal_torques(robot, q, v, 0.0 * a)) * np.tanh(v / 0.1)
    out = MomentumObserver(robot, parameters, values, band=band(robot, 0.98)).add(
        t, q, v, nominal_torques(robot, q, v, a) + friction
    )
    assert np.abs(friction).max() > 2.0 > 5.0 * np.abs(out.torque[t > 0.5]).max()
    # Without noise it is the model's: half a band of 95 %.
    assert out.standard_deviation.min() == pytest.approx(0.98 / 1.96, rel=0.01)


def test_friction_that_holds_a_joint_at_rest_is_no_contact():
    """A joint creeps to rest in one direction; then friction of 5 N m holds it the other way."""
    robot = load_robot_model(TEXT)
    parameters = SerialArm().parameters(robot, SerialArmOptions(friction=('presliding',)))
    values = np.array([p.nominal for p in parameters])
    values[[k for k, p in enumerate(parameters) if p.law]] = 5.0
    parameters = [replace(p, nonlinear=1e-4) if p.law else p for p in parameters]
    t = np.arange(0.0, 2.0, 0.002)
    v = np.zeros((len(t), 3))
    v[:, 0] = 0.2 * np.maximum(0.0, 1.0 - t)
    q = np.cumsum(0.002 * v, axis=0)
    tau = nominal_torques(robot, q, v, np.gradient(v, 0.002, axis=0))
    tau[:, 0] += np.where(t < 1.0, 5.0, -4.9)
    out = MomentumObserver(robot, parameters, values, band=band(robot, 0.04)).add(t, q, v, tau)
    assert abs(out.mean[-1, 0]) > 9.0 and not out.contact.any()
    tau[t > 1.5, 0] -= 3.0  # which friction does not hold
    out = MomentumObserver(robot, parameters, values, band=band(robot, 0.04)).add(t, q, v, tau)
    assert out.contact[t > 1.56, 0].all()


def test_presliding_friction_goes_on_from_batch_to_batch_and_begins_anew_behind_a_gap():
    """Dahl's friction after a way s from rest is F (1 - exp(-s / distance)), from any batch on."""
    robot = load_robot_model(TEXT, ('joint1', 'joint2', 'joint3'))
    parameters = SerialArm().parameters(robot, SerialArmOptions(friction=('presliding',)))
    law = next(p for p in parameters if p.law == 'presliding')
    observed = ObservedFriction(robot, [JointTerm(0, law, 2.0)])
    way = 0.5 * law.nonlinear * np.arange(20)
    q, v = np.zeros((2, 20, 3))
    q[:, 0], v[:, 0] = way, 0.1
    begins = np.isin(np.arange(20), (0, 15))
    pieces = [observed.along(q[k], v[k], begins[k])[0] for k in np.array_split(np.arange(20), 3)]
    since = way - np.where(np.arange(20) < 15, 0.0, way[15])
    expected = 2.0 * (1.0 - np.exp(-since / law.nonlinear))
    np.testing.assert_allclose(np.concatenate(pieces)[:, 0], expected, atol=1e-12)
