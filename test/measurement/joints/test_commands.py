"""Efforts of commanded drives: what a controller makes of commands, by its law alone."""

from dataclasses import replace

import numpy as np
import pytest
from recordings import JOINT_STATE, joint_states, recording_of

from ros_inertial_id.checks.channel_checks import signal_findings
from ros_inertial_id.checks.signals import raw_signals
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import ConfigError, RecordingError
from ros_inertial_id.measurement.joints.kinematic_state import SignalOptions
from ros_inertial_id.measurement.joints.observation import observe_joints, with_time_offset
from ros_inertial_id.measurement.sampling import held

OPTIONS = SignalOptions(effort_kind='command', stiffness=(20.0, 50.0), damping=(1.5,), cutoff=20.0)
ARRAY = 'std_msgs/msg/Float64MultiArray'
T = np.arange(4000) / 500.0
Q = np.column_stack([np.sin(2.0 * T), 0.5 * np.cos(3.0 * T)])
V = np.column_stack([2.0 * np.cos(2.0 * T), -1.5 * np.sin(3.0 * T)])


def channel(topic, t, kind=JOINT_STATE, names=('a', 'b'), **fields):
    """Return a Channel of joints a and b."""
    states = joint_states(() if kind == ARRAY else names, t, topic, **fields)
    return replace(states, type=kind)


STATES = channel('/joint_states', T, position=Q, velocity=V)


def torques(found):
    """Return times and torques as read, of all samples."""
    (state,) = found.states()
    return state.t, state.tau_raw


def test_values_are_held_until_the_next_whatever_the_rates():
    """Against the integral of a staircase, by sums over a fine grid."""
    rng = np.random.default_rng(1)
    stamps = np.sort(rng.uniform(0.0, 2.0, 40))
    values, t, period = rng.normal(size=(40, 2)), np.arange(0.2, 2.2, 0.07), 0.07
    fine = (np.arange(7000) + 0.5) / 7000 - 0.5
    steps = values[np.searchsorted(stamps, t[:, None] + period * fine, side='right') - 1]
    np.testing.assert_allclose(held(stamps, values, t, period), steps.mean(1), atol=2e-3)


@pytest.mark.parametrize('kind', [JOINT_STATE, ARRAY, 'trajectory_msgs/msg/JointTrajectory'])
def test_torques_are_those_of_the_law_at_its_delay(kind):
    """Commands of another topic, at a fifth of the rate, that act 6 ms late."""
    t, delay = T[::5], 0.006
    command = Q[::5] + 0.1
    name = 'data' if kind == ARRAY else 'position'
    found = observe_joints(
        recording_of(STATES, channel('/cmd', t, kind, **{name: command})),
        ('a', 'b'),
        OPTIONS,
        limit=np.zeros(2),
    )
    at, tau = torques(with_time_offset(found, -delay))
    inside = (at > 0.1) & (at < 7.9)
    fine = np.linspace(-1e-3, 1e-3, 200)  # means over a sample
    acting = command[np.searchsorted(t, at[inside, None] + fine - delay + 1e-9) - 1].mean(1)
    rows = np.round(at[inside] * 500).astype(int)
    right = np.array([20.0, 50.0]) * (acting - Q[rows]) - 1.5 * V[rows]
    np.testing.assert_allclose(tau[inside], right, atol=0.02)


def test_velocities_feedforward_and_the_limit_count():
    bias = np.array([1.0, -2.0])
    commands = channel('/cmd', T, position=Q, velocity=V)
    ahead = channel('/ahead', T, effort=np.broadcast_to(bias, Q.shape))
    options = replace(OPTIONS, effort_topic='/cmd /ahead')
    seen = observe_joints(
        recording_of(STATES, commands, ahead), ('a', 'b'), options, limit=np.array([0.0, 1.5])
    )
    _, tau = torques(seen)
    # Commands that are followed leave the feedforward, which the second drive cannot make; they
    # are held for the two milliseconds between, and lag by one in the mean.
    lag = 1e-3 * (np.abs(V).max(0) * [20.0, 50.0] + 1.5 * np.array([4.0, 4.5]))
    assert (np.abs(tau[50:-50] - [1.0, -1.5]).max(0) < lag + 1e-6).all()


def robot_of_two_joints():
    """Return an arm of joints a and b, whose drives make 3 N m at most."""
    return load_robot_model(
        '<robot name="r"><link name="l0"/>'
        + ''.join(
            f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
            'ixy="0" '
            f'ixz="0" iyz="0"/></inertial></link><joint name="{n}" type="continuous"><parent '
            f'link="l{k - 1}"/><child link="l{k}"/><axis xyz="0 1 0"/><limit effort="3" '
            'velocity="9"/></joint>'
            for k, n in ((1, 'a'), (2, 'b'))
        )
        + '</robot>'
    )


