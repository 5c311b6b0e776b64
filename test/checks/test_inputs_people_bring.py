"""Recordings as people bring them: what they lack, and what is said of it."""

from dataclasses import replace

import numpy as np
import pytest
from recording_faults import columns, rebuilt

from ros_inertial_id.api.identify import check, identify
from ros_inertial_id.checks.check import check as check_recordings
from ros_inertial_id.cli.main import main
from ros_inertial_id.errors import RecordingError
from ros_inertial_id.identification.files import read_text
from ros_inertial_id.identification.settings import load_options


@pytest.mark.parametrize('order', [(2, 1, 0), (1, 2, 0)])
def test_joints_that_are_exchanged_whole_are_named(arm3, arm3_recording, order):
    """What the columns of a log without names are called in the order of the URDF."""
    _, channel, *_ = columns(arm3_recording)
    order = list(order)
    found = check(
        rebuilt(arm3_recording, **{name: x[:, order] for name, x in channel.fields.items()}),
        urdf=arm3[0],
    )
    assert [f.name for f in found.checks if f.severity == 'wrong'] == ['joints exchanged']
    named = [channel.names[k] for k in order]  # of the columns
    assert f'--joints {",".join(named)}' in found.text()


def test_a_joint_that_stands_costs_the_others_nothing(arm3, arm3_recording):
    """A parked axis: nearly exact positions, velocities and efforts in coarse steps."""
    moves = 3e-3  # [rad]
    _, channel, t, q, v, tau = columns(arm3_recording)
    q[:, 2], v[:, 2] = 0.3 + moves * np.sin(t), 0.05 * np.round(moves * np.cos(t) / 0.05)
    tau[:, 2] = 0.1 * (np.arange(len(t)) % 50 < 25)
    found = identify(rebuilt(arm3_recording, position=q, velocity=v, effort=tau), urdf=arm3[0])
    assert found.model.identified.preprocessing[0]['velocity'] == 'measured'
    said = {
        f.name: f.joints
        for f in found.checkup.checks
        if f.name not in ('gain of a joint', 'bodies other than described')
    }
    assert said.get('joints at rest') == (channel.names[2],), said
    assert not [
        name
        for name in said
        if name.startswith('velocity') or 'clipped' in name or 'quantised' in name
    ], said


def test_a_model_is_not_compared_with_friction_fitted_to_its_validation(arm3, arm3_recording):
    model = identify(arm3_recording, urdf=arm3[0]).model.identified
    options = load_options('', 'serial_arm')[1]
    assert check_recordings([arm3_recording], options, urdf=arm3[0], model=model).nominal == {}
    assert check_recordings([arm3_recording], options, urdf=arm3[0]).nominal


def test_efforts_without_a_sign_are_said(arm3, arm3_recording):
    _, channel, _, _, _, tau = columns(arm3_recording)
    found = check(rebuilt(arm3_recording, effort=np.abs(tau)), urdf=arm3[0])
    assert [f.name for f in found.checks if f.severity == 'wrong'] == ['efforts without sign']
    assert set(found.checks[0].joints) == set(channel.names)


def test_a_validation_without_velocities_differentiates(arm3, arm3_recording):
    topic, channel, *_ = columns(arm3_recording)
    late = channel.stamp_ns + 10**12
    other = replace(
        arm3_recording,
        channels={
            topic: replace(
                channel,
                stamp_ns=late,
                received_ns=late,
                fields={name: x for name, x in channel.fields.items() if name != 'velocity'},
            )
        },
    )
    found = identify(arm3_recording, urdf=arm3[0], validate=[other], velocity='measured')
    fit = found.model.statistics['validation']['filtered']
    assert (
        fit['relative_percent']
        < 1.5 * found.model.statistics['training']['filtered']['relative_percent'] + 0.5
    )


def test_efforts_that_a_log_names_as_currents_are_no_other_robot(arm3, arm3_recording):
    *_, tau = columns(arm3_recording)
    gains = 9.0, 40.0, 2.0
    strange = [0.3, 3.0, 0.4] * np.abs(tau).max(axis=0)  # more than gains: as friction may be
    torques = rebuilt(arm3_recording, effort=(tau + strange * np.sin(7.0 * tau)) / gains)
    assert 'this description does not explain' in check(torques, urdf=arm3[0]).text()
    currents, named = replace(torques, effort_kind='current'), 'the log names them as currents'
    assert named in check(currents, urdf=arm3[0]).text()
    assert named not in check(currents, urdf=arm3[0], drive_gain=gains).text()


def test_gains_that_are_given_are_named_where_they_are_wrong(arm3, arm3_recording):
    _, channel, _, _, _, tau = columns(arm3_recording)
    currents = replace(rebuilt(arm3_recording, effort=tau / 9.0), effort_kind='current')
    without = check(currents, urdf=arm3[0]).text()
    gains = [float(x) for x in without.split('drive_gain: [')[1].split(']')[0].split(', ')]
    np.testing.assert_allclose(gains, 9.0, rtol=0.3)  # as far as the described masses are right
    model = identify(currents, urdf=arm3[0], drive_gain=gains, effort_kind='current').model
    fit = model.statistics['cross_validation']  # of currents: torque over gain
    assert fit['relative_percent'] < 5.0
    wrong = check(currents, urdf=arm3[0], drive_gain=(3.0, 3.0, 3.0))  # kind: as was recorded
    assert 'the drive_gain: that is given is another' in wrong.text()
    right = check(currents, urdf=arm3[0], drive_gain=(9.0, 9.0, 9.0))
    assert right.verdict.word == 'good', right.text()


def test_a_clock_that_changes_says_how_to_take_the_longer_part(arm3, arm3_recording):
    _, channel, t, *_ = columns(arm3_recording)
    mixed = t + 8.0
    mixed[:4000] += 1.7e9
    broken = rebuilt(arm3_recording, t=mixed)
    with pytest.raises(RecordingError, match=r'BAG@:([0-9.]+) takes') as caught:
        identify(broken, urdf=arm3[0])
    end = float(str(caught.value).split('BAG@:')[1].split(' ')[0])
    part = broken.window(None, end)
    np.testing.assert_array_equal(
        part.channels['/joint_states'].fields['position'], channel.fields['position'][4000:-1]
    )


def test_a_clock_that_changes_early_costs_what_was_before_and_that_is_said(arm3, arm3_recording):
    _, _, t, *_ = columns(arm3_recording)
    mixed = t + 8.0
    mixed[:200] += 1.7e9
    found = check(rebuilt(arm3_recording, t=mixed), urdf=arm3[0])
    assert found.verdict.word == 'good'
    (note,) = [f for f in found.checks if f.name == 'clock set back']
    assert '98 % of the messages are used' in note.says


def test_verbs_take_logs_and_the_folder_of_a_result(arm3, arm3_motion, tmp_path, capsys):
    _, t, q, v, _, tau = arm3_motion
    log, urdf, out = tmp_path / 'log.npz', tmp_path / 'r.urdf', tmp_path / 'out'
    np.savez(log, t=t, q=q, v=v, tau=tau)
    urdf.write_text(arm3[0])
    assert main(['identify', f'{log}@:25', '--urdf', str(urdf), '--out', str(out)]) == 0
    assert main(['check', str(log), '--urdf', str(urdf)]) == 0
    assert main(['validate', str(out), f'{log}@25:']) == 0
    assert capsys.readouterr().out.count('good') >= 3
    assert read_text(out) == (out / 'model.yaml').read_text()
    assert main(['check', str(log)]) == 2
    assert 'no description of the robot' in capsys.readouterr().err
