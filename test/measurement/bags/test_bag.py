"""
Bags: what rosbags wrote is read, what is written rosbags and mcap read, and nothing is lost.

The oracles are rosbags' reader and writer and the reader of the mcap library.
"""

from dataclasses import replace
import os
from pathlib import Path
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import tracemalloc

import mcap.reader
from mcap.writer import Writer as McapWriter
import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.interfaces import QosDurability
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores
import yaml

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.messages import encode, encode_string, JOINT_STATE
from ros_inertial_id.measurement.bags.writing import BagWriter, write_recording
from ros_inertial_id.measurement.recording import Channel, Recording

STRING = 'std_msgs/msg/String'
STORE = get_typestore(Stores.ROS2_JAZZY)
START = 1_700_000_000_000_000_000
STORAGES = ('mcap', 'sqlite3')


def joint_states(n, step_ns=1_000_000, topic='/joint_states'):
    """Return a Channel of n random samples of three joints."""
    rng = np.random.default_rng(n)
    stamps = START + step_ns * np.arange(n)
    fields = {name: rng.normal(size=(n, 3)) for name in ('position', 'velocity', 'effort')}
    return Channel(topic, JOINT_STATE, stamps, stamps + 70_000, fields, ('one', 'two', 'three'))


def assert_same(channel, other):
    assert channel.names == other.names and set(channel.fields) == set(other.fields)
    np.testing.assert_array_equal(channel.stamp_ns, other.stamp_ns)
    np.testing.assert_array_equal(channel.received_ns, other.received_ns)
    for name, values in other.fields.items():
        np.testing.assert_array_equal(channel.fields[name], values)


def write_with_rosbags(path, channel, storage, mode):
    """Write the channel and a description, in the manner of ros2 bag record."""
    writer = Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
    writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
    with writer:
        text = writer.add_connection('/arm/robot_description', STRING, typestore=STORE)
        image = writer.add_connection('/camera', 'sensor_msgs/msg/Image', typestore=STORE)
        connection = writer.add_connection(channel.topic, JOINT_STATE, typestore=STORE)
        writer.write(text, START, encode_string('<robot name="écrit"/>'))
        for i, message in enumerate(encode(channel)):
            if i % 100 == 0:
                writer.write(image, int(channel.received_ns[i]), b'not looked at')
            writer.write(connection, int(channel.received_ns[i]), message)


@pytest.mark.parametrize(
    ('storage', 'mode'),
    [
        (storage, mode)
        for storage in STORAGES
        for mode in ('NONE', 'MESSAGE', 'FILE', 'STORAGE')
        if (storage, mode) != ('sqlite3', 'STORAGE')
    ],
)
def test_reads_every_storage_and_compression_of_rosbag2(tmp_path, storage, mode):
    channel = joint_states(3000)
    write_with_rosbags(tmp_path / 'bag', channel, storage, mode)
    seen = []
    recording = read_bag(tmp_path / 'bag', progress=seen.append)
    assert_same(recording.channels['/joint_states'], channel)
    assert set(recording.channels) == {'/joint_states'}
    assert recording.robot_description == '<robot name="écrit"/>' and recording.mounting == ''
    assert recording.provenance['skipped'] == {'/camera': 'sensor_msgs/msg/Image'}
    assert recording.provenance['damage'] == ()
    assert seen == sorted(seen) and seen[-1] == 1.0


@pytest.mark.parametrize('compress', [False, True])
@pytest.mark.parametrize('storage', STORAGES)
def test_rosbags_reads_what_is_written(tmp_path, storage, compress):
    channel = joint_states(2500)
    write_recording(
        tmp_path / 'bag',
        Recording(
            {'/joint_states': channel}, '<robot/>', 'upright: true', periods='period_s: 5.0'
        ),
        storage,
        compress,
    )
    with AnyReader([tmp_path / 'bag']) as reader:  # also compares the type hashes
        topics = {c.topic: c for c in reader.connections}
        assert {t: c.msgcount for t, c in topics.items()} == {
            '/joint_states': 2500,
            '/robot_description': 1,
            '/mounting': 1,
            '/periods': 1,
        }
        for topic, connection in topics.items():
            latched = connection.ext.offered_qos_profiles[0].durability
            assert (latched == QosDurability.TRANSIENT_LOCAL) == (topic != '/joint_states')
            assert connection.msgdef.data
        messages = [
            (ns, reader.deserialize(data, JOINT_STATE))
            for c, ns, data in reader.messages([topics['/joint_states']])
        ]
        text = next(reader.messages([topics['/robot_description']]))[2]
        assert reader.deserialize(text, STRING).data == '<robot/>'
    assert [ns for ns, _ in messages] == channel.received_ns.tolist()
    np.testing.assert_array_equal([m.effort for _, m in messages], channel.fields['effort'])
    again = read_bag(tmp_path / 'bag')
    assert_same(again.channels['/joint_states'], channel)
    assert (again.robot_description, again.mounting, again.periods) == (
        '<robot/>',
        'upright: true',
        'period_s: 5.0',
    )


