"""
An mcap file, read chunk by chunk in its order, without the index.

A file without end and a whole one take the same way.  A chunk counts only with the CRC it was
written with; channels that a damaged chunk defined are taken from the summary.
"""

from itertools import chain
import os
from pathlib import Path
import struct
from typing import Any, Callable, Iterator
from zlib import crc32

import numpy as np

from .mcap_records import (BROKEN, CHANNEL, channel_of, CHUNK, CHUNK_HEAD, MESSAGE, MESSAGE_HEAD,
                           RECORD, Records, SCHEMA, schema_of, summary_of)
from .packing import unpack
from .raw_messages import RawMessages
from ...errors import RecordingError

Batch = tuple[str, str, RawMessages]
_SIZE = struct.Struct('<Q')
_TOGETHER = 1 << 20  # bytes of messages without a chunk that are taken apart at once
_RUN = 16  # records of one size for which it pays to find them at once
_HEAD = np.dtype([('opcode', 'u1'), ('size', '<u8'), ('channel', '<u2'), ('sequence', '<u4'),
                  ('log_time', '<u8'), ('publish_time', '<u8')])  # RECORD and MESSAGE_HEAD


def read_mcap(path: Path, wanted: Callable[[str, str], bool], damage: list[str],
              progress: Callable[[float], None]) -> Iterator[Batch]:
    """
    Yield (topic, type, messages) of the file, chunk by chunk.

    path : of the file
    wanted : function of (topic, type); topics for which it returns False are passed over
    damage : list to which a line is appended for all that could not be read
    progress : function of the fraction that was read

    Raises RecordingError for a file without a record.
    """
    with path.open('rb') as stream:
        size = os.fstat(stream.fileno()).st_size
        topics, bare = _Topics(wanted, summary_of(stream, size)), bytearray()
        records, seen = Records(stream, size, path.name, damage), False
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
        if not seen and not records.magic:
            raise RecordingError(f'{path} is no mcap file')
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
            self._schemas.setdefault(*schema_of(content))
        elif opcode == CHANNEL:
            key, schema, topic, encoding = channel_of(content)
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
        buffer, records = np.frombuffer(data, np.uint8), _records(data)
        opcodes = buffer[records]
        for at in records[(opcodes == SCHEMA) | (opcodes == CHANNEL)].tolist():
            opcode, size = RECORD.unpack_from(data, at)
            self.learn(opcode, data[at + RECORD.size:at + RECORD.size + size])
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
    """Return where the records of a chunk begin, (n,) bytes."""
    runs, position, size_of, end = [], 0, _SIZE.unpack_from, len(data) - _SIZE.size
    before, pause, wait = -1, 1, 0  # records to pass before the next look for equal ones
    while position < end:  # bare: this is where the time of reading goes
        size = size_of(data, position + 1)[0]
        stride, count = RECORD.size + size, 1
        if size == before and not wait:
            count = _alike(data, position, size)
            pause = 1 if count > _RUN else min(2 * pause, _RUN)
            wait = pause
        elif wait:
            wait -= 1
        runs.append(range(position, position + count * stride, stride))
        position, before = position + count * stride, size
    if position != len(data):
        raise ValueError('a record ends early')
    return np.fromiter(chain.from_iterable(runs), int)


def _alike(data, position, size):
    """Return how many records from a position on have the same size as the first."""
    stride = RECORD.size + size
    sizes = np.ndarray(max(1, (len(data) - position) // stride), '<u8', data, position + 1, stride)
    others = sizes != size
    return int(others.argmax()) or len(sizes)


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
