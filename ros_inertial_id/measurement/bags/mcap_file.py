"""
An mcap file, read chunk by chunk in its order, without the index.

A file without end and a whole one take the same way.  A chunk counts only with the CRC it was
written with; channels that a damaged chunk defined are taken from the summary.
"""

import os
from pathlib import Path
import struct
from typing import Any, Callable, Iterator
from zlib import crc32

from .mcap_records import (BROKEN, CHANNEL, channel_of, CHUNK, CHUNK_HEAD, MESSAGE, MESSAGE_HEAD,
                           RECORD, Records, SCHEMA, schema_of, summary_of)
from .packing import unpack
from ...errors import RecordingError

Batch = tuple[str, str, list[bytes], list[int]]


def read_mcap(path: Path, wanted: Callable[[str, str], bool], damage: list[str],
              progress: Callable[[float], None]) -> Iterator[Batch]:
    """
    Yield (topic, type, messages, received_ns) of the file, chunk by chunk.

    path : of the file
    wanted : function of (topic, type); topics for which it returns False are passed over
    damage : list to which a line is appended for all that could not be read
    progress : function of the fraction that was read

    Raises RecordingError for a file without a record.
    """
    with path.open('rb') as stream:
        size = os.fstat(stream.fileno()).st_size
        topics = _Topics(wanted, summary_of(stream, size))
        records, seen = Records(stream, size, path.name, damage), False
        for opcode, content in records:
            seen = True
            if opcode == CHUNK:
                where = f'{path.name}: the chunk before byte {records.position}'
                yield from topics.chunk(content, where, damage)
                progress(records.position / size)
            elif opcode == MESSAGE:
                yield from topics.batches(struct.pack('<BQ', MESSAGE, len(content)) + content)
            else:
                topics.learn(opcode, content)
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
        batches, position = {}, 0
        while position < len(data):  # written out: this is where the time of reading goes
            opcode, size = RECORD.unpack_from(data, position)
            start = position + RECORD.size
            position = start + size
            if not opcode or position > len(data):
                raise ValueError('a record ends early')
            if opcode == MESSAGE:
                channel, _, log_time, _ = MESSAGE_HEAD.unpack_from(data, start)
                if log_time >> 63:
                    raise ValueError('no time of reception')
                if self._topic(channel):
                    messages, received = batches.setdefault(channel, ([], []))
                    messages.append(data[start + MESSAGE_HEAD.size:position])
                    received.append(log_time)
            elif opcode in (SCHEMA, CHANNEL):
                self.learn(opcode, data[start:position])
        for channel, (messages, received) in batches.items():
            yield (*self.known[channel], messages, received)

    def _topic(self, channel):
        """Return (topic, type) of a channel, from the summary where its chunk is damaged."""
        if channel not in self.known and channel not in self._lost:
            self._lost.add(channel)
            self.learn_summary()
        if channel not in self.known:
            self.unknown += 1
        return self.known.get(channel)
