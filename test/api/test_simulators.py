"""Robots without torque sensors: what MuJoCo simulated is found, and MuJoCo moves like it."""

from dataclasses import replace

import mjcf_runs
import mujoco
import numpy as np
import pytest
import servo_arms
import six_axis_arm
import yaml

import ros_inertial_id as rid


@pytest.fixture(scope='module')
def servos():
    return servo_arms.servos('arm3', 1)


@pytest.fixture(scope='module')
def model(servos):
    return rid.identify(
        servo_arms.recorded(servos, 1),
        effort_kind='command',
        stiffness=list(servos.stiffness),
        damping=list(servos.damping),
    ).model


def test_commands_gains_and_delay_stand_for_a_torque_sensor(servos, model):
    truth = {**mjcf_runs.truth(servos.urdf, {}), **servos.truth()}
    z = [
        (e['value'] - sum(c * truth.get(name, 0.0) for name, c in e['grouping'].items()))
        / e['standard_error']
        for e in model.identified.base
        if e['determined']
    ]
    assert len(z) > 15 and np.sqrt(np.mean(np.square(z))) < 1.3
    assert -model.identified.preprocessing[0]['time_offset'] == pytest.approx(
        servos.kind.delay, abs=1e-3
    )


def test_mujoco_moves_with_the_written_file_as_the_robot_did(servos, model, tmp_path):
    model.to_mjcf(tmp_path / 'arm.xml')
    other = servo_arms.recorded(servos, 9, 5.0)
    written = mujoco.MjModel.from_xml_path(str(tmp_path / 'arm.xml'))
    described = servos.model(servos.kind.urdf, friction=False)
    far, before = (
        np.linalg.norm(servo_arms.replayed(*case))
        for case in ((written, other), (described, other, servos.kind.delay))
    )
    assert far < 0.2 * before
    np.testing.assert_allclose(written.actuator_gainprm[:, 0], servos.stiffness)
    np.testing.assert_allclose(-written.actuator_biasprm[:, 2], servos.damping)
    np.testing.assert_allclose(written.actuator_forcerange[:, 1], [80.0, 80.0, 40.0])
    np.testing.assert_allclose(written.dof_frictionloss, servos.coulomb, rtol=0.2)


def test_mujoco_moves_as_well_where_the_damping_of_the_drives_is_unknown(servos, tmp_path):
    """Stiffness times error exceeds what they give: the damping takes the rest away."""
    recording = servo_arms.recorded(servos, 1)
    result = rid.identify(recording, effort_kind='command', stiffness=list(servos.stiffness))
    assert result.verdict.word == 'good'
    result.model.to_mjcf(tmp_path / 'arm.xml')
    written = mujoco.MjModel.from_xml_path(str(tmp_path / 'arm.xml'))
    other = servo_arms.recorded(servos, 9, 5.0)
    described = servos.model(servos.kind.urdf, friction=False)
    far = np.linalg.norm(servo_arms.replayed(written, other))
    assert far < 0.2 * np.linalg.norm(servo_arms.replayed(described, other, servos.kind.delay))
    assert not written.actuator_forcelimited.any()


def test_isaac_lab_gets_its_fields_and_the_errors_beside(servos, model, tmp_path):
    out = model.to_isaaclab(tmp_path / 'arm.yaml', physics_dt=0.002)
    assert yaml.safe_load((tmp_path / 'arm.yaml').read_text()) == out
    fields, errors = out['ImplicitActuatorCfg'], out['standard_errors']
    assert out['DelayedPDActuatorCfg'] == {'min_delay': 4, 'max_delay': 4}  # 8 ms
    for field, true in (('stiffness', servos.stiffness), ('damping', servos.damping)):
        np.testing.assert_allclose(list(fields[field].values()), true)
    for field, true in (('viscous_friction', servos.viscous), ('armature', servos.armature)):
        z = (np.array(list(fields[field].values())) - true) / list(errors[field].values())
        assert np.abs(z).max() < 3.0
    assert fields['friction'] == fields['dynamic_friction']
    assert fields['effort_limit_sim'] == dict(zip(servos.names, (80.0, 80.0, 40.0)))
    assert set(fields['velocity_limit_sim']) == set(fields['joint_names_expr'])


def test_legs_that_pull_the_wrong_way_may_stand_on_the_ground(monkeypatch):
    """To legs that carry a slow robot its feet are the base, and gravity points up."""
    pair = six_axis_arm.description('pair', servo_arms.LEGS[:6], servo_arms.NUMBERED, 0.04, 3)
    monkeypatch.setitem(
        servo_arms.KINDS,
        'pair',
        replace(servo_arms.KINDS['legs'], urdf=pair, home=(0.0, 0.8, -1.6) * 2),
    )
    legs = servo_arms.servos('pair', 1)
    recording = replace(servo_arms.recorded(legs, 1, 8.0), mounting='rpy 3.14159265 0 0')
    verdict = rid.check(
        recording,
        effort_kind='command',
        stiffness=list(legs.stiffness),
        damping=list(legs.damping),
    ).verdict
    assert verdict.word == 'do not use'
    assert 'or legs are in contact with the ground' in verdict.reasons[0]
