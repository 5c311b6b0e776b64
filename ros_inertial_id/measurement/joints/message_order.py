"""
Order of messages: written in another order than they are stamped, or by a clock set back.

A recorder or a network may exchange messages that are less than a second apart.  Sorted, their
motion goes a shorter way; that of two publishers, or of a clock that was set back, a longer one.
"""

from dataclasses import dataclass

import numpy as np

from ..recording import Channel
from ..signals import longest_run

LONGEST_DISORDER = 1.0  # [s] between the places of a message in time and in the recording
SHORTER = 0.9  # of the way in the order of the recording that sorted messages go at most
STANDSTILL = 1e-3  # [rad or m] of a way in all: a robot at rest does not show the order
LONGEST_SHARE = 0.8  # of the messages between two steps back, which stand for all


@dataclass(frozen=True)
class InOrder:
    """
    Messages in the order of their stamps, as far as that is known.

    channel : of them, as recorded where nothing was changed
    moved : how many were elsewhere in the recording; late : the farthest of them [s]
    left_out : how many lie before or behind steps back of the clock; back : the largest step [s]
    """

    channel: Channel
    moved: int = 0
    late: float = 0.0
    left_out: int = 0
    back: float = 0.0


def in_order(channel: Channel) -> InOrder:
    """
    Return the messages of a ``channel`` of joint states in order.

    Sorted by their stamps where that makes the motion a shorter one; else the longest part that
    runs forwards, where that is most of it; else as they are, which whoever reads them refuses.
    """
    stamps = channel.stamp_ns
    steps = np.diff(stamps)
    if not (steps < 0).any():
        return InOrder(channel)
    order = np.argsort(stamps, kind='stable')
    late = float((np.maximum.accumulate(stamps) - stamps).max()) * 1e-9
    if late < LONGEST_DISORDER and _is_shorter(channel, order):
        elsewhere = int((order != np.arange(len(order))).sum())
        return InOrder(channel.rows(order), moved=elsewhere, late=late)
    run = longest_run(stamps)
    left_out = len(stamps) - (run.stop - run.start)
    if left_out > (1.0 - LONGEST_SHARE) * len(stamps):
        return InOrder(channel)
    return InOrder(channel.rows(run), left_out=left_out, back=float(-steps.min()) * 1e-9)


def _is_shorter(channel: Channel, order: np.ndarray) -> bool:
    """Return whether the motion goes a shorter way in an ``order`` (N,) than as recorded."""
    values = channel.fields.get('position', channel.fields.get('effort'))
    if values is None:
        return False
    changed = order != np.arange(len(order))
    near = np.flatnonzero(changed[1:] | changed[:-1])  # steps from or to what is elsewhere
    recorded = _way(values[near], values[near + 1])
    in_time = _way(values[order[near]], values[order[near + 1]])
    return in_time < max(SHORTER * recorded, STANDSTILL)


def _way(start: np.ndarray, end: np.ndarray) -> float:
    """Return the way of all joints between samples ``start`` and ``end`` (N, n)."""
    return float(np.nansum(np.abs(end - start)))
