"""Joints that turn without end: followed over any number of turns, in a recording and live."""

from dataclasses import replace

import mujoco_arm
import numpy as np

from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.joints.kinematic_state import SignalOptions
from ros_inertial_id.measurement.joints.observation import observe_joints
from ros_inertial_id.measurement.joints.wrapping import Unwrapper
from ros_inertial_id.measurement.recording import Recording

NAMES = ('a', 'b')


def _channel(t, q):
    recording = mujoco_arm.recording(NAMES, t, q, np.gradient(q, t, axis=0), q + 1.0)
    return recording.channels['/joint_states']


def _wrapped(q):
    return (q + np.pi) % (2 * np.pi) - np.pi


def _turning(count=4000):
    t = np.arange(count) * 0.005
    return t, np.column_stack([2.5 * t + np.sin(t), 9.0 * np.sin(0.4 * t)])


def test_many_turns_both_ways_are_followed_in_any_pieces():
    t, q = _turning()
    wrapped = _wrapped(q)
    for size in (len(t), 7):
        unwrap = Unwrapper(NAMES)
        parts = [unwrap(_channel(t, wrapped).rows(slice(k, k + size)))
                 for k in range(0, len(t), size)]
        found = np.concatenate([p.fields['position'] for p in parts])
        np.testing.assert_allclose(found - found[0], q - q[0], atol=1e-9)
        crossed = np.abs(np.diff(wrapped, axis=0)) > np.pi
        assert unwrap.counts == dict(zip(NAMES, crossed.sum(0).tolist()))


def test_what_does_not_wrap_is_handed_on_as_it_is():
    t, q = _turning()
    channel = _channel(t, q)
    unwrap = Unwrapper(NAMES)
    assert unwrap(channel) is channel and not unwrap.counts


def test_a_fast_motor_and_a_gap_are_no_wrap():
    t = np.arange(400) * 0.02
    fast = np.column_stack([40.0 * t ** 2, np.zeros(400)])  # to twelve radians between messages
    channel = _channel(t, fast)
    assert Unwrapper(NAMES)(channel) is channel
    late = np.where(np.arange(400) < 200, t, t + 3.0)
    away = _channel(late, np.column_stack([np.where(t < 4.0, 0.0, 6.2), np.zeros(400)]))
    assert Unwrapper(NAMES)(away) is away


def test_an_observation_says_which_joints_wrapped(arm3_recording, arm3_motion):
    names, t, q, *_ = arm3_motion
    channel = arm3_recording.channels['/joint_states']
    middle = np.median(q, axis=0)  # wraps in the middle of its motion
    fields = {**channel.fields, 'position': (channel.fields['position'] - middle) % (2 * np.pi)
              + middle}
    wrapped = Recording({'/joint_states': replace(channel, fields=fields)})
    options = SignalOptions(cutoff=20.0)
    plain, found = (observe_joints(r, names, options) for r in (arm3_recording, wrapped))
    assert 'unwrapped' not in plain.summary
    assert set(found.summary['unwrapped']) == set(names)
    for one, two in zip(plain.states(), found.states()):
        turns = (two.q - one.q) / (2 * np.pi)
        np.testing.assert_allclose(turns, np.round(turns), atol=1e-8)
        assert np.ptp(np.round(turns), axis=0).max() == 0
        np.testing.assert_allclose(two.a, one.a, atol=1e-6)


def test_a_wrapping_joint_costs_the_identification_nothing(arm3, arm3_recording):
    channel = arm3_recording.channels['/joint_states']
    q = channel.fields['position']
    middle = np.median(q, axis=0)
    fields = {**channel.fields, 'position': (q - middle) % (2 * np.pi) + middle}
    wrapped = Recording({'/joint_states': replace(channel, fields=fields)})
    percent = [identify([r], options_class('serial_arm')(), urdf=arm3[0]).model.statistics[
        'training']['filtered']['relative_percent'] for r in (arm3_recording, wrapped)]
    assert percent[1] < 1.01 * percent[0] + 1e-6
