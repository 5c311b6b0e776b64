"""
Columns of topics: one per number, named as PlotJuggler writes them, become Channels.

``/b1/pose/position/x`` or ``/b1.pose.position.x`` is the topic ``/b1`` of PoseStamped, and so are
the other fields of KINDS.  Empty cells are samples of other topics.
"""

from collections.abc import Mapping
import re
from typing import Any

import numpy as np

from .messages import DECODERS
from ..recording import Channel
from ...errors import RecordingError

KINDS = ('geometry_msgs/msg/PoseStamped', 'geometry_msgs/msg/TwistStamped',
         'geometry_msgs/msg/AccelStamped', 'geometry_msgs/msg/WrenchStamped',
         'sensor_msgs/msg/Imu')
# The longest first: an orientation of an Imu is not that of a pose.
PATHS = dict(sorted(((tuple(path.split('.')), (kind, name)) for kind in KINDS for name, path in
                     DECODERS[kind].fields.items()), key=lambda item: -len(item[0])))


def field_of(name: str) -> tuple[str, str, str, str] | None:
    """Return (topic, type, field, axis) that the ``name`` of a column says, None for no topic."""
    *words, axis = re.split(r'[/.]', name.strip('/'))
    for path in PATHS:
        if tuple(words[-len(path):]) == path and len(words) > len(path):
            return '/' + '/'.join(words[:-len(path)]), *PATHS[path], axis
    return None


def topics_of(columns: Mapping[str, Any], stamp_ns: np.ndarray
              ) -> tuple[dict[str, Channel], list[str]]:
    """
    Return the Channels of topics in named columns (n,), and in words why others are none.

    stamp_ns : (n,) of the rows
    """
    topics: dict[str, tuple[str, dict[str, dict[str, str]]]] = {}
    for column in columns:
        if said := field_of(column):
            topic, kind, name, axis = said
            before, fields = topics.setdefault(topic, (kind, {}))
            if before != kind:
                raise RecordingError(f'{topic} is of two types', found=(before, kind),
                                     do='name one topic for each')
            fields.setdefault(name, {})[axis] = column
    channels, lacking = {}, []
    for topic, (kind, fields) in topics.items():
        axes = {name: 'xyzw' if name.startswith('orientation') else 'xyz' for name in fields}
        short = [name for name, own in fields.items() if set(own) != set(axes[name])]
        if short:
            lacking.append(f'{short[0]} of {topic} has {", ".join(fields[short[0]].values())}, '
                           f'not the columns {", ".join(axes[short[0]])}')
            continue
        values = {name: np.stack([columns[own[axis]] for axis in axes[name]], axis=1)
                  for name, own in fields.items()}
        seen = np.isfinite(np.hstack(list(values.values()))).all(1)
        channels[topic] = Channel(topic, kind, stamp_ns[seen], stamp_ns[seen].clip(0),
                                  {name: x[seen] for name, x in values.items()})
    return channels, lacking
