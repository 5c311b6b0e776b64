"""
Described: a robot as its description has it, whatever kind of file that is.

Nothing is corrected or left out, so that checks see what stands there.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import numpy as np

from .hulls import Hull
from ..errors import RobotModelError

TURNING, SLIDING = ('revolute', 'continuous'), ('prismatic',)
NO_MOMENT = 1e-15  # [kg m^2]: less is zero, rounded
MOVING = (*TURNING, *SLIDING)


@dataclass(frozen=True)
class DescribedInertia:
    """
    The inertia of a link as it is described.

    mass [kg]; centre : (3,) in the frame of the link [m]; tensor : (3, 3) about it, in the axes of
    the link [kg m^2]; given : whether the description has the moments
    """

    mass: float
    centre: np.ndarray
    tensor: np.ndarray
    given: bool = True

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


@dataclass(frozen=True)
class DescribedLink:
    """
    A link as it is described.

    name; inertia : None where the description has none; points : (P, 3) of its shapes, in its
    frame [m]; without_mesh : names of meshes that were not read
    """

    name: str
    inertia: DescribedInertia | None = None
    points: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    without_mesh: tuple[str, ...] = ()

    @property
    def mass(self) -> float:
        """Return the mass [kg], 0 without an inertia."""
        if self.inertia is None:
            return 0.0
        return self.inertia.mass


@dataclass(frozen=True)
class DescribedJoint:
    """
    A joint as it is described.

    name, kind (fixed, revolute, ...), parent, child : names
    placement : (4, 4) of the child in the parent at position 0 [m]; axis : (3,) in the child
    lower, upper [rad, m], effort [N m, N], velocity [rad/s, m/s], damping, friction, armature :
        nan where not given
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
    armature: float = np.nan
    mimics: str = ''
    multiplier: float = 1.0

    @property
    def moves(self) -> bool:
        """Whether it is a hinge or a slide."""
        return self.kind in MOVING


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

    @cached_property
    def body_of(self) -> dict[str, str]:
        """Return {link: the first link of the body that it is fixed to, itself or another}."""
        bodies: dict[str, str] = {}
        for name in self.in_order():
            joint = self.carrier.get(name)
            bodies[name] = name
            if joint is not None and not joint.moves:
                bodies[name] = bodies[joint.parent]
        return bodies

    @cached_property
    def fixed_together(self) -> dict[str, list[str]]:
        """Return {first link of a body: its links}."""
        links: dict[str, list[str]] = {}
        for name, body in self.body_of.items():
            links.setdefault(body, []).append(name)
        return links

    @cached_property
    def placements(self) -> dict[str, np.ndarray]:
        """Return {link: its placement (4, 4) in its root at positions 0 [m]}."""
        placements: dict[str, np.ndarray] = {}
        for name in self.in_order():
            placements[name] = np.eye(4)
            joint = self.carrier.get(name)
            if joint is not None:
                placements[name] = placements[joint.parent] @ joint.placement
        return placements

    def placement_in(self, link: str, other: str) -> np.ndarray:
        """Return the placement (4, 4) of a ``link`` in the frame of an ``other`` at 0 [m]."""
        return np.linalg.solve(self.placements[other], self.placements[link])

    def moving_joint_of(self, link: str) -> DescribedJoint | None:
        """Return the joint that moves a ``link`` with all that is fixed to it, None of a root."""
        return self.carrier.get(self.body_of[link])

    @cached_property
    def length(self) -> float:
        """Return the longest way along joints from a root to a link [m]."""
        ways: dict[str, float] = {}
        for name in self.in_order():
            joint = self.carrier.get(name)
            ways[name] = 0.0
            if joint is not None:
                ways[name] = ways[joint.parent] + float(np.linalg.norm(joint.placement[:3, 3]))
        return max(ways.values(), default=0.0)

    @cached_property
    def mass(self) -> float:
        """Return the mass of all links [kg]."""
        return sum(link.mass for link in self.links.values())

    @cached_property
    def hulls(self) -> dict[str, Hull]:
        """Return {link: the convex hull of its shapes, in its frame}, of links that have some."""
        hulls = {}
        for name, link in self.links.items():
            hull = Hull.of(link.points)
            if hull is not None:
                hulls[name] = hull
        return hulls

    @cached_property
    def body_hulls(self) -> dict[str, Hull]:
        """Return {first link of a body: the hull of all that is fixed to it, in its frame}."""
        hulls = {}
        for body, links in self.fixed_together.items():
            parts = []
            for link in links:
                if link in self.hulls:
                    T = self.placement_in(link, body)
                    parts.append(self.hulls[link].points @ T[:3, :3].T + T[:3, 3])
            if not parts:
                continue
            hull = Hull.of(np.concatenate(parts))
            if hull is not None:
                hulls[body] = hull
        return hulls

    def hull_about(self, link: str) -> Hull | None:
        """Return the hull of all that a ``link`` is fixed to, in its own frame."""
        body = self.body_of[link]
        hull = self.body_hulls.get(body)
        if hull is None or body == link:
            return hull
        return hull.placed(self.placement_in(body, link))

    def joint_points(self, link: str) -> np.ndarray:
        """Return the origins (P, 3) of a link's body and of the joints on it, in its frame [m]."""
        body = self.body_of[link]
        names = self.fixed_together[body]
        on = chain.from_iterable(self.joints_on[name] for name in names)
        ends = [*names, *(joint.child for joint in on)]
        return np.array([self.placement_in(end, link)[:3, 3] for end in ends])
