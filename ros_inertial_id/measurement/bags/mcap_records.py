"""
The records of an mcap file that can be read, and on after damage.

The file (https://mcap.dev/spec): a magic, then records of an opcode (one byte), a length (eight
bytes) and their content; chunks hold messages, and the schemas and channels they need; the
summary at the end repeats schemas and channels.  Where bytes are no record, reading goes on at
the next whole chunk after the last one: lengths between them may be wrong.
"""

from io import BytesIO
import re
import struct
from typing import BinaryIO, Callable, Iterator
from zlib import crc32

from .packing import DAMAGED

MAGIC = b'\x89MCAP0\r\n'
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, INDEX = range(1, 8)
ATTACHMENT, METADATA, END_OF_DATA = 9, 12, 15
RECORD = struct.Struct('<BQ')         # opcode, length
MESSAGE_HEAD = struct.Struct('<HIQQ')  # channel, sequence, log time, publish time
CHUNK_HEAD = struct.Struct('<QQQII')  # first and last time, size, CRC, length of the next
_FOOT = struct.Struct('<BQQQI')        # opcode, length, start of summary, of offsets, CRC
_START_OF_CHUNK = re.compile(rb'\x06(?=.{7}\0.{28}(?:\0{4}|\x04\0{3}zstd|\x03\0{3}lz4))',
                             re.S)
_BLOCK = 1 << 20
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
            whole, opcode, content = self._next()
            if not whole:
                continue
            if opcode == CHUNK:
                trusted, self._chunked = self.position, True
            if opcode == END_OF_DATA:
                self._check_end()
                return
            if opcode in (SCHEMA, CHANNEL, MESSAGE, CHUNK):
                yield opcode, content

    def _next(self):
        """Return whether a record of the data section stands here, its opcode and content."""
        self.stream.seek(self.position)
        head = self.stream.read(RECORD.size)
        if len(head) < RECORD.size:
            return False, 0, b''
        opcode, length = RECORD.unpack(head)
        end = self.position + RECORD.size + length
        if end > self.size or not HEADER <= opcode <= END_OF_DATA:
            return False, opcode, b''
        known = opcode in _CHECKS
        content = self.stream.read(length) if known else b''
        if not known and opcode not in (HEADER, ATTACHMENT, METADATA):
            return False, opcode, b''  # of the summary
        if known and not _CHECKS[opcode](content) or opcode == MESSAGE and self._chunked:
            return False, opcode, b''  # bare messages do not stand among chunks
        self.position = end
        return True, opcode, content

    def _check_end(self):
        self.stream.seek(max(0, self.size - len(MAGIC)))
        if self.stream.read() != MAGIC:
            self.damage.append(f'{self.name} has no proper end: it was cut off after its data')

    def _go_on(self, trusted):
        """Find the next whole chunk after a position, say what is between; False at the end."""
        bad, found = self.position, _next_chunk(self.stream, trusted, self.size)
        if found is None:
            self.damage.append(f'{self.name} is damaged or cut off at byte {bad} of {self.size}: '
                               'nothing can be read after it')
            return False
        self.damage.append(f'{self.name}: bytes {min(bad, found)} to {found} are damaged')
        self.position = found
        return True


def _next_chunk(stream, start, size):
    """Return where the next chunk begins whose lengths fit together, None without."""
    overlap = 64
    while start < size:
        stream.seek(start)
        block = stream.read(_BLOCK + overlap)
        for match in _START_OF_CHUNK.finditer(block):
            at = start + match.start()
            stream.seek(at)
            _, length = RECORD.unpack(stream.read(RECORD.size))
            head = stream.read(CHUNK_HEAD.size + 12)
            if at + RECORD.size + length <= size and _is_chunk(head, length):
                return at
        start += _BLOCK
    return None


def _is_chunk(content, length=None):
    """Return whether the lengths in a chunk's head fit that of the record."""
    if len(content) < CHUNK_HEAD.size + 8:
        return False
    text = CHUNK_HEAD.unpack_from(content)[4]
    if text > 4 or len(content) < CHUNK_HEAD.size + text + 8:
        return False
    packed = int.from_bytes(content[CHUNK_HEAD.size + text:][:8], 'little')
    return CHUNK_HEAD.size + text + 8 + packed == (len(content) if length is None else length)


def _is_index(content):
    return len(content) >= 6 and len(content) == 6 + int.from_bytes(content[2:6], 'little')


def _is_definition(read):
    def check(content):
        try:
            return bool(read(content)) or True
        except BROKEN:
            return False
    return check


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
    return _exactly(stream, int.from_bytes(_exactly(stream, 4), 'little')).decode()


def _exactly(stream, count):
    data = stream.read(count)
    if len(data) < count:
        raise ValueError('a record ends early')
    return data


# opcode -> whether a content can be one
_CHECKS: dict[int, Callable[[bytes], bool]] = {
    SCHEMA: _is_definition(schema_of), CHANNEL: _is_definition(channel_of),
    MESSAGE: lambda content: len(content) >= MESSAGE_HEAD.size and content[13] < 128,
    CHUNK: _is_chunk,
    INDEX: _is_index, END_OF_DATA: lambda content: len(content) == 4}


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
