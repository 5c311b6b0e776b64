"""
Recordings as ``ros2 bag record`` leaves their files, built with mcap and sqlite3.

Tables are those of rosbag2's own test resources (versions 4, 8 and 9); rosbag2's real files (52
bags of github.com/ros2/rosbag2) gave the counts that rosbags gives.
"""

import sqlite3

from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
import numpy as np
import pytest
from test_bag import assert_same, joint_states, START
from test_messages import new, raw, transform

from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.messages import encode, encode_string, JOINT_STATE

STRING = 'std_msgs/msg/String'
IDL = """================================================================================
IDL: sensor_msgs/msg/JointState
module sensor_msgs { module msg { struct JointState {
  std_msgs::msg::Header header; sequence<string> name; sequence<double> position;
  sequence<double> velocity; sequence<double> effort; }; }; };
"""


def stream_of(channel):
    """Return (topic, type, time, message) of joint states, tf, rosout, images and description."""
    out = [('/robot_description', STRING, START, encode_string('<robot/>'))]
    tree = raw(new('tf2_msgs/TFMessage', transforms=[transform('link', np.arange(7.0), 5)]))
    for i, (time, message) in enumerate(zip(channel.received_ns.tolist(), encode(channel))):
        out.append((channel.topic, JOINT_STATE, time, message))
        if i % 10 == 0:
            out += [('/tf', 'tf2_msgs/msg/TFMessage', time, tree),
                    ('/rosout', 'rcl_interfaces/msg/Log', time, b'\0\1\0\0not looked at'),
                    ('/camera/image', 'sensor_msgs/msg/Image', time, bytes(5000))]
    return out


def write_mcap(path, stream, compression, encoding='ros2msg'):
    """Write with the mcap library as rosbag2_storage_mcap does: profile, CRCs, metadata."""
    with path.open('wb') as file:
        writer = McapWriter(file, compression=compression, chunk_size=100_000)
        writer.start('ros2', 'libmcap 1.4.0')
        schemas, keys = {}, {}
        for i, (topic, kind, time, message) in enumerate(stream):
            if kind not in schemas:
                text = IDL if encoding == 'ros2idl' else 'float64[] position'
                schemas[kind] = writer.register_schema(kind, encoding, text.encode())
            if topic not in keys:
                keys[topic] = writer.register_channel(topic, 'cdr', schemas[kind], {
                    'offered_qos_profiles': '', 'topic_type_hash': 'RIHS01_' + 64 * '0'})
            writer.add_message(keys[topic], time, message, time, i)
        writer.add_metadata('rosbag2', {'serialized_metadata': 'version: 9'})
        writer.finish()


def write_sqlite3(path, stream, schema):
    """Write as rosbag2_storage_sqlite3 does; schema 2 (Foxy), 3 (Humble) or 4 (Jazzy)."""
    with sqlite3.connect(path) as database:
        hashes = ', type_description_hash TEXT NOT NULL' if schema >= 4 else ''
        database.execute('PRAGMA journal_mode = WAL')
        database.execute('CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type '
                         'TEXT NOT NULL, serialization_format TEXT NOT NULL, '
                         f'offered_qos_profiles TEXT NOT NULL{hashes})')
        database.execute('CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT '
                         'NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL)')
        database.execute('CREATE INDEX timestamp_idx ON messages (timestamp ASC)')
        if schema >= 3:
            database.execute('CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, '
                             'ros_distro TEXT NOT NULL)')
        keys = {}
        for topic, kind, time, message in stream:
            if topic not in keys:
                keys[topic] = len(keys) + 1
                row = [keys[topic], topic, kind, 'cdr', ''] + ['RIHS01_0'] * (schema >= 4)
                database.execute(f'INSERT INTO topics VALUES({",".join("?" * len(row))})', row)
            database.execute('INSERT INTO messages(topic_id, timestamp, data) VALUES(?, ?, ?)',
                             (keys[topic], time, message))
    database.close()


def check(path, channel):
    """Check that everything is read and nothing but the unread types is left."""
    recording = read_bag(path)
    assert_same(recording.channels['/joint_states'], channel)
    assert len(recording.channels['/tf']) == -(-len(channel) // 10)
    assert set(recording.channels) == {'/joint_states', '/tf'}
    assert recording.robot_description == '<robot/>'
    assert set(recording.provenance['skipped']) == {'/rosout', '/camera/image'}
    assert recording.provenance['damage'] == () and not recording.provenance['left_out']


@pytest.mark.parametrize('encoding', ['ros2msg', 'ros2idl', ''])
@pytest.mark.parametrize('compression', list(CompressionType))
def test_mcap_bags_of_jazzy_and_kilted_are_read(tmp_path, compression, encoding):
    channel = joint_states(300)
    write_mcap(tmp_path / 'bag_0.mcap', stream_of(channel), compression, encoding)
    check(tmp_path / 'bag_0.mcap', channel)


@pytest.mark.parametrize('schema', [2, 3, 4])
def test_sqlite3_bags_of_every_schema_are_read(tmp_path, schema):
    channel = joint_states(300)
    write_sqlite3(tmp_path / 'bag_0.db3', stream_of(channel), schema)
    check(tmp_path / 'bag_0.db3', channel)


def test_a_message_of_another_serialisation_is_listed(tmp_path):
    with (tmp_path / 'a.mcap').open('wb') as file:
        writer = McapWriter(file)
        writer.start('ros2')
        key = writer.register_channel('/j', 'json', writer.register_schema(JOINT_STATE, '', b''))
        writer.add_message(key, START, b'{}', START)
        writer.finish()
    recording = read_bag(tmp_path / 'a.mcap')
    assert recording.provenance['skipped'] == {'/j': f'{JOINT_STATE} (json)'}
