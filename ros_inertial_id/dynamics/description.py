"""Description: what a URDF must be before anybody reads it, by link and joint."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
import math
import re
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from ..errors import RobotModelError

HEAVIEST = 1e9  # [kg, kg m, kg m^2]: no link of a robot is beyond
INERTIA = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
LIMITS = ('lower', 'upper', 'effort', 'velocity', 'acceleration', 'deceleration', 'jerk')
UNBOUNDED = re.compile(
    rf'\b({"|".join(LIMITS)})'
    r"""(\s*=\s*["']\s*[-+]?)inf(?:inity)?(?=\s*["'])""",
    re.I,
)  # noqa: Q001


class NumberKind(NamedTuple):
    """
    A kind of attribute that holds numbers.

    expected : in words; counts : how many numbers there may be; lowest, highest : of each
    shortest : least length of the vector that they are
    """

    expected: str
    counts: Collection[int]
    lowest: float = -HEAVIEST
    highest: float = HEAVIEST
    shortest: float = 0.0

    def allows(self, numbers: Sequence[float]) -> bool:
        """Return whether an attribute of this kind may hold the ``numbers``."""
        if len(numbers) not in self.counts:
            return False
        if not all(self.lowest <= number <= self.highest for number in numbers):
            return False
        return not numbers or math.hypot(*numbers) >= self.shortest


class _Rule(NamedTuple):
    """Of an attribute of the elements at ``path`` in a link or joint: its words, its kind."""

    path: str
    name: str
    words: str
    kind: NumberKind

    def signed(self) -> '_Rule':
        """Return the rule that also allows what is below zero."""
        if self.kind is NOT_NEGATIVE:
            return self._replace(kind=SIGNED)
        return self

    def check(self, part: ElementTree.Element) -> None:
        """Raise RobotModelError where a link or joint ``part`` breaks the rule."""
        for element in part.iterfind(f'{self.path}[@{self.name}]'):
            text = element.get(self.name, '')
            if not self.kind.allows(numbers_in(text)):
                raise RobotModelError(
                    f'{_named(part)}: {self.words}',
                    expected=self.kind.expected,
                    found=repr(text[:40]),
                    do='correct the description',
                )


NOT_NEGATIVE = NumberKind(f'a number from 0 to {HEAVIEST:g}', (1,), lowest=0.0)
SIGNED = NumberKind(f'a number from {-HEAVIEST:g} to {HEAVIEST:g}', (1,))
NUMBER = NumberKind('a number', (1,), -math.inf, math.inf)
VECTOR = NumberKind(f'3 numbers from {-HEAVIEST:g} to {HEAVIEST:g}', (0, 3))
DIRECTION = NumberKind('3 numbers that are a direction', (0, 3), shortest=1e-6)
QUATERNION = NumberKind('4 numbers that are a quaternion', (4,), shortest=1e-6)
LINK_RULES = (
    _Rule('inertial/mass', 'value', 'mass', NOT_NEGATIVE),
    _Rule('inertial/inertia', 'ixx', 'ixx', NOT_NEGATIVE),
    _Rule('inertial/inertia', 'ixy', 'ixy', SIGNED),
    _Rule('inertial/inertia', 'ixz', 'ixz', SIGNED),
    _Rule('inertial/inertia', 'iyy', 'iyy', NOT_NEGATIVE),
    _Rule('inertial/inertia', 'iyz', 'iyz', SIGNED),
    _Rule('inertial/inertia', 'izz', 'izz', NOT_NEGATIVE),
    _Rule('inertial/origin', 'xyz', 'origin of its inertial xyz', VECTOR),
    _Rule('inertial/origin', 'rpy', 'origin of its inertial rpy', VECTOR),
)
JOINT_RULES = (
    _Rule('origin', 'xyz', 'origin xyz', VECTOR),
    _Rule('origin', 'rpy', 'origin rpy', VECTOR),
)
# Of joints that move: what others say of axis and limits is not read.
MOVING_JOINT_RULES = (
    _Rule('axis', 'xyz', 'axis', DIRECTION),
    *(_Rule('limit', name, f'limit {name}', NUMBER) for name in LIMITS),
)
RULES = {
    'link': LINK_RULES,
    'joint': JOINT_RULES,
    'joint[@type="revolute"]': MOVING_JOINT_RULES,
    'joint[@type="continuous"]': MOVING_JOINT_RULES,
    'joint[@type="prismatic"]': MOVING_JOINT_RULES,
}
# Of what is only looked at: masses and moments may be below zero.
LENIENT_RULES = {
    **RULES,
    'link': tuple(rule.signed() for rule in LINK_RULES),
}
QUATERNION_RULES = {
    'link': _Rule('inertial/origin', 'quat_xyzw', 'origin of its inertial quat_xyzw', QUATERNION),
    'joint': _Rule('origin', 'quat_xyzw', 'origin quat_xyzw', QUATERNION),
}
# How the loop that a joint closes is said in words, by its type; point: of all others.
CLOSURES = {'fixed': 'weld', 'revolute': 'axis', 'continuous': 'axis'}


def parsed_xml(urdf: str) -> ElementTree.Element:
    """Return the root of a ``urdf`` text, whatever encoding it says that it has."""
    encoded = urdf.encode('utf-8', 'replace')
    return ElementTree.fromstring(encoded, ElementTree.XMLParser(encoding='utf-8'))


def joint_types(urdf: str) -> dict[str, str]:
    """Return {joint: type} of a ``urdf`` text, {} of a text that is no XML."""
    if not urdf.lstrip().startswith('<'):
        return {}
    joints = parsed_xml(urdf).iterfind('joint')
    return {joint.get('name', ''): joint.get('type', '') for joint in joints}


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
    robot = _root(urdf)
    _check_rules(robot, RULES)
    _check_masses(robot)
    if has_quaternions(robot.get('version')):
        _check_quaternions(robot)
    _check_joints(robot)


def check_structure(urdf: str) -> ElementTree.Element:
    """
    Return the root of a URDF text whose mechanics can be read, also where no robot has them.

    Masses and moments may be below zero or absent.  RobotModelError where numbers are none or not
    finite, or where joints do not make a tree.
    """
    robot = _root(urdf)
    _check_rules(robot, LENIENT_RULES)
    if has_quaternions(robot.get('version')):
        _check_quaternions(robot)
    _check_joints(robot)
    return robot


def _root(urdf: str) -> ElementTree.Element:
    if '<robot' not in urdf:
        raise RobotModelError(
            'the robot description is not a URDF', expected='<robot ...>', found=repr(urdf[:40])
        )
    try:
        return parsed_xml(urdf)
    except ElementTree.ParseError as error:
        raise RobotModelError('the URDF cannot be read', expected='XML', found=error) from None


def _check_rules(robot: ElementTree.Element, rules: Mapping[str, Sequence[_Rule]]) -> None:
    for selector, rules_of_part in rules.items():
        for part in robot.iterfind(selector):
            for rule in rules_of_part:
                rule.check(part)


def _check_joints(robot: ElementTree.Element) -> None:
    links = [link.get('name', '') for link in robot.findall('link')]
    _check_tree(links, robot.findall('joint'))


def _named(part: ElementTree.Element) -> str:
    return f'{part.tag} {part.get("name")!r} of the URDF'


def numbers_in(text: str) -> list[float]:
    """Return the numbers in a ``text``, [nan] where one of its words is none."""
    try:
        return [float(word) for word in text.split()]
    except ValueError:
        return [math.nan]


def _check_masses(robot: ElementTree.Element) -> None:
    """Raise RobotModelError for an inertial without a mass, which urdfdom passes over."""
    for link in robot.iterfind('link'):
        for inertial in link.iterfind('inertial'):
            if not attribute(inertial, 'mass', 'value'):
                raise RobotModelError(
                    f'{_named(link)} has an inertial without a mass',
                    expected='<mass value="..."/> [kg]',
                    do='give it, or leave the inertial out',
                )


def _check_quaternions(robot: ElementTree.Element) -> None:
    for tag, rule in QUATERNION_RULES.items():
        for part in robot.iterfind(tag):
            if part.find(f'{rule.path}[@rpy][@quat_xyzw]') is not None:
                raise RobotModelError(
                    f'{_named(part)}: an origin is given by rpy and by quat_xyzw',
                    do='take one of them out',
                )
            rule.check(part)


def _check_tree(links: list[str], joints: list[ElementTree.Element]) -> None:
    """Raise RobotModelError where joints do not make one tree of the links."""
    parents: dict[str, str] = {}
    for joint in joints:
        parent, child = attribute(joint, 'parent', 'link'), attribute(joint, 'child', 'link')
        missing = [link for link in (parent, child) if link not in links]
        if missing:
            raise RobotModelError(
                f'{_named(joint)} names a link that is not there',
                found=repr(missing[0]),
                exists=links[:20],
            )
        if child in parents:
            raise RobotModelError(
                f'{_named(joint)} carries a link that another joint carries already',
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
