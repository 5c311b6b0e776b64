"""
Logs of other programs, and tables in memory, become Recordings and bags.

An import loses and repairs nothing: stamps, order and NaN stay as the log has them.  Positions and
efforts may come from separate files: those of one clock are joined sample by sample, efforts with
stamps of their own become a topic of their own, and so does what the joints were commanded.
"""

from collections.abc import Sequence
from dataclasses import replace
import logging
from pathlib import Path
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .bag import read_bag, split_window
from .log_columns import differing, joint_columns, JointColumns, RENAME, WORDS
from .log_files import is_log, read_table
from .log_times import nanoseconds, read_stamps
from .log_topics import field_of, topic_channels
from .messages import JOINT_STATE
from .storage import sha256
from ..recording import Channel, Recording
from ...errors import path_text, RecordingError, RobotModelError

ORDERED = 'joints in the order of the URDF'
EFFORTS = '/efforts'  # topic of efforts that come from a file with a clock of its own
COMMANDS = '/joint_commands'  # topic
SAME = 1000  # [ns] between stamps of one sample: unix time in float is off by 120
_logger = logging.getLogger(__name__)

Logs = Any  # path, data frame or mapping of arrays, or several of these
Part = tuple[str, JointColumns, np.ndarray | None]  # name of a file, its joints, stamps (n,) [ns]


def read_recording(path: str | Path, urdf_text: str = '') -> Recording:
    """
    Return the Recording of a bag or log, by its name, or of a part of it, as ``read_bag`` does.

    urdf_text : description of the robot of a log
    """
    log, window = split_window(path)
    if not is_log(log):
        return read_bag(path)
    if not urdf_text:
        raise RecordingError(
            'a log holds no description of the robot',
            found=path_text(path),
            do='give urdf=, or --urdf',
        )
    recording = read_log(log, urdf_text)
    by, names = next(iter(recording.provenance['columns'].items()))
    if by.startswith(ORDERED):
        _logger.warning('%s: %s: %s', path, by, ', '.join(names))
    content = {'sha256': sha256([log])} if log.is_file() else {}  # it is known again
    recording = replace(recording, provenance={**recording.provenance, **content})
    return recording.window(*window) if any(end is not None for end in window) else recording


def read_log(
    logs: Logs,
    urdf_text: str,
    joint_names: Sequence[str] | None = None,
    rate: float | None = None,
    columns: str = '',
) -> Recording:
    """
    Return the Recording in a log; provenance['columns'] says what was understood.

    logs : what ``read_table`` takes, or several that make one log
    joint_names : in the order of the log; without them those in the log, or else the moving
        joints of the URDF in the order of its tree
    rate : sampling rate [Hz] of a log without time, whose first stamp is then 0
    columns : names of the columns, see log_columns.renamed; of several files with ; between
    """
    sources = list(logs) if isinstance(logs, (list, tuple)) else [logs]
    own = [part.strip() for part in columns.split(';')] if columns else [''] * len(sources)
    if not sources or len(own) != len(sources):
        raise RecordingError(
            'columns of several files',
            found=columns,
            expected=f'{len(sources)} lists, in the order of the files, with ; '
            'between, for example "time q1..q6; tau1..tau6"',
        )
    parts: list[Part] = []
    commands: list[Part] = []
    channels: dict[str, Channel] = {}
    said: dict[str, tuple[str, ...]] = {}
    paths = [path_text(x) if isinstance(x, (str, Path)) else 'the table' for x in sources]
    for where, source, named in zip(paths, sources, own):
        part, commanded, others, words = _read(where, read_table(source, named), rate)
        channels |= others
        commands += [commanded] if commanded else []
        said |= {f'{where}: {what}' if len(sources) > 1 else what: w for what, w in words.items()}
        parts += [part] if part else []
    kind = ''
    if parts:
        topics = {**_topics(parts), **{COMMANDS: part for part in commands}}
        names, by = _joint_names(parts[0][0], topics['/joint_states'][1], joint_names, urdf_text)
        for topic, (_, joints, stamp_ns) in topics.items():
            # Players sort by reception, which must not run back where the stamps do.
            received_ns = np.maximum.accumulate(np.maximum(stamp_ns, 0))
            channels[topic] = Channel(
                topic, JOINT_STATE, stamp_ns, received_ns, joints.fields, names
            )
        kind = 'current' if any(joints.current for _, joints, _ in topics.values()) else ''
        said = {
            by: names,
            **{
                name: tuple(
                    joints.columns[quantity][k]
                    for _, joints, _ in topics.values()
                    for quantity in WORDS
                    if quantity in joints.columns
                )
                for k, name in enumerate(names)
            },
            **said,
        }
    return Recording(
        channels, urdf_text, provenance={'path': paths[0], 'columns': said}, effort_kind=kind
    )


