"""
Channel checks: what the samples of a recording show by themselves, without a model.

Of any method: joint states like those of an arm, IMUs, markers, poses and wrenches channel by
channel.  For the answer of a recorder, for live windows, and for methods without model checks.
Every channel is read in pieces, so memory beyond the recording itself is that of a few pieces.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from . import signal_samples, signal_values
from .finding import DOUBTFUL, Finding, MASKED, NOTE
from .signals import not_finite, Quantity, RawSignals, runs
from ..dynamics.robot_model import load_robot_model
from ..errors import InertialIdError
from ..measurement.bags.messages import COMMANDS
from ..measurement.joints.channels import JOINT_STATE
from ..measurement.recording import Channel, Recording

PIECE = 200_000  # samples that are looked at together
FEWEST = 20  # samples that show anything: fewer have no rate and no noise
REPEATED = 0.05  # share of the messages: fewer bend no comparison
SILENT = 0.2  # share of the messages that may repeat before it is worth more than a note
ANGLES = 'orientation'  # a quaternion may change its sign from one message to the next
# What a finding causes beside itself, by the beginnings of names: jumps are no spikes.
ECHOES = {
    'position not unwrapped': ('velocity', 'position sp', 'wrong rate'),
    'stamps jitter': ('wrong rate',),
    'position in degrees': ('velocity in another unit', 'wrong rate'),
}
# Beside these nothing else counts.
ALONE = 'two robots on one topic', 'stamps run backwards', 'stamps jump'


def channel_checks(recording: Recording) -> list[Finding]:
    """
    Return the Findings on every channel of a ``recording``: stamps, values, and their relations.

    Joint states are checked against the limits of the description where the recording has one.
    No model is fitted; nothing is raised for bad data.
    """
    limits = _limits(recording.robot_description)
    streams = {
        topic: c
        for topic, c in recording.channels.items()
        if len(c) >= FEWEST and c.type not in COMMANDS
    }  # which may stand still and jump
    origin = recording.origin_ns() if streams else 0
    found: list[Finding] = []
    for channel in streams.values():
        pieces = [channel.rows(slice(k, k + PIECE)) for k in range(0, len(channel), PIECE)]
        found += merged(
            f for piece in pieces if len(piece) >= FEWEST for f in _findings(piece, limits, origin)
        )
    return found


def _findings(
    channel: Channel, limits: dict[str, tuple[float, float]], origin: int
) -> list[Finding]:
    if channel.type != JOINT_STATE:
        return list(_sensor_findings(channel, origin))
    return not_finite(channel, channel.names, origin) + [
        f for signals in joint_signals(channel, limits, origin) for f in signal_findings(signals)
    ]


def joint_signals(
    channel: Channel, limits: dict[str, tuple[float, float]], origin: int
) -> Iterator[RawSignals]:
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
        quantities = {
            name: Quantity(t, values[rows][:, columns])
            for name, values in channel.fields.items()
            if np.isfinite(values[rows][:, columns]).all()
        }
        if 'position' not in quantities:
            continue
        names = tuple(channel.names[j] for j in columns)
        lower, upper = np.array([limits.get(n, (np.nan, np.nan)) for n in names]).T
        yield RawSignals(
            names,
            quantities['position'],
            quantities.get('velocity'),
            quantities.get('effort'),
            True,
            lower,
            upper,
            np.zeros(len(names), dtype=bool),
        )


def _limits(urdf: str) -> dict[str, tuple[float, float]]:
    """Return {joint: (lower, upper)} of a description, nothing where it has none to give."""
    try:
        robot = load_robot_model(urdf)
    except InertialIdError:
        return {}
    return {
        name: (low, high)
        for name, low, high, slides in zip(
            robot.joint_names, robot.lower.tolist(), robot.upper.tolist(), robot.prismatic
        )
        if not slides
    }


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Return the ``findings`` of several pieces of a channel, one per name and joints."""
    out: dict[tuple, Finding] = {}
    for finding in findings:
        key = (finding.name, finding.joints)
        before = out.get(key)
        if before is not None:
            larger = max(before, finding, key=lambda f: f.evidence)
            finding = replace(
                larger,
                evidence=before.evidence + finding.evidence,
                windows=before.windows + finding.windows,
            )
        out[key] = finding
    return list(out.values())


