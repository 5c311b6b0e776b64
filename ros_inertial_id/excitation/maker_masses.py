"""The mass of an arm in a description, as its maker publishes it: see published_limits.MASSES."""

from itertools import chain
import re

from .published_limits import MASSES, ROBOTS
from ..auditing.audit import KnownMass
from ..auditing.described import Described, DescribedJoint


def published_mass(robot: Described, meshes: str = '') -> KnownMass | None:
    """
    Return what the maker says that an arm in a ``robot`` weighs; None where it is not known.

    meshes : their names, one a line.  Which arm it is, names of joints, robot and meshes tell.
    Tools and what carries the arm do not count; nor does an arm whose base has no mass.
    """
    for names in (robot.name, meshes):  # a UR16e has meshes of the UR10e
        for key, mark, mass, source in MASSES:
            marks = ROBOTS[key]['mark'], f'(?i){mark}'
            if not all(re.search(mark, names) for mark in marks):
                continue
            links = _links_of(robot, _joints_of(robot, ROBOTS[key]['joints']))
            if links and robot.links[links[-1]].mass > 0.0:
                return KnownMass(links, mass, source)
    return None


def _joints_of(robot: Described, endings: tuple[str, ...]) -> list[DescribedJoint]:
    """Return the joints whose names have these ``endings``, [] unless one each."""
    found = [[j for j in robot.joints if re.search(f'{end}$', j.name)] for end in endings]
    if any(len(joints) != 1 for joints in found):
        return []
    return list(chain.from_iterable(found))


def _links_of(robot: Described, joints: list[DescribedJoint]) -> tuple[str, ...]:
    """Return the links from the last of ``joints`` to the base, () where these are no chain."""
    if not joints:
        return ()
    links = [joints[-1].child]
    while links[-1] != joints[0].parent:
        carrier = robot.carrier.get(links[-1])
        if carrier is None:
            return ()
        links.append(carrier.parent)
    return tuple(links)