def _read(where, table, rate):
    """Return Parts of joints and commands or None, Channels of other topics, and words."""
    topics = {name: x for name, x in table.items() if field_of(name)}
    rest = {k: x for k, x in table.items() if k not in topics}
    joints = joint_columns(where, rest)
    commands = _commands(where, rest, joints) if joints and 'position' in joints.fields else None
    stamp_ns, clock, unit = read_stamps(where, table, joints)
    if stamp_ns is not None and rate is not None:
        raise RecordingError(
            f'{where} has a time column', found=f'rate {rate} Hz as well', do='leave the rate out'
        )
    if stamp_ns is None and rate and rate > 0:
        count = len(joints.rows) if joints else len(next(iter(topics.values()), ()))
        stamp_ns = nanoseconds(where, np.arange(count) / rate)
    if stamp_ns is None and topics:
        raise _no_time_column(where)
    channels, lacking = topic_channels(topics, stamp_ns)
    if not joints and not channels:
        raise RecordingError(
            f'{where} has no columns of joints',
            found=lacking or [*table][:50],
            expected='time, and q_<joint>, v_<joint>, tau_<joint> of every one',
            do=RENAME,
        )
    used = {*clock, *topics, *(name for own in (joints, commands) if own for name in own.used)}
    left_out = (*lacking, *(name for name in table if name and name not in used))
    if left_out:
        _logger.warning('%s: not imported: %s', where, ', '.join(left_out))
    words = {
        f'time in {unit}': clock,
        **{t: (c.type,) for t, c in channels.items()},
        'left out': left_out,
    }
    if joints and stamp_ns is not None and stamp_ns.shape != joints.rows.shape:
        raise differing(where, table)
    parts = [
        (where, own, None if stamp_ns is None else stamp_ns[own.rows]) if own else None
        for own in (joints, commands)
    ]
    return *parts, channels, {what: own for what, own in words.items() if own}


def _commands(where, table, joints):
    """Return what the ``joints`` in a table were commanded, None without positions of all."""
    try:
        commands = joint_columns(where, table, commanded=True)
        if commands is None or 'position' not in commands.fields:
            return None
        return commands.like(joints, where)
    except RecordingError as error:
        _logger.warning('the commands are not imported: %s', error)
        return None


