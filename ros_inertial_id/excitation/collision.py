"""
Keeping the robot out of itself and of what stands around: shapes for the search and the check.

The search needs a distance with a gradient for thousands of postures, so every shape is enclosed
in capsules (Ericson 2005, 5.1.9: closest points of two segments; the derivative of the distance
moves those points along).  The check asks coal about the shapes themselves: primitives, and the
convex hulls of meshes.  Nothing is left out in silence: obstacles where no shape of the robot is
known are refused.
"""

from dataclasses import dataclass, replace
import re
from typing import Any

import numpy as np
import pinocchio as pin

from .capsules import Capsules, enclosing
from .shapes import floor_shape, is_upright, link_geometry, obstacle_shapes
from ..dynamics.robot_model import gravity_from_mounting, RobotModel
from ..errors import MotionError

RANDOM_POSTURES = 300
ALWAYS = 0.9  # pairs that touch in this share of all postures are built to touch (as MoveIt does)
OFTEN = 0.3  # the same for rods that stand for links: they are rougher
LENIENT = 0.2  # share of the postures in which a pair is apart that its capsules may call too near
STRICT = (0.75, 0.5, 0.2, 0.05)  # the most of them, tried until ENOUGH of the good postures pass
ENOUGH = 0.2
SPARE = 0.01  # [m] that the search keeps on top of every margin, at most to begin with


@dataclass(frozen=True)
class CollisionShapes:
    """
    Collision shapes of a robot and of what stands around.

    geometry : pinocchio GeometryModel, or None; pairs : (m,) the names of the bodies of its
    collision pairs; margins : (m,) distance that each pair must keep [m]
    capsules : what the search keeps apart, None without pairs
    notices : what is rough or not checked, in words
    """

    geometry: Any
    pairs: tuple[tuple[str, ...], ...]
    margins: np.ndarray
    capsules: Capsules | None
    notices: tuple[str, ...]

    def colliding(self, robot: RobotModel, q: np.ndarray) -> tuple[str, ...] | None:
        """Return the two links of ``robot`` too near first in postures q (N, n), or None."""
        if not self.pairs:
            return None
        data, shapes = robot.pin_model.createData(), self.geometry.createData()
        for request, margin in zip(shapes.collisionRequests, self.margins):
            request.security_margin = float(margin)
        for posture in q:
            if pin.computeCollisions(robot.pin_model, data, self.geometry, shapes,
                                     robot.pin_q(posture), True):
                hits = [r.isCollision() for r in shapes.collisionResults]
                return self.pairs[hits.index(True)]
        return None


def wanted_shapes(robot: RobotModel, options: Any, rng: np.random.Generator) -> CollisionShapes:
    """
    Return the CollisionShapes that DesignOptions ask for, none with a notice when none.

    robot : RobotModel; options : DesignOptions
    rng : draws the postures that show which shapes always touch
    Raises MotionError for obstacles that are none, or that nothing is known to keep away from.
    """
    around = [item for number, text in enumerate(options.obstacles, 1)
              for item in obstacle_shapes(text, f'obstacle {number} ({text})')]
    if not options.collisions:
        if around:
            raise MotionError('obstacles need the collision check', found='collisions: false',
                              do='take away obstacles:, or collisions: false')
        return _unchecked('collisions are not checked: collisions: false')
    known = link_geometry(robot, options.meshes)
    if known is None:
        if around:
            raise MotionError('obstacles cannot be kept away from: the URDF says nothing of the '
                              "robot's shape", do='give its links <collision> shapes')
        return _unchecked('the URDF has no shapes: neither collisions nor the floor are checked')
    geometry, notices = known.model, list(known.notices)
    own = len(geometry.geometryObjects)
    floor, words = _floor(robot, options)
    notices.append(words)
    for item in around + floor:
        geometry.addGeometryObject(item)
    _add_pairs(robot, geometry, own)
    postures = _random_postures(robot, rng)
    margins, kept, words = _sort_pairs(robot, geometry, postures, options, known.rods)
    capsules, more = _capsules(geometry, margins, kept, robot, postures)
    pairs = tuple(_bodies(geometry, pair) for pair in geometry.collisionPairs)
    return CollisionShapes(geometry, pairs, margins, capsules, tuple(notices + words + more))


def _unchecked(notice):
    return CollisionShapes(None, (), np.zeros(0), None, (notice,))


def _floor(robot, options):
    """Return the floor's shape in a list, empty without, and words about it."""
    if not options.floor:
        return [], 'no floor: floor: false'
    gravities = [gravity_from_mounting(m) for m in options.mountings] or [robot.gravity_base]
    if not all(is_upright(np.asarray(g)) for g in gravities):
        return [], 'no floor is assumed: the base is not upright; give what is near as obstacles:'
    return [floor_shape(options.floor_height)], (
        f'a floor is assumed at z = {options.floor_height:g} m of the base frame')


def _add_pairs(robot, geometry, own):
    """Add the pairs to be checked; the shapes from number ``own`` on are obstacles."""
    shapes = list(geometry.geometryObjects)
    for first in range(own):
        for second in range(first + 1, len(shapes)):
            a, b = (shapes[k].parentJoint - 1 for k in (first, second))
            if second >= own:
                apart = a >= 0
            else:
                apart = a != b and not _neighbours(robot.parents, a, b)
            if apart:
                geometry.addCollisionPair(pin.CollisionPair(first, second))


def _neighbours(parents, a, b):
    return (a >= 0 and parents[a] == b) or (b >= 0 and parents[b] == a)


