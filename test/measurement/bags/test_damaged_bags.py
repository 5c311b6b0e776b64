"""
Damaged bags: what is before the damage counts, everything lost is said, nothing hangs.

What is whole is known from the mcap library's index and from where the bytes lie in the file.
"""

import logging
import os
from pathlib import Path
import shutil
import sqlite3
import subprocess
import sys

import mcap.reader
import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from test_bag import (
    assert_same,
    joint_states,
    START,
    STORE,
    write_with_rosbags,
    write_without_chunks,
)
from test_messages import joint_state, marker, markers, new, raw, transform

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement.bags import mcap_file
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.messages import decode, encode, JOINT_STATE
from ros_inertial_id.measurement.bags.writing import BagWriter, write_recording
from ros_inertial_id.measurement.recording import Recording

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PAGE = 4096


def written(folder, storage='mcap', n=5000, compress=False):
    """Write joint states of n ms; return them and the storage file."""
    channel = joint_states(n)
    write_recording(
        folder / 'bag', Recording({'/joint_states': channel}, '<robot/>'), storage, compress
    )
    return channel, next(f for f in (folder / 'bag').iterdir() if f.suffix != '.yaml')


def change(file, place, values):
    data = bytearray(file.read_bytes())
    data[place : place + len(values)] = values
    file.write_bytes(data)


def flip(file, place, bit=3):
    change(file, place, bytes([file.read_bytes()[place] ^ 1 << bit]))


def chunks_of(file):
    with file.open('rb') as stream:
        return mcap.reader.make_reader(stream).get_summary().chunk_indexes


def damage_of(file):
    """Return the joint states that are read, and what is said."""
    recording = read_bag(file)
    return recording.channels['/joint_states'], ' '.join(recording.provenance['damage'])


RECOVER = 'save what is left with: mcap recover bag.mcap -o whole.mcap'


def assert_read_until(file, channel, end_ns):
    """Check that what was received before a time [ns] is read, and the rest is said to be lost."""
    got, said = damage_of(file)
    assert_same(got, channel.rows(channel.received_ns < end_ns))
    assert 'bag.mcap is' in said and RECOVER in said


@pytest.mark.parametrize('compress', [False, True])
@pytest.mark.parametrize('number', [2, 4])  # in the first two are the definitions
def test_a_flipped_bit_ends_the_reading_before_its_chunk(tmp_path, number, compress):
    channel, file = written(tmp_path, compress=compress)
    chunk = chunks_of(file)[number]
    flip(file, chunk.chunk_start_offset + chunk.chunk_length - 100)
    assert_read_until(file, channel, chunk.message_start_time)


@pytest.mark.parametrize('offset', [0, 2, 36, 40, 50])  # opcode, lengths, sizes, content
def test_a_damaged_head_of_a_chunk_ends_the_reading_before_it(tmp_path, offset):
    channel, file = written(tmp_path)
    chunk = chunks_of(file)[2]
    change(file, chunk.chunk_start_offset + offset, b'\xee\xee\xee')
    assert_read_until(file, channel, chunk.message_start_time)


@pytest.mark.parametrize('keep', [0.999, 0.6, 0.3])
def test_a_cut_off_mcap_gives_its_complete_chunks(tmp_path, caplog, keep):
    channel, file = written(tmp_path, n=10_000)
    (tmp_path / 'bag' / 'metadata.yaml').unlink()
    os.truncate(file, int(keep * file.stat().st_size))
    recording = read_bag(tmp_path / 'bag')
    got = recording.channels['/joint_states']
    assert_same(got, channel.rows(slice(0, len(got))))
    assert len(got) >= keep * len(channel) - 600  # 500 messages to a chunk of half a second
    assert recording.robot_description == '<robot/>'
    assert len(recording.provenance['damage']) == 2
    assert 'no usable metadata' in recording.provenance['damage'][0]
    assert 'metadata.yaml' in caplog.text and 'cut off' in caplog.text and RECOVER in caplog.text


def test_a_tail_of_zeros_is_no_record(tmp_path, monkeypatch):
    """A power cut leaves blocks that were never written: not 7 million records of no length."""
    channel, file = written(tmp_path, n=600)
    end = chunks_of(file)[-1]
    os.truncate(file, end.chunk_start_offset + end.chunk_length)
    os.truncate(file, file.stat().st_size + (64 << 20))
    looked = []
    original = mcap_file._Records._read_record
    monkeypatch.setattr(
        mcap_file._Records,
        '_read_record',
        lambda self, *at: looked.append(at) or original(self, *at),
    )
    assert_read_until(file, channel, np.inf)
    assert len(looked) < 100


