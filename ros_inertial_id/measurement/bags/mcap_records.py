"""
The records of an mcap file that can be read, and on after damage.

The file (https://mcap.dev/spec): a magic, then records of an opcode (one byte), a length (eight
bytes) and their content; chunks hold messages, and the schemas and channels they need; the
summary at the end repeats schemas and channels.  Where bytes are no record, reading goes on at
the next whole chunk after the last one, since lengths between them may be wrong, or at the next
message in a file without chunks.
"""

from io import BytesIO
import re
import struct
from typing import BinaryIO, Iterator
from zlib import crc32

from .packing import DAMAGED, LARGEST

MAGIC = b'\x89MCAP0\r\n'
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, INDEX = range(1, 8)
ATTACHMENT, METADATA, END_OF_DATA = 9, 12, 15
RECORD = struct.Struct('<BQ')         # opcode, length
MESSAGE_HEAD = struct.Struct('<HIQQ')  # channel, sequence, log time, publish time
CHUNK_HEAD = struct.Struct('<QQQII')  # first and last time, size, CRC, length of the next
_FOOT = struct.Struct('<BQQQI')        # opcode, length, start of summary, of offsets, CRC
_START_OF_CHUNK = re.compile(rb'\x06(?=.{7}\0.{28}(?:\0{4}|\x04\0{3}zstd|\x03\0{3}lz4))',
                             re.S)
_START_OF_RECORD = re.compile(rb'\x05(?=.{4}\0{4})|' + _START_OF_CHUNK.pattern, re.S)
_BLOCK = 1 << 20
_LONGEST_HEAD = 64  # bytes: more than is looked at to recognise a record
_READ = (SCHEMA, CHANNEL, MESSAGE, CHUNK)
BROKEN = (*DAMAGED, struct.error)


class Records:
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
            for match in pattern.finditer(block):
                if match.start() < _BLOCK:
                    yield start + match.start()
            start += _BLOCK


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
        return bool((schema_of if opcode == SCHEMA else channel_of)(content))
    except BROKEN:
        return False


def schema_of(content: bytes) -> tuple[int, str]:
    """
    Return the number and the name of a schema; raise one of BROKEN.

    content : of the record
    """
    stream = BytesIO(content)
    return int.from_bytes(_exactly(stream, 2), 'little'), _text(stream)


def channel_of(content: bytes) -> tuple[int, int, str, str]:
    """
    Return the numbers of a channel and its schema, its topic and encoding; raise one of BROKEN.

    content : of the record
    """
    stream = BytesIO(content)
    key, schema = struct.unpack('<HH', _exactly(stream, 4))
    return key, schema, _text(stream), _text(stream)


def _text(stream):
    count = int.from_bytes(_exactly(stream, 4), 'little')
    return _exactly(stream, count).decode(errors='replace')


def _exactly(stream, count):
    data = stream.read(count)
    if len(data) < count:
        raise ValueError('a record ends early')
    return data


def summary_of(stream: BinaryIO, size: int) -> list[tuple[int, bytes]]:
    """
    Return the schemas and channels that the end of the file repeats: (opcode, content).

    stream, size : the file and its bytes
    """
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
        return [(op, content) for op, content, _ in _split(data) if op in (SCHEMA, CHANNEL)]
    except BROKEN:
        return []


def _split(data):
    """Yield (opcode, content, start) of the records in a chunk or summary."""
    position = 0
    while position < len(data):
        opcode, size = RECORD.unpack_from(data, position)
        start = position + RECORD.size
        position = start + size
        if not opcode or position > len(data):
            raise ValueError('a record ends early')
        yield opcode, data[start:position], start
