"""Natural frequencies: of MuJoCo's rig, of free decays, and what they say about the links."""

from dataclasses import replace
import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
import yaml

from ros_inertial_id.cli.main import main
from ros_inertial_id.dynamics.inertial_parameters import SYMBOLS
from ros_inertial_id.errors import ConfigError, EstimationError, RecordingError
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.calibration import natural_frequencies
from ros_inertial_id.rigs.calibration.natural_frequencies import identify_frequencies
from ros_inertial_id.rigs.dynamics.rigid_bodies import Suspension, vibration
from ros_inertial_id.rigs.suspended_platform.held_frequencies import decaying_modes
from ros_inertial_id.rigs.suspended_platform.held_frequencies import (frequencies_of,
                                                                      HeldFrequencies,
                                                                      read_frequencies)
from ros_inertial_id.rigs.suspended_platform.postures import platform_poses

pytest.importorskip('mujoco', reason='the simulated platform needs mujoco')
from ros_inertial_id.rigs.simulation import two_link_platform as rig  # noqa: E402
from ros_inertial_id.rigs.simulation.platform import PlatformOptions, PlatformRig  # noqa: E402
from ros_inertial_id.rigs.simulation.sensors import IMU  # noqa: E402

suspended_platform = METHODS['suspended_platform']

SPRINGS = Suspension(rig.SPRINGS.stiffness, rig.SPRINGS.preload, np.eye(3),
                     np.array([0.0, 0.0, -9.81]))
TURNS = [posture[1] for posture in rig.HELD] + list(
    Rotation.random(8, np.random.default_rng(3)).as_matrix())
OPTIONS = suspended_platform.Options(damping='given', link_mass=70.0)
NOISE = 3e-4  # relative