def _random_postures(robot, rng):
    low = np.where(np.isfinite(robot.lower), robot.lower, -np.pi)
    high = np.where(np.isfinite(robot.upper), robot.upper, np.pi)
    return rng.uniform(low, high, (RANDOM_POSTURES, len(robot)))


def _near(robot, geometry, postures, margin):
    """Return in which postures each pair is nearer than ``margin`` [m], (N, m)."""
    data, shapes = robot.pin_model.createData(), geometry.createData()
    for request in shapes.collisionRequests:
        request.security_margin = margin
    near = np.zeros((len(postures), len(geometry.collisionPairs)), dtype=bool)
    for row, q in zip(near, postures):
        pin.computeCollisions(robot.pin_model, data, geometry, shapes, robot.pin_q(q), False)
        row[:] = [r.isCollision() for r in shapes.collisionResults]
    return near


def _sort_pairs(robot, geometry, postures, options, rods):
    """
    Take out the pairs that are built to touch.

    Returns the margins (m,) of the rest, in which postures (N, m) they are kept, and words.
    """
    words, distance = [], options.distance
    touching = _near(robot, geometry, postures, 0.0)
    # copies: removing one moves the others in pinocchio's list
    pairs = [pin.CollisionPair(p.first, p.second) for p in geometry.collisionPairs]
    most = [OFTEN if {p.first, p.second} & rods else ALWAYS for p in pairs]
    built = touching.mean(0) > most
    touching, always = touching[:, ~built], [p for p, out in zip(pairs, built) if out]
    for pair in always:
        geometry.removeCollisionPair(pair)
    if always:
        words.append('shapes that touch in nearly every posture are not checked: '
                     + _names(geometry, always))
    near = _near(robot, geometry, postures, distance)
    close = near.mean(0) > ALWAYS
    margins = np.where(close, 0.0, distance)
    if close.any():
        tight = [pair for pair, is_close in zip(geometry.collisionPairs, close) if is_close]
        words.append(f'built nearer to each other than {distance:g} m, they must not touch: '
                     + _names(geometry, tight))
    return margins, ~np.where(close, touching, near), words


def _capsules(geometry, margins, kept, robot, postures):
    """Return the Capsules of the pairs, and words about pairs too rough for them."""
    if not len(geometry.collisionPairs):
        return None, []
    radii: list[float] = []
    members: list[list[int]] = []
    bodies, ends = [], []
    for item in geometry.geometryObjects:
        members.append([])
        if item.name == 'floor_0':
            continue
        for center, half, radius in enclosing(item.geometry):
            members[-1].append(len(radii))
            bodies.append(item.parentJoint - 1)
            ends.append([item.placement.act(center + half), item.placement.act(center - half)])
            radii.append(radius)
    pairs, above, of_pair, of_floor = [], [], [], []
    for number, pair in enumerate(geometry.collisionPairs):
        if geometry.geometryObjects[pair.second].name == 'floor_0':
            above += members[pair.first]
            of_floor += [number] * len(members[pair.first])
            continue
        both = [(a, b) for a in members[pair.first] for b in members[pair.second]]
        pairs += both
        of_pair += [number] * len(both)
    numbers = np.array(of_pair + of_floor, int)
    capsules = Capsules(
        np.array(bodies), np.array(ends), np.array(radii), np.array(pairs, int).reshape(-1, 2),
        np.array(above, int), _floor_height(geometry), margins[numbers])
    return _lenient(capsules, kept, numbers, robot, postures)


def _lenient(capsules, kept, numbers, robot, postures):
    """
    Return Capsules with lower margins where they call nearly everything too near, and words.

    kept : (N, pairs) in which postures each pair is apart; numbers : (m + f,) pair of each gap
    """
    gaps = capsules.gaps_at(robot, postures)
    nearest = np.array([gaps[:, numbers == number].min(1) for number in numbers]).T
    good, apart, to_blame = kept.all(1), kept[:, numbers], gaps == nearest
    for strict in STRICT:
        margins = capsules.margins.copy()
        for k, margin in enumerate(margins):
            free, near = gaps[apart[:, k], k], gaps[~apart[:, k] & to_blame[:, k], k]
            if len(free) and np.mean(free < margin) > LENIENT:
                least, most = np.quantile(free, (min(LENIENT, strict), strict))
                level = np.clip(near.max(initial=-np.inf), least, most)
                margins[k] = min(margin, level - SPARE)  # what never changes stays allowed
        if good.any() and (gaps >= margins).all(1)[good].mean() > ENOUGH:
            break
    links = (*robot.link_names, 'what does not move')  # -1 is the last
    rough = {' and '.join(sorted(links[b] for b in bodies)) for bodies in
             capsules.pairs_of_bodies()[margins < capsules.margins]}
    words = [f'capsules are rough for {", ".join(sorted(rough))}: the search keeps them apart by '
             'estimate, the shapes themselves are checked in the end'] if rough else []
    return replace(capsules, margins=margins), words


def _floor_height(geometry):
    floor = geometry.geometryObjects[-1]
    return float(floor.placement.translation[2] + floor.geometry.halfSide[2]) if (
        floor.name == 'floor_0') else 0.0


def _names(geometry, pairs):
    return ', '.join(sorted({' and '.join(_bodies(geometry, pair)) for pair in pairs}))


def _bodies(geometry, pair):
    """Return the names of the links of a pair: pinocchio appends the number of the shape."""
    names = [geometry.geometryObjects[k].name for k in (pair.first, pair.second)]
    return tuple(re.sub(r'_\d+$', '', name) for name in names)
