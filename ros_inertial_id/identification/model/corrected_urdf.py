"""
The corrected URDF: the given text with other numbers in <inertial> and <dynamics>, nothing else.

Tags are found by an XML parser, but only the attributes that change are replaced in the text, so
comments, order and formatting stay.  A second <origin> (or other single part) of a joint, which
ROS reads over but MuJoCo refuses, is put into a comment.

Links fixed to one another are one body to an identification; its pseudo-inertia P is shared out
by the congruence T that turns their nominal sum P0 into it,

    T P0 T = P,   T = P0^-1/2 (P0^1/2 P P0^1/2)^1/2 P0^-1/2,   P_link' = T P_link T,

which keeps every link's positive definite and their sum exactly P (T is the geometric mean of P
and P0^-1; Bhatia, Positive definite matrices, 2007, ch. 4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import re
from typing import Any
from xml.parsers import expat

import numpy as np

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
from ...dynamics.robot_model import link_placements, RobotModel
from ...errors import RobotModelError
from ...estimation.consistency import solid
from ...estimation.least_squares import nonnegative_solution

PLACES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
SAME = 1e-12  # relative: numbers that did not change are not written anew


def corrected_urdf(
    robot: RobotModel,
    parameters: Sequence[Parameter],
    values: np.ndarray,
    validity_range: Mapping[str, Any] | None = None,
) -> str:
    """
    Return the URDF text of ``robot`` with the inertias and friction of standard parameters.

    parameters : (p,) Parameters; values : (p,) theirs
    validity_range : of the IdentifiedModel, bounds the speeds over which a richer friction is
        summed up as damping and friction
    EstimationError when a body is not physically consistent: identify with --consistent.
    """
    data = robot.urdf.encode()
    links, joints, repeated = _find_tags(data)
    edits = [
        (low, high, f'<!-- repeated: {_text(data, (low, high))} -->') for low, high in repeated
    ]
    for body, link in enumerate(robot.link_names):
        first = bodies(parameters)[link]
        own = np.asarray(values)[first : first + 10]
        check_consistent(own, link)
        edits += _body_edits(data, robot, links, body, pseudo_inertia(own))
    for joint, tag in joints.items():
        if joint in robot.joint_names:
            limit = robot.velocity[robot.joint_names.index(joint)]
            seen = (validity_range or {}).get(joint, {}).get('v')
            top = np.abs(seen).max() if seen else limit if np.isfinite(limit) else 1.0
            edits += _dynamics_edits(
                data, tag, damping_and_friction(parameters, values, joint, float(top))
            )
    for start, end, text in sorted(edits, reverse=True):
        data = data[:start] + text.encode() + data[end:]
    return data.decode()


@dataclass
class _Link:
    """
    Byte ranges of the start tags of a link and of the parts of its inertial.

    quaternions : whether the URDF is of a version in which quat_xyzw counts
    """

    tag: tuple[int, int]
    quaternions: bool
    inertial: Any = None
    parts: dict[str, tuple[int, int]] = field(default_factory=dict)


def _find_tags(data):
    """Return {link: _Link}, {joint: range of its <dynamics>} and ranges of repeated parts."""
    links, joints, repeated, path, names, version = {}, {}, [], [], [], []
    seen = set()
    parser = expat.ParserCreate('utf-8')

    def start(tag, attributes):
        low = parser.CurrentByteIndex
        here = (low, _tag_end(data, low))
        path.append(tag)
        names.append(attributes.get('name'))
        if path == ['robot']:
            version.append(attributes.get('version'))
        elif path == ['robot', 'link']:
            links[names[-1]] = _Link(here, has_quaternions(version[0]))
        elif path[:2] == ['robot', 'joint'] and len(path) == 3:
            if (names[1], tag) in seen:
                if data[: here[1]].endswith(b'/>') and b'--' not in data[slice(*here)]:
                    repeated.append(here)
            elif tag == 'dynamics':
                joints[names[1]] = here
            seen.add((names[1], tag))
        elif path[:2] == ['robot', 'link'] and path[2:] == ['inertial']:
            links[names[1]].inertial = here
        elif path[:3] == ['robot', 'link', 'inertial'] and len(path) == 4:
            links[names[1]].parts.setdefault(tag, here)

    def end(tag):
        path.pop()
        names.pop()

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise RobotModelError('the URDF cannot be read', found=error) from None
    return links, joints, repeated


def _tag_end(data, low):
    """Return the index after the > that closes the start tag at ``low``; quotes may hold one."""
    tag = re.compile(rb"""(?:[^"'>]|"[^"]*"|'[^']*')*>""").match(data, low)  # noqa: Q001
    assert tag is not None  # expat has read it
    return tag.end()


def _attribute(text, name):
    match = re.search(rf"""\s{name}\s*=\s*(?:"([^"]*)"|'([^']*)')""", text)  # noqa: Q001
    return None if match is None else match.group(1) or match.group(2) or ''


def _with_attributes(text, attributes):
    """Return a start tag with attributes set, the others and all blanks as they were."""
    for name, value in attributes.items():
        pattern = rf"""(\s{name}\s*=\s*)(?:"[^"]*"|'[^']*')"""  # noqa: Q001
        given, body = re.search(pattern, text), re.sub(r'\s*/?>$', '', text)
        if given:
            text = f'{text[: given.start()]}{given.group(1)}"{value}"{text[given.end() :]}'
        else:
            text = f'{body} {name}="{value}"{text[len(body) :]}'
    return text


def _body_edits(data, robot, links, body, P):
    """Return the edits that give the links of a body the pseudo-inertia P in its joint frame."""
    placements = {name: G for name, (own, G) in link_placements(robot).items() if own == body}
    nominal = {name: _nominal(data, links[name]) for name in placements}
    heavy = [name for name in placements if nominal[name][0] > 0.0]
    heavy = heavy or [robot.link_names[body]]
    shares, edits = {}, []
    if len(heavy) > 1:
        shares = {
            name: G @ solid(nominal[name][None])[0] @ G.T
            for name, G in placements.items()
            if name in heavy
        }
        T = _congruence(sum(shares.values()), P)
        shares = {name: T @ share @ T for name, share in shares.items()}
        heavy.sort(key=lambda name: nominal[name][0])
    remainder = P
    for name in heavy:  # the heaviest comes last and takes the rounding of the others
        G = placements[name]
        share = remainder if name == heavy[-1] else shares[name]
        inverse = np.linalg.inv(G)
        edit, written = _link_edits(data, links[name], inverse @ share @ inverse.T, nominal[name])
        remainder = remainder - G @ pseudo_inertia(written) @ G.T
        edits += edit
    return edits


def _congruence(P0, P):
    """Return T = T' > 0 with T P0 T = P."""
    root = _power(P0, 0.5)
    inverse = _power(P0, -0.5)
    T = inverse @ _power(root @ P @ root, 0.5) @ inverse
    return (T + T.T) / 2


def _power(matrix, exponent):
    w, V = np.linalg.eigh((matrix + matrix.T) / 2)
    return (V * w**exponent) @ V.T


def _nominal(data, link):
    """Return the ten parameters (10,) of a link's <inertial> in the link frame, zeros if none."""
    if link.inertial is None or 'mass' not in link.parts or 'inertia' not in link.parts:
        return np.zeros(10)
    mass = float(_attribute(_text(data, link.parts['mass']), 'value'))
    centre, R = _origin(data, link)
    tag = _text(data, link.parts['inertia'])
    inertia = np.zeros((3, 3))
    for name, (i, j) in zip(INERTIA, PLACES):
        inertia[i, j] = inertia[j, i] = float(_attribute(tag, name) or 0.0)
    return about_origin(mass, centre, R @ inertia @ R.T)


def _text(data, place):
    return data[place[0] : place[1]].decode()


def _origin(data, link):
    """Return centre (3,) [m] and rotation (3, 3) of a link's inertial frame."""
    tag = _text(data, link.parts['origin']) if 'origin' in link.parts else ''
    centre, rpy, turn = (_attribute(tag, name) or '' for name in ('xyz', 'rpy', 'quat_xyzw'))
    return (
        np.array([float(x) for x in (centre or '0 0 0').split()]),
        orientation(rpy, turn if link.quaternions else ''),
    )


def _link_edits(data, link, share, nominal):
    """Return (edits, ten parameters as written) that give a link a pseudo-inertia (4, 4)."""
    pi = parameters_of((share + share.T) / 2)
    scale = np.abs(share).max()
    if np.abs(pi - nominal).max() <= SAME * scale:
        return [], nominal
    mass, centre, central = about_center(pi)
    R = _origin(data, link)[1] if link.inertial else np.eye(3)
    local = R.T @ central @ R
    written = about_origin(mass, centre, R @ local @ R.T)
    tags = {
        'mass': {'value': repr(mass)},
        'origin': {'xyz': ' '.join(repr(float(x)) for x in centre)},
        'inertia': {n: repr(float(local[i])) for n, i in zip(INERTIA, PLACES)},
    }
    return _inertial_edits(data, link, tags), written


def _inertial_edits(data, link, tags):
    edits, missing = [], ''
    for tag, attributes in tags.items():
        if link.inertial is not None and tag in link.parts:
            low, high = link.parts[tag]
            edits.append((low, high, _with_attributes(_text(data, (low, high)), attributes)))
        else:
            missing += _with_attributes(f'<{tag}/>', attributes)
    if missing and link.inertial is None:
        edits.append(_insert(data, link.tag, f'<inertial>{missing}</inertial>', 'link'))
    elif missing:
        edits.append(_insert(data, link.inertial, missing, 'inertial'))
    return edits


def _insert(data, place, inside, tag):
    """Return the edit that puts ``inside`` first into an element, empty or not."""
    text = _text(data, place)
    if text.endswith('/>'):
        return (*place, f'{text[:-2].rstrip()}>{inside}</{tag}>')
    return (place[1], place[1], inside)


def damping_and_friction(
    parameters: Sequence[Parameter], values: np.ndarray | Sequence[float], joint: str, top: float
) -> dict[str, float]:
    """
    Return {damping [N m s/rad], friction [N m]}: the joint's friction up to speed ``top`` [rad/s].

    What URDF can hold of it: exact for viscous and Coulomb friction, else the closest curve; {}
    where no friction was identified.
    parameters : (p,) Parameters; values : (p,) theirs
    """
    own = [
        (p, x)
        for p, x in zip(parameters, values)
        if p.owner == joint and p.law and LAWS[p.law].brakes
    ]
    if not own:
        return {}
    if all(LAWS[p.law].in_urdf for p, _ in own):
        return {
            name: max(float(sum(x for p, x in own if LAWS[p.law].in_urdf == name)), 0.0)
            for name in ('damping', 'friction')
        }
    v = top * np.linspace(0.05, 1.0, 20)
    none = np.zeros_like(v)
    curve = sum(
        x * (friction_column(p, none, v, none) - friction_column(p, none, -v, none)) / 2
        for p, x in own
    )
    fast, slow = nonnegative_solution(np.column_stack([v, np.ones_like(v)]), curve)
    return {'damping': float(fast), 'friction': float(slow)}


def _dynamics_edits(data, place, friction):
    """Return the edit of a joint's <dynamics>: only the attributes that it has."""
    text = _text(data, place)
    changed = {
        name: repr(value) for name, value in friction.items() if _attribute(text, name) is not None
    }
    return [(*place, _with_attributes(text, changed))] if changed else []
