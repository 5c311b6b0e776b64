"""
Recordings as ``ros2 bag record`` of Jazzy and Kilted leaves them, built with mcap and sqlite3.

Metadata, QoS texts and tables are those of rosbag2's own test resources (versions 4, 8 and 9);
rosbag2's real files (52 bags of github.com/ros2/rosbag2) gave the counts that rosbags gives.
"""

import sqlite3

from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
import numpy as np
import pytest
from rosbags.rosbag2 import Reader
from test_bag import assert_same, joint_states, START
from test_messages import new, raw, transform
import yaml

from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.messages import encode, encode_string, JOINT_STATE

STRING = 'std_msgs/msg/String'
FOREVER = {'sec': 9223372036, 'nsec': 854775807}
IDL = """================================================================================
IDL: sensor_msgs/msg/JointState
module sensor_msgs { module msg { struct JointState {
  std_msgs::msg::Header header; sequence<string> name; sequence<double> position;
  sequence<double> velocity; sequence<double> effort; }; }; };
"""


def qos(version, latched=False):
    """Return the offered QoS profiles as that version of metadata.yaml holds them."""
    words = {
        'history': 'keep_last',
        'reliability': 'reliable',
        'liveliness': 'automatic',
        'durability': 'transient_local' if latched else 'volatile',
    }
    numbers = {'history': 1, 'reliability': 1, 'liveliness': 1, 'durability': 1 if latched else 2}
    profile = {
        **(words if version >= 9 else numbers),
        'depth': 1 if latched else 10,
        'deadline': FOREVER,
        'lifespan': FOREVER,
        'liveliness_lease_duration': FOREVER,
        'avoid_ros_namespace_conventions': False,
    }
    return [profile] if version >= 9 else yaml.safe_dump([profile])


def metadata(version, storage, files, topics, mode=''):
    """Return the text of a metadata.yaml; topics : name -> (type, count)."""
    info = {
        'version': version,
        'storage_identifier': storage,
        'duration': {'nanoseconds': 999},
        'starting_time': {'nanoseconds_since_epoch': START},
        'message_count': sum(count for _, count in topics.values()),
        'topics_with_message_count': [
            {
                'topic_metadata': {
                    'name': name,
                    'type': kind,
                    'serialization_format': 'cdr',
                    'offered_qos_profiles': qos(version, kind == STRING),
                    **({'type_description_hash': 'RIHS01_' + 64 * '0'} if version >= 7 else {}),
                },
                'message_count': count,
            }
            for name, (kind, count) in topics.items()
        ],
        'compression_format': 'zstd' if mode else '',
        'compression_mode': mode,
        'relative_file_paths': files,
    }
    if version >= 5:
        info['files'] = [
            {
                'path': file,
                'starting_time': {'nanoseconds_since_epoch': START},
                'duration': {'nanoseconds': 999},
                'message_count': 1,
            }
            for file in files
        ]
    if version >= 8:
        info |= {'custom_data': None, 'ros_distro': {8: 'jazzy', 9: 'kilted'}[version]}
    return yaml.safe_dump({'rosbag2_bagfile_information': info})


def stream_of(channel):
    """Return (topic, type, time, message) of joint states, tf, rosout, images and description."""
    out = [('/robot_description', STRING, START, encode_string('<robot/>'))]
    tree = raw(new('tf2_msgs/TFMessage', transforms=[transform('link', np.arange(7.0), 5)]))
    for i, (time, message) in enumerate(zip(channel.received_ns.tolist(), encode(channel))):
        out.append((channel.topic, JOINT_STATE, time, message))
        if i % 10 == 0:
            out += [
                ('/tf', 'tf2_msgs/msg/TFMessage', time, tree),
                ('/rosout', 'rcl_interfaces/msg/Log', time, b'\0\1\0\0not looked at'),
                ('/camera/image', 'sensor_msgs/msg/Image', time, bytes(5000)),
            ]
    return out


