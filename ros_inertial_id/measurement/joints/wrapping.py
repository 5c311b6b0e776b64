"""Wrapping: positions that a driver reports within one turn go on where they wrapped."""

from dataclasses import dataclass, replace
from typing import Sequence

import numpy as np

from .channels import ROWS_AT_ONCE
from ..recording import Channel, page_out

TURN = 2.0 * np.pi
WRAP_GAP = 0.5  # [s] between messages across which a turn may hide
LARGEST_WRAP_STEP = 1.0  # [rad] that a joint which wraps moves between two messages


@dataclass(frozen=True)
class Followed:
    """
    The last message of a joint.

    t : [s]; position, turned, step : as reported, turns added to it, way from the one before [rad]
    """

    t: float
    position: float
    turned: float
    step: float


class Unwrapper:
    """
    Takes steps of nearly one turn between two messages back, in successive Channels.

    Across a gap nothing is known and nothing is changed.  counts : {joint: how often it wrapped}
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self.counts: dict[str, int] = {}
        self._joints = tuple(joints)
        self._last: dict[str, Followed] = {}

    def __call__(self, channel: Channel) -> Channel:
        """Return the ``channel`` with positions that go on where they wrapped."""
        position = channel.fields.get('position')
        if position is None:
            return channel
        columns = {
            joint: channel.names.index(joint) for joint in self._joints if joint in channel.names
        }
        unwrapped = position  # copied where the first joint wraps: hours of positions are large
        for low in range(0, len(position), ROWS_AT_ONCE):
            page_out()
            rows = slice(low, low + ROWS_AT_ONCE)
            t = channel.stamp_ns[rows] * 1e-9
            if self._is_steady(columns, t, position[rows]):
                continue
            followed = self._followed(columns, t, position[rows])
            if not self.counts:
                continue
            if unwrapped is position:
                unwrapped = position.copy()
            unwrapped[rows] = followed
        if not self.counts:
            return channel
        return replace(channel, fields={**channel.fields, 'position': unwrapped})

    def _is_steady(self, columns: dict[str, int], t: np.ndarray, position: np.ndarray) -> bool:
        """Return whether no joint wraps here or did before; remember the last message then."""
        if self.counts or len(columns) < len(self._joints):
            return False
        if self._last and len(self._last) < len(columns):
            return False
        q = position[:, list(columns.values())]
        before = q[:1]
        if self._last:
            before = np.array([[self._last[joint].position for joint in columns]])
        steps = np.diff(np.concatenate([before, q]), axis=0)
        if not (np.abs(steps) < TURN / 2).all():  # nor is one not a number
            return False
        for joint, last, step in zip(columns, q[-1].tolist(), steps[-1].tolist()):
            self._last[joint] = Followed(t[-1], last, 0.0, step)
        return True

    def _followed(
        self, columns: dict[str, int], t: np.ndarray, position: np.ndarray
    ) -> np.ndarray:
        """Return positions (N, k), those of the joints in ``columns`` with their turns."""
        position = position.copy()
        for joint, column in columns.items():
            self._add_turns(joint, t, position[:, column])
        return position

    def _add_turns(self, joint: str, t: np.ndarray, q: np.ndarray) -> None:
        """Add to positions q (N,) of a joint the turns that it made, and remember them."""
        rows = np.flatnonzero(np.isfinite(q))
        if not len(rows):
            return
        t, reported = t[rows], q[rows]
        last = self._last.get(joint, Followed(t[0], reported[0], 0.0, 0.0))
        seconds = np.diff(t, prepend=last.t)
        steps = np.where(seconds <= WRAP_GAP, np.diff(reported, prepend=last.position), 0.0)
        jumps = _jumps(steps, np.append(last.step, steps[:-1]))
        turns = last.turned - TURN * np.cumsum(np.sign(steps) * jumps)
        self._last[joint] = Followed(t[-1], reported[-1], float(turns[-1]), float(steps[-1]))
        if jumps.any():
            self.counts[joint] = self.counts.get(joint, 0) + int(jumps.sum())
        if self.counts:
            q[rows] += turns


def _jumps(steps: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return which steps (N,) are no motion but a wrap; before : (N,) the one before each."""
    across_the_seam = steps - TURN * np.sign(steps)
    # A fast motor turns as far between messages: a wrap follows small steps, or the wrap of noise
    # at the seam.
    slow = (np.abs(before) < LARGEST_WRAP_STEP) | (np.abs(before + steps) < LARGEST_WRAP_STEP)
    return (np.abs(steps) > TURN / 2) & (np.abs(across_the_seam) < LARGEST_WRAP_STEP) & slow
