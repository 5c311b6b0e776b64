"""
rosbags' writer with checksums: a CRC for every chunk of an mcap and every message of a sqlite3.

rosbags leaves the CRC of a chunk empty, and sqlite3 has none.  The latter stand in a table
``checksums`` that other readers pass over: the CRCs (uint32) of the messages of each flush, by the
id of the first.
"""

from array import array
from pathlib import Path
import sqlite3
import struct
from typing import Any
from zlib import crc32

from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer, WriterError
from rosbags.rosbag2.storage_mcap import McapWriter
from rosbags.rosbag2.storage_sqlite3 import Sqlite3Writer

from .sqlite_file import message_crc

STORAGES = tuple(plugin.name.lower() for plugin in StoragePlugin)
REFUSED = (WriterError, OSError, sqlite3.Error)  # what writing may raise
_CRC_IN_CHUNK = 9 + 24  # bytes: opcode and length; first and last time, size


class CheckedMcap(McapWriter):
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


class CheckedSqlite3(Sqlite3Writer):
    """
    A sqlite3 file with a table of checksums.

    path, compression : as of rosbags' writer
    """

    def __init__(self, path: Path, compression: CompressionMode) -> None:
        if compression == CompressionMode.STORAGE:
            raise WriterError('a sqlite3 file has no compression of its own')
        self.path = path / f'{path.name}.db3'
        self.conn = sqlite3.connect(self.path)  # rosbags takes # ? % in a path for marks of a URI
        self.conn.executescript(self.SQLITE_SCHEMA)
        self.conn.execute('PRAGMA synchronous = OFF')  # as rosbag2: survives a killed process
        self.conn.execute('CREATE TABLE checksums(first INTEGER PRIMARY KEY, crcs BLOB NOT NULL)')
        self.cursor = self.conn.cursor()
        self._crcs = array('I')

    def write(self, connection: Any, timestamp: int, data: bytes | memoryview) -> None:
        """
        Append a message and remember its CRC.

        connection : of its topic
        timestamp : time of reception [ns]
        data : serialised (CDR)
        """
        super().write(connection, timestamp, data)
        self._crcs.append(message_crc(connection.topic, connection.msgtype, timestamp,
                                      bytes(data)))

    def flush(self) -> None:
        """Hand everything written so far, and its CRCs, to the operating system."""
        if self._crcs:
            last = self.cursor.lastrowid or 0
            packed = struct.pack(f'<{len(self._crcs)}I', *self._crcs)
            self.conn.execute('INSERT INTO checksums VALUES(?, ?)',
                              (last - len(self._crcs) + 1, packed))
            self._crcs = array('I')
        self.conn.commit()

    def close(self, version: int, metadata: str) -> None:
        """
        Finish the file.

        version, metadata : of the bag, as rosbags' writer gives them
        """
        self.flush()
        super().close(version, metadata)


class CheckedWriter(Writer):
    """rosbags' writer with the storages of this file."""

    STORAGE_PLUGINS = {StoragePlugin.MCAP: CheckedMcap, StoragePlugin.SQLITE3: CheckedSqlite3}


def open_writer(path: Path, storage: str, compress: bool) -> CheckedWriter:
    """
    Return the writer of a new bag; raises one of REFUSED or ValueError.

    path : of the new folder
    storage : one of STORAGES
    compress : zstd, of the chunks of an mcap, of the whole file of sqlite3
    """
    writer = CheckedWriter(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
    if compress:
        mode = CompressionMode.STORAGE if storage == 'mcap' else CompressionMode.FILE
        writer.set_compression(mode, CompressionFormat.ZSTD)
    writer.open()
    return writer
