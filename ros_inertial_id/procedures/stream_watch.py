"""
Stream watch: the checks of channels on the newest seconds of live topics, now and then.

Two stretches in a row overlap by half, so what lasts for a second lies wholly in one of them.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .checkup.channel_checks import channel_checks
from .checkup.finding import Finding, NOTE
from ..measurement.interpolation import longest_gap
from ..measurement.recording import Channel, joined, Recording

STRETCH = 4.0  # [s] that are looked at together
EVERY = 2.0    # [s] from one look to the next
SAID = 10.0    # [s] for which what was found is said


class StreamWatch:
    """
    What is wrong with topics while their messages come.

    urdf : text of the description with the limits of the joints; '' where there is none
    """

    def __init__(self, urdf: str = '') -> None:
        self._urdf = urdf
        self._kept: dict[str, list[Channel]] = {}
        self._looked: dict[str, float] = {}
        self._found: dict[tuple[str, tuple[str, ...]], tuple[float, Finding]] = {}
        self._newest = -np.inf

    def add(self, channel: Channel) -> None:
        """Take a ``channel`` of new samples and look when it is time to."""
        if not len(channel):
            return
        now = float(channel.stamp_ns.max()) * 1e-9
        parts = self._kept.setdefault(channel.topic, [])
        first = float(channel.stamp_ns.min()) * 1e-9
        if parts and not -STRETCH < first - parts[-1].stamp_ns.max() * 1e-9 < longest_gap(
                np.diff(parts[0].stamp_ns) * 1e-9):
            parts.clear()  # a gap, or a clock that was set anew
            self._looked[channel.topic] = self._newest = now
        parts.append(channel)
        self._newest = max(self._newest, now)
        if now >= self._looked.setdefault(channel.topic, now - 0.5 * EVERY) + EVERY:
            self._looked[channel.topic] = now
            self._look(channel.topic, now)

    def _look(self, topic, now):
        """Check the last STRETCH of a topic and keep what the next look needs."""
        whole = joined(self._kept[topic])
        whole = whole.rows(np.flatnonzero(whole.stamp_ns > (now - STRETCH) * 1e9))
        self._kept[topic] = [whole.rows(np.flatnonzero(
            whole.stamp_ns > (now - STRETCH + EVERY) * 1e9))]
        start = float(whole.stamp_ns.min()) * 1e-9
        for finding in channel_checks(Recording({topic: whole}, self._urdf)):
            if finding.severity != NOTE:
                windows = tuple((start + a, start + b) for a, b in finding.windows)
                self._found[finding.name, finding.joints] = now, replace(finding, windows=windows)

    def findings(self) -> list[Finding]:
        """Return what was found in the last SAID seconds; its windows are stamps [s]."""
        self._found = {key: (t, finding) for key, (t, finding) in self._found.items()
                       if t > self._newest - SAID}
        return [finding for _, finding in self._found.values()]


def as_values(findings: list[Finding]) -> Mapping[str, str]:
    """Return {key: sentence} of ``findings`` for diagnostics."""
    return {f"fault {f.name} of {', '.join(f.joints)}": f.says for f in findings}
