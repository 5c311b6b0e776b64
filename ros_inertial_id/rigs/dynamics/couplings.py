"""
What linear couplings determine by themselves: motors, winches and screws without any loop.

Such a joint follows from the others by one line, however far it turns between two samples, and
turns as often as it likes.  Where it is the independent coordinate, the mechanism moves little
with a radian of it: a screw of 1 mm lead makes 6283 of them to the metre.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .closure import Coupling, FrameClosure
from ...dynamics.robot_model import RobotModel


@dataclass(frozen=True)
class Follower:
    """A joint at offset + ratios (n,) q, the ratio of itself being 0."""

    joint: int
    ratios: np.ndarray
    offset: float

    def at(self, q: np.ndarray) -> np.ndarray:
        """Return its position (B,) where the others are at q (B, n)."""
        return self.offset + q @ self.ratios


def solved(coupling: Coupling, joint: int, count: int) -> Follower:
    """Return a ``joint`` of a Coupling among ``count`` joints, by the others of it."""
    row = np.zeros(count)
    row[coupling.joint] = 1.0
    row[list(coupling.others)] -= coupling.ratios
    ratio, row[joint] = row[joint], 0.0
    return Follower(joint, -row / ratio, coupling.offset / ratio)


def couplings_of(closures: Sequence[FrameClosure | Coupling]) -> list[Coupling]:
    """Return those of ``closures`` that are Couplings."""
    return [c for c in closures if isinstance(c, Coupling)]


def members(coupling: Coupling) -> tuple[int, ...]:
    """Return the joints of a Coupling."""
    return (coupling.joint, *coupling.others)


def in_loops(robot: RobotModel, closures: Sequence[FrameClosure | Coupling]) -> np.ndarray:
    """Return which joints (n,) lie between the frames of a closure."""
    out = np.zeros(len(robot), dtype=bool)
    frames = [c for c in closures if isinstance(c, FrameClosure)]
    for joint in range(len(robot)):
        below = robot.subtree(joint)
        out[joint] = any((c.first.body in below) != (c.second.body in below) for c in frames)
    return out


def followers(
    robot: RobotModel, closures: Sequence[FrameClosure | Coupling], dependent: Sequence[int]
) -> tuple[tuple[Follower, ...], list[int]]:
    """
    Return the Followers among ``dependent`` joints in order, and joints of other couplings.

    A Follower is in no loop and in no coupling but those that are solved after its own.
    """
    free = set(dependent) - set(np.flatnonzero(in_loops(robot, closures)))
    unsolved = couplings_of(closures)
    solutions: list[Follower] = []  # the last is solved first: others follow from it
    while (solvable := _solvable(unsolved, free)) is not None:
        coupling, joint = solvable
        solutions.append(solved(coupling, joint, len(robot)))
        unsolved.remove(coupling)
    return tuple(reversed(solutions)), [j for c in unsolved for j in members(c)]


def _solvable(couplings, free):
    """Return the first Coupling with a joint among ``free`` and in no other, and it, or None."""
    shared = Counter(j for c in couplings for j in set(members(c)))
    for coupling in couplings:
        for joint in members(coupling):
            if joint in free and shared[joint] == 1:
                return coupling, joint
    return None


def gearing(
    robot: RobotModel,
    closures: Sequence[FrameClosure | Coupling],
    independent: Sequence[int],
    R: np.ndarray,
    size: float,
) -> np.ndarray:
    """
    Return ratios (k,) of the way of independent coordinates to that of what couplings move.

    1 of all but those that are in a coupling and in no loop.  R (n, k) : rates of all joints by
    theirs; size : [m] of the loops, that a slide goes where a joint turns by a radian
    """
    looped, out = in_loops(robot, closures), np.ones(len(independent))
    coupled = np.zeros(len(robot), dtype=bool)
    for coupling in couplings_of(closures):
        coupled[list(members(coupling))] = True
    unit = np.where(robot.prismatic, size, 1.0)
    for k, i in enumerate(independent):
        if looped[i] or not coupled[i]:
            continue
        moved = coupled & (np.abs(R[:, k]) > 0.0)
        moved[i] = False
        if (moved & looped).any():
            moved = moved & looped
        if moved.any():
            out[k] = max(1.0, np.min(unit[moved] / np.abs(R[moved, k])) / unit[i])
    return out
