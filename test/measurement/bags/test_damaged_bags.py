"""
Damaged and hostile bags: only what is damaged is lost, everything lost is said, nothing hangs.

What is whole is known from the mcap library's index and from where the bytes lie in the file.
"""

import logging
import os
from pathlib import Path
import shutil
import sqlite3
import subprocess

import mcap.reader
import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from test_bag import assert_same, joint_states, START, STORE
from test_messages import joint_state, marker, markers, new, raw, transform

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement.bags import mcap_file
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.messages import encode, JOINT_STATE
from ros_inertial_id.measurement.bags.packing import DAMAGED, unpack
from ros_inertial_id.measurement.bags.writing import BagWriter, write_recording
from ros_inertial_id.measurement.recording import Channel, Recording

PAGE = 4096


def written(folder, storage='mcap', n=5000, compress=False):
    """Write joint states of n ms; return them and the storage file."""
    channel = joint_states(n)
    write_recording(folder / 'bag', Recording({'/joint_states': channel}, '<robot/>'), storage,
                    compress)
    return channel, next(f for f in (folder / 'bag').iterdir() if f.suffix != '.yaml')


def change(file, place, values):
    data = bytearray(file.read_bytes())
    data[place:place + len(values)] = values
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


@pytest.mark.parametrize('compress', [False, True])
def test_every_written_chunk_has_its_crc(tmp_path, compress):
    _, file = written(tmp_path, compress=compress)
    with file.open('rb') as stream:
        chunks = [r for r in mcap.stream_reader.StreamReader(stream, emit_chunks=True).records
                  if isinstance(r, mcap.records.Chunk)]
        assert len(chunks) > 5 and all(chunk.uncompressed_crc for chunk in chunks)
        stream.seek(0)
        reader = mcap.reader.make_reader(stream, validate_crcs=True)
        assert sum(1 for _ in reader.iter_messages()) == 5001


@pytest.mark.parametrize('compress', [False, True])
@pytest.mark.parametrize('number', [0, 1, 4])  # the first holds the Channel records
def test_a_flipped_bit_costs_its_chunk_and_is_said(tmp_path, number, compress):
    channel, file = written(tmp_path, compress=compress)
    chunk = chunks_of(file)[number]
    flip(file, chunk.chunk_start_offset + chunk.chunk_length - 100)
    got, said = damage_of(file)
    kept = ((channel.received_ns < chunk.message_start_time)
            | (channel.received_ns > chunk.message_end_time)) | (number == 0)  # text alone
    assert_same(got, channel.rows(kept))
    assert 'damaged chunk was left out' in said


