"""Description: what a URDF must be before anybody reads it, by link and joint."""

from functools import lru_cache
import math
import re
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from ..errors import RobotModelError

HEAVIEST = 1e9  # [kg, kg m, kg m^2]: no link of a robot is beyond
INERTIA = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
MOVING = ('revolute', 'continuous', 'prismatic')
UNBOUNDED = re.compile(
    r'\b(lower|upper|effort|velocity|acceleration|deceleration|jerk)'
    r"""(\s*=\s*["']\s*[-+]?)inf(?:inity)?(?=\s*["'])""",
    re.I,
)  # noqa: Q001


# What a link may say of its inertia: element, attribute, name in messages, lowest value.
NUMBERS_OF_LINK = (
    ('inertial/mass', 'value', 'mass', 0.0),
    ('inertial/inertia', 'ixx', 'ixx', 0.0),
    ('inertial/inertia', 'ixy', 'ixy', -HEAVIEST),
    ('inertial/inertia', 'ixz', 'ixz', -HEAVIEST),
    ('inertial/inertia', 'iyy', 'iyy', 0.0),
    ('inertial/inertia', 'iyz', 'iyz', -HEAVIEST),
    ('inertial/inertia', 'izz', 'izz', 0.0),
)
# How the loop that a joint closes is said in words, by its type; point: of all others.
CLOSURES = {'fixed': 'weld', 'revolute': 'axis', 'continuous': 'axis'}


def parsed_xml(urdf: str) -> ElementTree.Element:
    """Return the root of a ``urdf`` text, whatever encoding it says that it has."""
    encoded = urdf.encode('utf-8', 'replace')
    return ElementTree.fromstring(encoded, ElementTree.XMLParser(encoding='utf-8'))


def attribute(element: ElementTree.Element, path: str, name: str) -> str:
    """Return attribute ``name`` of the first part of an ``element`` at ``path``; '': none."""
    part = element.find(path)
    if part is None:
        return ''
    return part.get(name, '')


def parsable(urdf: str) -> str:
    """Return a ``urdf`` text whose infinite limits are numbers, as urdfdom wants them."""
    return UNBOUNDED.sub(r'\1\g<2>1e30', urdf)


def has_quaternions(version: str | None) -> bool:
    """Return whether quat_xyzw counts in a URDF of a ``version``: since 1.1 (urdfdom's README)."""
    return [int(word) for word in re.findall(r'\d+', version or '1.0')] > [1, 0]


def orientation(rpy: str, quat_xyzw: str) -> np.ndarray:
    """Return the rotation (3, 3) of an origin by the one of two attributes that is not ''."""
    if quat_xyzw:
        x, y, z, w = map(float, quat_xyzw.split())
        return np.asarray(pin.Quaternion(w, x, y, z).normalized().matrix())
    return np.asarray(pin.rpy.rpyToMatrix(*map(float, (rpy or '0 0 0').split())))


@lru_cache(maxsize=8)
def check_description(urdf: str) -> None:
    """
    Raise RobotModelError for a URDF text that no robot has.

    urdf : with numbers that are finite, with joints that make one tree
    """
    if '<robot' not in urdf:
        raise RobotModelError(
            'the robot description is not a URDF', expected='<robot ...>', found=repr(urdf[:40])
        )
    try:
        robot = parsed_xml(urdf)
    except ElementTree.ParseError as error:
        raise RobotModelError('the URDF cannot be read', expected='XML', found=error) from None
    links, joints = robot.findall('link'), robot.findall('joint')
    quaternions = has_quaternions(robot.get('version'))
    for link in links:
        where = f'link {link.get("name")!r} of the URDF'
        _check_link(link, where)
        _check_origins(link, 'inertial/origin', f'{where}: origin of its inertial', quaternions)
    for joint in joints:
        where = f'joint {joint.get("name")!r} of the URDF'
        _check_joint(joint, where)
        _check_origins(joint, 'origin', f'{where}: origin', quaternions)
    _check_tree([link.get('name', '') for link in links], joints)


def _check_link(link: ElementTree.Element, where: str) -> None:
    for path, name, quantity, lowest in NUMBERS_OF_LINK:
        for element in link.iterfind(path):
            _check_number(element.get(name), f'{where}: {quantity}', lowest, HEAVIEST)


