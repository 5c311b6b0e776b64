"""Torques of commanded drives while they come: those of the same recording as a whole."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from recordings import channel_of, EPOCH_NS, joint_states, recording_of, stamps_of

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement.joints.kinematic_state import SignalOptions
from ros_inertial_id.measurement.joints.observation import observe_joints, with_time_offset
from ros_inertial_id.measurement.live import listen_to_joints
from ros_inertial_id.measurement.live_commands import CommandedMotion, live_commands
from ros_inertial_id.measurement.summary import Summary

JOINTS, DELAY, LIMIT = ('shoulder', 'elbow'), 0.005, 3.0
OPTIONS = SignalOptions(
    effort_kind='command',
    stiffness=(100.0, 80.0),
    damping=(3.0, 2.0),
    joint_states_topic='/states',
    effort_topic='/commands /ahead',
    velocity='measured',
    cutoff=8.0,
)
T, SENT = np.arange(0.0, 8.0, 0.002), 0.3 + np.arange(0.0, 7.7, 1.0 / 120)  # [s]


def of_joints(topic, t, **fields):
    return joint_states(JOINTS, t, topic, EPOCH_NS, **fields)


def motion(t, phase=0.0):
    w = np.array([2.0, 3.3])
    return np.sin(np.outer(t, w) + phase), w * np.cos(np.outer(t, w) + phase)


STATES = of_joints('/states', T, position=motion(T)[0], velocity=motion(T)[1])
COMMANDS = of_joints('/commands', SENT, position=motion(SENT, 0.04)[0], velocity=motion(SENT)[1])
AHEAD = channel_of(
    '/ahead',
    'std_msgs/msg/Float64MultiArray',
    stamps_of(SENT[::9], EPOCH_NS),
    {'data': 3.0 * motion(SENT[::9])[0]},
)


def states_of(channels, limit=(0.0, LIMIT), batch=40, options=OPTIONS, summary=Summary()):
    """Return t (N,) and tau, late (N, 2) of states, the channels in batches by their stamps."""
    robot = SimpleNamespace(joint_names=JOINTS, effort=np.array(limit))
    live = CommandedMotion(8.0, True, 0.3, -DELAY, live_commands(robot, options, summary))
    listen_to_joints(live, '/states', JOINTS, options)
    found = {}
    for start in range(0, len(T), batch):
        low, high = (STATES.stamp_ns[start], STATES.stamp_ns[start] + batch * 2_000_000)
        for one in channels:
            rows = (one.stamp_ns >= low) & (one.stamp_ns < high)
            if rows.any():
                live.add(one.rows(rows))
        while (taken := live.take()) is not None:
            _, state = taken
            found |= {round(t, 6): row for t, *row in zip(state.t, state.tau, state.late)}
    tau, late = (np.array(x) for x in zip(*found.values()))
    return np.array([*found]), tau, late


def test_torques_are_those_of_the_whole_recording():
    t, tau, late = states_of((STATES, COMMANDS, AHEAD), (0.0, 0.0))
    recording = recording_of(STATES, COMMANDS, AHEAD)
    whole = [
        *with_time_offset(
            observe_joints(recording, JOINTS, OPTIONS, limit=np.zeros(2)), -DELAY
        ).states()
    ]
    known = np.isfinite(tau).all(axis=1) & (t > 1.0) & (t < 7.0)
    assert known.sum() > 2500
    for live, name in ((tau, 'tau'), (late, 'late')):
        expected = np.concatenate([getattr(state, name) for state in whole])
        for j in range(2):
            at_t = np.interp(t, np.concatenate([state.t for state in whole]), expected[:, j])
            # Of commands that step by 1.7 N m; the live filter ends where its lag does.
            np.testing.assert_allclose(live[known, j], at_t[known], atol=5e-3)


def test_where_an_encoder_has_its_zero_changes_no_torque():
    """Positions and commands move alike; a feedforward in an array is none of both."""
    channels = STATES, COMMANDS, AHEAD
    _, tau, _ = states_of(channels)
    _, turned, _ = states_of(channels, options=replace(OPTIONS, position_offset=(0.5, -0.3)))
    np.testing.assert_allclose(turned, tau, atol=1e-9)


def test_topics_of_commands_may_be_named_in_any_order():
    """Which of them has the positions is known from the recording that was identified from."""
    efforts = of_joints('/ahead', SENT[::9], effort=AHEAD.fields['data'])
    channels = STATES, COMMANDS, efforts
    options = replace(OPTIONS, effort_topic='ahead commands')
    recording = recording_of(*channels)
    summary = observe_joints(recording, JOINTS, options, limit=np.zeros(2)).summary
    robot = SimpleNamespace(joint_names=JOINTS, effort=np.zeros(2))
    assert live_commands(robot, options, summary).topics == ('commands', 'ahead')
    _, tau, _ = states_of(channels)
    options = replace(OPTIONS, effort_topic='/ahead /commands')
    np.testing.assert_array_equal(states_of(channels, options=options, summary=summary)[1], tau)


def test_torques_are_unknown_before_the_first_command_and_at_the_limit():
    t, tau, _ = states_of((STATES, COMMANDS, AHEAD))
    assert np.isnan(tau[t < 0.3]).all() and np.isfinite(tau[t > 0.5, 0]).all()
    free = states_of((STATES, COMMANDS, AHEAD), (0.0, 0.0))[1]
    beyond = np.abs(free[:, 1]) > LIMIT
    assert beyond.any() and np.isnan(tau[beyond, 1]).all()
    assert np.isfinite(tau[t > 0.5, 1]).mean() > 0.1


def test_what_cannot_make_torques_is_said():
    with pytest.raises(RecordingError, match='commands command no positions of all joints'):
        states_of((STATES, replace(COMMANDS, names=('left', 'right'))))
    with pytest.raises(RecordingError, match='ahead commands no efforts of all joints'):
        states_of((STATES, replace(COMMANDS, topic='/ahead')))
    bare = replace(STATES, fields={'position': STATES.fields['position']})
    with pytest.raises(RecordingError, match='no velocity of all joints.*damping'):
        states_of((bare, COMMANDS))
