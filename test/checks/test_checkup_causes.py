"""Test causes that look alike, on a small arm: each is told from what it is taken for."""

from dataclasses import replace
import re
from xml.etree import ElementTree

from falsified_descriptions import Falsified
import mujoco_arm
import numpy as np
import pytest
from recording_faults import FAULTS, rebuilt
import slider_crank_runs

from ros_inertial_id.checks import causes, model_checks
from ros_inertial_id.checks.check import check
from ros_inertial_id.checks.finding import DO_NOT_USE, GOOD, NOT_CHECKED, NOTE, WRONG
from ros_inertial_id.checks.recording_under_test import Alternative
from ros_inertial_id.identification.settings import load_options

OPTIONS = load_options('', 'serial_arm')[1]


def _efforts(arm, change):
    tau = arm.channels['/joint_states'].fields['effort']
    return rebuilt(arm, effort=change(tau))


def test_positions_in_degrees_are_said_where_no_joint_has_limits(arm):
    robot = ElementTree.fromstring(arm.robot_description)
    for joint in robot.findall("joint[@type='revolute']"):
        joint.set('type', 'continuous')
    fields = arm.channels['/joint_states'].fields
    free = replace(arm, robot_description=ElementTree.tostring(robot, encoding='unicode'))
    assert [f for f in check([free], OPTIONS).checks if f.severity != NOTE] == []
    turned = rebuilt(
        free, position=np.degrees(fields['position']), velocity=np.degrees(fields['velocity'])
    )
    assert 'of all joints are in degrees' in check([turned], OPTIONS).checks[0].says
    q = fields['position'].copy()
    q[:, -1] = np.mod(q[:, -1] - np.median(q[:, -1]), 2 * np.pi)  # wraps where it is half the time
    wrapped = check([rebuilt(free, position=q)], OPTIONS)
    assert [(f.name, f.severity) for f in wrapped.checks] == [('position not unwrapped', NOTE)]
    assert wrapped.verdict.word == GOOD
    limited = {f.name: f.severity for f in check([rebuilt(arm, position=q)], OPTIONS).checks}
    assert limited['position not unwrapped'] == NOTE  # within its limits in one of the turns


def _with_a_slider(urdf):
    """Return the text of ``urdf`` with its last joint prismatic."""
    robot = ElementTree.fromstring(urdf)
    robot.findall("joint[@type='revolute']")[-1].set('type', 'prismatic')
    return ElementTree.tostring(robot, encoding='unicode')


def test_a_joint_that_turns_is_told_from_a_slider(arm, monkeypatch):
    told = replace(arm, robot_description=_with_a_slider(arm.robot_description))
    (found,) = check([told], OPTIONS).checks
    assert found.severity == WRONG and found.joints == arm.channels['/joint_states'].names[-1:]
    assert 'a joint that turns' in found.says
    monkeypatch.setattr(mujoco_arm, 'description', lambda name: told.robot_description)
    assert check([mujoco_arm.recorded('slider', 2)], OPTIONS).verdict.word == GOOD


def test_small_currents_of_either_sign_are_no_efforts_without_gravity(arm):
    # A tenth of the torque: as little of gravity is left where a driver compensates it.
    (found,) = check(
        [_efforts(arm, lambda tau: tau * np.array([0.2, -0.08, -0.05]))], OPTIONS
    ).checks
    assert found.name == 'effort is a current'
    compensated = FAULTS['gravity compensated'][0](arm, OPTIONS, 0, np.random.default_rng(0))[0]
    assert [f.name for f in check([compensated], OPTIONS).checks] == ['gravity compensated']


def test_a_mass_that_the_description_lacks_is_said_of_its_link(franka):
    described = Falsified(franka.robot_description, 'fr3_link4')
    mass = described.link.find('inertial/mass')
    truth = ElementTree.fromstring(mujoco_arm.true_urdf(franka.robot_description, 1))
    true_mass = float(truth.find('link[@name="fr3_link4"]/inertial/mass').get('value'))
    left = 0.1 * float(mass.get('value'))
    lacking = true_mass - left
    mass.set('value', str(left))
    described.scale(0.1)
    (note,) = check([replace(franka, robot_description=described.text())], OPTIONS).checks
    assert (note.name, note.joints) == ('link described otherwise', ('fr3_joint4',))
    value, error = map(
        float, re.search(r'fr3_link4 lacks about (.*?) \+- (.*?) kg', note.says).groups()
    )
    assert abs(value - lacking) < 2.5 * error < 2.5


