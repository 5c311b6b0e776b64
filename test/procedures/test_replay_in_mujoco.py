"""A replay says how far a model drifts that gets what the robot got, and grades simulation."""

import json
import sys

import mujoco
import mujoco_arm
import numpy as np
import pytest
import servo_arms

import ros_inertial_id as rid
from ros_inertial_id.cli.main import main
from ros_inertial_id.errors import InertialIdError
from ros_inertial_id.identification.identified_model import DESCRIBED, IdentifiedModel, MODEL
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.procedures.replay import replayed, Track

LATE = 0.005  # [s]


@pytest.fixture(scope='module')
def servos():
    return servo_arms.servos('arm3', 2)


@pytest.fixture(scope='module')
def other(servos):
    return servo_arms.recorded(servos, 52, 6.0)


@pytest.fixture(scope='module')
def result(servos, other):
    return rid.identify(
        servo_arms.recorded(servos, 2),
        validate=other,
        effort_kind='command',
        stiffness=list(servos.stiffness),
        damping=list(servos.damping),
    )


def _truth(servos, later=0.0):
    """Return the MJCF text of the robot that moved, its commands ``later`` [s] than they were."""
    spec = servos.spec()
    for actuator in spec.actuators:
        actuator.delay, actuator.nsample = servos.kind.delay + later, 40
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.compile()
    return spec.to_xml()


def _rms(replay, who=MODEL):
    return float(np.sqrt(np.mean(replay.tracks[who].rms ** 2)))


def test_an_identified_robot_moves_like_the_true_one_and_its_description_does_not(
    servos, other, result
):
    replay = result.model.replay(other)
    assert len(replay.t) == 2 and replay.commanded  # less than two seconds are left of six
    true = _rms(replayed(result.model.identified, [other], _truth(servos)))
    assert _rms(replay) < min(2.5 * true, 0.05 * _rms(replay, DESCRIBED))


def test_what_acts_late_drifts_by_its_speed_times_that(servos, other, result):
    replay = replayed(result.model.identified, [other], _truth(servos, LATE))
    t, q = replay.t[0], replay.measured
    speed = np.sqrt((np.gradient(q, t, axis=1) ** 2).mean(axis=(0, 1)))
    np.testing.assert_allclose(replay.tracks[MODEL].rms, LATE * speed, rtol=0.15)


def test_drift_is_that_after_so_many_seconds():
    error = np.zeros((2, 200, 1))
    error[:, 9] = [[3.0], [4.0]]  # the tenth of samples a hundredth of a second apart
    error[0, -1] = 1.0
    track = Track(error)
    assert track.drift(0.1) == pytest.approx(np.sqrt(12.5))
    assert track.drift(0.5) == 0.0
    assert track.drift(2.0) == pytest.approx(np.sqrt(0.5))
    assert track.rms == pytest.approx(np.sqrt(26.0 / 400.0))


def test_a_report_from_commands_has_the_replay_and_simulation_is_graded_by_it(result, tmp_path):
    entry = result.model.statistics['replay']
    assert list(entry['joints']) == ['joint1', 'joint2', 'joint3']
    again = IdentifiedModel.from_yaml(result.model.identified.to_yaml())
    assert again.statistics['replay'] == entry
    percents = [100.0 * x[MODEL]['rms'] / x['motion'] for x in entry['joints'].values()]
    uses = result.uses
    assert [joint.replay_percent for joint in uses.joints] == pytest.approx(percents)
    assert uses.grades['simulation'] == 'good'
    assert any('replay error to motion' in sentence for sentence in uses.sentences())
    page = (tmp_path / 'page.html').resolve()
    result.report(page)
    text = page.read_text()
    assert 'Replay in a simulator' in text and 'Worst joint, joint' in text


def test_measured_torques_are_followed_and_grade_nothing():
    training, other = (mujoco_arm.recorded('arm3', seed) for seed in (1, 2))
    model = rid.identify(training).model
    replay = model.replay(other)
    assert not replay.commanded
    assert _rms(replay) < _rms(replay, DESCRIBED)
    model.identified.statistics['replay'] = replay.entry()
    sentences = ' '.join(rid.Model(model.identified, model.gravity_base).uses.sentences())
    assert 'laws that MuJoCo holds' in sentences and 'replay error' not in sentences


def test_validate_prints_it_or_what_to_install(result, other, tmp_path, capsys, monkeypatch):
    write_recording(tmp_path / 'bag', other)
    result.model.save(tmp_path / 'model.yaml')
    words = ['validate', str(tmp_path / 'model.yaml'), str(tmp_path / 'bag'), '--replay']
    assert main([*words, '--json']) == 0
    entry = json.loads(capsys.readouterr().out)['replay']
    assert (
        entry['all']['model']['drift']
        == result.model.statistics['replay']['all']['model']['drift']
    )
    assert 'worst' not in entry
    assert main(words) == 0
    assert 'drift after 0.1, 0.5 and 2 s' in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    assert main(words) == 2
    assert 'pip install "ros_inertial_id[sim]"' in capsys.readouterr().err
    with pytest.raises(InertialIdError, match='a replay needs MuJoCo'):
        result.model.replay(other)
