"""Checks of single links: whether a body where it is can have its mass, centre and inertia."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .check import above, below, Check, first_finding, SOUND, when
from .described import Body, Correction, Described, DescribedInertia, NO_CORRECTION
from .finding import AuditFinding, CAD, DOUBTFUL, NOTE, REPLACE, WRONG
from .rooms import explanation, is_negative, is_possible, LinkRoom, SMALLEST_SPREAD

LARGE = 1.0, 1.5  # doubtful, wrong above: second moment over that of all mass at two ends
SMALL = SMALLEST_SPREAD, 1e-4  # doubtful, wrong below: second moment over that of a solid
OUTSIDE = 0.1, 0.5  # doubtful, wrong above: distance outside of the room over its size
CENTRE_IN_MILLIMETRES = 10.0  # times the size of the room: as far away is a centre in mm
NEAR_ENOUGH = 0.02  # [m] outside: shapes are simplified
DENSE = 4000.0, 23000.0  # [kg/m^3] doubtful, wrong above: links of robots have 500 to 2800; osmium
USUAL_DENSITY = 1500.0  # [kg/m^3] of the hull of a link
AIRY = 3.0  # [kg/m^3] doubtful below: a tenth of foam
SMALLEST_VOLUME = 2e-5  # [m^3]: shapes of smaller ones are drawn too coarsely
LIGHTEST = 0.02  # [kg]: of what is lighter, the inertia matters to nobody
ROUNDING = 1.0 + 1e-6  # of the triangle inequality, below which it is kept


@dataclass(frozen=True)
class AuditedLink:
    """
    A link with a mass or a moment, and what its checks ask of it.

    room : where its mass can be; body : that it is part of
    """

    name: str
    inertia: DescribedInertia
    room: LinkRoom
    body: Body

    @property
    def mass(self) -> float:
        """Return its mass [kg]."""
        return self.inertia.mass

    @cached_property
    def outside(self) -> float:
        """Return how far its centre of mass is outside of the room [m]."""
        return self.room.room.beyond(self.inertia.centre)

    @property
    def volume(self) -> float:
        """Return the volume of the hull of its body [m^3], nan where that is not known."""
        if self.room.hull is None:
            return np.nan
        return self.room.hull.volume

    @property
    def density(self) -> float:
        """Return the density of its body [kg/m^3]."""
        return self.body.mass / self.volume

    def as_solid(self) -> Correction:
        """Return its solid hull with its mass."""
        return Correction('', self.room.solid(self.mass))

    def at_usual_density(self) -> Correction:
        """Return its solid hull at the usual density, where it is a body of its own."""
        if len(self.body.links) > 1:
            return NO_CORRECTION
        return Correction('', self.room.solid(USUAL_DENSITY * self.volume))

    def explained(self) -> Correction:
        """Return what explains its inertia, with the solid hull where nothing does."""
        because, inertia = explanation(self.room, self.inertia)
        return Correction(because, inertia or self.room.solid(self.mass))

    def with_centre_inside(self) -> Correction:
        """Return how its centre came to be outside, with the solid hull where nothing does."""
        for because, centre in _moved(self.inertia.centre, self.room.room.size):
            if self.room.room.beyond(centre) <= 0.0:
                return Correction(because, replace(self.inertia, centre=centre))
        return self.as_solid()


def _moved(centre: np.ndarray, size: float) -> Iterator[tuple[str, np.ndarray]]:
    """Yield in words how a ``centre`` came to be outside of a room of a ``size``, and the true."""
    if np.linalg.norm(centre) > CENTRE_IN_MILLIMETRES * size:
        yield 'it fits in mm', 1e-3 * centre
    for k, axis in enumerate('xyz'):
        other = centre.copy()
        other[k] *= -1.0
        yield f'it fits with {axis} negated', other


def in_words(values: Iterable[float]) -> str:
    """Return ``values`` with three digits each, as those of a vector."""
    return ' '.join(f'{value:.3g}' for value in values)


def audited_links(robot: Described) -> Iterator[AuditedLink]:
    """Yield the links of a ``robot`` that have a mass or a moment."""
    for name, inertia in robot.inertias.items():
        body = robot.bodies[robot.body_of[name]]
        yield AuditedLink(name, inertia, LinkRoom(robot, name), body)


def has_mass_and_moments(link: AuditedLink) -> bool:
    """Return whether a ``link`` has a mass above zero, and moments."""
    return link.mass > 0.0 and link.inertia.has_moments


def is_heavy(link: AuditedLink) -> bool:
    """Return whether the mass of a ``link`` matters."""
    return link.mass >= LIGHTEST


def has_size(link: AuditedLink) -> bool:
    """Return whether the inertia of a ``link`` is one of which the size can be judged."""
    return is_heavy(link) and link.inertia.has_moments and is_possible(link.inertia)


def is_drawn_body(link: AuditedLink) -> bool:
    """Return whether a ``link`` is the first of a body that has a mass and a hull of some size."""
    return link.name == link.body.name and link.body.mass > 0.0 and link.volume >= SMALLEST_VOLUME


def _severity_of_no_mass(link: AuditedLink) -> str:
    """Return the severity of moments without a mass: some simulators want them of a frame."""
    if link.mass != 0.0:
        return SOUND
    if link.room.own_hull is None:
        return NOTE
    return WRONG


def _principal_moments(link: AuditedLink) -> str:
    return 'principal moments {:.3g}, {:.3g}, {:.3g} kg m^2'.format(*link.inertia.moments)


def _largest_moment(link: AuditedLink) -> str:
    return f'largest moment {link.inertia.moments[2]:.3g} kg m^2 with {link.mass:.3g} kg'


def _largest_moment_of_solid(link: AuditedLink) -> str:
    solid = link.room.solid(link.mass)
    if solid is None:
        return ''
    return f'{solid.moments[2]:.3g} kg m^2 of a solid'


def _density(link: AuditedLink) -> str:
    litres = 1e3 * link.volume
    return f'{link.body.mass:.3g} kg in a hull of {litres:.3g} l, {link.density:.3g} kg/m^3'


Group = tuple[Callable[[AuditedLink], bool], tuple[Check[AuditedLink], ...]]
# Links that are looked at, and checks of which the first that finds something counts.
LINK_CHECKS: tuple[Group, ...] = (
    (
        lambda link: True,
        (
            Check(
                'mass below zero',
                when(lambda link: link.mass < 0.0, WRONG),
                why='no body weighs less than nothing',
                do=CAD,
                found=lambda link: f'{link.mass:.3g} kg',
            ),
            Check(
                'inertia without mass',
                _severity_of_no_mass,
                why='a link has moments of inertia and no mass',
                do='give the mass',
                found=lambda link: f'0 kg with {0.5 * np.trace(link.inertia.tensor):.2g} kg m^2',
            ),
        ),
    ),
    (
        has_mass_and_moments,
        (
            Check(
                'not positive definite',
                when(lambda link: is_negative(link.inertia), WRONG),
                why='a principal moment of inertia is below zero',
                do=REPLACE,
                found=_principal_moments,
                correction=AuditedLink.explained,
            ),
            Check(
                'triangle inequality',
                when(lambda link: not is_possible(link.inertia), WRONG),
                why='no body has it: a principal moment is larger than the two others',
                do=REPLACE,
                found=_principal_moments,
                plausible=lambda link: f'at most {sum(link.inertia.moments[:2]):.3g}',
                correction=AuditedLink.explained,
            ),
            Check(
                'triangle inequality by rounding',
                when(lambda link: not is_possible(link.inertia, ROUNDING), NOTE),
                why='a principal moment is larger than the two others, by rounding',
                do='give more digits: Drake and MuJoCo refuse it',
                found=_principal_moments,
            ),
        ),
    ),
    (
        has_size,
        (
            Check(
                'inertia too large',
                above(lambda link: link.room.excess(link.inertia), *LARGE),
                why='more than mass within the shape of the link can have',
                do=REPLACE,
                found=_largest_moment,
                plausible=_largest_moment_of_solid,
                correction=AuditedLink.explained,
            ),
        ),
    ),
    (
        has_size,
        (
            Check(
                'inertia too small',
                below(lambda link: link.room.smallness(link.inertia), *SMALL),
                why='as if all mass were in one point of the shape',
                do=REPLACE,
                found=_largest_moment,
                plausible=_largest_moment_of_solid,
                correction=AuditedLink.as_solid,
            ),
        ),
    ),
    (
        is_heavy,
        (
            Check(
                'centre outside',
                above(lambda link: (link.outside - NEAR_ENOUGH) / link.room.room.size, *OUTSIDE),
                why='the centre of mass is outside of the shape',
                do='give it in m, in the link frame',
                found=lambda link: (
                    f'({in_words(link.inertia.centre)}) m, {link.outside:.2g} m outside'
                ),
                correction=AuditedLink.with_centre_inside,
            ),
        ),
    ),
    (
        is_drawn_body,
        (
            Check(
                'density',
                above(lambda link: link.density, *DENSE),
                why='as dense as solid metal',
                do=CAD,
                found=_density,
                plausible=lambda link: (
                    f'{USUAL_DENSITY * link.volume:.2g} kg, at 500 to 2800 kg/m^3'
                ),
                correction=AuditedLink.at_usual_density,
            ),
            Check(
                'density',
                when(lambda link: link.density < AIRY, DOUBTFUL),
                why='lighter than any foam',
                do=CAD,
                found=_density,
                plausible=lambda _: 'above 30 kg/m^3',
            ),
        ),
    ),
)


def link_findings(robot: Described) -> Iterator[AuditFinding]:
    """Yield what is wrong with single links of a ``robot``."""
    for link in audited_links(robot):
        for looks_at, checks in LINK_CHECKS:
            if looks_at(link):
                yield from first_finding(checks, link)
