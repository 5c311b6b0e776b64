"""Hulls: what mass, centre and inertia of a link can be within the convex hull of its shapes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

MOST_POINTS = 1000  # of a mesh: of more, those that are outermost in some direction
HULL_DIRECTIONS = 300  # 8 degrees apart, which takes 0.3 % off a sphere
LEAST_VOLUME = 1e-9  # [m^3]: a hull with less volume is a plate or a line, which bounds nothing
_SIGNS = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))
DRAWN_DIRECTIONS = _SIGNS[_SIGNS.any(axis=1)]  # in which a hull is drawn


def _many_directions() -> np.ndarray:
    """Return unit vectors (HULL_DIRECTIONS, 3), evenly (a spiral of Fibonacci)."""
    k = np.arange(HULL_DIRECTIONS) + 0.5
    z = 1.0 - 2.0 * k / HULL_DIRECTIONS
    angle = np.pi * (1.0 + 5.0**0.5) * k
    ring = np.sqrt(1.0 - z * z)
    return np.stack([ring * np.cos(angle), ring * np.sin(angle), z], axis=1)


def outermost(points: np.ndarray) -> np.ndarray:
    """Return those of ``points`` (P, 3) that are outermost in one of many directions."""
    if len(points) <= MOST_POINTS:
        return points
    columns = np.ascontiguousarray(points.T, dtype=np.float32)
    directions = _many_directions().astype(np.float32)
    kept = [int(np.argmax(direction @ columns)) for direction in directions]
    return points[np.unique(kept)]


@dataclass(frozen=True)
class Hull:
    """
    A convex hull with volume.

    points : (P, 3), its corners [m]; edges : (E, 2) numbers of corners
    normals, offsets : (F, 3), (F,): inside, normals @ x + offsets <= 0
    volume [m^3]; centre : (3,) of it [m]; spread : (3, 3) mean square about the centre [m^2]
    """

    points: np.ndarray
    edges: np.ndarray
    normals: np.ndarray
    offsets: np.ndarray
    volume: float
    centre: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray) -> 'Hull | None':
        """Return the hull of ``points`` (P, 3) [m], None where they have no volume."""
        points = outermost(np.asarray(points, dtype=float))
        if len(points) < 4 or np.ptp(points, axis=0).prod() < LEAST_VOLUME:
            return None
        from scipy.spatial import ConvexHull, QhullError

        try:
            found = ConvexHull(points)
        except (QhullError, ValueError):
            return None
        if found.volume < LEAST_VOLUME:
            return None
        number = {corner: k for k, corner in enumerate(found.vertices)}
        faces = np.vectorize(number.__getitem__)(found.simplices)
        corners = points[found.vertices]
        volume, centre, spread = _moments(corners, faces)
        pairs = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]))
        return cls(
            points=corners,
            edges=np.unique(pairs, axis=0),
            normals=found.equations[:, :3],
            offsets=found.equations[:, 3],
            volume=volume,
            centre=centre,
            spread=spread,
        )

    def placed(self, T: np.ndarray) -> 'Hull':
        """Return the hull in another frame, in which its own has placement ``T`` (4, 4)."""
        R, p = T[:3, :3], T[:3, 3]
        normals = self.normals @ R.T
        return Hull(
            points=placed(self.points, T),
            edges=self.edges,
            normals=normals,
            offsets=self.offsets - normals @ p,
            volume=self.volume,
            centre=R @ self.centre + p,
            spread=R @ self.spread @ R.T,
        )

    @cached_property
    def size(self) -> float:
        """Return the diagonal of its box [m]."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0)))

    def beyond(self, point: np.ndarray) -> float:
        """Return how far a ``point`` (3,) is outside [m]: at least so far, below 0 inside."""
        return float(np.max(self.normals @ point + self.offsets))

    def solid(self, mass: float) -> tuple[np.ndarray, np.ndarray]:
        """Return centre (3,) [m], inertia (3, 3) about it [kg m^2] of a solid; mass : [kg]."""
        return self.centre, mass * (np.trace(self.spread) * np.eye(3) - self.spread)

    def largest_spread(self, centre: np.ndarray, axes: np.ndarray, margin: float) -> np.ndarray:
        """
        Return the largest mean squares (k,) of a mass within the hull, along ``axes`` [m^2].

        centre : (3,) of the mass; axes : (3, k) unit vectors; margin : that the hull is larger [m]
        A mass between a and b with its centre at c has at most (b - c) (c - a) (Bhatia, Davis
        2000: A better bound on the variance).
        """
        along = (self.points - centre) @ axes
        before = np.maximum(margin - along.min(axis=0), 0.0)
        behind = np.maximum(along.max(axis=0) + margin, 0.0)
        return before * behind


@dataclass(frozen=True)
class Ball:
    """Where a link may be whose shape is not known: centre (3,) and radius [m]."""

    centre: np.ndarray
    radius: float

    @property
    def size(self) -> float:
        """Return the diameter [m]."""
        return 2.0 * self.radius

    def beyond(self, point: np.ndarray) -> float:
        """Return how far a ``point`` (3,) is outside [m]."""
        return float(np.linalg.norm(point - self.centre)) - self.radius

    def largest_spread(self, centre: np.ndarray, axes: np.ndarray, margin: float) -> np.ndarray:
        """
        Return the largest mean squares (k,) of a mass within the ball, see Hull [m^2].

        centre : (3,) of the mass [m]; axes : (3, k) unit vectors; margin : more radius [m]
        """
        along = (centre - self.centre) @ axes
        reach = self.radius + margin
        return np.maximum(reach - along, 0.0) * np.maximum(reach + along, 0.0)


def placed(points: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return ``points`` (P, 3) in another frame, in which their own has placement ``T`` (4, 4)."""
    return points @ T[:3, :3].T + T[:3, 3]


def hulls_of(points: Mapping[str, np.ndarray]) -> dict[str, Hull]:
    """Return {name: the hull of its ``points`` (P, 3) [m]}, of those that have a volume."""
    hulls = {name: Hull.of(corners) for name, corners in points.items()}
    return {name: hull for name, hull in hulls.items() if hull is not None}


def _moments(corners: np.ndarray, faces: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return volume, centre (3,) and mean square about it (3, 3) of a solid of triangles."""
    inside = corners.mean(axis=0)
    a, b, c = (corners[faces[:, k]] - inside for k in range(3))
    volumes = np.abs(np.einsum('fi,fi->f', a, np.cross(b, c))) / 6.0
    volume = volumes.sum()
    s = a + b + c
    centre = volumes @ s / (4.0 * volume)
    # Of a tetrahedron with one corner at 0 (a, b, c the others): V / 20 (sum x x' + s s').
    squares = sum(np.einsum('f,fi,fj->ij', volumes, x, x) for x in (a, b, c, s)) / (20.0 * volume)
    return float(volume), inside + centre, squares - np.outer(centre, centre)
