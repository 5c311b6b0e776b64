"""
Channel checks: what the samples of a recording show by themselves, without a model.

Of any method: joint states like those of an arm, IMUs, markers, poses and wrenches channel by
channel.  For the answer of a recorder, for live windows, and for methods without model checks.
Every channel is read in pieces, so memory beyond the recording itself is that of a few pieces.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from . import signal_samples, signal_values
from .explains import explains_everything, without_effects
from .finding import DOUBTFUL, Finding, MASKED, of_severity, severity_of, Window
from .finding_kinds import found
from .signals import across, columns_alike, intervals_of, not_finite, Quantity, RawSignals
from ..dynamics.robot_model import load_robot_model
from ..errors import InertialIdError
from ..measurement.bags.messages import COMMANDS
from ..measurement.joints.channels import JOINT_STATE
from ..measurement.joints.message_order import in_order
from ..measurement.recording import Channel, Recording

CHANNEL_PIECE = 200_000  # messages of a channel that are looked at together
FEWEST_MESSAGES = 20  # that show anything: fewer have no rate and no noise
SENSOR_FROZEN = 0.2  # of the messages that may repeat before it is worth more than a note
SENSOR_SPIKES = 0.02  # of the messages: more are how the signal is
ANGLES = 'orientation'  # a quaternion may change its sign from one message to the next

Limits = dict[str, tuple[float, float]]
NO_LIMITS = np.nan, np.nan


def channel_checks(recording: Recording) -> list[Finding]:
    """
    Return the Findings on every channel of a ``recording``: stamps, values, and their relations.

    Joint states are checked against the limits of the description where the recording has one.
    No model is fitted; nothing is raised for bad data.
    """
    limits = _limits(recording.robot_description)
    out: list[Finding] = []
    for channel in recording.channels.values():
        if channel.type in COMMANDS:  # which may stand still and jump
            continue
        findings: list[Finding] = []
        if channel.type == JOINT_STATE:
            findings += order_findings(channel, recording.origin_ns())
            channel = in_order(channel).channel
        for piece in _pieces(channel):
            findings += _findings(piece, limits, recording.origin_ns())
        out += merged(findings)
    return out


def order_findings(channel: Channel, origin: int) -> list[Finding]:
    """
    Return a Finding on messages that are put in order, or left out as the clock went back.

    channel : of joint states, as recorded; origin : zero of time [ns]
    """
    ordered = in_order(channel)
    messages = len(channel)
    if ordered.moved:
        return [
            found(
                'messages out of order',
                channel.names,
                ordered.moved,
                sorted=ordered.moved,
                messages=messages,
                milliseconds=1e3 * ordered.late,
            )
        ]
    if ordered.left_out:
        start, end = (ordered.channel.stamp_ns[[0, -1]] - origin) * 1e-9
        return [
            found(
                'clock set back',
                channel.names,
                ordered.left_out,
                seconds=ordered.back,
                percent=100.0 * len(ordered.channel) / messages,
                start=start,
                end=end,
            )
        ]
    return []


def _pieces(channel: Channel) -> Iterator[Channel]:
    last = len(channel) - FEWEST_MESSAGES  # a shorter piece shows nothing
    for first in range(0, last + 1, CHANNEL_PIECE):
        yield channel.rows(slice(first, first + CHANNEL_PIECE))


def _findings(channel: Channel, limits: Limits, origin: int) -> Iterator[Finding]:
    if channel.type != JOINT_STATE:
        yield from _sensor_findings(channel, origin)
        return
    yield from not_finite(channel, channel.names, origin)
    for signals in joint_signals(channel, limits, origin):
        yield from signal_findings(signals)


def joint_signals(channel: Channel, limits: Limits, origin: int) -> Iterator[RawSignals]:
    """
    Yield the RawSignals of joints that come in the same messages of a JointState ``channel``.

    limits : {joint: (lower, upper) position}, where they are known; origin : zero of time [ns]
    """
    complete = np.ones((len(channel), len(channel.names)), dtype=bool)
    for values in channel.fields.values():
        finite = np.isfinite(values)
        complete &= finite | ~finite.any(axis=0)  # what is never published takes no part
    several = np.flatnonzero(complete.sum(axis=0) >= FEWEST_MESSAGES)
    for chosen, columns in columns_alike(complete, several):
        quantities = _quantities(channel, columns, chosen, origin)
        if 'position' not in quantities:
            continue
        names = tuple(np.array(channel.names)[columns].tolist())
        lower, upper = np.array([limits.get(name, NO_LIMITS) for name in names]).T
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


def _quantities(
    channel: Channel, columns: list[int], chosen: np.ndarray, origin: int
) -> dict[str, Quantity]:
    """Return {name: Quantity} of what ``chosen`` messages (N,) carry of the joints ``columns``."""
    t = (channel.stamp_ns - origin) * 1e-9
    out = {}
    for name, values in channel.fields.items():
        x = Quantity(t, values[:, columns]).at(chosen)
        if np.isfinite(x.values).all():
            out[name] = x
    return out


def _limits(urdf: str) -> Limits:
    """Return {joint: (lower, upper)} of a description, nan where it has none to give."""
    try:
        robot = load_robot_model(urdf)
    except InertialIdError:
        return {}
    lower = np.where(robot.prismatic, np.nan, robot.lower)
    upper = np.where(robot.prismatic, np.nan, robot.upper)
    return dict(zip(robot.joint_names, zip(lower.tolist(), upper.tolist())))


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Return the ``findings`` of several pieces of a channel, one per name and joints."""
    out: dict[tuple, Finding] = {}
    for finding in findings:
        key = (finding.name, finding.joints)
        if key in out:
            finding = _added(out[key], finding)
        out[key] = finding
    return list(out.values())


