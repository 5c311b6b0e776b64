"""
Signals: joint channels as messages brought them, for the signal checks.

Of a long recording one stretch after the other, so that memory stays that of one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .finding import Finding, MASKED, WRONG
from ..dynamics.robot_model import RobotModel
from ..measurement.joints.channels import BROKEN, carries, groups, whole
from ..measurement.joints.drives import joint_side
from ..measurement.joints.kinematic_state import AT_REST, SignalOptions
from ..measurement.joints.observation import motion_and_efforts
from ..measurement.recording import Channel, page_out, Recording

PIECE = 100_000  # messages of one stretch

Runs = list[tuple[int, int]]


@dataclass(frozen=True)
class Quantity:
    """t : (N,) stamps since the recording's origin [s]; values : (N, n), one column per joint."""

    t: np.ndarray
    values: np.ndarray

    @cached_property
    def period(self) -> float:
        """Return the median of the positive steps of the stamps [s]."""
        steps = np.diff(self.t)
        steps = steps[steps > 0]
        return float(np.median(steps)) if steps.size else 1.0

    def windows(self, found: Runs) -> tuple[tuple[float, float], ...]:
        """Return (start, end) [s] of runs of samples."""
        return windows_of(self.t, found)


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
        return {name: x for name, x in every.items() if x is not None and len(x.t) > 8}

    def names(self, chosen: np.ndarray) -> tuple[str, ...]:
        """Return the names of the ``chosen`` (n,) joints."""
        return tuple(n for n, c in zip(self.joints, chosen) if c)

    @cached_property
    def repeats(self) -> np.ndarray:
        """Return (N - 1,) whether all that a message holds is as in the one before."""
        out = np.ones(len(self.position.t) - 1, dtype=bool)
        for name, x in self.quantities().items():
            if len(x.t) == len(self.position.t) and (self.same_topic or name != 'effort'):
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
    joints, origin = robot.joint_names, recording.origin_ns()
    motion, force = motion_and_efforts(recording, joints, options, robot.effort)
    place = {joint: k for k, joint in enumerate(joints)}
    for own in groups(motion, joints):
        at = [place[joint] for joint in own]
        for low in range(0, len(motion), PIECE):
            page_out()
            moved = joint_side(motion.rows(slice(low, low + PIECE)), joints, options)
            effort = _beside(motion, force, low) if force is not None else None
            parts = [moved] if effort is None or force is motion else [moved, effort]
            driven = whole(moved, own, BROKEN)  # by the driver, without bare copies of positions
            yield RawSignals(
                tuple(own),
                _quantity(driven, 'position', own, origin),
                _quantity(driven, 'velocity', own, origin)
                if carries(motion, 'velocity', own)
                else None,
                None if effort is None else _quantity(effort, 'effort', own, origin),
                force is motion,
                robot.lower[at],
                robot.upper[at],
                np.asarray(robot.prismatic)[at],
                tuple(f for c in parts for f in not_finite(c, own, origin)),
            )


def _beside(motion: Channel, force: Channel, low: int) -> Channel:
    """Return the part of ``force`` that belongs to the stretch of ``motion`` from ``low`` on."""
    high = low + PIECE
    if force is motion:
        return force.rows(slice(low, high))
    start, end = motion.stamp_ns[low], motion.stamp_ns[min(high, len(motion) - 1)]
    return force.rows(
        ((force.stamp_ns >= start) | (low == 0)) & ((force.stamp_ns < end) | (high >= len(motion)))
    )


def _quantity(channel: Channel, name: str, joints: Sequence[str], origin: int) -> Quantity:
    values = channel.fields[name][:, [channel.names.index(joint) for joint in joints]]
    whole = np.isfinite(values).all(axis=1)
    t = (channel.stamp_ns - origin) * 1e-9
    return Quantity(t, values) if whole.all() else Quantity(t[whole], values[whole])


def not_finite(channel: Channel, joints: Sequence[str], origin: int) -> list[Finding]:
    """
    Return Findings on values that are no numbers beside others of the same joint and message.

    channel : of joint states; joints : looked at; origin : zero of time [ns]
    Such messages are left out, here and where they are read.
    """
    there = {name: np.isfinite(values) for name, values in channel.fields.items()}
    some, out = np.any(list(there.values()), axis=0), []
    t = (channel.stamp_ns - origin) * 1e-9
    for name, finite in there.items():
        alike: dict[bytes, list[str]] = {}
        for joint in joints:
            j = channel.names.index(joint)
            bad = some[:, j] & ~finite[:, j]
            if bad.any() and finite[:, j].any():
                alike.setdefault(bad.tobytes(), []).append(joint)
        for mask, names in alike.items():
            bad = np.frombuffer(mask, dtype=bool)
            few = len(whole(channel, joints, BROKEN)) < len(channel)
            out.append(
                Finding(
                    f'{name} not finite',
                    f'the {name} of {", ".join(names)} is not finite in '
                    f'{int(bad.sum())} of {len(bad)} messages',
                    'values that are no numbers',
                    float(bad.sum()),
                    'samples',
                    tuple(names),
                    MASKED if few else WRONG,
                    'correct its source'
                    + ('' if few else ', or cut the recording with @START:END'),
                    windows_of(t, runs(bad)),
                )
            )
    return out


def runs(chosen: np.ndarray) -> Runs:
    """Return (first, last) of the runs of True in ``chosen`` (N,), both inclusive."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen.astype(np.int8), [0]])))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2])]


def windows_of(t: np.ndarray, found: Runs) -> tuple[tuple[float, float], ...]:
    """Return (start, end) [s] of runs ``found`` of samples with stamps ``t`` (N,)."""
    return tuple((float(t[a]), float(t[b])) for a, b in found)
