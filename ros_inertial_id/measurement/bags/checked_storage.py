"""
rosbags' writer, of files that can be flushed.

rosbags leaves the CRC of an mcap's chunk empty; here it is written.
"""

from pathlib import Path
import sqlite3
import struct
from zlib import crc32

from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer, WriterError
from rosbags.rosbag2.storage_mcap import McapWriter
from rosbags.rosbag2.storage_sqlite3 import Sqlite3Writer

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


class FlushedSqlite3(Sqlite3Writer):
    """
    A sqlite3 file.

    path, compression : as of rosbags' writer
    """

    def __init__(self, path: Path, compression: CompressionMode) -> None:
        if compression == CompressionMode.STORAGE:
            raise WriterError('a sqlite3 file has no compression of its own')
        self.path = path / f'{path.name}.db3'
        self.conn = sqlite3.connect(self.path)  # rosbags takes # ? % in a path for marks of a URI
        self.conn.executescript(self.SQLITE_SCHEMA)
        self.conn.execute('PRAGMA synchronous = OFF')  # as rosbag2: survives a killed process
        self.cursor = self.conn.cursor()

    def flush(self) -> None:
        """Hand everything written so far to the operating system."""
        self.conn.commit()


class FlushedWriter(Writer):
    """rosbags' writer with the storages of this file."""

    STORAGE_PLUGINS = {StoragePlugin.MCAP: CheckedMcap, StoragePlugin.SQLITE3: FlushedSqlite3}


def open_writer(path: Path, storage: str, compress: bool) -> FlushedWriter:
    """
    Return the writer of a new bag; raises one of REFUSED or ValueError.

    path : of the new folder
    storage : one of STORAGES
    compress : zstd, of the chunks of an mcap, of the whole file of sqlite3
    """
    writer = FlushedWriter(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
    if compress:
        mode = CompressionMode.STORAGE if storage == 'mcap' else CompressionMode.FILE
        writer.set_compression(mode, CompressionFormat.ZSTD)
    writer.open()
    return writer
