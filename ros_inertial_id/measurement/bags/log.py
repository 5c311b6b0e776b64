"""
Logs of other programs, and tables in memory, become Recordings and bags.

An import loses and repairs nothing: stamps, order and NaN stay as the log has them, and what
cannot be used is refused later by the analysis.  Positions and efforts may come from separate
files.  Those of one clock are joined sample by sample; efforts with stamps of their own stay
apart, as a topic of their own.
"""

from collections.abc import Mapping, Sequence
import logging
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .log_columns import Log, log_of, nanoseconds
from .log_files import named, read_file
from .log_topics import read_topics
from .messages import JOINT_STATE
from ..recording import Channel, Recording
from ...errors import path_text, RecordingError, RobotModelError

EFFORTS = '/efforts'  # topic of efforts that come from a file with a clock of its own
SAME = 1000  # [ns] between stamps of one sample: unix time in float is off by 120
_logger = logging.getLogger(__name__)


LogSource = str | Path | Mapping[str, Any] | Any  # a data frame at the last
Logs = LogSource | Sequence[LogSource]


def import_log(logs: Logs, urdf_text: str, out_path: str | Path,
               joint_names: Sequence[str] | None = None, rate: float | None = None,
               columns: str = '') -> Recording:
    """
    Write a log to a new bag with /joint_states and /robot_description; return the Recording.

    out_path : of the bag; joint_names, rate [Hz], columns : see ``read_log``
    Raises RecordingError, before anything is written, for a log whose columns do not make a
    recording, and for an ``out_path`` that exists.
    """
    from .writing import write_recording  # reading needs no writer
    recording = read_log(logs, urdf_text, joint_names, rate, columns)
    write_recording(out_path, recording)
    return recording


def read_log(logs: Logs, urdf_text: str, joint_names: Sequence[str] | None = None,
             rate: float | None = None, columns: str = '') -> Recording:
    """
    Return the Recording in a log: one channel of joint states, with the robot description.

    logs : path of a file (see log_files.py), a data frame or mapping of arrays (see
        log_columns.py), or several that make one log: efforts with stamps of their own then
        become the topic /efforts; a .csv may hold other topics instead, see log_topics.py
    joint_names : names of the joints in the order of the log; without them those in the log, or
        else the moving joints of the URDF in the order of its tree
    rate : sampling rate [Hz] of a log without time, whose first stamp is then 0
    columns : names of the columns, see log_columns.renamed; of several files with ; between

    provenance['columns'] says what was understood, and what was left out.
    Raises RecordingError for a log whose columns do not make a recording.
    """
    sources = list(logs) if isinstance(logs, (list, tuple)) else [logs]
    if not sources:
        raise RecordingError('no log', expected='a file or several')
    topics = read_topics(sources, urdf_text)
    if topics is not None:
        return topics
    names_of_all = [_read(source, own) for source, own in
                    zip(sources, _columns_of_each(sources, columns))]
    where = names_of_all[0][0]
    log, apart = _joined(names_of_all)
    for kind, part in (('position', log), ('effort', apart)):
        if part is not None:
            _check_shapes(where, part, kind)
    names = _joint_names(where, log, joint_names, urdf_text)
    stamp_ns = _stamps(where, log, rate)
    channels = {'/joint_states': _channel('/joint_states', stamp_ns, log, names)}
    if apart is not None and apart.stamp_ns is not None:
        channels[EFFORTS] = _channel(EFFORTS, apart.stamp_ns, apart, names)
        _logger.warning('efforts have stamps of their own: identify with effort_topic: %s',
                        EFFORTS)
    understood = {f'{place}: {kind}': own for place, part in names_of_all
                  for kind, own in (*part.understood.items(), ('left out', part.left_out)) if own}
    return Recording(channels, urdf_text, provenance={'path': where, 'columns': understood})


def _read(source, columns):
    """Return the name of a source for messages, and its Log."""
    if isinstance(source, (str, Path)):
        where, found = path_text(source), read_file(Path(source), columns)
    else:
        where = 'the table'
        try:
            names = (source if isinstance(source, Mapping) else source.column_names
                     if type(source).__module__.startswith('pyarrow') else source.columns)
            arrays = {str(name): np.atleast_1d(source[name]) for name in names}
        except (AttributeError, TypeError, KeyError, IndexError, ValueError) as error:
            raise RecordingError('log', found=type(source).__name__, expected='a path, a data '
                                 'frame or a mapping of names to arrays') from error
        found = named(where, arrays, columns)
    log = log_of(where, found)
    if log.left_out:
        _logger.warning('%s: not imported: %s', where, ', '.join(log.left_out))
    return where, log


def _columns_of_each(sources, columns):
    own = [part.strip() for part in columns.split(';')] if columns else [''] * len(sources)
    if len(own) != len(sources):
        raise RecordingError('columns of several files', found=columns,
                             expected=f'{len(sources)} lists, in the order of the files, with ; '
                             'between, for example "time q1..q6; tau1..tau6"')
    return own


