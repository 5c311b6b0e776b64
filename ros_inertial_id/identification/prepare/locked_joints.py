"""
Where locked joints are: at the recorded position, which may not change while they are locked.

A link that is held elsewhere than the model takes it weighs otherwise on the joints before it,
and no residual shows it: free bodies take it up.  A rail or a torso that moves accelerates all
that it carries.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .description_choice import asked_topics
from ...dynamics.robot_model import (
    load_robot_model,
    mimicked,
    named_joints,
    position_limits,
    RobotOptions,
)
from ...errors import ConfigError, RecordingError
from ...measurement.joints.channels import JOINT_STATE, plausible
from ...measurement.recording import Channel, Recording

MOMENT_SHIFT = 0.02  # of the first moment of a body: fingers of a gripper shift it by less
LOCK_PLAY = 0.05  # [rad or m]: nothing that is fixed, brake or servo, gives way by more
# [rad or m] of a joint that carries others: at 1 Hz it accelerates them by 2 % of gravity
CARRIER_PLAY = 0.01
GLITCHES = 1.0  # [%] of the samples at either end that may be none of the joint's positions
FAR_BEYOND_LIMITS = 1.5  # ranges from their middle: of another unit


def with_recorded_locks(recording: Recording, options: Any, urdf: str) -> Any:
    """
    Return the options with every joint named, and locked ones where the Recording has them.

    options : with RobotOptions; urdf : text of the description
    A joint that was not recorded is where the one that it mimics puts it, else at 0.

    RecordingError for a joint that moves what weighs, or carries joints that move, while it is
    locked, or that is far beyond its limits; ConfigError for locked_positions that contradict the
    recording.
    """
    if not isinstance(options, RobotOptions) or not options.locked_joints:
        return options
    joints, locked = named_joints(urdf, options)
    recorded = _recorded_locks(recording, options, urdf, tuple(locked))
    limits = position_limits(urdf)
    for lock in recorded:
        robot = LockedRobot(urdf, joints, locked)
        if options.locked_positions:
            _check_still(lock, robot)
            _check_position(lock, robot)
        else:
            _check_unit(lock, limits)
            _check_still(lock, robot)
            locked[lock.joint] = lock.median
    return replace(
        options,
        joints=joints,
        locked_joints=tuple(locked),
        locked_positions=tuple(locked.values()),
    )


@dataclass(frozen=True)
class RecordedLock:
    """
    Where a locked joint was recorded: by itself, or by the joint that it follows.

    followed : the joint that was recorded; its position times ``factor`` plus ``offset`` is that
        of ``joint``
    low, median, high : percentiles of that position without glitches [rad or m]; of a negative
        factor low is the greater
    """

    joint: str
    followed: str
    factor: float
    offset: float
    low: float
    median: float
    high: float


@dataclass(frozen=True)
class LockedRobot:
    """A robot of which ``joints`` move and others are locked: ``locked`` {joint: position}."""

    urdf: str
    joints: tuple[str, ...]
    locked: dict[str, float]

    def inertias(self, joint: str, position: float) -> np.ndarray:
        """Return mass and first moments (n, 4) of the bodies, a ``joint`` at ``position``."""
        locked = {**self.locked, joint: position}
        return load_robot_model(self.urdf, self.joints, locked=locked).inertias[:, :4]

    def is_shifted(self, joint: str, start: float, end: float) -> bool:
        """
        Return whether a ``joint`` shifts what the others have to hold.

        start, end : its positions [rad or m]
        """
        if abs(end - start) <= LOCK_PLAY:
            return False
        before = self.inertias(joint, start)
        after = self.inertias(joint, end)
        if not before[:, 0].any():  # nothing is known of what weighs
            return True
        moment = np.linalg.norm(before[:, 1:], axis=1)
        shift = np.linalg.norm((after - before)[:, 1:], axis=1)
        return bool((shift > MOMENT_SHIFT * moment).any())

    def is_accelerated(self, joint: str, start: float, end: float) -> bool:
        """
        Return whether a ``joint`` that moves from ``start`` to ``end`` [rad or m] carries others.

        No first moment of the bodies behind it shows that it moves.
        """
        if abs(end - start) <= CARRIER_PLAY:
            return False
        others = {name: place for name, place in self.locked.items() if name != joint}
        joints = self.joints
        if joints:  # none stands for all
            joints = (*joints, joint)
        robot = load_robot_model(self.urdf, joints, locked=others)
        return len(robot.subtree(robot.joint_names.index(joint))) > 1


def _recorded_locks(
    recording: Recording, options: RobotOptions, urdf: str, joints: tuple[str, ...]
) -> list[RecordedLock]:
    """Return the RecordedLock of each of the locked ``joints`` whose positions were recorded."""
    if getattr(options, 'position_kind', 'link') == 'motor':
        return []
    mimics = mimicked(urdf)
    channels = _fullest_first(recording, asked_topics(options))
    locks = []
    for joint in joints:
        followed, factor, offset = joint, 1.0, 0.0
        positions = _recorded_positions(channels, joint)
        if not len(positions) and joint in mimics:
            followed, factor, offset = mimics[joint]
            positions = _recorded_positions(channels, followed)
        if len(positions):
            percentiles = np.percentile(positions, [GLITCHES, 50.0, 100.0 - GLITCHES])
            low, median, high = (factor * percentiles + offset).tolist()
            locks.append(RecordedLock(joint, followed, factor, offset, low, median, high))
    return locks


def _fullest_first(recording: Recording, asked: list[str]) -> list[Channel]:
    """Return the joint states, ``asked`` topics before others, those of most joints first."""

    def order(channel: Channel) -> tuple[bool, int]:
        return channel.topic.lstrip('/') not in asked, -len(channel.names)

    return sorted(recording.of_type(JOINT_STATE).values(), key=order)


def _recorded_positions(channels: list[Channel], joint: str) -> np.ndarray:
    """Return the positions (N,) of a ``joint`` in the first channel that has it, none without."""
    for channel in channels:
        if joint not in channel.names or 'position' not in channel.fields:
            continue
        positions = channel.fields['position'][:, channel.names.index(joint)]
        positions = positions[plausible(positions)]
        if len(positions):
            return positions
    return np.empty(0)


def _check_unit(lock: RecordedLock, limits: Mapping[str, tuple[float, float]]) -> None:
    """Raise RecordingError where a joint is so far beyond its ``limits`` that the unit differs."""
    lower, upper = limits.get(lock.joint, (np.nan, np.nan))
    if abs(lock.median - (upper + lower) / 2) > FAR_BEYOND_LIMITS * (upper - lower):
        raise RecordingError(
            f'the recorded position of {lock.joint} is far beyond its limits',
            found=f'{lock.median:.3g}',
            expected=f'{lower:.3g} to {upper:.3g}',
            do='it has another unit: say in locked_positions where it is [rad or m]',
        )


def _check_still(lock: RecordedLock, robot: LockedRobot) -> None:
    """Raise RecordingError where a joint moves what weighs, or carries others, while locked."""
    ends = lock.joint, lock.low, lock.high
    if not robot.is_shifted(*ends) and not robot.is_accelerated(*ends):
        return
    how, do = 'moves', 'do not lock it, which needs its efforts'
    if lock.followed != lock.joint:
        how = f'follows {lock.followed}, which moves'
        coupling = f'coupling {lock.joint} {lock.followed} {lock.factor:g} {lock.offset:g}'
        do = f"method closed_loop, friction: of the joints, closures: ['{coupling}']"
    least, greatest = sorted((lock.low, lock.high))
    raise RecordingError(
        f'{lock.joint} is locked and {how} in the recording',
        expected='one that stands still',
        found=f'{least:.3g} to {greatest:.3g} rad (m)',
        do=f'cut the recording to where it stands still, BAG@START:END, or identify it: {do}',
    )


def _check_position(lock: RecordedLock, robot: LockedRobot) -> None:
    """Raise ConfigError where locked_positions contradict the recording."""
    given = robot.locked[lock.joint]
    if robot.is_shifted(lock.joint, given, lock.median):
        raise ConfigError(
            f'locked_positions say another place of {lock.joint} than the recording',
            expected=f'{lock.median:.3g} as recorded',
            found=given,
            do='leave locked_positions out, and the recording counts; a model '
            'holds only for the place that it was identified at',
        )
