"""
Signals: joint channels as messages brought them, for the signal checks.

Of a long recording one stretch after the other, so that memory stays that of one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

import numpy as np

from .finding import Finding, Window
from .finding_kinds import found
from ..dynamics.robot_model import RobotModel
from ..measurement.joints.channels import BROKEN, groups, without_incomplete
from ..measurement.joints.drives import joint_side
from ..measurement.joints.kinematic_state import AT_REST, SignalOptions
from ..measurement.joints.observation import motion_and_efforts
from ..measurement.joints.sources import joint_sources
from ..measurement.recording import Channel, page_out, Recording

JOINT_PIECE = 100_000  # messages of joints that are looked at together
FEWEST_SAMPLES = 9  # of a quantity that is compared with anything

Runs = list[tuple[int, int]]


@dataclass(frozen=True)
class Quantity:
    """t : (N,) stamps since the recording's origin [s]; values : (N, n), one column per joint."""

    t: np.ndarray
    values: np.ndarray

    @cached_property
    def period(self) -> float:
        """Return the median of the positive steps of the stamps [s]."""
        return positive_median(np.diff(self.t), 1.0)

    def at(self, chosen: np.ndarray) -> 'Quantity':
        """Return the ``chosen`` samples (N,), without a copy where that is all."""
        if chosen.all():
            return self
        return Quantity(self.t[chosen], self.values[chosen])

    @property
    def seconds(self) -> float:
        """Return the duration of the recording [s]."""
        if not len(self.t):
            return 0.0
        return float(np.ptp(self.t))

    def windows(self, intervals: np.ndarray) -> tuple[Window, ...]:
        """Return (start, end) [s] of ``intervals`` (R, 2) of samples, first and last."""
        return windows_of(self.t, intervals)


@dataclass(frozen=True)
class RawSignals:
    """
    Position, velocity and effort of the joints of one recording.

    position [rad or m], velocity, effort : Quantity, None where it is not recorded
    same_topic : whether the efforts came with the positions; joints : their names
    lower, upper : (n,) limits of the positions, nan where not given; prismatic : (n,) bool
    broken : Findings on messages that are not among these, as their values are no numbers
    """

    joints: tuple[str, ...]
    position: Quantity
    velocity: Quantity | None
    effort: Quantity | None
    same_topic: bool
    lower: np.ndarray
    upper: np.ndarray
    prismatic: np.ndarray
    broken: tuple[Finding, ...] = ()

    @cached_property
    def rests(self) -> np.ndarray:
        """Return (n,) bool which joints stand still: of their motion there is noise alone."""
        return np.asarray(np.ptp(self.position.values, axis=0) < AT_REST)

    def quantities(self) -> dict[str, Quantity]:
        """Return {name: Quantity} of what was recorded."""
        every = {'position': self.position, 'velocity': self.velocity, 'effort': self.effort}
        return {
            name: x for name, x in every.items() if x is not None and len(x.t) >= FEWEST_SAMPLES
        }

    def names(self, chosen: np.ndarray) -> tuple[str, ...]:
        """Return the names of the ``chosen`` (n,) joints."""
        return tuple(compress(self.joints, chosen))

    @cached_property
    def repeats(self) -> np.ndarray:
        """Return (N - 1,) whether all that a message holds is as in the one before."""
        out = np.ones(len(self.position.t) - 1, dtype=bool)
        for name, x in self.quantities().items():
            if name == 'effort' and not self.same_topic:
                continue
            if len(x.t) == len(self.position.t):
                out &= ~np.diff(x.values, axis=0).any(axis=1)
        return out


def raw_signals(
    recording: Recording, robot: RobotModel, options: SignalOptions
) -> Iterator[RawSignals]:
    """
    Yield the RawSignals of the stretches of a ``recording`` of an arm, the ``robot``.

    One for each group of joints that come in messages of their own.

    RecordingError where no topic carries the positions.
    """
    motion, force = motion_and_efforts(recording, robot.joint_names, options, robot.effort)
    sources = joint_sources(recording, robot.joint_names, options)
    with_velocity = frozenset(sources.velocity)
    messages = _JointMessages(motion, force, robot, options, recording.origin_ns(), with_velocity)
    for joints in groups(motion, robot.joint_names):
        for first in range(0, len(motion), JOINT_PIECE):
            page_out()
            yield messages.signals(joints, first)


