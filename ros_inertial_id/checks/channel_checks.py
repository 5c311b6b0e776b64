"""
channel_checks: what the samples of a recording show by themselves, of any method, without a model.

For the answer of a recorder, for live windows, and for methods without model checks.  Every
channel is read in pieces, so memory beyond the recording itself is that of a few pieces.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .finding import Finding
from .raw_signals import not_finite, Quantity, RawSignals
from .sensor_checks import sensor_findings
from .signal_findings import signal_findings
from ..dynamics.robot_model import load_robot_model
from ..errors import InertialIdError
from ..measurement.joints.channels import JOINT_STATE
from ..measurement.recording import Channel, Recording

PIECE = 200_000  # samples that are looked at together
FEWEST = 20      # samples that show anything


def channel_checks(recording: Recording) -> list[Finding]:
    """
    Return the Findings on every channel of a ``recording``: stamps, values, and their relations.

    Joint states are checked like those of an arm: against the limits of the description where the
    recording has one.  No model is fitted; nothing is raised for bad data.
    """
    limits = _limits(recording.robot_description)
    streams = {topic: c for topic, c in recording.channels.items() if len(c) >= FEWEST}
    origin = recording.origin_ns() if streams else 0
    found: list[Finding] = []
    for channel in streams.values():
        pieces = [channel.rows(slice(k, k + PIECE)) for k in range(0, len(channel), PIECE)]
        per_piece = [_findings(piece, limits, origin) for piece in pieces if len(piece) >= FEWEST]
        found += merged([f for own in per_piece for f in own])
    return found


def _findings(channel: Channel, limits: dict[str, tuple[float, float]],
              origin: int) -> list[Finding]:
    if channel.type != JOINT_STATE:
        return list(sensor_findings(channel, origin))
    return not_finite(channel, channel.names, origin) + [
        f for signals in joint_signals(channel, limits, origin) for f in signal_findings(signals)]


def joint_signals(channel: Channel, limits: dict[str, tuple[float, float]],
                  origin: int) -> Iterator[RawSignals]:
    """
    Yield the RawSignals of joints that come in the same messages of a JointState ``channel``.

    limits : {joint: (lower, upper) position}, where they are known; origin : zero of time [ns]
    """
    whole = np.ones((len(channel), len(channel.names)), dtype=bool)
    for values in channel.fields.values():
        there = np.isfinite(values)
        whole &= there | ~there.any(axis=0)  # what is never published takes no part
    patterns: dict[bytes, list[int]] = {}
    for j in np.flatnonzero(whole.sum(axis=0) >= FEWEST):
        patterns.setdefault(whole[:, j].tobytes(), []).append(int(j))
    for columns in patterns.values():
        chosen = whole[:, columns[0]]
        rows: slice | np.ndarray = slice(None) if chosen.all() else chosen
        t = (channel.stamp_ns[rows] - origin) * 1e-9
        quantities = {name: Quantity(t, values[rows][:, columns])
                      for name, values in channel.fields.items()
                      if np.isfinite(values[rows][:, columns]).all()}
        if 'position' not in quantities:
            continue
        names = tuple(channel.names[j] for j in columns)
        lower, upper = np.array([limits.get(n, (np.nan, np.nan)) for n in names]).T
        yield RawSignals(names, quantities['position'], quantities.get('velocity'),
                         quantities.get('effort'), True, lower, upper,
                         np.zeros(len(names), dtype=bool))


def _limits(urdf: str) -> dict[str, tuple[float, float]]:
    """Return {joint: (lower, upper)} of a description, nothing where it has none to give."""
    try:
        robot = load_robot_model(urdf)
    except InertialIdError:
        return {}
    return {name: (low, high) for name, low, high, slides in zip(
        robot.joint_names, robot.lower.tolist(), robot.upper.tolist(), robot.prismatic)
        if not slides}


def merged(findings: list[Finding]) -> list[Finding]:
    """Return the ``findings`` of several pieces of a channel, one per name and joints."""
    out: dict[tuple, Finding] = {}
    for finding in findings:
        key = (finding.name, finding.joints)
        before = out.get(key)
        if before is not None:
            larger = max(before, finding, key=lambda f: f.evidence)
            finding = replace(larger, evidence=before.evidence + finding.evidence,
                              windows=before.windows + finding.windows)
        out[key] = finding
    return list(out.values())
