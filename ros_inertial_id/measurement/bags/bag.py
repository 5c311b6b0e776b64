"""
rosbag2 in and out.

``read_bag`` reads what ``ros2 bag record`` and this package write: mcap and sqlite3, split files,
message, file and chunk compression, and what is left of a bag whose recorder was killed.
``BagWriter`` writes bags that every rosbag tool opens, through rosbags' writer.
"""

from contextlib import suppress
import heapq
from importlib.metadata import version
import logging
from pathlib import Path
import sqlite3
from typing import Callable, Collection

import numpy as np
from rosbags.interfaces import (Qos, QosDurability, QosHistory, QosLiveliness, QosReliability,
                                QosTime)
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer, WriterError

from .cdr import typestore
from .messages import (channel_builder, DECODERS, encodable, encode, encode_string, full_name,
                       STRING)
from .storage import read_storage, sha256, storage_files
from ..recording import Recording
from ...errors import RecordingError
from ... import __version__

_TEXTS = ('robot_description', 'mounting', 'periods')  # last names of topics that are no channels
_FLUSH_NS = 500_000_000  # what a killed recorder loses at most
_FOREVER = QosTime(9223372036, 854775807)
_logger = logging.getLogger(__name__)


def read_bag(path: str | Path, topics: Collection[str] | None = None,
             progress: Callable[[float], None] | None = None) -> Recording:
    """
    Return the Recording of a bag.

    path : folder of a rosbag2, or one .mcap or .db3 file
    topics : names of the topics to read; None for all whose type has a decoder
    progress : function of the fraction that was read

    Messages stay in the order of the file.  The last message of a topic ``robot_description``,
    ``mounting`` or ``periods`` (in any namespace) becomes that of the Recording.  Its provenance
    also lists the topics ``skipped`` for their type and the ``damage``: what a bag that was cut
    off has lost.
    Raises RecordingError for a path without a bag, a topic that is not in it and malformed
    messages.
    """
    path = Path(path)
    files, damage = storage_files(path)
    sizes = [file.stat().st_size for file in files]
    contents = _Contents(topics)
    for i, file in enumerate(files):
        def tell(fraction, before=sum(sizes[:i]), size=sizes[i]):
            if progress:
                progress((before + fraction * size) / (sum(sizes) or 1))
        for batch in read_storage(file, contents.wanted, damage, tell):
            contents.add(*batch)
        tell(1.0)
    for line in damage:
        _logger.warning('%s: %s', path, line)
    channels, texts = contents.channels(path)
    edges = [edge for channel in channels.values() if len(channel)
             for edge in (int(channel.stamp_ns.min()), int(channel.stamp_ns.max()))]
    duration = (max(edges) - min(edges)) * 1e-9 if edges else 0.0
    versions = {'ros_inertial_id': __version__, 'numpy': np.__version__,
                'rosbags': version('rosbags'), 'mcap': version('mcap')}
    return Recording(channels, **texts, provenance={
        'path': str(path), 'sha256': sha256(files), 'duration_s': duration,
        'skipped': contents.skipped, 'damage': tuple(damage), 'versions': versions})


class _Contents:
    """What is read of a bag, topic by topic."""

    def __init__(self, topics):
        self.topics, self.found = topics, {}
        self.builders = {}

    @property
    def skipped(self):
        return {topic: kind for topic, kind in self.found.items()
                if full_name(kind) not in DECODERS}

    def wanted(self, topic, type_name):
        self.found[topic] = type_name
        if full_name(type_name) not in DECODERS:
            return False
        return self.topics is None or topic in self.topics or _is_text(topic, type_name)

    def add(self, topic, type_name, messages, received_ns):
        if topic not in self.builders:
            self.builders[topic] = channel_builder(type_name, topic)
        if self.builders[topic].type != full_name(type_name):
            raise RecordingError(f'topic {topic} has messages of two types',
                                 found=(self.builders[topic].type, type_name))
        self.builders[topic].add(messages, received_ns)

    def channels(self, path):
        """Return the channels by topic, and the texts by their names."""
        missing = set(self.topics or ()) - set(self.found)
        undecoded = set(self.topics or ()) & set(self.skipped)
        if missing or undecoded:
            raise RecordingError(f'{path} cannot give topic', found=sorted(missing | undecoded),
                                 exists=[f'{t} ({k})' for t, k in sorted(self.found.items())])
        channels = {topic: builder.channel() for topic, builder in self.builders.items()}
        texts = {name: {} for name in _TEXTS}
        for topic in [t for t, c in channels.items() if _is_text(t, c.type) and len(c)]:
            texts[topic.rpartition('/')[2]][topic] = channels.pop(topic).fields['data'][-1]
        return channels, {name: _one_text(path, found) for name, found in texts.items()}


def _is_text(topic, type_name):
    return topic.rpartition('/')[2] in _TEXTS and full_name(type_name) == STRING


