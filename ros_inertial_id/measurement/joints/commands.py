"""
Commands: efforts of drives that report none, from the law by which they follow their commands.

    tau(t) = K (q_command(t - d) - q) + D (v_command(t - d) - v) + feedforward(t - d)

with stiffness K and damping D of each joint, the delay d, and |tau| up to the effort limit.  What
is commanded is held until the next command.
"""

from dataclasses import dataclass, replace
from typing import Any, Mapping, Sequence

import numpy as np

from .channels import BROKEN, carries, JOINT_STATE, PIECE, whole
from .drives import DriveOptions, is_commanded, joint_side, per_joint
from ..recording import Channel, empty, LazyChannels, Recording
from ...errors import ConfigError, RecordingError

ARRAY = 'std_msgs/msg/Float64MultiArray'
TYPES = (
    JOINT_STATE,
    'control_msgs/msg/JointTrajectoryControllerState',
    'trajectory_msgs/msg/JointTrajectory',
    ARRAY,
)  # of topics that hold commands
PARTS = ('position', 'velocity', 'effort')  # of a command, in the order of PositionControl
MOVES = 0.05  # [rad, m] that a joint goes in all, and is asked to, where it has to follow
FOLLOWED = 0.7  # correlation of commanded and measured positions, of 45 degrees of lag