@pytest.mark.parametrize('compress', [False, True])
def test_the_names_of_topics_come_from_the_summary_when_their_chunk_is_damaged(tmp_path, compress):
    """The middle of the first chunk holds the definitions: its header stays whole."""
    channel, file = written(tmp_path, compress=compress)
    first, second = chunks_of(file)[:2]
    for chunk in (first, second):
        flip(file, chunk.chunk_start_offset + chunk.chunk_length // 2)
    recording = read_bag(file)
    got = recording.channels['/joint_states']
    assert_same(got, channel.rows(channel.received_ns > second.message_end_time))
    assert recording.robot_description == '' and len(recording.provenance['damage']) == 2


def test_a_wrong_length_between_chunks_costs_no_chunk(tmp_path):
    """The length of a message index: a reader that trusts it jumps over chunks behind it."""
    channel, file = written(tmp_path)
    chunk = chunks_of(file)[3]
    at = chunk.chunk_start_offset + chunk.chunk_length
    assert file.read_bytes()[at] == 7
    for offset, bit in ((1, 0), (3, 1), (3, 2), (5, 0), (0, 1), (0, 6)):
        before = file.read_bytes()
        flip(file, at + offset, bit)
        got, said = damage_of(file)
        assert_same(got, channel)
        assert 'are damaged' in said
        file.write_bytes(before)


@pytest.mark.parametrize('place', [0, 3, 9, 12])
def test_a_damaged_head_of_an_mcap_costs_no_message(tmp_path, place):
    channel, file = written(tmp_path, n=500)
    flip(file, place)
    got, said = damage_of(file)
    assert_same(got, channel)
    assert said


def test_a_lost_chunk_header_costs_its_chunk_alone(tmp_path):
    channel, file = written(tmp_path)
    chunk = chunks_of(file)[2]
    for offset in (0, 2, 36, 40, 50):  # opcode, length, compression, sizes, content
        before = file.read_bytes()
        change(file, chunk.chunk_start_offset + offset, b'\xee\xee\xee')
        got, said = damage_of(file)
        kept = ((channel.received_ns < chunk.message_start_time)
                | (channel.received_ns > chunk.message_end_time))
        assert_same(got, channel.rows(kept))
        assert 'damaged' in said
        file.write_bytes(before)


def test_a_long_tail_of_zeros_is_passed_over_at_once(tmp_path, monkeypatch):
    channel, file = written(tmp_path, n=600)
    end = chunks_of(file)[-1]
    os.truncate(file, end.chunk_start_offset + end.chunk_length)
    os.truncate(file, file.stat().st_size + (64 << 20))  # a record of zero length has 9 bytes
    looked = []
    original = mcap_file._Records._at
    monkeypatch.setattr(mcap_file._Records, '_at',
                        lambda self, at: looked.append(at) or original(self, at))
    got, said = damage_of(file)
    assert_same(got, channel)
    assert 'cut off' in said and len(looked) < 100


@pytest.mark.parametrize('head', [b'', b'\x89MCAP0\r\n'])
def test_ten_gigabytes_of_zeros_are_refused_without_reading_them(tmp_path, head, monkeypatch):
    (tmp_path / 'a.mcap').write_bytes(head)
    os.truncate(tmp_path / 'a.mcap', 10 << 30)
    looked = []
    original = mcap_file._Records._content
    monkeypatch.setattr(mcap_file._Records, '_content',
                        lambda self, *at: looked.append(at) or original(self, *at))
    with pytest.raises(RecordingError, match='no mcap file; found no record'):
        read_bag(tmp_path / 'a.mcap')
    assert len(looked) < 10


def test_a_small_file_that_unpacks_to_gigabytes_is_refused_by_its_own_name(tmp_path):
    from backports import zstd
    packer = zstd.ZstdCompressor()
    block = bytes(1 << 20)
    data = b''.join(packer.compress(block) for _ in range(300)) + packer.flush()
    (tmp_path / 'a.mcap.zstd').write_bytes(data)
    with pytest.raises(RecordingError, match='a.mcap.zstd is no recording.*unpack to'):
        read_bag(tmp_path / 'a.mcap.zstd')
    with pytest.raises(ValueError, match='unpack to'):
        unpack(data[:1000], 'zstd', 1 << 29)


def recovery(file):
    """Return the command that is proposed for a damaged sqlite3 file."""
    for path in (file, file.parent):
        with pytest.raises(RecordingError, match='no whole rosbag2 database; found .*with: ') as e:
            read_bag(path)
    return str(e.value).split('with: ')[1]


@pytest.mark.parametrize('value', [b'\0', b'\xff'])
@pytest.mark.parametrize('where', [0.0, 0.3, 0.9])
def test_a_damaged_page_of_a_sqlite3_is_said(tmp_path, where, value):
    _, file = written(tmp_path, 'sqlite3')
    change(file, int(where * file.stat().st_size) // PAGE * PAGE, value * PAGE)
    assert recovery(file)


@pytest.mark.parametrize('keep', [0.2, 0.5, 0.9])
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


@pytest.mark.parametrize('change_to', ['topic_id = 77', 'topic_id = 1', "data = 'text'",
                                       'timestamp = 0.5', 'data = 3'])
def test_a_sqlite3_message_of_no_topic_or_type_costs_itself_alone(tmp_path, change_to):
    channel, file = written(tmp_path, 'sqlite3', n=600)
    with sqlite3.connect(file) as database:
        database.execute(f'UPDATE messages SET {change_to} WHERE id = 100')
    database.close()
    assert_same(damage_of(file)[0], channel.rows(np.arange(600) != 98))


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
        tmp_path, joint_states=[good, joint_state(('a', 'b'), 6, '', (1,)), good],
        gripper=[joint_state(('finger',), 5, '', (1, 2, 3))] * 3,
        markers=[markers(marker(1, np.arange(7.0))), markers(*[marker(1, np.arange(7.0))] * 2),
                 markers(marker(1, np.arange(7.0)))])
    recording = read_bag(bag)
    assert {t: len(c) for t, c in recording.channels.items()} == {
        '/joint_states': 2, '/gripper': 0, '/markers': 2}
    left_out = recording.provenance['left_out']
    assert '1 of 3' in left_out['/joint_states'] and '1 values of position' in (
        left_out['/joint_states'])
    assert '3 of 3' in left_out['/gripper']
    assert '1 of 3' in left_out['/markers'] and 'a name twice in 1, 1' in left_out['/markers']
    assert caplog.text.count('left out') == 3


def test_tf_is_decoded_only_when_it_is_asked_for(tmp_path):
    bag = bag_of(
        tmp_path, joint_states=[joint_state('a', i + 1, '', (1,)) for i in range(3)],
        tf=[new('tf2_msgs/TFMessage', transforms=[transform('t', np.arange(7.0))] * 2)] * 2)
    recording = read_bag(bag)
    recording.origin_ns(), recording.of_type(JOINT_STATE)
    assert recording.provenance['left_out'] == {}
    assert len(recording.channels['/tf']) == 0
    assert '2 of 2 messages' in recording.provenance['left_out']['/tf']


def test_of_a_topic_of_two_types_the_first_is_read(tmp_path):
    bag = bag_of(tmp_path, a=[joint_state('a', 1, '', (1,))])
    writer = Writer(tmp_path / 'two', version=9, storage_plugin=StoragePlugin.MCAP)
    with writer:
        for kind, message in ((JOINT_STATE, raw(joint_state('a', 1, '', (1,)))),
                              ('std_msgs/msg/Float64', raw(new('std_msgs/Float64', data=1.0)))):
            connection = writer.add_connection('/a', kind, typestore=STORE)
            writer.write(connection, START, message)
    recording = read_bag(tmp_path / 'two')
    assert len(recording.channels['/a']) == len(read_bag(bag).channels['/a']) == 1
    assert 'std_msgs/msg/Float64' in recording.provenance['left_out']['/a']


def test_a_window_counts_from_the_streams(tmp_path):
    """Neither a tf_static of an hour before nor a latched pose moves the zero."""
    channel = joint_states(4000)
    hour = START - 3600 * 10 ** 9
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
    for path in (tmp_path / ('x' * 300), tmp_path / f'{"x" * 300}.mcap', Path('a\0b')):
        with pytest.raises(RecordingError):
            read_bag(path)
    os.symlink(tmp_path / 'nowhere', tmp_path / 'dangling.mcap')
    os.symlink(tmp_path / 'circle', tmp_path / 'circle')
    for name in ('dangling.mcap', 'circle'):
        with pytest.raises(RecordingError):
            read_bag(tmp_path / name)

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
    assert recording.provenance['damage'] == ('metadata.yaml names other files: bag.mcap',)


@pytest.mark.parametrize('name', ['pipe.mcap', 'metadata.yaml', 'bag_0.db3', 'bag_1.mcap'])
def test_a_pipe_in_the_folder_does_not_hang(tmp_path, name):
    """Opening a pipe that nobody writes to never returns."""
    _, file = written(tmp_path, n=10)
    if (file.parent / name).exists():
        (file.parent / name).unlink()
    os.mkfifo(file.parent / name)
    assert len(read_bag(file.parent).channels['/joint_states']) == 10
    with pytest.raises(RecordingError, match='no rosbag2'):
        read_bag(file.parent / name)


@pytest.mark.parametrize('text', [
    '[' * 100_000, ' relative_file_paths: ' + '[' * 100_000,
    'a: &a [x, x]\nb: &b [*a, *a]\n', '\xff\xfe', 'rosbag2_bagfile_information: 3',
    ' relative_file_paths: [3]', ' relative_file_paths: !!python/object:os.system x',
    ' relative_file_paths: null', ' relative_file_paths:\n - a\n  b: [c'])
def test_metadata_that_is_none_is_said_and_passed_over(tmp_path, text):
    _, file = written(tmp_path, n=10)
    (file.parent / 'metadata.yaml').write_bytes(text.encode('latin-1'))
    recording = read_bag(file.parent)
    assert len(recording.channels['/joint_states']) == 10
    assert 'no usable metadata.yaml' in recording.provenance['damage'][0]


def test_a_cut_compressed_file_gives_what_can_be_decompressed(tmp_path):
    from backports import zstd
    channel, file = written(tmp_path, n=5000)
    packed = file.with_name(file.name + '.zstd')
    data = zstd.compress(file.read_bytes())
    packed.write_bytes(data[:len(data) // 2])
    got, said = damage_of(packed)
    assert_same(got, channel.rows(slice(0, len(got))))
    assert len(got) > 1000 and 'decompressed' in said


def test_a_cut_compressed_sqlite3_is_said(tmp_path):
    _, file = written(tmp_path, 'sqlite3', compress=True)
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(RecordingError, match='bag.db3.zstd cannot be decompressed'):
        read_bag(file)


def test_frames_with_checksums_of_their_own_are_unpacked():
    """As other compressors write them: the end of the frame follows the last byte."""
    from backports import zstd
    import lz4.frame
    for size in (0, 1, 100_000):
        plain = np.random.default_rng(1).bytes(size)
        checked = zstd.compress(plain, options={zstd.CompressionParameter.checksum_flag: 1})
        for method, packed in (
                ('zstd', checked),
                ('lz4', lz4.frame.compress(plain, content_checksum=True)),
                ('zstd', zstd.compress(plain)), ('lz4', lz4.frame.compress(plain))):
            assert unpack(packed, method, size) == plain
            with pytest.raises(DAMAGED):
                unpack(packed[:-1], method, size)
            if size > 1:
                assert len(unpack_or_nothing(packed, method, size - 10)) <= size - 9


def unpack_or_nothing(packed, method, size):
    try:
        return unpack(packed, method, size)
    except DAMAGED:
        return b''


def test_a_damaged_compressed_message_is_left_out(tmp_path, caplog):
    from backports import zstd
    channel = joint_states(5)
    with BagWriter(tmp_path / 'bag') as bag:
        bag.add_topic('/joint_states', JOINT_STATE)
        for i, message in enumerate(encode(channel)):
            packed = bytearray(zstd.compress(message))
            packed[10] ^= 0xff * (i == 2)
            bag.write('/joint_states', bytes(packed)[:40 if i == 4 else None], START + i)
    caplog.set_level(logging.WARNING)
    got = read_bag(tmp_path / 'bag').channels['/joint_states']
    assert got.stamp_ns.tolist() == channel.stamp_ns[[0, 1, 3]].tolist()


def test_a_disk_without_room_for_the_unpacked_file_is_said(tmp_path, monkeypatch):
    from backports import zstd
    _, file = written(tmp_path, n=10)
    packed = file.with_name('bag.mcap.zstd')
    packed.write_bytes(zstd.compress(file.read_bytes()))

    def full(*_):
        raise OSError(28, 'No space left on device')
    monkeypatch.setattr('ros_inertial_id.measurement.bags.storage.unpack_file', full)
    with pytest.raises(RecordingError, match='No space left on device'):
        read_bag(packed)


def test_a_recording_needs_no_mcap_library(tmp_path):
    """The package leans on rosbags alone: mcap and zstandard have no rosdep key."""
    import sys
    written(tmp_path, compress=True, n=50)
    code = ('import sys; sys.modules["mcap"] = sys.modules["zstandard"] = None; '
            'from ros_inertial_id.measurement.bags.bag import read_bag; '
            f'print(len(read_bag({str(tmp_path / "bag")!r}).channels["/joint_states"]))')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                          cwd=Path(__file__).parents[3], check=False)
    assert done.stdout == '50\n', done.stderr


def test_a_channel_of_no_samples_of_a_window_is_kept():
    """Windows are cut when a channel is asked for; what is empty then stays a channel."""
    late = joint_states(100, topic='/late')
    early = Channel('/early', JOINT_STATE, late.stamp_ns - 10 ** 9, late.received_ns - 10 ** 9,
                    dict(late.fields), late.names)
    part = Recording({'/late': late, '/early': early}).window(0.0, 0.05)
    assert len(part.channels['/late']) == 0 and len(part.channels['/early']) == 51


@pytest.mark.parametrize('where', ['opcode', 'length', 'longer', 'time', 'content'])
def test_a_damaged_message_of_an_mcap_without_chunks_costs_few(tmp_path, where):
    """``fastwrite``: bare messages without a CRC; a wrong length swallows those behind it."""
    from mcap.writer import Writer as McapWriter
    channel = joint_states(300)
    messages = list(encode(channel))
    with (tmp_path / 'fast.mcap').open('wb') as stream:
        writer = McapWriter(stream, use_chunking=False)
        writer.start('ros2')
        key = writer.register_channel('/joint_states', 'cdr',
                                      writer.register_schema(JOINT_STATE, 'ros2msg', b''))
        for ns, message in zip(channel.received_ns.tolist(), messages):
            writer.add_message(key, ns, message, ns)
        writer.finish()
    file = tmp_path / 'fast.mcap'
    at = file.read_bytes().find(messages[100]) - 31  # opcode, length, channel, number, two times
    assert file.read_bytes()[at] == 5
    place, bit = {'opcode': (0, 3), 'length': (1, 1), 'longer': (2, 2), 'time': (9 + 13, 7),
                  'content': (9 + 22 + 16, 5)}[where]
    flip(file, at + place, bit)
    recording = read_bag(file)
    got = recording.channels['/joint_states']
    wanted = channel.received_ns[np.arange(300) != 100]
    assert np.isin(wanted, got.received_ns).sum() >= 298
    assert recording.provenance['damage'] or recording.provenance['left_out']
