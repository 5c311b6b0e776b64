"""
What cameras saw of a mechanism: markers and tags, frame by frame.

Any detector's topic will do: points (PointStamped), poses (PoseStamped, TransformStamped) or many
at once (PoseArray, MarkerArray, tf).  A line of the configuration says what a marker sits on:

    TOPIC LINK             the position of the marker is the origin of the link's frame
    TOPIC[LABEL] LINK      one of many: child frame of tf, namespace/id of a MarkerArray, index
    TOPIC LINK pose        the orientation is used too (ArUco, AprilTag, motion capture)
"""

from dataclasses import dataclass
import re

import numpy as np
from scipy.spatial.transform import Rotation

from ..errors import ConfigError, RecordingError
from . import signals

LINE = re.compile(r'^(\S+?)(?:\[([^\]]+)\])?\s+(\S+)(?:\s+(pose|position))?$')
SAME_FRAME = 0.25  # of the frame period: stamps closer than that are one camera frame


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
    rotation: np.ndarray = None


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


def read_markers(recording, lines):
    """Return the Markers that configuration lines name; errors say what is not there."""
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


def channel_of(recording, topic):
    """Return the channel of a topic, with or without its leading slash."""
    for name, channel in recording.channels.items():
        if name.lstrip('/') == topic.lstrip('/'):
            return channel
    raise RecordingError(f'topic {topic} is not in the recording',
                         exists=tuple(recording.channels))


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


def common_frames(markers, rotation, translation):
    """
    Return the Frames of Markers, in the base frame.

    rotation (3, 3), translation (3,) : of the camera in the base frame [m]
    """
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
        position[frame, k] = marker.position @ rotation.T + translation
        if marker.rotation is not None:
            turned[frame, k] = rotation @ marker.rotation
    return Frames(t, position, turned, tuple(m.name for m in markers),
                  tuple(m.link for m in markers),
                  tuple(m.rotation is not None for m in markers), markers[0].name.split('[')[0])


def clock_offset(t, reference, measured_t, measured, limit):
    """
    Return the offset [s] that ``measured`` is stamped late, by correlation with ``reference``.

    t (N,) [s], reference (N, d); measured_t (M,), measured (M, d); limit : largest believed [s]
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
