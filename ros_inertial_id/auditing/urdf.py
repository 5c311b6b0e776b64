"""Read a URDF as Described: what stands there, also where no robot can have it."""

from collections.abc import Callable
from dataclasses import replace
import math
from xml.etree import ElementTree

import numpy as np

from .described import Described, DescribedInertia, DescribedJoint, DescribedLink
from .hulls import shape_points
from .meshes import mesh_points
from ..dynamics.description import (
    attribute,
    check_structure,
    has_quaternions,
    INERTIA,
    orientation,
)

NEEDED = ('ixx', 'iyy', 'izz')
# {element of a geometry: its sizes, from its attributes}
SIZES: dict[str, Callable[[ElementTree.Element], list[float]]] = {
    'box': lambda box: numbers(box.get('size', '')),
    'sphere': lambda sphere: [number(sphere, 'radius')],
    'cylinder': lambda cylinder: [number(cylinder, 'radius'), number(cylinder, 'length')],
    'capsule': lambda capsule: [number(capsule, 'radius'), number(capsule, 'length')],
}


def described_urdf(urdf: str, folder: str = '', shapes: bool = True) -> Described:
    """
    Return a ``urdf`` text as Described.

    folder : of the file, in which meshes are looked for; '' : none is read
    shapes : whether shapes are read at all
    RobotModelError where it is no XML, has numbers that are none, or joints that make no tree.
    """
    robot = check_structure(urdf)
    quaternions = has_quaternions(robot.get('version'))
    links = {}
    for element in robot.iterfind('link'):
        link = DescribedLink(element.get('name', ''))
        inertial = element.find('inertial')
        if inertial is not None:
            link = replace(link, inertia=_inertia(inertial, quaternions))
        if shapes:
            link = _with_shapes(link, element, folder, quaternions)
        links[link.name] = link
    joints = tuple(_joint(element, quaternions) for element in robot.iterfind('joint'))
    return Described(robot.get('name', ''), 'URDF', links, joints)


def number(element: ElementTree.Element | None, name: str) -> float:
    """Return the number in attribute ``name`` of an ``element``, nan where there is none."""
    if element is None:
        return math.nan
    try:
        return float(element.get(name, 'nan'))
    except ValueError:
        return math.nan


def numbers(text: str) -> list[float]:
    """Return the numbers in a ``text``, none where one of its words is none."""
    try:
        return [float(word) for word in text.split()]
    except ValueError:
        return []


def _placement(element: ElementTree.Element, quaternions: bool) -> np.ndarray:
    """Return the placement (4, 4) that the origin of an ``element`` gives [m]."""
    T = np.eye(4)
    quaternion = ''
    if quaternions:
        quaternion = attribute(element, 'origin', 'quat_xyzw')
    T[:3, :3] = orientation(attribute(element, 'origin', 'rpy'), quaternion)
    xyz = attribute(element, 'origin', 'xyz')
    T[:3, 3] = numbers(xyz) or [0.0, 0.0, 0.0]
    return T


def _with_shapes(
    link: DescribedLink, element: ElementTree.Element, folder: str, quaternions: bool
) -> DescribedLink:
    """Return a ``link`` with the corners of all its shapes, seen or collided with."""
    parts, absent = [np.zeros((0, 3))], []
    for shape in (*element.iterfind('collision'), *element.iterfind('visual')):
        for geometry in shape.iterfind('geometry/*'):
            points = _points(geometry, folder)
            if points is None:
                absent.append(geometry.get('filename', geometry.tag))
                continue
            try:
                T = _placement(shape, quaternions)
            except ValueError:  # a shape is no part of mechanics: nothing checks its place
                continue
            parts.append(points @ T[:3, :3].T + T[:3, 3])
    return replace(link, points=np.concatenate(parts), without_mesh=tuple(absent))


def _points(geometry: ElementTree.Element, folder: str) -> np.ndarray | None:
    """Return the corners (P, 3) of a ``geometry`` [m], None where they are not known."""
    if geometry.tag == 'mesh':
        points = mesh_points(geometry.get('filename', ''), folder)
        scale = numbers(geometry.get('scale', '')) or [1.0]
        if points is None or len(scale) not in (1, 3) or not np.isfinite(scale).all():
            return None
        return points * scale
    sizes = SIZES.get(geometry.tag)
    if sizes is None:
        return None
    values = sizes(geometry)
    if not values or not np.isfinite(values).all():
        return None
    return shape_points(geometry.tag, values)


def _inertia(inertial: ElementTree.Element, quaternions: bool) -> DescribedInertia:
    """Return the inertia of an element, its tensor in the axes of the link."""
    T = _placement(inertial, quaternions)
    element = inertial.find('inertia')
    given = element is not None and all(element.get(name) is not None for name in NEEDED)
    xx, xy, xz, yy, yz, zz = np.nan_to_num([number(element, name) for name in INERTIA])
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    R = T[:3, :3]
    mass = float(np.nan_to_num(number(inertial.find('mass'), 'value')))
    return DescribedInertia(mass, T[:3, 3], R @ tensor @ R.T, given)


def _joint(element: ElementTree.Element, quaternions: bool) -> DescribedJoint:
    """Return a joint with what is said of its limits and its friction."""
    limit, dynamics = element.find('limit'), element.find('dynamics')
    mimic = element.find('mimic')
    axis = numbers(attribute(element, 'axis', 'xyz')) or [1.0, 0.0, 0.0]
    length = math.hypot(*axis) or 1.0
    joint = DescribedJoint(
        name=element.get('name', ''),
        kind=element.get('type', ''),
        parent=attribute(element, 'parent', 'link'),
        child=attribute(element, 'child', 'link'),
        placement=_placement(element, quaternions),
        axis=np.array(axis) / length,
        effort=number(limit, 'effort'),
        velocity=number(limit, 'velocity'),
        damping=number(dynamics, 'damping'),
        friction=number(dynamics, 'friction'),
        armature=number(dynamics, 'armature'),
    )
    if limit is not None and joint.kind != 'continuous':  # what is not given is 0 (urdfdom)
        lower, upper = np.nan_to_num([number(limit, 'lower'), number(limit, 'upper')])
        joint = replace(joint, lower=lower, upper=upper)
    if mimic is not None:
        multiplier = number(mimic, 'multiplier')
        if math.isnan(multiplier):
            multiplier = 1.0
        joint = replace(joint, mimics=mimic.get('joint', ''), multiplier=multiplier)
    return joint
