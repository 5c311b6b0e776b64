"""What is written is read again: drawn messages of every type that can be, and drawn bags."""

from operator import attrgetter

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest

from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.definitions import typestore
from ros_inertial_id.measurement.bags.messages import (
    decode,
    DECODERS,
    encodable,
    encode,
    JOINT_STATE,
)
from ros_inertial_id.measurement.bags.writing import STORAGES, write_recording
from ros_inertial_id.measurement.recording import Channel, joined, Recording

DRAWN = settings(
    max_examples=12,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
EVERY_TYPE = sorted(filter(encodable, DECODERS))
START = 1_700_000_000 * 10**9  # [ns]
# Of one joint, marker or sample: 3 of a vector unless it is here.
WIDTHS = {'orientation_xyzw': (4,), 'data': ()}
# Where ROS has what a table could exchange: both ways by the same table find no exchange.
VECTORS = {
    'geometry_msgs/msg/AccelStamped': {
        'linear_acceleration': 'accel.linear',
        'angular_acceleration': 'accel.angular',
    },
    'geometry_msgs/msg/TwistStamped': {
        'linear_velocity': 'twist.linear',
        'angular_velocity': 'twist.angular',
    },
    'geometry_msgs/msg/WrenchStamped': {'force': 'wrench.force', 'torque': 'wrench.torque'},
    'nav_msgs/msg/Odometry': {
        'position': 'pose.pose.position',
        'linear_velocity': 'twist.twist.linear',
        'angular_velocity': 'twist.twist.angular',
    },
    'sensor_msgs/msg/Imu': {
        'angular_velocity': 'angular_velocity',
        'linear_acceleration': 'linear_acceleration',
    },
}
numbers = st.floats(-1e9, 1e9, allow_subnormal=False)
flags = st.sampled_from([0.0, 1.0])
words = st.text('aZ_/ 9\u00e4\u6f22\U0001f916\n', min_size=1, max_size=12)


@st.composite
def channels(draw, kind=JOINT_STATE, topic='/topic', most=9):
    """Draw a Channel of a ``kind``, as its messages can hold it."""
    decoder = DECODERS[kind]
    count = draw(st.integers(1, most))
    steps = draw(st.lists(st.integers(1, 10**9), min_size=count, max_size=count))
    stamps = START + np.cumsum(np.array(steps, dtype=np.int64))
    names, axis, frame = (), (), ''
    if decoder.labels:
        names = tuple(draw(st.lists(words, min_size=1, max_size=4, unique=True)))
        axis = (len(names),)
    elif kind.endswith('Array'):
        axis = (draw(st.integers(1, 4)),)
    if decoder.header:
        frame = draw(words)
    carried = list(decoder.fields)
    if decoder.labels:  # what a driver does not report is an empty sequence
        chosen = st.sets(st.sampled_from(carried), min_size=1)
        carried = sorted(draw(chosen), key=carried.index)
    fields, values = {}, numbers
    if kind.endswith('Bool'):
        values = flags
    for name in carried:
        width = WIDTHS.get(name, (3,))
        if decoder.labels:
            width = ()
        fields[name] = draw(arrays(float, (count, *axis, *width), elements=values))
    return Channel(topic, kind, stamps, stamps + 7, fields, names, frame)


def assert_same(read, written):
    """Compare two Channels, number by number."""
    assert (read.topic, read.type) == (written.topic, written.type)
    assert (read.names, read.frame_id) == (written.names, written.frame_id)
    np.testing.assert_array_equal(read.received_ns, written.received_ns)
    assert read.fields.keys() == written.fields.keys()
    for name, values in written.fields.items():
        np.testing.assert_array_equal(read.fields[name], values, err_msg=name)


@pytest.mark.parametrize('kind', EVERY_TYPE)
@given(data=st.data())
@DRAWN
def test_messages_give_back_their_numbers(kind, data):
    written = data.draw(channels(kind))
    read = decode(kind, list(encode(written)), written.topic, written.received_ns)
    assert_same(read, written)
    stamps = written.received_ns
    if DECODERS[kind].header:
        stamps = written.stamp_ns
    np.testing.assert_array_equal(read.stamp_ns, stamps)


@pytest.mark.parametrize('kind', VECTORS)
@given(data=st.data())
@DRAWN
def test_messages_hold_vectors_where_ros_has_them(kind, data):
    """Read by rosbags, which knows the types and not our tables."""
    written = data.draw(channels(kind))
    for row, message in enumerate(encode(written)):
        read = typestore().deserialize_cdr(message, kind)
        for field, path in VECTORS[kind].items():
            vector = attrgetter(path)(read)
            np.testing.assert_array_equal(
                written.fields[field][row], [vector.x, vector.y, vector.z], err_msg=field
            )


@given(data=st.data(), storage=st.sampled_from(STORAGES), compress=st.booleans())
@DRAWN
def test_bags_give_back_their_channels_and_texts(tmp_path_factory, data, storage, compress):
    topics = data.draw(st.sets(st.sampled_from(EVERY_TYPE), min_size=1, max_size=3))
    written = {}
    for number, kind in enumerate(sorted(topics)):
        written[f'/t{number}'] = data.draw(channels(kind, f'/t{number}'))
    urdf, mounting = data.draw(words), data.draw(words)
    path = tmp_path_factory.mktemp('round') / 'bag'
    write_recording(path, Recording(written, urdf, mounting), storage, compress)
    read = read_bag(path)
    assert (read.robot_description, read.mounting) == (urdf, mounting)
    assert dict(read.types()) == {topic: channel.type for topic, channel in written.items()}
    for topic, channel in written.items():
        assert_same(read.channels[topic], channel)


@given(
    parts=st.lists(channels(), min_size=2, max_size=4),
    order=st.randoms(use_true_random=False),
)
@DRAWN
def test_publishers_that_take_turns_on_one_topic_are_one_channel(parts, order):
    """Drivers of other joints, or that report less, in any order of their messages."""
    messages = []
    for number, part in enumerate(parts):
        for row, message in enumerate(encode(part)):
            messages.append((number, row, message))
    order.shuffle(messages)
    received = START + np.arange(len(messages)) * 10**6
    read = decode(JOINT_STATE, [message for *_, message in messages], '/topic', received)
    names = dict.fromkeys(name for number, *_ in messages for name in parts[number].names)
    assert read.names == tuple(names)
    for row, (number, row_of_part, _) in enumerate(messages):
        part = parts[number]
        assert read.stamp_ns[row] == part.stamp_ns[row_of_part]
        for field, values in read.fields.items():
            expected = np.full(len(names), np.nan)
            if field in part.fields:
                columns = [read.names.index(name) for name in part.names]
                expected[columns] = part.fields[field][row_of_part]
            np.testing.assert_array_equal(values[row], expected)


@given(part=channels(most=20), cuts=st.lists(st.integers(0, 20), max_size=3))
@DRAWN
def test_a_channel_that_is_cut_and_joined_is_the_same(part, cuts):
    bounds = sorted({0, len(part), *(min(cut, len(part)) for cut in cuts)})
    pieces = [part.rows(slice(low, high)) for low, high in zip(bounds, bounds[1:])]
    together = joined(pieces)
    assert_same(together, part)
    np.testing.assert_array_equal(together.stamp_ns, part.stamp_ns)
