"""Read the model of an SDF as Described: links, inertials, shapes and joints; no includes."""

from collections.abc import Callable, Collection, Iterator, Mapping
import math
from xml.etree import ElementTree

import numpy as np

from .described import (
    Described,
    DescribedInertia,
    DescribedJoint,
    DescribedLink,
    joints_about,
    NO_INERTIA,
    turned_inertia,
    with_frames,
)
from .shapes import mesh_corners, PlacedShape, shape_corners, shaped, size_names
from .urdf import numbers
from ..dynamics.description import attribute, HEAVIEST, INERTIA, orientation, parsed_xml
from ..errors import RobotModelError

MODEL = '__model__'


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
        link = DescribedLink(element.get('name', ''), _inertia(element))
        links[link.name] = shaped(link, _shapes(element, folder))
    joints: list[DescribedJoint] = []
    for element in model.iterfind('joint'):
        joints += _joints(element, frames)
    return with_frames(model.get('name', ''), 'SDF', links, joints)


def _text(element: ElementTree.Element | None, path: str) -> str:
    if element is None:
        return ''
    return (element.findtext(path) or '').strip()


def _number(element: ElementTree.Element | None, path: str, missing: float = math.nan) -> float:
    """Return the number at ``path``; missing : where there is none.  RobotModelError: a word."""
    text = _text(element, path)
    if not text:
        return missing
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


# {element that is a frame: what its pose is relative to, unless that is said}
RELATIVE_TO: dict[str, Callable[[ElementTree.Element], str]] = {
    'link': lambda _: MODEL,
    'joint': lambda joint: _text(joint, 'child'),
    'frame': lambda frame: frame.get('attached_to', MODEL),
}


def _frames(model: ElementTree.Element) -> dict[str, np.ndarray]:
    """Return {link, joint or frame: its placement (4, 4) in the model [m]}."""
    elements, parents = {}, {}
    for tag, relative_to in RELATIVE_TO.items():
        for element in model.iterfind(tag):
            name = element.get('name', '')
            elements[name] = element
            parents[name] = attribute(element, 'pose', 'relative_to') or relative_to(element)
    placements = {MODEL: np.eye(4), '': np.eye(4), 'world': np.eye(4)}
    for name in elements:
        for frame in reversed(_way(name, parents, placements)):
            placements[frame] = placements[parents[frame]] @ _pose(elements[frame])
    return placements


def _way(name: str, parents: Mapping[str, str], placed: Collection[str]) -> list[str]:
    """Return the frames from that of a ``name`` inwards, up to one that is ``placed``."""
    way: list[str] = []
    while name not in placed:
        if name in way or name not in parents:
            raise RobotModelError(
                'a frame of the SDF is not there, or goes round in a circle', found=repr(name)
            )
        way.append(name)
        name = parents[name]
    return way


def _inertia(link: ElementTree.Element) -> DescribedInertia:
    """Return the inertia of a ``link``: of what is not given, the mass is 1 kg, others are 0."""
    inertial = link.find('inertial')
    if inertial is None:
        return NO_INERTIA
    mass = _number(inertial, 'mass', 1.0)
    moments = [_number(inertial.find('inertia'), name) for name in INERTIA]
    if np.nanmax(np.abs([mass, *moments])) > HEAVIEST:
        raise RobotModelError(
            f'the inertial of link {link.get("name")!r} in the SDF',
            expected=f'numbers from {-HEAVIEST:g} to {HEAVIEST:g}',
        )
    return turned_inertia(mass, moments, _pose(inertial))


def _shapes(link: ElementTree.Element, folder: str) -> Iterator[PlacedShape]:
    """Yield the shapes of a ``link``, seen or collided with."""
    for shape in (*link.iterfind('collision'), *link.iterfind('visual')):
        placement = _pose(shape)
        for geometry in shape.iterfind('geometry/*'):
            name = _text(geometry, 'uri') or geometry.tag
            yield PlacedShape(name, _corners(geometry, folder), placement)


def _corners(geometry: ElementTree.Element, folder: str) -> np.ndarray | None:
    """Return the corners (P, 3) of a ``geometry`` [m], None where they are not known."""
    if geometry.tag == 'mesh':
        scale = numbers(_text(geometry, 'scale')) or [1.0]
        return mesh_corners(_text(geometry, 'uri'), folder, scale)
    sizes = [_text(geometry, name) for name in size_names(geometry.tag)]
    return shape_corners(geometry.tag, numbers(' '.join(sizes)))


def _joints(
    element: ElementTree.Element, frames: Mapping[str, np.ndarray]
) -> list[DescribedJoint]:
    """Return a joint as one, or as two where its frame is not that of its child."""
    name, along = element.get('name', ''), element.find('axis')
    parent, child = _text(element, 'parent'), _text(element, 'child')
    for end in (parent, child):
        if end not in frames:
            raise RobotModelError(
                f'joint {name!r} of the SDF names a link that is not there', found=repr(end)
            )
    joint = DescribedJoint(
        name=name,
        kind=element.get('type', ''),
        parent=parent,
        child=child,
        placement=np.linalg.solve(frames[parent], frames[child]),
        axis=_axis(element, frames),
        lower=_number(along, 'limit/lower'),
        upper=_number(along, 'limit/upper'),
        effort=_number(along, 'limit/effort'),
        velocity=_number(along, 'limit/velocity'),
        damping=_number(along, 'dynamics/damping'),
        friction=_number(along, 'dynamics/friction'),
    )
    return joints_about(joint, np.linalg.solve(frames[child], frames[name]))


def _axis(joint: ElementTree.Element, frames: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the axis (3,) of a ``joint`` in its frame, x where there is none."""
    xyz = numbers(_text(joint, 'axis/xyz'))
    if len(xyz) != 3:
        return np.array([1.0, 0.0, 0.0])
    axis = np.array(xyz) / (np.linalg.norm(xyz) or 1.0)
    frame = attribute(joint, 'axis/xyz', 'expressed_in')
    if not frame or frame not in frames:
        return axis
    return frames[joint.get('name', '')][:3, :3].T @ frames[frame][:3, :3] @ axis
