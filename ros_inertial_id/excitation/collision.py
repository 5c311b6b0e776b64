"""
Keeping the robot out of itself: collision shapes of the URDF, for the search and for the check.

The search needs a distance with a gradient for thousands of postures, so every shape is enclosed
in a capsule (Ericson 2005, 5.1.9: closest points of two segments; the derivative of the distance
moves those points along).  The check asks coal about the shapes themselves.  Meshes are not
loaded: bodies described by meshes alone are not checked, and a notice says so.
"""

from dataclasses import dataclass
import re
import xml.etree.ElementTree as ET

import numpy as np
import pinocchio as pin

from .capsules import Capsules

RANDOM_POSTURES = 300
ALWAYS = 0.9  # pairs that touch in this share of all postures are built to touch (as MoveIt does)


@dataclass(frozen=True)
class CollisionShapes:
    """
    Collision primitives of a robot.

    geometry : pinocchio GeometryModel, or None; pairs : (m,) the names of the bodies of its
    collision pairs; notices : what is not checked, in words
    """

    geometry: object
    pairs: tuple
    notices: tuple

    def colliding(self, robot, q):
        """Return the two links that touch first in postures q (N, n), or None."""
        if not self.pairs:
            return None
        data, shapes = robot.pin_model.createData(), self.geometry.createData()
        for posture in q:
            if pin.computeCollisions(robot.pin_model, data, self.geometry, shapes,
                                     robot.pin_q(posture), True):
                hits = [r.isCollision() for r in shapes.collisionResults]
                return self.pairs[hits.index(True)]
        return None


def collision_shapes(robot, rng):
    """Return the CollisionShapes of a RobotModel: pairs of bodies that are not neighbours."""
    text, meshes = _without_meshes(robot.urdf)
    geometry = pin.buildGeomFromUrdfString(robot.pin_model, text, pin.GeometryType.COLLISION)
    notices = []
    if meshes:
        notices.append('collision shapes that are meshes are not checked: ' + ', '.join(meshes))
    if not geometry.geometryObjects:
        notices.append('the URDF has no collision primitives: collisions are not checked')
        return CollisionShapes(None, (), tuple(notices))
    _add_pairs(robot, geometry)
    always = _always_touching(robot, geometry, rng)
    for pair in always:
        geometry.removeCollisionPair(pair)
    if always:
        words = sorted({' and '.join(_bodies(geometry, pair)) for pair in always})
        notices.append('shapes that touch in nearly every posture are not checked: '
                       + ', '.join(words))
    pairs = tuple(_bodies(geometry, pair) for pair in geometry.collisionPairs)
    return CollisionShapes(geometry, pairs, tuple(notices))


def _without_meshes(urdf):
    """Return the URDF without mesh collisions, and the links that lost one."""
    root = ET.fromstring(urdf)
    links = []
    for link in root.iter('link'):
        for shape in link.findall('collision'):
            if shape.find('geometry/mesh') is not None:
                link.remove(shape)
                links.append(link.get('name'))
    return ET.tostring(root, encoding='unicode'), sorted(set(links))


def _add_pairs(robot, geometry):
    shapes = list(geometry.geometryObjects)
    for first in range(len(shapes)):
        for second in range(first + 1, len(shapes)):
            a, b = (shapes[k].parentJoint - 1 for k in (first, second))
            apart = a != b and not _neighbours(robot.parents, a, b)
            if apart:
                geometry.addCollisionPair(pin.CollisionPair(first, second))


def _neighbours(parents, a, b):
    return (a >= 0 and parents[a] == b) or (b >= 0 and parents[b] == a)


def _always_touching(robot, geometry, rng):
    data, shapes = robot.pin_model.createData(), geometry.createData()
    touching = np.zeros(len(geometry.collisionPairs))
    low = np.where(np.isfinite(robot.lower), robot.lower, -np.pi)
    high = np.where(np.isfinite(robot.upper), robot.upper, np.pi)
    for q in rng.uniform(low, high, (RANDOM_POSTURES, len(robot))):
        pin.computeCollisions(robot.pin_model, data, geometry, shapes, robot.pin_q(q), False)
        touching += [r.isCollision() for r in shapes.collisionResults]
    return [pair for pair, count in zip(list(geometry.collisionPairs), touching)
            if count > ALWAYS * RANDOM_POSTURES]


def _bodies(geometry, pair):
    """Return the names of the links of a pair: pinocchio appends the number of the shape."""
    names = [geometry.geometryObjects[k].name for k in (pair.first, pair.second)]
    return tuple(re.sub(r'_\d+$', '', name) for name in names)


def enclosing_capsules(shapes):
    """Return the Capsules that enclose CollisionShapes, with the same pairs; None without."""
    if not shapes.pairs:
        return None
    bodies, ends, radii = [], [], []
    for item in shapes.geometry.geometryObjects:
        center, half, radius = _capsule(item.geometry)
        bodies.append(item.parentJoint - 1)
        ends.append([item.placement.act(center + half), item.placement.act(center - half)])
        radii.append(radius)
    pairs = [(pair.first, pair.second) for pair in shapes.geometry.collisionPairs]
    return Capsules(np.array(bodies), np.array(ends), np.array(radii), np.array(pairs))


def _capsule(shape):
    """Return center, half axis (3,) and radius of a capsule around a coal shape, its frame."""
    zero, kind = np.zeros(3), type(shape).__name__
    if kind == 'Sphere':
        return zero, zero, shape.radius
    if kind == 'Capsule':
        return zero, np.array([0.0, 0.0, shape.halfLength]), shape.radius
    if kind == 'Cylinder':
        return zero, *_around(np.array([0.0, 0.0, shape.halfLength]), shape.radius)
    if kind == 'Box':
        sides = np.array(shape.halfSide)
        longest = int(np.argmax(sides))
        across = np.linalg.norm(np.delete(sides, longest))
        return zero, *_around(np.eye(3)[longest] * sides[longest], across)
    shape.computeLocalAABB()
    return np.array(shape.aabb_center), zero, shape.aabb_radius


def _around(half, radius):
    """Return half axis and radius of the capsule around a cylinder: half its cap stands out."""
    length = np.linalg.norm(half)
    kept = max(length - 0.5 * radius, 0.0)
    return half * (kept / length), float(np.hypot(radius, length - kept))
