"""Read a URDF as Described: what stands there, also where no robot can have it."""

from collections.abc import Iterator
import math
from xml.etree import ElementTree

import numpy as np

from .described import (
    Described,
    DescribedInertia,
    DescribedJoint,
    DescribedLink,
    NO_INERTIA,
    turned_inertia,
)
from .shapes import mesh_corners, PlacedShape, shape_corners, shaped, size_names
from ..dynamics.description import (
    attribute,
    check_structure,
    has_quaternions,
    INERTIA,
    orientation,
)


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
        link = DescribedLink(element.get('name', ''), _inertia(element, quaternions))
        if shapes:
            link = shaped(link, _shapes(element, folder, quaternions))
        links[link.name] = link
    joints = tuple(_joint(element, quaternions) for element in robot.iterfind('joint'))
    return Described(robot.get('name', ''), 'URDF', links, joints)


def number(element: ElementTree.Element | None, name: str, missing: float = math.nan) -> float:
    """Return the number in attribute ``name`` of an ``element``; missing : where it is none."""
    if element is None:
        return missing
    values = numbers(element.get(name, ''))
    if len(values) != 1 or math.isnan(values[0]):
        return missing
    return values[0]


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


def _shapes(link: ElementTree.Element, folder: str, quaternions: bool) -> Iterator[PlacedShape]:
    """Yield the shapes of a ``link``, seen or collided with."""
    for shape in (*link.iterfind('collision'), *link.iterfind('visual')):
        try:
            placement = _placement(shape, quaternions)
        except (TypeError, ValueError):  # no part of mechanics: nothing checks its place
            continue
        for geometry in shape.iterfind('geometry/*'):
            name = geometry.get('filename', geometry.tag)
            yield PlacedShape(name, _corners(geometry, folder), placement)


def _corners(geometry: ElementTree.Element, folder: str) -> np.ndarray | None:
    """Return the corners (P, 3) of a ``geometry`` [m], None where they are not known."""
    if geometry.tag == 'mesh':
        scale = numbers(geometry.get('scale', '')) or [1.0]
        return mesh_corners(geometry.get('filename', ''), folder, scale)
    sizes = [geometry.get(name, '') for name in size_names(geometry.tag)]
    return shape_corners(geometry.tag, numbers(' '.join(sizes)))


def _inertia(link: ElementTree.Element, quaternions: bool) -> DescribedInertia:
    """Return the inertia of a ``link``, what is not given of it is zero."""
    inertial = link.find('inertial')
    if inertial is None:
        return NO_INERTIA
    moments = [number(inertial.find('inertia'), name) for name in INERTIA]
    mass = float(np.nan_to_num(number(inertial.find('mass'), 'value')))
    return turned_inertia(mass, moments, _placement(inertial, quaternions))


def _joint(element: ElementTree.Element, quaternions: bool) -> DescribedJoint:
    """Return a joint with what is said of its limits and its friction."""
    axis = numbers(attribute(element, 'axis', 'xyz')) or [1.0, 0.0, 0.0]
    lower, upper = _range(element)
    limit, dynamics, mimic = (element.find(path) for path in ('limit', 'dynamics', 'mimic'))
    return DescribedJoint(
        name=element.get('name', ''),
        kind=element.get('type', ''),
        parent=attribute(element, 'parent', 'link'),
        child=attribute(element, 'child', 'link'),
        placement=_placement(element, quaternions),
        axis=np.array(axis) / (math.hypot(*axis) or 1.0),
        lower=lower,
        upper=upper,
        effort=number(limit, 'effort'),
        velocity=number(limit, 'velocity'),
        damping=number(dynamics, 'damping'),
        friction=number(dynamics, 'friction'),
        mimics=attribute(element, 'mimic', 'joint'),
        multiplier=number(mimic, 'multiplier', 1.0),
    )


def _range(joint: ElementTree.Element) -> list[float]:
    """Return lower and upper of a ``joint``, nan without limits; what is not given is 0."""
    limit = joint.find('limit')
    if limit is None or joint.get('type') == 'continuous':
        return [math.nan, math.nan]
    # As urdfdom has it.
    return np.nan_to_num([number(limit, 'lower'), number(limit, 'upper')]).tolist()
