"""Checks of all masses together: their unit, steel, placeholders."""

from collections.abc import Iterator
from itertools import chain
import re
from typing import Any, NamedTuple

import numpy as np

from .check import always, Check, no_part, Table, the_robot, when
from .checks_of_joints import named
from .checks_of_links import audited_links, AuditedLink
from .described import Described, DescribedInertia
from .finding import CAD, DOUBTFUL, WRONG
from .mirror import SIDES
from .rooms import is_round

GRAMS_DENSITY = 50000.0  # [kg/m^3] median of all bodies, above which masses are in grams
STEEL_DENSITY = 4000.0  # [kg/m^3] of all hulls: robots have less than 2000
ALIKE_LINKS = 3  # links with the same numbers are placeholders
ALMOST_ALL = 0.8  # of all links with mass: the whole is a placeholder
ALIKE_SIZES = 0.1  # of the size of a hull: links are alike
HEAVY_SHARE = 0.02  # of the mass of the robot: placeholders of lighter links matter to nobody
PLACES = {'front', 'rear', 'back', 'hind', 'middle', *chain.from_iterable(SIDES)}


class BodyMasses(NamedTuple):
    """Masses [kg], volumes of hulls [m^3] of bodies that have both; mass : of the robot [kg]."""

    mass: float
    masses: list[float]
    volumes: list[float]

    @property
    def median_density(self) -> float:
        """Return the median of the densities of the bodies [kg/m^3]."""
        return float(np.median(np.divide(self.masses, self.volumes)))

    @property
    def density(self) -> float:
        """Return the density of all bodies together [kg/m^3]."""
        return sum(self.masses) / sum(self.volumes)


def body_masses(robot: Described) -> list[BodyMasses]:
    """Return the masses of the bodies of a ``robot``, none where too few have mass and hull."""
    hulls = robot.body_hulls
    weighed = [body for body in robot.bodies.values() if body.name in hulls and body.mass > 0.0]
    if len(weighed) < ALIKE_LINKS:
        return []
    masses = [body.mass for body in weighed]
    volumes = [hulls[body.name].volume for body in weighed]
    return [BodyMasses(robot.mass, masses, volumes)]


def _is_massless(robot: Described) -> bool:
    """Return whether a ``robot`` moves and has no mass."""
    return robot.mass <= 0.0 and any(joint.moves for joint in robot.joints)


def heavy_links(robot: Described) -> list[AuditedLink]:
    """Return the links of a ``robot`` whose masses matter."""
    return [link for link in audited_links(robot) if link.mass > HEAVY_SHARE * robot.mass]


class EqualLinks(NamedTuple):
    """Unlike links with equal inertias; everywhere : they are almost all links of the robot."""

    links: list[AuditedLink]
    everywhere: bool

    @property
    def first(self) -> AuditedLink:
        """Return the link that the finding names."""
        return self.links[0]

    @property
    def severity(self) -> str:
        """Return how bad it is: wrong where it is the whole robot."""
        if self.everywhere:
            return WRONG
        return DOUBTFUL

    def found(self) -> str:
        """Return in words what is equal."""
        moments = ', '.join(f'{moment:.3g}' for moment in self.first.inertia.moments)
        return f'{self.first.mass:.3g} kg, moments {moments} kg m^2'

    @property
    def words(self) -> str:
        """Return in words which links are equal."""
        return f'{len(self.links)} unlike links have equal numbers: {named(self.names)}'

    @property
    def names(self) -> list[str]:
        """Return the names of the links."""
        return [link.name for link in self.links]


def equal_links(robot: Described) -> Iterator[EqualLinks]:
    """Yield unlike links of a ``robot`` with equal numbers that nobody measured."""
    heavy = heavy_links(robot)
    groups: dict[tuple[float, ...], list[AuditedLink]] = {}
    for link in heavy:
        groups.setdefault(_compared(link.inertia), []).append(link)
    for numbers, links in groups.items():
        # Several of one module, from its CAD, have numbers of many digits.
        invented = len(links) >= ALIKE_LINKS and all(map(_is_short, numbers))
        if invented and not _are_alike(robot, [link.name for link in links]):
            yield EqualLinks(links, len(links) >= ALMOST_ALL * len(heavy))


def round_links(robot: Described) -> list[AuditedLink]:
    """Return the links of a ``robot`` with round numbers that are equal to no other's."""
    equal = {name for links in equal_links(robot) for name in links.names}
    singles = [link for link in heavy_links(robot) if link.name not in equal]
    return [link for link in singles if is_round(link.inertia)]


def _compared(inertia: DescribedInertia) -> tuple[float, ...]:
    """Return mass and moments as they are compared."""
    return tuple(float(f'{value:.5g}') for value in (inertia.mass, *inertia.moments))


def _is_short(value: float) -> bool:
    """Return whether a ``value`` has two digits at most, as numbers that nobody measured."""
    return float(f'{value:.2g}') == value


def _are_alike(robot: Described, names: list[str]) -> bool:
    """Return whether links are alike by name or by size, as wheels, legs and fingers are."""
    if len({_base_name(name) for name in names}) == 1:
        return True
    sizes = [robot.hulls[name].size for name in names if name in robot.hulls]
    return len(sizes) == len(names) and bool(np.ptp(sizes) <= ALIKE_SIZES * max(sizes))


def _base_name(name: str) -> str:
    """Return a ``name`` without sides and numbers: of fingers and legs that are alike."""
    words = re.split(r'[_\-\s.]+|\d+', name.lower())
    return '_'.join(word for word in words if word and word not in PLACES)


MASS_CHECKS: tuple[Table[Any], ...] = (
    Table(
        body_masses,
        (
            Check(
                'masses in another unit',
                when(lambda bodies: bodies.median_density > GRAMS_DENSITY, WRONG),
                why='all links are denser than any matter: masses are in grams',
                do='give masses in kg, inertias in kg m^2',
                found=lambda bodies: (
                    f'{bodies.mass:.4g} kg, median density {bodies.median_density:.3g} kg/m^3'
                ),
                plausible=lambda bodies: f'{1e-3 * bodies.mass:.4g} kg',
                about=no_part,
            ),
            Check(
                'density',
                when(lambda bodies: bodies.density > STEEL_DENSITY, WRONG),
                why='the robot is of solid steel, which CAD takes where no material is set',
                do=CAD,
                found=lambda bodies: f'{bodies.mass:.4g} kg, {bodies.density:.3g} kg/m^3',
                plausible=lambda _: 'robots have 200 to 2000 kg/m^3',
                about=no_part,
            ),
        ),
    ),
    Table(
        the_robot,
        (
            Check(
                'no masses',
                when(_is_massless, WRONG),
                why='no link has a mass: there is no dynamics in it',
                do='add inertials, or identify them',
                found=lambda robot: f'{len(robot.links)} links',
                about=no_part,
            ),
        ),
    ),
    Table(
        equal_links,
        (
            Check(
                'placeholder',
                lambda equal: equal.severity,
                why='{0.words}',
                do=CAD,
                found=EqualLinks.found,
                correction=lambda equal: equal.first.as_solid(),
                about=lambda equal: equal.first.name,
            ),
        ),
    ),
    Table(
        round_links,
        (
            Check(
                'placeholder',
                always(DOUBTFUL),
                why='round numbers that nobody measured',
                do=CAD,
                found=lambda link: (
                    f'{link.mass:.3g} kg, three moments of {link.inertia.tensor[0, 0]:.3g} kg m^2'
                ),
                correction=AuditedLink.as_solid,
            ),
        ),
    ),
)
