"""
Cameras: which topics each sees, and where it stands in the base link, or may stand.

Where nothing is known of a camera random poses are improved by registration: every frame is
matched to the nearest of random configurations of the mechanism, then all points of all frames at
once to those of their configurations (iterative closest points, Besl and McKay 1992; rigid
registration after Kabsch 1976).  A tag counts as its origin and three points on its axes, at the
distance at which the noise of its orientation is that of its position.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
import warnings

import numpy as np
from scipy.spatial.transform import Rotation

from ..dynamics.mechanism import Mechanism
from ..measurement.markers import Frames, LINE, Marker
from ...dynamics.body_motion import body_motions, frame_of
from ...errors import ConfigError

STARTS = 64    # random rotations: the nearest is about half a radian from the truth
ROUNDS = 20    # of matching and registration
BEST = 6       # poses returned
TURNED = 0.2   # [rad] poses closer together are one


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
    """Return the line of option ``cameras`` of a camera whose pose is known."""
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


def registered(robot: Mechanism, configurations: np.ndarray, frames: Frames,
               arm: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """
    Return the BEST poses [(rotation (3, 3), translation (3,))] that put Frames on a Mechanism.

    configurations : (C, n) random ones; frames : as the camera sees them
    arm : [m] of a tag's axis points
    """
    targets, seen = _library(robot, configurations, frames, arm), _points(frames, arm)
    weight = np.isfinite(seen).all(-1)
    whole = weight.sum(1) >= np.median(weight.sum(1))  # frames that show as much as most
    seen, weight = np.nan_to_num(seen[whole]), weight[whole].astype(float)
    results = []
    for turn in Rotation.random(STARTS, random_state=0).as_matrix():
        results.append(_closest(turn, seen, weight, targets))
    results.sort(key=lambda result: result[0])
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    for _, R, p in results:
        apart = [Rotation.from_matrix(R @ other.T).magnitude() for other, _ in kept]
        if min(apart, default=np.inf) > TURNED:
            kept.append((R, p))
    return kept[:BEST]


def _closest(R, seen, weight, targets):
    """Return (mean square [m^2], R, p) after ROUNDS from a rotation R (3, 3)."""
    flat = targets.reshape(len(targets), -1)
    squares = (targets ** 2).sum(-1).T
    p = targets.mean((0, 1)) - R @ (np.einsum('fm,fmi->i', weight, seen) / weight.sum())
    for _ in range(ROUNDS):
        placed = seen @ R.T + p
        # |x - y|^2 of all frames and configurations, less |x|^2 which is the same for all.
        distance = weight @ squares - 2.0 * (placed * weight[:, :, None]).reshape(
            len(seen), -1) @ flat.T
        R, p = aligned(seen, weight, targets[distance.argmin(1)])
    placed = seen @ R.T + p
    nearest = targets[distance.argmin(1)]
    return float((weight * ((placed - nearest) ** 2).sum(-1)).sum() / weight.sum()), R, p


def aligned(seen: np.ndarray, weight: np.ndarray,
            target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return R (3, 3), p (3,) that bring points best on others (Kabsch 1976).

    seen, target : (M, m, 3) points [m]; weight : (M, m) of each
    """
    a, b = (np.einsum('fm,fmi->i', weight, x) / weight.sum() for x in (seen, target))
    with warnings.catch_warnings():  # of what is open: the bundle adjustment says which
        warnings.simplefilter('ignore', UserWarning)
        turn, _ = Rotation.align_vectors((target - b).reshape(-1, 3), (seen - a).reshape(-1, 3),
                                         weight.ravel())
    R = turn.as_matrix()
    return R, b - R @ a


def _library(robot, q, frames, arm):
    """Return the points (C, m', 3) that Frames would show at the configurations q (C, n)."""
    motions, out = body_motions(robot.robot, q), []
    for name, tag in zip(frames.links, frames.tags):
        link = frame_of(robot.robot, name)
        at = motions[link.body + 1].at(link)
        out += [at.p.T] + [at.p.T + arm * at.R[:, k].T for k in range(3) if tag]
    return np.stack(np.broadcast_arrays(*out), axis=1)


def _points(frames, arm):
    """Return the points (M, m', 3) that Frames show, NaN where they do not."""
    out = []
    for k, tag in enumerate(frames.tags):
        at = frames.position[:, k]
        out += [at] + [at + arm * frames.rotation[:, k, :, i] for i in range(3) if tag]
    return np.stack(out, axis=1)
