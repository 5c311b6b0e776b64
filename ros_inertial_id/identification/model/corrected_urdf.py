"""
The corrected URDF: the given text with other numbers in <inertial> and <dynamics>, nothing else.

Tags are found by an XML parser, but only the attributes that change are replaced in the text, so
comments, order and formatting stay.  A second <origin> (or other single part) of a joint, which
ROS reads over but MuJoCo refuses, is put into a comment.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

import numpy as np

from .shares import shares_of
from .start_tags import attribute_of, edited, inserted, Span, tag_end, text_at, with_attributes
from ...dynamics.description import has_quaternions, INERTIA, orientation
from ...dynamics.friction import friction_column, LAWS
from ...dynamics.inertial_parameters import (
    about_center,
    about_origin,
    bodies,
    check_consistent,
    Parameter,
    parameters_of,
    pseudo_inertia,
)
from ...dynamics.robot_model import link_placements, numbered_links, RobotModel
from ...errors import RobotModelError
from ...estimation.least_squares import nonnegative_solution

ELEMENTS = (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)  # rows and columns of the attributes INERTIA
UNCHANGED = 1e-12  # relative: numbers that did not change are not written anew
UNLIMITED_SPEED = 1.0  # [rad/s, m/s] up to which friction counts where no limit is described
ANY_TAG = '*'  # in a path of tags


def corrected_urdf(
    robot: RobotModel,
    parameters: Sequence[Parameter],
    values: np.ndarray,
    validity_range: Mapping[str, Any] | None = None,
    all_dynamics: bool = False,
) -> str:
    """
    Return the URDF text of ``robot`` with the inertias and friction of standard parameters.

    parameters : (p,) Parameters; values : (p,) theirs
    validity_range : of the IdentifiedModel, bounds the speeds over which a richer friction is
        summed up as damping and friction
    all_dynamics : whether joints without <dynamics>, or attributes of it, get them
    EstimationError when a body is not physically consistent: identify with --consistent.
    """
    data = robot.urdf.encode()
    tags = _Tags(data)
    edits = [(*span, f'<!-- repeated: {text_at(data, span)} -->') for span in tags.repeated]
    first_columns = bodies(parameters)
    for body, link in numbered_links(robot, first_columns):
        first = first_columns[link]
        pi = np.asarray(values)[first : first + 10]
        check_consistent(pi, link)
        edits += _body_edits(data, robot, tags.links, (body, link), pseudo_inertia(pi))
    for joint in robot.joint_names:
        top = _fastest(robot, joint, validity_range or {})
        friction = damping_and_friction(parameters, values, joint, top)
        if joint in tags.dynamics:
            edits += _dynamics_edits(data, tags.dynamics[joint], friction, all_dynamics)
        elif all_dynamics and any(friction.values()):
            text = with_attributes('<dynamics/>', _in_words(friction))
            edits.append(inserted(data, tags.joints[joint], text, 'joint'))
    return edited(data, edits)


def _fastest(robot, joint, validity_range):
    """Return the largest speed of a joint in the training, or else its limit [rad/s, m/s]."""
    trained = validity_range.get(joint, {}).get('v')
    if trained:
        return float(np.abs(trained).max())
    limit = robot.velocity[robot.joint_names.index(joint)]
    if np.isfinite(limit):
        return float(limit)
    return UNLIMITED_SPEED


@dataclass
class _Link:
    """
    Byte ranges of the start tags of a link, of its inertial and of that one's parts.

    quaternions : whether the URDF is of a version in which quat_xyzw counts
    """

    tag: Span
    quaternions: bool
    inertial: Span | None = None
    parts: dict[str, Span] = field(default_factory=dict)


class _Tags:
    """
    Where the start tags of a URDF's links and joints are.

    links : {link: _Link}; joints : {joint: byte range of its start tag}
    dynamics : {joint: byte range of its <dynamics>}
    repeated : byte ranges of parts that a joint has a second time
    """

    def __init__(self, data: bytes) -> None:
        self.links: dict[str, _Link] = {}
        self.joints: dict[str, Span] = {}
        self.dynamics: dict[str, Span] = {}
        self.repeated: list[Span] = []
        self._data = data
        self._path: list[str] = []
        self._names: list[str] = []  # attributes of the elements of the path
        self._version: str | None = None
        self._joint_parts: set[tuple[str, str]] = set()
        self._readers = {
            ('robot',): self._read_robot,
            ('robot', 'link'): self._read_link,
            ('robot', 'link', 'inertial'): self._read_inertial,
            ('robot', 'link', 'inertial', ANY_TAG): self._read_inertial_part,
            ('robot', 'joint'): self._read_joint,
            ('robot', 'joint', ANY_TAG): self._read_joint_part,
        }
        self._parser = expat.ParserCreate('utf-8')
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            raise RobotModelError('the URDF cannot be read', found=error) from None

    def _start(self, tag, attributes):
        self._path.append(tag)
        self._names.append(attributes.get('name'))
        exact, any_tag = tuple(self._path), (*self._path[:-1], ANY_TAG)
        read = self._readers.get(exact, self._readers.get(any_tag))
        if read:
            start = self._parser.CurrentByteIndex
            read(tag, attributes, (start, tag_end(self._data, start)))

    def _end(self, tag):
        self._path.pop()
        self._names.pop()

    def _read_robot(self, tag, attributes, span):
        self._version = attributes.get('version')

    def _read_link(self, tag, attributes, span):
        self.links[self._names[-1]] = _Link(span, has_quaternions(self._version))

    def _read_inertial(self, tag, attributes, span):
        self.links[self._names[1]].inertial = span

    def _read_inertial_part(self, tag, attributes, span):
        self.links[self._names[1]].parts.setdefault(tag, span)

    def _read_joint(self, tag, attributes, span):
        self.joints[self._names[-1]] = span

    def _read_joint_part(self, tag, attributes, span):
        joint = self._names[1]
        if (joint, tag) in self._joint_parts:
            self._read_repeated_part(span)
        elif tag == 'dynamics':
            self.dynamics[joint] = span
        self._joint_parts.add((joint, tag))

    def _read_repeated_part(self, span):
        """Note a second part where it can be put into a comment: an empty element without --."""
        text = text_at(self._data, span)
        if text.endswith('/>') and '--' not in text:
            self.repeated.append(span)


def _body_edits(data, robot, links, of, P):
    """
    Return the edits that give the links of a body the pseudo-inertia P in its joint frame.

    of : (its number, its first link)
    """
    body, first_link = of
    placements = {}
    for name, (body_of_link, G) in link_placements(robot).items():
        if body_of_link == body:
            placements[name] = G
    nominal = {name: _nominal(data, links[name]) for name in placements}
    massive = [name for name in placements if nominal[name][0] > 0.0]
    if not massive:
        massive = [first_link]
    shares = shares_of(massive, placements, nominal, P)
    edits, remainder = [], P
    # The heaviest comes last and takes the rounding of the others.
    *lighter, heaviest = sorted(massive, key=lambda name: nominal[name][0])
    for name in lighter:
        edit, written = _link_edits(data, links[name], placements[name], shares[name])
        remainder = remainder - written
        edits += edit
    return edits + _link_edits(data, links[heaviest], placements[heaviest], remainder)[0]


def _nominal(data, link):
    """Return the ten parameters (10,) of a link's <inertial> in the link frame, zeros if none."""
    if not {'mass', 'inertia'} <= link.parts.keys():
        return np.zeros(10)
    mass = float(attribute_of(text_at(data, link.parts['mass']), 'value'))
    centre, R = _origin(data, link)
    tag = text_at(data, link.parts['inertia'])
    inertia = np.zeros((3, 3))
    inertia[ELEMENTS] = [float(attribute_of(tag, name) or 0.0) for name in INERTIA]
    inertia.T[ELEMENTS] = inertia[ELEMENTS]
    return about_origin(mass, centre, R @ inertia @ R.T)


