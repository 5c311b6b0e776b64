"""
Keeping the robot out of itself and of what stands around: shapes for the search and the check.

Both ask coal about the shapes themselves: primitives, and the convex hulls of meshes.  Where two
come too near it names the closest points, or the deepest ones, which move along with the links:
that is the gradient of the distance.  Nothing is left out in silence: obstacles where no shape of
the robot is known are refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
import re
from typing import Any

import numpy as np
import pinocchio as pin

from .shapes import floor_shape, is_upright, link_geometry, obstacle_shape
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError

RANDOM_POSTURES = 300
ALWAYS = 0.9  # pairs that touch in this share of all postures are built to touch (as MoveIt does)
ROOM = 0.01  # [m] beyond its margin that a pair can keep in some posture, or it is tight
OFTEN = 0.3  # the same for rods that stand for links: they are rougher


@dataclass(frozen=True)
class Nearness:
    """
    k times that two shapes are nearer than wanted.

    samples (k,) : of the postures; pairs (k,) : of shapes
    bodies : (k, 2) that carry them, -1 for the base and what stands around
    gaps : (k,) distance beyond the pair's margin [m], negative where it is not kept
    lacking : (k,) what it is less than was wanted [m]
    points : (k, 2, 3) the closest ones, in the base frame [m]
    normals : (k, 3) unit vectors from the first shape to the second
    """

    samples: np.ndarray
    pairs: np.ndarray
    bodies: np.ndarray
    gaps: np.ndarray
    lacking: np.ndarray
    points: np.ndarray
    normals: np.ndarray


@dataclass(frozen=True)
class CollisionShapes:
    """
    Collision shapes of a robot and of what stands around.

    geometry : pinocchio GeometryModel, or None; pairs : (m,) the names of the links, or of what
    stands around, of its collision pairs; bodies : (m, 2) that carry them, -1 for the base
    margins : (m,) distance that each pair must keep [m]; tight : (m,) whether it can keep no more
    notices : what is rough or not checked, in words
    """

    geometry: Any
    pairs: tuple[tuple[str, ...], ...]
    bodies: np.ndarray
    margins: np.ndarray
    tight: np.ndarray
    notices: tuple[str, ...]

    def colliding(self, robot: RobotModel, q: np.ndarray) -> tuple[str, ...] | None:
        """Return the two links of ``robot`` too near first in postures q (N, n), or None."""
        for _, hits in self._hits(robot, q, 0.0, at_once=True):
            return self.pairs[hits[0][0]]
        return None

    def allowed(self, robot: RobotModel, q: np.ndarray) -> np.ndarray:
        """Return (N,) whether all pairs keep their margins in postures q (N, n)."""
        good = np.ones(len(q), dtype=bool)
        good[[k for k, _ in self._hits(robot, q, 0.0, at_once=True)]] = False
        return good

    def near(self, robot: RobotModel, q: np.ndarray, spare: float) -> Nearness:
        """Return the Nearness of pairs within ``spare`` [m] of their margins, at q (N, n)."""
        places, numbers = [], []
        for sample, hits in self._hits(robot, q, spare):
            for pair, hit in hits:
                contact = hit.getContact(0)
                places.append((sample, pair))
                numbers.append(
                    (
                        contact.penetration_depth,
                        *contact.getNearestPoint1(),
                        *contact.getNearestPoint2(),
                        *contact.normal,
                    )
                )
        samples, pairs = np.array(places, dtype=int).reshape(-1, 2).T
        values = np.array(numbers).reshape(-1, 10)
        gaps = values[:, 0] - self.margins[pairs]
        return Nearness(
            samples,
            pairs,
            self.bodies[pairs],
            gaps,
            np.where(self.tight[pairs], 0.0, spare) - gaps,
            values[:, 1:7].reshape(-1, 2, 3),
            values[:, 7:],
        )

    def _hits(
        self, robot: RobotModel, q: np.ndarray, spare: float, at_once: bool = False
    ) -> Iterator[tuple[int, list[tuple[int, Any]]]]:
        """
        Yield (sample, [(pair, result)]) of the postures in which a pair is nearer than wanted.

        at_once : whether one pair is enough, which costs less
        """
        if not self.pairs:
            return
        data, shapes = robot.pin_model.createData(), self.geometry.createData()
        wanted = self.margins + np.where(self.tight, 0.0, spare)
        for request, margin in zip(shapes.collisionRequests, wanted):
            request.security_margin, request.enable_contact = float(margin), True
        boxes = pin.BroadPhaseManager_NaiveCollisionManager(robot.pin_model, self.geometry, shapes)
        for k, configuration in enumerate(robot.pin_q(q)):
            if pin.computeCollisions(robot.pin_model, data, boxes, configuration, at_once):
                hits = [
                    (pair, result)
                    for pair, result in enumerate(shapes.collisionResults)
                    if result.isCollision()
                ]
                yield k, hits
                for _, result in hits:
                    result.clear()  # those of boxes apart stay as they were


def wanted_shapes(robot: RobotModel, options: Any, rng: np.random.Generator) -> CollisionShapes:
    """
    Return the CollisionShapes that DesignOptions ask for, none with a notice when none.

    rng : draws the postures that show which shapes always touch
    Raises MotionError for obstacles that are none, or that nothing is known to keep away from.
    """
    around = [
        obstacle_shape(text, f'obstacle {number} ({text})')
        for number, text in enumerate(options.obstacles, 1)
    ]
    described = link_geometry(robot, options.meshes)
    if described is None:
        if around:
            raise MotionError(
                "obstacles cannot be kept away from: the URDF says nothing of the robot's shape",
                do='give its links <collision> shapes',
            )
        return _no_shapes()
    geometry, rods, notices = described
    of_robot = len(geometry.geometryObjects)
    floor, words = _floor(robot, options)
    notices.append(words)
    for item in around + floor:
        geometry.addGeometryObject(item)
    _add_pairs(robot, geometry, of_robot)
    margins, tight, words = _sort_pairs(
        robot, geometry, _random_postures(robot, rng), options, rods
    )
    pairs = tuple(_bodies(geometry, pair) for pair in geometry.collisionPairs)
    carriers = _carriers(geometry)
    bodies = [(carriers[pair.first], carriers[pair.second]) for pair in geometry.collisionPairs]
    return CollisionShapes(
        geometry,
        pairs,
        np.array(bodies, dtype=int).reshape(-1, 2),
        margins,
        tight,
        tuple(notices + words),
    )


def _no_shapes() -> CollisionShapes:
    nothing = np.zeros(0)
    return CollisionShapes(
        geometry=None,
        pairs=(),
        bodies=nothing.reshape(0, 2),
        margins=nothing,
        tight=nothing,
        notices=('the URDF has no shapes: neither collisions nor the floor are checked',),
    )


def _floor(robot, options):
    """Return the floor's shape in a list, empty without, and words about it."""
    if not options.floor:
        return [], 'no floor: floor: false'
    if not is_upright(robot.gravity_base):
        return [], 'no floor is assumed: the base is not upright; give what is near as obstacles:'
    return [floor_shape()], (
        'assumed: a floor at z = 0 m of the base frame; none: floor: false; another: a box of '
        'obstacles:'
    )


