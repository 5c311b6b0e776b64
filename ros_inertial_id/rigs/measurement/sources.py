"""From topics to the motion of bodies: poses, marker clusters, IMUs and wrenches on one clock."""

from dataclasses import dataclass, field, replace
from typing import Any, Mapping, Sequence

import numpy as np

from .body_state import continuous, on_clock
from .kalman import root_of
from .marker_cluster import off_layout, register_cluster
from ...errors import RecordingError
from ...measurement import signals
from ...measurement.recording import Channel, Recording

GUESSED_PERIODS = (
    2.0  # periods of the cutoff at both ends of a stretch in which a guess counts most
)
SPARED = 0.05  # share of a stretch that may be left out beyond that
WRENCHES = ('geometry_msgs/msg/WrenchStamped', 'geometry_msgs/msg/Wrench')


@dataclass(frozen=True)
class BodySource:
    """
    Where the motion of a body comes from.

    kind : pose, markers or imu; topic as recorded; label : of one pose among many, '' for one
    layout : marker -> (3,) place in the body's frame [m] (markers)
    position, rotation : of the IMU in the body's frame (imu)
    imu : BodySource of an IMU on the same body besides, or None
    covariance : (6, 6) of how the IMU is turned about the body's axes [rad] and of its position,
        None where it was not calibrated
    """

    name: str
    kind: str
    topic: str
    label: str = ''
    layout: Mapping = field(default_factory=dict)
    position: tuple = (0.0, 0.0, 0.0)
    rotation: np.ndarray | None = None
    imu: 'BodySource | None' = None
    covariance: np.ndarray | None = None


@dataclass(frozen=True)
class Series:
    """Stamps t (n,) [s], values (n, k) without NaN, and what is worth saying about them."""

    topic: str
    t: np.ndarray
    values: np.ndarray
    note: Mapping = field(default_factory=dict)


def channel_of(recording: Recording, topic: str, types: Sequence[str] = ()) -> Channel:
    """
    Return the Channel of a topic (with or without its slash), or the only one of ``types``.

    Raises RecordingError when there is no such topic, or not one alone of these types.
    """
    if topic:
        return _named_channel(recording, topic)
    candidates: list[Channel] = []
    for kind in types:
        candidates += recording.of_type(kind).values()
    if len(candidates) != 1:
        raise RecordingError(
            f'{len(candidates)} topics of type {" or ".join(types)}',
            expected='one',
            exists=[c.topic for c in candidates] or tuple(recording.channels),
            do='name the topic',
        )
    return candidates[0]


def _named_channel(recording, topic):
    """Return the Channel of a topic, with or without its slash."""
    for name, channel in recording.channels.items():
        if name.lstrip('/') == topic.lstrip('/'):
            return channel
    raise RecordingError(
        f'topic {topic} is not in the recording', exists=tuple(recording.channels)
    )


def one_of(channel: Channel, label: str, values: np.ndarray) -> np.ndarray:
    """
    Return the values (n, d) of one body in a Channel that may hold many, (n, d) or (n, many, d).

    label : one of its names, or an index; '' for the only one.  RecordingError when there is none.
    """
    if values.ndim == 2:
        return values
    count = values.shape[1]
    indices = tuple(str(k) for k in range(count))
    column: dict[str, int] = {}
    for k, name in [*enumerate(channel.names), *enumerate(indices)]:
        column.setdefault(name, k)  # a name before a number, of two alike the first
    if count == 1:
        column.setdefault('', 0)
    if label not in column:
        raise RecordingError(
            f'{channel.topic} holds many markers',
            found=f'label {label!r}',
            exists=channel.names or indices,
            do='name one: label: beside pose:, or TOPIC[LABEL] LINK in markers:',
        )
    return values[:, column[label]]