def _check_origins(element: ElementTree.Element, path: str, where: str, quaternions: bool) -> None:
    for origin in element.iterfind(path):
        _numbers(origin.get('xyz', ''), f'{where} xyz')
        _numbers(origin.get('rpy', ''), f'{where} rpy')
        if quaternions and 'quat_xyzw' in origin.attrib:
            _check_quaternion(origin, where)


def _check_quaternion(origin: ElementTree.Element, where: str) -> None:
    if 'rpy' in origin.attrib:
        raise RobotModelError(
            f'{where} is given by rpy and by quat_xyzw', do='take one of them out'
        )
    text = origin.get('quat_xyzw', '')
    if _is_zero(_numbers(text, f'{where} quat_xyzw', 4)):
        raise RobotModelError(f'{where} quat_xyzw', expected='a quaternion', found=repr(text))


def _check_joint(joint: ElementTree.Element, where: str) -> None:
    if joint.get('type') not in MOVING:
        return
    for element in joint.iterfind('axis[@xyz]'):
        axis = _numbers(element.get('xyz', ''), f'{where}: axis')
        if axis and _is_zero(axis):
            raise RobotModelError(
                f'{where}: axis',
                expected='a direction',
                found=element.get('xyz'),
                do='correct its <axis>',
            )
    for limit in joint.iterfind('limit'):
        for name, text in limit.attrib.items():
            _check_number(text, f'{where}: limit {name}', -math.inf, math.inf)


def _is_zero(vector: list[float]) -> bool:
    return math.hypot(*vector) < 1e-6


def _check_number(text: str | None, where: str, lowest: float, highest: float) -> None:
    """Raise RobotModelError where a ``text`` is no number in a range; None: not given."""
    if text is None:
        return
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not lowest <= value <= highest:
        raise RobotModelError(
            where,
            expected=f'a number from {lowest:g} to {highest:g}',
            found=repr(text[:40]),
            do='correct the description',
        )


def _numbers(text: str, where: str, count: int = 3) -> list[float]:
    """Return so many numbers in ``text``, [] without any."""
    words = text.split()
    if len(words) not in (0, count):
        raise RobotModelError(where, expected=f'{count} numbers', found=repr(text[:40]))
    for word in words:
        _check_number(word, where, -HEAVIEST, HEAVIEST)
    return [float(word) for word in words]


def _check_tree(links: list[str], joints: list[ElementTree.Element]) -> None:
    """Raise RobotModelError where joints do not make one tree of the links."""
    parents: dict[str, str] = {}
    for joint in joints:
        where = f'joint {joint.get("name")!r} of the URDF'
        ends = parent, child = (
            attribute(joint, 'parent', 'link'),
            attribute(joint, 'child', 'link'),
        )
        missing = [link for link in ends if link not in links]
        if missing:
            raise RobotModelError(
                f'{where} names a link that is not there',
                found=repr(missing[0]),
                exists=links[:20],
            )
        if child in parents:
            raise RobotModelError(
                f'{where} carries a link that another joint carries already',
                expected='a tree: one joint per link',
                found=f'{child!r} is carried by {parents[child]!r} and by {parent!r}',
                do=_opened(joint, child),
            )
        parents[child] = parent
    for link in parents:
        _check_way_to_root(link, parents)


def _check_way_to_root(link: str, parents: dict[str, str]) -> None:
    """Raise RobotModelError where the links before a ``link`` go round in a circle."""
    passed = {link}
    while link in parents:
        link = parents[link]
        if link in passed:
            raise RobotModelError(
                'the joints of the URDF go round in a circle',
                found=' '.join(sorted(passed)),
                expected='a tree',
            )
        passed.add(link)


def _opened(joint: ElementTree.Element, child: str) -> str:
    """Return the advice for a ``joint`` that closes a loop: open it, and close it in words."""
    name, closure = joint.get('name'), CLOSURES.get(joint.get('type', ''), 'point')
    advice = (
        f'open the loop: let joint {name!r} be fixed and carry a link {name}_end without '
        f"mass, and close it in the configuration: method: closed_loop, closures: ['{closure} "
        f"{name}_end {child}']"
    )
    if closure == 'axis':
        axis = attribute(joint, 'axis', 'xyz') or '1 0 0'
        advice += f'; axis means the z of both: turn these links so that it is the axis ({axis})'
    return advice
