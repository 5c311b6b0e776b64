"""
The patched MJCF: the given text with the numbers of a model in it, nothing else.

Numbers are those of bodies (mass, centre, inertia), joints (damping, frictionloss, armature,
stiffness, springref) and actuators (gains, and the bias of a constant torque; a joint without an
actuator gets one for it, behind all others).  They are set in the elements themselves, which count
before classes and defaults; these stay as they are, as do shapes, sites, cameras, sensors,
comments and blanks.  What an element has by its class is asked of MuJoCo, which compiles the text
before.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
import re
from typing import Any
from xml.parsers import expat

import numpy as np

from .shares import shares_of
from .start_tags import (
    attribute_of,
    Edit,
    edited,
    inserted,
    Span,
    tag_end,
    text_at,
    with_attributes,
    without_attributes,
)
from ...dynamics.inertial_parameters import about_center, parameters_of, pseudo_inertia
from ...dynamics.mjcf_compiled import compiled_numbers, CompiledActuator, CompiledNumbers
from ...dynamics.robot_model import link_placements, numbered_links, RobotModel
from ...errors import RobotModelError

FULLINERTIA = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)  # rows and columns, as MJCF has them
UNCHANGED = 1e-12  # relative: numbers that did not change are not written anew
ORIENTATIONS = 'quat', 'axisangle', 'euler', 'xyaxes', 'zaxis'
OF_POSITION = 'kp', 'kv', 'dampratio', 'timeconst', 'inheritrange'  # of the tag alone
# Of an actuator that adds a bias and nothing else, whatever defaults say.
ADDED = (
    'gear="1" dyntype="none" ctrllimited="false" forcelimited="false" '
    'gaintype="fixed" gainprm="0" biastype="affine"'
)
ELSEWHERE = 'include', 'replicate', 'attach', 'composite', 'flexcomp'


@dataclass(frozen=True)
class JointNumbers:
    """
    What a joint of MJCF is to have.

    attributes : of the element, see ``mjcf_joint``
    bias : that its actuator adds, a constant [N m] and times the position [N m/rad]
    gains : kp and kv of a servo, None: as the file has them
    history : {attribute of its actuator: text} by which commands act late
    """

    attributes: dict[str, float]
    bias: tuple[float, float]
    gains: tuple[float, float] | None = None
    history: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _Body:
    """Byte ranges of the start tags of a body, and of its inertial."""

    tag: Span
    inertial: Span | None = None


@dataclass
class _Tags:
    """Byte ranges of start tags: bodies and joints by name, the first actuator of each joint."""

    bodies: dict[str, _Body] = field(default_factory=dict)
    joints: dict[str, Span] = field(default_factory=dict)
    actuators: dict[str, Span] = field(default_factory=dict)
    options: list[Span] = field(default_factory=list)
    keys: list[Span] = field(default_factory=list)
    root: Span = (0, 0)
    ends: dict[str, int] = field(default_factory=dict)  # first byte of the last end tag
    degrees: bool = True


def patched_mjcf(
    text: str,
    folder: str | Path,
    robot: RobotModel,
    links: Mapping[str, np.ndarray],
    joints: Mapping[str, JointNumbers],
) -> str:
    """
    Return the ``text`` of an MJCF file with the numbers of a ``robot`` that was read from it.

    folder : of the file; links : {link: ten parameters (10,) in the frame of its joint}
    joints : {joint: JointNumbers}
    RobotModelError where MuJoCo is not installed, or the elements are in another file.
    """
    data, numbers = text.encode(), compiled_numbers(text, folder)
    tags = _read(data)
    edits = _gravity_edits(data, tags, numbers, robot)
    for number, link in numbered_links(robot, links):
        edits += _body_edits(data, tags, numbers, (robot, number, link), links[link])
    for joint, wanted in joints.items():
        edits += _joint_edits(data, tags, numbers, joint, wanted)
    passive = {j: wanted.bias for j, wanted in joints.items() if j not in tags.actuators}
    return edited(data, [*edits, *_bias_edits(data, tags, passive)])


def with_inertias(text: str, inertias: Mapping[str, tuple[np.ndarray, str]]) -> str:
    """
    Return the ``text`` of an MJCF file with the inertias of some bodies in it.

    inertias : {body: (ten parameters (10,) in its frame, why)}; why becomes a comment
    RobotModelError where the elements are in another file, or a body has no name.
    """
    data = text.encode()
    tags = _read(data)
    edits: list[Edit] = []
    for name, (parameters, why) in inertias.items():
        body = _element(tags.bodies, name, 'body')
        was = 'none'
        if body.inertial is not None:
            was = text_at(data, body.inertial)
        said = re.sub('-(?=-)', '- ', f' {why}. It was: {" ".join(was.split())} ')
        for start, end, written in _inertial_edits(data, body, parameters):
            edits.append((start, end, written.replace('<inertial', f'<!--{said}--><inertial', 1)))
    return edited(data, edits)


def _read(data: bytes) -> _Tags:
    """Return the _Tags of an MJCF text; RobotModelError where elements are in other files."""
    tags, path, names = _Tags(), list[str](), list[str]()
    parser = expat.ParserCreate('utf-8')

    def start(tag: str, attributes: Mapping[str, str]) -> None:
        span = parser.CurrentByteIndex, tag_end(data, parser.CurrentByteIndex)
        path.append(tag)
        names.append(attributes.get('name', ''))
        _note(tags, path, names, attributes, span)

    def end(tag: str) -> None:
        at = parser.CurrentByteIndex
        if data[at : at + 2] == b'</':  # else the element is empty
            tags.ends[tag] = at
        path.pop()
        names.pop()

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(data, True)
    return tags


def _note(tags, path, names, attributes, span):
    """Note the byte range ``span`` of the element at the end of a ``path`` of tags."""
    tag, above = path[-1], path[-2:-1]
    if tag in ELSEWHERE:
        raise RobotModelError(
            'numbers are written into one file',
            found=f'<{tag}>',
            do='give the file that has the bodies, and include it in the other one',
        )
    if path == ['mujoco']:
        tags.root = span
    elif path == ['mujoco', 'compiler']:
        tags.degrees = attributes.get('angle', 'degree') == 'degree'
    elif path == ['mujoco', 'option']:
        tags.options.append(span)
    elif above == ['keyframe'] and 'ctrl' in attributes:
        tags.keys.append(span)
    elif above == ['actuator'] and 'joint' in attributes:
        tags.actuators.setdefault(attributes['joint'], span)
    elif path[1:2] == ['worldbody']:
        _note_body(tags, tag, names, span)


def _note_body(tags, tag, names, span):
    """Note the byte range ``span`` of a ``tag`` if it is of a body or a part of one."""
    if tag == 'body':
        tags.bodies[names[-1]] = _Body(span)
    elif tag == 'inertial':
        tags.bodies[names[-2]].inertial = span
    elif tag == 'joint':
        tags.joints.setdefault(names[-1], span)


def _gravity_edits(
    data: bytes, tags: _Tags, numbers: CompiledNumbers, robot: RobotModel
) -> list[Edit]:
    """Return the edits that give a mounted robot the gravity that it was identified under."""
    if numbers.floats or np.allclose(numbers.gravity, robot.gravity_base, rtol=0.0, atol=1e-12):
        return []
    gravity = {'gravity': _words(robot.gravity_base)}
    if not tags.options:
        option = with_attributes('<option/>', gravity)
        return [inserted(data, tags.root, option, 'mujoco')]
    span = tags.options[-1]
    return [(*span, with_attributes(text_at(data, span), gravity))]


def _body_edits(
    data: bytes,
    tags: _Tags,
    numbers: CompiledNumbers,
    of: tuple[RobotModel, int, str],
    parameters: np.ndarray,
) -> list[Edit]:
    """
    Return the edits that give the bodies fixed to one another of a link its ``parameters``.

    of : the robot, the number of the link and its name
    """
    robot, number, link = of
    placements = {}
    for name, (body, G) in link_placements(robot).items():
        if body == number and name in numbers.bodies:
            placements[name] = _of_body_frame(G, name, robot, numbers)
    massive = [name for name in placements if numbers.bodies[name][0] > 0.0]
    if not massive:
        massive = [link]
    shares = shares_of(massive, placements, numbers.bodies, pseudo_inertia(parameters))
    edits = []
    for name, share in shares.items():
        to_body = np.linalg.inv(placements[name])
        P = to_body @ share @ to_body.T
        own = parameters_of((P + P.T) / 2)
        if np.abs(own - numbers.bodies[name]).max() > UNCHANGED * np.abs(P).max():
            edits += _inertial_edits(data, _element(tags.bodies, name, 'body'), own)
    return edits


def _of_body_frame(G, name, robot, numbers):
    """Return the placement (4, 4) of the frame of a body in the joint's, from that of its link."""
    if name not in robot.link_names:
        return G
    to_frame = np.eye(4)
    to_frame[:3, 3] = -numbers.anchors[name]
    return G @ to_frame


