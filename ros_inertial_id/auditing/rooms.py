"""Rooms: where the mass of a link can be, and what inertias it can have there."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from .described import Correction, Described, DescribedInertia, NO_CORRECTION
from .hulls import Ball, Hull

ROUNDED_TRIANGLE = 1.02  # of the two smaller moments: what rounding in a text breaks
ROUNDED_MOMENT = 1e-9  # of the largest moment: what turning a tensor leaves of a moment of zero
MARGIN, LEAST_MARGIN = 0.05, 0.01  # of the size of a hull, [m]: shapes are simplified
BALL_REACH, END_REACH, LEAST_REACH = 1.5, 0.25, 0.05  # of joints, of the robot's length, [m]
DENSEST = 60000.0  # [kg/m^3]: shapes of denser links are marks, or in another unit
ELSEWHERE = 0.45  # of the size of a hull: joints farther outside say that it is drawn elsewhere
SMALLEST_SPREAD = 0.01  # times that of the solid hull: a tenth of its radius of gyration


class LinkRoom:
    """Where the mass of a ``link`` of a ``robot`` can be: in the hull of its shapes, else near."""

    def __init__(self, robot: Described, link: str) -> None:
        self._robot, self._link = robot, link

    @cached_property
    def hull(self) -> Hull | None:
        """Return the hull of all that the link is fixed to; None where a shape is not known."""
        hull = self._robot.hull_about(self._link)
        if hull is None or self._is_another(hull):
            return None
        return hull

    def _is_another(self, hull: Hull) -> bool:
        """Return whether a ``hull`` is that of a part, of a mark, or drawn elsewhere."""
        body = self._robot.bodies[self._robot.body_of[self._link]]
        if any(link.without_mesh for link in body.links) or body.mass > DENSEST * hull.volume:
            return True
        joints = self._robot.joint_points(self._link)
        return max(map(hull.beyond, joints)) > ELSEWHERE * hull.size

    @cached_property
    def own_hull(self) -> Hull | None:
        """Return the hull of the link's own shapes, else that of its body; None for none."""
        if self.hull is None:
            return None
        own = self._robot.hulls.get(self._link, self.hull)
        if self._robot.links[self._link].mass > DENSEST * own.volume:
            return self.hull
        return own

    @cached_property
    def room(self) -> Hull | Ball:
        """Return the hull, else a ball about the joints of its body."""
        if self.hull is not None:
            return self.hull
        points = self._robot.joint_points(self._link)
        centre = 0.5 * (points.max(axis=0) + points.min(axis=0))
        farthest = float(np.linalg.norm(points - centre, axis=1).max())
        reach = BALL_REACH * farthest + END_REACH * self._robot.length
        return Ball(centre, max(reach, LEAST_REACH))

    @property
    def margin(self) -> float:
        """Return by how much the room may be larger than drawn [m]."""
        return MARGIN * self.room.size + LEAST_MARGIN

    def excess(self, inertia: DescribedInertia) -> float:
        """Return how many times the second moment is beyond that of any mass in the room."""
        if inertia.mass <= 0.0:
            return 0.0
        values, axes = np.linalg.eigh(inertia.second_moment / inertia.mass)
        centre = inertia.centre
        if self.room.beyond(centre) > 0.0:  # a fault of its own: the size is judged without it
            centre = self.room.centre
        possible = self.room.largest_spread(centre, axes, self.margin)
        return float(np.max(values / np.maximum(possible, 1e-12)))

    def smallness(self, inertia: DescribedInertia) -> float:
        """Return the second moment as a share of that of the solid hull; 1 without a hull."""
        if self.own_hull is None or inertia.mass <= 0.0:
            return 1.0
        spread = np.trace(inertia.second_moment) / inertia.mass
        return float(spread / np.trace(self.own_hull.spread))

    def allows(self, inertia: DescribedInertia) -> bool:
        """Return whether a body in the room can have an ``inertia``."""
        if not is_possible(inertia) or self.excess(inertia) > 1.0:
            return False
        return self.smallness(inertia) >= SMALLEST_SPREAD

    def is_like_solid(self, inertia: DescribedInertia) -> bool:
        """Return whether an ``inertia`` is possible, and about as large as that of the hull."""
        if self.own_hull is None:  # joint distances tell no size of a solid
            return False
        return self.allows(inertia) and 1.0 / LIKE_SOLID < self.smallness(inertia) < LIKE_SOLID

    def solid(self, mass: float) -> DescribedInertia | None:
        """Return the inertia of the solid hull with a ``mass`` [kg], None without a hull."""
        if self.own_hull is None or mass <= 0.0:
            return None
        return DescribedInertia(mass, *self.own_hull.solid(mass))


