"""Topics other than joint states, of which PlotJuggler writes a column per number: /b/force/x."""

from collections.abc import Mapping
import re

import numpy as np

from .messages import DECODERS
from ..recording import Channel
from ...errors import RecordingError

_KINDS = (
    'geometry_msgs/msg/PoseStamped',
    'geometry_msgs/msg/TwistStamped',
    'geometry_msgs/msg/AccelStamped',
    'geometry_msgs/msg/WrenchStamped',
    'sensor_msgs/msg/Imu',
)
# The longest first: an orientation of an Imu is not that of a pose.
_PATHS = sorted(
    (
        (path.split('.'), kind, name)
        for kind in _KINDS
        for name, path in DECODERS[kind].fields.items()
    ),
    key=lambda item: -len(item[0]),
)


def field_of(name: str) -> tuple[str, str, str, str] | None:
    """Return (topic, type, field, axis) that the ``name`` of a column says, None for no topic."""
    *words, axis = re.split(r'[/.]', name.strip('/'))
    return next(
        (
            ('/' + '/'.join(words[: -len(path)]), kind, field, axis)
            for path, kind, field in _PATHS
            if words[-len(path) :] == path and len(words) > len(path)
        ),
        None,
    )


def topic_channels(
    columns: Mapping[str, np.ndarray], stamp_ns: np.ndarray
) -> tuple[dict[str, Channel], list[str]]:
    """Return Channels of ``columns`` (n,) at ``stamp_ns`` (n,) [ns], and why others are none."""
    topics: dict[str, dict[str, dict[str, str]]] = {}
    types: dict[str, str] = {}
    for column in columns:
        topic, kind, name, axis = field_of(column) or ('',) * 4
        if types.setdefault(topic, kind) != kind:
            raise RecordingError(
                f'{topic} is of two types',
                found=(types[topic], kind),
                do='name one topic for each',
            )
        topics.setdefault(topic, {}).setdefault(name, {})[axis] = column
    channels, lacking = {}, []
    for topic, fields in topics.items():
        axes = {name: 'xyzw' if name.startswith('orientation') else 'xyz' for name in fields}
        if short := [name for name, own in fields.items() if set(own) != set(axes[name])]:
            lacking.append(
                f'{short[0]} of {topic} has {", ".join(fields[short[0]].values())}, '
                f'not the columns {", ".join(axes[short[0]])}'
            )
            continue
        values = {
            name: np.stack([columns[own[axis]] for axis in axes[name]], axis=1)
            for name, own in fields.items()
        }
        seen = np.isfinite(np.hstack(list(values.values()))).all(1)
        channels[topic] = Channel(
            topic,
            types[topic],
            stamp_ns[seen],
            stamp_ns[seen].clip(0),
            {name: x[seen] for name, x in values.items()},
        )
    return channels, lacking