@dataclass(frozen=True)
class _JointMessages:
    """
    The messages of the joints of a ``robot``.

    motion : JointState Channel of the positions; force : of the efforts, None without any
    origin : zero of time [ns]; with_velocity : joints whose velocity is recorded
    """

    motion: Channel
    force: Channel | None
    robot: RobotModel
    options: SignalOptions
    origin: int
    with_velocity: frozenset[str]

    def signals(self, joints: Sequence[str], first: int) -> RawSignals:
        """Return the RawSignals of ``joints`` in the piece from message ``first`` on."""
        columns = _columns(self.robot.joint_names, joints)
        piece = self.motion.rows(slice(first, first + JOINT_PIECE))
        motion = joint_side(piece, self.robot.joint_names, self.options)
        # By the driver, without bare copies of positions.
        driven = without_incomplete(motion, joints, BROKEN)
        broken = not_finite(motion, joints, self.origin)
        velocity = effort = None
        if self.with_velocity.issuperset(joints):
            velocity = _quantity(driven, 'velocity', joints, self.origin)
        same_topic = self.force is self.motion
        if same_topic:
            effort = _quantity(piece, 'effort', joints, self.origin)
        elif self.force is not None:
            force = self._during(first, self.force)
            effort = _quantity(force, 'effort', joints, self.origin)
            broken += not_finite(force, joints, self.origin)
        return RawSignals(
            tuple(joints),
            _quantity(driven, 'position', joints, self.origin),
            velocity,
            effort,
            same_topic,
            self.robot.lower[columns],
            self.robot.upper[columns],
            np.asarray(self.robot.prismatic)[columns],
            tuple(broken),
        )

    def _during(self, first: int, force: Channel) -> Channel:
        """Return the part of ``force`` in the time of the piece from message ``first`` on."""
        chosen = np.ones(len(force), dtype=bool)
        if first > 0:
            chosen &= force.stamp_ns >= self.motion.stamp_ns[first]
        after = first + JOINT_PIECE
        if after < len(self.motion):
            chosen &= force.stamp_ns < self.motion.stamp_ns[after]
        return force.rows(chosen)


def _quantity(channel: Channel, name: str, joints: Sequence[str], origin: int) -> Quantity:
    values = channel.fields[name][:, _columns(channel.names, joints)]
    t = (channel.stamp_ns - origin) * 1e-9
    return Quantity(t, values).at(np.isfinite(values).all(axis=1))


def _columns(names: Sequence[str], joints: Sequence[str]) -> np.ndarray:
    return np.array([names.index(joint) for joint in joints])


def not_finite(channel: Channel, joints: Sequence[str], origin: int) -> list[Finding]:
    """
    Return Findings on values that are no numbers beside others of the same joint and message.

    channel : of joint states; joints : looked at; origin : zero of time [ns]
    Such messages are left out, here and where they are read.
    """
    finite = {name: np.isfinite(values) for name, values in channel.fields.items()}
    carried = np.any(list(finite.values()), axis=0)
    columns = _columns(channel.names, joints)
    out = []
    for name, present in finite.items():
        lacking = carried & ~present
        partly = lacking.any(axis=0) & present.any(axis=0)
        for broken, alike in columns_alike(lacking, columns[partly[columns]]):
            kind = f'{name} not finite'
            if len(alike) == len(columns):
                kind = f'{name} in none'
            if len(without_incomplete(channel, joints, BROKEN)) == len(channel):
                kind = f'{name} not finite too often'  # nothing is left out
            out.append(
                found(
                    kind,
                    [channel.names[column] for column in alike],
                    broken.sum(),
                    windows_of((channel.stamp_ns - origin) * 1e-9, intervals_of(broken)),
                    broken=broken.sum(),
                    messages=len(broken),
                )
            )
    return out


def positive_median(values: np.ndarray, otherwise: float) -> float:
    """Return the median of the positive ``values`` (N,), ``otherwise`` where none is."""
    positive = values[values > 0]
    if not positive.size:
        return otherwise
    return float(np.median(positive))


def columns_alike(masks: np.ndarray, columns: Iterable[int]) -> list[tuple[np.ndarray, list[int]]]:
    """Return the different (N,) among ``columns`` of ``masks`` (N, n), each with its columns."""
    alike: dict[bytes, list[int]] = {}
    for column in columns:
        alike.setdefault(masks[:, column].tobytes(), []).append(int(column))
    return [(masks[:, same[0]], same) for same in alike.values()]


def intervals_of(chosen: np.ndarray, least: int = 1) -> np.ndarray:
    """Return (R, 2) the first and last of ``least`` True in a row and more in ``chosen`` (N,)."""
    edges = np.flatnonzero(np.diff(np.pad(chosen.astype(np.int8), 1)))
    intervals = edges.reshape(-1, 2) - [0, 1]
    return np.asarray(intervals[np.diff(intervals)[:, 0] + 1 >= least])


def across(steps: np.ndarray) -> np.ndarray:
    """Return (R, 2) the first and last samples of intervals (R, 2) of ``steps`` between them."""
    return np.asarray(steps + [0, 1])


def steps_at(chosen: np.ndarray) -> np.ndarray:
    """Return (R, 2) the samples before and after each of the ``chosen`` steps (N - 1,)."""
    return np.flatnonzero(chosen)[:, None] + [0, 1]


def runs(chosen: np.ndarray) -> Runs:
    """Return (first, last) of the runs of True in ``chosen`` (N,), both inclusive."""
    return [(first, last) for first, last in intervals_of(chosen).tolist()]


def windows_of(t: np.ndarray, intervals: np.ndarray) -> tuple[Window, ...]:
    """Return (start, end) [s] of ``intervals`` (R, 2) of samples with stamps ``t`` (N,)."""
    return tuple((start, end) for start, end in t[intervals].tolist())
