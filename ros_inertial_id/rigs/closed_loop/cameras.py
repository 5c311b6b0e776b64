"""Cameras: which topics each sees, and where it stands in the base link."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..measurement.markers import LINE, Marker
from ...errors import ConfigError


@dataclass(frozen=True)
class Camera:
    """
    A camera.

    topics : that it sees, none for the first one: all that no other sees
    rotation (3, 3), translation (3,) : of it in the base link [m]
    free : whether its pose is estimated
    """

    topics: tuple[str, ...]
    rotation: np.ndarray
    translation: np.ndarray
    free: bool

    def pose(self) -> np.ndarray:
        """Return X Y Z ROLL PITCH YAW (6,) [m, rad]."""
        return np.concatenate([self.translation,
                               Rotation.from_matrix(self.rotation).as_euler('xyz')])

    def moved(self, change: np.ndarray, centre: np.ndarray) -> 'Camera':
        """Return it turned by ``change`` (6,) [rad, m] about a ``centre`` (3,), then shifted."""
        turn = Rotation.from_rotvec(change[:3]).as_matrix()
        return replace(self, rotation=turn @ self.rotation,
                       translation=turn @ (self.translation - centre) + centre + change[3:6])


def cameras_of(options: Any) -> tuple[Camera, ...]:
    """
    Return the Cameras that ``options`` (MotionOptions) name, the first one first.

    ConfigError for a pose that is none, and for topics that are not among the markers.
    """
    if len(options.camera) not in (0, 6):
        raise ConfigError('option camera', expected='six numbers X Y Z ROLL PITCH YAW',
                          found=options.camera)
    first = _camera((), options.camera or np.zeros(6), options.find_camera)
    others = tuple(_other(line) for line in options.cameras)
    named = [topic for camera in others for topic in camera.topics]
    matches = [LINE.match(line.strip()) for line in options.markers]
    known = {match[1] for match in matches if match}
    if len(set(named)) < len(named) or not set(named) < known:
        raise ConfigError('option cameras', found=named, exists=sorted(known), expected='each '
                          'topic of markers: once, without those of the first camera')
    return (first, *others)


def camera_of(cameras: Sequence[Camera], topic: str) -> int:
    """Return the index of the one of ``cameras`` that sees a ``topic``."""
    return next((k for k, camera in enumerate(cameras) if topic in camera.topics), 0)


def placed(markers: Sequence[Marker], cameras: Sequence[Camera]) -> list[Marker]:
    """Return the ``markers`` in the base link, each by the one of ``cameras`` that sees it."""
    seen_by = [cameras[camera_of(cameras, m.topic)] for m in markers]
    return [m.placed(c.rotation, c.translation) for m, c in zip(markers, seen_by)]


def line_of(camera: Camera) -> str:
    """Return the line of option ``cameras`` that a ``camera`` is, its pose known."""
    return ' '.join([*camera.topics, *map(repr, camera.pose().tolist())])


def _other(line):
    """Return the Camera of a line TOPIC ... [X Y Z ROLL PITCH YAW]."""
    words = line.split()
    topics = [word for word in words if word.startswith('/') or not _is_number(word)]
    numbers = words[len(topics):]
    if not topics or len(numbers) not in (0, 6) or not all(map(_is_number, numbers)):
        raise ConfigError('option cameras', expected='"TOPIC ... [X Y Z ROLL PITCH YAW]"',
                          found=repr(line))
    return _camera(tuple(topics), [float(x) for x in numbers] or np.zeros(6), not numbers)


def _is_number(word):
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False


def _camera(topics, pose, free):
    pose = np.array(pose, dtype=float)
    return Camera(topics, Rotation.from_euler('xyz', pose[3:]).as_matrix(), pose[:3], free)