def test_the_written_mcap_is_indexed_and_its_metadata_complete(tmp_path):
    write_recording(tmp_path / 'bag', Recording({'/joint_states': joint_states(2500)}, '<robot/>'))
    with (tmp_path / 'bag' / 'bag.mcap').open('rb') as stream:
        reader = mcap.reader.make_reader(stream, validate_crcs=True)
        summary = reader.get_summary()
        assert summary.statistics.message_count == 2501
        assert summary.statistics.chunk_count == len(summary.chunk_indexes) >= 5  # 2.5 s
        assert {s.name for s in summary.schemas.values()} == {JOINT_STATE, STRING}
        assert all(s.encoding == 'ros2msg' for s in summary.schemas.values())
        assert sum(1 for _ in reader.iter_messages(topics=['/joint_states'])) == 2500
    info = yaml.safe_load((tmp_path / 'bag' / 'metadata.yaml').read_text())
    info = info['rosbag2_bagfile_information']
    assert info['version'] == 9 and info['storage_identifier'] == 'mcap'
    assert info['message_count'] == 2501
    assert info['relative_file_paths'] == ['bag.mcap']
    for topic in info['topics_with_message_count']:
        assert topic['topic_metadata']['type_description_hash'].startswith('RIHS01_')


def test_split_bags_are_read_in_the_order_of_their_numbers(tmp_path):
    whole, folder = joint_states(12 * 50), tmp_path / 'bag'
    folder.mkdir()
    for i in range(12):
        write_recording(
            tmp_path / f'part_{i}',
            Recording({'/joint_states': whole.rows(slice(50 * i, 50 * i + 50))}),
        )
        shutil.copy(tmp_path / f'part_{i}' / f'part_{i}.mcap', folder / f'bag_{i}.mcap')
    assert_same(read_bag(folder).channels['/joint_states'], whole)  # no metadata: by number
    (folder / 'metadata.yaml').write_text(
        yaml.safe_dump(
            {
                'rosbag2_bagfile_information': {
                    'relative_file_paths': [f'bag_{i}.mcap' for i in range(11)]
                }
            }
        )
    )
    recording = read_bag(folder)  # killed after a split: the last file is not listed
    assert_same(recording.channels['/joint_states'], whole)
    assert 'bag_11.mcap' in recording.provenance['damage'][0]
    (folder / 'bag_7.mcap').unlink()
    with pytest.raises(RecordingError, match='expected .*bag_7.mcap.*found'):
        read_bag(folder)


def test_messages_keep_the_order_of_the_file_when_stamps_run_backwards(tmp_path):
    channel = joint_states(6)
    order = np.array([0, 1, 4, 3, 2, 5])
    stamps = channel.stamp_ns[order]
    shuffled = Channel(
        '/joint_states',
        JOINT_STATE,
        stamps,
        channel.received_ns,
        {k: v[order] for k, v in channel.fields.items()},
        channel.names,
    )
    for storage in STORAGES:
        write_recording(tmp_path / storage, Recording({'/joint_states': shuffled}), storage)
        np.testing.assert_array_equal(
            read_bag(tmp_path / storage).channels['/joint_states'].stamp_ns, stamps
        )


def write_without_chunks(path, *channels):
    """Write as the preset ``fastwrite`` does: messages lie bare in the file, without a CRC."""
    with path.open('wb') as stream:
        writer = McapWriter(stream, use_chunking=False, repeat_channels=False)
        writer.start('ros2')
        schema = writer.register_schema(JOINT_STATE, 'ros2msg', b'')
        for channel in channels:
            key = writer.register_channel(channel.topic, 'cdr', schema)
            for ns, message in zip(channel.received_ns, encode(channel)):
                writer.add_message(key, int(ns), message, int(ns))
        writer.finish()


def test_an_unindexed_mcap_without_chunks_is_read(tmp_path):
    channels = [joint_states(30), joint_states(20, topic='/other')]
    write_without_chunks(tmp_path / 'fast.mcap', *channels)
    recording = read_bag(tmp_path / 'fast.mcap')
    for channel in channels:
        assert_same(recording.channels[channel.topic], channel)


