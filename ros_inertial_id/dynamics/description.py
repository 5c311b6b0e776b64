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
        robot = ElementTree.fromstring(
            urdf.encode('utf-8', 'replace'), ElementTree.XMLParser(encoding='utf-8')
        )
    except ElementTree.ParseError as error:
        raise RobotModelError('the URDF cannot be read', expected='XML', found=error) from None
    joints, quaternions = robot.findall('joint'), has_quaternions(robot.get('version'))
    for link in robot.findall('link'):
        _check_link(link)
        for origin in link.iterfind('inertial/origin'):
            _check_origin(
                origin,
                f'link {link.get("name")!r} of the URDF: origin of its inertial',
                quaternions,
            )
    for joint in joints:
        _check_joint(joint)
        for origin in joint.findall('origin'):
            _check_origin(origin, f'joint {joint.get("name")!r} of the URDF: origin', quaternions)
    _check_tree([link.get('name', '') for link in robot.findall('link')], joints)


def _check_link(link: ElementTree.Element) -> None:
    where = f'link {link.get("name")!r} of the URDF'
    for found in link.iterfind('inertial/mass'):
        _number(found.get('value'), f'{where}: mass', low=0.0)
    for found in link.iterfind('inertial/inertia'):
        for name in INERTIA:
            low = 0.0 if name[1] == name[2] else -HEAVIEST
            _number(found.get(name), f'{where}: {name}', low)


def _check_origin(origin: ElementTree.Element, where: str, quaternions: bool) -> None:
    for name in ('xyz', 'rpy'):
        _numbers(origin.get(name), f'{where} {name}')
    turn = origin.get('quat_xyzw')
    if quaternions and turn is not None:
        if origin.get('rpy') is not None:
            raise RobotModelError(
                f'{where} is given by rpy and by quat_xyzw', do='take one of them out'
            )
        if math.hypot(*_numbers(turn, f'{where} quat_xyzw', 4)) < 1e-6:
            raise RobotModelError(f'{where} quat_xyzw', expected='a quaternion', found=repr(turn))


def _check_joint(joint: ElementTree.Element) -> None:
    where = f'joint {joint.get("name")!r} of the URDF'
    if joint.get('type') not in MOVING:
        return
    for found in joint.findall('axis'):
        axis = _numbers(found.get('xyz'), f'{where}: axis')
        if axis and math.hypot(*axis) < 1e-6:
            raise RobotModelError(
                f'{where}: axis',
                expected='a direction',
                found=found.get('xyz'),
                do='correct its <axis>',
            )
    for found in joint.findall('limit'):
        for name, text in found.attrib.items():
            _number(text, f'{where}: limit {name}', -math.inf, math.inf)


def _number(
    text: str | None, where: str, low: float = -HEAVIEST, high: float = HEAVIEST
) -> float | None:
    """Return the number in ``text``, None without one; from ``low`` to ``high``."""
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise RobotModelError(
            where,
            expected=f'a number from {low:g} to {high:g}',
            found=repr(text[:40]),
            do='correct the description',
        )
    return value


def _numbers(text: str | None, where: str, count: int = 3) -> list[float]:
    """Return so many numbers in ``text``, [] without any."""
    words = (text or '').split()
    if words and len(words) != count:
        raise RobotModelError(where, expected=f'{count} numbers', found=repr((text or '')[:40]))
    return [x for x in (_number(word, where) for word in words) if x is not None]


def _check_tree(links: list[str], joints: list[ElementTree.Element]) -> None:
    """Raise RobotModelError where joints do not make one tree of the links."""
    parents: dict[str, str] = {}
    for joint in joints:
        ends = [joint.find(end) for end in ('parent', 'child')]
        parent, child = ((end.get('link') or '') if end is not None else '' for end in ends)
        where = f'joint {joint.get("name")!r} of the URDF'
        for link in (parent, child):
            if link not in links:
                raise RobotModelError(
                    f'{where} names a link that is not there', found=repr(link), exists=links[:20]
                )
        if child in parents:
            raise RobotModelError(
                f'{where} carries a link that another joint carries already',
                expected='a tree: one joint per link',
                found=f'{child!r} is carried by {parents[child]!r} and by {parent!r}',
                do=_opened(joint, child),
            )
        parents[child] = parent
    for link in links:
        seen = {link}
        while link in parents:
            link = parents[link]
            if link in seen:
                raise RobotModelError(
                    'the joints of the URDF go round in a circle',
                    found=' '.join(sorted(seen)),
                    expected='a tree',
                )
            seen.add(link)


def _opened(joint: ElementTree.Element, child: str) -> str:
    """Return how the loop that a ``joint`` closes is described: opened, and closed in words."""
    name, kind, axis = joint.get('name'), joint.get('type') or '', joint.find('axis')
    closure = {'fixed': 'weld', 'revolute': 'axis', 'continuous': 'axis'}.get(kind, 'point')
    along = '1 0 0' if axis is None else (axis.get('xyz') or '1 0 0')
    turned = (
        ''
        if closure != 'axis'
        else f'; axis means the z of both: turn these links so that it is the axis ({along})'
    )
    return (
        f'open the loop: let joint {name!r} be fixed and carry a link {name}_end without '
        f"mass, and close it in the configuration: method: closed_loop, closures: ['{closure} "
        f"{name}_end {child}']{turned}"
    )
