"""
An mcap file, read record by record in its order by the mcap library, without its index.

A file without end (its recorder was killed) and a whole one take the same way.  A chunk counts
only with the CRC it was written with.  Reading ends at the first record that is cut off or
damaged: what is before it counts, and ``mcap recover`` saves what is behind.
"""

from io import BytesIO
import os
from pathlib import Path
import struct
from typing import Any, Callable, Iterator

from mcap.data_stream import ReadDataStream
from mcap.exceptions import EndOfFile, InvalidMagic, McapError, RecordLengthLimitExceeded
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, McapRecord, Message, Schema
from mcap.stream_reader import get_chunk_data_stream, MAGIC_SIZE, StreamReader
import numpy as np
from zstandard import frame_content_size, ZstdError

from .cdr import Batch, pieces, RawMessages
from .unpacked_size import check_unpacked, has_checksum
from ...errors import RecordingError

# Of a message: opcode, length, channel, sequence, log time, publish time; its content follows.
_HEAD = np.dtype(
    [
        ('opcode', 'u1'),
        ('size', '<u8'),
        ('channel', '<u2'),
        ('sequence', '<u4'),
        ('log_time', '<u8'),
        ('publish_time', '<u8'),
    ]
)
_RECORD = 9  # bytes: opcode and length
_SIZE = struct.Struct('<Q')
_TOGETHER = 1000  # messages without a chunk
WITHOUT_CRC = 'an mcap file written without CRC'
_CUT = (EndOfFile, RecordLengthLimitExceeded, struct.error)  # a record goes on behind the end
_BROKEN = (*_CUT, ZstdError, RuntimeError, ValueError, MemoryError, McapError, OverflowError)


def read_mcap(
    path: Path,
    wanted: Callable[[str, str], bool],
    damage: list[str],
    unchecked: set[str],
    progress: Callable[[float], None],
) -> Iterator[Batch]:
    """Yield (topic, type, messages) by chunks; ``progress`` and others as of ``read_storage``."""
    topics = _Topics(wanted)
    with path.open('rb') as stream:
        size = os.fstat(stream.fileno()).st_size
        records = _Records(stream, emit_chunks=True, record_size_limit=size).records
        chunks = _Chunks(path, unchecked)
        try:
            for record in records:
                if isinstance(record, Message):
                    unchecked.add(WITHOUT_CRC)
                    topics.take(record)
                    if len(topics.loose) > _TOGETHER:
                        yield from topics.taken()
                    continue
                yield from topics.taken()
                if isinstance(record, Chunk):
                    yield from topics.batches(chunks.content(record, stream.tell()))
                    progress(stream.tell() / size)
                elif isinstance(record, (Schema, Channel)):
                    topics.learn(record)
        except _BROKEN as error:
            _refuse_other_files(error, path, stream)
            wrong = f'damaged ({error})'
            if isinstance(error, _CUT):
                wrong = 'cut off'
            damage.append(
                f'{path.name} is {wrong} at byte {stream.tell()} of {size}: nothing '
                'after it is read; save what is left with: '
                f'mcap recover {path.name} -o whole.mcap'
            )
            yield from topics.taken()


def _refuse_other_files(error, path, stream):
    """Raise RecordingError where an ``error`` at the begin of a file says that it is no mcap."""
    if isinstance(error, InvalidMagic) and stream.tell() <= MAGIC_SIZE:
        stream.seek(0)
        raise RecordingError(
            f'{path} is no mcap file', found=f'{stream.read(MAGIC_SIZE)!r}'
        ) from error


class _Chunks:
    """What the chunks of the file ``path`` unpack to; ``unchecked`` : see ``read_storage``."""

    def __init__(self, path: Path, unchecked: set[str]) -> None:
        self._path, self._unchecked = path, unchecked
        self._plain = 0  # bytes that the chunks so far unpack to

    def content(self, chunk: Chunk, packed: int) -> bytes:
        """Return the records of a ``chunk``, of whose file ``packed`` bytes were read."""
        if not chunk.uncompressed_crc and not has_checksum(chunk.data):
            self._unchecked.add(WITHOUT_CRC)
        in_frame = 0
        if chunk.compression == 'zstd':
            in_frame = frame_content_size(chunk.data)
        self._plain += max(chunk.uncompressed_size, in_frame)  # which unpacking believes
        check_unpacked(self._path, self._plain, packed=packed)
        content, length = get_chunk_data_stream(chunk, validate_crc=True)
        return content.read(length)