def _add_pairs(robot, geometry, of_robot):
    """Add the pairs to be checked; the shapes from number ``of_robot`` on are obstacles."""
    carriers = _carriers(geometry)
    for first, second in combinations(range(len(carriers)), 2):
        if first >= of_robot:
            return
        first_body, second_body = carriers[first], carriers[second]
        if second >= of_robot:
            apart = first_body >= 0
        else:
            apart = first_body != second_body and not _neighbours(
                robot.parents, first_body, second_body
            )
        if apart:
            geometry.addCollisionPair(pin.CollisionPair(first, second))


def _carriers(geometry):
    """Return the bodies that carry the shapes, -1 for the base and what stands around."""
    return [shape.parentJoint - 1 for shape in geometry.geometryObjects]


def _neighbours(parents, a, b):
    return (a >= 0 and parents[a] == b) or (b >= 0 and parents[b] == a)


def _random_postures(robot, rng):
    low = np.where(np.isfinite(robot.lower), robot.lower, -np.pi)
    high = np.where(np.isfinite(robot.upper), robot.upper, np.pi)
    return rng.uniform(low, high, (RANDOM_POSTURES, len(robot)))


def _near(robot, geometry, postures, margins):
    """Return whether each pair is nearer than its margin [m] in each posture, (N, m)."""
    data, shapes = robot.pin_model.createData(), geometry.createData()
    for request, margin in zip(
        shapes.collisionRequests, np.broadcast_to(margins, len(geometry.collisionPairs))
    ):
        request.security_margin = float(margin)
    near = np.zeros((len(postures), len(geometry.collisionPairs)), dtype=bool)
    for row, configuration in zip(near, robot.pin_q(postures)):
        pin.computeCollisions(robot.pin_model, data, geometry, shapes, configuration, False)
        row[:] = [r.isCollision() for r in shapes.collisionResults]
    return near


def _sort_pairs(robot, geometry, postures, options, rods):
    """Take out pairs built to touch; return margins (m,), whether they are tight (m,), words."""
    words, distance = [], options.distance
    touching = _near(robot, geometry, postures, 0.0)
    # copies: removing one moves the others in pinocchio's list
    pairs = [pin.CollisionPair(p.first, p.second) for p in geometry.collisionPairs]
    rough = np.array([bool({p.first, p.second} & rods) for p in pairs], dtype=bool)
    built = touching.mean(0) > np.where(rough, OFTEN, ALWAYS)
    always = [p for p, out in zip(pairs, built) if out]
    for pair in always:
        geometry.removeCollisionPair(pair)
    if always:
        words.append(
            'shapes that touch in nearly every posture are not checked: '
            + _names(geometry, always)
        )
    near = _near(robot, geometry, postures, distance)
    close = near.mean(0) > ALWAYS
    if close.any():
        tight = [pair for pair, is_close in zip(geometry.collisionPairs, close) if is_close]
        words.append(
            f'built nearer to each other than {distance:g} m, they must not touch: '
            + _names(geometry, tight)
        )
    margins = np.where(close, 0.0, distance)
    return margins, _near(robot, geometry, postures, margins + ROOM).mean(0) > ALWAYS, words


def _names(geometry, pairs):
    return ', '.join(sorted({' and '.join(_bodies(geometry, pair)) for pair in pairs}))


def _bodies(geometry, pair):
    """Return the names of the links of a pair: pinocchio appends the number of the shape."""
    names = [geometry.geometryObjects[k].name for k in (pair.first, pair.second)]
    return tuple(re.sub(r'_\d+$', '', name) for name in names)
