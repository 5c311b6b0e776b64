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
from typing import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from .body_state import on_clock
from .sources import channel_of, one_of
from ...errors import ConfigError, RecordingError
from ...measurement.recording import Recording

LINE = re.compile(r'^(\S+?)(?:\[([^\]]+)\])?\s+(\S+)(?:\s+(pose|position))?$')
SHARED_STAMPS = 0.5  # of its stamps: a topic that has so many of another's shows the same frames
INTERPOLATED_GAP = 1.6  # periods: between samples further apart nothing is interpolated


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

    def rows(self, chosen: np.ndarray) -> 'Marker':
        """Return its samples that an index or mask (n,) chooses."""
        rows = replace(self, t=self.t[chosen], position=self.position[chosen])
        if self.rotation is None:
            return rows
        return replace(rows, rotation=self.rotation[chosen])


@dataclass(frozen=True)
class Frames:
    """
    m markers on M common camera frames; what was not seen is NaN.

    t : (M,) [s]; position : (M, m, 3) [m]; rotation : (M, m, 3, 3)
    names, links : (m,); tags : (m,) bool, rotation counts
    """

    t: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    names: tuple
    links: tuple
    tags: tuple

    def rows(self, chosen: np.ndarray) -> 'Frames':
        """Return the frames that an index or mask (M,) chooses."""
        return replace(
            self, t=self.t[chosen], position=self.position[chosen], rotation=self.rotation[chosen]
        )

    def seen_from(self, camera: Sequence[float]) -> 'Frames':
        """
        Return them in the base link, as a ``camera`` saw them.

        camera : X Y Z ROLL PITCH YAW of it in the base link [m, rad]; none: the base link itself
        """
        if not camera:
            return self
        if len(camera) != 6:
            raise ConfigError(
                'option camera', expected='six numbers X Y Z ROLL PITCH YAW', found=camera
            )
        turn = Rotation.from_euler('xyz', camera[3:]).as_matrix()
        position = self.position @ turn.T + camera[:3]
        return replace(self, rotation=turn @ self.rotation, position=position)


def read_markers(recording: Recording, lines: Sequence[str]) -> list[Marker]:
    """
    Return the Markers that configuration lines name.

    Raises ConfigError for a line that is none, RecordingError for what was not recorded.
    """
    out, origin = [], recording.origin_ns()
    for line in lines:
        match = LINE.match(line.strip())
        if not match:
            raise ConfigError(
                'option markers',
                found=repr(line),
                exists=('TOPIC LINK', 'TOPIC[LABEL] LINK', 'TOPIC LINK pose'),
            )
        topic, label, link, what = match.groups(default='')
        channel = channel_of(recording, topic)
        t = (channel.stamp_ns - origin) * 1e-9
        position, rotation = _series(channel, label, what == 'pose')
        good = np.isfinite(position).all(1)
        if not good.any():
            raise RecordingError(f'marker {line!r} was never seen')
        order = np.flatnonzero(good)[np.argsort(t[good], kind='stable')]
        name = topic
        if label:
            name = f'{topic}[{label}]'
        out.append(Marker(name, link, t, position, rotation).rows(order))
    return out


def _series(channel, label, pose):
    """Return position (n, 3) and rotation (n, 3, 3) or None of one marker of a channel."""
    if 'position' not in channel.fields:
        raise RecordingError(f'{channel.topic} carries no positions', found=channel.type)
    position = one_of(channel, label, channel.fields['position'])
    if not pose:
        return position, None
    if 'orientation_xyzw' not in channel.fields:
        raise RecordingError(
            f'{channel.topic} carries no orientations',
            found=channel.type,
            do='leave out "pose" in markers:',
        )
    quaternion = one_of(channel, label, channel.fields['orientation_xyzw'])
    seen = np.isfinite(quaternion).all(1) & (np.linalg.norm(quaternion, axis=1) > 0.5)
    rotation = np.full((len(position), 3, 3), np.nan)
    rotation[seen] = Rotation.from_quat(quaternion[seen]).as_matrix()
    return position, rotation


def common_frames(markers: Sequence[Marker]) -> Frames:
    """
    Return the Frames of ``markers`` in one frame, on the stamps of the topic that is seen most.

    Topics that share its stamps show the same frames.  Others, of detectors that stamp by
    themselves, are interpolated: their clocks are trusted.
    """
    stamps = _stamps(markers)
    fastest = max(stamps.values(), key=len)
    if len(fastest) < 3:
        raise RecordingError('the markers were hardly seen', found=f'{len(fastest)} times')
    same_frames = {
        topic: times
        for topic, times in stamps.items()
        if np.isin(times, fastest).mean() > SHARED_STAMPS
    }
    t = np.unique(np.concatenate(list(same_frames.values())))
    position = np.full((len(t), len(markers), 3), np.nan)
    turned = np.full((len(t), len(markers), 3, 3), np.nan)
    for k, marker in enumerate(markers):
        if marker.topic not in same_frames:
            marker = _at(marker, t)
        frame = np.searchsorted(t, marker.t)
        position[frame, k] = marker.position
        if marker.rotation is not None:
            turned[frame, k] = marker.rotation
    return Frames(
        t,
        position,
        turned,
        tuple(m.name for m in markers),
        tuple(m.link for m in markers),
        tuple(m.rotation is not None for m in markers),
    )


def _stamps(markers):
    """Return topic -> stamps (n,) [s] of all its markers, each once, in order of time."""
    times: dict[str, list[np.ndarray]] = {}
    for marker in markers:
        times.setdefault(marker.topic, []).append(marker.t)
    return {topic: np.unique(np.concatenate(parts)) for topic, parts in times.items()}


def _at(marker, t):
    """
    Return a Marker at those times of the faster t (M,) that lie next to its samples.

    At no others: a reading would count several times.
    """
    if len(marker.t) < 4:
        raise RecordingError(f'marker {marker.name} was seen {len(marker.t)} times')
    steps = np.diff(marker.t)
    after = np.clip(np.searchsorted(marker.t, t), 1, len(steps))
    ahead, behind = marker.t[after] - t, t - marker.t[after - 1]
    near = np.minimum(np.abs(ahead), np.abs(behind)) <= 0.501 * np.median(np.diff(t))
    beside = (
        near
        & (ahead >= 0)
        & (behind >= 0)
        & (steps[after - 1] < INTERPOLATED_GAP * np.median(steps))
    )
    rotation = marker.rotation
    if rotation is not None:
        turned = on_clock(marker.t, rotation.reshape(-1, 9), t[beside])
        rotation = Rotation.from_matrix(turned.reshape(-1, 3, 3)).as_matrix()  # orthogonal again
    return replace(
        marker,
        t=t[beside],
        position=on_clock(marker.t, marker.position, t[beside]),
        rotation=rotation,
    )
