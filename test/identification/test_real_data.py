"""
The bars of issue 2 on recordings of real robots, with default options, and their verdicts.

They are what the best peer or plain code reached on the same samples (PEERS.md).
"""

import mujoco_arm
import numpy as np
import pytest
from recording_faults import FAULTS

from ros_inertial_id.checks.check import check
from ros_inertial_id.checks.finding import NOTE, USABLE
from ros_inertial_id.cli.verbs import validated
from ros_inertial_id.identification.identify import identify, validation
from ros_inertial_id.identification.settings import options_class

DEFAULTS = options_class('serial_arm')()
KUKA = tuple(f'lwr_{i}_joint' for i in range(7))
PANDA = tuple(f'panda_joint{i}' for i in range(1, 8))


@pytest.fixture(scope='module')
def kuka(shared_data):
    """Return (Identification of measurement 1, Recording of measurement 2)."""
    urdf = (shared_data / 'kuka_lwr4' / 'kuka_lwr4.urdf').read_text()
    first, second = (mujoco_arm.real(f'kuka_lwr4/measurement_{k}.npz', KUKA) for k in (1, 2))
    return identify([first], DEFAULTS, urdf=urdf, validate=[second]), second


@pytest.fixture(scope='module')
def panda(shared_data):
    """Return the Identification of the first 60 %, judged by the last 40 %."""
    urdf = (shared_data / 'panda' / 'panda.urdf').read_text()
    recording = mujoco_arm.real('panda/excitation.npz', PANDA)
    stamps = recording.channels['/joint_states'].stamp_ns
    cut = (stamps[int(0.6 * len(stamps))] - stamps[0]) * 1e-9
    return identify(
        [recording.window(0.0, cut)], DEFAULTS, urdf=urdf, validate=[recording.window(cut, None)]
    )


def test_kuka_beats_plain_code_in_the_excited_region(kuka):
    found, second = kuka
    stamps = second.channels['/joint_states'].stamp_ns
    start, end = ((stamps[k] - stamps[0]) * 1e-9 for k in (550, -50))
    trimmed, _ = validation(found.model, [second.window(start, end)])
    assert trimmed['filtered']['relative_percent'] <= 1.81


def test_kuka_beats_the_best_peer_with_the_start_up_transient(kuka):
    full = kuka[0].model.statistics['validation']
    assert full['filtered']['relative_percent'] <= 2.40
    assert full['filtered']['samples'] == pytest.approx(5027, abs=5)  # nothing trimmed


@pytest.mark.parametrize('number', [2, 3])
def test_another_clean_recording_of_the_kuka_is_usable(kuka, number):
    other = mujoco_arm.real(f'kuka_lwr4/measurement_{number}.npz', KUKA)
    result = validated(kuka[0].model, [other])
    # Of the wrist friction is left that no law explains; nothing is wrong with the recording.
    assert result.verdict['word'] == USABLE
    assert {f.severity for f in result.checkup.checks} == {NOTE}


def test_a_push_of_half_a_standard_deviation_is_found_on_the_kuka(kuka, shared_data):
    urdf = (shared_data / 'kuka_lwr4' / 'kuka_lwr4.urdf').read_text()
    first = mujoco_arm.real('kuka_lwr4/measurement_1.npz', KUKA)
    pushed, _, (start, end) = FAULTS['contact'][0](first, DEFAULTS, 0, np.random.default_rng(0))
    (found,) = (f for f in check([pushed], DEFAULTS, urdf=urdf).checks if f.name == 'contact')
    assert found.windows == (pytest.approx((start, end), abs=0.2),)


def test_panda_beats_plain_code_filtered_and_raw(panda):
    residuals = panda.model.statistics['validation']
    assert residuals['filtered']['relative_percent'] <= 1.34
    assert residuals['raw']['relative_percent'] <= 2.71


def test_panda_uses_the_measured_velocities_it_was_given(panda):
    assert panda.model.preprocessing[0]['velocity'] == 'measured'
    assert panda.model.preprocessing[0]['missing'] > 100  # packets were lost
