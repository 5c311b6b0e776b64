"""Offsets and gains that drift or jump, and loads that come or go, are named as what they are."""

from dataclasses import replace
import re

import mujoco_arm
import numpy as np
import pytest
from recording_faults import columns, load_torque, rebuilt

from ros_inertial_id.checks.causes import OR
from ros_inertial_id.checks.check import check
from ros_inertial_id.checks.finding import DO_NOT_USE, NOTE, USABLE
from ros_inertial_id.identification.settings import load_options

OPTIONS = load_options('', 'serial_arm')[1]
NAMES = (
    'effort offset drifts',
    'effort offset jumps',
    'effort gain drifts',
    'effort gain jumps',
    'load changes',
)


@pytest.fixture(scope='module')
def arm():
    """Return 20 s of three joints."""
    return mujoco_arm.recorded('arm3', 5)


@pytest.fixture(scope='module')
def kuka(shared_data):
    """Return the Recording of a real arm, whose model lacks a lot."""
    recording = mujoco_arm.real(
        'kuka_lwr4/measurement_1.npz', tuple(f'lwr_{k}_joint' for k in range(7))
    )
    urdf = (shared_data / 'kuka_lwr4/kuka_lwr4.urdf').read_text()
    return replace(recording, robot_description=urdf)


def _changed(recording, change):
    """Return a recording with ``change`` (t from 0 to 1, tau, its deviations) of its efforts."""
    _, _, t, _, _, tau = columns(recording)
    return rebuilt(recording, effort=change(t / t[-1], tau, tau.std(0)))


def _drifting(t, tau, size):
    tau[:, 1] += 0.4 * size[1] * t
    return tau


def _jumping(t, tau, size):
    tau[:, 1] += 0.4 * size[1] * (t > 0.6)
    return tau


def _switched(t, tau, size):
    tau[:, 1] *= np.where(t > 0.5, 1.2, 1.0)
    return tau


def _weakening(t, tau, size):
    return tau * (1.0 - 0.1 * t)[:, None]


def _loud(recording):
    """Return the Checkup of a ``recording``, and its findings that are no notes."""
    checkup = check([recording], OPTIONS)
    return checkup, [finding for finding in checkup.checks if finding.severity != NOTE]


@pytest.mark.parametrize(
    'change, name, joints',
    [
        (_drifting, 'effort offset drifts', ['joint2']),
        (_jumping, 'effort offset jumps', ['joint2']),
        (_switched, 'effort gain jumps', ['joint2']),
        (_weakening, 'effort gain drifts', ['joint1', 'joint2', 'joint3']),
    ],
)
def test_what_changes_in_time_is_named(arm, change, name, joints):
    checkup, (finding,) = _loud(_changed(arm, change))
    assert (finding.name, list(finding.joints)) == (name, joints)
    for joint in joints:
        assert checkup.joints[joint].word == USABLE
        assert checkup.joints[joint].reasons[0] == finding.says


def test_the_size_of_a_drift_is_in_its_sentence(arm):
    """Of 0.4 of the joint's own deviation; what bodies absorb of it is a tenth."""
    size = columns(arm)[-1][:, 1].std()
    _, (finding,) = _loud(_changed(arm, _drifting))
    assert finding.joints == ('joint2',)
    said = float(finding.says.split(' drift by ')[1].split()[0])
    assert said == pytest.approx(0.4 * size, rel=0.1)


def test_the_size_of_a_jump_of_a_gain_is_in_its_sentence(arm):
    """By 20 % at half of 20 s, relative to the mean of both; a piece of time is 1.25 s."""
    _, (finding,) = _loud(_changed(arm, _switched))
    percent, start = re.search(r'change by \+(\S+) % about (\S+) s', finding.says).groups()
    assert float(percent) == pytest.approx(100.0 * 0.2 / 1.1, rel=0.1)
    assert float(start) == pytest.approx(10.0, abs=20.0 / 16.0)


def test_a_load_that_is_picked_up_is_no_jump_of_a_sensor(arm):
    _, _, t, _, _, tau = columns(arm)
    names, torque = load_torque(arm, 1.0)
    tau[:, names] += torque * (t > 10.0)[:, None]
    _, (finding,) = _loud(rebuilt(arm, effort=tau))
    assert finding.name == 'load changes'
    mass, start = finding.says.split(' changes by ')[1].split(' kg about ')
    assert float(mass) == pytest.approx(1.0, rel=0.1)
    assert float(start.split()[0]) == pytest.approx(10.0, abs=20.0 / 16.0)  # a piece of time


def test_what_a_small_motion_does_not_tell_apart_is_said_together():
    """Where an elbow hardly moves, a load, an offset and a gain of the shoulder are one torque."""
    urdf = mujoco_arm.description('arm3')
    rng = np.random.default_rng(1)
    t, q, v, a = mujoco_arm.motion(3, 20.0, 200.0, seed=5, speed=0.3)
    tau = mujoco_arm.torque(mujoco_arm.true_urdf(urdf, 5), q, v, a)
    size = tau.std(0)
    tau += size * (0.5 * v + 0.1 * np.tanh(v / 0.01) + 0.003 * rng.standard_normal(tau.shape))
    tau[:, 1] += 0.5 * size[1] * (t > 10.0)
    names = mujoco_arm.joints_of(urdf)
    _, (finding,) = _loud(mujoco_arm.measured(rng, names, t, q, v, tau, urdf=urdf))
    jump, gain, load = finding.says.split(OR)
    assert 'joint2 jump by' in jump and 'joint2 change by' in gain
    assert 'what the last link carries changes' in load


@pytest.mark.parametrize('start, end', [(0.0, 30.0), (2.5, 20.0)])
def test_a_sound_arm_whose_model_lacks_a_lot_changes_nothing_in_time(kuka, start, end):
    checkup, _ = _loud(kuka.window(start, end))
    assert checkup.verdict.word == USABLE
    assert not {finding.name for finding in checkup.checks}.intersection(NAMES)


def test_friction_that_falls_while_it_warms_is_no_drift_of_an_offset(arm):
    """A third of viscous friction within the recording: bodies and offsets are the same."""
    _, _, t, _, v, tau = columns(arm)
    warming = 1.0 - np.exp(-t / 8.0)
    tau -= 0.05 * tau.std(0) * v * warming[:, None]
    checkup, _ = _loud(rebuilt(arm, effort=tau))
    assert not {finding.name for finding in checkup.checks}.intersection(NAMES)


@pytest.mark.parametrize(
    'change, name, word',
    [
        (_drifting, 'effort offset drifts', DO_NOT_USE),
        (_jumping, 'effort offset jumps', DO_NOT_USE),
        (_switched, 'effort gain jumps', USABLE),
    ],
)
def test_a_real_arm_with_a_fault_is_told_from_the_sound_one(kuka, change, name, word):
    """Sound it is usable: see above.  The shoulder has most of all torque: nothing is left."""
    checkup, (finding,) = _loud(_changed(kuka, change))
    assert (finding.name, checkup.verdict.word) == (name, word)
    assert checkup.verdict.reasons[0] == finding.says
