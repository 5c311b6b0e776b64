"""Which of several topics that carry the joints is taken."""

import numpy as np
import pytest

from ros_inertial_id.measurement.joints.channels import find_channel, JOINT_STATE
from ros_inertial_id.measurement.recording import Channel, Recording


def joint_states(topic, rate, effort=True, names=('a', 'b')):
    """Return ten seconds of joint states."""
    stamps = 10 ** 18 + (np.arange(10 * rate) * 1e9 / rate).astype(np.int64)
    fields = {'position': np.ones((len(stamps), len(names)))}
    if effort:
        fields['effort'] = np.ones((len(stamps), len(names)))
    return Channel(topic, JOINT_STATE, stamps, stamps.copy(), fields, names)


@pytest.mark.parametrize('other, taken', [
    # franka_ros2: a copy at 30 Hz, the broadcaster at 1 kHz
    (('/joint_states', 30), ('/franka/joint_states', 1000)),
    (('/commands', 1000, False), ('/measured/joint_states', 500)),
    (('/copy/joint_states', 505), ('/joint_states', 500)),
    (('/hand', 1000, True, ('a', 'finger')), ('/joint_states', 100))],
    ids=['faster', 'with effort', 'shorter name', 'all joints'])
def test_the_topic_is_taken_that_says_most_of_the_joints(other, taken):
    channels = [joint_states(*words) for words in (other, taken)]
    recording = Recording({c.topic: c for c in channels})
    assert find_channel(recording, ('a', 'b'), '', 'position').topic == taken[0]