def signal_findings(signals: RawSignals) -> list[Finding]:
    """
    Return the Findings of the signal checks of the ``signals`` of joints, without echoes.

    None where there is too little to compare: the identification says why it cannot be used.
    """
    t = signals.position.t
    if len(t) < FEWEST or not t[-1] > t[0]:
        return list(signals.broken)
    found = [f for one in (*signal_samples.CHECKS, *signal_values.CHECKS) for f in one(signals)]
    if any(f.name in ALONE for f in found):
        return [*signals.broken, *_without_echoes(found)]
    # Bad samples contradict the positions too: velocities are compared without them.
    bad = [
        w
        for f in found
        if f.severity == MASKED and not f.name.startswith('effort')
        for w in f.windows
    ]
    found += signal_values.velocities(_without_repeats(signals), bad)
    return [*signals.broken, *_without_echoes(found)]


def _without_repeats(signals: RawSignals) -> RawSignals:
    """Return ``signals`` without positions and velocities of messages like the one before."""
    position, velocity = signals.position, signals.velocity
    if velocity is None or len(velocity.t) != len(position.t):
        return signals
    keep = np.append(True, ~signals.repeats)
    if keep.mean() > 1.0 - REPEATED or keep.sum() < 2:
        return signals
    return replace(
        signals,
        position=Quantity(position.t[keep], position.values[keep]),
        velocity=Quantity(velocity.t[keep], velocity.values[keep]),
    )


def _without_echoes(findings: Sequence[Finding]) -> list[Finding]:
    """Return ``findings`` without those that another one causes."""
    names = {f.name for f in findings}
    if names & set(ALONE):
        return [f for f in findings if f.name in ALONE]
    caused = next((echoes for name, echoes in ECHOES.items() if name in names), ())
    return [f for f in findings if not f.name.startswith(caused)] if caused else list(findings)


def _sensor_findings(channel: Channel, origin: int) -> Iterator[Finding]:
    """
    Yield what is wrong with stamps and values of a ``channel`` of any sensor.

    A message whose values all lack is a sensor that says so.  origin : zero of time [ns]
    """
    t = (channel.stamp_ns - origin) * 1e-9
    yield from signal_values.stamp_findings(t, (channel.topic,))
    for name, values in channel.fields.items():
        if values.dtype.kind != 'f':
            continue
        columns = values.reshape(len(values), -1)
        whole = np.isfinite(columns).all(axis=1)
        if whole.sum() > signal_samples.SOME:
            yield from _values(
                f'{name} on {channel.topic}',
                channel.topic,
                Quantity(t[whole], columns[whole]),
                not name.startswith(ANGLES),
            )


def _values(what: str, topic: str, x: Quantity, jumps: bool) -> Iterator[Finding]:
    still = np.asarray(~np.diff(x.values, axis=0).any(axis=1))
    least = max(signal_samples.SOME, int(signal_samples.FROZEN / x.period))
    found = [(a, b + 1) for a, b in runs(still) if b - a + 1 >= least]
    if found and not still.all():  # what never changes is a constant, not a sensor that froze
        lost = sum(b - a for a, b in found)
        yield Finding(
            'frozen',
            f'{what} repeats the same values ({100 * lost / len(x.t):.2g} % of the messages)',
            'equal messages in a row',
            float(lost),
            'samples',
            (topic,),
            DOUBTFUL if lost > SILENT * len(x.t) else NOTE,
            'look for a blocked driver',
            x.windows(found),
        )
    columns = range(x.values.shape[1])
    ends = [at for at in (signal_samples.clipped_at(c) for c in x.values.T) if at is not None]
    if ends:
        at = np.any(ends, axis=0)
        yield Finding(
            'clipped',
            f'{what} stops at its largest value in {100 * at.mean():.2g} % of the messages',
            'samples exactly at an extreme value',
            float(at.sum()),
            'samples',
            (topic,),
            DOUBTFUL,
            'widen the range of the sensor',
            x.windows([(a, b) for a, b in runs(at) if b > a]),
        )
    bad = np.any([signal_samples.isolated(x, k) for k in columns], axis=0)
    if jumps and bad.any() and bad.mean() < 0.02:
        yield Finding(
            'spikes',
            f'{what} has spikes',
            'samples that leave both neighbours',
            float(bad.sum()),
            'samples',
            (topic,),
            NOTE,
            'look for broken messages or exchanged markers',
            x.windows(runs(bad)),
        )
