"""
rosbag2 in and out.

``read_bag`` reads what ``ros2 bag record`` and this package write: mcap and sqlite3, split files,
message, file and chunk compression, and what is left of a bag whose recorder was killed.
``BagWriter`` writes bags that every rosbag tool opens, through rosbags' writer.
"""

import hashlib
import logging
import re
import sqlite3
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import numpy as np
import yaml
from rosbags.interfaces import (Qos, QosDurability, QosHistory, QosLiveliness, QosReliability,
                                QosTime)
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer, WriterError

from .cdr import typestore
from .messages import (channel_builder, DECODERS, encode_joint_states, encode_string, full_name,
                       JOINT_STATE, STRING)
from .recording import Recording
from .storage import is_storage, read_storage
from .. import __version__
from ..errors import RecordingError

ROBOT_DESCRIPTION, MOUNTING = 'robot_description', 'mounting'  # last name of their topics
_FLUSH_NS = 500_000_000  # what a killed recorder loses at most
_logger = logging.getLogger(__name__)


def read_bag(path, topics=None, progress=None):
    """
    Return the Recording of a bag.

    path : folder of a rosbag2, or one .mcap or .db3 file
    topics : names of the topics to read; all whose type has a decoder if None
    progress : function of the fraction that was read

    Messages stay in the order of the file.  Topics named ``robot_description`` and ``mounting``
    (in any namespace) become those of the Recording.  ``provenance`` also lists topics ``skipped``
    for their type, and ``damage``: what could not be read of a bag that was cut off.
    Raises RecordingError for a path without a bag, a topic that is not in it and malformed
    messages.
    """
    path = Path(path)
    files, damage = _storage_files(path)
    reader = _BagReader(topics)
    total = sum(file.stat().st_size for file in files) or 1
    done = 0
    for file in files:
        size = file.stat().st_size

        def tell(fraction, done=done, size=size):
            if progress:
                progress((done + fraction * size) / total)

        for batch in read_storage(file, reader.wanted, damage, tell):
            reader.add(*batch)
        done += size
        tell(1.0, done - size, size)
    recording = reader.recording(path)
    for line in damage:
        _logger.warning('%s: %s', path, line)
    versions = {'ros_inertial_id': __version__, 'numpy': np.__version__,
                'rosbags': version('rosbags'), 'mcap': version('mcap')}
    stamps = [edge for c in recording.channels.values() if len(c)
              for edge in (int(c.stamp_ns.min()), int(c.stamp_ns.max()))]
    duration = (max(stamps) - min(stamps)) * 1e-9 if stamps else 0.0
    provenance = {'path': str(path), 'sha256': _sha256(files), 'duration_s': duration,
                  'versions': versions, 'skipped': reader.skipped, 'damage': damage}
    return Recording(recording.channels, recording.robot_description, recording.mounting,
                     provenance)