def _whole(turn):
    """Return ten parameters of platform, trunk and limb, summed by Steiner's theorem."""
    pi, P, R = np.array(rig.ten(rig.PLATFORM)), np.zeros(3), np.eye(3)
    for link, turn in ((rig.TRUNK, np.eye(3)), (rig.LIMB, turn)):
        P, R = P + R @ link.position, R @ turn
        c = P + R @ link.center
        I0 = R @ link.inertia @ R.T + link.mass * (c @ c * np.eye(3) - np.outer(c, c))
        pi = pi + np.concatenate([[link.mass], link.mass * c,
                                  I0[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])
    return pi


def _mujoco_frequencies(turn):
    """Return the frequencies (6,) [Hz] of MuJoCo's accelerations around its own rest pose."""
    twin = PlatformRig(rig.LINKS, rig.SPRINGS, [None, turn], True,
                       PlatformOptions(displacement=0.0, turn=0.0))
    q0, A, h = twin.data.qpos.copy(), np.zeros((6, 6)), 1e-5
    for k in range(6):
        for sign in (1.0, -1.0):
            twin.data.qpos[:], twin.data.qvel[:] = q0, 0.0
            twin._mujoco.mj_integratePos(twin.model, twin.data.qpos, sign * h * np.eye(6)[k], 1.0)
            twin.pushed(twin._mujoco.mj_forward)
            A[:, k] -= sign * twin.data.qacc / (2 * h)
    return np.sort(np.sqrt(np.linalg.eigvals(A).real)) / (2 * np.pi)


def _held(count, seed=0, standard_deviation=NOISE):
    """Return the HeldFrequencies that MuJoCo has, with noise."""
    rng = np.random.default_rng(seed)
    robot = suspended_platform.build(rig.description(), OPTIONS, SPRINGS.gravity)
    R, p = zip(*(platform_poses(robot, {'limb': {'rotation': turn.tolist()}}, '')
                 for turn in TURNS[:count]))
    true = [_mujoco_frequencies(turn) for turn in TURNS[:count]]
    seen = tuple(np.sort(f * (1 + standard_deviation * rng.standard_normal(6))) for f in true)
    return HeldFrequencies(np.array(R), np.array(p), seen,
                           tuple(standard_deviation * f for f in true))


def _described():
    """Return the description with the links roughly known: a tenth too heavy, a hand off."""
    data = yaml.safe_load(rig.description())
    for link in (rig.TRUNK, rig.LIMB):
        ten = 1.1 * np.array(rig.ten(link))
        ten[1:4] = 0.8 * ten[1:4] + 0.01 * ten[0]
        data['links'][link.name]['inertial'] = ten.tolist()
    return yaml.safe_dump(data, sort_keys=False)


def _true(base):
    known = {f'{s}{k}': x for k, link in enumerate(rig.LINKS[1:])
             for s, x in zip(SYMBOLS, rig.ten(link))}
    return base.reduce([known[p.name] for p in base.parameters])


@pytest.mark.parametrize('turn', TURNS[:4])
def test_frequencies_are_those_of_mujoco(turn):
    found, = vibration(SPRINGS, _whole(turn)[None])[0]
    # Differences over 1e-5 in MuJoCo leave 1e-9.
    np.testing.assert_allclose(found, _mujoco_frequencies(turn), rtol=1e-8)


def test_slopes_are_those_of_finite_differences():
    pi = _whole(TURNS[1])
    found = vibration(SPRINGS, pi[None])[1][0]
    steps = np.diag(1e-5 * np.maximum(1.0, np.abs(pi)))
    slope = ((vibration(SPRINGS, pi + steps)[0] - vibration(SPRINGS, pi - steps)[0])
             / (2 * np.diag(steps)[:, None])).T
    # The turn of the rest pose, 0.03 rad, is followed to first order.
    assert (abs(found - slope) < 3e-3 * abs(slope).max(0)).all()


def test_body_that_topples_has_a_negative_frequency():
    weight = np.array([40.0, 0, 0, 120.0, 360.0, 0, 360.0, 0, 0, 0.0])  # three metres up
    high = _whole(TURNS[0]) + weight
    assert (vibration(SPRINGS, high[None])[0] < 0.0).any()


def test_decay_of_known_sines_is_recovered_within_its_deviation():
    rng, t = np.random.default_rng(0), np.arange(0.0, 12.0, 1 / 300)
    frequency, damping = np.array([0.9, 1.1, 1.7, 2.4]), np.array([0.01, 0.02, 0.015, 0.01])
    omega = 2 * np.pi * frequency
    wave = np.exp(-np.outer(t, damping * omega)) * np.sin(
        np.outer(t, omega * np.sqrt(1 - damping ** 2)) + [0.1, 0.8, 2.0, 4.0])
    y = wave @ rng.standard_normal((4, 3)) + 5.0 + 0.05 * rng.standard_normal((len(t), 3))
    found = decaying_modes(y, 1 / 300, 4, 4.0)
    assert len(found.frequency) == 4
    assert (abs(found.frequency - frequency) < 4 * found.standard_deviation).all()
    assert (found.standard_deviation < 2e-3).all()
    np.testing.assert_allclose(found.damping, damping, atol=2e-3)


def test_noise_alone_is_no_vibration():
    y = np.random.default_rng(0).standard_normal((3000, 3))
    try:
        assert len(decaying_modes(y, 1 / 300, 6, 4.0).frequency) == 0
    except RecordingError as error:
        assert 'no free vibration' in str(error)


def _decay(turn, seconds=15.0):
    return PlatformRig(rig.LINKS, rig.SPRINGS, [None, turn], True,
                       PlatformOptions(seed=6)).record(seconds, rig.description())


@pytest.mark.parametrize('topic, label', [('/platform/imu', ''), ('/markers', ''),
                                          ('/markers', '8')])
def test_free_decay_shows_the_frequencies(topic, label):
    true = _mujoco_frequencies(TURNS[1])
    frequency, standard_deviation = frequencies_of(_decay(TURNS[1]), topic, label)
    assert len(frequency) == 6
    # Damping and swings of three degrees move them by some 1e-4.
    assert (abs(frequency - true) < np.maximum(4 * standard_deviation, 1e-3 * true)).all()
    assert (standard_deviation < 3e-3 * true).all()


def test_one_posture_fixes_six_relations_and_no_number():
    result = identify_frequencies(rig.description(), _held(1), OPTIONS)
    assert result.rank == 6 and len(result.base) == 17
    assert result.values() == [None] * 17
    assert max(abs(m).max() for m in result.misfit) < 1e-4  # though bodies explain it exactly


def test_eight_postures_determine_all_that_held_postures_can():
    held = _held(8)
    # A mode was overlooked in the first posture; nobody says which.
    held = replace(held, frequency=(np.delete(held.frequency[0], 2), *held.frequency[1:]),
                   standard_deviation=(np.delete(held.standard_deviation[0], 2),
                                       *held.standard_deviation[1:]))
    result = identify_frequencies(_described(), held, OPTIONS)
    assert result.rank == len(result.base) == 17
    values = result.values()
    assert None not in values
    z = [(v - t) / e for (v, e), t in zip(values, _true(result.base))]
    assert np.abs(z).max() < 3.5
    assert result.value({'Iyy0': 1.0}) is None  # needs a motion of the joint
    value, error = result.value({'mcy0': 1.0})
    assert error < 0.03 and value == pytest.approx(-20.2509, abs=4 * error)


def test_errors_of_the_calibration_are_in_those_of_the_frequencies():
    """Springs a third of a percent off: without their covariance no body explains the data."""
    text, K = yaml.safe_load(_described()), rig.SPRINGS.stiffness
    error = np.zeros((43, 2))  # by two numbers of unit variance
    error[[10, 16, 21, 25, 28, 30], 0] = 3e-3 * np.diag(K)
    error[1:4, 1] = 0.05  # first moments of the platform [kg m]
    off = error @ [1.0, -1.0]
    text['platform']['stiffness'] = (K + np.diag(off[[10, 16, 21, 25, 28, 30]])).tolist()
    text['platform']['inertial'] = (np.array(text['platform']['inertial']) + off[:10]).tolist()
    text['platform']['covariance'] = [' '.join(f'{x:.17g}' for x in row[:k + 1])
                                      for k, row in enumerate(error @ error.T)]
    result = identify_frequencies(yaml.safe_dump(text, sort_keys=False), _held(6), OPTIONS)
    z = [(v[0] - t) / v[1] for v, t in zip(result.values(), _true(result.base)) if v]
    assert len(z) == 17 and np.abs(z).max() < 3.5


def test_frequencies_of_another_rig_are_refused(monkeypatch):
    held = _held(4)
    stretched = tuple(f * np.linspace(0.8, 1.3, 6) for f in held.frequency)
    monkeypatch.setattr(natural_frequencies, 'STARTS', 4)
    with pytest.raises(EstimationError, match='no body was found'):
        identify_frequencies(_described(), replace(held, frequency=stretched), OPTIONS)


def test_frequency_file_holds_numbers_and_bags(tmp_path):
    swing = _decay(TURNS[1])
    write_recording(tmp_path / 'swing', replace(swing, channels=swing.of_type(IMU)))
    robot = suspended_platform.build(rig.description(), OPTIONS, SPRINGS.gravity)
    text = yaml.safe_dump({'postures': [
        {'links': {'limb': {'rotation': TURNS[0].tolist()}},
         'frequencies': [1.1, 1.0, 1.6], 'deviation': 0.002},
        {'links': {'limb': {'rotation': TURNS[1].tolist()}}, 'bag': 'swing',
         'topic': '/platform/imu', 'start': 1.0}]})
    held = read_frequencies(text, robot, tmp_path)
    np.testing.assert_array_equal(held.frequency[0], [1.0, 1.1, 1.6])
    np.testing.assert_allclose(held.frequency[1], _mujoco_frequencies(TURNS[1]), rtol=1e-3)
    assert held.rotations.shape == (2, 2, 3, 3)
    np.testing.assert_allclose(held.positions[0, 1], rig.TRUNK.position)


def test_verb_prints_no_number_that_is_not_determined(tmp_path, capsys):
    held = _held(2)
    (tmp_path / 'rig.yaml').write_text(rig.description())
    (tmp_path / 'seen.yaml').write_text(yaml.safe_dump({'postures': [
        {'links': {'limb': {'rotation': turn.tolist()}}, 'frequencies': f.tolist()}
        for turn, f in zip(TURNS, held.frequency)]}))
    arguments = ['frequencies', str(tmp_path / 'rig.yaml'), str(tmp_path / 'seen.yaml')]
    assert main([*arguments, '--json']) == 0
    result = json.loads(capsys.readouterr().out)
    assert result['rank_in_data'] == 12 and result['rank'] == 17
    assert {entry['value'] for entry in result['base_parameters']} == {None}
    assert main(arguments) == 0
    words = capsys.readouterr().out
    assert '12 frequencies of 2 postures fix 12 relations between 17' in words
    assert words.count('not determined\n') == 17 and 'hold more postures' in words


@pytest.mark.parametrize('entry, words', [
    ({}, 'frequencies: or bag:'), ({'frequencies': [1.0] * 7}, 'one to six'),
    ({'frequencies': [1.0, -2.0]}, 'positive'), ({'frequences': [1.0]}, 'unknown key'),
    ({'bag': 'swing'}, 'topic')])
def test_bad_frequency_files_are_refused_with_reason(entry, words, tmp_path):
    robot = suspended_platform.build(rig.description(), OPTIONS, SPRINGS.gravity)
    entry = dict(entry, links={'limb': {'rpy': [0.0, 0.0, 0.0]}})
    with pytest.raises(ConfigError, match=words):
        read_frequencies(yaml.safe_dump({'postures': [entry]}), robot, tmp_path)