def test_the_checks_see_the_same_torques():
    robot = robot_of_two_joints()
    (signals,) = raw_signals(
        recording_of(STATES, channel('/cmd', T, position=Q + 0.1)), robot, OPTIONS
    )
    right = np.clip(np.array([2.0, 5.0]) - 1.5 * V, -3.0, 3.0)
    np.testing.assert_allclose(signals.effort.values, right, atol=1e-9)


def test_stiffness_alone_knows_no_limit_for_it_is_not_what_the_drive_gives():
    states = channel('/joint_states', T, position=Q)
    recording = recording_of(states, channel('/cmd', T, position=Q + 0.1))
    (signals,) = raw_signals(recording, robot_of_two_joints(), replace(OPTIONS, damping=()))
    np.testing.assert_allclose(signals.effort.values, np.tile([2.0, 5.0], (len(T), 1)), atol=1e-9)


@pytest.mark.parametrize('begin', [20.0, T[-1]])
def test_commands_after_the_motion_can_be_looked_at_and_not_be_identified(begin):
    """A motion, or all but its last message, before the first command."""
    late = channel('/cmd', begin + T, position=Q + 0.1)
    states = channel('/joint_states', T, position=Q)
    (signals,) = raw_signals(recording_of(states, late), robot_of_two_joints(), OPTIONS)
    assert len(signals.position.t) == len(T) and not len(signals.effort.t)
    assert signal_findings(signals) == []
    with pytest.raises(RecordingError, match='commanded when no motion is recorded'):
        observe_joints(recording_of(states, late), ('a', 'b'), OPTIONS, limit=np.zeros(2))


def test_two_messages_of_one_stamp_have_the_torques_of_one():
    """Between them there is no velocity, and a torque by it would be infinite."""
    twice = np.insert(np.arange(len(T)), 1000, 1000)
    states = channel('/joint_states', T[twice], position=Q[twice])
    commands = channel('/cmd', T, position=Q + 0.1)
    (signals,) = raw_signals(recording_of(states, commands), robot_of_two_joints(), OPTIONS)
    assert len(signals.effort.t) == len(T)
    right = np.clip(np.array([2.0, 5.0]) - 1.5 * V, -3.0, 3.0)
    np.testing.assert_allclose(signals.effort.values[1:-1], right[1:-1], atol=1e-3)


@pytest.mark.parametrize('command, joints', [(Q * [1.0, -1.0] + 0.1, 'b'), (Q[:, ::-1], 'a, b')])
def test_commands_of_another_sign_or_order_are_refused(command, joints):
    """What they make of the stiffness looks like a spring, which explains all of it."""
    with pytest.raises(RecordingError, match=f'move as they are commanded; found {joints};'):
        observe_joints(
            recording_of(STATES, channel('/cmd', T, position=command)),
            ('a', 'b'),
            OPTIONS,
            limit=np.zeros(2),
        )


def test_commands_of_other_joints_are_refused_by_their_names():
    with pytest.raises(RecordingError, match='no positions of all joints.* a, b; found a, c'):
        observe_joints(
            recording_of(STATES, channel('/cmd', T, names=('a', 'c'), position=Q)),
            ('a', 'b'),
            replace(OPTIONS, effort_topic='/cmd'),
            limit=np.zeros(2),
        )


def test_commands_are_no_measurements_unless_they_are_asked_for():
    """A feedforward beside joint states without efforts is no torque that was measured."""
    made = recording_of(STATES, channel('/joint_commands', T, position=Q, effort=Q))
    with pytest.raises(RecordingError, match='/joint_states has no effort'):
        observe_joints(made, ('a', 'b'))


@pytest.mark.parametrize(
    'commands, options, error, words',
    [
        ([], {}, RecordingError, 'no commands to the joints.*/joint_states'),
        (['/cmd', '/other'], {}, RecordingError, 'several topics.*/cmd.*/other'),
        (['/cmd'], {'effort_topic': '/ahead'}, RecordingError, '/ahead is not in the recording'),
        (['/cmd', '/x'], {'effort_topic': '/cmd /x'}, RecordingError, '/x commands no efforts'),
        (
            ['/cmd', '/x', '/y'],
            {'effort_topic': '/cmd /x /y'},
            RecordingError,
            'several topics beside that of the commanded positions.*found /x, /y',
        ),
        (['/cmd'], {'stiffness': ()}, ConfigError, 'needs stiffness.*drive-gains'),
        (['/cmd'], {'stiffness': (1.0, 2.0, 3.0)}, ConfigError, 'stiffness.*2 values.*3 values'),
    ],
)
def test_what_is_missing_is_said(commands, options, error, words):
    made = recording_of(STATES, *(channel(topic, T, position=Q) for topic in commands))
    with pytest.raises(error, match=words):
        observe_joints(made, ('a', 'b'), replace(OPTIONS, **options), limit=np.zeros(2))
