"""Checks of single links: whether a body where it is can have its mass, centre and inertia."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from .described import Described, DescribedInertia
from .finding import AuditFinding, DOUBTFUL, found, NOTE, WRONG
from .rooms import explanation, is_possible, LinkRoom, SMALLEST_SPREAD

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

Check = Callable[[Described, str, DescribedInertia, LinkRoom], Iterator[AuditFinding]]


def link_findings(robot: Described) -> Iterator[AuditFinding]:
    """Yield what is wrong with single links of a ``robot``: of each, the first check's."""
    for name, link in robot.links.items():
        if link.inertia is None or link.inertia.empty:
            continue
        room = LinkRoom(robot, name)
        for check in LINK_CHECKS:
            yield from check(robot, name, link.inertia, room)


def sign_of_mass(
    _: Described, link: str, inertia: DescribedInertia, room: LinkRoom
) -> Iterator[AuditFinding]:
    """Yield a mass below zero, and moments without one."""
    if inertia.mass < 0.0:
        yield found('mass below zero', link, f'{inertia.mass:.3g} kg')
    elif not inertia.mass:
        trace = float(np.trace(inertia.tensor))
        severity = WRONG
        if not room.own_hull:  # a frame that some simulators want an inertia of
            severity = NOTE
        yield found(
            'inertia without mass', link, f'0 kg with {0.5 * trace:.2g} kg m^2', severity=severity
        )


def positive(
    _: Described, link: str, inertia: DescribedInertia, room: LinkRoom
) -> Iterator[AuditFinding]:
    """Yield a negative principal moment, or one larger than the two others."""
    if inertia.mass <= 0.0 or not inertia.has_moments:
        return
    moments = inertia.moments
    words = 'principal moments {:.3g}, {:.3g}, {:.3g} kg m^2'.format(*moments)
    if moments[0] < -1e-9 * abs(moments[2]):
        because, better = explanation(room, inertia)
        yield found(
            'not positive definite',
            link,
            words,
            because=because,
            better=better or room.solid(inertia.mass),
        )
    elif not is_possible(inertia):
        because, better = explanation(room, inertia)
        yield found(
            'triangle inequality',
            link,
            words,
            f'at most {moments[0] + moments[1]:.3g}',
            because=because,
            better=better or room.solid(inertia.mass),
        )
    elif not is_possible(inertia, ROUNDING):
        yield found('triangle inequality by rounding', link, words)


def size_of_inertia(
    _: Described, link: str, inertia: DescribedInertia, room: LinkRoom
) -> Iterator[AuditFinding]:
    """Yield an inertia that is larger or smaller than mass in the room of the link can have."""
    if inertia.mass < LIGHTEST or not is_possible(inertia) or not inertia.has_moments:
        return
    excess = room.excess(inertia)
    words = f'largest moment {inertia.moments[2]:.3g} kg m^2 with {inertia.mass:.3g} kg'
    solid = room.solid(inertia.mass)
    plausible = ''
    if solid is not None:
        plausible = f'{solid.moments[2]:.3g} kg m^2 of a solid'
    if excess > LARGE[0]:
        because, better = explanation(room, inertia)
        yield found(
            'inertia too large',
            link,
            words,
            plausible,
            severity=beyond(excess, LARGE),
            because=because,
            better=better or solid,
        )
    smallness = room.smallness(inertia)
    if smallness < SMALL[0]:
        severity = DOUBTFUL
        if smallness < SMALL[1]:
            severity = WRONG
        yield found('inertia too small', link, words, plausible, severity=severity, better=solid)


def place_of_centre(
    _: Described, link: str, inertia: DescribedInertia, room: LinkRoom
) -> Iterator[AuditFinding]:
    """Yield a centre of mass that is outside of the link."""
    if inertia.mass < LIGHTEST:
        return
    outside = room.room.beyond(inertia.centre)
    share = (outside - NEAR_ENOUGH) / room.room.size
    if share <= OUTSIDE[0]:
        return
    because, better = '', room.solid(inertia.mass)
    for words, corrected in _moved(inertia, room.room.size):
        if room.room.beyond(corrected.centre) <= 0.0:
            because, better = words, corrected
            break
    place = ' '.join(f'{x:.3g}' for x in inertia.centre)
    yield found(
        'centre outside',
        link,
        f'({place}) m, {outside:.2g} m outside',
        because=because,
        severity=beyond(share, OUTSIDE),
        better=better,
    )


def _moved(inertia: DescribedInertia, size: float) -> Iterator[tuple[str, DescribedInertia]]:
    """Yield in words how the centre of an ``inertia`` came to be outside, and it without that."""
    if np.linalg.norm(inertia.centre) > CENTRE_IN_MILLIMETRES * size:
        yield 'it fits in mm', replace(inertia, centre=1e-3 * inertia.centre)
    for k, axis in enumerate('xyz'):
        centre = inertia.centre.copy()
        centre[k] *= -1.0
        yield f'it fits with {axis} negated', replace(inertia, centre=centre)


def density(
    robot: Described, link: str, _: DescribedInertia, room: LinkRoom
) -> Iterator[AuditFinding]:
    """Yield a body that is denser than metals or lighter than foam, by its first link."""
    if robot.body_of[link] != link or room.hull is None or room.hull.volume < SMALLEST_VOLUME:
        return
    mass = sum(robot.links[name].mass for name in robot.fixed_together[link])
    if mass <= 0.0:
        return
    dense = mass / room.hull.volume
    words = f'{mass:.3g} kg in a hull of {1e3 * room.hull.volume:.3g} l, {dense:.3g} kg/m^3'
    if dense > DENSE[0]:
        usual = USUAL_DENSITY * room.hull.volume
        better = None
        if len(robot.fixed_together[link]) == 1:
            better = room.solid(usual)
        yield found(
            'density',
            link,
            words,
            f'{usual:.2g} kg, at 500 to 2800 kg/m^3',
            what='as dense as solid metal',
            severity=beyond(dense, DENSE),
            better=better,
        )
    elif dense < AIRY:
        yield found('density', link, words, 'above 30 kg/m^3', what='lighter than any foam')


def beyond(amount: float, limits: tuple[float, float]) -> str:
    """Return the severity of an ``amount`` above the first of two ``limits``."""
    if amount > limits[1]:
        return WRONG
    return DOUBTFUL


LINK_CHECKS: tuple[Check, ...] = (
    sign_of_mass,
    positive,
    size_of_inertia,
    place_of_centre,
    density,
)
