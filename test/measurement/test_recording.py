"""Recordings: one that is longer than the memory, one that is pickled."""

import os
import pickle

import numpy as np
import pytest

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement import recording as large_arrays
from ros_inertial_id.measurement.bags import decoding
from ros_inertial_id.measurement.bags.cdr import RawMessages
from ros_inertial_id.measurement.bags.messages import channel_builder, decode, encode, JOINT_STATE
from ros_inertial_id.measurement.recording import Channel, Recording


def anonymous():
    """Return the memory that no file backs [bytes]."""
    with open('/proc/self/status', encoding='utf-8') as status:
        return next(int(line.split()[1]) for line in status if line.startswith('RssAnon')) << 10


def test_large_array_takes_no_memory_and_keeps_its_values():
    before = anonymous()
    large = large_arrays.empty((1_000_000, 8), float)
    large[:] = np.arange(8.0)
    large_arrays.page_out()
    assert anonymous() - before < 0.1 * large.nbytes  # all of it, were it in memory
    assert (large.sum(axis=0) == 1_000_000 * np.arange(8.0)).all()


def test_full_disk_leaves_the_array_in_memory(monkeypatch):
    def full(*_):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(os, 'posix_fallocate', full)
    array = large_arrays.empty((1_000_000, 3), float)
    assert array.base is None and array.shape == (1_000_000, 3)


def test_channel_beyond_its_room_is_the_same_as_one_in_memory(monkeypatch):
    rng, stamps = np.random.default_rng(0), np.arange(600, dtype=np.int64) * 1_000_000
    fields = {name: rng.normal(size=(600, 2)) for name in ('position', 'velocity', 'effort')}
    messages = list(encode(Channel('/j', JOINT_STATE, stamps, stamps, fields, ('a', 'b'))))
    in_memory = decode(JOINT_STATE, messages, '/j', stamps)
    for module, name, value in (
        (decoding, '_TOGETHER', 5000),
        (decoding, '_BATCH', 16),
        (large_arrays, 'LARGE', 1000),
    ):
        monkeypatch.setattr(module, name, value)
    builder = channel_builder(JOINT_STATE, '/j')
    for k in range(0, 600, 20):
        builder.add(RawMessages.of(messages[k : k + 20], stamps[k : k + 20]))
    in_files = builder.channel()
    assert in_files.fields['effort'].base is not None
    assert not in_files.fields['effort'].flags.writeable
    for name in fields:
        np.testing.assert_array_equal(in_files.fields[name], in_memory.fields[name])
    np.testing.assert_array_equal(in_files.stamp_ns, stamps)


def test_a_recording_is_pickled_whole_and_shown_without_its_description():
    stamps = np.arange(3)
    channel = Channel(
        '/j',
        'sensor_msgs/msg/JointState',
        stamps,
        stamps + 5,
        {'position': np.eye(3)},
        ('a', 'b', 'c'),
        'base',
    )
    recording = Recording({'/j': channel}, '<robot/>', provenance={'path': 'bag'})
    again = pickle.loads(pickle.dumps(recording))
    assert repr(again) == "Recording('bag', /j: sensor_msgs/msg/JointState)" == repr(recording)
    assert again.robot_description == '<robot/>' and again.provenance == {'path': 'bag'}
    got = again.channels['/j']
    np.testing.assert_array_equal(got.fields['position'], np.eye(3))
    np.testing.assert_array_equal(got.received_ns, stamps + 5)
    assert (got.names, got.frame_id) == (('a', 'b', 'c'), 'base') and len(repr(got)) < 120


def test_topics_whose_types_cannot_be_read_are_listed():
    skipped = {'/iiwa/state/JointPosition': 'iiwa_msgs/msg/JointPosition'}
    recording = Recording({}, provenance={'path': 'bag', 'skipped': skipped})
    with pytest.raises(
        RecordingError,
        match=r'bag holds no samples; there is: /iiwa/state/'
        r'JointPosition \(iiwa_msgs/msg/JointPosition\).*JointState, or import',
    ):
        recording.origin_ns()
