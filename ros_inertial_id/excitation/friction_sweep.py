"""
Friction sweep: constant low speeds, every joint both ways, through reversals.

Where a joint hardly moves is where friction models fail on other days' point-to-point motions,
and a motion designed for inertias is hardly ever there.  Stage by stage every joint goes at one
speed: up from the middle, down through it, up to it again, with two reversals.  All joints move at
once, each at another of the speeds, so that no two of them reverse from the same one.

    v / speed:   0 -> 1 for half a leg -> -1 for a leg and a ramp -> 1 for half a leg -> 0

Every change follows a quintic, so accelerations have no jumps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .fourier import read_joints
from ..errors import MotionError

KIND = 'friction_sweep'
LEG = 2.0  # [s] at one constant speed, of a sweep that is designed
REACH = 1.1875  # ramps to a turning point: half of the first, and the first half of a reversal


@dataclass(frozen=True)
class SweepMotion:
    """
    A sweep of n joints in S stages.

    joint_names : (n,); middle : (n,) positions that every stage begins and ends at [rad or m]
    speeds : (n, S) of every joint in every stage, the sign says which way first [rad/s or m/s]
    leg : at one constant speed [s]; ramp : from rest to any speed, half that of a reversal [s]
    """

    joint_names: tuple[str, ...]
    middle: np.ndarray
    speeds: np.ndarray
    leg: float
    ramp: float

    def __post_init__(self):
        for name in ('middle', 'speeds'):
            array = np.array(getattr(self, name), dtype=float)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def stage(self) -> float:
        """Return the duration of a stage [s]."""
        return 2.0 * self.leg + 7.0 * self.ramp

    @property
    def period(self) -> float:
        """Return the duration of all stages [s]."""
        return self.stage * self.speeds.shape[1]

    @property
    def start(self) -> np.ndarray:
        """Return the position (n,) at the start and end of every stage."""
        return self.middle

    @property
    def reach(self) -> np.ndarray:
        """Return how far (n,) each joint goes to either side of the middle [rad or m]."""
        return np.abs(self.speeds).max(1) * (0.5 * self.leg + REACH * self.ramp)

    def at(self, times: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return (q, v, a), each (N, n), at times (N,) [s]."""
        times = np.mod(np.asarray(times, dtype=float), self.period)
        stage = np.minimum((times / self.stage).astype(int), self.speeds.shape[1] - 1)
        shares = self._profile(times - stage * self.stage)
        scale = self.speeds.T[stage]
        q, v, a = (share[:, None] * scale for share in shares)
        return self.middle + q, v, a

    def _profile(self, t):
        """Return way [s], speed and acceleration [1/s] (N,) of a stage at speed 1."""
        r, leg = self.ramp, self.leg
        begins = np.array([0.0, r + 0.5 * leg, 4.0 * r + 1.5 * leg, 6.0 * r + 2.0 * leg])
        way, speed, change = np.zeros((3, len(t)))
        for begin, step, length in zip(begins, (1.0, -2.0, 2.0, -1.0), (r, 2 * r, 2 * r, r)):
            x = np.clip((t - begin) / length, 0.0, 1.0)
            past = np.maximum(t - begin - length, 0.0)
            way += step * (length * (2.5 * x ** 4 - 3.0 * x ** 5 + x ** 6) + past)
            speed += step * (10.0 * x ** 3 - 15.0 * x ** 4 + 6.0 * x ** 5)
            change += step / length * 30.0 * x ** 2 * (1.0 - x) ** 2
        return way, speed, change

    def to_dict(self) -> dict[str, Any]:
        """Return the motion as plain lists, middle and speeds by joint name."""
        return {'kind': KIND, 'leg': float(self.leg), 'ramp': float(self.ramp), 'joints': {
            name: {'middle': float(q), 'speeds': [float(x) for x in row]}
            for name, q, row in zip(self.joint_names, self.middle, self.speeds)}}


def sweep_from_dict(content: Mapping[str, Any], source: str = 'motion') -> SweepMotion:
    """Return the SweepMotion of what ``to_dict`` made; MotionError when it is none."""
    names, (leg, ramp), (middle, speeds) = read_joints(
        content, ('middle', 'speeds'), ('leg', 'ramp'), source)
    if middle.ndim != 1 or speeds.ndim != 2:
        raise MotionError(f'{source} has unequal speeds', expected='as many everywhere')
    return SweepMotion(names, middle, speeds, leg, ramp)


def sweep_about(joint_names: Sequence[str], middle: np.ndarray, speeds: Sequence[float],
                leg: float, accelerations: np.ndarray) -> SweepMotion:
    """
    Return the SweepMotion about a posture ``middle`` (n,) [rad or m].

    speeds : (S,) [rad/s]; in every stage neighbours go at different ones, and the other way
    leg : see SweepMotion; accelerations : (n,) that are kept, which decides the ramp
    """
    count, row = len(joint_names), np.asarray(speeds, dtype=float)
    each = np.array([np.roll(row, -j) * (-1.0) ** j for j in range(count)])
    # a quintic's steepest slope is 1.875 of its mean; a reversal has twice the change and length
    ramp = float((1.875 * row.max() / accelerations).max())
    return SweepMotion(tuple(joint_names), middle, each, leg, max(ramp, 0.1))