def is_possible(inertia: DescribedInertia, rounded: float = ROUNDED_TRIANGLE) -> bool:
    """Return whether a body can have an ``inertia``; rounded : times the two smaller moments."""
    smaller, middle, largest = inertia.moments
    return not is_negative(inertia) and largest <= rounded * (smaller + middle)


def is_negative(inertia: DescribedInertia) -> bool:
    """Return whether a principal moment of an ``inertia`` is below zero by more than rounding."""
    smallest, _, largest = inertia.moments
    return bool(smallest < -ROUNDED_MOMENT * abs(largest))


def is_round(inertia: DescribedInertia) -> bool:
    """Return whether moments are one power of ten, thrice, as nobody measures."""
    diagonal = np.diag(inertia.tensor)
    if np.ptp(diagonal) > 1e-9 * diagonal.max() or diagonal.max() <= 0.0:
        return False
    if np.abs(inertia.tensor - np.diag(diagonal)).max() > 1e-9 * diagonal.max():
        return False
    exponent = np.log10(diagonal[0])
    return bool(abs(exponent - round(exponent)) < 1e-6)


def about_centre(inertia: DescribedInertia) -> DescribedInertia:
    """Return an ``inertia`` whose tensor is given about the frame of the link."""
    square = inertia.centre @ inertia.centre * np.eye(3)
    steiner = inertia.mass * (square - np.outer(inertia.centre, inertia.centre))
    return replace(inertia, tensor=inertia.tensor - steiner)


def scaled(inertia: DescribedInertia, factor: float) -> DescribedInertia:
    """Return an ``inertia`` with ``factor`` times the moments."""
    return replace(inertia, tensor=factor * inertia.tensor)


def without_products(inertia: DescribedInertia) -> DescribedInertia:
    """Return an ``inertia`` with its diagonal alone."""
    return replace(inertia, tensor=np.diag(np.diag(inertia.tensor)))


# How an inertia that cannot be became so: in words, and times what it would be without.
UNITS = (
    ('g m^2', 1e-3),
    ('kg mm^2', 1e-6),
    ('g mm^2', 1e-9),
)
TEN = (('a tenth', 0.1), ('a hundredth', 0.01), ('ten times', 10.0))
ELEMENTS = ('ixx', 'iyy', 'izz')
LIKE_SOLID = 3.0  # times the solid hull, or as small a part of it: an explanation fits


def explanation(room: LinkRoom, inertia: DescribedInertia) -> Correction:
    """
    Return what explains an ``inertia`` that cannot be, and it without that.

    '' and None where nothing does, or where two decimal points do as well.
    """
    if np.ptp(inertia.tensor) <= 1e-6 * np.abs(inertia.tensor).max():
        return Correction('all six numbers are equal', without_products(inertia))
    if is_round(inertia):
        return Correction('three equal round numbers are placeholders', None)
    other = about_centre(inertia)
    if room.allows(other) and other.tensor.any():
        return Correction(
            'it fits about the frame of the link instead of the centre of mass', other
        )
    in_units = [pair for pair in _in_units(inertia) if room.is_like_solid(pair[1])]
    if in_units:
        return Correction(*in_units[0])
    with_points = [pair for pair in _with_points(inertia) if room.is_like_solid(pair[1])]
    if len(with_points) == 1:
        return Correction(*with_points[0])
    return NO_CORRECTION


def _in_units(inertia: DescribedInertia) -> Iterator[tuple[str, DescribedInertia]]:
    """Yield in words which other unit the numbers of an ``inertia`` can have, and it in that."""
    for words, factor in UNITS:
        yield f'it fits in {words}', scaled(inertia, factor)


def _with_points(inertia: DescribedInertia) -> Iterator[tuple[str, DescribedInertia]]:
    """Yield in words where decimal points of an ``inertia`` can be wrong, and it without that."""
    for words, factor in TEN:
        yield f'it fits at {words}', scaled(inertia, factor)
        for k, element in enumerate(ELEMENTS):
            tensor = inertia.tensor.copy()
            tensor[k, k] *= factor
            because = f'it fits with {element} at {words}: a decimal point'
            yield because, replace(inertia, tensor=tensor)