@dataclass(frozen=True)
class PositionControl:
    """
    The law of a drive's position controller.

    stiffness, damping : (n,) per joint [N m/rad], [N m s/rad] (N/m, N s/m)
    limit : (n,) largest torque [N m, N]
    """

    stiffness: np.ndarray
    damping: np.ndarray
    limit: np.ndarray

    def commanded(self, q: np.ndarray, v: np.ndarray, feedforward: np.ndarray) -> np.ndarray:
        """Return the torques (N, n) by commanded q, v, ``feedforward`` (N, n) at q = v = 0."""
        return self.stiffness * q + self.damping * v + feedforward

    def torques(self, commanded: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return what joints exert (N, n) by what is ``commanded`` and measured q, v (N, n)."""
        torques = commanded - self.stiffness * q - self.damping * v
        return np.asarray(np.clip(torques, -self.limit, self.limit))


def command_topics(options: Any) -> tuple[str, ...]:
    """Return the topics that ``options`` of a method name as those of commands."""
    if not is_commanded(getattr(options, 'effort_kind', '')):
        return ()
    return tuple(options.effort_topic.split())


def position_control(options: DriveOptions, limit: np.ndarray | None) -> PositionControl | None:
    """
    Return the PositionControl of drives that are commanded, None for other ``options``.

    limit : (n,) of the efforts of an arm, 0 where it is unknown; None for other mechanisms
    ConfigError for a mechanism that is no arm, and where no stiffness is given.
    """
    if not is_commanded(options.effort_kind):
        return None
    if limit is None:
        raise ConfigError(
            'effort_kind: command',
            found='a mechanism with loops',
            expected='an arm: measure the torques of its motors',
        )
    count = len(limit)
    if not options.stiffness:
        raise ConfigError(
            'effort_kind: command needs stiffness',
            expected=f'{count} values',
            do='take them from the controller, or find them by the described '
            'masses or a known load: inertial-id drive-gains',
        )
    return PositionControl(
        per_joint(options.stiffness, 'stiffness', count),
        per_joint(options.damping or (0.0,), 'damping', count),
        np.where(limit > 0, limit, np.inf),
    )


def separated(
    recording: Recording, joints: Sequence[str], topics: str
) -> tuple[list[Channel], Recording]:
    """
    Return the Channels of commands to n ``joints``, and the Recording without them.

    topics : names of the topics, with blanks between; '' for the only one that may be meant
    RecordingError where there is none, or several may be.
    """
    types = {topic: kind for topic, kind in recording.types().items() if kind in TYPES}
    if topics:
        chosen = _named_topics(topics.split(), types)
    else:
        chosen = _only_topic(recording, joints, types)
    rest = {topic: kind for topic, kind in recording.types().items() if topic not in chosen}
    channels = [of_joints(recording.channels[topic], joints) for topic in chosen]
    return channels, replace(
        recording, channels=LazyChannels(rest, recording.channels.__getitem__)
    )


def _named_topics(names: Sequence[str], types: Mapping[str, str]) -> list[str]:
    """Return the topics among ``types`` {topic: type} that ``names`` mean, with a slash or not."""
    topics = {topic.lstrip('/'): topic for topic in types}
    chosen = [topics[name.lstrip('/')] for name in names if name.lstrip('/') in topics]
    for name in names:
        if name.lstrip('/') not in topics:
            raise _no_commands(f'topic {name} is not in the recording', chosen, types)
    return chosen


def _only_topic(
    recording: Recording, joints: Sequence[str], types: Mapping[str, str]
) -> list[str]:
    """Return the only topic among ``types`` {topic: type} that may hold commands to ``joints``."""
    chosen = []
    for topic in types:
        if topic.endswith('joint_states'):
            continue
        if carries(of_joints(recording.channels[topic], joints), 'position', joints):
            chosen.append(topic)
    if not chosen:
        raise _no_commands('the recording has no commands to the joints', chosen, types)
    if len(chosen) > 1:
        raise _no_commands('several topics may be the commands', chosen, types)
    return chosen


def _no_commands(problem: str, chosen: list[str], types: Mapping[str, str]) -> RecordingError:
    """Return the error of commands that are not to be found among ``types`` {topic: type}."""
    return RecordingError(
        problem,
        found=chosen or None,
        exists=[f'{topic} ({kind})' for topic, kind in types.items()],
        do='record the topic of the commands, and name it in effort_topic:',
    )


def of_joints(channel: Channel, joints: Sequence[str]) -> Channel:
    """Return a ``channel`` as one of joint states: an array's columns are those of ``joints``."""
    if channel.type != ARRAY:
        return replace(channel, type=JOINT_STATE)
    positions = channel.fields['data']
    if positions.shape[1:] != (len(joints),):
        return replace(channel, type=JOINT_STATE, names=(), fields={})
    return replace(channel, type=JOINT_STATE, names=tuple(joints), fields={'position': positions})


def commanded(
    channels: Sequence[Channel],
    joints: Sequence[str],
    options: DriveOptions,
    control: PositionControl,
) -> Channel:
    """
    Return the Channel of the part of the efforts that is held from each message to the next.

    channels : of ``separated``; of several the first with positions has the positions and
        velocities, another the feedforward
    RecordingError where they do not carry the positions of all ``joints``.
    """
    motion = joint_side(_commanded_motion(channels, joints), joints, options)
    feedforward = _feedforward(channels, motion)
    parts = {'position': motion, 'velocity': motion, 'effort': feedforward}
    parts = {name: channel for name, channel in parts.items() if carries(channel, name, joints)}
    each_once = {id(channel): channel for channel in parts.values()}
    stamps = np.unique(np.concatenate([channel.stamp_ns for channel in each_once.values()]))
    stamps = stamps[stamps >= motion.stamp_ns[0]]
    torques = empty((len(stamps), len(joints)), float)
    for low in range(0, len(stamps), PIECE):
        at = stamps[low : low + PIECE]
        values = {name: np.zeros((len(at), len(joints))) for name in PARTS}
        for name, channel in parts.items():
            values[name] = _held(channel, name, joints, at)
        torques[low : low + PIECE] = control.commanded(*values.values())
    return Channel(
        ' '.join(channel.topic for channel in channels),
        JOINT_STATE,
        stamps,
        stamps,
        {'effort': torques},
        tuple(joints),
    )


def _commanded_motion(channels: Sequence[Channel], joints: Sequence[str]) -> Channel:
    """Return the first of ``channels`` that commands positions of all ``joints``."""
    for channel in channels:
        if carries(channel, 'position', joints) and set(joints) <= set(channel.names):
            return whole(channel, joints, BROKEN)
    raise RecordingError(
        f'{channels[0].topic} commands no positions of all joints',
        expected=tuple(joints),
        found=channels[0].names or None,
        do='name the topic of the commands in effort_topic:',
    )


def _feedforward(channels: Sequence[Channel], motion: Channel) -> Channel:
    """Return the Channel whose effort is the feedforward: beside the ``motion``, or it itself."""
    for channel in channels:
        if channel.topic == motion.topic:
            continue
        if 'effort' not in channel.fields:  # of an array: its only columns
            return replace(channel, fields={'effort': channel.fields['position']})
        return channel
    return motion


def check_followed(motion: Channel, channels: Sequence[Channel], joints: Sequence[str]) -> None:
    """
    Raise RecordingError where ``joints`` do not move as commanded: of another sign or order.

    motion : of the joint states; channels : of ``separated``.  What such commands make of the
    stiffness is huge, and looks like a spring that explains all of it.
    """
    commands = next((c for c in channels if carries(c, 'position', joints)), None)
    if commands is None or not set(joints) <= set(commands.names) or not len(commands):
        return  # ``commanded`` says so
    motion = motion.rows(slice(None, None, -(-len(motion) // PIECE)))
    q = motion.fields['position'][:, [motion.names.index(joint) for joint in joints]]
    asked = _held(whole(commands, joints, BROKEN), 'position', joints, motion.stamp_ns)
    good = np.isfinite(q).all(axis=1) & (motion.stamp_ns >= commands.stamp_ns[0])
    if not good.any():
        return
    wrong = [
        joint
        for joint, measured, command in zip(joints, q[good].T, asked[good].T)
        if not _follows(measured, command)
    ]
    if wrong:
        raise RecordingError(
            'joints do not move as they are commanded',
            found=', '.join(wrong),
            do='look at the signs, the order and the topic of the commands',
        )


def _follows(measured: np.ndarray, command: np.ndarray) -> bool:
    """Return whether positions ``measured`` (N,) follow a ``command`` (N,), or hardly move."""
    q, asked = (np.unwrap(x) - np.unwrap(x).mean() for x in (measured, command))
    moves = min(np.ptp(q), np.ptp(asked)) > MOVES
    elsewhere = q @ asked < FOLLOWED * np.linalg.norm(q) * np.linalg.norm(asked)
    return not (moves and elsewhere)


def _held(channel: Channel, name: str, joints: Sequence[str], at: np.ndarray) -> np.ndarray:
    """Return values (N, n) that hold at stamps ``at`` (N,) [ns]; zero before the first."""
    message = np.searchsorted(channel.stamp_ns, at, side='right') - 1
    columns = [channel.names.index(joint) for joint in joints]
    values = channel.fields[name][message.clip(0)][:, columns]
    return np.where((message >= 0)[:, None] & np.isfinite(values), values, 0.0)


def efforts_at(motion: Channel, force: Channel, control: PositionControl) -> Channel:
    """Return a ``motion`` with the efforts that ``commanded`` ones, ``force``, make there."""
    joints = force.names
    motion = motion.rows(motion.stamp_ns >= force.stamp_ns[0])
    columns = [motion.names.index(joint) for joint in joints]
    q = motion.fields['position'][:, columns]
    if 'velocity' in motion.fields:
        v = motion.fields['velocity'][:, columns]
    else:
        v = np.gradient(q, (motion.stamp_ns - motion.stamp_ns[0]) * 1e-9, axis=0)
    message = np.searchsorted(force.stamp_ns, motion.stamp_ns, side='right') - 1
    torques = control.torques(force.fields['effort'][message], q, v)
    return replace(motion, topic=force.topic, names=joints, fields={'effort': torques})
