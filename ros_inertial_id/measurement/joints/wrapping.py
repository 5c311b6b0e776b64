"""
Wrapping: joints that turn without end and are reported within one turn.

A step of nearly one turn between two messages is no motion: it is taken back, for good.  Across a
gap nothing is known of what was turned, and nothing is changed.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..interpolation import LONGEST_GAP
from ..recording import Channel

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
        if self._steady(channel, position):
            return channel
        out = position.copy()
        for joint in self._joints:
            if joint in channel.names:
                self._follow(joint, channel.stamp_ns * 1e-9, out[:, channel.names.index(joint)])
        return replace(channel, fields={**channel.fields, 'position': out}) \
            if self.counts else channel

    def _steady(self, channel, position):
        """Return whether no joint wraps here or did before; remember the last message then."""
        if self.counts or not set(self._joints) <= set(channel.names) or (
                len(self._last) < len(self._joints) or not len(position)):
            return False
        q = position[:, [channel.names.index(joint) for joint in self._joints]]
        before = np.array([[self._last[joint][1] for joint in self._joints]])
        steps = np.diff(np.concatenate([before, q]), axis=0)
        if not (np.abs(steps) < TURN - MOST).all():  # nor is one not a number
            return False
        stamp = float(channel.stamp_ns[-1] * 1e-9)
        for joint, place, step in zip(self._joints, q[-1].tolist(), steps[-1].tolist()):
            self._last[joint] = stamp, place, 0.0, step
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
