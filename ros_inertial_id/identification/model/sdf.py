"""
SDF: the description of an identified robot for Gazebo, with the shapes of its URDF.

Links and joints are those of the URDF, fixed ones among them; damping, friction and springs with
their references stand in <dynamics>.  The base is fixed to the world, turned so that
the world's gravity is that under which the robot was identified.
"""

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as xml

import numpy as np

from .corrected_urdf import corrected_urdf
from .identified_description import comment, consistent_parameters, joint_terms, tree_of
from .targets import DAMPING, FRICTION, OFFSET, STIFFNESS
from ..identified_model import IdentifiedModel
from ...dynamics.robot_model import RobotModel

VERSION = '1.8'
WORLD = 'world'  # no link of SDF
ORIGIN = {'xyz': '0 0 0', 'rpy': '0 0 0'}
KINDS = {'floating': 'ball'}  # of joints, else as in a URDF
# Of a shape in a URDF: its attributes, as elements of SDF.
SHAPES = {
    'box': {'size': 'size'},
    'cylinder': {'radius': 'radius', 'length': 'length'},
    'sphere': {'radius': 'radius'},
    'mesh': {'filename': 'uri', 'scale': 'scale'},
}
LIMITS = {'lower': 'lower', 'upper': 'upper', 'effort': 'effort', 'velocity': 'velocity'}
BOUNDED = 'revolute', 'prismatic'


def sdf_of(
    model: IdentifiedModel, robot: Any, covariance: np.ndarray, lines: Sequence[str]
) -> str:
    """
    Return the SDF of a consistent ``model`` of a tree ``robot``.

    covariance : (p, p) of its parameters; lines : of what is not held, for a comment
    """
    tree = tree_of(robot)
    consistent_parameters(model)
    urdf = xml.fromstring(corrected_urdf(tree, model.parameters, model.values))
    root = xml.Element('sdf', version=VERSION)
    body = xml.SubElement(root, 'model', name=tree.name)
    _element(body, 'pose', f'0 0 0 {_words(_turn(tree))}')
    terms = joint_terms(model)
    carried = {_attribute_at(joint, 'child', 'link'): joint for joint in urdf.iterfind('joint')}
    links = {link.get('name', ''): link for link in urdf.iterfind('link')}
    frames = [name for name in carried if _is_frame(links[name], carried[name])]
    for name, link in links.items():
        if name not in (WORLD, *frames):
            _add_link(body, link, carried.get(name))
        if name not in (WORLD, *carried):
            _fix_to_world(body, name)
    for name in frames:
        _add_frame(body, links[name], carried[name])
        carrier = _carrier(name, frames, carried)
        if carrier != WORLD:
            _add_shapes(_named(body, carrier), links[name], name)
    for name, joint in carried.items():
        if name not in frames:
            _add_joint(body, joint, terms.get(joint.get('name', '')))
    xml.indent(root)
    return f'{comment(model, lines)}\n{xml.tostring(root, encoding="unicode")}\n'


def _turn(robot: RobotModel) -> np.ndarray:
    """Return how the base stands in a world whose gravity points down, as angles (3,) [rad]."""
    from scipy.spatial.transform import Rotation  # takes long to import: when needed

    if not robot.gravity_base.any():
        return np.zeros(3)
    down = robot.gravity_base / np.linalg.norm(robot.gravity_base)
    turn, _ = Rotation.align_vectors([[0.0, 0.0, -1.0]], [down])
    return np.asarray(turn.as_euler('xyz'))


def _fix_to_world(body: xml.Element, link: str) -> None:
    """Fix the base, a ``link`` that no joint carries."""
    joint = xml.SubElement(body, 'joint', name=f'{link}_to_world', type='fixed')
    _element(joint, 'parent', WORLD)
    _element(joint, 'child', link)


def _is_frame(link: xml.Element, joint: xml.Element) -> bool:
    """Return whether a ``link`` has no mass and its ``joint`` fixes it: SDF has no such link."""
    return link.find('inertial') is None and joint.get('type') == 'fixed'


def _add_frame(body: xml.Element, link: xml.Element, joint: xml.Element) -> None:
    """Add a frame for a ``link`` without mass that a ``joint`` fixes."""
    parent = _attribute_at(joint, 'parent', 'link')
    frame = xml.SubElement(body, 'frame', name=link.get('name', ''), attached_to=parent)
    _element(frame, 'pose', _pose(joint))


def _carrier(name: str, frames: Sequence[str], carried: dict[str, xml.Element]) -> str:
    """Return the link that the frame of a ``name`` is fixed to, if by other ``frames``."""
    while name in frames:
        name = _attribute_at(carried[name], 'parent', 'link')
    return name


def _named(body: xml.Element, name: str) -> xml.Element:
    """Return the link of a ``name``."""
    return next(link for link in body.iterfind('link') if link.get('name') == name)


