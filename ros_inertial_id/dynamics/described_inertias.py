"""
Described inertias that no body of the robot has: by the triangle inequality, and by their size.

A missing decimal point breaks the inequality or makes a body larger than the robot; grams or
millimetres make all of them so.  Such numbers are not used: what is identified does not need them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
import logging
import math
from xml.etree import ElementTree

import numpy as np

from .description import attribute, INERTIA, parsed_xml
from ..errors import RobotModelError

_logger = logging.getLogger(__name__)
ROUNDED_MOMENTS = 1.02  # of the two smaller principal moments: what rounding in a text breaks
MISLEADING_MOMENTS = 1.5  # of them: a description that is worse misleads more than it helps
LARGEST_BODY = 2.0  # of the robot's length: no link's radius of gyration or centre is beyond
SHORTEST_ROBOT = 0.5  # [m]: the last link of a robot is no longer
LONGEST_ROBOT = 200.0  # [m]: a crane is shorter, an arm in millimetres is not
DENSEST_ROBOT = 2000.0  # [kg/m^3] of a cube as large as the robot


@dataclass(frozen=True)
class _DescribedBody:
    """
    What the URDF says of a link that a joint carries.

    inertia : its element; mass [kg]; centre : distance of the centre of mass from the origin [m]
    moments : the principal ones in rising order [kg m^2]; robot_length : see ``_length`` [m]
    """

    link: str
    inertia: ElementTree.Element
    mass: float
    centre: float
    moments: list[float]
    robot_length: float

    @property
    def radius_of_gyration(self) -> float:
        """Return the largest one [m], 0 without a mass."""
        if not self.mass:
            return 0.0
        return math.sqrt(self.moments[2] / self.mass)

    @property
    def extent(self) -> float:
        """Return the larger of radius of gyration and distance of its centre [m]."""
        return max(self.radius_of_gyration, self.centre)

    def breaks_triangle(self, factor: float) -> bool:
        """Return whether the largest moment is more than ``factor`` times the two others."""
        smaller, middle, largest = self.moments
        return largest > factor * (smaller + middle) + 1e-12

    def is_beyond_robot(self, distance: float) -> bool:
        """Return whether a ``distance`` from the link [m] leaves the robot."""
        return distance > LARGEST_BODY * self.robot_length

    def forget_inertia(self) -> None:
        """Make its moments of inertia zero; mass and centre stay."""
        for key in INERTIA:
            self.inertia.set(key, '0')


@dataclass(frozen=True)
class _Doubt:
    """
    A reason not to believe the inertia of a body.

    holds, words : of a _DescribedBody; misleads : whether its inertia is worse than none
    """

    holds: Callable[[_DescribedBody], bool]
    words: Callable[[_DescribedBody], str]
    misleads: Callable[[_DescribedBody], bool]


# The first that holds is said.
DOUBTS = (
    _Doubt(
        holds=lambda body: body.breaks_triangle(ROUNDED_MOMENTS),
        words=lambda body: 'principal moments {:.3g} + {:.3g} < {:.3g} kg m^2'.format(
            *body.moments
        ),
        misleads=lambda body: body.breaks_triangle(MISLEADING_MOMENTS),
    ),
    _Doubt(
        holds=lambda body: body.is_beyond_robot(body.extent),
        words=lambda body: f'{body.extent:.3g} m large in a robot of {body.robot_length:.3g} m',
        misleads=lambda body: True,
    ),
)


@lru_cache(maxsize=8)
def plausible_inertias(urdf: str) -> tuple[str, tuple[str, ...]]:
    """
    Return a ``urdf`` text without inertias that no body has, and all doubtful ones in words.

    Of a link whose principal moments are wrong they become zero, its mass and centre stay.
    What is not given of an inertia is zero, and a warning says so.
    RobotModelError where joints are as far apart as in millimetres.
    """
    robot = parsed_xml(urdf)
    incomplete = _complete(robot)
    length = _length(robot)
    bodies = list(_carried_bodies(robot, length))
    doubts = _doubts_of(bodies)
    total = sum(body.mass for body in bodies)
    too_heavy = total > DENSEST_ROBOT * length**3
    if too_heavy:
        doubts.insert(0, f'all links ({total:.3g} kg in a robot of {length:.3g} m)')
    if too_heavy or any(body.is_beyond_robot(body.centre) for body in bodies):
        _remove_inertials(robot)
    if not doubts and not incomplete:
        return urdf, ()
    return ElementTree.tostring(robot, encoding='unicode'), tuple(doubts)


def _doubts_of(bodies: Sequence[_DescribedBody]) -> list[str]:
    """Return what is doubtful about ``bodies`` in words; inertias that mislead are forgotten."""
    doubts = []
    for body in bodies:
        doubt = next((doubt for doubt in DOUBTS if doubt.holds(body)), None)
        if doubt is None:
            continue
        doubts.append(f'{body.link} ({doubt.words(body)})')
        if doubt.misleads(body):
            body.forget_inertia()
    return doubts


def _complete(robot: ElementTree.Element) -> bool:
    """
    Make what is not given of the inertias of a ``robot`` zero, all of one without its moments.

    Return whether something was missing.  urdfdom takes the mass away with it.
    """
    lacking: dict[str, list[str]] = {}
    for link in robot.iterfind('link'):
        for inertial in link.iterfind('inertial'):
            inertia = inertial.find('inertia')
            if inertia is None:
                inertia = ElementTree.SubElement(inertial, 'inertia')
            missing = [key for key in INERTIA if inertia.get(key) is None]
            if not missing:
                continue
            if set(missing) & {'ixx', 'iyy', 'izz'}:
                missing = list(INERTIA)
            for key in missing:
                inertia.set(key, '0')
            lacking.setdefault(', '.join(missing), []).append(link.get('name', ''))
    for names, links in lacking.items():
        _logger.warning(
            'the URDF does not give %s of %s: they are taken as 0', names, ', '.join(links)
        )
    return bool(lacking)


def _carried_bodies(robot: ElementTree.Element, length: float) -> Iterator[_DescribedBody]:
    """Yield the links with mass and inertia that joints of a ``robot`` carry; length : [m]."""
    carried = {child.get('link') for child in robot.iterfind('joint/child')}
    for link in robot.findall('link'):
        name, inertial = link.get('name', ''), link.find('inertial')
        if name not in carried or inertial is None:
            continue
        mass, inertia = inertial.find('mass'), inertial.find('inertia')
        if mass is None or inertia is None:
            continue
        yield _DescribedBody(
            link=name,
            inertia=inertia,
            mass=float(mass.get('value', 0.0)),
            centre=_distance(inertial),
            moments=_moments(inertia),
            robot_length=length,
        )


def _remove_inertials(robot: ElementTree.Element) -> None:
    for link in robot.findall('link'):
        for inertial in link.findall('inertial'):
            link.remove(inertial)


def _length(robot: ElementTree.Element) -> float:
    """Return the longest way along joints from a root to a link [m], at least SHORTEST_ROBOT."""
    steps = {}  # {link: the link before it and the distance of their joints [m]}
    for joint in robot.findall('joint'):
        child, parent = attribute(joint, 'child', 'link'), attribute(joint, 'parent', 'link')
        steps[child] = parent, _distance(joint)
    longest = SHORTEST_ROBOT
    for link in steps:
        way = 0.0
        while link in steps:
            link, distance = steps[link]
            way += distance
        longest = max(longest, way)
    if longest > LONGEST_ROBOT:
        raise RobotModelError(
            'the URDF describes no robot',
            found=f'one {longest:.3g} m long',
            expected=f'at most {LONGEST_ROBOT:g} m',
            do='give lengths in m',
        )
    return longest


def _distance(joint_or_inertial: ElementTree.Element) -> float:
    """Return the distance of its origin from that of the link [m]."""
    xyz = attribute(joint_or_inertial, 'origin', 'xyz') or '0 0 0'
    return math.hypot(*map(float, xyz.split()))


def _moments(inertia: ElementTree.Element) -> list[float]:
    """Return the principal moments in rising order [kg m^2]."""
    xx, xy, xz, yy, yz, zz = (float(inertia.get(key) or 0.0) for key in INERTIA)
    moments: list[float] = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).tolist()
    return moments