def _one_text(path, found):
    if len(set(found.values())) > 1:
        _logger.warning('%s holds different texts in %s: the first is used', path,
                        ', '.join(found))
    return next(iter(found.values()), '')


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
        self.path, self.counts = Path(path), {}
        self._connections, self._flushed_ns = {}, None
        self._ended = 'is closed'
        plugins = {plugin.name.lower(): plugin for plugin in StoragePlugin}
        if storage not in plugins:
            raise RecordingError('storage of a bag', found=storage, exists=tuple(plugins))
        try:
            self._writer = Writer(self.path, version=9, storage_plugin=plugins[storage])
            if compress:
                mode = CompressionMode.STORAGE if storage == 'mcap' else CompressionMode.FILE
                self._writer.set_compression(mode, CompressionFormat.ZSTD)
            self._writer.open()
            if storage == 'sqlite3':  # as rosbag2: survives a killed process, not a power cut
                self._writer.storage.conn.execute('PRAGMA synchronous = OFF')
        except (WriterError, OSError, sqlite3.Error) as error:
            raise RecordingError(f'cannot make the bag {path}', found=error) from error

    def add_topic(self, topic: str, type_name: str, latched: bool = False) -> None:
        """
        Declare a topic.

        topic : its name
        type_name : of its messages
        latched : whether its durability is transient local

        Raises RecordingError for a type without definition, and where the disk refuses.
        """
        if full_name(type_name) not in typestore().fielddefs:
            raise RecordingError(f'topic {topic}: unknown type {type_name}')
        durability = QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE
        qos = Qos(QosHistory.KEEP_LAST, 1 if latched else 10, QosReliability.RELIABLE, durability,
                  _FOREVER, _FOREVER, QosLiveliness.AUTOMATIC, _FOREVER, False)
        self._connections[topic] = self._do(lambda writer: writer.add_connection(
            topic, full_name(type_name), typestore=typestore(), offered_qos_profiles=[qos]))
        self.counts[topic] = 0

    def write(self, topic: str, message: bytes, received_ns: int) -> None:
        """
        Append a message.

        topic : a declared one
        message : serialised (CDR)
        received_ns : time of reception [ns]

        Raises RecordingError for an undeclared topic, and where the disk refuses.
        """
        if topic not in self._connections:
            raise RecordingError(f'topic {topic} was not declared',
                                 exists=tuple(self.counts))
        connection = self._connections[topic]
        self._do(lambda writer: writer.write(connection, received_ns, message))
        self.counts[topic] += 1
        if self._flushed_ns is None or abs(received_ns - self._flushed_ns) >= _FLUSH_NS:
            self._flushed_ns = received_ns
            self.flush()

    def flush(self) -> None:
        """Hand everything written so far to the operating system."""
        self._do(_flush)

    def close(self) -> None:
        """Finish the bag with its index and metadata.yaml; a second call does nothing."""
        if self._writer is not None:
            self._do(Writer.close)
            self._writer = None

    def _do(self, action):
        """Return ``action(writer)``; after a failure the bag is left as it is and refuses more."""
        if self._writer is None:
            raise RecordingError(f'the bag {self.path} {self._ended}')
        try:
            return action(self._writer)
        except (WriterError, OSError, sqlite3.Error) as error:
            with suppress(Exception):
                self._writer.abort()
            self._writer = None
            self._ended = f'cannot be written ({error}); what was written before can be read'
            raise RecordingError(f'the bag {self.path} {self._ended}',
                                 do='check the space on the disk') from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _flush(writer):
    """Write out what rosbags' writer holds back: the open chunk or transaction."""
    storage = writer.storage
    if writer.storage_plugin == StoragePlugin.SQLITE3:
        storage.conn.commit()
    elif storage.chunk.msgs:
        storage.close_chunk()
        storage.bio.flush()


def write_recording(path: str | Path, recording: Recording, storage: str = 'mcap',
                    compress: bool = False) -> None:
    """
    Write the channels and texts (robot description, mounting, periods) of a Recording to a bag.

    path, storage, compress : see BagWriter
    recording : what is written

    Raises RecordingError for channels whose elements had names of their own (tf, MarkerArray).
    """
    others = [topic for topic, c in recording.channels.items() if not encodable(c.type)]
    if others:
        raise RecordingError('topics cannot be written back', found=others,
                             exists=sorted(filter(encodable, DECODERS)))
    start = min((int(c.received_ns[0]) for c in recording.channels.values() if len(c)), default=0)
    texts = {name: getattr(recording, name) for name in _TEXTS}
    with BagWriter(path, storage, compress) as bag:
        for name, text in texts.items():
            if text:
                bag.add_topic(f'/{name}', STRING, latched=True)
                bag.write(f'/{name}', encode_string(text), start)
        for topic, channel in recording.channels.items():
            bag.add_topic(topic, channel.type)
        streams = [zip(c.received_ns.tolist(), [topic] * len(c), encode(c))
                   for topic, c in recording.channels.items()]
        for received_ns, topic, message in heapq.merge(*streams, key=lambda item: item[0]):
            bag.write(topic, message, received_ns)
