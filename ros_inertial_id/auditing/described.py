"""
Described: a robot as its description has it, whatever kind of file that is.

Nothing is corrected or left out, so that checks see what stands there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np

from .hulls import Hull, hulls_of, placed
from ..errors import RobotModelError

TURNING, SLIDING = ('revolute', 'continuous'), ('prismatic',)
NO_MOMENT = 1e-15  # [kg m^2]: less is zero, rounded
MOVING = (*TURNING, *SLIDING)
Value = TypeVar('Value')


@dataclass(frozen=True)
class DescribedInertia:
    """
    The inertia of a link as it is described.

    mass [kg]; centre : (3,) in the frame of the link [m]; tensor : (3, 3) about it, in the axes of
    the link [kg m^2]
    """

    mass: float
    centre: np.ndarray
    tensor: np.ndarray

    @cached_property
    def moments(self) -> np.ndarray:
        """Return principal ones, (3,), in rising order [kg m^2]."""
        return np.linalg.eigvalsh(self.tensor)

    @property
    def second_moment(self) -> np.ndarray:
        """Return the second moment (3, 3) about the centre, tr(I) / 2 - I [kg m^2]."""
        return 0.5 * np.trace(self.tensor) * np.eye(3) - self.tensor

    @property
    def empty(self) -> bool:
        """Whether there is no mass and no moment: the inertia of a frame."""
        return not self.mass and not self.has_moments

    @property
    def has_moments(self) -> bool:
        """Whether a moment is more than what converting zero leaves."""
        return bool(np.abs(self.tensor).max() > NO_MOMENT)


def turned_inertia(mass: float, moments: Sequence[float], T: np.ndarray) -> DescribedInertia:
    """
    Return an inertia that is described in a frame of its own, at the centre of mass.

    mass : [kg]; moments : in the order of INERTIA, nan for none [kg m^2]
    T : (4, 4), placement of its frame in that of the link [m]
    """
    xx, xy, xz, yy, yz, zz = np.nan_to_num(moments)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    R = T[:3, :3]
    return DescribedInertia(mass, T[:3, 3], R @ tensor @ R.T)


NO_INERTIA = DescribedInertia(0.0, np.zeros(3), np.zeros((3, 3)))


class Correction(NamedTuple):
    """An ``inertia`` that a link can have, None where none is known; because : why, in words."""

    because: str
    inertia: DescribedInertia | None


NO_CORRECTION = Correction('', None)


@dataclass(frozen=True)
class DescribedLink:
    """
    A link as it is described.

    name; inertia : NO_INERTIA where the description has none; points : (P, 3) of its shapes, in
    its frame [m]; without_mesh : names of meshes that were not read
    """

    name: str
    inertia: DescribedInertia = NO_INERTIA
    points: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    without_mesh: tuple[str, ...] = ()

    @property
    def mass(self) -> float:
        """Return the mass [kg]."""
        return self.inertia.mass


@dataclass(frozen=True)
class DescribedJoint:
    """
    A joint as it is described.

    name, kind (fixed, revolute, ...), parent, child : names
    placement : (4, 4) of the child in the parent at position 0 [m]; axis : (3,) in the child
    lower, upper [rad, m], effort [N m, N], velocity [rad/s, m/s], damping, friction : nan
        where not given
    mimics : the joint that it follows, multiplier : of that, '' and 1 for none
    """

    name: str
    kind: str
    parent: str
    child: str
    placement: np.ndarray
    axis: np.ndarray
    lower: float = np.nan
    upper: float = np.nan
    effort: float = np.nan
    velocity: float = np.nan
    damping: float = np.nan
    friction: float = np.nan
    mimics: str = ''
    multiplier: float = 1.0

    @property
    def moves(self) -> bool:
        """Whether it is a hinge or a slide."""
        return self.kind in MOVING

    @property
    def slides(self) -> bool:
        """Whether it is a slide."""
        return self.kind in SLIDING

    @property
    def unit(self) -> str:
        """Return the unit of its effort."""
        if self.slides:
            return 'N'
        return 'N m'


class Body(NamedTuple):
    """
    Links that are fixed together, the first first.

    joint : that moves them, None of a root; joints_on : those that stand on them
    """

    links: tuple[DescribedLink, ...]
    joint: DescribedJoint | None
    joints_on: tuple[DescribedJoint, ...]

    @property
    def name(self) -> str:
        """Return the name of the first link."""
        return self.links[0].name

    @property
    def moved_by(self) -> str:
        """Return the joint that moves it, '' for a root."""
        if self.joint is None:
            return ''
        return self.joint.name

    @property
    def mass(self) -> float:
        """Return the mass of all its links [kg]."""
        return sum(link.mass for link in self.links)


def joints_about(joint: DescribedJoint, offset: np.ndarray) -> list[DescribedJoint]:
    """
    Return a ``joint`` whose frame is not that of its child as two, a fixed one behind it.

    joint : with the placement of the child; offset : (4, 4) of the joint's frame in the child
    """
    if np.allclose(offset, np.eye(4)):
        return [joint]
    between = f'{joint.child}@{joint.name}'
    moved = replace(joint, child=between, placement=joint.placement @ offset)
    behind = DescribedJoint(
        f'{joint.name}@{joint.child}',
        'fixed',
        between,
        joint.child,
        np.linalg.inv(offset),
        np.array([1.0, 0.0, 0.0]),
    )
    return [moved, behind]


def with_frames(
    name: str,
    kind: str,
    links: Mapping[str, DescribedLink],
    joints: Iterable[DescribedJoint],
) -> 'Described':
    """
    Return Described of ``links`` and ``joints``, with links for frames between these.

    Of joints that carry one link, which close loops, the first counts.
    RobotModelError where the others go round in a circle.
    """
    links, carriers = dict(links), dict[str, DescribedJoint]()
    for joint in joints:
        carriers.setdefault(joint.child, joint)
        for end in (joint.parent, joint.child):
            links.setdefault(end, DescribedLink(end))
    robot = Described(name, kind, links, tuple(carriers.values()))
    unreached = links.keys() - set(robot.in_order())
    if unreached:
        raise RobotModelError(
            'joints go round in a circle', found=' '.join(sorted(unreached)), expected='a tree'
        )
    return robot


@dataclass(frozen=True)
class Described:
    """
    A robot as it is described.

    name; kind : URDF, MJCF or SDF; links : {name: DescribedLink}; joints : DescribedJoints of a
    tree, or of several
    """

    name: str
    kind: str
    links: Mapping[str, DescribedLink]
    joints: tuple[DescribedJoint, ...]

    @cached_property
    def carrier(self) -> dict[str, DescribedJoint]:
        """Return {link: the joint that carries it}."""
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def roots(self) -> list[str]:
        """Return the links that no joint carries."""
        return [name for name in self.links if name not in self.carrier]

    @cached_property
    def joints_on(self) -> dict[str, list[DescribedJoint]]:
        """Return {link: the joints on it}."""
        on: dict[str, list[DescribedJoint]] = {name: [] for name in self.links}
        for joint in self.joints:
            on[joint.parent].append(joint)
        return on

    def in_order(self) -> Iterator[str]:
        """Yield the names of links, each after the one that carries it."""
        waiting = list(self.roots)
        while waiting:
            name = waiting.pop()
            yield name
            waiting += [joint.child for joint in self.joints_on[name]]

    def along_joints(
        self, of_root: Callable[[str], Value], over: Callable[[Value, DescribedJoint], Value]
    ) -> dict[str, Value]:
        """
        Return {link: value}, from the roots outwards.

        of_root : value of a root; over : value of a link, of that of its parent and the joint
            between them
        """
        values: dict[str, Value] = {}
        for name in self.in_order():
            joint = self.carrier.get(name)
            if joint is None:
                values[name] = of_root(name)
            else:
                values[name] = over(values[joint.parent], joint)
        return values

    @cached_property
    def inertias(self) -> dict[str, DescribedInertia]:
        """Return {link: its inertia} of the links that have a mass or a moment."""
        return {name: x.inertia for name, x in self.links.items() if not x.inertia.empty}

    @cached_property
    def weighed(self) -> dict[str, DescribedInertia]:
        """Return {link: its inertia} of the links that have a mass above zero."""
        return {name: x for name, x in self.inertias.items() if x.mass > 0.0}

    @cached_property
    def driven(self) -> list[DescribedJoint]:
        """Return the moving joints that follow no other."""
        return [joint for joint in self.joints if joint.moves and not joint.mimics]

    @cached_property
    def root_of(self) -> dict[str, str]:
        """Return {link: the root that it hangs on}."""
        return self.along_joints(str, lambda root, _: root)

    @cached_property
    def body_of(self) -> dict[str, str]:
        """Return {link: the first link of the body that it is fixed to, itself or another}."""

        def over(body: str, joint: DescribedJoint) -> str:
            if joint.moves:
                return joint.child
            return body

        return self.along_joints(str, over)

    @cached_property
    def bodies(self) -> dict[str, Body]:
        """Return {first link of a body: the body}."""
        together: dict[str, list[str]] = {}
        for link, body in self.body_of.items():
            together.setdefault(body, []).append(link)
        bodies = {}
        for body, names in together.items():
            links = tuple(self.links[name] for name in names)
            joints_on = tuple(chain.from_iterable(self.joints_on[name] for name in names))
            bodies[body] = Body(links, self.carrier.get(body), joints_on)
        return bodies

    @cached_property
    def placements(self) -> dict[str, np.ndarray]:
        """Return {link: its placement (4, 4) in its root at positions 0 [m]}."""
        return self.along_joints(lambda _: np.eye(4), lambda T, joint: T @ joint.placement)

    def placement_in(self, link: str, other: str) -> np.ndarray:
        """Return the placement (4, 4) of a ``link`` in the frame of an ``other`` at 0 [m]."""
        return np.linalg.solve(self.placements[other], self.placements[link])

    @cached_property
    def length(self) -> float:
        """Return the longest way along joints from a root to a link [m]."""

        def over(way: float, joint: DescribedJoint) -> float:
            return way + float(np.linalg.norm(joint.placement[:3, 3]))

        return max(self.along_joints(lambda _: 0.0, over).values(), default=0.0)

    @cached_property
    def mass(self) -> float:
        """Return the mass of all links [kg]."""
        return sum(link.mass for link in self.links.values())

    @cached_property
    def hulls(self) -> dict[str, Hull]:
        """Return {link: the convex hull of its shapes, in its frame}, of links that have some."""
        return hulls_of({name: link.points for name, link in self.links.items()})

    @cached_property
    def body_hulls(self) -> dict[str, Hull]:
        """Return {first link of a body: the hull of all that is fixed to it, in its frame}."""
        return hulls_of({name: self._corners(body) for name, body in self.bodies.items()})

    def _corners(self, body: Body) -> np.ndarray:
        """Return the corners (P, 3) of the hulls of all links of a ``body``, in its frame."""
        parts = [np.zeros((0, 3))]
        for link in body.links:
            if link.name in self.hulls:
                placement = self.placement_in(link.name, body.name)
                parts.append(placed(self.hulls[link.name].points, placement))
        return np.concatenate(parts)

    def hull_about(self, link: str) -> Hull | None:
        """Return the hull of all that a ``link`` is fixed to, in its own frame."""
        body = self.body_of[link]
        hull = self.body_hulls.get(body)
        if hull is None or body == link:
            return hull
        return hull.placed(self.placement_in(body, link))

    def joint_points(self, link: str) -> np.ndarray:
        """Return the origins (P, 3) of a link's body and of the joints on it, in its frame [m]."""
        body = self.bodies[self.body_of[link]]
        ends = [part.name for part in body.links] + [joint.child for joint in body.joints_on]
        return np.array([self.placement_in(end, link)[:3, 3] for end in ends])
