"""What a model may be used for, and what its links weigh: held against what is true of the arm."""

from dataclasses import replace
from pathlib import Path
import re

import mujoco_arm
import numpy as np
import pinocchio
import pytest
from test_report import COULOMB, OPTIONS, record

from ros_inertial_id.api.model import model_of
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.report import outline
from ros_inertial_id.report.links import links_of
from ros_inertial_id.report.uses import (
    CONTACT,
    FEEDFORWARD,
    GOOD,
    GRAVITY,
    NO,
    SIMULATION,
    uses_of,
    WITH_CARE,
)


@pytest.fixture(scope='module')
def result():
    """Return the Identification of an arm that hangs from a wall, so that gravity acts."""
    wall = {'mounting': 'gravity 0 9.81 0', 'gravity': (0.0, 9.81, 0.0)}
    return identify(
        [record(**wall)], replace(OPTIONS, consistent=True), validate=[record(seed=1, **wall)]
    )


def test_the_torque_at_rest_is_as_wrong_as_is_said(result):
    model, uses = model_of(result.model), uses_of(result.model)
    urdf = mujoco_arm.true_urdf(mujoco_arm.description('arm2'), 3)
    ranges = [result.model.validity_range[j]['q'] for j in model.joint_names]
    q = np.random.default_rng(5).uniform(*np.transpose(ranges), (300, 2))
    # At rest the truth is gravity and the offset of the drive, which is known to be -0.2.
    true = mujoco_arm.torque(urdf, q, 0 * q, 0 * q, (0.0, 9.81, 0.0)) - 0.2
    wrong = np.sqrt(np.mean((model.torque(q, 0 * q, 0 * q) - true) ** 2, axis=0))
    for joint, error in zip(uses.joints, wrong):
        # Two standard errors hold nineteen of twenty; three more than that is no accident.
        assert error < 1.5 * joint.holding_error < 0.5
        assert joint.holding == pytest.approx(
            np.sqrt(np.mean(true[:, uses.joints.index(joint)] ** 2)), rel=0.2
        )
        assert joint.dry_friction == pytest.approx(COULOMB, rel=0.2)


def test_the_numbers_of_uses_are_those_of_the_validation(result):
    fit = result.model.statistics['validation']['filtered']
    for joint in uses_of(result.model).joints:
        assert joint.residual == fit['rms'][joint.name]
        assert joint.percent == pytest.approx(
            100 * joint.residual / fit['measured_rms'][joint.name]
        )
        assert joint.uses == dict.fromkeys((GRAVITY, FEEDFORWARD, CONTACT, SIMULATION), GOOD)
        # A residual of free motion reaches it once an hour: a normal one five times its RMS.
        assert 2 * joint.residual < joint.contact < 20 * joint.residual


def test_a_payload_of_the_mass_that_is_said_has_the_torque_of_two_standard_errors():
    model = identify([record('franka')], OPTIONS).model
    uses, arm = uses_of(model), pinocchio.buildModelFromXML(mujoco_arm.description('franka'))
    data = arm.createData()
    ranges = [model.validity_range[j]['q'] for j in model.robot['joints']]
    resolution = []
    for q in np.random.default_rng(5).uniform(*np.transpose(ranges), (300, len(ranges))):
        pinocchio.computeJointJacobians(arm, data, q)
        rise = pinocchio.getJointJacobian(
            arm, data, arm.njoints - 1, pinocchio.LOCAL_WORLD_ALIGNED
        )[2]
        resolution.append(
            sum(
                (9.81 * own) ** 2 / (joint.residual**2 + (joint.holding_error / 2) ** 2)
                for own, joint in zip(rise, uses.joints)
            )
        )
    # Other postures at random: a tenth.
    assert uses.payload == pytest.approx(2 / np.sqrt(np.mean(resolution)), rel=0.1)