def _add_link(body: xml.Element, link: xml.Element, joint: xml.Element | None) -> None:
    """Add a ``link``, where it has one at the ``joint`` that carries it."""
    out = xml.SubElement(body, 'link', name=link.get('name', ''))
    if joint is not None:
        xml.SubElement(out, 'pose', relative_to=joint.get('name', ''))
    inertial = link.find('inertial')
    if inertial is not None:
        _add_inertial(out, inertial)
    _add_shapes(out, link, '')


def _add_shapes(out: xml.Element, link: xml.Element, frame: str) -> None:
    """Add the shapes of a ``link`` of a URDF to a link, in a ``frame`` where it is named."""
    for kind in ('visual', 'collision'):
        for number, shape in enumerate(link.iterfind(kind)):
            pose = _add_shape(out, shape, f'{link.get("name")}_{kind}{number}')
            if frame:
                pose.set('relative_to', frame)


def _add_inertial(link: xml.Element, inertial: xml.Element) -> None:
    out = xml.SubElement(link, 'inertial')
    _element(out, 'pose', _pose(inertial))
    _element(out, 'mass', _attribute_at(inertial, 'mass', 'value'))
    tensor = xml.SubElement(out, 'inertia')
    given = inertial.find('inertia')
    if given is not None:
        for name, value in given.items():
            _element(tensor, name, value)


def _add_shape(link: xml.Element, shape: xml.Element, name: str) -> xml.Element:
    """Add a visual or collision ``shape`` of a URDF under a ``name``; return its pose."""
    out = xml.SubElement(link, shape.tag, name=name)
    pose = _element(out, 'pose', _pose(shape))
    geometry = xml.SubElement(out, 'geometry')
    for tag, attributes in SHAPES.items():
        given = shape.find(f'geometry/{tag}')
        if given is None:
            continue
        kind = xml.SubElement(geometry, tag)
        for attribute, element in attributes.items():
            if given.get(attribute):
                _element(kind, element, given.get(attribute, ''))
    colour = _attribute_at(shape, 'material/color', 'rgba')
    if colour:
        material = xml.SubElement(out, 'material')
        _element(material, 'ambient', colour)
        _element(material, 'diffuse', colour)
    return pose


def _add_joint(body: xml.Element, joint: xml.Element, terms: Any) -> None:
    """Add a ``joint`` of a URDF, one that moves with its ``terms``."""
    kind = joint.get('type', 'fixed')
    out = xml.SubElement(body, 'joint', name=joint.get('name', ''), type=KINDS.get(kind, kind))
    parent = _attribute_at(joint, 'parent', 'link')
    frame = parent
    if parent == WORLD:
        frame = '__model__'
    _element(out, 'pose', _pose(joint)).set('relative_to', frame)
    _element(out, 'parent', parent)
    _element(out, 'child', _attribute_at(joint, 'child', 'link'))
    if kind not in (*BOUNDED, 'continuous'):
        return
    axis = xml.SubElement(out, 'axis')
    _element(axis, 'xyz', _attribute_at(joint, 'axis', 'xyz') or '1 0 0')
    limits = joint.find('limit')
    if limits is not None:
        _add_limits(axis, limits, kind in BOUNDED)
    if terms:
        _add_dynamics(axis, terms)


def _add_limits(axis: xml.Element, limits: xml.Element, bounded: bool) -> None:
    out = xml.SubElement(axis, 'limit')
    for attribute, element in LIMITS.items():
        of_position = attribute in ('lower', 'upper')
        if limits.get(attribute) and (bounded or not of_position):
            _element(out, element, limits.get(attribute, ''))


def _add_dynamics(axis: xml.Element, terms: Any) -> None:
    out = xml.SubElement(axis, 'dynamics')
    _element(out, 'damping', _words([terms[DAMPING]]))
    _element(out, 'friction', _words([terms[FRICTION]]))
    if terms[STIFFNESS] > 0.0:
        _element(out, 'spring_reference', _words([-terms[OFFSET] / terms[STIFFNESS]]))
        _element(out, 'spring_stiffness', _words([terms[STIFFNESS]]))


def _pose(element: xml.Element) -> str:
    """Return the origin of an ``element`` of a URDF as a pose."""
    origin = element.find('origin')
    if origin is None:
        return '0 0 0 0 0 0'
    xyz, rpy = (origin.get(name, value) for name, value in ORIGIN.items())
    quaternion = origin.get('quat_xyzw')
    if quaternion:
        from scipy.spatial.transform import Rotation  # takes long to import: when needed

        rpy = _words(Rotation.from_quat(list(map(float, quaternion.split()))).as_euler('xyz'))
    return f'{xyz} {rpy}'


def _attribute_at(element: xml.Element, path: str, attribute: str) -> str:
    """Return an attribute of the element at a ``path``, '' where there is none."""
    found = element.find(path)
    if found is None:
        return ''
    return found.get(attribute, '')


def _element(parent: xml.Element, tag: str, text: str) -> xml.Element:
    out = xml.SubElement(parent, tag)
    out.text = text
    return out


def _words(values: Any) -> str:
    return ' '.join(map(repr, np.asarray(values, dtype=float).tolist()))
