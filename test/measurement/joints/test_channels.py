"""Which of several topics that carry the joints is taken."""

import numpy as np

from ros_inertial_id.measurement.joints.channels import find_channel, JOINT_STATE
from ros_inertial_id.measurement.recording import Channel, Recording


def joint_states(topic, rate, effort=True, names=('a', 'b')):
    """Return ten seconds of joint states."""
    stamps = 10 ** 18 + (np.arange(10 * rate) * 1e9 / rate).astype(np.int64)
    fields = {'position': np.ones((len(stamps), len(names)))}
    if effort:
        fields['effort'] = np.ones((len(stamps), len(names)))
    return Channel(topic, JOINT_STATE, stamps, stamps.copy(), fields, names)


def taken(*channels):
    recording = Recording({c.topic: c for c in channels})
    return find_channel(recording, ('a', 'b'), '', 'position').topic


def test_the_faster_topic_is_taken_though_its_name_is_longer():
    # franka_ros2: a copy at 30 Hz, the broadcaster at 1 kHz
    assert taken(joint_states('/joint_states', 30),
                 joint_states('/franka/joint_states', 1000)) == '/franka/joint_states'


def test_a_slower_topic_with_effort_goes_before_a_faster_one_without():
    assert taken(joint_states('/commands', 1000, effort=False),
                 joint_states('/measured/joint_states', 500)) == '/measured/joint_states'


def test_of_equally_fast_topics_the_shorter_name_is_taken():
    assert taken(joint_states('/copy/joint_states', 505),
                 joint_states('/joint_states', 500)) == '/joint_states'


def test_a_topic_that_lacks_a_joint_is_never_taken():
    assert taken(joint_states('/hand', 1000, names=('a', 'finger')),
                 joint_states('/joint_states', 100)) == '/joint_states'
