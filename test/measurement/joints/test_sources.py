"""What is decided once: which topic carries what of which joint, and why others are not read."""

from dataclasses import replace

import numpy as np
import pytest
from recordings import joint_states, recording_of

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement.joints import sources as module
from ros_inertial_id.measurement.joints.kinematic_state import SignalOptions
from ros_inertial_id.measurement.joints.observation import motion_and_efforts, observe_joints
from ros_inertial_id.measurement.joints.sources import joint_sources

ARM = ('a', 'b')


def states(topic, rate, names=ARM, fields=('position', 'velocity', 'effort')):
    """Return ten seconds of joint states that move."""
    t = np.arange(10 * rate) / rate
    q = np.sin(2.0 * t[:, None] + np.arange(len(names)))
    return joint_states(names, t, topic, **dict.fromkeys(fields, q + 0.5))


def test_what_is_passed_over_is_said_with_the_reason():
    decided = joint_sources(
        recording_of(
            states('/joint_states', 500),
            states('/copy/of_them', 30),
            states('/arm/command', 500, fields=('position',)),
            states('/hand', 100, ('finger',)),
            states('/filtered', 500, fields=('position',)),
        ),
        ARM,
        SignalOptions(),
    )
    taken = dict.fromkeys(ARM, '/joint_states')
    assert decided.position == decided.velocity == decided.effort == taken
    assert decided.no_effort is None and decided.same_messages
    assert decided.passed_over == {
        '/copy/of_them': 'another topic is faster, or as fast with a shorter name',
        '/arm/command': 'its name says that it holds commands',
        '/hand': 'it lacks a, b',
        '/filtered': 'it has no effort of all joints',
    }


def test_each_joint_may_have_its_own_topic_and_not_all_a_velocity():
    parts = recording_of(
        states('/left', 100, ('a',)), states('/right', 100, ('b',), ('position', 'effort'))
    )
    decided = joint_sources(parts, ARM, SignalOptions())
    assert decided.position == decided.effort == {'a': '/left', 'b': '/right'}
    assert decided.velocity == {'a': '/left'}
    assert observe_joints(parts, ARM).velocity == {}


def test_a_topic_of_efforts_and_one_of_a_feedforward_beside_commands():
    apart = recording_of(
        states('/joint_states', 100, fields=('position',)),
        states('/forces', 100, ARM, ('effort',)),
    )
    decided = joint_sources(apart, ARM, SignalOptions(effort_topic='/forces'))
    assert decided.effort == dict.fromkeys(ARM, '/forces') and not decided.same_messages
    commanded = recording_of(
        states('/joint_states', 100, fields=('position',)),
        states('/feed', 50, ARM, ('effort',)),
        states('/asked', 50, ARM, ('position',)),
    )
    options = SignalOptions(effort_kind='command', effort_topic='feed asked')
    decided = joint_sources(commanded, ARM, options)
    assert (decided.command, decided.feedforward) == ('/asked', '/feed')
    assert decided.commands_of(commanded).topics == '/asked /feed'
    assert decided.position == dict.fromkeys(ARM, '/joint_states')


@pytest.mark.parametrize('kind', ['link', 'command'])
def test_a_motion_without_efforts_can_be_looked_at_and_not_be_identified(kind):
    options = SignalOptions(effort_kind=kind, stiffness=(1.0,))
    alone = recording_of(states('/joint_states', 100, fields=('position',)))
    decided = joint_sources(alone, ARM, options)
    assert decided.effort == {} and decided.no_effort is not None
    motion, force = motion_and_efforts(alone, ARM, options, np.zeros(2))
    assert motion.topic == '/joint_states' and force is None
    with pytest.raises(type(decided.no_effort), match='effort_topic:'):
        observe_joints(alone, ARM, options, limit=np.zeros(2))


def test_it_is_decided_once_for_a_recording_and_for_it_without_bad_samples(monkeypatch):
    asked = []
    decide = module._decided
    monkeypatch.setattr(module, '_decided', lambda *words: asked.append(words) or decide(*words))
    whole = recording_of(states('/joint_states', 200), states('/copy', 50))
    observe_joints(whole, ARM)
    masked = {}
    for topic, channel in whole.channels.items():
        fields = {name: values.copy() for name, values in channel.fields.items()}
        fields['position'][100:300] = np.nan
        masked[topic] = replace(channel, fields=fields)
    observe_joints(whole.without_samples(masked), ARM)
    assert len(asked) == 1
    observe_joints(whole.window(2.0, None), ARM)  # another recording, of which more may lack
    assert len(asked) == 2


def test_the_reason_for_no_efforts_is_raised_without_the_frames_of_before():
    """They would hold the arrays of every call."""
    decided = joint_sources(
        recording_of(states('/joint_states', 100, fields=('position',))), ARM, SignalOptions()
    )
    depths = []
    for _ in range(3):
        with pytest.raises(RecordingError, match='has no effort') as raised:
            decided.efforts_of(recording_of(), states('/joint_states', 100))
        depths.append(len(raised.traceback))
    assert depths[0] == depths[1] == depths[2]


def test_velocities_that_are_all_masked_are_differentiated():
    """Of a velocity that a few bad messages alone carry nothing is left behind the checks."""
    channel = states('/joint_states', 100)
    fields = {name: values.copy() for name, values in channel.fields.items()}
    fields['velocity'][:] = np.nan
    fields['velocity'][300:302] = 1.0
    recorded = recording_of(replace(channel, fields=fields))
    assert set(joint_sources(recorded, ARM, SignalOptions()).velocity) == set(ARM)
    masked = {name: values.copy() for name, values in fields.items()}
    for values in masked.values():
        values[295:305] = np.nan
    cleaned = recorded.without_samples({'/joint_states': replace(channel, fields=masked)})
    observed = observe_joints(cleaned, ARM)
    assert observed.velocity == {} and observed.summary.velocity == 'differentiated'


@pytest.mark.parametrize('masked', [['b'], ['a', 'b']])
def test_joints_of_which_all_samples_are_masked_are_named(masked):
    """Where they are recorded was decided before the checks masked them."""
    channel = states('/joint_states', 100)
    recorded = recording_of(channel)
    joint_sources(recorded, ARM, SignalOptions())
    fields = {name: values.copy() for name, values in channel.fields.items()}
    for values in fields.values():
        values[:, [ARM.index(joint) for joint in masked]] = np.nan
    cleaned = recorded.without_samples({'/joint_states': replace(channel, fields=fields)})
    with pytest.raises(RecordingError, match=f'no position of {masked[0]} that can be used'):
        observe_joints(cleaned, ARM)