def read_pose(recording: Recording, source: BodySource, origin_ns: int) -> Series:
    """
    Return the Series of a body's pose: position [m], quaternion x y z w (n, 7), in the world.

    Raises RecordingError for a topic without poses, or markers that are no rigid body.
    """
    channel = channel_of(recording, source.topic)
    if source.kind == 'markers':
        return _registered(channel, source, origin_ns)
    if not {'orientation_xyzw', 'position'} <= set(channel.fields):
        raise RecordingError(
            f'{channel.topic} holds no poses',
            found=channel.type,
            expected='PoseStamped, PoseArray, TransformStamped or tf',
        )
    position = one_of(channel, source.label, channel.fields['position'])
    quaternion = one_of(channel, source.label, channel.fields['orientation_xyzw'])
    quaternion = continuous(quaternion, channel.topic)
    return _series(channel, origin_ns, np.concatenate([position, quaternion], axis=1), {})


def read_imu(recording: Recording, source: BodySource, origin_ns: int) -> Series:
    """Return the Series of an IMU: angular velocity [rad/s] and specific force [m/s^2] (n, 6)."""
    channel = channel_of(recording, source.topic, ('sensor_msgs/msg/Imu',))
    values = np.concatenate(
        [channel.fields['angular_velocity'], channel.fields['linear_acceleration']], axis=1
    )
    return _series(channel, origin_ns, values, {})


def read_wrench(recording: Recording, topic: str, origin_ns: int) -> Series:
    """
    Return the Series of a wrench topic: force [N], torque [N m] (n, 6), along the sensor's axes.

    Raises RecordingError for a topic without wrenches, or zero in every message.
    """
    channel = channel_of(recording, topic, WRENCHES)
    if 'force' not in channel.fields:
        raise RecordingError(
            f'{channel.topic} holds no wrenches', found=channel.type, expected=WRENCHES[0]
        )
    values = np.concatenate([channel.fields['force'], channel.fields['torque']], axis=1)
    series = _series(channel, origin_ns, values, {'frame_id': channel.frame_id})
    if not np.any(series.values):
        raise RecordingError(
            f'the wrench in {channel.topic} is zero in every message',
            do='the driver does not report it',
        )
    return series


def common_clock(series: Sequence[Series], origin_ns: int) -> signals.Clock:
    """
    Return the Clock of the first Series where all have samples.

    A source that stops for longer than a few of its samples cuts the recording there.
    """
    clocks = [
        signals.uniform_clock(np.round(s.t * 1e9).astype(np.int64) + origin_ns, origin_ns, s.topic)
        for s in series
    ]
    first = clocks[0]
    stretches = _ends(first)
    for clock in clocks[1:]:
        stretches = _in_both(stretches, _ends(clock))
    if not stretches:
        raise RecordingError(
            f'{series[0].topic} and {", ".join(s.topic for s in series[1:])} '
            'have no time in common',
            do='stamp them with the same clock',
        )
    segments = tuple(
        (start, int((end - start) / first.period + 1e-6) + 1) for start, end in stretches
    )
    return signals.Clock(
        first.period, origin_ns, segments, first.samples, first.missing, len(segments) - 1
    )


def _ends(clock):
    """Return [(start, end), ...] [s] of the stretches of a clock."""
    return [(start, start + (count - 1) * clock.period) for start, count in clock.segments]


def _in_both(stretches, others):
    """Return [(start, end), ...] [s] of what lies in ``stretches`` and in ``others``."""
    out = []
    for start, end in stretches:
        for other_start, other_end in others:
            both = max(start, other_start), min(end, other_end)
            if both[1] > both[0]:
                out.append(both)
    return out


def half_width(kernel: np.ndarray) -> int:
    """Return the reach [samples] of smoothed_derivatives with a low-pass ``kernel``."""
    return len(kernel) // 2 + 2 * signals.STENCIL


def guessed(clock: signals.Clock, kernel: np.ndarray, period: float) -> float:
    """
    Return the time [s] at an end of a stretch in which what a ``kernel`` guesses counts.

    clock : of the motion; period : [s] of the cutoff.  A tenth of the guess is left after one
    period, a hundredth after two; the rest of it where stretches are long enough to spare that.
    """
    longest = max(count for _, count in clock.segments) * clock.period
    return max(GUESSED_PERIODS * period, min(0.5 * len(kernel) * clock.period, SPARED * longest))


