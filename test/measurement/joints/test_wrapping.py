"""Joints that turn without end: followed over any number of turns, in a recording and live."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest
from recordings import recording_of

from ros_inertial_id.measurement.joints.kinematic_state import SignalOptions
from ros_inertial_id.measurement.joints.observation import observe_joints
from ros_inertial_id.measurement.joints.wrapping import Unwrapper

NAMES = ('a', 'b')


def _channel(t, q):
    recording = mujoco_arm.recording(NAMES, t, q, np.gradient(q, t, axis=0), q + 1.0)
    return recording.channels['/joint_states']


def _wrapped(q):
    return (q + np.pi) % (2 * np.pi) - np.pi


def test_a_fast_motor_and_a_gap_are_no_wrap():
    t = np.arange(400) * 0.02
    fast = np.column_stack([40.0 * t**2, np.zeros(400)])  # to twelve radians between messages
    channel = _channel(t, fast)
    assert Unwrapper(NAMES)(channel) is channel
    late = np.where(np.arange(400) < 200, t, t + 3.0)
    away = _channel(late, np.column_stack([np.where(t < 4.0, 0.0, 6.2), np.zeros(400)]))
    assert Unwrapper(NAMES)(away) is away


@pytest.mark.parametrize('rate', [10.0, 40.0])
@pytest.mark.parametrize('size', [1, 500])
def test_slow_streams_are_followed_also_where_messages_are_lost(rate, size):
    rng = np.random.default_rng(0)
    count = int(40.0 * rate)
    t = np.arange(count) / rate + rng.uniform(0.0, 0.2 / rate, count)
    t = np.delete(t, rng.integers(20, count, count // 20))
    q = np.column_stack([0.9 * t + 0.5 * np.sin(t), 6.0 * np.sin(0.3 * t)])
    wrapped, unwrap = _wrapped(q), Unwrapper(NAMES)
    crossed = (np.abs(np.diff(wrapped, axis=0)) > np.pi).sum(0)
    assert crossed.sum() > 5
    parts = [unwrap(_channel(t, wrapped).rows(slice(k, k + size))) for k in range(0, len(t), size)]
    found = np.concatenate([part.fields['position'] for part in parts])
    np.testing.assert_allclose(found - found[0], q - q[0], atol=1e-9)
    assert unwrap.counts == dict(zip(NAMES, crossed.tolist()))


def test_a_wrap_between_two_batches_is_followed():
    t = np.arange(60) * 0.1  # batches last longer than a gap
    q = np.column_stack([np.pi + 0.1 * (t - 3.95), np.zeros(60)])  # wraps between 39 and 40
    channel, unwrap = _channel(t, _wrapped(q)), Unwrapper(NAMES)
    parts = [unwrap(channel.rows(slice(k, k + 20))).fields['position'] for k in (0, 20, 40)]
    np.testing.assert_allclose(np.concatenate(parts), q, atol=1e-9)


@pytest.mark.parametrize('rate, lost', [(10.0, 20), (100.0, 200)])
@pytest.mark.parametrize('size', [1, 500])
def test_a_gap_of_seconds_is_left_as_it_is(rate, lost, size):
    k = np.arange(500)
    t = (k + lost * (k >= 250)) / rate
    q = np.column_stack([np.where(k < 250, -3.1, 3.1), 0.001 * k])
    channel, unwrap = _channel(t, q), Unwrapper(NAMES)
    for low in range(0, len(t), size):
        part = channel.rows(slice(low, low + size))
        assert unwrap(part) is part
    assert not unwrap.counts


def test_a_turn_that_lost_messages_hide_is_no_wrap():
    t = np.delete(np.arange(200) * 0.1, slice(100, 108))
    q = np.column_stack([7.0 * t, np.zeros(len(t))])  # 6.3 rad across the eight
    channel = _channel(t, q)
    assert Unwrapper(NAMES)(channel) is channel


def test_an_observation_says_which_joints_wrapped(arm3_recording, arm3_motion):
    names, t, q, *_ = arm3_motion
    channel = arm3_recording.channels['/joint_states']
    middle = np.median(q, axis=0)  # wraps in the middle of its motion
    fields = {
        **channel.fields,
        'position': (channel.fields['position'] - middle) % (2 * np.pi) + middle,
    }
    wrapped = recording_of(replace(channel, fields=fields))
    options = SignalOptions(cutoff=20.0)
    plain, found = (observe_joints(r, names, options) for r in (arm3_recording, wrapped))
    assert not plain.summary.unwrapped
    assert set(found.summary.unwrapped) == set(names)
    for one, two in zip(plain.states(), found.states()):
        turns = (two.q - one.q) / (2 * np.pi)
        np.testing.assert_allclose(turns, np.round(turns), atol=1e-8)
        assert np.ptp(np.round(turns), axis=0).max() == 0
        np.testing.assert_allclose(two.a, one.a, atol=1e-6)
