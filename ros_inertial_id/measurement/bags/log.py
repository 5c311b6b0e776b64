"""
Logs of other programs, and tables in memory, become Recordings and bags.

A file becomes columns by name (log_files.py), its names say what the columns are
(log_spellings.py), columns become joint states, commands and other topics (log_columns.py,
log_topics.py) with stamps (log_times.py) and joints (log_joint_names.py).  An import loses and
repairs nothing: stamps, order and NaN stay as the log has them.  Positions and efforts may come
from separate files: those of one clock are joined sample by sample, efforts with stamps of their
own become a topic of their own, and so does what the joints were commanded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import logging
from pathlib import Path
from typing import Any

from .bag import in_window, read_bag, split_window
from .log_files import is_log, name_of, read_table
from .log_joint_names import names_of_joints, ORDERED
from .log_parts import joined_streams, joined_topics, JOINT_STATES, JointStream, LogPart, read_part
from .log_topics import received_in_order
from .messages import JOINT_STATE
from .storage import sha256
from ..recording import Channel, page_out, Recording
from ...errors import path_text, RecordingError

_logger = logging.getLogger(__name__)

Logs = Any  # path, data frame or mapping of arrays, or several of these


@dataclass(frozen=True)
class LogFormat:
    """What a log does not say of itself, see ``read_log``: joint names, rate [Hz], columns."""

    joint_names: tuple[str, ...] = ()
    rate: float | None = None
    columns: str = ''


AS_NAMED = LogFormat()  # by the names of its columns


def read_recording(
    path: str | Path, urdf_text: str = '', log_format: LogFormat = AS_NAMED
) -> Recording:
    """
    Return the Recording of a bag or log, by its name, or of a part of it, as ``read_bag`` does.

    urdf_text : description of the robot of a log; log_format : of a log
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
    recording = read_log(
        log, urdf_text, log_format.joint_names or None, log_format.rate, log_format.columns
    )
    source, names = next(iter(recording.provenance['columns'].items()))
    if source.startswith(ORDERED):
        _logger.warning('%s: %s: %s', path, source, ', '.join(names))
    if log.is_file():  # it is known again
        provenance = {**recording.provenance, 'sha256': sha256([log])}
        recording = replace(recording, provenance=provenance)
    return in_window(recording, window)


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
    columns : names of the columns, see log_renaming.renamed; of several files with ; between
    """
    sources = list(logs) if isinstance(logs, (list, tuple)) else [logs]
    if not sources:
        raise RecordingError('no log', expected='one or several')
    parts = [
        read_part(name_of(source), read_table(source, names), rate)
        for source, names in zip(sources, _columns_by_source(columns, len(sources)))
    ]
    page_out()
    channels = joined_topics(parts)
    understood = _understood(parts)
    streams = joined_streams(parts)
    if streams:
        states = streams[JOINT_STATES]
        names, origin = names_of_joints(states.where, states.joints.joints, joint_names, urdf_text)
        channels |= {topic: _channel(topic, stream, names) for topic, stream in streams.items()}
        understood = {origin: names, **_columns_by_joint(streams, names), **understood}
    is_current = any(stream.joints.are_currents for stream in streams.values())
    return Recording(
        channels,
        urdf_text,
        provenance={'path': parts[0].where, 'columns': understood},
        effort_kind='current' if is_current else '',
    )


def _columns_by_source(columns: str, count: int) -> list[str]:
    """Return the names of the columns of each of ``count`` sources, '' for their own."""
    if not columns:
        return [''] * count
    by_source = [part.strip() for part in columns.split(';')]
    if len(by_source) != count:
        raise RecordingError(
            'columns of several files',
            found=columns,
            expected=f'{count} lists, in the order of the files, with ; '
            'between, for example "time q1..q6; tau1..tau6"',
        )
    return by_source


def _understood(parts: Sequence[LogPart]) -> dict[str, tuple[str, ...]]:
    """Return what was read of all parts, of several with their ``where`` before it."""
    if len(parts) == 1:
        return parts[0].understood
    understood: dict[str, tuple[str, ...]] = {}
    for part in parts:
        for what, names in part.understood.items():
            key = f'{part.where}: {what}'  # tables in memory have one name
            understood[key] = (*understood.get(key, ()), *names)
    return understood


def _columns_by_joint(
    streams: Mapping[str, JointStream], names: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Return the columns of each of the joints by its name."""
    columns = [
        quantity.columns
        for stream in streams.values()
        for quantity in stream.joints.in_order_of_quantities()
    ]
    return dict(zip(names, zip(*columns)))


def _channel(topic: str, stream: JointStream, names: tuple[str, ...]) -> Channel:
    """Return the Channel of joint states, as received in the order of the log."""
    stamp_ns = stream.stamps()
    received_ns = received_in_order(stamp_ns)
    return Channel(topic, JOINT_STATE, stamp_ns, received_ns, stream.joints.fields, names)
