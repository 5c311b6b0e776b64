"""
Small files that would take gigabytes are refused before they are unpacked.

What may be free is 64 kB and 100 members here: bombs are small, and a recording at rest lives by
its ratio alone.
"""

import json
import sqlite3
import tracemalloc

from backports import zstd
import mcap.reader
import numpy as np
import pytest
from scipy.io import savemat
from test_bag import joint_states, START
from test_messages import joint_state, raw

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement.bags import cdr, storage, unpacked_size
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.log_files import read_table
from ros_inertial_id.measurement.bags.messages import decode, JOINT_STATE
from ros_inertial_id.measurement.bags.writing import BagWriter, write_recording
from ros_inertial_id.measurement.recording import Recording

PLAIN = 20 << 20  # bytes
ZEROS = np.zeros(PLAIN // 8)
MANY = range(101)


@pytest.fixture(autouse=True)
def little_is_free(monkeypatch):
    for module in (unpacked_size, storage):
        monkeypatch.setattr(module, 'FREE', 1 << 16)
    for module in (unpacked_size, cdr):
        monkeypatch.setattr(module, 'MEMBERS', MANY[-1])


def write_npz(path, **arrays):
    np.savez_compressed(path, **arrays)


def write_mat(path, **arrays):
    savemat(path, arrays, do_compression=True)


def write_hdf5(path, **arrays):
    with pytest.importorskip('h5py').File(path, 'w') as file:
        for name, x in arrays.items():
            file.create_dataset(name, data=x, compression='gzip' if np.ndim(x) else None)


def write_parquet(path, **arrays):
    pa = pytest.importorskip('pyarrow')
    from pyarrow import parquet

    columns = {
        f'{name}{k}': x
        for name, own in arrays.items()
        for k, x in enumerate(np.atleast_2d(np.transpose(own)))
    }
    parquet.write_table(pa.table(columns), path, compression='zstd')


WRITERS = {'npz': write_npz, 'mat': write_mat, 'hdf5': write_hdf5, 'parquet': write_parquet}


def assert_refused(path, read=read_table, words='is no recording'):
    """Check that nothing was unpacked."""
    tracemalloc.start()
    try:
        with pytest.raises(RecordingError, match=f'{path.name} .*{words}'):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < PLAIN // 2
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize('suffix', WRITERS)
def test_what_unpacks_to_much_more_or_holds_too_many_arrays_is_refused(tmp_path, suffix):
    for name, arrays in (('large', {'t': ZEROS}), ('many', {f'x{k}': 0.0 for k in MANY})):
        path = tmp_path / f'{name}.{suffix}'
        WRITERS[suffix](path, **arrays)
        assert_refused(path)


def test_a_struct_and_numbers_that_lie_there_as_bytes_are_refused(tmp_path):
    write_mat(tmp_path / 'a.mat', data={'q': ZEROS})
    write_mat(tmp_path / 'b.mat', q=np.zeros(20_000, np.uint8))  # doubles take eight times this
    assert_refused(tmp_path / 'a.mat')
    assert_refused(tmp_path / 'b.mat')


def test_a_text_that_the_dictionary_of_a_parquet_holds_once_is_refused(tmp_path):
    pa = pytest.importorskip('pyarrow')
    from pyarrow import parquet

    parquet.write_table(
        pa.table({'t': range(9000), 'name': ['x' * 3000] * 9000}),
        tmp_path / 'a.parquet',
        compression='zstd',
    )
    assert_refused(tmp_path / 'a.parquet')


@pytest.mark.parametrize(
    ('name', 'lines'),
    [
        ('a.jsonl', [*['{}'] * 30_000, json.dumps({'q': {f'x{k}': 0 for k in MANY[1:]}})]),
        ('b.jsonl', [json.dumps({f'x{k}': 0 for k in MANY})]),
        ('a.csv', [','.join(f'x{k}' for k in MANY[1:]), *['0'] * 30_000]),
        ('b.csv', [','.join(f'x{k}' for k in MANY), *['0'] * 3]),
        ('c.csv', ['t,q1,name', '0,0,' + 'x' * 9000, *['0,0,x'] * 9000]),
    ],
)
def test_texts_of_few_cells_that_make_large_tables_are_refused(tmp_path, name, lines):
    (tmp_path / name).write_text('\n'.join(lines))
    assert_refused(tmp_path / name)


@pytest.mark.parametrize('suffix', WRITERS)
def test_an_arm_that_rests_is_read(tmp_path, suffix):
    """Joints that stand still to the last bit: 22 columns, of which time alone is no constant."""
    n, rest = 50_000, np.full((50_000, 7), 0.3)
    path = tmp_path / f'rest.{suffix}'
    WRITERS[suffix](path, t=0.001 * np.arange(n), q=rest, v=0 * rest, tau=rest)
    assert path.stat().st_size < n * 22 * 8 / 40
    assert sum(x.size for x in read_table(path).values()) == 22 * n


def test_a_file_and_messages_that_unpack_to_more_are_refused(tmp_path):
    (tmp_path / 'a.mcap.zstd').write_bytes(zstd.compress(bytes(PLAIN)))
    assert_refused(tmp_path / 'a.mcap.zstd', read_bag)
    packed = zstd.compress(bytes(50_000))  # each of them may, but not all together
    with BagWriter(tmp_path / 'bag') as bag:
        bag.add_topic('/joint_states', JOINT_STATE)
        bag.write_all('/joint_states', [packed] * 400, range(START, START + 400))
    assert_refused(tmp_path / 'bag' / 'bag.mcap', read_bag)


@pytest.mark.parametrize(
    ('plain', 'said', 'times'),
    [(PLAIN, PLAIN, 1), (PLAIN, 5000, 1), (9 * 6000, 9 * 6000, 99)],
    ids=['a chunk that says how large it is', 'one that does not', 'many that may, but not all'],
)
def test_chunks_that_unpack_to_more_take_no_memory(tmp_path, plain, said, times):
    from mcap.data_stream import RecordBuilder

    write_recording(tmp_path / 'bag', Recording({'/joint_states': joint_states(1200)}))
    file, record, packer = tmp_path / 'bag' / 'bag.mcap', RecordBuilder(), zstd.ZstdCompressor()
    with file.open('rb') as stream:
        chunk = mcap.reader.make_reader(stream).get_summary().chunk_indexes[1]
    packed = packer.compress(bytes(plain)) + packer.flush()  # a frame without its size
    mcap.records.Chunk('zstd', packed, 0, 0, 0, said).write(record)
    data, at = file.read_bytes(), chunk.chunk_start_offset
    file.write_bytes(data[:at] + record.end() * times + data[at:])
    if plain == said:
        assert_refused(file, read_bag)
    else:
        channel = read_bag(file).channels['/joint_states']
        assert channel.received_ns.max() < chunk.message_start_time


def test_joints_that_are_others_in_every_message_are_refused(monkeypatch):
    """As many columns as rows; and as many names as nobody has, in all or in one message."""

    def read(count, each=1):
        return decode(
            JOINT_STATE,
            [
                raw(joint_state([f'{k}-{j}' for j in range(each)], 1, '', [k] * each))
                for k in range(count)
            ],
            '/joint_states',
            [START] * count,
        )

    with pytest.raises(RecordingError, match='topic /joint_states is no recording'):
        read(len(MANY))
    with pytest.raises(RecordingError, match='101 name'):
        read(1, len(MANY))
    monkeypatch.setattr(unpacked_size, 'MEMBERS', 10_000)
    with pytest.raises(RecordingError, match='bytes that unpack to'):
        read(1500)


ENDLESS = 'WITH RECURSIVE c(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM c) '


@pytest.mark.parametrize(
    ('script', 'words'),
    [
        (
            'ALTER TABLE messages RENAME TO m; CREATE VIEW messages AS '
            + ENDLESS
            + 'SELECT c.k AS id, '
            'topic_id, timestamp, data FROM c, (SELECT * FROM m LIMIT 1)',
            'no such table: messages',
        ),
        (
            'ALTER TABLE topics RENAME TO t; CREATE VIEW topics AS '
            + ENDLESS
            + 'SELECT c.k AS id, '
            "'x' || c.k AS name, type, serialization_format FROM c, t",
            'no such table: topics',
        ),
        (
            'DROP TABLE messages; CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, '
            f'timestamp INTEGER, data BLOB AS (zeroblob({PLAIN}))); '
            'INSERT INTO messages(topic_id, timestamp) VALUES (1, 1)',
            'messages, or one that is comp',
        ),
        (
            'DROP TABLE messages; CREATE VIRTUAL TABLE messages USING rtree(id, topic_id, '
            'timestamp, '
            '+data)',
            'no such table: messages',
        ),
        (
            ENDLESS.replace('FROM c)', 'FROM c LIMIT 101)') + 'INSERT INTO topics '
            "SELECT k + 9, 't' || k, 'x', 'cdr', '', '' FROM c",
            '101 columns or more',
        ),
    ],
)
def test_tables_of_a_database_that_are_computed_or_too_long_are_refused(tmp_path, script, words):
    write_recording(tmp_path / 'bag', Recording({'/a': joint_states(10)}), 'sqlite3')
    file = tmp_path / 'bag' / 'bag.db3'
    database = sqlite3.connect(file)
    database.executescript(script)
    database.close()
    assert_refused(file, read_bag, words)


def test_a_blob_that_is_no_message_is_counted_and_not_read(tmp_path):
    write_recording(tmp_path / 'bag', Recording({'/a': joint_states(10)}), 'sqlite3')
    with sqlite3.connect(tmp_path / 'bag' / 'bag.db3') as database:
        database.execute(f'UPDATE messages SET data = zeroblob({PLAIN}) WHERE id = 4')
    database.close()
    tracemalloc.start()
    recording = read_bag(tmp_path / 'bag')
    assert tracemalloc.get_traced_memory()[1] < PLAIN // 2
    tracemalloc.stop()
    assert len(recording.channels['/a']) == 9
    assert '1 of 10 messages' in recording.provenance['left_out']['/a']
