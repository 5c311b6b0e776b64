"""Which of several topics that carry the joints is taken."""

from dataclasses import replace

import numpy as np
import pytest
from recordings import EPOCH_NS, joint_states, recording_of

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement.joints.kinematic_state import SignalOptions
from ros_inertial_id.measurement.joints.observation import observe_joints
from ros_inertial_id.measurement.joints.sources import find_channel
from ros_inertial_id.measurement.recording import joined
from ros_inertial_id.options import options_from


def resting(topic, rate, effort=True, names=('a', 'b')):
    """Return ten seconds of joint states."""
    t, ones = np.arange(10 * rate) / rate, np.ones((10 * rate, len(names)))
    fields = {'position': ones, 'effort': ones} if effort else {'position': ones}
    return joint_states(names, t, topic, EPOCH_NS, **fields)


@pytest.mark.parametrize(
    'other, taken',
    [
        # franka_ros2: a copy at 30 Hz, the broadcaster at 1 kHz
        (('/joint_states', 30), ('/franka/joint_states', 1000)),
        (('/commands', 1000, False), ('/measured/joint_states', 500)),
        (('/copy/joint_states', 505), ('/joint_states', 500)),
        (('/hand', 1000, True, ('a', 'finger')), ('/joint_states', 100)),
    ],
    ids=['faster', 'with effort', 'shorter name', 'all joints'],
)
def test_the_topic_is_taken_that_says_most_of_the_joints(other, taken):
    recording = recording_of(resting(*other), resting(*taken))
    assert find_channel(recording, ('a', 'b'), '', 'position').topic == taken[0]


def moving(topic, names, rate, start, phase):
    """Return ten seconds of joints that move, stamped from ``start`` [s] on."""
    t = start + np.arange(10 * rate) / rate
    q = np.sin(2.0 * t[:, None] + phase + np.arange(len(names)))
    v = 2.0 * np.cos(2.0 * t[:, None] + phase + np.arange(len(names)))
    return joint_states(names, t, topic, position=q, velocity=v, effort=q + 1.0)


LEFT, RIGHT = ('a', 'b'), ('c', 'd')


@pytest.mark.parametrize('one_topic', [True, False])
@pytest.mark.parametrize('rate', [200, 100])
def test_joints_of_two_publishers_are_on_one_clock_each_from_their_own_messages(rate, one_topic):
    # 0.7 ms apart, and in the bag in another order than stamped
    parts = [moving('/left', LEFT, 200, 0.0, 0.3), moving('/right', RIGHT, rate, 0.0007, 1.1)]
    if one_topic:
        both = joined([replace(part, topic='/joint_states') for part in reversed(parts)])
        parts = [
            both.rows(
                np.argsort(
                    both.stamp_ns
                    + np.where(
                        np.isfinite(both.fields['position'][:, both.names.index('a')]),
                        1_200_000,
                        0,
                    )
                )
            )
        ]
    recording = recording_of(*parts)
    found = observe_joints(recording, LEFT + RIGHT)
    assert found.summary.rate == pytest.approx(200.0)
    state = next(found.states())
    inner = slice(100, -100)
    expected = np.sin(2.0 * state.t[inner, None] + [0.3, 1.3, 1.1, 2.1])
    np.testing.assert_allclose(state.q[inner], expected, atol=2e-4)
    np.testing.assert_allclose(state.tau[inner], expected + 1.0, atol=2e-4)


def test_several_topics_that_are_named_are_read_as_one():
    parts = [
        moving('/left', LEFT, 100, 0.0, 0.3),
        moving('/right', RIGHT, 100, 0.003, 1.1),
        moving('/copy', LEFT + RIGHT, 200, 0.0, 0.0),
    ]
    recording = recording_of(*parts)
    options = options_from(SignalOptions, {'joint_states_topic': ['/left', '/right']}, 'a test')
    one = find_channel(recording, LEFT + RIGHT, options.joint_states_topic, 'effort')
    assert one.topic == '/left /right' and len(one) == 2000
    assert (np.diff(one.stamp_ns) > 0).all()
    with pytest.raises(RecordingError, match='/middle is not in the recording'):
        find_channel(recording, LEFT, '/left /middle', 'position')


def test_joint_states_of_two_robots_are_asked_about_and_a_late_copy_is_none():
    one, other = moving('/a/states', LEFT, 100, 0.0, 0.0), moving('/b/states', LEFT, 100, 0.0, 0.8)
    late = moving('/b/states', LEFT, 100, 0.0, -0.04)
    assert find_channel(recording_of(one, late), LEFT, '', 'effort') is one
    recording = recording_of(one, other)
    with pytest.raises(RecordingError, match='several robots .* joint_states_topic:'):
        find_channel(recording, LEFT, '', 'effort')
    assert find_channel(recording, LEFT, '/b/states', 'effort') is other


def test_bare_copies_of_positions_are_left_out_however_many_they_are():
    """Another node repeats positions, without velocity and effort and a little later."""
    driver = moving('/joint_states', LEFT, 100, 0.0, 0.0)
    bare = replace(
        moving('/joint_states', LEFT, 300, 0.002, 2.0), fields={'position': np.zeros((3000, 2))}
    )
    both = joined([driver, bare])
    both = both.rows(np.argsort(both.stamp_ns, kind='stable'))
    found = observe_joints(recording_of(both), LEFT)
    assert found.summary.not_finite == 3000 and found.summary.rate == pytest.approx(100.0)
    state = next(found.states())
    np.testing.assert_allclose(state.q[50:-50, 0], np.sin(2.0 * state.t[50:-50]), atol=2e-4)
    broken = both.fields['effort'].copy()
    broken[::8, 0] = np.inf  # every second one of the driver: it fails
    both = replace(both, fields={**both.fields, 'effort': broken})
    with pytest.raises(RecordingError, match='effort of a in /joint_states is not finite'):
        observe_joints(recording_of(both), LEFT)
