"""
The storage files of a rosbag2, read from their beginning for as long as they are whole.

A recorder that was killed leaves an mcap without footer or an sqlite3 file with its journal, and
no metadata.yaml.  Files are therefore read in the order in which they were written and nothing is
asked of an index: a damaged file and a sound one take the same way.
"""

from contextlib import contextmanager
import hashlib
from io import BytesIO
from pathlib import Path
import re
import shutil
import sqlite3
import struct
from tempfile import TemporaryDirectory
from typing import Callable, Iterable, Iterator

from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Message, Schema
from mcap.stream_reader import get_chunk_data_stream, StreamReader
from mcap.writer import MCAP0_MAGIC
import yaml
import zstandard

from ...errors import RecordingError

_SUFFIXES = ('.mcap', '.db3')
_ZSTD_SUFFIXES = ('.zstd', '.zst')
_ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'
_ROWS = 4096
_RECORD = struct.Struct('<BQ')       # opcode, length
_MESSAGE = struct.Struct('<HIQQ')    # channel, sequence, log time, publish time
_BROKEN = (McapError, struct.error, zstandard.ZstdError, ValueError, RuntimeError)


def storage_files(path: Path) -> tuple[list[Path], list[str]]:
    """
    Return the storage files of a bag in their order, and what is wrong with its metadata.

    path : folder of a rosbag2, or one of its files

    Raises RecordingError for a path without a whole bag.
    """
    if not path.exists():
        raise RecordingError(f'{path} does not exist', expected='a rosbag2 folder or file')
    if path.is_file():
        if not _is_storage(path):
            raise RecordingError(f'{path} is no rosbag2', expected='.mcap, .db3 or a folder',
                                 do='convert a ROS 1 bag with rosbags-convert')
        return [path], []
    present = sorted(filter(_is_storage, path.iterdir()), key=_natural)
    damage = []
    try:
        text = (path / 'metadata.yaml').read_text(encoding='utf-8')
        names = yaml.safe_load(text)['rosbag2_bagfile_information']['relative_file_paths']
        files = [path / Path(name).name for name in names]
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError):
        damage, files = ['no usable metadata.yaml: the recording was not finished'], present
    if not files or not set(files) <= set(present):
        raise RecordingError(f'{path} is no complete rosbag2',
                             expected=[file.name for file in files] or '.mcap or .db3 files',
                             found=sorted(file.name for file in path.iterdir()),
                             do='give one storage file to read it alone')
    unlisted = [file for file in present if file not in files]
    if unlisted:  # a recorder that splits lists a file when it is full
        damage.append('not in metadata.yaml, read nevertheless: '
                      + ', '.join(file.name for file in unlisted))
    return files + unlisted, damage


def _natural(path):
    return [int(word) if word.isdigit() else word for word in re.split(r'(\d+)', path.name)]


def sha256(files: Iterable[Path]) -> str:
    """
    Return the hash of the contents of all files, one after the other.

    files : in the order of the bag
    """
    digest = hashlib.sha256()
    for file in files:
        with file.open('rb') as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _is_storage(path):
    """Return whether the name of ``path`` is that of a storage file, compressed or not."""
    name = path.name
    for suffix in _ZSTD_SUFFIXES:
        name = name.removesuffix(suffix)
    return name.endswith(_SUFFIXES)


def read_storage(path: Path, wanted: Callable[[str, str], bool], damage: list[str],
                 progress: Callable[[float], None],
                 ) -> Iterator[tuple[str, str, list[bytes], list[int]]]:
    """
    Yield (topic, type, messages, received_ns) of one storage file, many times, in file order.

    path : .mcap or .db3, or one of these with file compression (.zstd)
    wanted : function of (topic, type); topics for which it returns False are passed over
    damage : list to which a line is appended for everything that could not be read
    progress : function of the fraction of the file that was read
    """
    with _plain(path) as (plain, suffix):
        read = _read_mcap if suffix == '.mcap' else _read_sqlite3
        for topic, type_name, messages, received in read(plain, wanted, damage, progress):
            if messages and messages[0][:4] == _ZSTD_MAGIC:  # message compression
                messages = [_decompress(message) for message in messages]
            yield topic, type_name, messages, received


@contextmanager
def _plain(path):
    """Yield the path of the file without file compression, and its suffix."""
    if path.suffix not in _ZSTD_SUFFIXES:
        yield path, path.suffix
        return
    with TemporaryDirectory(prefix='ros_inertial_id_') as folder:
        plain = Path(folder, path.stem)
        try:
            with path.open('rb') as packed, plain.open('wb') as unpacked:
                zstandard.ZstdDecompressor().copy_stream(packed, unpacked)
        except zstandard.ZstdError as error:
            raise RecordingError(f'{path} cannot be decompressed', found=error) from error
        yield plain, plain.suffix