def test_all_robot_descriptions_are_read(tmp_path):
    with BagWriter(tmp_path / 'bag') as bag:
        for name in ('left', 'right'):
            bag.add_topic(f'/{name}/robot_description', STRING, latched=True)
            bag.write(f'/{name}/robot_description', encode_string(name), START)
    recording = read_bag(tmp_path / 'bag')
    assert recording.robot_description == 'left'
    assert recording.descriptions['/right/robot_description'] == 'right'


@pytest.mark.parametrize(
    'early, first, kept',
    [(3, 10**18, 7), (1, 7 * 10**9, 9), (1, 5_000_000, 10)],
    ids=['several', 'simulated time', 'a log from zero on'],
)
def test_messages_stamped_before_the_clock_ran_are_left_out(tmp_path, early, first, kept):
    channel = joint_states(10)
    stamps = np.r_[np.zeros(early, np.int64), first + 5_000_000 * np.arange(10 - early)]
    write_recording(
        tmp_path / 'bag', Recording({'/joint_states': replace(channel, stamp_ns=stamps)})
    )
    recording = read_bag(tmp_path / 'bag')
    np.testing.assert_array_equal(recording.channels['/joint_states'].stamp_ns, stamps[-kept:])
    assert ('stamped 0' in str(recording.provenance['left_out'])) == (kept < 10)


def test_messages_without_stamps_are_said(tmp_path, caplog):
    one = joint_states(30, 5_000_000)
    bare = replace(one, stamp_ns=np.zeros_like(one.stamp_ns))
    write_recording(tmp_path / 'bag', Recording({'/joint_states': bare}))
    channel = read_bag(tmp_path / 'bag').channels['/joint_states']
    np.testing.assert_array_equal(channel.stamp_ns, channel.received_ns)
    assert 'no message of topic /joint_states has a stamp' in caplog.text


