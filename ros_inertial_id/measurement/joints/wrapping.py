"""
Wrapping: joints that turn without end and are reported within one turn.

A step of nearly one turn between two messages is no motion: it is taken back, for good.  Across a
gap, longer than interpolation bridges, nothing is known of what was turned and nothing is changed.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..interpolation import LONGEST_GAP, PERIODS
from ..recording import Channel, page_out

PIECE = 65_536  # messages that are looked at together
RECENT = 20  # steps between messages that show the period of a stream, also where some are lost
TURN = 2.0 * np.pi
MOST = 1.0  # [rad] that a slow joint moves between two messages, and a fast one strays by


class Unwrapper:
    """
    Follows ``joints`` through successive Channels of joint states, those that wrap without jumps.

    counts : {joint: how often it wrapped}
    """

    def __init__(self, joints: Sequence[str]):
        self.counts: dict[str, int] = {}
        self._joints = tuple(joints)
        # Of the last message: position, turned, step [rad]; and stamps [s] of recent ones.
        self._last: dict[str, tuple[float, float, float]] = {}
        self._stamps: dict[str, np.ndarray] = {}

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
        before = np.array([[self._last[joint][0] for joint in columns]])
        steps = np.diff(np.concatenate([before, q]), axis=0)
        if not (np.abs(steps) < TURN / 2).all():  # nor is one not a number
            return False
        for joint, place, step in zip(columns, q[-1].tolist(), steps[-1].tolist()):
            self._last[joint] = place, 0.0, step
            self._remembered(joint, t)
        return True

    def _follow(self, joint, t, q):
        """Add to positions q (N,) of a joint the turns that it made, and remember them."""
        rows = np.flatnonzero(np.isfinite(q))
        if not len(rows):
            return
        place, turned, before = self._last.get(joint, (q[rows[0]], 0.0, 0.0))
        periods = _periods(np.diff(self._remembered(joint, t[rows])))
        steps = np.where(periods <= PERIODS, np.diff(q[rows], prepend=place), 0.0)
        before = np.append(before, steps[:-1])
        jumps = _jumps(steps, before, before * periods)
        turns = turned - TURN * np.cumsum(np.sign(steps) * jumps)
        self._last[joint] = (q[rows[-1]], float(turns[-1]), float(steps[-1]))
        if jumps.any():
            self.counts[joint] = self.counts.get(joint, 0) + int(jumps.sum())
        if self.counts:
            q[rows] += turns

    def _remembered(self, joint, t):
        """Return the RECENT and one stamps before t (N,) [s], and those; remember the last."""
        before = self._stamps.get(joint)
        stamps = np.concatenate([np.r_[[np.nan] * RECENT, t[0]] if before is None else before, t])
        self._stamps[joint] = stamps[-RECENT - 1:].copy()
        return stamps


def _periods(steps):
    """
    Return how many periods of the stream each message (N,) comes after the one before.

    steps : (RECENT + N,) [s], not a number before the first.  Up to LONGEST_GAP they count as one.
    """
    periods = np.ones(len(steps) - RECENT)
    late = np.flatnonzero(steps[RECENT:] > LONGEST_GAP)
    if len(late):
        recent = np.lib.stride_tricks.sliding_window_view(steps, RECENT)[late + 1]
        recent = np.sort(np.where(recent > 0.0, recent, np.nan), axis=1)
        # The lower median: of two steps the longer one may be a gap.
        middle = (np.isfinite(recent).sum(axis=1) - 1) // 2
        periods[late] = steps[RECENT + late] / recent[np.arange(len(late)), middle]
    return periods


def _jumps(steps, before, expected):
    """
    Return which steps (N,) are no motion but a wrap.

    steps, before : (N,) this one and the one before it; expected : (N,) at the speed before [rad]
    """
    left = steps - TURN * np.sign(steps)
    # What is fast goes on: a wrap follows small steps, or the wrap of noise at the seam, or leaves
    # the speed as it was, up to half a turn between messages: beyond that nobody sees the sense.
    slow = (np.abs(expected) < MOST) | (np.abs(before + steps) < MOST)
    fast = (np.abs(left - expected) < MOST) & (np.abs(expected) < TURN / 2)
    return (np.abs(steps) > TURN / 2) & ((np.abs(left) < MOST) & slow | fast)