class _Records(StreamReader):
    """The records of a file; the index of messages, which takes longer to read, is left out."""

    def _read_record(self, opcode: int, length: int) -> McapRecord | None:
        if not opcode:  # what a power cut leaves: zeros that were never written
            raise ValueError('no record')
        if opcode == Opcode.MESSAGE_INDEX:
            return None
        start = self._stream.count
        record = super()._read_record(opcode, length)
        if self._stream.count > start + length:
            raise ValueError('a record is longer than it says')
        return record


class _Topics:
    def __init__(self, wanted: Callable[[str, str], bool]) -> None:
        self._wanted = wanted
        self._schemas: dict[int, str] = {}
        self.described: dict[int, Any] = {}  # (topic, type) by number, None for those not wanted
        self.loose: list[Message] = []  # those without a chunk that were taken

    def learn(self, record: Schema | Channel) -> None:
        """Take a schema or channel; the first of a number counts."""
        if isinstance(record, Schema):
            self._schemas.setdefault(record.id, record.name)
        elif record.id not in self.described:
            kind = self._schemas.get(record.schema_id, '')
            if record.message_encoding != 'cdr':
                kind += f' ({record.message_encoding})'
            self.described[record.id] = None
            if self._wanted(record.topic, kind):
                self.described[record.id] = record.topic, kind

    def of(self, number: int) -> Any:
        """Return (topic, type) of a channel, None if not wanted; ValueError if not described."""
        if number not in self.described:
            raise ValueError(f'a message of channel {number}, which is not described')
        return self.described[number]

    def take(self, message: Message) -> None:
        """Take a message that is in no chunk; ValueError for one of no channel or time."""
        if message.log_time >> 63:
            raise ValueError('no time of reception')
        if self.of(message.channel_id):
            self.loose.append(message)

    def taken(self) -> Iterator[Batch]:
        """Yield the messages that were taken, by topic."""
        by_channel: dict[int, list[Message]] = {}
        for message in self.loose:
            by_channel.setdefault(message.channel_id, []).append(message)
        self.loose = []
        for channel, messages in by_channel.items():
            contents = [message.data for message in messages]
            received = [message.log_time for message in messages]
            yield *self.described[channel], RawMessages.of(contents, received)

    def batches(self, data: bytes) -> Iterator[Batch]:
        """Yield the messages of wanted channels among the records of a chunk, by topic."""
        buffer, starts = np.frombuffer(data, np.uint8), np.array(_starts(data), int)
        opcodes = buffer[starts]
        for opcode, kind in ((Opcode.SCHEMA, Schema), (Opcode.CHANNEL, Channel)):
            for start in starts[opcodes == opcode].tolist():
                content = data[start + _RECORD :][: _SIZE.unpack_from(data, start + 1)[0]]
                self.learn(kind.read(ReadDataStream(BytesIO(content))))
        starts = starts[opcodes == Opcode.MESSAGE]
        heads = _heads(buffer, starts)
        channels, first = np.unique(heads['channel'], return_index=True)
        for channel in channels[np.argsort(first)].tolist():
            topic_and_type = self.of(channel)
            if topic_and_type is None:
                continue
            of_channel = heads['channel'] == channel
            lengths = heads['size'][of_channel].astype(int) + _RECORD - _HEAD.itemsize
            contents = pieces(buffer, starts[of_channel] + _HEAD.itemsize, lengths)
            received = heads['log_time'][of_channel].astype(np.int64)
            yield *topic_and_type, RawMessages(contents, lengths, received)


def _starts(data):
    """Return the positions in ``data`` of a chunk at which its records begin."""
    starts, position, size_of, end = [], 0, _SIZE.unpack_from, len(data) - _RECORD
    while position <= end:  # bare: this is where the time of reading goes
        starts.append(position)
        position += _RECORD + size_of(data, position + 1)[0]
    if position != len(data):
        raise ValueError('a record ends early')
    return starts


def _heads(buffer, starts):
    """Return opcode, size, channel and times of message records, (n,) of _HEAD."""
    if (starts > len(buffer) - _HEAD.itemsize).any():
        raise ValueError('a record ends early')
    heads = pieces(buffer, starts, np.full(len(starts), _HEAD.itemsize)).view(_HEAD)
    if (heads['size'] < _HEAD.itemsize - _RECORD).any():
        raise ValueError('a record ends early')
    if (heads['log_time'] >> 63).any():
        raise ValueError('no time of reception')
    return heads
