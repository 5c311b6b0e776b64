"""
Recording: named channels with their own stamps, and what they were taken from.

Nothing here is resampled, filtered or dropped: a Recording is what the sensors said.  One of hours
is larger than many a memory: its large arrays lie in files without a name, in the folder for
temporary files (TMPDIR), which go when nobody holds them any more, and when the process ends.
"""

from dataclasses import dataclass, field, replace
from itertools import chain
import math
import mmap
import os
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import Any, Callable, Iterator, Mapping, Sequence
import weakref

import numpy as np

from ..errors import RecordingError

TF = 'tf2_msgs/msg/TFMessage'
LARGE = 1 << 22  # bytes of an array that is not kept in memory
STREAM_SHARE = 50  # a topic with this part of the fullest one's samples, or less, is no stream
_mapped: 'weakref.WeakSet[mmap.mmap]' = weakref.WeakSet()


def empty(shape: tuple[int, ...], dtype: np.dtype | type) -> np.ndarray:
    """Return an array of a ``shape`` and ``dtype``, in a file if it is large and there is room."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size < LARGE or dtype.hasobject:
        return np.empty(shape, dtype)
    try:
        with TemporaryFile(prefix='ros_inertial_id_') as file:
            os.posix_fallocate(file.fileno(), 0, size)  # a full disk says so here, not later
            mapped = mmap.mmap(file.fileno(), size)
    except (OSError, AttributeError):  # no room, or no Linux
        return np.empty(shape, dtype)
    _mapped.add(mapped)
    return np.frombuffer(mapped, dtype).reshape(shape)


def page_out() -> None:
    """Let go of the pages of all large arrays: they come back when they are read again."""
    for mapped in list(_mapped):
        mapped.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True)
class Channel:
    """
    The samples of one topic.

    topic : name as recorded, with its leading slash
    type : ROS type, for example ``sensor_msgs/msg/JointState``
    stamp_ns : (n,) int64, time of measurement (header stamp; receive time without a header)
    received_ns : (n,) int64, time of reception (the bag's own clock)
    fields : name -> array with leading axis n (see measurement/bags/messages.py for each type);
        a value that a message did not carry is NaN
    names : labels of axis 1 of the fields (joints, markers); empty where there is none
    frame_id : frame of the header, '' where there is none
    """

    topic: str
    type: str  # noqa: A003 (the name in the specification of bags)
    stamp_ns: np.ndarray
    received_ns: np.ndarray
    fields: Mapping[str, np.ndarray]
    names: tuple[str, ...] = ()
    frame_id: str = ''

    def __post_init__(self):
        for array in (self.stamp_ns, self.received_ns, *self.fields.values()):
            array.setflags(write=False)
        object.__setattr__(self, 'fields', MappingProxyType(dict(self.fields)))

    def __len__(self) -> int:
        return len(self.stamp_ns)

    def __repr__(self) -> str:
        fields = ', '.join(f'{name} {values.shape}' for name, values in self.fields.items())
        return f'Channel({self.topic}, {self.type}, {len(self)} samples: {fields})'

    def __reduce__(self):
        return Channel, (
            self.topic,
            self.type,
            self.stamp_ns,
            self.received_ns,
            dict(self.fields),
            self.names,
            self.frame_id,
        )

    def rows(self, selection: Any) -> 'Channel':
        """Return the Channel of some samples."""
        return replace(
            self,
            stamp_ns=self.stamp_ns[selection],
            received_ns=self.received_ns[selection],
            fields={k: v[selection] for k, v in self.fields.items()},
        )


class LazyChannels(Mapping[str, Channel]):
    """Channels by topic, each made when it is first asked for; ``types`` are known before."""

    def __init__(self, types: Mapping[str, str], make: Callable[[str], Channel]) -> None:
        self.types, self._make = dict(types), make
        self._made: dict[str, Channel] = {}

    def __getitem__(self, topic: str) -> Channel:
        if topic not in self.types:
            raise KeyError(topic)
        if topic not in self._made:
            self._made[topic] = self._make(topic)
        return self._made[topic]

    def __iter__(self) -> Iterator[str]:
        return iter(self.types)

    def __len__(self) -> int:
        return len(self.types)


def _end(seconds: float | None) -> str:
    """Return an end of a window as it is given, '' for that of the recording."""
    if seconds is None:
        return ''
    return f'{seconds:g}'


@dataclass(frozen=True)
class Recording:
    """
    Channels by topic, with the robot description and mounting they were taken with.

    robot_description : URDF text, '' where the recording has none
    descriptions : topic -> URDF text, where there are several
    mounting : YAML text as in the options of dynamics/robot_model.py, '' where unknown
    provenance : where it came from: path, sha256, start_s, end_s (of the window),
        damage (lines), left_out (topic -> how many messages and why)
    periods : YAML text of the player: period_s, bounds_ns where its periods begin and end; or ''
    effort_kind : of the efforts (joints/drives.py), where an import knows it; or ''
    decided : what was decided about it, by what was asked (joints/sources.py)
    """

    channels: Mapping[str, Channel]
    robot_description: str = ''
    mounting: str = ''
    provenance: Mapping[str, Any] = field(default_factory=dict)
    periods: str = ''
    descriptions: Mapping[str, str] = field(default_factory=dict)
    effort_kind: str = ''
    decided: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.channels, Mapping):
            raise RecordingError(
                'a Recording is made of channels by topic',
                found=type(self.channels).__name__,
                do='read a bag by read_bag(path), a table by read_log(path, urdf=...)',
            )

    def __repr__(self) -> str:
        topics = ', '.join(f'{topic}: {kind}' for topic, kind in self.types().items())
        return f'Recording({self.provenance.get("path", "")!r}, {topics or "no topics"})'

    def __reduce__(self):
        return Recording, (
            dict(self.channels),
            self.robot_description,
            self.mounting,
            dict(self.provenance),
            self.periods,
            dict(self.descriptions),
            self.effort_kind,
        )

    def types(self) -> dict[str, str]:
        """Return the ROS type of every topic."""
        if isinstance(self.channels, LazyChannels):
            return dict(self.channels.types)
        return {topic: channel.type for topic, channel in self.channels.items()}

    def unread(self) -> list[str]:
        """Return topic and type of what is in a bag and has no decoder."""
        return [f'{t} ({kind})' for t, kind in self.provenance.get('skipped', {}).items()]

    def origin_ns(self) -> int:
        """
        Return the zero of START and END: the first stamp of the recording's streams [ns].

        Topics with less than a fiftieth of the samples of the fullest one are no streams: what
        is latched may be hours old.  Nor is tf, where there are others.

        Raises RecordingError where there is no sample.
        """
        return int(min(channel.stamp_ns.min() for channel in self._full()))

    @property
    def duration(self) -> float:
        """Return the time from ``origin_ns`` to the last stamp of the streams [s]."""
        end = int(max(channel.stamp_ns.max() for channel in self._full()))
        return 1e-9 * (end - self.origin_ns())

    def _full(self) -> list[Channel]:
        """Return the channels that are streams; RecordingError where there is no sample."""
        streams = self._streams()
        if not streams:
            raise self._no_samples()
        most = max(map(len, streams))
        return [channel for channel in streams if STREAM_SHARE * len(channel) >= most]

    def _streams(self) -> list[Channel]:
        """Return the channels that have samples, tf only where there is nothing else."""
        measured = [self.channels[topic] for topic, kind in self.types().items() if kind != TF]
        with_samples = [channel for channel in measured if len(channel)]
        if with_samples:
            return with_samples
        return [channel for channel in self.channels.values() if len(channel)]

    def _no_samples(self) -> RecordingError:
        do = None
        if self.unread():
            do = 'these types cannot be read: publish sensor_msgs/JointState, or import a log'
        return RecordingError(
            f'{self.provenance.get("path", "recording")} holds no samples',
            exists=(*self.channels, *self.unread()),
            do=do,
        )

    def window(self, start_s: float | None = None, end_s: float | None = None) -> 'Recording':
        """
        Return the Recording from ``start_s`` to ``end_s`` [s] after ``origin_ns``, both included.

        None for the recording's own end; RecordingError where no sample is between them.
        """
        origin = self.origin_ns()
        low, high = -np.inf, np.inf
        if start_s is not None:
            low = round(start_s * 1e9)
        if end_s is not None:
            high = round(end_s * 1e9)

        def cut(topic: str) -> Channel:
            since = self.channels[topic].stamp_ns - origin
            return self.channels[topic].rows((since >= low) & (since <= high))

        channels = LazyChannels(self.types(), cut)
        if not any(map(len, channels.values())):
            ends = [c.stamp_ns.max() for c in self.channels.values() if len(c)]
            raise RecordingError(
                f'the window {_end(start_s)}:{_end(end_s)} s holds no samples',
                exists=f'0 to {(max(ends) - origin) * 1e-9:.3f} s',
            )
        provenance = dict(self.provenance, start_s=start_s, end_s=end_s)
        return replace(self, channels=channels, provenance=provenance)

    def without_samples(self, channels: Mapping[str, Channel]) -> 'Recording':
        """Return the Recording with ``channels`` that lack samples: what was decided stays."""
        cleaned = replace(self, channels=channels)
        cleaned.decided.update(self.decided)
        return cleaned

    def of_type(self, type_name: str) -> dict[str, Channel]:
        """Return the channels of a ROS type, by topic."""
        return {
            topic: self.channels[topic]
            for topic, kind in self.types().items()
            if kind == type_name
        }


def joined(parts: Sequence[Channel]) -> Channel:
    """Return one Channel of ``parts`` of one topic; NaN where one lacks a name or field."""
    if len(parts) == 1:
        return parts[0]
    names = tuple(dict.fromkeys(chain.from_iterable(part.names for part in parts)))
    keys = dict.fromkeys(chain.from_iterable(part.fields for part in parts))
    frames = [part.frame_id for part in parts if part.frame_id]
    return replace(
        parts[0],
        stamp_ns=_concatenated([part.stamp_ns for part in parts]),
        received_ns=_concatenated([part.received_ns for part in parts]),
        fields={key: _joined_field(key, parts, names) for key in keys},
        names=names,
        frame_id=''.join(frames[:1]),
    )


def _concatenated(stamps: Sequence[np.ndarray]) -> np.ndarray:
    """Return ``stamps`` of several parts [ns] one after the other."""
    return np.concatenate(stamps, out=empty((sum(map(len, stamps)),), np.int64))


def _joined_field(key: str, parts: Sequence[Channel], names: tuple[str, ...]) -> np.ndarray:
    """Return the field ``key`` of all ``parts``, its axis 1 labelled by ``names`` if there are."""
    with_field = [part.fields[key] for part in parts if key in part.fields]
    shape = with_field[0].shape[1:]
    if shape:
        columns = len(names) or max(values.shape[1] for values in with_field)
        shape = (columns, *shape[1:])
    field_values = empty((sum(map(len, parts)), *shape), with_field[0].dtype)
    if len(with_field) < len(parts) or any(values.shape[1:] != shape for values in with_field):
        field_values[...] = np.nan
    start = 0
    for part in parts:
        rows = field_values[start : start + len(part)]
        start += len(part)
        if key in part.fields:
            page_out()
            _put(part.fields[key], part.names, rows, names)
    return field_values


def _put(
    values: np.ndarray, labels: tuple[str, ...], rows: np.ndarray, names: tuple[str, ...]
) -> None:
    """
    Write ``values`` (N, ...) of a part into ``rows`` (N, ...) of the Channel of all parts.

    labels, names : of axis 1 of ``values`` and of ``rows``, none for what has no labels
    """
    if values.ndim == 1:
        rows[...] = values
    elif not labels or (labels == names and values.shape == rows.shape):
        rows[:, : values.shape[1]] = values
    else:
        rows[:, [names.index(label) for label in labels]] = values


def nothing_left() -> RecordingError:
    """Return the error of a recording of which the filter leaves nothing."""
    return RecordingError(
        'the recording is too short', found='no samples left after filtering', do='record longer'
    )
