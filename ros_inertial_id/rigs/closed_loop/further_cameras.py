"""
Further cameras at unknown places: where to begin, and whether the markers show it.

The first camera alone shows the motion; the points that another one sees are then where the
mechanism is at the same time, and one rigid registration gives its pose (Kabsch 1976), one for
every clock offset that is tried.  From there all poses are adjusted together
(bundle_adjustment.py).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .bundle_adjustment import Bundle, Shared
from .cameras import Camera
from .marker_fit import OUTLIER
from .registration import aligned
from ..dynamics.mechanism import Mechanism
from ..measurement.marker_clocks import on_one_clock, ONE_CLOCK, reference_stamps
from ..measurement.markers import Marker
from ...dynamics.body_motion import body_motions, frame_of
from ...errors import RecordingError

ROUNDS = 10  # of registration with weights
FEWEST = 10  # readings at times at which the first camera saw something


def begin(robot: Mechanism, bundle: Bundle, shared: Shared, markers: Sequence[Marker],
          others: Sequence[Camera]) -> Shared:
    """
    Return ``shared`` with the other cameras, about where they stand, and clock offsets.

    robot : Mechanism that was seen; bundle : of what the first camera saw
    shared : as the first camera shows it; markers : of all cameras; others : further cameras
    RecordingError where one saw nothing at the same time as the first.
    """
    q = bundle.search(shared)
    first = [m for m in markers if not any(m.topic in camera.topics for camera in others)]
    clock = reference_stamps(first, shared.offsets)
    for camera in others:
        own = [m for m in markers if m.topic in camera.topics]
        late = sorted({m.topic for m in own if bundle.limit
                       and np.isin(m.t, clock).mean() < ONE_CLOCK})
        tried = []
        for start in bundle.starts() if late else [0.0]:
            offsets = {**shared.offsets, **dict.fromkeys(late, start)}
            there = on_one_clock([*first, *own], offsets, bundle.t)[len(first):]
            pairs = _pairs(robot, bundle.t, q, there)
            if len(pairs[0]) >= FEWEST:
                tried.append((*_fitted(camera, *pairs), offsets))
        if not tried:
            raise RecordingError(
                f"the camera of {', '.join(camera.topics)} saw nothing when the first one did",
                do='set largest_clock_offset: where their clocks differ')
        _, best, offsets = min(tried, key=lambda found: found[0])
        if camera.free and not any(m.rotation is not None for m in own):
            _check_spread(pairs[1], bundle.fit.noise[0], camera)
        shared = replace(shared, cameras=(*shared.cameras, best), offsets=offsets)
    return shared


def _pairs(robot, t, q, markers):
    """Return points (P, 3) of Markers and where a mechanism at q (M, n), t (M,), has them."""
    motions, seen, there = body_motions(robot.robot, q), [], []
    for marker in markers:
        link = frame_of(robot.robot, marker.link)
        there.append(motions[link.body + 1].at(link).p.T[np.isin(t, marker.t)])
        seen.append(marker.position[np.isin(marker.t, t)])
    return np.concatenate(seen), np.concatenate(there)


def _fitted(camera, seen, there):
    """Return (median square [m^2], Camera) that puts points (P, 3) on others, if it is free."""
    weight = np.ones(len(seen))
    for _ in range(ROUNDS):
        if camera.free:
            R, p = aligned(seen[:, None], weight[:, None], there[:, None])
            camera = replace(camera, rotation=R, translation=p)
        square = ((seen @ camera.rotation.T + camera.translation - there) ** 2).sum(1)
        usual = float(np.median(square))
        weight = 1.0 / (1.0 + square / max(usual, 1e-12))
    return usual, camera


def _check_spread(points, noise, camera):
    """Raise RecordingError where points (P, 3) lie on a line: noise alone would show a turn."""
    width = np.linalg.svd(points - points.mean(0), compute_uv=False)[1] / np.sqrt(len(points))
    if width < OUTLIER * noise:
        raise RecordingError(
            f"the markers of {', '.join(camera.topics)} do not determine where their camera "
            'stands', found='all on one line: a turn about it is open',
            do='see another marker with it, a tag (pose), or give its pose in cameras:')