def _joined(logs):
    """Return the Log of several (name, Log), and that of efforts with a clock of their own."""
    first = next((k for k, (_, log) in enumerate(logs) if 'position' in log.fields), 0)
    where, out = logs[first]
    apart = None
    for place, log in [*logs[:first], *logs[first + 1:]]:
        twice = set(log.fields) & set(out.fields)
        if twice:
            raise RecordingError(f'{place} holds what {where} holds',
                                 found=', '.join(sorted(twice)))
        log = _ordered(place, log, out)
        if _one_clock(out, log):
            stamps = out.stamp_ns if out.stamp_ns is not None else log.stamp_ns
            out = Log({**out.fields, **log.fields}, stamps, out.names or log.names, {})
        elif (set(log.fields) == {'effort'} and out.stamp_ns is not None
                and log.stamp_ns is not None):
            apart = log
        else:
            raise RecordingError(
                f'{place} and {where} share no clock', found=[
                    f'{len(next(iter(x.fields.values())))} samples' for x in (log, out)],
                expected='equally many samples, or a time column in each of positions and efforts')
    return out, apart


def _one_clock(a, b):
    """Return whether samples of two Logs belong together one by one."""
    if len({len(x) for log in (a, b) for x in log.fields.values()}) != 1:
        return False
    return a.stamp_ns is None or b.stamp_ns is None or bool(
        np.all(np.abs(a.stamp_ns - b.stamp_ns) <= SAME))


def _ordered(place, log, like):
    """Return a Log with its joints in the order of another, where both name them."""
    widths = [sorted({x.shape[1] for x in own.fields.values()}) for own in (log, like)]
    if widths[0] != widths[1]:
        raise RecordingError(f'{place} is of other joints', found=f'{widths[0]} columns',
                             expected=f'{widths[1]}')
    if log.names is None or like.names is None or log.names == like.names:
        return log
    if set(log.names) != set(like.names):
        raise RecordingError(f'{place} is of other joints', found=log.names, expected=like.names)
    order = [log.names.index(name) for name in like.names]
    return Log({kind: x[:, order] for kind, x in log.fields.items()}, log.stamp_ns, like.names, {})


def _channel(topic, stamp_ns, log, names):
    # Players sort by reception, which therefore must not run back where the stamps do.
    received_ns = np.maximum.accumulate(np.maximum(stamp_ns, 0))
    return Channel(topic, JOINT_STATE, stamp_ns, received_ns, log.fields, names)


def moving_joints(urdf_text: str) -> tuple[str, ...]:
    """
    Return the names of the moving joints of a URDF, from the root down, in document order.

    Raises RobotModelError for a text that is no XML.
    """
    try:
        robot = ElementTree.fromstring(urdf_text)
    except ElementTree.ParseError as error:
        raise RobotModelError('the robot description is no XML', found=error) from error
    joints = [joint for joint in robot.findall('joint')
              if None not in (joint.find('parent'), joint.find('child'))]
    child = {joint: _link(joint, 'child') for joint in joints}
    below: dict[str | None, list[ElementTree.Element]] = {}
    for joint in joints:
        below.setdefault(_link(joint, 'parent'), []).append(joint)
    names = []
    waiting = [joint for link in below if link not in child.values() for joint in below[link]]
    while waiting:
        joint = waiting.pop(0)
        if joint.get('type') in ('revolute', 'continuous', 'prismatic') \
                and joint.find('mimic') is None:
            names.append(joint.get('name') or '')
        waiting = below.pop(child[joint], []) + waiting
    return tuple(names)


def _link(joint, end):
    return joint.find(end).get('link')


def _joint_names(path, log, given, urdf_text):
    k, known = log.fields['position'].shape[1], moving_joints(urdf_text)
    names = given if given is not None else log.names
    if names is None and len(known) != k:
        raise RecordingError(f'{path} names no joints', expected=f'{len(known)}: '
                             + ', '.join(known), found=f'{k} columns of positions',
                             do='name them in the order of the log: --joints A,B,...')
    names = known if names is None else tuple(map(str, names))
    if len(names) != k or len(set(names)) != k:
        raise RecordingError(f'joint names for {path}', expected=f'{k} different ones',
                             found=names, exists=known)
    if not set(names) <= set(known):
        _logger.warning('%s: not among the moving joints of the URDF (%s): %s', path,
                        ', '.join(known), ', '.join(n for n in names if n not in known))
    return names


def _stamps(path, log, rate):
    if log.stamp_ns is None and not (rate and rate > 0):
        raise RecordingError(f'{path} has no time column', found=f'rate {rate}',
                             do='give the sampling rate [Hz]: --rate')
    if log.stamp_ns is not None and rate is not None:
        raise RecordingError(f'{path} has a time column', found=f'rate {rate} Hz as well',
                             do='leave the rate out')
    if log.stamp_ns is None:
        return nanoseconds(path, np.arange(len(log.fields['position'])) / rate)
    return log.stamp_ns


def _check_shapes(path, log, kind):
    shapes = {name: values.shape for name, values in log.fields.items()}
    shape = shapes.get(kind, ())
    fit = len(shape) == 2 and 0 not in shape and set(shapes.values()) == {shape}
    if log.stamp_ns is not None:
        shapes['time'] = log.stamp_ns.shape
        fit = fit and shapes['time'] == shape[:1]
    if not fit:
        raise RecordingError(
            f'{path}: no samples that belong together', found=[f'{k} {v}' for k, v in
                                                               shapes.items()],
            expected='time (n,), position (n, joints), velocity and effort like position')
