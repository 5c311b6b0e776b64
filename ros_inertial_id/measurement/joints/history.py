"""
History: where n joints turned before the samples at hand.

Friction with a memory (Dahl 1968) is the same whether a motion is read at once, piece by piece or
while it runs, if each piece knows the way before it.  Of that way only the reversals count.
"""

from dataclasses import dataclass

import numpy as np

MOST = 256  # rows; of more the smallest reversals are left out: noise at rest moves no friction


@dataclass(frozen=True)
class History:
    """
    The way of n joints, in order of time, rows in between left out where no joint turns.

    q, v : (m, n) positions [rad, m] and velocities, of which only the direction is kept
    """

    q: np.ndarray
    v: np.ndarray

    @classmethod
    def none(cls, joints: int) -> 'History':
        """Return the History of so many ``joints`` of which nothing is known."""
        return cls(np.empty((0, joints)), np.empty((0, joints)))

    def extended(self, q: np.ndarray, v: np.ndarray) -> 'History':
        """Return the History that goes on with samples q, v (N, n)."""
        q, v = np.concatenate([self.q, q]), np.concatenate([self.v, np.sign(v)])
        if len(q) > 2:
            step = np.sign(np.diff(q, axis=0))
            turns = (step[1:] != step[:-1]) | (v[2:] != v[1:-1])
            keep = np.r_[True, turns.any(axis=1), True]
            q, v = q[keep], v[keep]
        while len(q) > MOST:
            q, v = _without_smallest(q, v)
        return History(q, v)


def _without_smallest(q, v):
    """Return q, v without the quarter of the reversals on which the least way is lost."""
    step = np.diff(q, axis=0)
    lost = np.abs(step[:-1]) + np.abs(step[1:]) - np.abs(step[:-1] + step[1:])
    inner = np.arange(1, len(q) - 1, 2)  # no two that follow one another
    smallest = inner[np.argsort(lost.max(axis=1)[inner - 1], kind='stable')[:len(q) // 4]]
    v = v.copy()
    v[smallest + 1] = 0.0  # the direction there is that of the step
    return np.delete(q, smallest, axis=0), np.delete(v, smallest, axis=0)
