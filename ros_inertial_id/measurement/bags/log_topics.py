"""Topics other than joint states, of which PlotJuggler writes a column per number: /b/force/x."""

from collections.abc import Mapping
from dataclasses import dataclass
import re

import numpy as np

from .messages import DECODERS
from ..recording import Channel, empty
from ...errors import RecordingError

_TYPES = (
    'geometry_msgs/msg/PoseStamped',
    'geometry_msgs/msg/TwistStamped',
    'geometry_msgs/msg/AccelStamped',
    'geometry_msgs/msg/WrenchStamped',
    'sensor_msgs/msg/Imu',
)
# The longest first: an orientation of an Imu is not that of a pose.
_FIELDS_BY_PATH = sorted(
    (
        (path.split('.'), type_name, field)
        for type_name in _TYPES
        for field, path in DECODERS[type_name].fields.items()
    ),
    key=lambda row: -len(row[0]),
)


_AXES = {'orientation_xyzw': 'xyzw'}  # of a field; of others x, y, z


@dataclass(frozen=True)
class TopicField:
    """What a column of a topic holds: one axis of a field of messages of a type."""

    topic: str
    type_name: str
    field: str
    axis: str


def topic_field(name: str) -> TopicField | None:
    """Return what the ``name`` of a column says of a topic, None for no topic."""
    *words, axis = re.split(r'[/.]', name.strip('/'))
    for path, type_name, field in _FIELDS_BY_PATH:
        topic, last_words = words[: -len(path)], words[-len(path) :]
        if topic and last_words == path:
            return TopicField('/' + '/'.join(topic), type_name, field, axis)
    return None


def received_in_order(stamp_ns: np.ndarray) -> np.ndarray:
    """
    Return times of reception (n,) [ns] of rows stamped ``stamp_ns`` (n,), in the order of the log.

    Players sort by reception, which must not run back where the stamps do.
    """
    received_ns = empty(stamp_ns.shape, np.int64)
    np.maximum(stamp_ns, 0, out=received_ns)
    return np.maximum.accumulate(received_ns, out=received_ns)


class _TopicColumns:
    """The columns of one topic: field -> axis -> name of the column."""

    def __init__(self, topic: str, type_name: str) -> None:
        self.topic, self.type_name = topic, type_name
        self.columns: dict[str, dict[str, str]] = {}

    def add(self, column: str, meaning: TopicField) -> None:
        """Add a column, RecordingError where it is of another type of message."""
        if meaning.type_name != self.type_name:
            raise RecordingError(
                f'{self.topic} is of two types',
                found=(self.type_name, meaning.type_name),
                do='name one topic for each',
            )
        self.columns.setdefault(meaning.field, {})[meaning.axis] = column

    def lacking(self) -> str:
        """Return the first field that has not all its axes, in words; '' for none."""
        for field, by_axis in self.columns.items():
            axes = _AXES.get(field, 'xyz')
            if set(by_axis) != set(axes):
                return (
                    f'{field} of {self.topic} has {", ".join(by_axis.values())}, '
                    f'not the columns {", ".join(axes)}'
                )
        return ''

    def channel(self, values: Mapping[str, np.ndarray], stamp_ns: np.ndarray) -> Channel:
        """Return the Channel of ``values`` (n,) by column, of the rows that have all of them."""
        for by_axis in self.columns.values():
            for column in by_axis.values():
                _check_numbers(column, values[column], len(stamp_ns))
        fields = {field: self._field(field, values) for field in self.columns}
        rows = np.isfinite(np.hstack(list(fields.values()))).all(axis=1)
        return Channel(
            self.topic,
            self.type_name,
            stamp_ns[rows],
            received_in_order(stamp_ns[rows]),
            {field: x[rows] for field, x in fields.items()},
        )

    def _field(self, field: str, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return a field (n, axes) of ``values`` (n,) by column."""
        by_axis = self.columns[field]
        axes = _AXES.get(field, 'xyz')
        return np.stack([values[by_axis[axis]] for axis in axes], axis=1)


def _check_numbers(column: str, x: np.ndarray, count: int) -> None:
    """Raise RecordingError where x is not ``count`` numbers."""
    if x.dtype.kind not in 'fiu' or x.shape != (count,):
        raise RecordingError(
            f'column {column}', expected=f'{count} numbers', found=f'{x.dtype} {x.shape}'
        )


def topic_channels(
    fields: Mapping[str, TopicField], values: Mapping[str, np.ndarray], stamp_ns: np.ndarray
) -> tuple[dict[str, Channel], list[str]]:
    """
    Return Channels of other topics by topic, and in words why others are none.

    fields : column -> what it holds; values : column -> (n,); stamp_ns : (n,) [ns]
    """
    topics: dict[str, _TopicColumns] = {}
    for column, meaning in fields.items():
        topic = topics.setdefault(meaning.topic, _TopicColumns(meaning.topic, meaning.type_name))
        topic.add(column, meaning)
    lacking = {name: topic.lacking() for name, topic in topics.items()}
    channels = {
        name: topic.channel(values, stamp_ns)
        for name, topic in topics.items()
        if not lacking[name]
    }
    return channels, list(filter(None, lacking.values()))
