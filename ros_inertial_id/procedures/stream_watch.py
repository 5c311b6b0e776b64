"""
Stream watch: the checks of channels on the newest seconds of live topics, now and then.

Two stretches in a row overlap by half, so what lasts for a second lies wholly in one of them.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Sequence

import numpy as np

from ..checks.channel_checks import channel_checks
from ..checks.finding import Finding, NOTE
from ..measurement.recording import Channel, joined, Recording
from ..measurement.sampling import LONGEST_GAP, longest_gap

STRETCH = 4.0  # [s] that are looked at together
EVERY = 2.0  # [s] from one look to the next
SAID = 10.0  # [s] for which what was found is said
FEW = 20  # Channels that show how often a topic is published
SMALL = 64  # samples: so many Channels of fewer are joined, as each costs time in a look


class StreamWatch:
    """
    What is wrong with topics while their messages come.

    urdf : text of the description with the limits of the joints; '' where there is none
    besides : topics that are not looked at: of commands, which may stand still and jump
    aside : look in a thread, so that ``add`` never waits for the some 20 ms that a look takes
    """

    def __init__(self, urdf: str = '', besides: Sequence[str] = (), aside: bool = False) -> None:
        self._urdf, self._besides = urdf, besides
        self._thread = ThreadPoolExecutor(1) if aside else None
        self._kept: dict[str, list[Channel]] = {}
        self._looked: dict[str, float] = {}
        self._look: Future | None = None  # that is under way: another waits for its end
        self._found: dict[tuple[str, tuple[str, ...]], tuple[float, Finding]] = {}
        self._newest = -np.inf

    def add(self, channel: Channel) -> None:
        """Take a ``channel`` of new samples and look when it is time to."""
        if self._look is not None and self._look.done():
            self._found.update(self._look.result())
            self._look = None
        if not len(channel) or channel.topic in self._besides:
            return
        now = float(channel.stamp_ns.max()) * 1e-9
        parts = self._kept.setdefault(channel.topic, [])
        if parts and _interrupted(parts, channel):
            parts.clear()
            self._looked[channel.topic] = self._newest = now
        parts.append(channel)
        if len(parts) >= SMALL and len(parts[-SMALL]) < SMALL:
            parts[-SMALL:] = [joined(parts[-SMALL:])]
        self._newest = max(self._newest, now)
        if (
            self._look is None
            and now >= self._looked.setdefault(channel.topic, now - 0.5 * EVERY) + EVERY
        ):
            self._looked[channel.topic] = now
            self._kept[channel.topic] = [
                part for part in parts if part.stamp_ns[-1] > (now - STRETCH + EVERY) * 1e9
            ]
            if self._thread is None:
                self._found.update(_look(parts, now, self._urdf))
            else:
                self._look = self._thread.submit(_look, parts, now, self._urdf)

    def findings(self) -> list[Finding]:
        """Return what was found in the last SAID seconds; its windows are stamps [s]."""
        self._found = {
            key: (t, finding)
            for key, (t, finding) in self._found.items()
            if t > self._newest - SAID
        }
        return [finding for _, finding in self._found.values()]


def _interrupted(parts, channel):
    """Return whether a gap, or a clock that was set anew, lies between Channels and a new one."""
    gap = float(channel.stamp_ns.min() - parts[-1].stamp_ns.max()) * 1e-9
    if -STRETCH < gap < LONGEST_GAP:
        return False
    steps = np.diff(np.concatenate([part.stamp_ns for part in parts[:FEW]])) * 1e-9
    return gap <= -STRETCH or (len(steps) > 0 and gap >= longest_gap(steps))


def _look(parts, now, urdf):
    """Return {key: (now, Finding)} of the last STRETCH before ``now`` [s] of Channels."""
    whole = joined(parts)
    whole = whole.rows(np.flatnonzero(whole.stamp_ns > (now - STRETCH) * 1e9))
    start = float(whole.stamp_ns.min()) * 1e-9
    return {
        (f.name, f.joints): (
            now,
            replace(f, windows=tuple((start + a, start + b) for a, b in f.windows)),
        )
        for f in channel_checks(Recording({whole.topic: whole}, urdf))
        if f.severity != NOTE
    }