def _inertial_edits(data: bytes, body: _Body, parameters: np.ndarray) -> list[Edit]:
    """Return the edits that give a ``body`` its ten ``parameters`` (10,)."""
    mass, centre, central = about_center(parameters)
    given = '<inertial/>'
    if body.inertial is not None:
        given = text_at(data, body.inertial)
    attributes = {'pos': _words(centre), 'mass': _words([mass])}
    if attribute_of(given, 'diaginertia') is None:
        attributes['fullinertia'] = _words(central[FULLINERTIA])
        given = without_attributes(given, ORIENTATIONS)
    else:
        from scipy.spatial.transform import Rotation  # takes long to import: when needed

        moments, axes = np.linalg.eigh(central)
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        x, y, z, w = Rotation.from_matrix(axes).as_quat()
        attributes['diaginertia'], attributes['quat'] = _words(moments), _words([w, x, y, z])
        given = without_attributes(given, ORIENTATIONS[1:])
    written = with_attributes(given, attributes)
    if body.inertial is None:
        return [inserted(data, body.tag, written, 'body')]
    return [(*body.inertial, written)]


def _joint_edits(
    data: bytes, tags: _Tags, numbers: CompiledNumbers, joint: str, wanted: JointNumbers
) -> list[Edit]:
    """Return the edits that give a ``joint`` and its actuator the numbers ``wanted``."""
    span = _element(tags.joints, joint, 'joint')
    given, attributes, text = numbers.joints[joint], {}, text_at(data, span)
    for name, value in wanted.attributes.items():
        if _differ(value, given[name]):
            attributes[name] = _words([value])
    if not wanted.attributes['stiffness']:
        attributes.pop('springref', None)
    if 'springref' in attributes and tags.degrees and attribute_of(text, 'type') != 'slide':
        attributes['springref'] = _words([np.degrees(wanted.attributes['springref'])])
    edits: list[Edit] = []
    if attributes:
        edits.append((*span, with_attributes(text, attributes)))
    if joint in tags.actuators:
        edits += _actuator_edits(data, tags.actuators[joint], numbers.actuators[joint], wanted)
    return edits


