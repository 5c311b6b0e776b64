"""
Stream watch: the checks of channels on the newest seconds of live topics, now and then.

Two looks in a row overlap by a second, so what lasts as long lies wholly in one of them.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from ..checks.channel_checks import channel_checks
from ..checks.finding import Finding, NOTE
from ..measurement.recording import Channel, joined, Recording
from ..measurement.sampling import LONGEST_GAP, longest_gap

LOOKED_AT = 4.0  # [s] that are looked at together
LOOK_PERIOD = 3.0  # [s] from one look to the next
REPEATED_FOR = 10.0  # [s] for which what was found is said
RATE_CHANNELS = 20  # Channels that show how often a topic is published
SMALL_CHANNEL = 64  # samples: so many Channels of fewer are joined, as each costs time in a look
Findings = dict[tuple[str, tuple[str, ...]], tuple[float, Finding]]  # name, joints: when, what


@dataclass
class _Topic:
    """Channels that came on a topic in the last seconds, and the stamp [s] of the last look."""

    looked: float
    parts: list[Channel] = field(default_factory=list)

    def begin_anew(self, now: float) -> None:
        """Forget what came before, and look a while after ``now`` [s]."""
        self.parts.clear()
        self.looked = now

    def add(self, channel: Channel) -> None:
        """Take a ``channel``."""
        self.parts.append(channel)
        if len(self.parts) >= SMALL_CHANNEL and len(self.parts[-SMALL_CHANNEL]) < SMALL_CHANNEL:
            self.parts[-SMALL_CHANNEL:] = [joined(self.parts[-SMALL_CHANNEL:])]

    def taken(self, now: float) -> list[Channel]:
        """Return the Channels to look at ``now`` [s], and keep those of the next look."""
        parts = self.parts
        oldest = (now - LOOKED_AT + LOOK_PERIOD) * 1e9
        self.looked = now
        self.parts = [part for part in parts if part.stamp_ns[-1] > oldest]
        return parts


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
        self._topics: dict[str, _Topic] = {}
        self._look: Future | None = None  # that is under way: another waits for its end
        self._findings: Findings = {}
        self._newest = -np.inf

    def add(self, channel: Channel) -> None:
        """Take a ``channel`` of new samples and look when it is time to."""
        self._take_findings()
        if not len(channel) or channel.topic in self._besides:
            return
        now = float(channel.stamp_ns.max()) * 1e-9
        first_look = now - 0.5 * LOOK_PERIOD
        topic = self._topics.setdefault(channel.topic, _Topic(first_look))
        if topic.parts and _interrupted(topic.parts, channel):
            topic.begin_anew(now)
            self._newest = now
        topic.add(channel)
        self._newest = max(self._newest, now)
        if self._look is None and now >= topic.looked + LOOK_PERIOD:
            self._begin_look(topic.taken(now), now)

    def _begin_look(self, parts: list[Channel], now: float) -> None:
        """Look at Channels, in the thread where there is one."""
        if self._thread is None:
            self._findings.update(_look(parts, now, self._urdf))
        else:
            self._look = self._thread.submit(_look, parts, now, self._urdf)

    def _take_findings(self) -> None:
        """Take what a look in the thread has found."""
        if self._look is not None and self._look.done():
            self._findings.update(self._look.result())
            self._look = None

    def findings(self) -> list[Finding]:
        """Return what was found in the last REPEATED_FOR seconds; its windows are stamps [s]."""
        oldest = self._newest - REPEATED_FOR
        self._findings = {key: item for key, item in self._findings.items() if item[0] > oldest}
        return [finding for _, finding in self._findings.values()]


def _interrupted(parts: list[Channel], channel: Channel) -> bool:
    """Return whether a gap, or a clock that was set anew, lies between Channels and a new one."""
    gap = float(channel.stamp_ns.min() - parts[-1].stamp_ns.max()) * 1e-9
    if gap <= -LOOKED_AT:
        return True
    if gap < LONGEST_GAP:
        return False
    stamps = np.concatenate([part.stamp_ns for part in parts[:RATE_CHANNELS]])
    return len(stamps) > 1 and gap >= longest_gap(np.diff(stamps) * 1e-9)


def _look(parts: list[Channel], now: float, urdf: str) -> Findings:
    """Return the Findings in the last seconds before ``now`` [s] of the Channels of a topic."""
    channel = joined(parts)
    recent = np.flatnonzero(channel.stamp_ns > (now - LOOKED_AT) * 1e9)
    channel = channel.rows(recent)
    start = float(channel.stamp_ns.min()) * 1e-9
    findings: Findings = {}
    for finding in channel_checks(Recording({channel.topic: channel}, urdf)):
        if finding.severity == NOTE:
            continue
        windows = tuple((start + a, start + b) for a, b in finding.windows)
        findings[finding.name, finding.joints] = now, replace(finding, windows=windows)
    return findings
