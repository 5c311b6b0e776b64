"""Currents become torques by a known load or a known gain, and by nothing less."""

from dataclasses import replace
import re

from loaded_arm import CENTER, gains, INERTIA, loaded, MASS, record
import mujoco_arm
import numpy as np
import pytest
from recordings import altered

from ros_inertial_id.errors import ConfigError, EstimationError, RecordingError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.procedures.drive_gains import (
    forced_drive_gains,
    identify_drive_gains,
    KnownLoad,
    load_parameters,
    NO_LOAD,
)


def options():
    """Return options with viscous and Coulomb friction."""
    return replace(
        options_class('serial_arm')(), friction=('viscous', 'coulomb'), coulomb_width=0.02
    )


def test_a_known_load_gives_gains_within_their_errors(arm3):
    urdf, true = arm3
    load, z = KnownLoad(load_parameters(MASS, CENTER, INERTIA)), []
    for seed in range(6):
        found = identify_drive_gains(
            [(record(true, seed), NO_LOAD), (record(loaded(true), 100 + seed), load)],
            options(),
            urdf=urdf,
        )
        value, error = (np.array(list(x.values())) for x in (found.gains, found.gain_errors))
        np.testing.assert_allclose(value, gains(), rtol=0.01)
        z += list((value - gains()) / error)
    assert 0.4 < np.sqrt(np.mean(np.square(z))) < 1.8  # 18 values, three of a run not independent


def test_the_mass_of_a_load_will_do(arm3):
    urdf, true = arm3
    found = identify_drive_gains(
        [(record(true, 7), NO_LOAD), (record(loaded(true), 8), KnownLoad.of_mass(MASS))],
        options(),
        urdf=urdf,
    )
    value, error = (np.array(list(x.values())) for x in (found.gains, found.gain_errors))
    np.testing.assert_allclose(value, gains(), rtol=0.02)
    assert (np.abs(value - gains()) < 3.5 * error).all()
    first, error = found.params[-9:-6], np.sqrt(np.diag(found.cov_params))[-9:-6]
    assert (np.abs(first - MASS * np.array(CENTER)) < 3.5 * error + 1e-9).all()


def test_one_gain_of_the_datasheet_gives_the_others(arm3):
    urdf, true = arm3
    found = identify_drive_gains(
        [(record(true, 1), NO_LOAD)], options(), urdf=urdf, known={'joint2': 8.0}
    )
    assert found.gains['joint2'] == 8.0 and found.gain_errors['joint2'] == 0.0
    for k, joint in ((0, 'joint1'), (2, 'joint3')):
        assert found.gains[joint] == pytest.approx(gains()[k], rel=0.02)
        assert abs(found.gains[joint] - gains()[k]) < 4 * found.gain_errors[joint]


def test_gains_turn_currents_into_the_torques_of_a_plain_identification(arm3):
    urdf, true = arm3
    load = KnownLoad(load_parameters(MASS, CENTER, INERTIA))
    bare = record(true, 2)
    found = identify_drive_gains(
        [(bare, NO_LOAD), (record(loaded(true), 3), load)], options(), urdf=urdf
    )
    drive = replace(
        options(),
        effort_kind='current',
        estimator='weighted',
        drive_gain=tuple(found.gains.values()),
    )
    model = identify([bare], drive, urdf=urdf).model
    values = np.array([entry['value'] for entry in model.base])
    assert np.abs(values - found.params).max() < 0.02 * np.abs(values).max()


def test_without_load_and_gain_the_described_masses_fix_the_scale(arm3):
    """The description is that of a lighter and heavier arm by turns; without one nothing is."""
    urdf, true = arm3
    bare = record(true, 4)
    found = identify_drive_gains([(bare, NO_LOAD)], options(), urdf=true)
    value, error = (np.array(list(x.values())) for x in (found.gains, found.gain_errors))
    np.testing.assert_allclose(value, gains(), rtol=0.02)
    assert found.described and (error > 0.1 * value).all()  # as sure as masses are described
    heavier = re.sub('mass value="(.*?)"', lambda m: f'mass value="{1.1 * float(m[1])}"', true)
    other = identify_drive_gains([(bare, NO_LOAD)], options(), urdf=heavier)
    assert (np.array(list(other.gains.values())) > 1.04 * value).all()
    with pytest.raises(EstimationError, match='cannot be known.*ratios.*known load'):
        identify_drive_gains(
            [(bare, NO_LOAD)],
            options(),
            urdf=re.sub('<inertial>.*?</inertial>', '', true, flags=re.DOTALL),
        )


def test_a_load_that_was_not_there_is_refused(arm3):
    """Two recordings of the bare arm: gains without end would explain that no load is felt."""
    urdf, true = arm3
    load = KnownLoad(load_parameters(MASS, CENTER, INERTIA))
    with pytest.raises(EstimationError, match='do not show the known load.*3 standard errors'):
        identify_drive_gains(
            [(record(true, 4), NO_LOAD), (record(true, 5), load)], options(), urdf=urdf
        )


def test_a_gain_of_a_joint_that_is_not_there_is_refused(arm3):
    urdf, true = arm3
    with pytest.raises(EstimationError, match='elbow.*joint1, joint2, joint3'):
        identify_drive_gains(
            [(record(true, 4), NO_LOAD)], options(), urdf=urdf, known={'elbow': 1.0}
        )


def test_a_load_without_mass_is_refused():
    with pytest.raises(ConfigError, match='above 0 kg'):
        load_parameters(0.0, CENTER)


def test_joints_that_nothing_couples_to_a_known_gain_are_named():
    sliders = (
        '<robot name="gantry"><link name="base"/>'
        + ''.join(
            f'<link name="l{k}"><inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" '
            f'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j{k}" type="continuous">'
            f'<parent link="base"/><child link="l{k}"/><origin xyz="0 {k} 0"/><axis xyz="1 0 0"/>'
            f'</joint>'
            for k in (1, 2)
        )
        + '</robot>'
    )
    t, q, v, a = mujoco_arm.motion(2, 20, 100, speed=1.0)
    tau = mujoco_arm.torque(sliders, q, v, a)
    recording = mujoco_arm.recording(('j1', 'j2'), t, q, v, tau)
    with pytest.raises(EstimationError, match='do not show the gains.*j2'):
        identify_drive_gains(
            [(recording, NO_LOAD)],
            replace(options(), friction=()),
            urdf=sliders,
            known={'j1': 1.0},
        )


@pytest.mark.parametrize('order', [[0, 2, 1], [1, 0, 2], [2, 1, 0]])
def test_currents_of_other_joints_give_no_gains_but_by_force(arm3, order):
    urdf, true = arm3
    load = KnownLoad(load_parameters(MASS, CENTER, INERTIA))
    recordings = []
    for recording in (record(true, 0), record(loaded(true), 100)):
        (channel,) = recording.channels.values()
        recordings.append(altered(recording, effort=channel.fields['effort'][:, order]))
    pairs = list(zip(recordings, (NO_LOAD, load)))
    with pytest.raises(RecordingError, match='cannot be used.*but by --force'):
        identify_drive_gains(pairs, options(), urdf=urdf)
    assert forced_drive_gains(pairs, options(), urdf=urdf).forced