def write_mcap(path, stream, compression, encoding='ros2msg', pack=bytes):
    """Write with the mcap library as rosbag2_storage_mcap does: profile, CRCs, QoS, metadata."""
    with path.open('wb') as file:
        writer = McapWriter(file, compression=compression, chunk_size=100_000)
        writer.start('ros2', 'libmcap 1.4.0')
        schemas, keys = {}, {}
        for i, (topic, kind, time, message) in enumerate(stream):
            if kind not in schemas:
                text = IDL if encoding == 'ros2idl' else 'float64[] position'
                schemas[kind] = writer.register_schema(kind, encoding, text.encode())
            if topic not in keys:
                keys[topic] = writer.register_channel(
                    topic,
                    'cdr',
                    schemas[kind],
                    {
                        'offered_qos_profiles': yaml.safe_dump(qos(9, kind == STRING)),
                        'topic_type_hash': 'RIHS01_' + 64 * '0',
                    },
                )
            writer.add_message(keys[topic], time, pack(message), time, i)
        writer.add_metadata('rosbag2', {'serialized_metadata': 'version: 9'})
        writer.finish()


def write_sqlite3(path, stream, schema, pack=bytes):
    """Write as rosbag2_storage_sqlite3 does; schema 2 (Foxy), 3 (Humble) or 4 (Jazzy)."""
    with sqlite3.connect(path) as database:
        hashes = ', type_description_hash TEXT NOT NULL' if schema >= 4 else ''
        database.execute('PRAGMA journal_mode = WAL')
        database.execute(
            'CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type '
            'TEXT NOT NULL, serialization_format TEXT NOT NULL, '
            f'offered_qos_profiles TEXT NOT NULL{hashes})'
        )
        database.execute(
            'CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT '
            'NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL)'
        )
        database.execute('CREATE INDEX timestamp_idx ON messages (timestamp ASC)')
        if schema >= 3:
            database.execute(
                'CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL)'
            )
        keys = {}
        for topic, kind, time, message in stream:
            if topic not in keys:
                keys[topic] = len(keys) + 1
                row = [keys[topic], topic, kind, 'cdr', qos(8)] + ['RIHS01_0'] * (schema >= 4)
                database.execute(f'INSERT INTO topics VALUES({",".join("?" * len(row))})', row)
            database.execute(
                'INSERT INTO messages(topic_id, timestamp, data) VALUES(?, ?, ?)',
                (keys[topic], time, pack(message)),
            )
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


def counted(stream):
    return {
        topic: (kind, sum(1 for other in stream if other[0] == topic))
        for topic, kind, _, _ in stream
    }


@pytest.mark.parametrize('encoding', ['ros2msg', 'ros2idl', ''])
@pytest.mark.parametrize('compression', list(CompressionType))
@pytest.mark.parametrize('version', [8, 9])
def test_mcap_bags_of_jazzy_and_kilted_are_read(tmp_path, version, compression, encoding):
    channel = joint_states(300)
    stream = stream_of(channel)
    write_mcap(tmp_path / 'bag_0.mcap', stream, compression, encoding)
    check(tmp_path / 'bag_0.mcap', channel)
    (tmp_path / 'metadata.yaml').write_text(
        metadata(version, 'mcap', ['bag_0.mcap'], counted(stream))
    )
    check(tmp_path, channel)
    with Reader(tmp_path) as reader:  # rosbags agrees that it is a bag
        assert reader.message_count == len(stream)


@pytest.mark.parametrize('version, schema', [(4, 2), (5, 3), (8, 4), (9, 4)])
def test_sqlite3_bags_of_every_schema_are_read(tmp_path, version, schema):
    channel = joint_states(300)
    stream = stream_of(channel)
    write_sqlite3(tmp_path / 'bag_0.db3', stream, schema)
    (tmp_path / 'metadata.yaml').write_text(
        metadata(version, 'sqlite3', ['bag_0.db3'], counted(stream))
    )
    check(tmp_path, channel)


def test_a_message_of_another_serialisation_is_listed(tmp_path):
    with (tmp_path / 'a.mcap').open('wb') as file:
        writer = McapWriter(file)
        writer.start('ros2')
        key = writer.register_channel('/j', 'json', writer.register_schema(JOINT_STATE, '', b''))
        writer.add_message(key, START, b'{}', START)
        writer.finish()
    recording = read_bag(tmp_path / 'a.mcap')
    assert recording.provenance['skipped'] == {'/j': f'{JOINT_STATE} (json)'}