def test_only_the_columns_that_were_exchanged_are_named():
    order = [0, 3, 1, 2, 4, 5, 6]
    found = check(
        [_efforts(mujoco_arm.recorded('franka', 1), lambda tau: tau[:, order])], OPTIONS
    ).checks[0]
    assert found.name == 'efforts permuted'
    assert found.joints == ('fr3_joint2', 'fr3_joint3', 'fr3_joint4')


def test_a_check_more_changes_no_other_verdict(arm, monkeypatch):
    def noisy(data):
        target = data.measured + 0.01 * np.random.default_rng(1).standard_normal(
            data.measured.shape
        ) * (np.arange(data.measured.shape[1]) == 0)
        yield Alternative('encoder zero off', [0], data.with_target(target), {'zero': '1'})

    broken = [
        arm,
        _efforts(arm, lambda tau: -tau),
        *(
            FAULTS[name][0](arm, OPTIONS, 1, np.random.default_rng(0))[0]
            for name in ('effort delayed', 'payload not declared')
        ),
    ]
    before = [check([recording], OPTIONS) for recording in broken]
    monkeypatch.setattr(model_checks, 'CHECKS', (*causes.CHECKS, causes.Check(noisy, 0)))
    assert [check([recording], OPTIONS) for recording in broken] == before


def test_causes_say_by_which_judge_they_are(arm):
    for fault, judge in (
        ('one gain', 'left-out residual'),
        ('efforts N mm', 'left-out residual of the description'),
    ):
        broken = FAULTS[fault][0](arm, OPTIONS, 1, np.random.default_rng(0))[0]
        found = check([broken], OPTIONS).checks[0]
        assert (found.tests, found.unit) == (judge, '% of the residual')
        assert 0.0 < found.evidence <= 100.0


def test_contacts_in_many_windows_are_found(arm):
    def pushed(tau):
        out = tau.copy()
        for start in (600, 1500, 2900):
            out[start : start + 200, :2] += (
                0.5 * tau[:, :2].std(0) * np.sin(np.pi * np.arange(200) / 200)[:, None]
            )
        return out

    found = [f for f in check([_efforts(arm, pushed)], OPTIONS).checks if f.name == 'contact']
    begins = [start for f in found for start, _ in f.windows]
    # Three of twenty seconds: a fit of all samples is bent by them.
    assert begins == pytest.approx([3.0, 7.5, 14.5], abs=0.2)


@pytest.mark.parametrize('level', [0, 2])
def test_a_contact_does_not_hide_in_a_fit_that_it_bends(level):
    pushed, options, window = FAULTS['contact'][0](
        mujoco_arm.recorded('arm2', 5), OPTIONS, level, np.random.default_rng(0)
    )
    (contact,) = check([pushed], options).checks
    assert (contact.name, contact.windows) == ('contact', (pytest.approx(window, abs=0.2),))


def test_a_change_that_explains_a_part_of_another_robot_is_no_cause():
    for seed, level in ((3, 1), (5, 2)):
        other, options, _ = FAULTS['other robot'][0](
            mujoco_arm.recorded('arm3', seed), OPTIONS, level, np.random.default_rng(0)
        )
        assert [f.name for f in check([other], options).checks] == ['description of another robot']


@pytest.mark.parametrize('link', ['link1', 'link3'])
def test_a_decimal_point_that_lacks_in_an_inertia_is_noted_and_misleads_nobody(arm, link):
    robot = ElementTree.fromstring(arm.robot_description)
    inertia = robot.find(f"link[@name='{link}']/inertial/inertia")
    inertia.set('iyy', str(1000.0 * float(inertia.get('iyy'))))  # link1 turns about z alone
    spoiled = replace(arm, robot_description=ElementTree.tostring(robot, encoding='unicode'))
    (found,) = check([spoiled], OPTIONS).checks
    assert (found.name, found.severity) == ('impossible inertia', NOTE)
    assert f'no body has: {link} (principal moments' in found.says


