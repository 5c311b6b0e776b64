"""Rooms: where the mass of a link can be, and what inertias it can have there."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from .described import Described, DescribedInertia
from .hulls import Ball, Hull

ROUNDED = 1.02  # of the two smaller moments: what rounding in a text breaks
MARGIN, LEAST_MARGIN = 0.05, 0.01  # of the size of a hull, [m]: shapes are simplified
BALL_REACH, END_REACH, LEAST_REACH = 1.5, 0.25, 0.05  # of joints, of the robot's length, [m]
SMALLEST_SPREAD = 0.01  # times that of the solid hull: a tenth of its radius of gyration


class LinkRoom:
    """Where the mass of a ``link`` of a ``robot`` can be: in the hull of its shapes, else near."""

    def __init__(self, robot: Described, link: str) -> None:
        self._robot, self._link = robot, link

    @cached_property
    def hull(self) -> Hull | None:
        """Return the hull of all that the link is fixed to; None where a shape is not known."""
        links = self._robot.fixed_together[self._robot.body_of[self._link]]
        if any(self._robot.links[name].without_mesh for name in links):
            return None
        return self._robot.hull_about(self._link)

    @cached_property
    def own_hull(self) -> Hull | None:
        """Return the hull of the link's own shapes, else that of its body; None for none."""
        if self.hull is None:
            return None
        return self._robot.hulls.get(self._link, self.hull)

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
        possible = self.room.largest_spread(inertia.centre, axes, self.margin)
        return float(np.max(values / np.maximum(possible, 1e-12)))

    def smallness(self, inertia: DescribedInertia) -> float:
        """Return the second moment as a share of that of the solid hull; 1 without a hull."""
        if self.own_hull is None or inertia.mass <= 0.0:
            return 1.0
        spread = np.trace(inertia.second_moment) / inertia.mass
        return float(spread / np.trace(self.own_hull.spread))

    def allows(self, inertia: DescribedInertia) -> bool:
        """Return whether a body in the room can have an ``inertia``."""
        return (
            is_possible(inertia)
            and self.excess(inertia) <= 1.0
            and self.smallness(inertia) >= SMALLEST_SPREAD
        )

    def solid(self, mass: float) -> DescribedInertia | None:
        """Return the inertia of the solid hull with a ``mass`` [kg], None without a hull."""
        if self.own_hull is None or mass <= 0.0:
            return None
        return DescribedInertia(mass, *self.own_hull.solid(mass))


def is_possible(inertia: DescribedInertia, rounded: float = ROUNDED) -> bool:
    """Return whether a body can have an ``inertia``; rounded : times the two smaller moments."""
    smaller, middle, largest = inertia.moments
    return smaller >= 0.0 and largest <= rounded * (smaller + middle)


def about_centre(inertia: DescribedInertia) -> DescribedInertia:
    """Return an ``inertia`` whose tensor is given about the frame of the link."""
    square = inertia.centre @ inertia.centre * np.eye(3)
    steiner = inertia.mass * (square - np.outer(inertia.centre, inertia.centre))
    return replace(inertia, tensor=inertia.tensor - steiner)


def scaled(inertia: DescribedInertia, factor: float) -> DescribedInertia:
    """Return an ``inertia`` with ``factor`` times the moments."""
    return replace(inertia, tensor=factor * inertia.tensor)


def grams(inertia: DescribedInertia) -> DescribedInertia:
    """Return an ``inertia`` that is given in g and g m^2."""
    return replace(scaled(inertia, 1e-3), mass=1e-3 * inertia.mass)


def millimetres(inertia: DescribedInertia) -> DescribedInertia:
    """Return an ``inertia`` whose centre is given in mm."""
    return replace(inertia, centre=1e-3 * inertia.centre)


# How an inertia that cannot be became so: in words, and what it would be without.
SLIPS = (
    ('it fits about the frame of the link instead of the centre of mass', about_centre),
    ('it fits in g m^2', lambda inertia: scaled(inertia, 1e-3)),
    ('it fits in kg mm^2', lambda inertia: scaled(inertia, 1e-6)),
    ('it fits in g mm^2', lambda inertia: scaled(inertia, 1e-9)),
    ('it fits with the mass in g', grams),
    ('it fits at a tenth', lambda inertia: scaled(inertia, 0.1)),
    ('it fits at a hundredth', lambda inertia: scaled(inertia, 0.01)),
)
ELEMENTS = ('ixx', 'iyy', 'izz')
DECIMALS = {0.1: 'a tenth', 0.01: 'a hundredth', 1e-3: 'a thousandth', 10.0: 'ten times'}


def slip(room: LinkRoom, inertia: DescribedInertia) -> tuple[str, DescribedInertia | None]:
    """Return what explains an ``inertia`` in words, and it without that; '' and None."""
    for words, corrected in SLIPS:
        other = corrected(inertia)
        if room.allows(other):
            return words, other
    fitting = []
    for k, element in enumerate(ELEMENTS):
        for factor, words in DECIMALS.items():
            tensor = inertia.tensor.copy()
            tensor[k, k] *= factor
            other = replace(inertia, tensor=tensor)
            if room.allows(other):
                fitting.append((f'it fits with {element} at {words}: a decimal point', other))
    if len(fitting) == 1:
        return fitting[0]
    return '', None