def _origin(data, link):
    """Return centre (3,) [m] and rotation (3, 3) of a link's inertial frame."""
    tag = ''
    if 'origin' in link.parts:
        tag = text_at(data, link.parts['origin'])
    quaternion = ''
    if link.quaternions:
        quaternion = attribute_of(tag, 'quat_xyzw', '')
    centre = attribute_of(tag, 'xyz') or '0 0 0'
    rpy = attribute_of(tag, 'rpy', '')
    return np.array(centre.split(), float), orientation(rpy, quaternion)


def _link_edits(data, link, G, share):
    """
    Return the edits that give a link a share of a body, and that share (4, 4) as it is written.

    G : (4, 4) placement of the link in the joint frame, in which the shares are
    """
    nominal = _nominal(data, link)
    to_link = np.linalg.inv(G)
    P = to_link @ share @ to_link.T
    pi = parameters_of((P + P.T) / 2)
    if np.abs(pi - nominal).max() <= UNCHANGED * np.abs(P).max():
        return [], G @ pseudo_inertia(nominal) @ G.T
    mass, centre, central = about_center(pi)
    R = _origin(data, link)[1]
    local = R.T @ central @ R
    written = about_origin(mass, centre, R @ local @ R.T)
    tags = {
        'mass': {'value': repr(mass)},
        'origin': {'xyz': ' '.join(map(repr, centre.tolist()))},
        'inertia': dict(zip(INERTIA, map(repr, local[ELEMENTS].tolist()))),
    }
    return _inertial_edits(data, link, tags), G @ pseudo_inertia(written) @ G.T