def test_the_description_tells_up_from_down():
    # One joint alone carries weight: masses below zero explain gravity upside down as well.
    arm, options, _ = FAULTS['wrong mounting'][0](mujoco_arm.recorded('arm2', 5), OPTIONS, 1, None)
    says = check([arm], options).checks[0].says
    degrees = int(says.split('gravity is ')[1].split()[0])
    assert degrees == pytest.approx(np.degrees(0.8), abs=2)


def test_a_wrist_worse_than_zero_is_not_to_be_used(arm):
    def noisy(tau):
        out = tau.copy()
        out[:, 2] = tau[:, 2].std() * np.random.default_rng(1).standard_normal(len(tau))
        return out

    result = check([_efforts(arm, noisy)], OPTIONS)
    assert result.joints['joint3'].word == DO_NOT_USE
    assert 'not for joint3' in result.verdict.reasons


def test_a_contact_is_said_beside_a_cause(arm):
    pushed, options, _ = FAULTS['contact'][0](arm, OPTIONS, 2, np.random.default_rng(0))
    result = check([_efforts(pushed, lambda tau: -tau)], options)
    assert [f.name for f in result.checks] == ['effort negated', 'contact']
    assert 0.0 < result.masked[0] < 0.1


def test_an_arm_that_is_pushed_at_rest_is_not_another_one(arm):
    fields, rng = arm.channels['/joint_states'].fields, np.random.default_rng(5)
    t = np.arange(len(fields['position'])) / 200.0
    gives = 0.01 * np.sin(0.7 * t)[:, None] * [1.0, 0.5, 0.3]
    noise = 1e-5 * rng.standard_normal(gives.shape)
    weight = fields['effort'][:1].copy()
    pushes = np.abs(weight).max() * np.sin(2 * t)[:, None] ** 9 * [0.2, 1.0, 0.6]
    result = check(
        [
            rebuilt(
                arm,
                position=fields['position'][:1] + gives + noise,
                velocity=100 * noise + np.gradient(gives, t, axis=0),
                effort=weight + pushes,
            )
        ],
        OPTIONS,
    )
    assert 'arm at rest' in [f.name for f in result.checks]
    assert 'description of another robot' not in [f.name for f in result.checks]


def test_one_joint_that_moves_alone_is_judged_alone_and_its_friction_is_no_delay(arm):
    t, rng = np.arange(0.0, 40.0, 0.005), np.random.default_rng(7)
    angle, pose = 0.2 * np.pi * t, np.array([0.5, 2.5, 0.5])
    q, v, a = (
        np.outer(x, [0.0, 1.0, 0.0])
        for x in (
            np.sin(angle),
            0.2 * np.pi * np.cos(angle),
            -((0.2 * np.pi) ** 2) * np.sin(angle),
        )
    )
    tau = mujoco_arm.torque(mujoco_arm.true_urdf(arm.robot_description, 2), q + pose, v, a)
    stuck = 0.2 * np.abs(tau).max() * np.sin(0.3 * angle + 1.0)  # whatever friction takes
    # A harmonic drive's: friction that grows by an eighth of the load (Bittencourt 2012).
    grows = (0.3 + 0.12 * np.abs(tau[:, 1])) * np.tanh(v[:, 1] / 0.01)
    tau += np.column_stack([stuck, grows, -0.5 * stuck])
    tau += 0.003 * tau.std(0) * rng.standard_normal(tau.shape)
    urdf, names = arm.robot_description, mujoco_arm.joints_of(arm.robot_description)
    alone = mujoco_arm.measured(rng, names, t, q + pose, v, tau, mounting='upright', urdf=urdf)
    result = check([alone], OPTIONS)
    assert [f.name for f in result.checks if f.severity != NOTE] == ['joints at rest']
    assert list(result.joints) == ['joint2'] and result.joints['joint2'].word != DO_NOT_USE