def _decompress(message):
    return zstandard.ZstdDecompressor().decompressobj().decompress(message)


def _read_mcap(path, wanted, damage, progress):
    topics = _McapTopics(wanted)
    size = path.stat().st_size
    with path.open('rb') as stream:
        if not MCAP0_MAGIC.startswith(stream.read(len(MCAP0_MAGIC))):
            raise RecordingError(f'{path} is no mcap file')
        stream.seek(0)
        try:
            for record in StreamReader(stream, emit_chunks=True, record_size_limit=size).records:
                if isinstance(record, Chunk):
                    yield from topics.chunk(record, f'{path.name} at byte {stream.tell()}', damage)
                    progress(stream.tell() / size)
                elif isinstance(record, Message) and topics.known.get(record.channel_id):
                    yield (*topics.known[record.channel_id], [record.data], [record.log_time])
                elif isinstance(record, (Schema, Channel)):
                    topics.learn(record)
        except _BROKEN as error:
            damage.append(f'{path.name} has no proper end ({type(error).__name__} at byte '
                          f'{stream.tell()} of {size}): the recording was cut off')


class _McapTopics:
    """The channels met so far; ``known`` holds (topic, type) by id, None when not wanted."""

    def __init__(self, wanted):
        self.wanted, self.schemas, self.known = wanted, {}, {}

    def learn(self, record):
        if isinstance(record, Schema):
            self.schemas[record.id] = record.name
        elif record.id not in self.known:
            topic = record.topic, self.schemas.get(record.schema_id, '')
            use = record.message_encoding == 'cdr' and self.wanted(*topic)
            self.known[record.id] = topic if use else None

    def chunk(self, chunk, where, damage):
        """Yield the messages of a chunk by topic; note a damaged chunk and yield nothing."""
        try:
            stream, size = get_chunk_data_stream(chunk, validate_crc=True)
            data = stream.read(size)
            batches = self._split(data)
        except _BROKEN as error:
            damage.append(f'{where}: a damaged chunk was left out ({error})')
            return
        for channel, (messages, received) in batches.items():
            yield (*self.known[channel], messages, received)

    def _split(self, data):
        """Return the messages of the wanted channels: id -> ([bytes], [log time])."""
        batches, position = {}, 0
        while position < len(data):
            opcode, size = _RECORD.unpack_from(data, position)
            if not opcode:  # never written: a power cut
                raise ValueError('zeros')
            start = position + _RECORD.size
            position = start + size
            if opcode == Opcode.MESSAGE:
                channel, _, log_time, _ = _MESSAGE.unpack_from(data, start)
                if self.known.get(channel):
                    messages, received = batches.setdefault(channel, ([], []))
                    messages.append(data[start + _MESSAGE.size:position])
                    received.append(log_time)
            elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                kind = Schema if opcode == Opcode.SCHEMA else Channel
                self.learn(kind.read(ReadDataStream(BytesIO(data[start:position]))))
        return batches


def _read_sqlite3(path, wanted, damage, progress):
    with _database(path) as database:
        try:
            topics = {key: (topic, kind) for key, topic, kind, encoding in database.execute(
                'SELECT id, name, type, serialization_format FROM topics')
                if encoding == 'cdr' and wanted(topic, kind)}
            last = database.execute('SELECT MAX(id) FROM messages').fetchone()[0] or 1
        except sqlite3.DatabaseError as error:
            raise RecordingError(f'{path} is not a rosbag2 database', found=error) from error
        keys = ','.join(map(str, topics))
        try:
            cursor = database.execute('SELECT topic_id, timestamp, data, id FROM messages '
                                      f'WHERE topic_id IN ({keys}) ORDER BY id')
            while rows := cursor.fetchmany(_ROWS):
                for key, topic in topics.items():
                    mine = [row for row in rows if row[0] == key]
                    yield (*topic, [row[2] for row in mine], [row[1] for row in mine])
                progress(rows[-1][3] / last)
        except sqlite3.DatabaseError as error:
            damage.append(f'{path.name} is damaged: messages after the damage are lost ({error})')


@contextmanager
def _database(path):
    """
    Yield a connection to a database that is not changed.

    What a killed writer left beside it (journal, write-ahead log) is applied to a copy.
    """
    with TemporaryDirectory(prefix='ros_inertial_id_') as folder:
        beside = [path.with_name(path.name + end) for end in ('-journal', '-wal')]
        beside = [other for other in beside if other.exists() and other.stat().st_size]
        mode = 'mode=ro&immutable=1'
        if beside:
            for file in (path, *beside):
                shutil.copy(file, folder)
            path, mode = Path(folder, path.name), 'mode=rw'
        database = sqlite3.connect(f'{path.resolve().as_uri()}?{mode}', uri=True)
        try:
            yield database
        finally:
            database.close()
