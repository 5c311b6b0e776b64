"""The verdict of a model on other recordings of its robot, which are clean, is a good one."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.api.model import model_of
from ros_inertial_id.api.tasks import compare
from ros_inertial_id.checks.finding import DO_NOT_USE, GOOD
from ros_inertial_id.cli.main import main
from ros_inertial_id.cli.verbs import validated
from ros_inertial_id.errors import RecordingError
from ros_inertial_id.identification.identify import identify, validation
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.report.sheet import sheet_text
from ros_inertial_id.report.sheets import comparison_sheet

OPTIONS = load_options('', 'serial_arm')[1]


def _recorded(seed, rate, speed, turn=1.0, glitch=0.0):
    """
    Return 12 s of one 3R arm that is not its description, moved by MuJoCo, with friction.

    glitch : [N m] added to a single effort of the second joint
    """
    urdf = mujoco_arm.description('arm3')
    t, q, v, a = mujoco_arm.motion(3, 12.0, rate, seed=seed, speed=speed)
    rng, size = np.random.default_rng(seed), np.array([0.3, 6.0, 1.5])  # [N m]
    tau = mujoco_arm.torque(mujoco_arm.true_urdf(urdf, 4), q, v, a)
    tau = turn * (tau + size * mujoco_arm.friction(v, 0.1, 0.05))
    tau = tau + 0.005 * size * rng.standard_normal(tau.shape)
    tau[len(t) // 2, 1] += glitch
    return mujoco_arm.recording(mujoco_arm.joints_of(urdf), t, q, v, tau, 'upright', urdf)


@pytest.fixture(scope='module')
def model():
    """Return the IdentifiedModel of the arm from one motion."""
    return identify([_recorded(0, 200.0, 1.0)], OPTIONS).model


@pytest.mark.parametrize('rate, speed', [(100.0, 0.7), (250.0, 2.0)])
def test_clean_recordings_of_the_same_robot_are_good(model, rate, speed):
    other = _recorded(1, rate, speed)
    result = validated(model, [other])
    assert result.verdict['word'] == GOOD and result.checkup.checks == ()
    assert result.fit == validation(model, [other])[0]


def test_samples_that_the_checks_mask_are_not_predicted(model):
    """A glitch of 1 kN m in one sample of 2400 is no error of the model, and is said."""
    clean, bad = (_recorded(1, 200.0, 1.0, glitch=glitch) for glitch in (0.0, 1000.0))
    result = validated(model, [bad])
    expected, with_it, without_it = (
        fit['filtered']['relative_percent']
        for fit in (validation(model, [clean])[0], validation(model, [bad])[0], result.fit)
    )
    assert any(result.checkup.masked) and with_it > 5.0 * expected
    assert without_it < 1.1 * expected


def test_a_recording_with_negated_efforts_is_not_used(model):
    other = _recorded(1, 200.0, 1.0, turn=-1.0)
    result = validated(model, [other])
    assert result.verdict['word'] == DO_NOT_USE
    assert result.checkup.checks[0].name == 'effort negated'
    assert result.refused and not result.fit
    assert validated(model, [other], force=True).fit


def test_nothing_is_printed_of_a_recording_that_is_refused_but_by_force(model, tmp_path, capsys):
    other = _recorded(1, 200.0, 1.0, turn=-1.0)
    path = str(tmp_path / 'model.yaml')
    model_of(model).save(path)
    write_recording(tmp_path / 'bag', other)
    assert main(['validate', path, str(tmp_path / 'bag')]) == 0
    said = capsys.readouterr().out
    assert 'efforts of all joints are negated' in said and 'but by --force' in said
    assert 'RMS' not in said
    assert main(['validate', path, str(tmp_path / 'bag'), '--force']) == 0
    said = capsys.readouterr().out
    assert 'efforts of all joints are negated' in said and 'filtered: relative residual' in said
    with pytest.raises(RecordingError, match='cannot be used.*negated.*but by --force'):
        compare([path, path], other)
    forced = compare([path, path], other, force=True)
    assert forced.to_text().startswith('By force, though ') and forced.fits
    assert 'is refused: the efforts' in sheet_text(comparison_sheet(forced))
    with pytest.raises(RecordingError, match='cannot be used.*negated'):
        model_of(model).validate(other)
    assert model_of(model).validate(other, force=True)['filtered']


def test_a_model_of_other_masses_is_judged_and_not_the_recording(model):
    """Numbers say how wrong it is: nothing but its own masses speaks against the recording."""
    half = replace(model, values=0.5 * model.values)
    result = validated(half, [_recorded(1, 200.0, 1.0)])
    assert not result.refused and result.verdict['word'] == DO_NOT_USE
    assert result.fit['filtered']['relative_percent'] > 30.0