@pytest.mark.parametrize('residual, grade', [(0.09, GOOD), (0.34, WITH_CARE), (0.51, NO)])
def test_grades_follow_the_residual_with_care_where_joints_differ(result, residual, grade):
    s = result.model.statistics
    fit = s['validation']['filtered']
    rms = {**fit['rms'], 'joint2': residual * fit['measured_rms']['joint2']}
    statistics = {**s, 'validation': {**s['validation'], 'filtered': {**fit, 'rms': rms}}}
    statistics['ratios_in_simulators'] = {'joint2': 1.0}
    uses = uses_of(replace(result.model, statistics=statistics))
    assert uses.joints[1].uses[FEEDFORWARD] == uses.joints[1].uses[SIMULATION] == grade
    assert uses.grades[FEEDFORWARD] == (GOOD if grade == GOOD else WITH_CARE)
    # By laws that leave six times as much, a simulator is not as good as the model.
    statistics['ratios_in_simulators'] = {'joint2': 6.0}
    simulated = uses_of(replace(result.model, statistics=statistics)).joints[1]
    assert simulated.uses[FEEDFORWARD] == grade and simulated.uses[SIMULATION] == NO
    row = next(row for row in uses.rows() if row[0] == FEEDFORWARD)
    assert f'{100 * residual:.0f}' in row[2] and row[4:] == ('10 %', '50 %')


def test_findings_that_say_wrong_are_no_to_every_use(result):
    finding = {
        'name': 'sign',
        'says': 'efforts of joint2 are negated',
        'tests': '',
        'evidence': 9.0,
        'unit': 'nats',
        'joints': ['joint2'],
        'severity': 'wrong',
        'do': 'negate',
        'windows': [],
        'recording': 0,
    }
    model = replace(result.model, statistics={**result.model.statistics, 'checks': [finding]})
    one, two = uses_of(model).joints
    assert set(two.uses.values()) == {NO} and one.uses[FEEDFORWARD] == GOOD
    assert any(
        'Feedforward: with care, no for joint2 (data found wrong) (' in text
        for text in uses_of(model).sentences()
    )
    assert len(uses_of(model).sentences()) <= 5
    verdict = {'word': 'do not use', 'reasons': ['efforts permuted'], 'joints': {}}
    uses = uses_of(replace(model, statistics={**result.model.statistics, 'verdict': verdict}))
    assert {use for joint in uses.joints for use in joint.uses.values()} == {NO}
    assert uses.sentences() == [
        'Uses: none, the verdict is "do not use"; correct what it names, then identify again.'
    ]


def test_bodies_that_may_be_impossible_are_no_simulation():
    model = identify([record()], replace(OPTIONS, estimator='weighted')).model
    uses = uses_of(model)
    assert uses.grades[SIMULATION] == NO
    assert any('identify with --consistent' in text for text in uses.sentences())


def test_links_hold_the_truth_within_their_errors(result):
    truth = load_robot_model(mujoco_arm.true_urdf(mujoco_arm.description('arm2'), 3))
    links = links_of(result.model)
    assert [link.name for link in links] == list(truth.link_names)
    for link, ten in zip(links, truth.inertias):
        mass, centre = ten[0], ten[1:4] / ten[0]
        true = np.array([mass, *centre])
        assert np.all(abs(link.values[:4] - true) < 4 * link.errors[:4])


def test_every_number_for_programs_is_documented(result):
    text = (Path(__file__).parents[2] / 'doc' / 'json.md').read_text(encoding='utf-8')
    table = text.split('## identify')[1].split('##')[0]
    rows = [line.split('|') for line in table.split('\n') if line.startswith('| `')]
    documented = {key for row in rows for key in re.findall(r'`(\w+)`', row[1])}
    assert set(outline(result.model)) <= documented
    inside = {key for row in rows for key in re.findall(r'`(\w+)`', row[2])}
    for name in ('uses', 'base_parameters', 'links'):
        entry = outline(result.model)[name]
        for one in [entry, *entry['joints']] if name == 'uses' else entry:
            assert set(one) <= inside, name
