"""The budget of uncertainty: what gains, zeros and a tilt add to what a recording shows."""

import re

import mujoco_arm
import numpy as np
import pytest
from recording_faults import columns, rebuilt
import sampled_arm

from ros_inertial_id.api.identify import identify
from ros_inertial_id.checks.finding import GOOD
from ros_inertial_id.identification.identified_model import IdentifiedModel

GRAVITY = 9.81
TILT, ZERO, GAIN = 0.0035, 0.00175, 0.01  # [rad], [rad], 1: standard deviations of the budget


def _arm(seed, monkeypatch, gravity=(0.0, 0.0, -GRAVITY)):
    """Return URDF and Recording of a 3R arm under ``gravity`` that is called upright."""
    rng = np.random.default_rng(seed)
    urdf = mujoco_arm.true_urdf(mujoco_arm.description('arm3'), seed)
    motion = sampled_arm.Motion(3, 0.8, rng)
    upright = sampled_arm.torque

    def torque(urdf, q, v, a):
        bodies = mujoco_arm.torque(urdf, q, v, a, gravity) - mujoco_arm.torque(urdf, q, v, a)
        return upright(urdf, q, v, a) + bodies

    with monkeypatch.context() as patch:
        patch.setattr(sampled_arm, 'torque', torque)
        return urdf, sampled_arm.sampled(urdf, motion, 200.0, 20.0, rng)


def _scores(model, urdf):
    """Return the errors of base parameters in standard errors, and in combined ones."""
    names = [entry['name'] for entry in model.base]
    truth = dict(zip(names, sampled_arm.truth(urdf, names)))
    found = [entry for entry in model.base if entry['determined']]
    errors = np.array([entry['value'] - truth[entry['name']] for entry in found])
    by_statistics = np.array([entry['standard_error'] for entry in found])
    return errors / by_statistics, errors / np.array([e['combined_error'] for e in found])


@pytest.mark.parametrize('joint', range(3))
def test_a_gain_that_the_recording_shows_is_found_and_held(joint, monkeypatch):
    urdf, recording = _arm(1, monkeypatch)
    tau = columns(recording)[-1]
    tau[:, joint] *= 1.1
    model = identify(rebuilt(recording, effort=tau)).model.identified
    by_statistics, combined = _scores(model, urdf)
    assert abs(by_statistics).max() > 4.0
    assert abs(combined).max() < 2.5
    gains = [n for n in model.statistics['nuisances'] if n['what'] == 'gain of a joint']
    values = np.array([n['value'] for n in gains])
    # The scale of all three is known to 1 % / sqrt(3).
    np.testing.assert_allclose(values, 0.1 * (np.arange(3) == joint), atol=0.02)


@pytest.mark.parametrize('calibration, held', [((), True), ((0.01,), False)])
def test_a_gain_that_no_recording_shows_is_held_unless_a_calibration_is_given(calibration, held):
    """Its friction has most of the torque of a wrist's last joint, which no other joint shows."""
    described = mujoco_arm.description('franka')
    urdf = mujoco_arm.true_urdf(described, 2)
    rng = np.random.default_rng(2)
    motion = sampled_arm.Motion(7, 1.0, rng)
    recording = sampled_arm.sampled(urdf, motion, 100.0, 20.0, rng)
    tau = columns(recording)[-1]
    tau[:, 6] *= 1.2
    result = identify(rebuilt(recording, effort=tau), calibration=list(calibration))
    assert result.verdict.word == GOOD  # nothing speaks against it
    _, combined = _scores(result.model.identified, urdf)
    assert (abs(combined).max() < 3.0) == held
    unsure = re.search(
        r'not show the effort scale of fr3_joint7: friction there is uncertain by up to (\S+) %',
        ' '.join(result.summary().split()),
    )
    assert (float(unsure[1]) > 10.0) == held


def test_combined_errors_hold_the_truth_of_arms_as_they_are_set_up(monkeypatch):
    """Gains, zeros and tilt are drawn as the budget has them: 95 %, where bse holds 73."""
    statistics, combined = [], []
    for seed in range(5):
        rng = np.random.default_rng(500 + seed)
        tilt = TILT * rng.standard_normal(2)
        urdf, recording = _arm(seed, monkeypatch, (*(GRAVITY * tilt), -GRAVITY))
        *_, q, _, tau = columns(recording)
        tau *= 1.0 + GAIN * rng.standard_normal(3)
        q += ZERO * rng.standard_normal(3)
        model = identify(rebuilt(recording, effort=tau, position=q)).model.identified
        for scores, out in zip(_scores(model, urdf), (statistics, combined)):
            out.extend(scores)
    # 130 parameters move with five times nine numbers that were drawn.
    assert np.mean(np.abs(statistics) < 1.96) < 0.85
    assert 0.9 < np.mean(np.abs(combined) < 1.96)
    assert 0.7 < np.sqrt(np.mean(np.square(combined))) < 1.2


def test_a_calibration_takes_the_place_of_one_percent(monkeypatch):
    _, recording = _arm(2, monkeypatch)
    usual = identify(recording).model.identified.base
    known = identify(recording, calibration=[0.002]).model.identified.base
    for before, after in zip(usual, known):
        ratio = after['budget']['gains'] / before['budget']['gains']
        assert ratio == pytest.approx(0.2, rel=0.01)


def test_gains_of_described_masses_carry_the_error_of_their_scale(monkeypatch):
    """All parameters grow with a scale that all efforts share, each by as much."""
    _, recording = _arm(2, monkeypatch)
    gains = np.array([5.0, 8.0, 12.0])
    currents = rebuilt(recording, effort=columns(recording)[-1] / gains)
    drives = {'effort_kind': 'current', 'drive_gain': gains.tolist()}
    model = identify(currents, calibration=[0.15], **drives).model
    sure = model.bse < 0.02 * abs(model.base_parameters.value)
    assert sure.sum() > 8
    scale = model.budget['scale'][sure]
    np.testing.assert_allclose(scale, 0.15 * abs(model.base_parameters.value[sure]), rtol=0.1)
    assert (model.combined >= model.bse).all()


def test_a_model_says_which_gain_is_wrong_and_what_would_help(monkeypatch):
    _, recording = _arm(1, monkeypatch)
    tau = columns(recording)[-1]
    tau[:, 1] *= 1.1
    result = identify(rebuilt(recording, effort=tau))
    text = ' '.join(result.summary().split())
    said = re.search(r'show them: joint2 seems scaled by (\S+) ± (\S+)\.', text)
    assert float(said[1]) == pytest.approx(1.1, abs=3.0 * float(said[2]))
    assert "by the scale of each joint's efforts: calibrate the efforts" in text


def test_contributions_add_in_squares_and_the_file_keeps_them(monkeypatch):
    _, recording = _arm(2, monkeypatch)
    model = identify(recording).model.identified
    again = IdentifiedModel.from_yaml(model.to_yaml())
    covariance = again.combined_covariance
    np.testing.assert_allclose(covariance, model.combined_covariance)
    for entry, variance in zip(again.base, np.diag(covariance)):
        squares = sum(error**2 for error in entry['budget'].values())
        assert entry['combined_error'] ** 2 == pytest.approx(squares)
        # The standard error may hold more than the covariance does.
        assert variance <= squares * (1.0 + 1e-9)
    del again.statistics['systematic_errors']  # as in older files
    np.testing.assert_array_equal(again.combined_covariance, again.covariance)
