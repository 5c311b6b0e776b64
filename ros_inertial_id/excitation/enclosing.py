"""
Capsules around shapes: what the search keeps apart, as it needs distances with a gradient.

A primitive gets one capsule; the convex hull of a mesh one or, where that is smaller, several, cut
across its length.
"""

from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

SMALLER = 0.85  # share of the volume of one capsule that its pieces must stay below
CUTS = 2  # of a mesh, one after the other: four capsules at most
SHARES = (0.25, 0.35, 0.5, 0.65, 0.75)  # of its length, where a cut is tried


def enclosing(shape: Any) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Return (center, half axis (3,), radius) [m] of capsules around a coal ``shape``."""
    zero, kind = np.zeros(3), type(shape).__name__
    if kind == 'Sphere':
        return [(zero, zero, shape.radius)]
    if kind == 'Capsule':
        return [(zero, np.array([0.0, 0.0, shape.halfLength]), shape.radius)]
    if kind == 'Cylinder':
        return [(zero, *_around(np.array([0.0, 0.0, shape.halfLength]), shape.radius))]
    if kind == 'Box':
        sides = np.array(shape.halfSide)
        longest = int(np.argmax(sides))
        across = float(np.linalg.norm(np.delete(sides, longest)))
        return [(zero, *_around(np.eye(3)[longest] * sides[longest], across))]
    if kind == 'Convex':
        return _around_points(np.array(shape.points()))
    shape.computeLocalAABB()
    return [(np.array(shape.aabb_center), zero, shape.aabb_radius)]


def _around(half, radius):
    """Return half axis and radius of the capsule around a cylinder: half its cap stands out."""
    length = np.linalg.norm(half)
    kept = max(length - 0.5 * radius, 0.0)
    return half * (kept / length), float(np.hypot(radius, length - kept))


def _around_points(points, cuts=CUTS):
    """Return capsules around the convex hull of ``points`` (k, 3), cut ``cuts`` times at most."""
    whole = [_capsule(points)]
    if not cuts:
        return whole
    hull = ConvexHull(points)
    axis = np.linalg.svd(points - points.mean(0), full_matrices=False)[2][0]
    halves = min((_halves(points, hull, axis, share) for share in SHARES),
                 key=lambda both: sum(_volume(_capsule(half)) for half in both))
    pieces = [capsule for half in halves for capsule in _around_points(half, cuts - 1)]
    return pieces if sum(map(_volume, pieces)) < SMALLER * _volume(whole[0]) else whole


def _halves(points, hull, axis, share):
    """Return the corners of both parts of a hull, cut across ``axis`` at a share of its length."""
    along = points @ axis
    along = along - along.min() - share * np.ptp(along)
    edges = np.vstack([hull.simplices[:, [0, 1]], hull.simplices[:, [1, 2]],
                       hull.simplices[:, [2, 0]]])
    low, high = along[edges[:, 0]], along[edges[:, 1]]
    through = low * high < 0
    part = (low[through] / (low[through] - high[through]))[:, None]
    first, last = points[edges[through, 0]], points[edges[through, 1]]
    between = first + part * (last - first)
    return [np.vstack([points[side], between]) for side in (along <= 0, along >= 0)]


def _capsule(points):
    """Return the smallest capsule (center, half axis, radius) around points, of their axes."""
    axes = np.vstack([np.linalg.svd(points - points.mean(0), full_matrices=False)[2], np.eye(3)])
    return min((_along(points, axis) for axis in axes), key=_volume)


def _along(points, axis):
    along = points @ axis
    across = points - along[:, None] * axis
    middle = 0.5 * (across.min(0) + across.max(0))
    middle -= (middle @ axis) * axis
    for _ in range(50):  # towards the centre of the smallest circle around them
        away = across - middle
        distance = np.linalg.norm(away, axis=1)
        middle = middle + 0.1 * away[distance.argmax()] * (1 - np.sort(distance)[-2] / max(
            distance.max(), 1e-12) + 0.02)
    distance = np.linalg.norm(across - middle, axis=1)
    radius = float(distance.max()) + 1e-6
    reach = np.sqrt(radius ** 2 - distance ** 2)
    low, high = (along + reach).min(), (along - reach).max()
    if high < low:
        low = high = 0.5 * (low + high)
        radius = float(np.hypot(distance, along - low).max()) + 1e-6
    return middle + 0.5 * (low + high) * axis, 0.5 * (high - low) * axis, radius


def _volume(capsule):
    _, half, radius = capsule
    return np.pi * radius ** 2 * (2.0 * np.linalg.norm(half) + 4.0 / 3.0 * radius)
