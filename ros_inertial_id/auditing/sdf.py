"""Read the model of an SDF as Described: links, inertials, shapes and joints; no includes."""

from collections.abc import Mapping
import math
from xml.etree import ElementTree

import numpy as np

from .described import (
    Described,
    DescribedInertia,
    DescribedJoint,
    DescribedLink,
    joints_about,
    with_frames,
)
from .hulls import shape_points
from .meshes import mesh_points
from .urdf import numbers
from ..dynamics.description import INERTIA, orientation, parsed_xml
from ..errors import RobotModelError

MODEL = '__model__'
SIZES = {'box': ('size',), 'sphere': ('radius',), 'cylinder': ('radius', 'length')}
SIZES['capsule'] = ('radius', 'length')


def described_sdf(text: str, folder: str = '') -> Described:
    """
    Return the first model of an SDF ``text`` as Described.

    folder : of the file, in which meshes are looked for
    RobotModelError where it is no XML, has no model, or names frames that are not there.
    """
    try:
        root = parsed_xml(text)
    except ElementTree.ParseError as error:
        raise RobotModelError('the SDF cannot be read', expected='XML', found=error) from None
    model = root.find('.//model')
    if model is None:
        raise RobotModelError('the SDF has no model', expected='<model name="...">')
    if model.find('include') is not None or model.find('model') is not None:
        raise RobotModelError(
            'the SDF includes other models', do='flatten it: gz sdf -p FILE > flat.sdf'
        )
    frames = _frames(model)
    links = {}
    for element in model.iterfind('link'):
        links[element.get('name', '')] = _link(element, folder)
    joints: list[DescribedJoint] = []
    for element in model.iterfind('joint'):
        joints += _joints(element, frames)
    return with_frames(model.get('name', ''), 'SDF', links, joints)


def _text(element: ElementTree.Element | None, path: str) -> str:
    if element is None:
        return ''
    return (element.findtext(path) or '').strip()


def _number(element: ElementTree.Element | None, path: str) -> float:
    """Return the number at ``path``, nan for none; RobotModelError for a word."""
    text = _text(element, path)
    if not text:
        return math.nan
    values = numbers(text)
    if len(values) != 1 or math.isnan(values[0]):
        raise RobotModelError(f'{path} in the SDF', expected='a number', found=repr(text[:40]))
    return values[0]


def _pose(element: ElementTree.Element) -> np.ndarray:
    """Return the placement (4, 4) of the pose of an ``element`` [m]."""
    T = np.eye(4)
    text = _text(element, 'pose')
    if not text:
        return T
    values = numbers(text)
    if len(values) != 6 or not np.isfinite(values).all():
        raise RobotModelError(
            'a pose in the SDF',
            expected='6 numbers: x y z [m], r p y [rad]',
            found=repr(text[:40]),
        )
    T[:3, :3] = orientation(' '.join(map(str, values[3:])), '')
    T[:3, 3] = values[:3]
    return T


def _frames(model: ElementTree.Element) -> dict[str, np.ndarray]:
    """Return {link, joint or frame: its placement (4, 4) in the model [m]}."""
    elements, parents = {}, {}
    for tag in ('link', 'joint', 'frame'):
        for element in model.iterfind(tag):
            name = element.get('name', '')
            pose = element.find('pose')
            parents[name] = MODEL
            if tag == 'joint':
                parents[name] = _text(element, 'child')
            if tag == 'frame':
                parents[name] = element.get('attached_to', MODEL)
            if pose is not None and pose.get('relative_to'):
                parents[name] = pose.get('relative_to', MODEL)
            elements[name] = element
    placements = {MODEL: np.eye(4), '': np.eye(4), 'world': np.eye(4)}
    for name in elements:
        way = []
        while name not in placements:
            if name in way or name not in elements:
                raise RobotModelError(
                    'a frame of the SDF is not there, or goes round in a circle', found=repr(name)
                )
            way.append(name)
            name = parents[name]
        for child in reversed(way):
            placements[child] = placements[parents[child]] @ _pose(elements[child])
    return placements


def _link(element: ElementTree.Element, folder: str) -> DescribedLink:
    """Return a link with the corners of all its shapes."""
    inertia = None
    inertial = element.find('inertial')
    if inertial is not None:
        T = _pose(inertial)
        moments = [_number(inertial.find('inertia'), name) for name in INERTIA]
        xx, xy, xz, yy, yz, zz = np.nan_to_num(moments)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        mass = float(np.nan_to_num(_number(inertial, 'mass'), nan=1.0))
        R = T[:3, :3]
        inertia = DescribedInertia(mass, T[:3, 3], R @ tensor @ R.T)
    parts, absent = [np.zeros((0, 3))], []
    for shape in (*element.iterfind('collision'), *element.iterfind('visual')):
        for geometry in shape.iterfind('geometry/*'):
            points = _points(geometry, folder)
            if points is None:
                absent.append(_text(geometry, 'uri') or geometry.tag)
                continue
            T = _pose(shape)
            parts.append(points @ T[:3, :3].T + T[:3, 3])
    return DescribedLink(element.get('name', ''), inertia, np.concatenate(parts), tuple(absent))


def _points(geometry: ElementTree.Element, folder: str) -> np.ndarray | None:
    """Return the corners (P, 3) of a ``geometry`` [m], None where they are not known."""
    if geometry.tag == 'mesh':
        points = mesh_points(_text(geometry, 'uri'), folder)
        scale = numbers(_text(geometry, 'scale')) or [1.0, 1.0, 1.0]
        if points is None or len(scale) != 3 or not np.isfinite(scale).all():
            return None
        return points * scale
    if geometry.tag not in SIZES:
        return None
    values = [x for name in SIZES[geometry.tag] for x in numbers(_text(geometry, name))]
    if len(values) not in (1, 2, 3) or not np.isfinite(values).all():
        return None
    return shape_points(geometry.tag, values)


def _joints(
    element: ElementTree.Element, frames: Mapping[str, np.ndarray]
) -> list[DescribedJoint]:
    """Return a joint as one, or as two where its frame is not that of its child."""
    name, parent, child = (
        element.get('name', ''),
        _text(element, 'parent'),
        _text(element, 'child'),
    )
    for end in (parent, child):
        if end not in frames:
            raise RobotModelError(
                f'joint {name!r} of the SDF names a link that is not there', found=repr(end)
            )
    axis, at = np.array([1.0, 0.0, 0.0]), frames[name]
    along = element.find('axis')
    xyz = numbers(_text(along, 'xyz'))
    if len(xyz) == 3:
        axis = np.array(xyz) / (np.linalg.norm(xyz) or 1.0)
        expressed = element.find('axis/xyz')
        if expressed is not None and expressed.get('expressed_in') in frames:
            frame = frames[expressed.get('expressed_in', '')]
            axis = at[:3, :3].T @ frame[:3, :3] @ axis
    joint = DescribedJoint(
        name=name,
        kind=element.get('type', ''),
        parent=parent,
        child=child,
        placement=np.linalg.solve(frames[parent], frames[child]),
        axis=axis,
        lower=_number(along, 'limit/lower'),
        upper=_number(along, 'limit/upper'),
        effort=_number(along, 'limit/effort'),
        velocity=_number(along, 'limit/velocity'),
        damping=_number(along, 'dynamics/damping'),
        friction=_number(along, 'dynamics/friction'),
    )
    return joints_about(joint, np.linalg.solve(frames[child], at))
