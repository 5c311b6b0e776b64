"""
Keeping the robot out of itself and of what stands around: shapes for the search and the check.

The search needs a distance with a gradient for thousands of postures, so every shape is enclosed
in a capsule (Ericson 2005, 5.1.9: closest points of two segments; the derivative of the distance
moves those points along).  The check asks coal about the shapes themselves.  Meshes are not
loaded: bodies described by meshes alone are not checked, and a notice says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import re
from typing import Any
import xml.etree.ElementTree as ET

import coal
import numpy as np
import pinocchio as pin

from .capsules import Capsules
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError

RANDOM_POSTURES = 300
OBSTACLES = {'box': 6, 'sphere': 4, 'cylinder': 5}  # kind: how many numbers
STRIP = 0.1  # [m] a wide box is cut into strips that are not much wider than thick, as capsules
#              would else enclose too much
ALWAYS = 0.9  # pairs that touch in this share of all postures are built to touch (as MoveIt does)


@dataclass(frozen=True)
class CollisionShapes:
    """
    Collision primitives of a robot.

    geometry : pinocchio GeometryModel, or None; pairs : (m,) the names of the bodies of its
    collision pairs; notices : what is not checked, in words
    """

    geometry: Any
    pairs: tuple[tuple[str, ...], ...]
    notices: tuple[str, ...]

    def colliding(self, robot: RobotModel, q: np.ndarray) -> tuple[str, ...] | None:
        """Return the two links of ``robot`` that touch first in postures q (N, n), or None."""
        if not self.pairs:
            return None
        data, shapes = robot.pin_model.createData(), self.geometry.createData()
        for posture in q:
            if pin.computeCollisions(robot.pin_model, data, self.geometry, shapes,
                                     robot.pin_q(posture), True):
                hits = [r.isCollision() for r in shapes.collisionResults]
                return self.pairs[hits.index(True)]
        return None


def wanted_shapes(robot: RobotModel, options: Any, rng: np.random.Generator) -> CollisionShapes:
    """
    Return the CollisionShapes that DesignOptions ask for, none with a notice when none.

    robot : RobotModel; options : DesignOptions; rng : draws postures, see collision_shapes
    """
    if not options.collisions:
        return CollisionShapes(None, (), ('collisions are not checked: collisions: false',))
    return collision_shapes(robot, rng, options.obstacles)


def collision_shapes(robot: RobotModel, rng: np.random.Generator,
                     obstacles: Sequence[str] = ()) -> CollisionShapes:
    """
    Return the CollisionShapes of a RobotModel ``robot``: pairs of bodies that are not neighbours.

    rng : draws the postures that show which shapes always touch
    obstacles : texts ``box X Y Z LX LY LZ``, ``sphere X Y Z R``, ``cylinder X Y Z R LENGTH``:
        centre and size in the base frame [m], along its axes; kept apart from all moving bodies
    Raises MotionError for a text that is none of these.
    """
    around = [item for number, text in enumerate(obstacles, 1)
              for item in _obstacle(text, f'obstacle {number} ({text})')]
    text, meshes = _without_meshes(robot.urdf)
    geometry = pin.buildGeomFromUrdfString(robot.pin_model, text, pin.GeometryType.COLLISION)
    notices = []
    if meshes:
        notices.append('collision shapes that are meshes are not checked: ' + ', '.join(meshes))
    if not geometry.geometryObjects:
        notices.append('the URDF has no collision primitives: collisions are not checked')
        return CollisionShapes(None, (), tuple(notices))
    own = len(geometry.geometryObjects)
    for item in around:
        geometry.addGeometryObject(item)
    _add_pairs(robot, geometry, own)
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


def _obstacle(text, name):
    """Return GeometryObjects of the base for one obstacle."""
    kind, *words = str(text).split() or ['']
    try:
        numbers = np.array([float(word) for word in words])
        good = len(numbers) == OBSTACLES[kind] and np.isfinite(numbers).all()
    except (KeyError, ValueError):
        good = False
    if not good or not (numbers[3:] > 0).all():
        raise MotionError('option obstacles', found=repr(text), exists=(
            'box X Y Z LX LY LZ', 'sphere X Y Z R', 'cylinder X Y Z R LENGTH'))
    center, size = numbers[:3], numbers[3:]
    if kind == 'sphere':
        parts = [(center, coal.Sphere(*size))]
    elif kind == 'cylinder':
        parts = [(center, coal.Cylinder(*size))]
    else:
        parts = _strips(center, size)
    return [pin.GeometryObject(f'{name}_{k}', 0, 0, pin.SE3(np.eye(3), place), shape)
            for k, (place, shape) in enumerate(parts)]


def _strips(center, size):
    """Return (center, Box) of the strips, side by side, that a box of ``size`` (3,) falls into."""
    thin, wide, _ = np.argsort(size)
    count = int(np.ceil(size[wide] / max(2.0 * size[thin], STRIP)))
    across = np.eye(3)[wide] * size[wide] / count
    strip = size - across * (count - 1)
    return [(center + (k - 0.5 * (count - 1)) * across, coal.Box(*strip)) for k in range(count)]


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


def enclosing_capsules(shapes: CollisionShapes) -> Capsules | None:
    """Return the Capsules that enclose ``shapes``, with the same pairs; None without."""
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
