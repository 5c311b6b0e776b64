"""
rosbag2: what ``ros2 bag record`` and this package write becomes a Recording.

mcap and sqlite3, split files, message, file and chunk compression, and what is left of a bag whose
recorder was killed.  Measurements are decoded while they are read, since their arrays take less
room than their bytes.  tf, which most bags hold and few ask for, waits as bytes.
"""

import logging
import os
from pathlib import Path
import re
from typing import Any, Callable, Sequence

from .decoding import ChannelBuilder
from .messages import channel_builder, DECODERS, full_name, STRING
from .storage import read_storage, sha256, storage_files
from .unpacked_size import check_unpacked
from ..recording import LazyChannels, Recording, TF
from ...errors import path_text, RecordingError

_SECONDS = r'(\d+\.?\d*|\.\d+)?'
_WINDOW = re.compile(rf'(?P<path>.+)@(?P<start>{_SECONDS}):(?P<end>{_SECONDS})', re.S)
BEGUN = 5 * 10**9  # [ns] that follow soon on a stamp of 0 which begins a log
# Last names of topics that are no channels.
DESCRIPTION = 'robot_description'
TEXTS = (DESCRIPTION, 'mounting', 'periods', 'effort_kind')
Window = tuple[float | None, float | None]  # start, end [s] after the first stamp, None: its own
_logger = logging.getLogger(__name__)


def read_bag(path: str | Path, progress: Callable[[float], None] | None = None) -> Recording:
    """
    Return the Recording of a bag, or of a part of it, its messages in the order of the file.

    path : folder of a rosbag2, or one .mcap or .db3 file; as text also BAG@START:END, seconds
        after the first stamp of its streams, either of which may be missing
    progress : function of the fraction that was read

    The last message of a topic named as one of TEXTS, in any namespace, becomes the Recording's.
    """
    path, window = split_window(path)
    try:
        recording = _read(path, progress)
    except OSError as error:
        raise RecordingError(f'{path} cannot be read', found=error.strerror or error) from error
    return in_window(recording, window)


def split_window(path: str | Path) -> tuple[Path, Window]:
    """Return the ``path`` of BAG or BAG@START:END, and its start and end [s], None without."""
    if os.path.exists(path) or '@' not in str(path):
        return Path(path), (None, None)
    match = _WINDOW.fullmatch(str(path))
    if match is None:
        raise RecordingError(f'the window of {path}', expected='BAG@START:END in seconds')
    return Path(match['path']), (_seconds(match['start']), _seconds(match['end']))


def in_window(recording: Recording, window: Window) -> Recording:
    """Return the part of a ``recording`` from start to end [s]; (None, None) : all of it."""
    if window == (None, None):
        return recording
    return recording.window(*window)


def _seconds(text: str | None) -> float | None:
    if not text:
        return None
    return float(text)


def _read(path, progress):
    files, damage = storage_files(path)
    unchecked: set[str] = set()
    contents, report = Contents(path), _Report(files, progress)
    for file in files:
        report.begin(file)
        for topic, _, raw in read_storage(file, contents.wanted, damage, unchecked, report):
            contents.builders[topic].add(raw)
        report(1.0)
    for line in damage:
        _logger.warning('%s: %s', path, line)
    provenance = {
        'path': path_text(path),
        'sha256': sha256(files),
        'damage': tuple(damage),
        'unverified': ', '.join(sorted(unchecked)),
        'skipped': contents.skipped(),
        'left_out': contents.left_out,
    }
    return Recording(contents.channels(), **contents.texts(), provenance=provenance)