def _topics(parts):
    """Return {topic: Part} of the Parts of one log: all of one clock, and efforts of another."""
    parts = sorted(parts, key=lambda part: 'position' not in part[1].fields)
    where, joints, stamp_ns = parts[0]
    topics = {}
    for place, own, own_ns in parts[1:]:
        twice = set(own.fields) & set(joints.fields)
        if twice:
            raise RecordingError(
                f'{place} holds what {where} holds',
                found=', '.join(sorted(twice)),
                do='make a bag of each',
            )
        own = own.like(joints, place)
        clocks = [ns for ns in (stamp_ns, own_ns) if ns is not None]
        counts = [len(next(iter(x.fields.values()))) for x in (own, joints)]
        if counts[0] == counts[1] and (
            len(clocks) < 2 or np.all(np.abs(clocks[0] - clocks[1]) <= SAME)
        ):
            joints = replace(
                joints,
                fields={**joints.fields, **own.fields},
                columns={**joints.columns, **own.columns},
                joints=joints.joints if joints.named else own.joints,
                current=joints.current or own.current,
            )
            stamp_ns = clocks[0] if clocks else None
        elif set(own.fields) == {'effort'} and len(clocks) == 2:
            topics[EFFORTS] = place, own, own_ns
            _logger.warning(
                'efforts have stamps of their own: identify with effort_topic: %s', EFFORTS
            )
        else:
            raise RecordingError(
                f'{place} and {where} share no clock',
                found=[f'{n} samples' for n in counts],
                expected='equally many samples, or a time column in each of positions and efforts',
            )
    if stamp_ns is None:
        raise _no_time_column(where)
    if 'position' not in joints.fields or not len(stamp_ns):
        raise RecordingError(
            f'{where}: no samples',
            expected='positions of joints',
            found=[
                f'{kind} {x.shape}' for kind, x in (*joints.fields.items(), ('time', stamp_ns))
            ],
        )
    return {'/joint_states': (where, joints, stamp_ns), **topics}


def moving_joints(urdf_text: str) -> tuple[str, ...]:
    """Return the names of the moving joints of a URDF, from the root down, in document order."""
    try:
        robot = ElementTree.fromstring(urdf_text)
    except ElementTree.ParseError as error:
        raise RobotModelError('the robot description is no XML', found=error) from error
    below: dict[str, list[tuple[ElementTree.Element, str]]] = {}
    for joint in robot.findall('joint'):
        parent, child = joint.find('parent'), joint.find('child')
        if parent is not None and child is not None:
            below.setdefault(parent.get('link', ''), []).append((joint, child.get('link', '')))
    children = {link for own in below.values() for _, link in own}
    waiting = [one for link in below if link not in children for one in below[link]][::-1]
    names = []
    while waiting:
        joint, link = waiting.pop()
        waiting += below.pop(link, [])[::-1]
        if joint.find('mimic') is None and joint.get('type') in (
            'revolute',
            'continuous',
            'prismatic',
        ):
            names.append(joint.get('name', ''))
    return tuple(names)


def _joint_names(where, joints, given, urdf_text):
    """Return the names of the columns' joints, and in words where they come from."""
    k, moving = len(joints.joints), moving_joints(urdf_text)
    names, by = (
        (given, 'joints as given')
        if given is not None
        else (joints.joints, 'joints as the log names them')
    )
    if given is None and not joints.named:
        if len(moving) != k:
            raise RecordingError(
                f'{where} names no joints',
                found=f'{k} columns of positions',
                expected=f'{len(moving)}: ' + ', '.join(moving),
                do='name them in the order of the log: --joints A,B,...',
            )
        return moving, f'{ORDERED}, as the log names none'
    names = tuple(map(str, names))
    if len(names) != k or len(set(names)) != k:
        raise RecordingError(
            f'joint names for {where}', expected=f'{k} different ones', found=names, exists=moving
        )
    strange = [name for name in names if name not in moving]
    numbers = [int(n[1]) for name in names if (n := re.fullmatch(r'\w*[^\W\d_] ?_?(\d+)', name))]
    if len(strange) == k == len(moving) == len(set(numbers)):  # Axis 1, Axis 2
        return tuple(moving[sorted(numbers).index(n)] for n in numbers), 'joints by their numbers'
    if strange:
        _logger.warning(
            '%s: not among the moving joints of the URDF (%s): %s',
            where,
            ', '.join(moving),
            ', '.join(strange),
        )
    return names, by


def _no_time_column(where):
    return RecordingError(
        f'{where} has no time column',
        expected='time, stamp_s or stamp_ns',
        do='give the sampling rate [Hz]: --rate',
    )
