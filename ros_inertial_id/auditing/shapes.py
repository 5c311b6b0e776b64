"""Shapes: the corners of what links are drawn with and collided with."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from .described import DescribedLink
from .hulls import placed
from .meshes import mesh_points

ROUND = 24  # corners of a circle
BELTS = 13  # circles of a ball
Sizes = Sequence[float] | np.ndarray


class Shape(NamedTuple):
    """A kind of shape: names and number of its sizes in descriptions, corners (P, 3) of sizes."""

    sizes: tuple[str, ...]
    number: int
    corners: Callable[[Sizes], np.ndarray]


class PlacedShape(NamedTuple):
    """
    A shape of a link.

    name : of its mesh, or its kind; corners : (P, 3) [m], None where they are not known
    placement : (4, 4) of its frame in the link's [m]
    """

    name: str
    corners: np.ndarray | None
    placement: np.ndarray


def shaped(link: DescribedLink, shapes: Iterable[PlacedShape]) -> DescribedLink:
    """Return a ``link`` with ``shapes``."""
    parts, absent = [np.zeros((0, 3))], []
    for shape in shapes:
        if shape.corners is None:
            absent.append(shape.name)
        else:
            parts.append(placed(shape.corners, shape.placement))
    return replace(link, points=np.concatenate(parts), without_mesh=tuple(absent))


def size_names(kind: str) -> tuple[str, ...]:
    """Return the names of the sizes of a ``kind`` of shape in descriptions, () of others."""
    if kind not in SHAPES:
        return ()
    return SHAPES[kind].sizes


def shape_corners(kind: str, sizes: Sequence[float]) -> np.ndarray | None:
    """
    Return points (P, 3) whose hull is a shape about the origin [m], None where it is not known.

    kind : box, sphere, cylinder, capsule; sizes : edges, or radius and length along z [m]
    """
    shape = SHAPES.get(kind)
    if shape is None or len(sizes) != shape.number or not np.isfinite(sizes).all():
        return None
    return shape.corners(sizes)


def mesh_corners(reference: str, folder: str, scale: Sequence[float]) -> np.ndarray | None:
    """
    Return corners (P, 3) of a mesh [m], None where they are not known.

    reference : to its file; folder : of the description; scale : one factor, or of x, y and z
    """
    points = mesh_points(reference, folder)
    if points is None or len(scale) not in (1, 3) or not np.isfinite(scale).all():
        return None
    return points * scale


def box(edges: Sizes) -> np.ndarray:
    """Return the corners (8, 3) of a box with ``edges`` along x, y and z [m]."""
    return 0.5 * np.array(list(product((-1.0, 1.0), repeat=3))) * np.array(edges)


def cylinder(sizes: Sizes) -> np.ndarray:
    """Return the corners (P, 3) of a cylinder; sizes : radius, length along z [m]."""
    radius, length = sizes
    ends = [_circle(radius, z) for z in (-0.5 * length, 0.5 * length)]
    return np.concatenate(ends)


def sphere(sizes: Sizes) -> np.ndarray:
    """Return corners (P, 3) of a ball; sizes : radius [m]."""
    (radius,) = sizes
    heights = np.linspace(-np.pi / 2, np.pi / 2, BELTS)
    return np.concatenate([_circle(radius * np.cos(e), radius * np.sin(e)) for e in heights])


def capsule(sizes: Sizes) -> np.ndarray:
    """Return corners (P, 3) of a capsule; sizes : radius, length of its cylinder along z [m]."""
    radius, length = sizes
    shift = np.array([0.0, 0.0, 0.5 * length])
    ball = sphere([radius])
    return np.concatenate([ball - shift, ball + shift])


def _circle(radius: float, z: float) -> np.ndarray:
    """Return corners (P, 3) of a circle about the z axis [m]."""
    angles = np.linspace(0.0, 2.0 * np.pi, ROUND, endpoint=False)
    return np.stack([radius * np.cos(angles), radius * np.sin(angles), np.full(ROUND, z)], axis=1)


SHAPES = {
    'box': Shape(('size',), 3, box),
    'sphere': Shape(('radius',), 1, sphere),
    'cylinder': Shape(('radius', 'length'), 2, cylinder),
    'capsule': Shape(('radius', 'length'), 2, capsule),
}