def test_a_last_link_described_without_any_torque_is_no_trouble(arm):
    robot = ElementTree.fromstring(arm.robot_description)
    inertial = robot.findall('link/inertial')[-1]
    inertial.find('origin').attrib.update(xyz='0 0 0.042', rpy='0.3 0.2 -1.57079632679')
    inertial.find('inertia').attrib.update(
        dict.fromkeys(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), '0')
    )
    bare = replace(arm, robot_description=ElementTree.tostring(robot, encoding='unicode'))
    with np.errstate(all='raise', under='ignore'):
        result = check([bare], OPTIONS)
    assert not any('permuted' in f.says or 'negated' in f.says for f in result.checks)


def test_an_effort_that_is_mostly_clipped_is_no_other_fault(arm):
    def limited(tau):
        j = np.argmax(tau.std(0))
        tau = tau.copy()
        tau[:, j] = np.clip(tau[:, j], -0.12 * np.ptp(tau[:, j]), 0.12 * np.ptp(tau[:, j]))
        return tau

    result = check([_efforts(arm, limited)], OPTIONS)
    assert result.verdict.word == DO_NOT_USE
    assert [f.name for f in result.checks if f.severity != NOTE] == ['effort clipped']


def test_other_methods_have_their_channels_checked():
    clean = slider_crank_runs.recording(seed=1)
    result = check([clean], slider_crank_runs.OPTIONS, method='closed_loop')
    assert result.verdict.word == GOOD  # the described bodies show the unit
    assert [f for f in result.checks if f.severity != NOTE] == []
    topic, channel = next((t, c) for t, c in clean.channels.items() if 'effort' in c.fields)

    def checked_with(effort):
        changed = replace(channel, fields={**channel.fields, 'effort': effort})
        recording = replace(clean, channels={**clean.channels, topic: changed})
        return check([recording], slider_crank_runs.OPTIONS, method='closed_loop')

    # Of other bodies, or three times too large.
    assert checked_with(3.0 * channel.fields['effort']).verdict.word == NOT_CHECKED
    effort = channel.fields['effort'].copy()
    effort[700:1300] = effort[700]
    assert 'effort stuck' in [f.name for f in checked_with(effort).checks]


def test_a_gain_of_a_joint_is_what_the_others_say_without_it(arm):
    (found,) = check([_efforts(arm, lambda tau: tau * np.array([1.0, 1.0, 1.6]))], OPTIONS).checks
    assert (found.name, found.joints) == ('gain of a joint', ('joint3',))


def test_the_offset_of_an_arm_that_hardly_moves_is_no_gravity_from_below():
    urdf, rng = mujoco_arm.description('franka'), np.random.default_rng(7)
    t, q, v, a = mujoco_arm.motion(7, 1.6, 200.0, seed=7, speed=0.06, period=3.0)
    q = q - q.mean(0) + np.array([0.2, 0.0, 0.2, -1.6, 0.2, 1.8, 0.2])
    tau = mujoco_arm.torque(mujoco_arm.true_urdf(urdf, 7), q, v, a) + mujoco_arm.friction(
        v, 0.0, 0.3
    )
    tau += 0.05 * rng.standard_normal(tau.shape)
    tau += 0.01 * np.cumsum(rng.standard_normal(tau.shape), axis=0)
    recording = mujoco_arm.recording(mujoco_arm.joints_of(urdf), t, q, v, tau, 'upright', urdf)
    assert 'wrong mounting' not in [f.name for f in check([recording], OPTIONS).checks]


def test_laws_that_are_named_and_a_mounting_that_is_given_change_no_cause(arm):
    named = replace(
        OPTIONS, friction=('viscous', 'coulomb', 'offset', 'armature'), mounting='upright'
    )
    assert [f for f in check([arm], named).checks if f.severity != NOTE] == []
    late = check([_efforts(arm, lambda tau: np.roll(tau, 4, axis=0))], named)
    assert [f.name for f in late.checks if f.severity != NOTE] == ['effort delayed']
    negated = check([_efforts(arm, lambda tau: -tau)], named)
    assert [f.name for f in negated.checks if f.severity == WRONG] == ['effort negated']
