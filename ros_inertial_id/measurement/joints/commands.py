"""
Commands: efforts of drives that report none, from the law by which they follow their commands.

    tau(t) = K (q_command(t - d) - q) + D (v_command(t - d) - v) + feedforward(t - d)

with stiffness K and damping D of each joint, the delay d, and |tau| up to the effort limit.  What
is commanded is held until the next command.
"""

from dataclasses import dataclass, replace
from typing import Any, Sequence

import numpy as np

from .channels import BROKEN, carries, JOINT_STATE, PIECE, whole
from .drives import COMMAND, DriveOptions, joint_side, per_joint
from ..recording import Channel, empty, LazyChannels, Recording
from ...errors import ConfigError, RecordingError

ARRAY = 'std_msgs/msg/Float64MultiArray'
TYPES = (
    JOINT_STATE,
    'control_msgs/msg/JointTrajectoryControllerState',
    'trajectory_msgs/msg/JointTrajectory',
    ARRAY,
)  # of topics that hold commands
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
    commanded = getattr(options, 'effort_kind', '') == COMMAND
    return tuple(options.effort_topic.split()) if commanded else ()


def position_control(options: DriveOptions, limit: np.ndarray) -> PositionControl | None:
    """
    Return the PositionControl of drives that are commanded, None for other ``options``.

    limit : (n,) of the efforts, 0 where it is unknown; ConfigError where no stiffness is given
    """
    count = len(limit)
    if options.effort_kind != COMMAND:
        return None
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
    types = {t: kind for t, kind in recording.types().items() if kind in TYPES}
    named = {topic.lstrip('/'): topic for topic in types}
    missing = [topic for topic in topics.split() if topic.lstrip('/') not in named]
    chosen = [named[t.lstrip('/')] for t in topics.split() if t not in missing]
    if not topics:
        chosen = [
            t
            for t, kind in types.items()
            if not t.endswith('joint_states')
            and 'position' in (own := of_joints(recording.channels[t], joints)).fields
            and carries(own, 'position', joints)
        ]
    if missing or len(chosen) != 1 and not topics:
        raise RecordingError(
            f'topic {missing[0]} is not in the recording'
            if missing
            else 'several topics may be the commands'
            if chosen
            else 'the recording has no commands to the joints',
            found=chosen or None,
            exists=[f'{t} ({kind})' for t, kind in types.items()],
            do='record the topic of the commands, and name it in effort_topic:',
        )
    rest = {t: kind for t, kind in recording.types().items() if t not in chosen}
    return (
        [of_joints(recording.channels[topic], joints) for topic in chosen],
        replace(recording, channels=LazyChannels(rest, recording.channels.__getitem__)),
    )


def of_joints(channel: Channel, joints: Sequence[str]) -> Channel:
    """Return a ``channel`` as one of joint states: an array's columns are those of ``joints``."""
    if channel.type == ARRAY:
        fits = channel.fields['data'].shape[1:] == (len(joints),)
        return replace(
            channel,
            type=JOINT_STATE,
            names=tuple(joints) if fits else (),
            fields={'position': channel.fields['data']} if fits else {},
        )
    return replace(channel, type=JOINT_STATE)


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
    sources = [
        c for c in channels if carries(c, 'position', joints) and set(joints) <= set(c.names)
    ]
    if not sources:
        raise RecordingError(
            f'{channels[0].topic} commands no positions of all joints',
            expected=tuple(joints),
            found=channels[0].names or None,
            do='name the topic of the commands in effort_topic:',
        )
    first = joint_side(whole(sources[0], joints, BROKEN), joints, options)
    ahead = next((c for c in channels if c.topic != first.topic), first)
    if ahead is not first and 'effort' not in ahead.fields:  # of an array: its only columns
        ahead = replace(ahead, fields={'effort': ahead.fields['position']})
    parts = {'position': first, 'velocity': first, 'effort': ahead}
    parts = {name: c for name, c in parts.items() if carries(c, name, joints)}
    stamps = np.unique(
        np.concatenate([c.stamp_ns for c in {id(c): c for c in parts.values()}.values()])
    )
    stamps = stamps[stamps >= first.stamp_ns[0]]
    out = empty((len(stamps), len(joints)), float)
    for low in range(0, len(stamps), PIECE):
        at = stamps[low : low + PIECE]
        zero = np.zeros((len(at), len(joints)))
        values = {
            name: _held(parts[name], name, joints, at) if name in parts else zero
            for name in ('position', 'velocity', 'effort')
        }
        out[low : low + PIECE] = control.commanded(*values.values())
    return Channel(
        ' '.join(c.topic for c in channels),
        JOINT_STATE,
        stamps,
        stamps,
        {'effort': out},
        tuple(joints),
    )


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
    wrong: list[str] = []
    for joint, *both in zip(joints, q[good].T, asked[good].T) if good.any() else ():
        one, two = (np.unwrap(x) - np.unwrap(x).mean() for x in both)
        if min(np.ptp(one), np.ptp(two)) > MOVES and (
            one @ two < FOLLOWED * np.linalg.norm(one) * np.linalg.norm(two)
        ):
            wrong.append(joint)
    if wrong:
        raise RecordingError(
            'joints do not move as they are commanded',
            found=', '.join(wrong),
            do='look at the signs, the order and the topic of the commands',
        )


def _held(channel: Channel, name: str, joints: Sequence[str], at: np.ndarray) -> np.ndarray:
    """Return values (N, n) that hold at stamps ``at`` (N,) [ns]; zero before the first."""
    places = np.searchsorted(channel.stamp_ns, at, side='right') - 1
    columns = [channel.names.index(joint) for joint in joints]
    values = channel.fields[name][places.clip(0)][:, columns]
    return np.where((places >= 0)[:, None] & np.isfinite(values), values, 0.0)


def efforts_at(motion: Channel, force: Channel, control: PositionControl) -> Channel:
    """Return a ``motion`` with the efforts that ``commanded`` ones, ``force``, make there."""
    motion, joints = motion.rows(motion.stamp_ns >= force.stamp_ns[0]), force.names
    columns = [motion.names.index(joint) for joint in joints]
    q = motion.fields['position'][:, columns]
    v = (
        motion.fields['velocity'][:, columns]
        if 'velocity' in motion.fields
        else np.gradient(q, (motion.stamp_ns - motion.stamp_ns[0]) * 1e-9, axis=0)
    )
    places = np.searchsorted(force.stamp_ns, motion.stamp_ns, side='right') - 1
    return replace(
        motion,
        topic=force.topic,
        names=joints,
        fields={'effort': control.torques(force.fields['effort'][places], q, v)},
    )
