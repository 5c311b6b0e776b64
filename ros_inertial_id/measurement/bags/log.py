"""
Logs of other programs, and tables in memory, become Recordings and bags.

An import loses and repairs nothing: stamps, order and NaN stay as the log has them, and what
cannot be used is refused later by the analysis.  Positions and efforts may come from separate
files.  Those of one clock are joined sample by sample; efforts with stamps of their own stay
apart, as a topic of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
import logging
from pathlib import Path
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .bag import read_bag, split_window
from .log_columns import Log, log_of, WORDS
from .log_files import is_log, named, read_file
from .log_times import nanoseconds, read_stamps
from .log_topics import field_of, topics_of
from .messages import JOINT_STATE
from .storage import sha256
from ..recording import Channel, Recording
from ...errors import path_text, RecordingError, RobotModelError

ORDERED = 'joints in the order of the URDF'
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


def read_recording(path: str | Path, urdf_text: str = '') -> Recording:
    """
    Return the Recording of a bag or log, by its name, or of a part of it, as ``read_bag`` does.

    urdf_text : description of the robot of a log
    """
    log, window = split_window(path)
    if not is_log(log):
        return read_bag(path)
    if not urdf_text:
        raise RecordingError('a log holds no description of the robot', found=path_text(path),
                             do='give urdf=, or --urdf')
    recording = read_log(log, urdf_text)
    by, names = next(iter(recording.provenance['columns'].items()))
    if by.startswith(ORDERED):
        _logger.warning('%s: %s: %s', path, by, ', '.join(names))
    content = {'sha256': sha256([log])} if log.is_file() else {}  # it is known again
    recording = replace(recording, provenance={**recording.provenance, **content})
    return recording.window(*window) if any(end is not None for end in window) else recording


def read_log(logs: Logs, urdf_text: str, joint_names: Sequence[str] | None = None,
             rate: float | None = None, columns: str = '') -> Recording:
    """
    Return the Recording in a log: one channel of joint states, with the robot description.

    logs : path of a file (see log_files.py), a data frame or mapping of arrays (see
        log_columns.py), or several that make one log: efforts with stamps of their own then
        become the topic /efforts; columns of other topics become these, see log_topics.py
    joint_names : names of the joints in the order of the log; without them those in the log, or
        else the moving joints of the URDF in the order of its tree
    rate : sampling rate [Hz] of a log without time, whose first stamp is then 0
    columns : names of the columns, see log_columns.renamed; of several files with ; between

    provenance['columns'] says what was understood: the columns of every joint, the time, and what
    was left out.  Raises RecordingError for a log whose columns do not make a recording.
    """
    sources = list(logs) if isinstance(logs, (list, tuple)) else [logs]
    if not sources:
        raise RecordingError('no log', expected='a file or several')
    parts: list[tuple[str, Log]] = []
    channels: dict[str, Channel] = {}
    said: dict[str, tuple[str, ...]] = {}
    for source, own in zip(sources, _columns_of_each(sources, columns)):
        where, log, others, words = _read(source, own, rate)
        channels |= others
        said |= {f'{where}: {what}' if len(sources) > 1 else what: w for what, w in words.items()}
        parts += [(where, log)] if log.fields else []
    where = _name(sources[0])
    if not parts:
        return Recording(channels, urdf_text, provenance={'path': where, 'columns': said})
    log, apart = _joined(parts)
    both = [log] if apart is None else [log, apart]
    for quantity, part in zip(('position', 'effort'), both):
        _check_shapes(where, part, quantity)
    names, by = _joint_names(where, log, joint_names, urdf_text)
    for topic, part in zip(('/joint_states', EFFORTS), both):
        channels[topic] = _channel(topic, part, names)
    if apart is not None:
        _logger.warning('efforts have stamps of their own: identify with effort_topic: %s',
                        EFFORTS)
    said = {by: names, **{name: tuple(
        one.columns[quantity][k] for one in both for quantity in WORDS if quantity in one.columns)
        for k, name in enumerate(names)}, **said}
    return Recording(channels, urdf_text, provenance={'path': where, 'columns': said},
                     effort_kind=next((one.effort_kind for one in both if one.effort_kind), ''))


def _name(source):
    return path_text(source) if isinstance(source, (str, Path)) else 'the table'


def _read(source, columns, rate):
    """Return name of a source for messages, its Log, Channels of other topics, and words."""
    where = _name(source)
    if isinstance(source, (str, Path)):
        found = read_file(Path(source), columns)
    else:
        try:
            names = (source if isinstance(source, Mapping) else source.column_names
                     if type(source).__module__.startswith('pyarrow') else source.columns)
            arrays = {str(name): np.atleast_1d(source[name]) for name in names}
        except (AttributeError, TypeError, KeyError, IndexError, ValueError) as error:
            raise RecordingError('log', found=type(source).__name__, expected='a path, a data '
                                 'frame or a mapping of names to arrays') from error
        found = named(where, arrays, columns)
    topics = {name: x for name, x in found.items() if field_of(name)}
    log = log_of(where, {name: x for name, x in found.items() if name not in topics}, not topics)
    stamp_ns, clock, unit = read_stamps(where, found, log)
    if stamp_ns is not None and rate is not None:
        raise RecordingError(f'{where} has a time column', found=f'rate {rate} Hz as well',
                             do='leave the rate out')
    if stamp_ns is None and rate and rate > 0:
        count = max(len(x) for x in (log.rows, *topics.values()) if x is not None)
        stamp_ns = nanoseconds(where, np.arange(count) / rate)
    if stamp_ns is None and topics:
        raise _no_time_column(where)
    channels, lacking = topics_of(topics, stamp_ns)
    if lacking and not channels and not log.fields:
        raise RecordingError(f'{where}: {next(iter(lacking.values()))}')
    log.stamp_ns = (stamp_ns[log.rows] if stamp_ns is not None and len(log.rows) == len(stamp_ns)
                    else stamp_ns)
    left_out = [*lacking.values(), *(name for name in log.left_out if name and name not in clock)]
    if left_out:
        _logger.warning('%s: not imported: %s', where, ', '.join(left_out))
    words = {f'time in {unit}': clock, **{t: (c.type,) for t, c in channels.items()},
             'left out': left_out}
    return where, log, channels, {what: tuple(own) for what, own in words.items() if own}


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
                                 found=', '.join(sorted(twice)), do='make a bag of each')
        log = _ordered(place, log, out)
        if _one_clock(out, log):
            stamps = out.stamp_ns if out.stamp_ns is not None else log.stamp_ns
            out = replace(out, fields={**out.fields, **log.fields}, stamp_ns=stamps,
                          names=out.names or log.names, columns={**out.columns, **log.columns},
                          effort_kind=out.effort_kind or log.effort_kind)
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
    return replace(log, fields={kind: x[:, order] for kind, x in log.fields.items()},
                   names=like.names, columns={kind: tuple(own[k] for k in order)
                                              for kind, own in log.columns.items()})


def _channel(topic, log, names):
    # Players sort by reception, which therefore must not run back where the stamps do.
    received_ns = np.maximum.accumulate(np.maximum(log.stamp_ns, 0))
    return Channel(topic, JOINT_STATE, log.stamp_ns, received_ns, log.fields, names)


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
    """Return the names of the columns' joints, and in words where they come from."""
    k, known = log.fields['position'].shape[1], moving_joints(urdf_text)
    names, by = (given, 'joints as given') if given is not None else (
        log.names, 'joints as the log names them')
    numbers = [found.groups() for name in names or ()
               if (found := re.fullmatch(r'(.*\D)(\d+)', name))]
    if names is None and len(known) != k:
        raise RecordingError(f'{path} names no joints', expected=f'{len(known)}: '
                             + ', '.join(known), found=f'{k} columns of positions',
                             do='name them in the order of the log: --joints A,B,...')
    if names is None:
        names, by = known, f'{ORDERED}, as the log names none'
    names = tuple(map(str, names))
    if len(names) != k or len(set(names)) != k:
        raise RecordingError(f'joint names for {path}', expected=f'{k} different ones',
                             found=names, exists=known)
    if not set(names) <= set(known):
        if not set(names) & set(known) and len(known) == k == len(numbers) and len(
                {stem for stem, _ in numbers}) == 1:  # Axis 1, Axis 2
            order = sorted(range(k), key=lambda i: int(numbers[i][1]))
            return tuple(known[order.index(i)] for i in range(k)), 'joints by their numbers'
        _logger.warning('%s: not among the moving joints of the URDF (%s): %s', path,
                        ', '.join(known), ', '.join(n for n in names if n not in known))
    return names, by


def _no_time_column(path):
    return RecordingError(f'{path} has no time column', expected='time, stamp_s or stamp_ns',
                          do='give the sampling rate [Hz]: --rate')


def _check_shapes(path, log, kind):
    if log.stamp_ns is None:
        raise _no_time_column(path)
    shapes = {name: values.shape for name, values in log.fields.items()}
    shape = shapes.get(kind, ())
    fit = len(shape) == 2 and 0 not in shape and set(shapes.values()) == {shape}
    shapes['time'] = log.stamp_ns.shape
    if not fit or shapes['time'] != shape[:1]:
        raise RecordingError(
            f'{path}: no samples that belong together', found=[f'{k} {v}' for k, v in
                                                               shapes.items()],
            expected='time (n,), position (n, joints), velocity and effort like position')
