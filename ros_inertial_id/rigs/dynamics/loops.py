"""
Loops of a mechanism, each judged in units of its own: how far they are from a singularity.

Columns of the dependent Jacobian are measured in the moment arms that the joints have about what
they close, so neither the size of the machine nor the limits of a slide matter.  Loops that can
be solved one after the other (a palletiser's parallelograms) are blocks of a triangular system:
each is singular on its own.  The smallest singular value of a block means nothing by itself (the
regular postures of machines differ by a hundred), so it counts relative to the best that the
mechanism reaches.  Sources: Gosselin and Angeles 1990; Pothen and Fan 1990 (block triangular).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from .closure import constraint, Coupling, FrameClosure, POSITION_ROWS
from ...dynamics.robot_model import RobotModel

FULL_RANK = 1e-7       # relative singular values of a Jacobian above it are structure
POSTURES = 32          # random postures of the open tree that show the moment arms
MOST = 3               # closures of one block that are looked for; what is left is one block


@dataclass(frozen=True)
class Loop:
    """
    Closures that are solved together: rows of C, dependent joints as columns of their Jacobian.

    best : largest of the smallest singular values that were reached; 1 until they are known
    """

    rows: np.ndarray
    columns: np.ndarray
    best: float = 1.0

    def smallest(self, A: np.ndarray) -> np.ndarray:
        """Return the smallest singular values (B,) of scaled dependent Jacobians A (B, m, d)."""
        part = A[:, self.rows[:, None], self.columns]
        values = np.linalg.eigvalsh(np.swapaxes(part, 1, 2) @ part)
        return np.sqrt(np.clip(values[:, 0], 0.0, None))


def moment_arms(robot: RobotModel, closures: Sequence[FrameClosure | Coupling],
                q: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """
    Return lengths (n,) of joints [m/rad, 1], of closure rows (m,) [m, 1], and the loops' size [m].

    What one unit of a joint moves, at random postures of the open tree, sliders as in q (n,).
    robot : RobotModel of the tree; closures : as parsed
    """
    slide = np.asarray(robot.prismatic)
    rng = np.random.default_rng(0)
    postures = np.where(slide, q, rng.uniform(-np.pi, np.pi, (POSTURES, len(q))))
    J = constraint(robot, closures, postures)[1]
    arms, turns, row = np.zeros(len(q)), np.zeros(len(q)), 0
    for closure in closures:
        if isinstance(closure, FrameClosure):
            places = len(POSITION_ROWS[closure.kind])
            part = _norms(J[:, row:row + places])
            arms = np.maximum(arms, part)
            turns = np.maximum(turns, _norms(J[:, row + places:row + closure.rows()]))
        row += closure.rows()
    seen = ~slide & (arms > FULL_RANK * max(arms.max(initial=0.0), 1e-300))
    size = float(np.median(arms[seen])) if seen.any() else robot.reach()
    lengths = np.hypot(arms, size * turns)
    idle = lengths <= FULL_RANK * size
    lengths[idle] = np.where(slide[idle], 1.0, size)  # in no loop, or in couplings alone
    return lengths, _row_lengths(closures, lengths, size), size


def _norms(J):
    return np.sqrt((J ** 2).sum(1).mean(0))


def _row_lengths(closures, lengths, size):
    """Return what makes metres of every row (m,) of the closures, of angles too."""
    out: list[float] = []
    for closure in closures:
        if isinstance(closure, Coupling):
            out.append(lengths[closure.first])
        else:
            places = len(POSITION_ROWS[closure.kind])
            out += [1.0] * places + [size] * (closure.rows() - places)
    return np.array(out)


def separate_loops(closures: Sequence[Any], A: np.ndarray) -> tuple[Loop, ...]:
    """
    Return the Loops of a scaled dependent Jacobian A (m, d) of a regular posture.

    closures : whose rows these are, in order.  Closures whose rank is the number of dependent
    joints that no loop before has solved are a Loop, the smallest sets first.
    """
    ends = np.cumsum([0, *(c.rows() for c in closures)])
    rows = [np.arange(a, b) for a, b in zip(ends, ends[1:])]
    weight = np.abs(A)
    tolerance = FULL_RANK * weight.max(initial=0.0)
    unsolved, left, out = set(range(A.shape[1])), list(range(len(closures))), []
    while unsolved and left:
        chosen = _solvable(A, rows, left, unsolved, tolerance)
        part = np.concatenate([rows[k] for k in chosen])
        columns = sorted(j for j in unsolved if weight[part, j].max() > tolerance)
        if columns:
            out.append(Loop(part, np.array(columns)))
        unsolved -= set(columns)
        left = [k for k in left if k not in chosen]
    return tuple(out)


def _solvable(A, rows, left, unsolved, tolerance):
    """Return the fewest closures of ``left`` that determine all unsolved joints they move."""
    for count in range(1, min(MOST, len(left) - 1) + 1):
        for chosen in combinations(left, count):
            part = np.concatenate([rows[k] for k in chosen])
            columns = [j for j in unsolved if np.abs(A[part, j]).max() > tolerance]
            block = A[np.ix_(part, columns)]
            if not columns or np.linalg.matrix_rank(block, tolerance) == len(columns):
                return chosen
    return tuple(left)


def dexterity(loops: Sequence[Loop], A: np.ndarray) -> np.ndarray:
    """
    Return how far postures (B,) are from singular: 1 the best that was reached, 0 a dead centre.

    loops : of the mechanism; A : (B, m, d) scaled dependent Jacobians
    """
    if not loops:
        return np.ones(len(A))
    return np.minimum.reduce([loop.smallest(A) / loop.best for loop in loops])
