"""
What cameras saw of a mechanism: markers and tags, frame by frame.

Any detector's topic will do: points (PointStamped), poses (PoseStamped, TransformStamped) or many
at once (PoseArray, MarkerArray, tf).  A line of the configuration says what a marker sits on:

    TOPIC LINK             the position of the marker is the origin of the link's frame
    TOPIC[LABEL] LINK      one of many: child frame of tf, namespace/id of a MarkerArray, index
    TOPIC LINK pose        the orientation is used too (ArUco, AprilTag, motion capture)
"""

from dataclasses import dataclass, replace
import re
from typing import Mapping, Sequence

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from .sources import channel_of
from .. import signals
from ..recording import Recording
from ...errors import ConfigError, RecordingError

LINE = re.compile(r'^(\S+?)(?:\[([^\]]+)\])?\s+(\S+)(?:\s+(pose|position))?$')
SAME_FRAME = 0.25  # of the frame period: stamps closer than that are one camera frame
ONE_CLOCK = 0.5    # share of stamps that two topics of one camera have in common
SLOW = 0.5         # of the samples of the fastest topic: too slow to be the clock
GAP = 1.6          # periods: between samples further apart nothing is interpolated


@dataclass(frozen=True)
class Marker:
    """
    One marker's series: name and link of the configuration.

    t : (n,) [s]; position : (n, 3) [m]; rotation : (n, 3, 3) or None, camera frame
    """

    name: str
    link: str
    t: np.ndarray
    position: np.ndarray
    rotation: np.ndarray | None = None

    @property
    def topic(self) -> str:
        """Return the topic it is on."""
        return self.name.split('[')[0]

    def placed(self, rotation: np.ndarray, translation: np.ndarray) -> 'Marker':
        """Return it in the base frame: rotation (3, 3), translation (3,) [m] of its camera."""
        turned = None if self.rotation is None else rotation @ self.rotation
        return replace(self, position=self.position @ rotation.T + translation, rotation=turned)


@dataclass(frozen=True)
class Frames:
    """
    m markers on M common camera frames; what was not seen is NaN.

    t : (M,) [s]; position : (M, m, 3) [m]; rotation : (M, m, 3, 3)
    names, links : (m,); topic : of the first marker; tags : (m,) bool, rotation counts
    """

    t: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    names: tuple
    links: tuple
    tags: tuple
    topic: str


def read_markers(recording: Recording, lines: Sequence[str]) -> list[Marker]:
    """
    Return the Markers that configuration lines name.

    recording : Recording with their topics; lines : as at the head of this module

    Raises ConfigError for a line that is none, RecordingError for what was not recorded.
    """
    out, origin = [], recording.origin_ns()
    for line in lines:
        match = LINE.match(line.strip())
        if not match:
            raise ConfigError('option markers', found=repr(line),
                              exists=('TOPIC LINK', 'TOPIC[LABEL] LINK', 'TOPIC LINK pose'))
        topic, label, link, what = match.groups()
        channel = channel_of(recording, topic)
        t = (channel.stamp_ns - origin) * 1e-9
        position, rotation = _series(channel, label, what == 'pose')
        good = np.isfinite(position).all(1)
        if not good.any():
            raise RecordingError(f'marker {line!r} was never seen')
        order = np.flatnonzero(good)[np.argsort(t[good], kind='stable')]
        name = topic if label is None else f'{topic}[{label}]'
        out.append(Marker(name, link, t[order], position[order],
                          None if rotation is None else rotation[order]))
    return out


def _series(channel, label, pose):
    """Return position (n, 3) and rotation (n, 3, 3) or None of one marker of a channel."""
    if 'position' not in channel.fields:
        raise RecordingError(f'{channel.topic} carries no positions', found=channel.type)
    position = channel.fields['position']
    quaternion = channel.fields.get('orientation_xyzw')
    if position.ndim == 3:
        index = _index(channel, label, position.shape[1])
        position = position[:, index]
        quaternion = None if quaternion is None else quaternion[:, index]
    if not pose:
        return position, None
    if quaternion is None:
        raise RecordingError(f'{channel.topic} carries no orientations', found=channel.type,
                             do='leave out "pose" in markers:')
    seen = np.isfinite(quaternion).all(1) & (np.linalg.norm(quaternion, axis=1) > 0.5)
    rotation = np.full((len(position), 3, 3), np.nan)
    rotation[seen] = Rotation.from_quat(quaternion[seen]).as_matrix()
    return position, rotation


def _index(channel, label, count):
    if label is None and count == 1:
        return 0
    if label in channel.names:
        return channel.names.index(label)
    if label is not None and label.isdigit() and int(label) < count:
        return int(label)
    raise RecordingError(f'{channel.topic} holds many markers', found=f'label {label!r}',
                         exists=channel.names or tuple(str(k) for k in range(count)),
                         do='write TOPIC[LABEL] LINK in markers:')


def common_frames(markers: Sequence[Marker]) -> Frames:
    """Return the Frames of ``markers`` that are on one clock and in one frame."""
    longest = max(markers, key=lambda m: len(m.t))
    if len(longest.t) < 3:
        raise RecordingError(f'marker {longest.name} was seen {len(longest.t)} times')
    period = float(np.median(np.diff(longest.t)))
    stamps = np.sort(np.concatenate([m.t for m in markers]))
    t = stamps[np.concatenate([[True], np.diff(stamps) > SAME_FRAME * period])]
    position = np.full((len(t), len(markers), 3), np.nan)
    turned = np.full((len(t), len(markers), 3, 3), np.nan)
    for k, marker in enumerate(markers):
        frame = np.clip(np.searchsorted(t, marker.t + 1e-12, side='right') - 1, 0, len(t) - 1)
        position[frame, k] = marker.position
        if marker.rotation is not None:
            turned[frame, k] = marker.rotation
    return Frames(t, position, turned, tuple(m.name for m in markers),
                  tuple(m.link for m in markers),
                  tuple(m.rotation is not None for m in markers), markers[0].topic)


