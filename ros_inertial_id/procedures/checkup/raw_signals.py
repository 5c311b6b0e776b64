"""Raw signals: joint channels as messages brought them, for the signal checks."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import InertialIdError
from ...measurement.joints.channels import carries, find_channel
from ...measurement.joints.drives import joint_side
from ...measurement.recording import Channel, Recording

AT_REST = 0.01  # [rad or m] that a joint goes in all where it stands still


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


@dataclass(frozen=True)
class RawSignals:
    """
    Position, velocity and effort of the joints of one recording.

    position [rad or m], velocity, effort : Quantity, None where it is not recorded
    same_topic : whether the efforts came with the positions; joints : their names
    lower, upper : (n,) limits of the positions, nan where not given; prismatic : (n,) bool
    """

    joints: tuple[str, ...]
    position: Quantity
    velocity: Quantity | None
    effort: Quantity | None
    same_topic: bool
    lower: np.ndarray
    upper: np.ndarray
    prismatic: np.ndarray

    @cached_property
    def rests(self) -> np.ndarray:
        """Return (n,) bool which joints stand still: of their motion there is noise alone."""
        return np.asarray(np.ptp(self.position.values, axis=0) < AT_REST)

    def quantities(self) -> dict[str, Quantity]:
        """Return {name: Quantity} of what was recorded."""
        every = {'position': self.position, 'velocity': self.velocity, 'effort': self.effort}
        return {name: x for name, x in every.items() if x is not None and len(x.t) > 8}


def raw_signals(recording: Recording, robot: Any, options: Any) -> RawSignals:
    """
    Return the RawSignals of a ``recording`` of a ``robot`` of serial_arm.

    options : of the method; RecordingError where no topic carries the positions.
    """
    joints, origin = robot.joint_names, recording.origin_ns()
    motion = find_channel(recording, joints, options.joint_states_topic, 'position')
    try:
        force = find_channel(recording, joints, options.effort_topic or motion.topic, 'effort')
    except InertialIdError:
        force = None
    moved = joint_side(motion, joints, options)
    velocity = (_quantity(moved, 'velocity', joints, origin)
                if carries(moved, 'velocity', joints) else None)
    return RawSignals(
        joints, _quantity(moved, 'position', joints, origin), velocity,
        _quantity(force, 'effort', joints, origin) if force is not None else None,
        force is motion, robot.lower, robot.upper, np.asarray(robot.prismatic))


def _quantity(channel: Channel, name: str, joints: tuple[str, ...], origin: int) -> Quantity:
    columns = [channel.names.index(joint) for joint in joints]
    values = channel.fields[name][:, columns]
    whole = np.isfinite(values).all(axis=1)
    t = (channel.stamp_ns - origin) * 1e-9
    return Quantity(t, values) if whole.all() else Quantity(t[whole], values[whole])


def runs(chosen: np.ndarray) -> list[tuple[int, int]]:
    """Return (first, last) of the runs of True in ``chosen`` (N,), both inclusive."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen.astype(np.int8), [0]])))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2])]


def windows_of(t: np.ndarray, found: list[tuple[int, int]]) -> tuple[tuple[float, float], ...]:
    """Return (start, end) [s] of runs ``found`` of samples with stamps ``t`` (N,)."""
    return tuple((float(t[a]), float(t[b])) for a, b in found)
