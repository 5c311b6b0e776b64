"""
An mcap file, read record by record in its order, without its index, and on after damage.

The file (https://mcap.dev/spec): a magic, then records of an opcode (one byte), a length (eight
bytes) and their content; chunks hold messages, and the schemas and channels they need; the
summary at the end repeats schemas and channels.  A file without end and a whole one take the same
way.  A chunk counts only with the CRC it was written with; channels that a damaged chunk defined
are taken from the summary.  Where bytes are no record, reading goes on at the next whole chunk
after the last one, since lengths between them may be wrong, or at the next message in a file
without chunks.
"""

import os
from pathlib import Path
import re
import struct
from typing import Any, BinaryIO, Callable, Iterator
from zlib import crc32

import numpy as np

from .cdr import RawMessages
from .packing import DAMAGED, LARGEST, unpack
from ...errors import RecordingError

Batch = tuple[str, str, RawMessages]
MAGIC = b'\x89MCAP0\r\n'
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, INDEX = range(1, 8)
ATTACHMENT, METADATA, END_OF_DATA = 9, 12, 15
RECORD = struct.Struct('<BQ')         # opcode, length
MESSAGE_HEAD = struct.Struct('<HIQQ')  # channel, sequence, log time, publish time
CHUNK_HEAD = struct.Struct('<QQQII')  # first and last time, size, CRC, length of the next
_FOOT = struct.Struct('<BQQQI')        # opcode, length, start of summary, of offsets, CRC
_SIZE = struct.Struct('<Q')
_COUNT = struct.Struct('<I')
_HEAD = np.dtype([('opcode', 'u1'), ('size', '<u8'), ('channel', '<u2'), ('sequence', '<u4'),
                  ('log_time', '<u8'), ('publish_time', '<u8')])  # RECORD and MESSAGE_HEAD
_START_OF_CHUNK = re.compile(rb'\x06(?=.{7}\0.{28}(?:\0{4}|\x04\0{3}zstd|\x03\0{3}lz4))',
                             re.S)
_START_OF_RECORD = re.compile(rb'\x05(?=.{4}\0{4})|' + _START_OF_CHUNK.pattern, re.S)
_BLOCK = 1 << 20
_ZEROS = bytes(_BLOCK)
_TOGETHER = 1 << 20  # bytes of messages without a chunk that are taken apart at once
_LONGEST_HEAD = 64  # bytes: more than is looked at to recognise a record
_READ = (SCHEMA, CHANNEL, MESSAGE, CHUNK)
BROKEN = (*DAMAGED, struct.error)


def read_mcap(path: Path, wanted: Callable[[str, str], bool], damage: list[str],
              progress: Callable[[float], None]) -> Iterator[Batch]:
    """
    Yield (topic, type, messages) of the file, chunk by chunk.

    wanted, damage, progress : see storage.read_storage

    Raises RecordingError for a file without a record.
    """
    with path.open('rb') as stream:
        size = os.fstat(stream.fileno()).st_size
        topics, bare = _Topics(wanted, _summary_of(stream, size)), bytearray()
        records, seen = _Records(stream, size, path.name, damage), False
        for opcode, content in records:
            seen = True
            if opcode == MESSAGE:
                bare += RECORD.pack(MESSAGE, len(content)) + content
            if opcode != MESSAGE or len(bare) > _TOGETHER:
                yield from topics.batches(bytes(bare))
                bare.clear()
            if opcode == CHUNK:
                where = f'{path.name}: the chunk before byte {records.position}'
                yield from topics.chunk(content, where, damage)
                progress(records.position / size)
            elif opcode != MESSAGE:
                topics.learn(opcode, content)
        yield from topics.batches(bytes(bare))
        if not seen and (not records.magic or size > LARGEST):
            raise RecordingError(f'{path} is no mcap file', found='no record in it')
        topics.learn_summary()  # topics without messages
        if topics.unknown:
            damage.append(f'{path.name}: {topics.unknown} messages of topics whose names are lost')


