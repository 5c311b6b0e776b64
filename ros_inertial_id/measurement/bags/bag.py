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
import os
from pathlib import Path
import re
from typing import Any, Callable, Collection

import numpy as np
from rosbags.interfaces import (Connection, Qos, QosDurability, QosHistory, QosLiveliness,
                                QosReliability, QosTime)

from .contents import Contents, TEXTS
from .definitions import typestore
from .messages import DECODERS, encodable, encode, encode_string, full_name, STRING
from .storage import read_storage, sha256, storage_files
from ..recording import Recording
from ... import __version__
from ...errors import RecordingError

_WINDOW = re.compile(r'(?P<path>.+)@(?P<start>[0-9.]*):(?P<end>[0-9.]*)', re.S)
_FLUSH_NS = 500_000_000  # what a killed recorder loses at most
_FOREVER = QosTime(9223372036, 854775807)
_logger = logging.getLogger(__name__)


def read_bag(path: str | Path, topics: Collection[str] | None = None,
             progress: Callable[[float], None] | None = None) -> Recording:
    """
    Return the Recording of a bag, or of a part of it.

    path : folder of a rosbag2, or one .mcap or .db3 file; as text also BAG@START:END, seconds
        after the first stamp of its streams, either of which may be missing
    topics : names of the topics to read; None for all whose type has a decoder
    progress : function of the fraction that was read

    Messages stay in the order of the file.  The last message of a topic ``robot_description``,
    ``mounting`` or ``periods`` (in any namespace) becomes that of the Recording.  Its provenance
    also lists the topics ``skipped`` for their type, the ``damage`` (what could not be read) and
    what is ``left_out`` of a topic since it is malformed; both are logged as warnings.

    Raises RecordingError for a path without a bag and a topic that is not in it.
    """
    path, window = split_window(path)
    try:
        recording = _read(path, topics, progress)
    except OSError as error:
        raise RecordingError(f'{path} cannot be read', found=error.strerror or error) from error
    return recording.window(*window) if any(end is not None for end in window) else recording


def split_window(path: str | Path) -> tuple[Path, tuple[float | None, float | None]]:
    """
    Return the path of BAG or BAG@START:END, and its start and end [s], None without.

    path : as ``read_bag`` has it; RecordingError for a window that is none
    """
    if os.path.exists(path) or '@' not in str(path):
        return Path(path), (None, None)
    match = _WINDOW.fullmatch(str(path))
    try:
        if match is None:
            raise ValueError
        start, end = (float(text) if text else None for text in match.group('start', 'end'))
    except ValueError:
        raise RecordingError(f'the window of {path}',
                             expected='BAG@START:END in seconds') from None
    return Path(match['path']), (start, end)


def _read(path, topics, progress):
    files, damage = storage_files(path)
    sizes = [file.stat().st_size for file in files]
    contents = Contents(path, topics)
    for i, file in enumerate(files):
        def report(fraction, before=sum(sizes[:i]), size=sizes[i]):
            if progress:
                progress((before + fraction * size) / (sum(sizes) or 1))
        for topic, _, raw in read_storage(file, contents.wanted, damage, report):
            contents.add(topic, raw)
        report(1.0)
    for line in damage:
        _logger.warning('%s: %s', path, line)
    channels, texts = contents.channels(), contents.texts()
    versions = {'ros_inertial_id': __version__, 'numpy': np.__version__,
                'rosbags': version('rosbags')}
    return Recording(channels, **texts, provenance={
        'path': str(path), 'sha256': sha256(files), 'duration_s': contents.duration_s,
        'skipped': contents.skipped, 'damage': tuple(damage), 'left_out': contents.left_out,
        'versions': versions})


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
        from .checked_storage import open_writer, REFUSED, STORAGES  # those who read need none
        if storage not in STORAGES:
            raise RecordingError('storage of a bag', found=storage, exists=STORAGES)
        self._refused = REFUSED
        try:
            self._writer: Any = open_writer(self.path, storage, compress)
        except (*REFUSED, ValueError) as error:
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
        except self._refused as error:
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
    texts = {name: getattr(recording, name) for name in TEXTS}
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