KILLED = """
import sys, time
from ros_inertial_id.measurement.bags.writing import BagWriter
from ros_inertial_id.measurement.bags.messages import encode, encode_string, JOINT_STATE
from test_bag import START, joint_states
bag = BagWriter(sys.argv[1], sys.argv[2])
bag.add_topic('/robot_description', 'std_msgs/msg/String', latched=True)
bag.add_topic('/joint_states', JOINT_STATE)
bag.write('/robot_description', encode_string('<robot/>'), START)
channel = joint_states(2777)
for ns, message in zip(channel.received_ns.tolist(), encode(channel)):
    bag.write('/joint_states', message, ns)
print('written', flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize('storage', STORAGES)
def test_a_killed_recorder_loses_less_than_a_second(tmp_path, storage):
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), str(here.parents[2]), os.environ.get('PYTHONPATH', '')])
    child = subprocess.Popen(
        [sys.executable, '-c', textwrap.dedent(KILLED), str(tmp_path / 'bag'), storage],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ, PYTHONPATH=paths),
    )
    try:
        assert child.stdout.readline() == 'written\n'
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    recording = read_bag(tmp_path / 'bag')
    got, channel = recording.channels['/joint_states'], joint_states(2777)
    assert recording.robot_description == '<robot/>'
    assert_same(got, channel.rows(slice(0, len(got))))
    assert channel.stamp_ns[-1] - got.stamp_ns[-1] <= 500_000_000  # 0.5 s between flushes
    assert recording.provenance['damage']


def test_the_journal_of_a_killed_sqlite3_writer_is_rolled_back(tmp_path):
    channel = joint_states(400)
    write_recording(tmp_path / 'bag', Recording({'/joint_states': channel}), 'sqlite3')
    database = sqlite3.connect(tmp_path / 'bag' / 'bag.db3')
    database.execute('PRAGMA journal_mode = WAL')
    database.execute('DELETE FROM messages WHERE id > 300')
    database.commit()
    (tmp_path / 'killed').mkdir()
    for file in (tmp_path / 'bag').iterdir():  # as the file lies while the writer lives
        shutil.copy(file, tmp_path / 'killed')
    database.close()
    before = {f.name: f.read_bytes() for f in (tmp_path / 'killed').iterdir()}
    got = read_bag(tmp_path / 'killed').channels['/joint_states']
    assert_same(got, channel.rows(slice(0, 300)))
    assert before == {f.name: f.read_bytes() for f in (tmp_path / 'killed').iterdir()}


@pytest.mark.parametrize('storage', STORAGES)
def test_a_full_disk_is_said_and_costs_only_the_last_half_second(tmp_path, storage):
    channel = joint_states(10_000)
    messages = list(encode(channel))
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    bag = BagWriter(tmp_path / 'bag', storage)
    bag.add_topic('/joint_states', JOINT_STATE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, old[1]))  # as a disk with 1 MB
    try:
        with pytest.raises(RecordingError, match='cannot be written.*can be read.*disk'):
            for ns, message in zip(channel.received_ns.tolist(), messages):
                bag.write('/joint_states', message, ns)
        tracemalloc.start()
        for ns, message in zip(channel.received_ns.tolist(), messages):
            with pytest.raises(RecordingError, match='cannot be written'):
                bag.write('/joint_states', message, ns)
            if ns > channel.received_ns[5000]:
                break
        grown = tracemalloc.get_traced_memory()[0]
        bag.close()
    finally:
        tracemalloc.stop()
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert grown < 250_000  # [bytes]; the refused messages are four times as much
    got = read_bag(tmp_path / 'bag').channels['/joint_states']
    assert len(got) >= bag.counts['/joint_states'] - 1000  # this half second and the last
    assert_same(got, channel.rows(slice(0, len(got))))


def test_a_bag_is_never_written_over(tmp_path):
    (tmp_path / 'bag').mkdir()
    with pytest.raises(RecordingError, match='exists already'):
        BagWriter(tmp_path / 'bag')
    (tmp_path / 'file').write_text('')
    for path in (tmp_path / 'file' / 'bag', tmp_path / ('x' * 300), tmp_path / 'a\0b'):
        with pytest.raises(RecordingError, match='cannot make the bag'):
            BagWriter(path)


@pytest.mark.parametrize('storage', STORAGES)
@pytest.mark.parametrize('name', ['run#1', 'run?mode=ro', 'run 100%25', 'Läufe', 'a@b'])
def test_a_bag_may_have_any_name(tmp_path, storage, name):
    channel = joint_states(20)
    write_recording(tmp_path / name, Recording({'/joint_states': channel}), storage)
    assert [f.name for f in tmp_path.iterdir()] == [name]
    assert_same(read_bag(tmp_path / name).channels['/joint_states'], channel)


def test_a_topic_to_which_no_message_was_written_is_empty(tmp_path):
    with BagWriter(tmp_path / 'bag') as bag:
        bag.add_topic('/joint_states', JOINT_STATE)
        bag.write_all('/joint_states', (), ())
    assert len(read_bag(tmp_path / 'bag').channels['/joint_states']) == 0


def test_misuse_of_the_writer_is_refused(tmp_path):
    with pytest.raises(RecordingError, match='rosbag.*there is: sqlite3, mcap'):
        BagWriter(tmp_path / 'bag', 'rosbag')
    with BagWriter(tmp_path / 'bag') as bag:
        with pytest.raises(RecordingError, match='my_msgs/msg/Mine'):
            bag.add_topic('/mine', 'my_msgs/msg/Mine')
        with pytest.raises(RecordingError, match='/never was not declared'):
            bag.write('/never', b'', 0)
    bag.close()
    with pytest.raises(RecordingError, match='is closed'):
        bag.add_topic('/late', JOINT_STATE)
    with pytest.raises(RecordingError, match='/tf'):
        tf = Channel('/tf', 'tf2_msgs/msg/TFMessage', *np.zeros((2, 1), np.int64), {})
        write_recording(tmp_path / 'other', Recording({'/tf': tf}))
    assert not (tmp_path / 'other').exists()


def test_paths_without_a_bag_are_refused(tmp_path):
    with pytest.raises(RecordingError, match='does not exist'):
        read_bag(tmp_path / 'nowhere')
    (tmp_path / 'notes.txt').write_text('hello')
    with pytest.raises(RecordingError, match='found notes.txt'):
        read_bag(tmp_path)
    with pytest.raises(RecordingError, match='rosbags-convert'):
        read_bag(tmp_path / 'notes.txt')
    for name in ('a.mcap', 'a.db3', 'a.mcap.zstd'):
        (tmp_path / name).write_bytes(b'something else, of more than some bytes' * 50)
        with pytest.raises(RecordingError, match=name):
            read_bag(tmp_path / name)


def test_empty_bags_are_read(tmp_path):
    for storage in STORAGES:
        with BagWriter(tmp_path / storage, storage) as bag:
            bag.add_topic('/joint_states', JOINT_STATE)
        recording = read_bag(tmp_path / storage)
        assert not any(map(len, recording.channels.values()))


def test_reading_holds_little_more_than_the_arrays(tmp_path):
    channel = joint_states(60_000)
    write_recording(tmp_path / 'bag', Recording({'/joint_states': channel}))
    tracemalloc.start()
    try:
        got = read_bag(tmp_path / 'bag').channels['/joint_states']
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    sizes = [array.nbytes for array in (got.stamp_ns, got.received_ns, *got.fields.values())]
    # one field in two copies while its parts are joined, and a batch of messages
    assert peak < sum(sizes) + max(sizes) + 5_000_000
    assert len(got) == 60_000
