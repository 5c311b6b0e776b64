"""
Bags that every rosbag tool opens, through rosbags' writer, of files that can be flushed.

rosbags leaves the CRC of an mcap's chunk empty; here it is written.
"""

from collections.abc import Sequence
from contextlib import suppress
import heapq
from itertools import repeat
from operator import itemgetter
from pathlib import Path
import sqlite3
import struct
from typing import Any
from zlib import crc32

from rosbags.interfaces import (
    Connection,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer, WriterError
from rosbags.rosbag2.storage_mcap import McapWriter
from rosbags.rosbag2.storage_sqlite3 import Sqlite3Writer

from .bag import TEXTS
from .definitions import typestore
from .messages import DECODERS, encodable, encode, encode_string, full_name, STRING
from ..recording import Recording
from ...errors import RecordingError

_FLUSH_NS = 500_000_000  # what a killed recorder loses at most
_FOREVER = QosTime(9223372036, 854775807)
STORAGES = tuple(plugin.name.lower() for plugin in StoragePlugin)
COMPRESSED = {'mcap': CompressionMode.STORAGE, 'sqlite3': CompressionMode.FILE}
REFUSED = (WriterError, OSError, sqlite3.Error)  # what writing may raise
_CRC_IN_CHUNK = 9 + 24  # bytes: opcode and length; first and last time, size


class _CheckedMcap(McapWriter):
    """An mcap file whose chunks have CRCs."""

    def close_chunk(self) -> None:
        """Write the chunk, and its CRC into it."""
        start, crc = self.bio.tell(), crc32(self.chunk.bio.getbuffer())
        super().close_chunk()
        end = self.bio.tell()
        self.bio.seek(start + _CRC_IN_CHUNK)
        self.bio.write(struct.pack('<I', crc))
        self.bio.seek(end)

    def flush(self) -> None:
        """Hand everything written so far to the operating system."""
        if self.chunk.msgs:
            self.close_chunk()
            self.bio.flush()


class _FlushedSqlite3(Sqlite3Writer):
    def __init__(self, path: Path, compression: CompressionMode) -> None:
        self.path = path / f'{path.name}.db3'
        self.conn = sqlite3.connect(self.path)  # rosbags takes # ? % in a path for marks of a URI
        self.conn.executescript(self.SQLITE_SCHEMA)
        self.conn.execute('PRAGMA synchronous = OFF')  # as rosbag2: survives a killed process
        self.cursor = self.conn.cursor()

    def flush(self) -> None:
        """Hand everything written so far to the operating system."""
        self.conn.commit()


class _FlushedWriter(Writer):
    """rosbags' writer with the storages of this file."""

    STORAGE_PLUGINS = {StoragePlugin.MCAP: _CheckedMcap, StoragePlugin.SQLITE3: _FlushedSqlite3}


class BagWriter:
    """
    A bag being written; also a context manager.

    path : the new folder; refused if it exists
    storage : 'mcap' or 'sqlite3'
    compress : zstd, of the chunks of an mcap, of the whole file of sqlite3

    Written messages reach the file every half second of reception time, so that a killed process
    loses no more.  ``counts`` holds the number of messages by topic.
    """

    def __init__(self, path: str | Path, storage: str = 'mcap', compress: bool = False) -> None:
        self.path = Path(path)
        self.counts: dict[str, int] = {}
        self._connections: dict[str, Connection] = {}
        self._flushed_ns: int | None = None
        self._ended = 'is closed'
        if storage not in STORAGES:
            raise RecordingError('storage of a bag', found=storage, exists=STORAGES)
        try:
            self._writer: Any = _FlushedWriter(
                self.path, version=9, storage_plugin=StoragePlugin[storage.upper()]
            )
            if compress:
                self._writer.set_compression(COMPRESSED[storage], CompressionFormat.ZSTD)
            self._writer.open()
        except (*REFUSED, ValueError) as error:
            raise RecordingError(f'cannot make the bag {path}', found=error) from error

    def add_topic(self, topic: str, type_name: str, latched: bool = False) -> None:
        """Declare a topic of a known type; ``latched``: its durability is transient local."""
        if full_name(type_name) not in typestore().fielddefs:
            raise RecordingError(f'topic {topic}: unknown type {type_name}')
        durability, depth = QosDurability.VOLATILE, 10
        if latched:
            durability, depth = QosDurability.TRANSIENT_LOCAL, 1
        qos = Qos(
            QosHistory.KEEP_LAST,
            depth,
            QosReliability.RELIABLE,
            durability,
            _FOREVER,
            _FOREVER,
            QosLiveliness.AUTOMATIC,
            _FOREVER,
            False,
        )
        self._connections[topic] = self._do(
            lambda writer: writer.add_connection(
                topic, full_name(type_name), typestore=typestore(), offered_qos_profiles=[qos]
            )
        )
        self.counts[topic] = 0

    def write(self, topic: str, message: bytes, received_ns: int) -> None:
        """Append a ``message`` as ``write_all`` does, received at ``received_ns`` [ns]."""
        self.write_all(topic, (message,), (received_ns,))

    def write_all(self, topic: str, messages: Sequence[bytes], received_ns: Sequence[int]) -> None:
        """Append serialised ``messages`` (CDR), each with its time of reception [ns]."""
        if topic not in self._connections:
            raise RecordingError(f'topic {topic} was not declared', exists=tuple(self.counts))
        if not messages:
            return
        connection = self._connections[topic]

        def append(writer: Any) -> None:
            for message, received in zip(messages, received_ns):
                writer.write(connection, received, message)
                self.counts[topic] += 1

        self._do(append)
        if self._flushed_ns is None or abs(received_ns[-1] - self._flushed_ns) >= _FLUSH_NS:
            self._flushed_ns = received_ns[-1]
            self.flush()

    def flush(self) -> None:
        """Hand everything written so far to the operating system."""
        self._do(lambda writer: writer.storage.flush())

    def close(self) -> None:
        """Finish the bag with its index and metadata.yaml; a second call does nothing."""
        if self._writer is not None:
            self._do(lambda writer: writer.close())
            self._writer = None

    def _do(self, action):
        """Return ``action(writer)``; after a failure the bag is left as it is and refuses more."""
        if self._writer is None:
            raise RecordingError(f'the bag {self.path} {self._ended}')
        try:
            return action(self._writer)
        except REFUSED as error:
            with suppress(Exception):
                self._writer.abort()
            self._writer = None
            self._ended = f'cannot be written ({error}); what was written before can be read'
            raise RecordingError(
                f'the bag {self.path} {self._ended}', do='check the space on the disk'
            ) from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def write_recording(
    path: str | Path, recording: Recording, storage: str = 'mcap', compress: bool = False
) -> None:
    """Write channels and texts of a Recording to a bag; RecordingError for tf and markers."""
    unwritable = [topic for topic, c in recording.channels.items() if not encodable(c.type)]
    if unwritable:
        raise RecordingError(
            'topics cannot be written back',
            found=unwritable,
            exists=sorted(filter(encodable, DECODERS)),
        )
    channels = recording.channels
    start = min((int(c.received_ns[0]) for c in channels.values() if len(c)), default=0)
    with BagWriter(path, storage, compress) as bag:
        for name in TEXTS:
            text = getattr(recording, name)
            if text:
                bag.add_topic(f'/{name}', STRING, latched=True)
                bag.write(f'/{name}', encode_string(text), start)
        streams = []
        for topic, channel in channels.items():
            bag.add_topic(topic, channel.type)
            streams.append(zip(map(int, channel.received_ns), repeat(topic), encode(channel)))
        for received_ns, topic, message in heapq.merge(*streams, key=itemgetter(0)):
            bag.write(topic, message, received_ns)