class _Report:
    """Tells ``progress``, a function or None, which fraction of all ``files`` was read."""

    def __init__(self, files: Sequence[Path], progress: Callable[[float], None] | None) -> None:
        self._progress = progress
        self._total = sum(file.stat().st_size for file in files) or 1  # bytes
        self._before = self._size = 0  # bytes of the files before the present one, and of it

    def begin(self, file: Path) -> None:
        """Take note that ``file`` is the present one."""
        self._before += self._size
        self._size = file.stat().st_size

    def __call__(self, fraction: float) -> None:
        """Tell that a ``fraction`` of the present file was read."""
        if self._progress is not None:
            self._progress((self._before + fraction * self._size) / self._total)


class Contents:
    """
    Takes the messages of a bag at ``path``.

    types : of every topic in the bag; builders : of those that are wanted
    left_out : topic -> how many of its messages are not in its channel, and why; grows while
        channels are decoded
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.types: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        self.builders: dict[str, ChannelBuilder] = {}

    def wanted(self, topic: str, type_name: str) -> bool:
        """Return whether messages are to be read."""
        first_type = full_name(self.types.setdefault(topic, type_name))
        check_unpacked(self.path, 0, len(self.types), 0)
        if first_type != full_name(type_name):
            self._leave_out(
                topic, f'those of type {type_name}: the first are of type {first_type}'
            )
            return False
        if first_type in DECODERS and topic not in self.builders:
            self.builders[topic] = channel_builder(type_name, topic)
        return first_type in DECODERS

    def skipped(self) -> dict[str, str]:
        """Return {topic: type} of those that have no decoder."""
        return {t: kind for t, kind in self.types.items() if full_name(kind) not in DECODERS}

    def channels(self) -> LazyChannels:
        """Return the channels by topic, without the texts."""
        types = {}
        for topic, builder in self.builders.items():
            if not _is_text(topic, builder.type):
                types[topic] = builder.type
        channels = LazyChannels(types, self._channel)
        for topic, kind in types.items():
            if kind != TF:
                channels[topic]
        return channels

    def texts(self) -> dict[str, Any]:
        """Return the texts by their names, '' for those the bag lacks, and all descriptions."""
        texts_of: dict[str, dict[str, str]] = {name: {} for name in TEXTS}
        for topic in [t for t, b in self.builders.items() if _is_text(t, b.type)]:
            channel = self._channel(topic)
            if len(channel):
                texts_of[topic.rpartition('/')[2]][topic] = channel.fields['data'][-1]
        first = {}
        for name, texts in texts_of.items():
            first[name] = next(iter(texts.values()), '')
            # Of several descriptions one is chosen later, by the joints.
            if name != DESCRIPTION and len(set(texts.values())) > 1:
                _logger.warning(
                    '%s holds different texts in %s: the first is used',
                    self.path,
                    ', '.join(texts),
                )
        return {'descriptions': texts_of[DESCRIPTION], **first}

    def _channel(self, topic):
        builder = self.builders[topic]
        channel = builder.channel()
        if builder.refused:
            self._leave_out(
                topic,
                f'{builder.refused} of {builder.count} messages; the first: {builder.reason}',
            )
        if builder.unstamped:
            _logger.warning(
                '%s: no message of topic %s has a stamp: the times of reception are used',
                self.path,
                topic,
            )
        return self._since_the_clock_ran(channel, builder.count)

    def _since_the_clock_ran(self, channel, count):
        """Return a ``channel`` of ``count`` messages without those that are stamped 0."""
        stamped = channel.stamp_ns != 0
        early = int((~stamped).sum())
        if channel.type == TF or early in (0, len(channel)):
            return channel
        if early == 1 and channel.stamp_ns[stamped].min() < BEGUN:
            return channel
        self._leave_out(
            channel.topic, f'{early} of {count} messages stamped 0, before the clock ran'
        )
        return channel.rows(stamped)

    def _leave_out(self, topic, reason):
        if self.left_out.get(topic) != reason:  # not for every file
            _logger.warning('%s: of topic %s are left out: %s', self.path, topic, reason)
        self.left_out[topic] = reason


def _is_text(topic, type_name):
    return topic.rpartition('/')[2] in TEXTS and full_name(type_name) == STRING