class NoisySeries:
    """
    A Series whose white noise can be drawn again: what it has beyond a low-pass.

    series : as measured; clock : on which it is looked at; kernel : (2 h + 1,) of the motion, of
    which one that leaves all of it tells nothing from noise
    """

    def __init__(self, series: Series, clock: signals.Clock, kernel: np.ndarray) -> None:
        self._series = series
        if len(kernel) == 1:
            kernel = signals.zero_phase_kernel(clock.period, signals.HIGHEST / clock.period)
        covariance = signals.white_covariance(on_stretches([series], clock), kernel)
        self._root = root_of(covariance)

    def again(self, rng: np.random.Generator) -> Series:
        """Return the Series with as much noise, drawn by ``rng``, added."""
        values = self._series.values
        noise = rng.standard_normal(values.shape) @ self._root.T
        return replace(self._series, values=values + noise)


def on_stretches(series: Sequence[Series], clock: signals.Clock) -> list[np.ndarray]:
    """Return the values (N, k) of all ``series`` side by side, on each stretch of a clock."""
    return [
        np.concatenate([on_clock(s.t, s.values, t) for s in series], axis=1)
        for t in stretch_times(clock)
    ]


def stretch_times(clock: signals.Clock) -> list[np.ndarray]:
    """Return the times (N,) [s] of each stretch of a clock."""
    return [start + np.arange(count) * clock.period for start, count in clock.segments]


def gaps_between(clock: signals.Clock) -> list[list[float]]:
    """Return [[from, to], ...] [s] between stretches of ``clock``: where something was lost."""
    stretches = _ends(clock)
    return [
        [round(end, 3), round(start, 3)] for (_, end), (start, _) in zip(stretches, stretches[1:])
    ]


def _registered(channel, source, origin_ns):
    labels = tuple(source.layout)
    if 'position' not in channel.fields:
        raise RecordingError(f'{channel.topic} holds no markers', found=channel.type)
    markers = np.stack(
        [one_of(channel, label, channel.fields['position']) for label in labels], axis=1
    )
    layout = np.array([source.layout[label] for label in labels], dtype=float)
    poses = register_cluster(markers, layout, labels, channel.topic)
    t = (channel.stamp_ns - origin_ns) * 1e-9
    gone = ~np.isfinite(markers).all(-1)
    note: dict[str, Any] = {}
    off = off_layout(markers, layout, labels, poses)
    if off:
        note['layout_off'] = off
    note['markers_rms'] = dict(zip(labels, poses.rms().tolist()))
    note['markers_missing'] = {
        label: _absence(t, of_label) for label, of_label in zip(labels, gone.T) if of_label.any()
    }
    quaternion = continuous(poses.quaternion_xyzw, channel.topic)
    values = np.concatenate([poses.position, quaternion], axis=1)
    return _series(channel, origin_ns, values, note)


def _absence(t, gone):
    """Return {samples, longest [s], from [s]} of a marker that was not seen."""
    edges = np.diff(np.concatenate([[0], gone.astype(int), [0]]))
    first, last = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    k = int(np.argmax(last - first))
    after = min(last[k] + 1, len(t) - 1)
    return {
        'samples': int(gone.sum()),
        'longest': float(t[after] - t[first[k]]),
        'from': float(t[first[k]]),
    }


def _series(channel, origin_ns, values, note):
    t = (channel.stamp_ns - origin_ns) * 1e-9
    good = np.isfinite(values).all(1)
    if good.sum() < 3:
        raise RecordingError(
            f'{channel.topic} holds no usable samples',
            found=f'{int(good.sum())} of {len(t)} are numbers',
        )
    return Series(
        channel.topic,
        t[good],
        values[good],
        dict(note, samples=int(good.sum()), lost=int((~good).sum())),
    )
