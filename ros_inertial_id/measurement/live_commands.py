"""Live commands: what drives make of the newest ones, as joints/commands.py has it of bags."""

from dataclasses import replace
from typing import Any, Callable, Sequence

import numpy as np

from .joints.commands import feedforward_of, of_joints, position_control, PositionControl
from .joints.drives import DriveOptions, joint_side
from .joints.effort_source import EffortSource
from .joints.kinematic_state import JointSpaceState, SignalOptions
from .live import carried, listen_to_efforts, listen_to_joints, LiveMotion, QUANTITIES, Window
from .recording import Channel
from .sampling import held, LONGEST_GAP
from .summary import Summary
from ..errors import ConfigError, RecordingError


class LiveCommands:
    """
    The commands to n ``joints``, each held until the next of its topic.

    topics : of the positions first, and of a feedforward beside them where there is one
    """

    def __init__(
        self,
        topics: Sequence[str],
        joints: Sequence[str],
        drives: DriveOptions,
        control: PositionControl,
    ) -> None:
        self.topics, self._control = tuple(topics), control
        self.joints, self._drives = joints, drives
        self._parts = [Window() for _ in topics]  # of the torques

    def add(self, channel: Channel, seconds: Callable[[np.ndarray], np.ndarray]) -> None:
        """Take a ``channel`` of one of the topics; ``seconds`` of stamps (N,) [ns]."""
        part = self._parts[self.topics.index(channel.topic)]
        what = 'positions'
        if part is self._parts[0]:
            channel = joint_side(of_joints(channel, self.joints), self.joints, self._drives)
            rows, values = carried(channel, self.joints, QUANTITIES)
            q, v, effort = values.values()
            commanded = self._control.commanded(q, np.nan_to_num(v), np.nan_to_num(effort))
        else:
            channel = feedforward_of(channel, self.joints)
            rows, values = carried(channel, self.joints, ('effort',))
            commanded, what = values['effort'], 'efforts'
        good = np.isfinite(commanded).all(axis=1)
        if not good.any() and not len(part.t):
            raise RecordingError(
                f'{channel.topic.lstrip("/")} command no {what} of all joints',
                expected=self.joints,
                found=channel.names or None,
            )
        part.add(seconds(channel.stamp_ns[rows[good]]), commanded[good], np.inf)

    def at(self, t: np.ndarray, period: float = 0.0) -> np.ndarray:
        """
        Return the commanded part (N, n) of the torques, not-a-number before the first command.

        t : (N,) [s]; period : [s] between them, over which means are taken; 0: none are
        """
        out = np.zeros((len(t), len(self.joints)))
        for part, unknown in zip(self._parts, (np.nan, 0.0)):
            if not len(part.t):
                return out + unknown
            if period:
                rows = held(part.t, part.rows, t, period)
            else:
                rows = part.rows[_newest(part.t, t)]
            out += np.where((t < part.t[0] + 0.5 * period)[:, None], unknown, rows)
        return out

    def forget(self, before: float) -> None:
        """Drop the commands that were followed by others ``before`` a time [s]."""
        for part in self._parts:
            if len(part.t):
                part.forget(part.t[_newest(part.t, before)])

    def feedback(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the part (N, n) that measured q, v (N, n) take from the torques."""
        return self._control.commanded(q, np.where(self._control.damping, v, 0.0), np.zeros(1))

    def torques(self, commanded: np.ndarray, feedback: np.ndarray) -> np.ndarray:
        """Return ``commanded`` less ``feedback`` (N, n), not-a-number where the drive ends."""
        torques = commanded - feedback
        return np.where(np.abs(torques) < self._control.limit, torques, np.nan)


def _newest(stamps, t):
    """Return the number of the newest of ``stamps`` (n,) at times ``t`` [s], else of the first."""
    return (np.searchsorted(stamps, t, side='right') - 1).clip(0)


def live_commands(robot: Any, drives: SignalOptions, summary: Summary) -> LiveCommands | None:
    """
    Return the LiveCommands to the joints of a ``robot``; None of ``drives`` that report efforts.

    summary : of the observation that the model comes from, which names their topics
    """
    control = position_control(drives, robot.effort)
    if control is None:
        return None
    topics = (drives.effort_topic or summary.effort_topic).split()
    of_positions = summary.effort_topic.partition(' ')[0].lstrip('/')
    topics.sort(key=lambda topic: topic.lstrip('/') != of_positions)
    return LiveCommands(topics, robot.joint_names, drives, control)


def live_joints(robot: Any, options: SignalOptions, lag: float, summary: Summary) -> LiveMotion:
    """
    Return the LiveMotion of the joints of a tree ``robot``, and of what drives them.

    lag, summary : see Live.source
    """
    commands = live_commands(robot, options, summary)
    signals = options.cutoff, options.velocity == 'measured', lag
    shift = summary.time_offset
    motion = options.joint_states_topic or 'joint_states'
    if ' ' in motion:
        raise ConfigError(
            'option joint_states_topic',
            found=motion,
            expected='one topic with all joints while the robot runs',
            do='merge them: joint_state_publisher with source_list',
        )
    if commands is None:
        source = EffortSource.of(options, len(robot.joint_names), robot.effort)
        live = LiveMotion(*signals, source.to_joint, shift)
        listen_to_efforts(live, options.effort_topic or motion, robot.joint_names)
    else:
        live = CommandedMotion(*signals, shift, commands)
    listen_to_joints(live, motion, robot.joint_names, options)
    return live


class CommandedMotion(LiveMotion):
    """
    A LiveMotion whose loads are torques that ``commands`` and the motion make.

    cutoff, measured_velocity, lag, shift : as LiveMotion has them
    """

    def __init__(
        self,
        cutoff: float,
        measured_velocity: bool,
        lag: float,
        shift: float,
        commands: LiveCommands,
    ):
        super().__init__(cutoff, measured_velocity, lag, np.eye(len(commands.joints)), shift)
        self._commands = commands
        for topic in commands.topics:
            self.listen(topic, lambda channel: commands.add(channel, self.seconds))

    def move(self, t: np.ndarray, q: np.ndarray, v: np.ndarray | None = None) -> None:
        """Add q, v (N, n) at t (N,) [s]; RecordingError where a damped v is not measured."""
        speed = np.full_like(q, np.nan)
        if v is not None:
            speed = v
        feedback = self._commands.feedback(q, speed)
        if not np.isfinite(feedback).all():
            raise RecordingError(
                'joint states carry no velocity of all joints',
                expected='those that damping: acts on',
            )
        self.load(0, t, feedback)
        super().move(t, q, v)

    def _torques(self, t):
        """Return torques (M, n) at ticks t (M,) [s] and beside them their commanded part."""
        commanded = self._commands.at(t + self._shift, self._period)
        return np.hstack([self._commands.torques(commanded, self._loads[0].at(t)), commanded])

    def _state(self, stamps: np.ndarray, state: JointSpaceState) -> JointSpaceState:
        """Return the ``state`` with torques, and beside them their commanded part."""
        self._commands.forget(stamps[-1] + self._shift - LONGEST_GAP)
        tau, late = np.split(state.tau, 2, axis=1)
        tau_raw, _ = np.split(state.tau_raw, 2, axis=1)
        return replace(state, tau=tau, tau_raw=tau_raw, late=late)