def _inertial_edits(data, link, tags):
    """Return the edits that set attributes of an inertial's parts, or add what is missing."""
    edits, missing = [], ''
    for tag, attributes in tags.items():
        if tag in link.parts:
            span = link.parts[tag]
            edits.append((*span, with_attributes(text_at(data, span), attributes)))
        else:
            missing += with_attributes(f'<{tag}/>', attributes)
    if not missing:
        return edits
    if link.inertial is None:
        return [*edits, inserted(data, link.tag, f'<inertial>{missing}</inertial>', 'link')]
    return [*edits, inserted(data, link.inertial, missing, 'inertial')]


def damping_and_friction(
    parameters: Sequence[Parameter], values: np.ndarray | Sequence[float], joint: str, top: float
) -> dict[str, float]:
    """
    Return {damping [N m s/rad], friction [N m]}: the joint's friction up to speed ``top`` [rad/s].

    What URDF can hold of it: exact for viscous and Coulomb friction, else the closest curve; {}
    where no friction was identified.
    parameters : (p,) Parameters; values : (p,) theirs
    """
    friction = []
    for parameter, value in zip(parameters, values):
        if parameter.owner == joint and _brakes(parameter):
            friction.append((parameter, value))
    if not friction:
        return {}
    if not all(LAWS[parameter.law].in_urdf for parameter, _ in friction):
        return _closest_friction(friction, top)
    sums = {'damping': 0.0, 'friction': 0.0}
    for parameter, value in friction:
        sums[LAWS[parameter.law].in_urdf] += float(value)
    return {name: max(total, 0.0) for name, total in sums.items()}


def _brakes(parameter):
    """Return whether a column is part of the friction curve of a joint."""
    return bool(parameter.law) and LAWS[parameter.law].brakes


def _closest_friction(friction, top):
    """Return damping and friction closest to a curve of (parameter, value), up to ``top``."""
    v = top * np.linspace(0.05, 1.0, 20)
    still = np.zeros_like(v)
    curve = np.zeros_like(v)
    for parameter, value in friction:
        forwards = friction_column(parameter, still, v, still)
        backwards = friction_column(parameter, still, -v, still)
        curve += value * (forwards - backwards) / 2
    damping, dry = nonnegative_solution(np.column_stack([v, np.ones_like(v)]), curve)
    return {'damping': float(damping), 'friction': float(dry)}


def _in_words(numbers):
    return {name: repr(value) for name, value in numbers.items()}


def _dynamics_edits(data, span, friction, all_dynamics):
    """Return the edit of a joint's <dynamics>: only attributes that it has, or all of them."""
    text = text_at(data, span)
    changed = {}
    for name, value in _in_words(friction).items():
        if all_dynamics or attribute_of(text, name) is not None:
            changed[name] = value
    if not changed:
        return []
    return [(*span, with_attributes(text, changed))]
