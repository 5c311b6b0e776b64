"""Test which velocities are used: those that predict best, and that the note says so."""

import mujoco_arm
import numpy as np
import pytest
from recording_faults import columns, rebuilt
from scipy.signal import butter, sosfilt

import ros_inertial_id as rid

DISAGREE = 'velocity_disagreement'


def _recording(seed=2, **noise):
    return mujoco_arm.recorded('arm3', seed, rate=250.0, **noise)


def _filtered(recording, cutoff, joints):
    """Return the recording with velocities of ``joints`` behind a causal low-pass."""
    _, _, t, _, v, _ = columns(recording)
    low_pass = butter(2, cutoff, fs=1.0 / np.median(np.diff(t)), output='sos')
    for j in joints:
        v[:, j] = v[0, j] + sosfilt(low_pass, v[:, j] - v[0, j])
    return rebuilt(recording, velocity=v)


def _relative(result):
    return result.identification.model.statistics['cross_validation']['relative_percent']


def _used(result):
    return result.identification.model.preprocessing[0]['velocity']


@pytest.mark.parametrize('cutoff, joints', [(5.0, (0, 1, 2)), (10.0, (0, 1, 2)), (5.0, (1,))])
def test_velocities_that_lag_are_not_used_and_this_is_said(cutoff, joints):
    whole, lagging = _recording(), _filtered(_recording(), cutoff, joints)
    result = rid.identify(lagging)
    assert _used(result) == 'differentiated'
    assert _relative(result) < 1.2 * _relative(rid.identify(whole))
    asked = rid.identify(lagging, velocity='measured')
    assert _relative(asked) > 2.0 * _relative(result)
    names = {f.name for f in result.checkup.checks}
    assert 'velocity not used' in names
    assert all(
        f.do == 'positions are differentiated instead'
        for f in result.checkup.checks
        if f.name == 'velocity delayed'
    )


def test_one_recording_of_two_that_lags_decides_for_both():
    result = rid.identify([_recording(5), _filtered(_recording(), 10.0, (0, 1, 2))])
    assert _used(result) == 'differentiated'
    assert len(result.identification.model.preprocessing) == 2


def test_velocities_without_a_lag_are_used_and_nothing_is_said():
    result = rid.identify(_recording())
    assert _used(result) == 'measured' and result.checkup.checks == ()


def test_velocities_beside_coarse_positions_are_used_and_this_is_said():
    recording = _recording(noise=(0.0, 1e-3))
    _, _, _, q, _, _ = columns(recording)
    coarse = rebuilt(recording, position=0.02 * np.round(q / 0.02))
    result = rid.identify(coarse)
    assert result.identification.model.preprocessing[0][DISAGREE] > 0.1
    assert _used(result) == 'measured'
    assert 'velocity used' in {f.name for f in result.checkup.checks}
    assert _relative(result) < _relative(rid.identify(coarse, velocity='differentiated'))