def own_clocks(markers: Sequence[Marker]) -> list[str]:
    """
    Return the topics of ``markers`` that do not share the stamps of the first one's, in order.

    They are other cameras, or detectors that stamp their results themselves: each has a clock of
    its own, and an offset.  Where another topic is much faster than the first, it is the clock.
    """
    stamps = _stamps(markers)
    clock = next(iter(stamps.values()))
    return [t for t in other_topics(markers) if np.isin(stamps[t], clock).mean() < ONE_CLOCK]


def other_topics(markers: Sequence[Marker]) -> list[str]:
    """Return all topics of ``markers`` but the one whose clock is theirs."""
    first, *others = _stamps(markers)
    return others


def _stamps(markers):
    """Return topic -> its stamps (n,) [s]; first the topic that is the clock."""
    out = {}
    for marker in markers:
        out[marker.topic] = np.union1d(out.get(marker.topic, marker.t), marker.t)
    most = max(len(t) for t in out.values())
    first = next(topic for topic, t in out.items() if len(t) > SLOW * most)
    return {first: out.pop(first), **out}


def on_one_clock(markers: Sequence[Marker], offsets: Mapping[str, float],
                 t: np.ndarray | None = None) -> list[Marker]:
    """
    Return the Markers on the stamps of those without an offset.

    markers : of any topics, each on its own stamps
    offsets : topic -> [s] that it is stamped late; these are interpolated, the others untouched
    t : (M,) the stamps wanted [s]; default: all stamps of topics without an offset

    A topic slower than t gets a value only on the stamp nearest to each of its samples.
    """
    stamps = reference_stamps(markers, offsets)
    near = 0.5 * float(np.median(np.diff(stamps))) if len(stamps) > 1 else 0.0
    t = stamps if t is None else t
    return [_at(m, t, offsets[m.topic], near) if m.topic in offsets else m for m in markers]


def reference_stamps(markers: Sequence[Marker], offsets: Mapping[str, float]) -> np.ndarray:
    """Return all stamps (M,) [s] of the ``markers`` whose topics have none of the ``offsets``."""
    return np.unique(np.concatenate([m.t for m in markers if m.topic not in offsets]))


def _at(marker, t, offset, near):
    """Return a Marker at the times t (M,) where samples, ``offset`` late, lie around them."""
    stamps, first = np.unique(marker.t, return_index=True)
    if len(stamps) < 4:
        raise RecordingError(f'marker {marker.name} was seen {len(stamps)} times')
    wanted, period = t + offset, float(np.median(np.diff(stamps)))
    after = np.clip(np.searchsorted(stamps, wanted), 1, len(stamps) - 1)
    left, right = stamps[after - 1], stamps[after]
    aside = np.minimum(np.abs(wanted - left), np.abs(wanted - right))
    inside = (wanted >= left) & (wanted <= right) & (right - left < GAP * period)
    # The stamp nearest to a sample is at most half a step of the slower of the two away from it.
    kept = inside & (aside <= max(near, 1e-9) * (1 + 1e-6))
    wanted = wanted[kept]
    position = CubicSpline(stamps, marker.position[first])(wanted)
    rotation = None
    if marker.rotation is not None:
        seen = np.isfinite(marker.rotation[first]).all((1, 2))
        turned = CubicSpline(stamps[seen], marker.rotation[first][seen])(wanted)
        rotation = Rotation.from_matrix(turned).as_matrix()  # orthogonal again
    return replace(marker, t=t[kept], position=position, rotation=rotation)


def clock_offset(t: np.ndarray, reference: np.ndarray, measured_t: np.ndarray,
                 measured: np.ndarray, limit: float) -> float:
    """
    Return the offset [s] that ``measured`` is stamped late, by correlation with ``reference``.

    t : (N,) [s] of reference (N, d); measured_t : (M,) [s] of measured (M, d)
    limit : largest offset believed [s]

    Raises RecordingError when the best correlation lies at the limit.
    """
    centred = reference - reference.mean(0)
    inside = (t > measured_t[0] + limit) & (t < measured_t[-1] - limit)
    if inside.sum() < 10:
        raise RecordingError('the sensors have too little time in common',
                             found=f'{int(inside.sum())} samples')

    # Interpolation halves white noise midway between samples: smooth it before, or the offset
    # is drawn there.
    measured = signals.smooth(measured, signals.zero_phase_kernel(1.0, 0.1))

    def correlation(offset):
        other = np.stack([np.interp(t[inside] + offset, measured_t, x) for x in measured.T], 1)
        other = other - other.mean(0)
        return float((centred[inside] * other).sum() / np.sqrt((other ** 2).sum()))

    grid = np.linspace(-limit, limit, 201)
    values = np.array([correlation(x) for x in grid])
    k = int(values.argmax())
    if k in (0, len(grid) - 1):
        raise RecordingError('the sensors are not on one clock', found='no offset that fits',
                             expected=f'within +-{limit} s', do='raise largest_clock_offset:')
    a, b, _ = np.polyfit(grid[k - 1:k + 2] - grid[k], values[k - 1:k + 2], 2)
    return float(grid[k] - b / (2 * a))
