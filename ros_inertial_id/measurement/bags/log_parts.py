"""One file of a log: its joint states, commands and other topics; and several on one clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import logging
from typing import Any

import numpy as np

from .log_columns import joint_columns, JointColumns, LogTable, NO_JOINTS
from .log_renaming import RENAME
from .log_times import NO_TIME, read_stamps, Stamps, stamps_at_rate
from .log_topics import topic_channels
from ..recording import Channel
from ...errors import RecordingError

JOINT_STATES = '/joint_states'  # topic
JOINT_COMMANDS = '/joint_commands'  # topic
EFFORTS = '/efforts'  # topic of efforts that come from a file with a clock of its own
SAME_STAMP = 1000  # [ns] between stamps of one sample: unix time in float is off by 120
LEFT_OUT = 'left out'
NO_NAME = ''  # of the numbers of rows, as data frames write them
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class JointStream:
    """
    Joint states, or commands, of a file.

    where : of the file, for messages
    joints : NO_JOINTS where the file has none
    stamp_ns : (n,) int64 [ns], None without a time
    """

    where: str
    joints: JointColumns
    stamp_ns: np.ndarray | None

    def is_on_clock_of(self, others: 'JointStream') -> bool:
        """Return whether these are the same samples as those of ``others``."""
        if len(self.joints) != len(others.joints):
            return False
        if self.stamp_ns is None or others.stamp_ns is None:
            return True
        return bool(np.all(np.abs(self.stamp_ns - others.stamp_ns) <= SAME_STAMP))

    def with_fields_of(self, others: 'JointStream') -> 'JointStream':
        """Return these with what ``others`` on the same clock have besides."""
        stamp_ns = others.stamp_ns if self.stamp_ns is None else self.stamp_ns
        return replace(
            self, joints=self.joints.with_quantities_of(others.joints), stamp_ns=stamp_ns
        )

    def stamps(self) -> np.ndarray:
        """Return ``stamp_ns``, RecordingError where there is no time."""
        if self.stamp_ns is None:
            raise no_time_column(self.where)
        return self.stamp_ns

    def check_complete(self) -> None:
        """Raise RecordingError where there is no time, no position or no sample."""
        stamp_ns = self.stamps()
        if 'position' in self.joints.quantities and len(stamp_ns):
            return
        shapes = {kind: x.shape for kind, x in self.joints.fields.items()}
        shapes['time'] = stamp_ns.shape
        raise RecordingError(
            f'{self.where}: no samples',
            expected='positions of joints',
            found=[f'{kind} {shape}' for kind, shape in shapes.items()],
        )


@dataclass(frozen=True)
class LogPart:
    """
    What one file of a log holds.

    where : of the file, for messages
    channels : of other topics
    understood : in words what was read -> names of its columns, and what was left out
    """

    where: str
    states: JointStream
    commands: JointStream
    channels: dict[str, Channel]
    understood: dict[str, tuple[str, ...]]


def read_part(where: str, columns: Mapping[str, Any], rate: float | None) -> LogPart:
    """
    Return what the ``columns`` of one file hold.

    where : of the file, for messages
    rate : sampling rate [Hz] of a file without time, None for one with a time
    """
    table = LogTable(where, columns)
    joints = joint_columns(table)
    commands = _commands(table, joints)
    stamps = _stamps(table, joints, rate)
    channels, lacking = _topics(table, stamps)
    if not (joints.quantities or channels):
        raise RecordingError(
            f'{where} has no columns of joints',
            found=lacking or list(columns)[:50],
            expected='time, and q_<joint>, v_<joint>, tau_<joint> of every one',
            do=RENAME,
        )
    used = {NO_NAME, *table.topic_fields, *stamps.columns, *joints.used, *commands.used}
    left_out = [*lacking, *(name for name in columns if name not in used)]
    if left_out:
        _logger.warning('%s: not imported: %s', where, ', '.join(left_out))
    understood: dict[str, tuple[str, ...]] = {
        f'time in {stamps.unit}': stamps.columns,
        **{topic: (channel.type,) for topic, channel in channels.items()},
        LEFT_OUT: tuple(left_out),
    }
    return LogPart(
        where,
        _stream(table, joints, stamps),
        _stream(table, commands, stamps),
        channels,
        {what: names for what, names in understood.items() if names},
    )


def _topics(table: LogTable, stamps: Stamps) -> tuple[dict[str, Channel], list[str]]:
    """Return the Channels of other topics in a table with a time, and why others are none."""
    if stamps.stamp_ns is None:
        return {}, []
    return topic_channels(table.topic_fields, table.columns, stamps.stamp_ns)


def _commands(table: LogTable, joints: JointColumns) -> JointColumns:
    """Return what the ``joints`` in a table were commanded, NO_JOINTS without positions of all."""
    if 'position' not in joints.quantities:
        return NO_JOINTS
    try:
        commands = joint_columns(table, commanded=True)
        if 'position' in commands.quantities:
            if commands.rows.shape != joints.rows.shape:
                raise table.do_not_belong_together()
            return commands.like(joints, table.where)
    except RecordingError as error:
        _logger.warning('the commands are not imported: %s', error)
    return NO_JOINTS


def _stamps(table: LogTable, joints: JointColumns, rate: float | None) -> Stamps:
    """Return the stamps of the rows: of a time, or else at a ``rate`` [Hz] from 0."""
    stamps = read_stamps(table, joints)
    if stamps.columns:
        if rate is not None:
            raise RecordingError(
                f'{table.where} has a time column',
                found=f'rate {rate} Hz as well',
                do='leave the rate out',
            )
        return stamps
    if rate is not None and 0.0 < rate < np.inf:
        counts = [len(joints.rows), *(len(table.columns[name]) for name in table.topic_fields)]
        return stamps_at_rate(max(counts), rate)
    if table.topic_fields:
        raise no_time_column(table.where)
    return NO_TIME


def _stream(table: LogTable, joints: JointColumns, stamps: Stamps) -> JointStream:
    """Return joint states or commands with the stamps of their rows."""
    if stamps.stamp_ns is None or not joints.quantities:
        return JointStream(table.where, joints, None)
    if stamps.stamp_ns.shape != joints.rows.shape:
        raise table.do_not_belong_together()
    return JointStream(table.where, joints, stamps.stamp_ns[joints.rows])


def joined_topics(parts: Sequence[LogPart]) -> dict[str, Channel]:
    """Return the Channels of other topics by topic; RecordingError where two parts hold one."""
    channels: dict[str, Channel] = {}
    for part in parts:
        twice = channels.keys() & part.channels.keys()
        if twice:
            raise RecordingError(
                f'{part.where} holds topics that a log before it holds',
                found=sorted(twice),
                do='make a bag of each',
            )
        channels |= part.channels
    return channels


def joined_streams(parts: Sequence[LogPart]) -> dict[str, JointStream]:
    """Return joint states, efforts of another clock, and commands by topic; {} without joints."""
    states = [part.states for part in parts if part.states.joints.quantities]
    if not states:
        return {}
    streams = _joined_states(states)
    for part in parts:
        if part.commands.joints.quantities:
            streams |= _commands_on_clock(part.commands, streams[JOINT_STATES])
    return streams


def _joined_states(streams: Sequence[JointStream]) -> dict[str, JointStream]:
    """Return joint states of one clock by topic, and efforts of another; RecordingError else."""
    states, *others = sorted(
        streams, key=lambda stream: 'position' not in stream.joints.quantities
    )
    topics = {}
    for stream in others:
        _refuse_same_quantities(states, stream)
        stream = replace(stream, joints=stream.joints.like(states.joints, stream.where))
        if stream.is_on_clock_of(states):
            states = states.with_fields_of(stream)
        elif set(stream.joints.quantities) == {'effort'} and _have_times(states, stream):
            topics[EFFORTS] = stream
            _logger.warning(
                'efforts have stamps of their own: identify with effort_topic: %s', EFFORTS
            )
        else:
            raise RecordingError(
                f'{stream.where} and {states.where} share no clock',
                found=[f'{len(x.joints)} samples' for x in (stream, states)],
                expected='equally many samples, or a time column in each of positions and efforts',
            )
    states.check_complete()
    return {JOINT_STATES: states, **topics}


def _commands_on_clock(commands: JointStream, states: JointStream) -> dict[str, JointStream]:
    """Return commands by topic; without a time of their own with that of ``states``."""
    if commands.stamp_ns is not None:
        return {JOINT_COMMANDS: commands}
    if len(commands.joints) != len(states.joints):
        _logger.warning('the commands are not imported: %s', no_time_column(commands.where))
        return {}
    return {JOINT_COMMANDS: replace(commands, stamp_ns=states.stamp_ns)}


def _refuse_same_quantities(states: JointStream, stream: JointStream) -> None:
    """Raise RecordingError where a file holds a quantity that another one holds."""
    twice = set(stream.joints.quantities) & set(states.joints.quantities)
    if twice:
        raise RecordingError(
            f'{stream.where} holds what {states.where} holds',
            found=', '.join(sorted(twice)),
            do='make a bag of each',
        )


def _have_times(*streams: JointStream) -> bool:
    return all(stream.stamp_ns is not None for stream in streams)


def no_time_column(where: str) -> RecordingError:
    """Return the error of a log without time; ``where``: of it."""
    return RecordingError(
        f'{where} has no time column',
        expected='time, stamp_s or stamp_ns',
        do='give the sampling rate [Hz]: --rate',
    )