def _bias_edits(data: bytes, tags: _Tags, biases: Mapping[str, tuple[float, float]]) -> list[Edit]:
    """Return the edits that add, behind all others, actuators for ``biases`` of joints without."""
    added = [
        f'  <general name="{escape(joint)}_constant" joint="{escape(joint)}" {ADDED} '
        f'biasprm="{_words([*bias, 0.0])}"/>\n'
        for joint, bias in biases.items()
        if any(bias)
    ]
    if not added:
        return []
    text, at = ''.join(added), tags.ends.get('actuator')
    if at is None:
        at = tags.ends['mujoco']
        text = f'  <actuator>\n{text}  </actuator>\n'
    edits = [(at, at, text)]
    for span in tags.keys:  # which have a command for every actuator
        key = text_at(data, span)
        commands = attribute_of(key, 'ctrl') + len(added) * ' 0'
        edits.append((*span, with_attributes(key, {'ctrl': commands})))
    return edits


def _actuator_edits(
    data: bytes, span: Span, given: CompiledActuator, wanted: JointNumbers
) -> list[Edit]:
    """Return the edit of an actuator, none where it has the force that is ``wanted``."""
    gain, bias = given.gain, given.bias.copy()
    if wanted.gains is not None:
        gain = wanted.gains[0] / given.gear**2
        bias[1:] = -np.array(wanted.gains) / given.gear**2
    # A force of the gear's input; its length is the position times the gear.
    constant, slope = wanted.bias
    bias[0] = constant / given.gear
    bias[1] += slope / given.gear**2
    same_bias = not any(map(_differ, bias, given.bias))
    if same_bias and not _differ(gain, given.gain):
        if not wanted.history:
            return []
        return [(*span, with_attributes(text_at(data, span), wanted.history))]
    if not given.is_affine:
        raise RobotModelError(
            'an actuator that holds no constant torque',
            found=text_at(data, span),
            expected='a motor, a position actuator, or a general one that is affine',
        )
    text = without_attributes(text_at(data, span), OF_POSITION)
    tag = text[1:].split()[0].rstrip('/>')
    changed = {**wanted.history, 'biasprm': _words(bias)}
    if _differ(gain, given.gain) or tag != 'general':
        changed['gainprm'] = _words([gain])
    if tag != 'general':
        text = '<general' + text[1 + len(tag) :]
        changed['gaintype'] = 'fixed'
    if tag != 'general' or not given.bias.any():
        changed['biastype'] = 'affine'
    return [(*span, with_attributes(text, changed))]


def _differ(a: float, b: float) -> bool:
    return abs(a - b) > UNCHANGED * max(abs(a), abs(b))


def _element(elements: Mapping[str, Any], name: str, tag: str) -> Any:
    """Return what ``elements`` hold of a ``name``; RobotModelError where they do not."""
    if name not in elements:
        raise RobotModelError(
            f'the MJCF has no {tag} of the name {name!r}', do='give every body and joint a name'
        )
    return elements[name]


def _words(values: Any) -> str:
    return ' '.join(map(repr, np.asarray(values, dtype=float).tolist()))