class _Topics:
    """
    The channels met so far.

    known : (topic, type) by number of the channel, None for those not wanted
    unknown : number of messages whose channel is nowhere
    """

    def __init__(self, wanted: Callable[[str, str], bool], summary: list[tuple[int, bytes]]):
        self._wanted, self._summary = wanted, summary
        self._schemas: dict[int, str] = {}
        self.known: dict[int, Any] = {}
        self.unknown = 0
        self._lost: set[int] = set()

    def learn(self, opcode: int, content: bytes) -> None:
        """Take a schema or channel; the first of a number counts."""
        if opcode == SCHEMA:
            self._schemas.setdefault(*_schema_of(content))
        elif opcode == CHANNEL:
            key, schema, topic, encoding = _channel_of(content)
            if key not in self.known:
                kind = self._schemas.get(schema, '') + (encoding != 'cdr') * f' ({encoding})'
                self.known[key] = (topic, kind) if self._wanted(topic, kind) else None

    def learn_summary(self) -> None:
        """Take the channels of the summary that are in no chunk."""
        for opcode, content in self._summary:
            self.learn(opcode, content)

    def chunk(self, content, where, damage):
        """Yield the messages of a chunk by topic; say a damaged chunk and yield nothing."""
        _, _, size, crc, text = CHUNK_HEAD.unpack_from(content)
        start = CHUNK_HEAD.size + text
        try:
            data = unpack(content[start + 8:], content[CHUNK_HEAD.size:start].decode(), size)
            if len(data) != size or crc and crc32(data) != crc:
                raise ValueError('its checksum is another')
            batches = list(self.batches(data))
        except BROKEN as error:
            damage.append(f'{where}: a damaged chunk was left out ({error})')
            return
        yield from batches

    def batches(self, data):
        """Yield the messages of wanted channels among records, by topic."""
        if not data:
            return
        buffer, records = np.frombuffer(data, np.uint8), np.array(_records(data), int)
        opcodes = buffer[records]
        for at in records[(opcodes == SCHEMA) | (opcodes == CHANNEL)].tolist():
            self.learn(*_definition(data, at))
        starts = records[opcodes == MESSAGE]
        heads = _heads(buffer, starts)
        channels, first = np.unique(heads['channel'], return_index=True)
        for channel in channels[np.argsort(first)].tolist():
            mine = heads['channel'] == channel
            topic = self._topic(channel, int(mine.sum()))
            if topic:
                yield (*topic, RawMessages.cut(
                    buffer, starts[mine] + _HEAD.itemsize,
                    heads['size'][mine].astype(int) - MESSAGE_HEAD.size,
                    heads['log_time'][mine].astype(np.int64)))

    def _topic(self, channel, count):
        """Return (topic, type) of a channel, from the summary where its chunk is damaged."""
        if channel not in self.known and channel not in self._lost:
            self._lost.add(channel)
            self.learn_summary()
        if channel not in self.known:
            self.unknown += count
        return self.known.get(channel)


def _records(data):
    """Return where the records of a chunk or summary begin, a list of bytes."""
    starts, position, size_of, end = [], 0, _SIZE.unpack_from, len(data) - RECORD.size
    while position <= end:  # bare: this is where the time of reading goes
        starts.append(position)
        position += RECORD.size + size_of(data, position + 1)[0]
    if position != len(data):
        raise ValueError('a record ends early')
    return starts


def _heads(buffer, starts):
    """Return opcode, size, channel and times of message records, (n,) of _HEAD."""
    room = len(buffer) - _HEAD.itemsize + 1
    if (starts >= room).any():
        raise ValueError('a record ends early')
    windows = np.ndarray((max(0, room), _HEAD.itemsize), np.uint8, buffer, 0, (1, 1))
    heads = windows[starts].view(_HEAD)[:, 0]
    if (heads['size'] < MESSAGE_HEAD.size).any():
        raise ValueError('a record ends early')
    if (heads['log_time'] >> 63).any():
        raise ValueError('no time of reception')
    return heads