def _added(before: Finding, then: Finding) -> Finding:
    """Return two findings as one, which says what the one with more evidence says."""
    evidence = before.evidence + then.evidence
    windows = before.windows + then.windows
    larger = before
    if then.evidence > before.evidence:
        larger = then
    return replace(larger, evidence=evidence, windows=windows)


def signal_findings(signals: RawSignals) -> list[Finding]:
    """
    Return the Findings of the signal checks of the ``signals`` of joints, without effects.

    None where there is too little to compare: the identification says why it cannot be used.
    """
    t = signals.position.t
    if len(t) < FEWEST_MESSAGES or not t[-1] > t[0]:
        return list(signals.broken)
    findings: list[Finding] = []
    for check in (*signal_samples.CHECKS, *signal_values.CHECKS):
        findings += check(signals)
    if not any(map(explains_everything, findings)):  # positions that can be differentiated
        findings += signal_values.velocities(signals, _bad_samples(findings))
    return without_effects([*signals.broken, *findings])


def _bad_samples(findings: Iterable[Finding]) -> list[Window]:
    """Return the windows of samples that contradict the motion: it is compared without them."""
    windows: list[Window] = []
    for finding in of_severity(findings, MASKED):
        if not finding.name.startswith('effort'):
            windows += finding.windows
    return windows


def _sensor_findings(channel: Channel, origin: int) -> Iterator[Finding]:
    """
    Yield what is wrong with stamps and values of a ``channel`` of any sensor.

    A message whose values all lack is a sensor that says so.  origin : zero of time [ns]
    """
    t = (channel.stamp_ns - origin) * 1e-9
    unknown = np.zeros(len(t) - 1, dtype=bool)
    yield from signal_values.stamp_findings(t, (channel.topic,), unknown)
    for name, values in channel.fields.items():
        if values.dtype.kind != 'f' or not values.size:
            continue
        columns = values.reshape(len(values), -1)
        complete = np.isfinite(columns).all(axis=1)
        if complete.sum() <= signal_samples.FEWEST_EQUAL:
            continue
        x = Quantity(t, columns).at(complete)
        words = {'channel': f'{name} on {channel.topic}'}
        yield from _sensor_frozen(channel.topic, x, words)
        yield from _sensor_clipped(channel.topic, x, words)
        if not name.startswith(ANGLES):
            yield from _sensor_spikes(channel.topic, x, words)


def _sensor_frozen(topic: str, x: Quantity, words: dict[str, str]) -> Iterator[Finding]:
    changes = np.diff(x.values, axis=0).any(axis=1)
    still = np.asarray(~changes)
    if still.all():  # what never changes is a constant, not a sensor that froze
        return
    least = signal_samples.fewest_equal(x)
    intervals = across(intervals_of(still, least))
    if not len(intervals):
        return
    lost = np.diff(intervals).sum()
    severity = severity_of(lost, SENSOR_FROZEN * len(x.t), within='', beyond=DOUBTFUL)
    percent = 100 * lost / len(x.t)
    windows = x.windows(intervals)
    yield found('sensor frozen', (topic,), lost, windows, severity, percent=percent, **words)


def _sensor_clipped(topic: str, x: Quantity, words: dict[str, str]) -> Iterator[Finding]:
    each = np.apply_along_axis(signal_samples.clipped_at, 0, x.values)
    clipped = np.asarray(each.any(axis=1))
    if clipped.any():
        intervals = intervals_of(clipped, 2)
        windows = x.windows(intervals)
        percent = 100 * clipped.mean()
        yield found('clipped', (topic,), clipped.sum(), windows, percent=percent, **words)


def _sensor_spikes(topic: str, x: Quantity, words: dict[str, str]) -> Iterator[Finding]:
    each = np.apply_along_axis(signal_samples.isolated, 0, x.values)
    bad = np.asarray(each.any(axis=1))
    if 0.0 < bad.mean() < SENSOR_SPIKES:
        windows = x.windows(intervals_of(bad))
        yield found('spikes', (topic,), bad.sum(), windows, **words)
