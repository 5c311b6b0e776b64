"""
Tables of topics: a column per number, named as PlotJuggler writes them, become a Recording.

``/b1/pose/position/x`` or ``/b1.pose.position.x`` is the topic ``/b1`` of PoseStamped, and so are
the other fields of KINDS.  Empty cells are samples of other topics.
"""

from collections.abc import Sequence
import csv
from os.path import isfile
import re

import numpy as np

from .log_columns import ALIASES, CLOCKS, nanoseconds
from .messages import DECODERS
from ..recording import Channel, Recording
from ...errors import RecordingError

KINDS = ('geometry_msgs/msg/PoseStamped', 'geometry_msgs/msg/TwistStamped',
         'geometry_msgs/msg/AccelStamped', 'geometry_msgs/msg/WrenchStamped',
         'sensor_msgs/msg/Imu')
PATHS = {tuple(path.split('.')): (kind, name) for kind in KINDS
         for name, path in DECODERS[kind].fields.items()}


def read_topics(logs: Sequence[object], description: str) -> Recording | None:
    """
    Return the Recording in the one .csv of ``logs`` whose columns are fields of topics, or None.

    description : text, of the rig.  RecordingError for a field without one of its components.
    """
    path = str(logs[0])
    if len(logs) > 1 or not path.lower().endswith('.csv') or not isfile(path):
        return None
    try:
        with open(path, encoding='utf-8', newline='') as file:
            reader = csv.reader(file)
            names = [name.strip() for name in next(reader, [])]
            columns, fields = {name: k for k, name in enumerate(names)}, _fields(names)
            lines = list(reader) if fields else []
    except (OSError, UnicodeDecodeError, csv.Error):  # which the reader of joints says
        return None
    if not fields:
        return None
    clock = next((name for name in names if ALIASES.get(name.lower()) in CLOCKS), None)
    try:
        table = np.array([[float(cell or 'nan') for cell in line] for line in lines])
    except ValueError as error:
        raise RecordingError(f'{path} cannot be read', found=error,
                             expected='numbers, in every line as many as names') from None
    if clock is None or table.ndim != 2 or table.shape[1] != len(names):
        raise RecordingError(f'{path} is no table of topics', found=names[:10],
                             expected='a column of time, stamp_s or stamp_ns, and lines')
    stamps = nanoseconds(path, table[:, columns[clock]], CLOCKS[ALIASES[clock.lower()]])
    channels = {}
    for topic, (kind, parts) in fields.items():
        values = {name: table[:, [columns[parts[name][axis]] for axis in _axes(topic, name, own)]]
                  for name, own in parts.items()}
        seen = np.isfinite(np.hstack(list(values.values()))).all(1)
        channels[topic] = Channel(topic, kind, stamps[seen], stamps[seen].clip(0),
                                  {name: x[seen] for name, x in values.items()})
    return Recording(channels, description, provenance={'path': path, 'columns': {
        topic: [column for own in parts.values() for column in own.values()]
        for topic, (_, parts) in fields.items()}})


def _fields(names):
    """Return {topic: (type, {field: {axis: name of the column}})}."""
    out: dict[str, tuple[str, dict[str, dict[str, str]]]] = {}
    for name in names:
        *words, axis = re.split(r'[/.]', name.strip('/'))
        # The longest: an orientation of an Imu is not that of a pose.
        for path in sorted(PATHS, key=len, reverse=True):
            if tuple(words[-len(path):]) == path and len(words) > len(path):
                break
        else:
            continue
        (kind, field), topic = PATHS[path], '/' + '/'.join(words[:-len(path)])
        before, fields = out.setdefault(topic, (kind, {}))
        if before != kind:
            raise RecordingError(f'{topic} is of two types', found=(before, kind),
                                 do='name one topic for each')
        fields.setdefault(field, {})[axis] = name
    return out


def _axes(topic, name, columns):
    """Return the axes of a field in their order; RecordingError where one is missing."""
    axes = 'xyzw' if name.startswith('orientation') else 'xyz'
    if set(columns) != set(axes):
        raise RecordingError(f'{name} of {topic}', expected=f'the columns {", ".join(axes)}',
                             found=list(columns.values()))
    return axes