class _Records:
    """
    The records of the data section that can be read.

    stream, size : the file and its bytes
    name : of the file, for messages
    damage : list to which a line is appended for all that could not be read
    position : where the next one begins
    magic : whether the file begins as an mcap does
    """

    def __init__(self, stream: BinaryIO, size: int, name: str, damage: list[str]) -> None:
        self.stream, self.size, self.name, self.damage = stream, size, name, damage
        self.position = 0
        self.magic, self._chunked = True, False

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        self.stream.seek(0)
        whole = self.magic = MAGIC.startswith(self.stream.read(len(MAGIC)))
        trusted = self.position = len(MAGIC)  # end of what is certainly no damage
        while whole or self._go_on(trusted):
            opcode, length = self._at(self.position)
            whole, start = bool(opcode), self.position + RECORD.size
            if opcode == END_OF_DATA:
                self._check_end()
                return
            content = self._content(start, length) if opcode in _READ else b''
            if opcode in (SCHEMA, CHANNEL) and not _is_definition(opcode, content):
                whole = False
            if not whole:
                continue
            self.position = start + length
            self._chunked |= opcode == CHUNK
            if opcode in (CHUNK, MESSAGE):  # the length of a bare message may be wrong
                trusted = self.position if opcode == CHUNK else start
            if opcode in _READ:
                yield opcode, content

    def _at(self, position):
        """Return opcode and length of the record at a position, zeros where none can be."""
        head = self._content(position, RECORD.size + _LONGEST_HEAD)
        if len(head) < RECORD.size:
            return 0, 0
        opcode, length = RECORD.unpack_from(head)
        known = opcode != MESSAGE or not self._chunked  # bare messages do not stand among chunks
        whole = position + RECORD.size + length <= self.size
        if known and whole and _is_record(opcode, length, head[RECORD.size:]):
            return opcode, length
        return 0, 0

    def _content(self, start, length):
        self.stream.seek(start)
        return self.stream.read(length)

    def _check_end(self):
        if self._content(max(0, self.size - len(MAGIC)), len(MAGIC)) != MAGIC:
            self.damage.append(f'{self.name} has no proper end: it was cut off after its data')

    def _go_on(self, trusted):
        """Find the next whole record after a position, say what is between; False at the end."""
        bad = self.position
        for at in self._candidates(trusted):
            opcode, length = self._at(at)
            if opcode == CHUNK or opcode == MESSAGE and self._at(at + RECORD.size + length)[0]:
                self.damage.append(f'{self.name}: bytes {min(bad, at)} to {at} are damaged')
                self.position = at
                return True
        self.damage.append(f'{self.name} is damaged or cut off at byte {bad} of {self.size}: '
                           'nothing can be read after it')
        return False

    def _candidates(self, start):
        """Yield the positions where a chunk might begin, or a message where there is no chunk."""
        pattern = _START_OF_CHUNK if self._chunked else _START_OF_RECORD
        while start < self.size:
            block = self._content(start, _BLOCK + _LONGEST_HEAD)
            if block.startswith(_ZEROS):
                start = self._after_hole(start + _BLOCK)
                continue
            for match in pattern.finditer(block):
                if match.start() < _BLOCK:
                    yield start + match.start()
            start += _BLOCK

    def _after_hole(self, start):
        """Return where data go on in a sparse file, at ``start`` or later."""
        descriptor = self.stream.fileno()
        here = os.lseek(descriptor, 0, os.SEEK_CUR)  # the stream counts on it
        try:
            return os.lseek(descriptor, start, os.SEEK_DATA)
        except OSError:  # no data follow
            return self.size
        except AttributeError:  # no Linux
            return start
        finally:
            os.lseek(descriptor, here, os.SEEK_SET)


def _is_record(opcode, length, head):
    """Return whether a record of the data section can have this length and begin like this."""
    if opcode == CHUNK:
        return _is_chunk(length, head)
    if opcode == MESSAGE:
        return MESSAGE_HEAD.size <= length <= LARGEST and head[13] < 128  # a time before 2262
    if opcode == INDEX:
        return length == 6 + int.from_bytes(head[2:6], 'little')
    if opcode in (SCHEMA, CHANNEL):
        return length <= LARGEST
    return opcode in (HEADER, ATTACHMENT, METADATA) or opcode == END_OF_DATA and length == 4


def _is_chunk(length, head):
    """Return whether the lengths in a chunk's head fit that of the record."""
    if not CHUNK_HEAD.size + 8 <= min(length, len(head)):
        return False
    text = CHUNK_HEAD.unpack_from(head)[4]
    packed = int.from_bytes(head[CHUNK_HEAD.size + text:][:8], 'little')
    return text <= 4 and packed <= LARGEST and length == CHUNK_HEAD.size + text + 8 + packed


def _is_definition(opcode, content):
    try:
        return bool((_schema_of if opcode == SCHEMA else _channel_of)(content))
    except BROKEN:
        return False


def _schema_of(content):
    """Return the number and the name of a schema; raise one of BROKEN."""
    return int.from_bytes(content[:2], 'little'), _text(content, 2)[0]


def _channel_of(content):
    """Return the numbers of a channel and its schema, its topic and encoding, or raise BROKEN."""
    key, schema = struct.unpack_from('<HH', content)
    topic, end = _text(content, 4)
    return key, schema, topic, _text(content, end)[0]


def _text(content, start):
    """Return the text at a position of a record, and where it ends."""
    end = start + _COUNT.size + _COUNT.unpack_from(content, start)[0]
    if end > len(content):
        raise ValueError('a record ends early')
    return content[start + _COUNT.size:end].decode(errors='replace'), end


def _definition(data, start):
    """Return (opcode, content) of the record of a chunk or summary that starts there."""
    opcode, size = RECORD.unpack_from(data, start)
    return opcode, data[start + RECORD.size:start + RECORD.size + size]


def _summary_of(stream, size):
    """Return the schemas and channels that the end of the file repeats: (opcode, content)."""
    start = size - len(MAGIC) - _FOOT.size
    if start < len(MAGIC):
        return []
    stream.seek(start)
    foot = stream.read(_FOOT.size)
    opcode, length, first, _, crc = _FOOT.unpack(foot)
    if (opcode, length) != (FOOTER, 20) or not 0 < first <= start:
        return []
    stream.seek(first)
    data = stream.read(start - first)
    if crc and crc32(foot[:-4], crc32(data)) != crc:
        return []
    try:
        records = [_definition(data, at) for at in _records(data)]
    except BROKEN:
        return []
    return [(opcode, content) for opcode, content in records if opcode in (SCHEMA, CHANNEL)]
