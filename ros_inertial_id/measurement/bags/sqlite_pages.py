"""
The rows on the whole pages of a damaged sqlite3 file, without its tree.

The tree of a cut or damaged database leads nowhere, but every leaf page of a table holds whole
rows (https://www.sqlite.org/fileformat2.html, sections 1.6 and 2.1).  The types of the columns, as
rosbag2 declares them, distinguish the rows.
"""

from dataclasses import dataclass, field
import os
import struct
from typing import Any, BinaryIO

_LEAF = 0x0d
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # serial type -> bytes
_BROKEN = (struct.error, IndexError, ValueError, OSError)
_LONGEST = 1 << 30  # bytes of a row


@dataclass
class Rows:
    """
    The rows of a bag's tables.

    topics : id -> (name, type, encoding)
    messages : id -> (page, start of the cell in it)
    checksums : id of the first message -> CRCs, see writing.py
    checked : whether the bag has a table of checksums, whatever is left of it
    """

    topics: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    messages: dict[int, tuple[int, int]] = field(default_factory=dict)
    checksums: dict[int, bytes] = field(default_factory=dict)
    checked: bool = False


class Pages:
    """
    A database file, page by page.

    stream : the file, open for binary reading
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        head = stream.read(100).ljust(100, b'\0')
        size = int.from_bytes(head[16:18], 'big')
        size = 65536 if size == 1 else size
        self._size = size if size >= 512 and not size & (size - 1) else 4096
        self._usable = self._size - (head[20] if head[20] <= 32 else 0)
        self.count = -(-os.fstat(stream.fileno()).st_size // self._size)

    def rows(self) -> Rows:
        """Return all rows on leaf pages; the messages only as the places where they are."""
        rows = Rows()
        for number in range(1, self.count + 1):
            page, start = self._page(number), 100 if number == 1 else 0
            if page[start:start + 1] != bytes([_LEAF]):
                continue
            for at in self._cells(page, start):
                try:
                    key, columns = self._row(page, at, content=False)
                    if _is_message(columns):
                        rows.messages[key] = number, at
                    elif len(columns) in (2, 4, 5, 6):
                        self._take(rows, *self._row(page, at))
                except _BROKEN:
                    continue  # a damaged row; its neighbours may be whole
        return rows

    def message(self, number: int, at: int) -> tuple[int, int, bytes] | None:
        """
        Return the topic, the time [ns] and the bytes of a message, None where they are damaged.

        number : of the page
        at : start of the cell
        """
        try:
            _, (_, topic, time, data) = self._row(self._page(number), at)
        except _BROKEN:
            return None
        return topic, time, data

    def _take(self, rows, key, columns):
        if len(columns) == 5 and columns[:2] == ('table', 'checksums'):
            rows.checked = True
        elif len(columns) == 2 and columns[0] is None and isinstance(columns[1], bytes) \
                and not len(columns[1]) % 4:
            rows.checksums[key] = columns[1]
        elif columns[0] is None and all(isinstance(c, str) for c in columns[1:4]) \
                and columns[1].startswith('/'):
            rows.topics[key] = columns[1:4]

    def _page(self, number):
        self._stream.seek((number - 1) * self._size)
        return self._stream.read(self._size)

    def _cells(self, page, start):
        count = int.from_bytes(page[start + 3:start + 5], 'big')
        pointers = page[start + 8:start + 8 + 2 * count]
        return [at for at, in struct.iter_unpack('>H', pointers[:len(pointers) // 2 * 2])
                if at < len(page)]

    def _row(self, page, at, content=True):
        """Return the id and columns of a row; without its content their serial types."""
        length, at = _varint(page, at)
        key, at = _varint(page, at)
        local = self._local(length)
        if length > _LONGEST or at + local > len(page):
            raise ValueError('a row ends early')
        payload = page[at:at + local]
        if content and local < length:
            payload += self._overflow(int.from_bytes(page[at + local:at + local + 4], 'big'),
                                      length - local)
        head, position = _varint(payload, 0)
        types = []
        while position < head:
            kind, position = _varint(payload, position)
            types.append(kind)
        return key, tuple(_columns(payload, head, types) if content else types)

    def _local(self, length):
        """Return how many bytes of a row stand in its cell (section 1.6)."""
        most, least = self._usable - 35, (self._usable - 12) * 32 // 255 - 23
        if length <= most:
            return length
        local = least + (length - least) % (self._usable - 4)
        return local if local <= most else least

    def _overflow(self, number, length):
        parts = []
        while length > 0:
            page = self._page(number)
            if not 0 < number <= self.count or len(page) < min(self._usable, 4 + length):
                raise ValueError('a row ends early')
            parts.append(page[4:min(self._usable, 4 + length)])
            length -= len(parts[-1])
            number = int.from_bytes(page[:4], 'big')
        return b''.join(parts)


def _varint(data, position):
    value = 0
    for i in range(9):
        byte = data[position + i]
        if i == 8:
            return value << 8 | byte, position + 9
        value = value << 7 | byte & 0x7f
        if byte < 0x80:
            return value, position + i + 1
    raise ValueError('no varint')


def _is_message(types):
    """Return whether serial types are those of (NULL, integer, integer, blob)."""
    return (len(types) == 4 and types[0] == 0 and types[1] in (1, 2, 3, 4, 8, 9)
            and (types[2] in _INTEGERS or types[2] in (8, 9))
            and types[3] >= 12 and not types[3] % 2)


def _columns(payload, position, types):
    """Yield the values of serial types."""
    for kind in types:
        size = _INTEGERS.get(kind, 0) if kind < 12 else (kind - 12) // 2
        if kind in (7, 10, 11) or position + size > len(payload):
            raise ValueError('a row ends early')
        value: Any = payload[position:position + size]
        position += size
        if kind in _INTEGERS:
            value = int.from_bytes(value, 'big', signed=True)
        elif kind < 12:
            value = {0: None, 8: 0, 9: 1}[kind]
        elif kind % 2:
            value = value.decode()
        yield value
