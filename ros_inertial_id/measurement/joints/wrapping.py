"""
Wrapping: joints that turn without end and are reported within one turn.

A step of nearly one turn between two messages is no motion: it is taken back, for good.  Across a
gap nothing is known of what was turned, and nothing is changed.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..interpolation import LONGEST_GAP
from ..large_arrays import page_out
from ..recording import Channel

PIECE = 65_536  # messages that are looked at together
TURN = 2.0 * np.pi
MOST = 1.0  # [rad] that a joint really moves between two messages


class Unwrapper:
    """
    Follows ``joints`` through successive Channels of joint states, those that wrap without jumps.

    counts : {joint: how often it wrapped}
    """

    def __init__(self, joints: Sequence[str]):
        self.counts: dict[str, int] = {}
        self._joints = tuple(joints)
        # Of the last message: stamp [s], position, turned, step [rad].
        self._last: dict[str, tuple[float, float, float, float]] = {}

    def __call__(self, channel: Channel) -> Channel:
        """Return the ``channel`` with positions that go on where they wrapped."""
        position = channel.fields.get('position')
        if position is None:
            return channel
        columns = {joint: channel.names.index(joint) for joint in self._joints
                   if joint in channel.names}
        out = position  # copied where the first joint wraps: hours of positions are large
        for low in range(0, len(position), PIECE):
            page_out()
            part = slice(low, low + PIECE)
            t, q = channel.stamp_ns[part] * 1e-9, position[part]
            if self._steady(columns, t, q):
                continue
            q = q.copy()
            for joint, column in columns.items():
                self._follow(joint, t, q[:, column])
            if self.counts:
                out = position.copy() if out is position else out
                out[part] = q
        return replace(channel, fields={**channel.fields, 'position': out}) \
            if self.counts else channel

    def _steady(self, columns, t, position):
        """Return whether no joint wraps here or did before; remember the last message then."""
        if self.counts or not len(columns) == len(self._joints) == len(self._last):
            return False
        q = position[:, list(columns.values())]
        before = np.array([[self._last[joint][1] for joint in columns]])
        steps = np.diff(np.concatenate([before, q]), axis=0)
        if not (np.abs(steps) < TURN - MOST).all():  # nor is one not a number
            return False
        for joint, place, step in zip(columns, q[-1].tolist(), steps[-1].tolist()):
            self._last[joint] = float(t[-1]), place, 0.0, step
        return True

    def _follow(self, joint, t, q):
        """Add to positions q (N,) of a joint the turns that it made, and remember them."""
        rows = np.flatnonzero(np.isfinite(q))
        if not len(rows):
            return
        stamp, place, turned, before = self._last.get(joint, (t[rows[0]], q[rows[0]], 0.0, 0.0))
        known = np.diff(t[rows], prepend=stamp) <= LONGEST_GAP
        steps = np.where(known, np.diff(q[rows], prepend=place), 0.0)
        before = np.append(before, steps[:-1])
        # What is fast goes on: a wrap follows small steps, or the wrap of noise at the seam.
        jumps = (np.abs(np.abs(steps) - TURN) < MOST) & (
            (np.abs(before) < MOST) | (np.abs(before + steps) < MOST))
        turns = turned - TURN * np.cumsum(np.sign(steps) * jumps)
        self._last[joint] = (t[rows[-1]], q[rows[-1]], float(turns[-1]), float(steps[-1]))
        if jumps.any():
            self.counts[joint] = self.counts.get(joint, 0) + int(jumps.sum())
        if self.counts:
            q[rows] += turns
