"""
Commands: efforts of drives that report none, from the law by which they follow their commands.

    tau(t) = K (q_command(t - d) - q) + D (v_command(t - d) - v) + feedforward(t - d)

with stiffness K and damping D of each joint, the delay d, and |tau| up to the effort limit where D
is given.  What is commanded is held until the next command.
"""

from dataclasses import dataclass, replace
from typing import Any, Sequence

import numpy as np

from .channels import BROKEN, carries, columns_of, JOINT_STATE, ROWS_AT_ONCE, without_incomplete
from .drives import DriveOptions, is_commanded, is_limited, joint_side, per_joint
from ..recording import Channel, empty
from ...errors import ConfigError, RecordingError

ARRAY = 'std_msgs/msg/Float64MultiArray'
COMMAND_TYPES = (
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
        """Return the (N, n) torques by the ``commanded`` part and measured q, v (N, n)."""
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
            do='take them from the controller, or find them by the described masses or a known '
            'load: inertial-id drive-gains --empty BAG --config FILE, of a log with --urdf',
        )
    limited = is_limited(options.effort_kind, options.damping)
    return PositionControl(
        per_joint(options.stiffness, 'stiffness', count),
        per_joint(options.damping or (0.0,), 'damping', count),
        np.where(limited & (limit > 0), limit, np.inf),
    )


def of_joints(channel: Channel, joints: Sequence[str]) -> Channel:
    """Return a ``channel`` as one of joint states: an array's columns are those of ``joints``."""
    if channel.type != ARRAY:
        return replace(channel, type=JOINT_STATE)
    positions = channel.fields['data']
    if positions.shape[1:] != (len(joints),):
        return replace(channel, type=JOINT_STATE, names=(), fields={})
    return replace(channel, type=JOINT_STATE, names=tuple(joints), fields={'position': positions})


@dataclass(frozen=True)
class Commands:
    """
    What n ``joints`` are commanded, as Channels of joint states.

    topics : their names, that of the positions first, with blanks between
    motion : of the positions and, if they are commanded, velocities
    feedforward : of the efforts added to what these make, where there are any
    """

    topics: str
    joints: tuple[str, ...]
    motion: Channel
    feedforward: Channel

    @classmethod
    def of(
        cls, topics: str, joints: Sequence[str], motion: Channel, feedforward: Channel | None
    ) -> 'Commands':
        """Return the Commands by Channels; without ``feedforward`` it is in those of motion."""
        motion = without_incomplete(motion, joints, BROKEN)
        if feedforward is None:
            feedforward = motion
        return cls(topics, tuple(joints), motion, feedforward)

    def torques(self, options: DriveOptions, control: PositionControl) -> Channel:
        """Return the Channel of the part of the efforts that is held from command to command."""
        motion, joints = joint_side(self.motion, self.joints, options), self.joints
        feedforward = motion
        if self.feedforward is not self.motion:
            feedforward = self.feedforward
        channels = {'position': motion, 'velocity': motion, 'effort': feedforward}
        parts = {name: c for name, c in channels.items() if carries(c, name, joints)}
        each_once = {channel.topic: channel.stamp_ns for channel in parts.values()}
        stamps = np.unique(np.concatenate([*each_once.values()]))
        stamps = stamps[stamps >= motion.stamp_ns[0]]
        torques = empty((len(stamps), len(joints)), float)
        for low in range(0, len(stamps), ROWS_AT_ONCE):
            at = stamps[low : low + ROWS_AT_ONCE]
            values = {name: np.zeros((len(at), len(joints))) for name in PARTS}
            for name, channel in parts.items():
                values[name] = _held(channel, name, joints, at)
            torques[low : low + ROWS_AT_ONCE] = control.commanded(*values.values())
        return Channel(self.topics, JOINT_STATE, stamps, stamps, {'effort': torques}, joints)

    def check_followed(self, measured: Channel) -> None:
        """
        Raise RecordingError where joints do not move as commanded: of another sign or order.

        measured : joint states.  What such commands make of the stiffness is huge, and looks like
        a spring that explains all of it.
        """
        measured = measured.rows(slice(None, None, -(-len(measured) // ROWS_AT_ONCE)))
        q = measured.fields['position'][:, columns_of(measured, self.joints)]
        commanded = _held(self.motion, 'position', self.joints, measured.stamp_ns)
        good = np.isfinite(q).all(axis=1) & (measured.stamp_ns >= self.motion.stamp_ns[0])
        if not good.any():
            return
        wrong = []
        for joint, q_of_joint, command in zip(self.joints, q[good].T, commanded[good].T):
            if not _follows(q_of_joint, command):
                wrong.append(joint)
        if wrong:
            raise RecordingError(
                'joints do not move as they are commanded',
                found=', '.join(wrong),
                do='look at the signs, the order and the topic of the commands',
            )


def feedforward_of(channel: Channel, joints: Sequence[str]) -> Channel:
    """
    Return a ``channel`` of efforts to n ``joints`` as one of joint states.

    The only numbers of an array are efforts; RecordingError for what has none.
    """
    states = of_joints(channel, joints)
    if channel.type == ARRAY and states.names:
        return replace(states, fields={'effort': states.fields['position']})
    if 'effort' in states.fields:
        return states
    raise RecordingError(
        f'{channel.topic} commands no efforts of all joints',
        expected=tuple(joints),
        found=states.names or None,
        do='leave it out of effort_topic:',
    )


def _follows(measured: np.ndarray, command: np.ndarray) -> bool:
    """Return whether positions ``measured`` (N,) follow a ``command`` (N,), or hardly move."""
    q, asked = (np.unwrap(x) - np.unwrap(x).mean() for x in (measured, command))
    if min(np.ptp(q), np.ptp(asked)) <= MOVES:
        return True
    return bool(q @ asked >= FOLLOWED * np.linalg.norm(q) * np.linalg.norm(asked))


def _held(channel: Channel, name: str, joints: Sequence[str], at: np.ndarray) -> np.ndarray:
    """Return values (N, n) that hold at stamps ``at`` (N,) [ns]; zero before the first."""
    message = np.searchsorted(channel.stamp_ns, at, side='right') - 1
    values = channel.fields[name][message.clip(0)][:, columns_of(channel, joints)]
    return np.where((message >= 0)[:, None] & np.isfinite(values), values, 0.0)


def efforts_at(motion: Channel, force: Channel, control: PositionControl) -> Channel:
    """Return a ``motion`` with the efforts that ``commanded`` ones, ``force``, make there."""
    joints = force.names
    motion = motion.rows(motion.stamp_ns >= force.stamp_ns[0])
    if 'velocity' not in motion.fields:
        motion = _differentiated(motion)
    columns = columns_of(motion, joints)
    q, v = (motion.fields[name][:, columns] for name in ('position', 'velocity'))
    message = np.searchsorted(force.stamp_ns, motion.stamp_ns, side='right') - 1
    torques = control.torques(force.fields['effort'][message], q, v)
    return replace(motion, topic=force.topic, names=joints, fields={'effort': torques})


def _differentiated(motion: Channel) -> Channel:
    """Return a ``motion`` with velocities by its positions, and each stamp once."""
    motion = motion.rows(np.diff(motion.stamp_ns, prepend=-1) != 0)
    q = motion.fields['position']
    v = np.full_like(q, np.nan)
    if len(motion) > 1:
        v = np.gradient(q, (motion.stamp_ns - motion.stamp_ns[0]) * 1e-9, axis=0)
    return replace(motion, fields={**motion.fields, 'velocity': v})