@pytest.mark.parametrize(('where', 'bit'), [(0, 3), (1, 7), (9 + 13, 7)])  # opcode, length, time
def test_a_damaged_message_of_an_mcap_without_chunks_ends_the_reading(tmp_path, where, bit):
    channel, file = joint_states(300), tmp_path / 'bag.mcap'
    write_without_chunks(file, channel)
    hundredth = list(encode(channel))[100]
    at = file.read_bytes().find(hundredth) - 31  # opcode, length, channel, number, two times
    flip(file, at + where, bit)
    recording = read_bag(file)
    got, said = recording.channels['/joint_states'], recording.provenance
    assert 100 <= len(got) <= 101
    assert_same(got.rows(slice(0, 100)), channel.rows(slice(0, 100)))
    assert RECOVER in ' '.join(said['damage'])


def recovery(file):
    """Return the command that is proposed for a damaged sqlite3 file."""
    for path in (file, file.parent):
        with pytest.raises(RecordingError, match='no whole rosbag2 database; found .*with: ') as e:
            read_bag(path)
    return str(e.value).split('with: ')[1]


@pytest.mark.parametrize('where', [0.0, 0.3, 0.9])
def test_a_damaged_page_of_a_sqlite3_is_said(tmp_path, where):
    _, file = written(tmp_path, 'sqlite3')
    change(file, int(where * file.stat().st_size) // PAGE * PAGE, b'\xff' * PAGE)
    assert recovery(file)


@pytest.mark.parametrize('keep', [0.2, 0.9])
def test_what_is_left_of_a_cut_sqlite3_is_saved_as_proposed(tmp_path, keep):
    channel, file = written(tmp_path, 'sqlite3')
    os.truncate(file, int(keep * file.stat().st_size) // PAGE * PAGE)
    command = recovery(file)
    if shutil.which('sqlite3') is None:
        pytest.skip('no sqlite3')
    subprocess.run(command, shell=True, cwd=file.parent, capture_output=True, check=False)
    got, _ = damage_of(file.with_name('new.db3'))
    assert len(got) > 0.8 * keep * 5000
    assert_same(got, channel.rows(slice(0, len(got))))


def test_another_database_is_no_bag(tmp_path):
    with sqlite3.connect(tmp_path / 'bag.db3') as database:
        database.execute('CREATE TABLE accounts(id INTEGER)')
    database.close()
    with pytest.raises(RecordingError, match='found no such table: topics'):
        read_bag(tmp_path)


def bag_of(folder, **topics):
    """Write a bag of messages by topic, in turn."""
    with BagWriter(folder / 'bag') as bag:
        for topic, messages in topics.items():
            bag.add_topic(f'/{topic}', messages[0].__msgtype__)
            for i, message in enumerate(messages):
                bag.write(f'/{topic}', raw(message), START + i)
    return folder / 'bag'


def test_malformed_messages_cost_themselves_alone(tmp_path, caplog):
    good = joint_state(('a', 'b'), 5, '', (1, 2), (3, 4))
    bag = bag_of(
        tmp_path,
        joint_states=[good, joint_state(('a', 'b'), 6, '', (1,)), good],
        gripper=[joint_state(('finger',), 5, '', (1, 2, 3))] * 3,
        markers=[
            markers(marker(1, np.arange(7.0))),
            markers(*[marker(1, np.arange(7.0))] * 2),
            markers(marker(1, np.arange(7.0))),
        ],
    )
    recording = read_bag(bag)
    assert {t: len(c) for t, c in recording.channels.items()} == {
        '/joint_states': 2,
        '/gripper': 0,
        '/markers': 2,
    }
    left_out = recording.provenance['left_out']
    assert (
        '1 of 3' in left_out['/joint_states']
        and '1 values of position' in (left_out['/joint_states'])
    )
    assert '3 of 3' in left_out['/gripper']
    assert '1 of 3' in left_out['/markers'] and 'a name twice in 1, 1' in left_out['/markers']
    assert caplog.text.count('left out') == 3


DAMAGED = {'position': 1e48, 'velocity': -1e13, 'effort': 1.5e300, 'stamp': -((10**9) ** 2) * 2}


@pytest.mark.parametrize('field', DAMAGED)
def test_messages_with_numbers_that_nothing_measured_is_cost_themselves_alone(tmp_path, field):
    """As flipped bits make them, in bags and live; NaN, inf and simulated time are of drivers."""

    def message(**own):
        values = {'position': [np.nan, 1.0], 'velocity': [np.inf, 1e11], 'effort': [0.0, -0.0]}
        stamp = own.pop('stamp', 5)
        return joint_state(('a', 'b'), stamp, '', **values | {k: [0, x] for k, x in own.items()})

    bag = bag_of(
        tmp_path,
        joint_states=[message()] * 300 + [message(**{field: DAMAGED[field]})] + [message()] * 20,
    )
    recording = read_bag(bag)
    channel = recording.channels['/joint_states']
    assert (channel.received_ns - START).tolist() == [*range(300), *range(301, 321)]
    assert (
        '1 of 321 messages; the first: topic /joint_states, message 300'
        in (said := recording.provenance['left_out']['/joint_states'])
        and field in said
    )
    live = []
    messages = [raw(message()), raw(message(**{field: DAMAGED[field]}))]
    assert len(decode(JOINT_STATE, messages, '/a', [START] * 2, live.append)) == 1
    assert '1 messages are left out' in live[0] and field in live[0]


@pytest.mark.parametrize('kind', ['sqlite3', 'fastwrite', 'rosbags', 'mcap'])
def test_storages_without_checksums_are_known_and_cause_no_warning(tmp_path, caplog, kind):
    if kind == 'fastwrite':
        write_without_chunks(tmp_path / 'bag.mcap', joint_states(9), joint_states(9, topic='/b'))
    elif kind == 'rosbags':  # whose chunks have no CRC
        write_with_rosbags(tmp_path / 'bag', joint_states(9), 'mcap', 'NONE')
    else:
        written(tmp_path, kind, n=2000)
    recording = read_bag(tmp_path / ('bag.mcap' if kind == 'fastwrite' else 'bag'))
    assert recording.provenance['damage'] == ()
    assert bool(recording.provenance['unverified']) == (kind != 'mcap')
    assert not caplog.text


@pytest.mark.parametrize('has_checksum', [True, False])
def test_checksums_of_compressed_messages_are_verified(tmp_path, has_checksum):
    channel, file = written(tmp_path, 'sqlite3', n=200)
    _compress_messages(file, has_checksum)
    recording = read_bag(file)
    assert_same(recording.channels['/joint_states'], channel)
    assert recording.provenance['unverified'] == ('' if has_checksum else 'sqlite3')
    if has_checksum:
        data = file.read_bytes()
        at = data.rindex(zstd.compress(b'')[:4]) + 40  # in a message, behind its header
        flip(file, at)
        assert len(read_bag(file).channels['/joint_states']) == 199


@pytest.mark.parametrize('has_checksum', [True, False])
def test_checksums_of_compressed_files_are_verified(tmp_path, has_checksum):
    channel, file = written(tmp_path, 'sqlite3', n=200)
    packed = tmp_path / 'bag.db3.zstd'
    options = {zstd.CompressionParameter.checksum_flag: has_checksum}
    packed.write_bytes(zstd.compress(file.read_bytes(), options=options))
    recording = read_bag(packed)
    assert_same(recording.channels['/joint_states'], channel)
    assert recording.provenance['unverified'] == ('' if has_checksum else 'sqlite3')
    if has_checksum:
        flip(packed, packed.stat().st_size // 2)
        with pytest.raises(RecordingError, match='cannot be decompressed'):
            read_bag(packed)


def _compress_messages(file, has_checksum):
    """Compress each message of an sqlite3 bag, as rosbag2 does."""
    options = {zstd.CompressionParameter.checksum_flag: has_checksum}
    with sqlite3.connect(file) as database:
        rows = database.execute('SELECT id, data FROM messages').fetchall()
        packed = [(zstd.compress(data, options=options), key) for key, data in rows]
        database.executemany('UPDATE messages SET data = ? WHERE id = ?', packed)


def test_tf_is_decoded_only_when_it_is_asked_for(tmp_path):
    bag = bag_of(
        tmp_path,
        joint_states=[joint_state('a', i + 1, '', (1,)) for i in range(3)],
        tf=[new('tf2_msgs/TFMessage', transforms=[transform('t', np.arange(7.0))] * 2)] * 2,
    )
    recording = read_bag(bag)
    recording.origin_ns(), recording.of_type(JOINT_STATE)
    assert recording.provenance['left_out'] == {}
    assert len(recording.channels['/tf']) == 0
    assert '2 of 2 messages' in recording.provenance['left_out']['/tf']


def test_of_a_topic_of_two_types_the_first_is_read(tmp_path):
    bag = bag_of(tmp_path, a=[joint_state('a', 1, '', (1,))])
    writer = Writer(tmp_path / 'two', version=9, storage_plugin=StoragePlugin.MCAP)
    with writer:
        for kind, message in (
            (JOINT_STATE, raw(joint_state('a', 1, '', (1,)))),
            ('std_msgs/msg/Float64', raw(new('std_msgs/Float64', data=1.0))),
        ):
            connection = writer.add_connection('/a', kind, typestore=STORE)
            writer.write(connection, START, message)
    recording = read_bag(tmp_path / 'two')
    assert len(recording.channels['/a']) == len(read_bag(bag).channels['/a']) == 1
    assert 'std_msgs/msg/Float64' in recording.provenance['left_out']['/a']


def test_a_window_counts_from_the_streams(tmp_path):
    """Neither a tf_static of an hour before nor a latched pose moves the zero."""
    channel = joint_states(4000)
    hour = START - 3600 * 10**9
    with BagWriter(tmp_path / 'bag') as bag:
        bag.add_topic('/tf_static', 'tf2_msgs/msg/TFMessage', latched=True)
        bag.add_topic('/pose', 'geometry_msgs/msg/TransformStamped', latched=True)
        bag.add_topic('/joint_states', JOINT_STATE)
        old = transform('base', np.arange(7.0), hour)
        bag.write('/tf_static', raw(new('tf2_msgs/TFMessage', transforms=[old])), START)
        bag.write('/pose', raw(old), START)
        for ns, message in zip(channel.received_ns.tolist(), encode(channel)):
            bag.write('/joint_states', message, ns)
    part = read_bag(f'{tmp_path}/bag@1:2.5')
    assert_same(part.channels['/joint_states'], channel.rows(slice(1000, 2501)))
    assert (part.provenance['start_s'], part.provenance['end_s']) == (1.0, 2.5)
    assert len(read_bag(f'{tmp_path}/bag@3.5:').channels['/joint_states']) == 500
    assert len(read_bag(f'{tmp_path}/bag@:0.5').channels['/joint_states']) == 501
    os.rename(tmp_path / 'bag', tmp_path / 'bag@1:2')  # a name is a name
    assert len(read_bag(tmp_path / 'bag@1:2').channels['/joint_states']) == 4000
    for wrong in ('bag@1', 'bag@1:2:3', 'bag@a:b', 'bag@1..2:3'):
        with pytest.raises(RecordingError, match='BAG@START:END|does not exist'):
            read_bag(tmp_path / wrong)
    with pytest.raises(RecordingError, match='holds no samples; there is: 0 to 3.999 s'):
        read_bag(f'{tmp_path}/bag@1:2@50:60')


def test_paths_that_cannot_be_read_are_said(tmp_path, monkeypatch):
    _, file = written(tmp_path, n=10)
    os.symlink(tmp_path / 'nowhere', tmp_path / 'dangling.mcap')
    for path in (tmp_path / ('x' * 300), Path('a\0b'), tmp_path / 'dangling.mcap'):
        with pytest.raises(RecordingError):
            read_bag(path)

    def forbidden(self, *_, **__):
        raise PermissionError(13, 'Permission denied')

    monkeypatch.setattr(Path, 'open', forbidden)  # root may read everything
    with pytest.raises(RecordingError, match='cannot be read; found Permission denied'):
        read_bag(file)


def test_a_renamed_storage_file_is_read_and_said(tmp_path):
    _, file = written(tmp_path, n=10)
    file.rename(file.with_name('monday.mcap'))
    recording = read_bag(file.parent)
    assert len(recording.channels['/joint_states']) == 10
    assert 'names other files (bag.mcap)' in recording.provenance['damage'][0]


@pytest.mark.parametrize(
    'text',
    [
        '[' * 100_000,
        '\xff\xfe',
        'rosbag2_bagfile_information: 3',
        ' relative_file_paths: null',
        ' relative_file_paths: !!python/object:os.system x',
    ],
)
def test_metadata_that_is_none_is_said_and_passed_over(tmp_path, text):
    _, file = written(tmp_path, n=10)
    (file.parent / 'metadata.yaml').write_bytes(text.encode('latin-1'))
    recording = read_bag(file.parent)
    assert len(recording.channels['/joint_states']) == 10
    assert 'no usable metadata.yaml' in recording.provenance['damage'][0]


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_a_cut_compressed_file_is_refused(tmp_path, storage):
    from backports import zstd

    _, file = written(tmp_path, storage, n=500)
    packed = file.with_name(file.name + '.zstd')
    data = zstd.compress(file.read_bytes())
    packed.write_bytes(data[: len(data) // 2])
    with pytest.raises(RecordingError, match=f'{packed.name} cannot be decompressed.*copy it'):
        read_bag(packed)


def test_a_damaged_compressed_message_is_left_out(tmp_path, caplog):
    from backports import zstd

    channel = joint_states(5)
    with BagWriter(tmp_path / 'bag') as bag:
        bag.add_topic('/joint_states', JOINT_STATE)
        for i, message in enumerate(encode(channel)):
            packed = bytearray(zstd.compress(message))
            packed[10] ^= 0xFF * (i == 2)
            bag.write('/joint_states', bytes(packed)[: 40 if i == 4 else None], START + i)
    caplog.set_level(logging.WARNING)
    got = read_bag(tmp_path / 'bag').channels['/joint_states']
    assert got.stamp_ns.tolist() == channel.stamp_ns[[0, 1, 3]].tolist()
