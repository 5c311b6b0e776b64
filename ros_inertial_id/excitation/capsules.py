"""
Capsules around shapes: what the search keeps apart, as it needs distances with a gradient.

A primitive gets one capsule; the convex hull of a mesh one or, where that is smaller, several, cut
across its length.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from .regressor_adjoint import Chain, dot, TreePass
from ..dynamics.body_motion import cross
from ..dynamics.robot_model import RobotModel

SMALLER = 0.85  # share of the volume of one capsule that its pieces must stay below
CUTS = 2  # of a mesh, one after the other: four capsules at most
SHARES = (0.25, 0.35, 0.5, 0.65, 0.75)  # of its length, where a cut is tried


@dataclass(frozen=True)
class Capsules:
    """
    k capsules, the m pairs of them that must stay apart, and the f that must stay above a floor.

    bodies : (k,) body that carries the capsule, -1 for the base
    ends : (k, 2, 3) of its axis, in that body's frame [m]; radii : (k,) [m]; pairs : (m, 2)
    above : (f,) capsules kept above the plane z = ``floor`` [m] of the base frame
    margins : (m + f,) distance to be kept by the pairs, then by those above the floor [m]
    """

    bodies: np.ndarray
    ends: np.ndarray
    radii: np.ndarray
    pairs: np.ndarray
    above: np.ndarray
    floor: float
    margins: np.ndarray

    def pairs_of_bodies(self) -> np.ndarray:
        """Return the bodies (m + f, 2) of every gap, -1 for the base, obstacles and the floor."""
        floor = np.column_stack([self.bodies[self.above], np.full(len(self.above), -1)])
        return np.vstack([self.bodies[self.pairs], floor])

    def gaps_at(self, robot: RobotModel, q: np.ndarray) -> np.ndarray:
        """Return the gaps (N, m + f) [m] of a RobotModel ``robot`` in postures q (N, n)."""
        zero = np.zeros_like(q.T)
        return self.gaps(TreePass(Chain.of(robot), q.T, zero, zero, np.zeros(3)))[0].T

    def gaps(self, tree: TreePass) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """
        Return the gaps, (m + f, N) [m], of the pairs and above the floor, below 0 inside.

        tree : TreePass of N samples
        Also the closest points on both axes and the unit vector from the second to the first,
        each (3, m + f, N), in the base frame.
        """
        ends = self._placed(tree)
        first, second = self.pairs.T
        a, u = ends[:, 0, first], ends[:, 1, first] - ends[:, 0, first]
        b, w = ends[:, 0, second], ends[:, 1, second] - ends[:, 0, second]
        s, t = _closest(a - b, u, w)
        on_first, on_second = a + s * u, b + t * w
        between = on_first - on_second
        distance = np.sqrt(dot(between, between)) + 1e-12
        gap = distance - (self.radii[first] + self.radii[second])[:, None]
        pairs = gap, on_first, on_second, between / distance
        gap, on_first, on_second, normal = (
            np.concatenate(both, axis=-2) for both in zip(pairs, self._above_floor(ends)))
        return gap, on_first, on_second, normal

    def _above_floor(self, ends):
        """Return what ``gaps`` does, of the capsules above the floor (f, N)."""
        down = ends[:, :, self.above]
        lower = np.where(down[2:, 0] < down[2:, 1], down[:, 0], down[:, 1])
        foot = lower * np.array([1.0, 1.0, 0.0])[:, None, None]
        foot[2] = self.floor
        up = np.zeros_like(lower)
        up[2] = 1.0
        return lower[2] - self.floor - self.radii[self.above][:, None], lower, foot, up

    def back(self, tree: TreePass, gap_bar: np.ndarray, on_first: np.ndarray,
             on_second: np.ndarray, normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return p_bar and R_turn (3, n, N), see TreePass.back.

        tree : the TreePass of ``gaps``; gap_bar : (m + f, N) derivative by the gaps [1/m]
        on_first, on_second, normal : (3, m + f, N) the other results of ``gaps``
        """
        push, both = normal * gap_bar, self.pairs_of_bodies()
        p_bar, R_turn = np.zeros_like(tree.p), np.zeros_like(tree.p)
        for side, point, sign in ((0, on_first, 1.0), (1, on_second, -1.0)):
            bodies = both[:, side]
            for body in np.unique(bodies[bodies >= 0]):
                own = bodies == body
                force = sign * push[:, own]
                p_bar[:, body] += force.sum(1)
                R_turn[:, body] += cross(point[:, own] - tree.p[:, body, None], force).sum(1)
        return p_bar, R_turn

    def _placed(self, tree):
        """Return the ends (3, 2, k, N) in the base frame."""
        size = tree.q.shape[1]
        placed = np.empty((3, 2, len(self.bodies), size))
        for k, (body, ends) in enumerate(zip(self.bodies, self.ends)):
            if body < 0:
                placed[:, :, k] = ends.T[:, :, None]
            else:
                placed[:, :, k] = (np.einsum('xcb,ec->xeb', tree.R[:, :, body], ends)
                                   + tree.p[:, None, body])
        return placed


def _closest(r, u, w):
    """Return the parameters in 0..1 of the closest points of segments a + s u and b + t w."""
    uu, ww, uw = dot(u, u) + 1e-12, dot(w, w) + 1e-12, dot(u, w)
    ur, wr = dot(u, r), dot(w, r)
    apart = np.maximum(uu * ww - uw * uw, 1e-12 * uu * ww)
    s = np.clip((uw * wr - ur * ww) / apart, 0.0, 1.0)
    t = (uw * s + wr) / ww
    inside = np.clip(t, 0.0, 1.0)
    s = np.where(t == inside, s, np.clip((uw * inside - ur) / uu, 0.0, 1.0))
    return s, inside


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
