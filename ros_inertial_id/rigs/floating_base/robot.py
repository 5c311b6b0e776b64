"""FloatingRobot: a tree of joints on a base that moves, and the feet that touch the ground."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
import hashlib
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ...dynamics.body_motion import Frame, frame_of
from ...dynamics.description import attribute, numbers_in, parsed_xml
from ...dynamics.robot_model import FloatingTree, robot_from_options, RobotModel
from ...errors import ConfigError

STANDING, CARRIED, FLYING = 'standing', 'carried', 'flying'
SOLE = 'sole'
NUMBER = r'[-+]?\d*\.?\d+(?:e[-+]?\d+)?'
FOOT = re.compile(
    rf'(?P<link>\S+)\s+(?P<touch>{SOLE}|0(?:\.\d+)?|\.\d+)(?P<place>(?:\s+{NUMBER}){{3}})?', re.I
)
BASES = 'floating', 'planar'  # types of the joint by which a base moves


@dataclass(frozen=True)
class Foot:
    """What touches the ground: a ball of a ``radius`` [m] about a Frame, or its face (None)."""

    frame: Frame
    radius: float | None

    @property
    def name(self) -> str:
        """Return the name of its link."""
        return self.frame.name

    @property
    def components(self) -> int:
        """Return of how many numbers the wrench at it is: of a point three, of a face six."""
        if self.radius is None:
            return 6
        return 3


@dataclass(frozen=True)
class FloatingRobot(FloatingTree):
    """
    What the spine calls the robot.

    tree : RobotModel of the joints, on the base; feet : that may stand, none where it is carried
    carried : whether what holds the base is unknown, so that only rows of joints are left
    base_inertia : (10,) standard parameters of the base in the frame of the root link
    """

    base_inertia: np.ndarray
    feet: tuple[Foot, ...]
    carried: bool

    def __len__(self) -> int:
        return len(self.tree)

    @property
    def name(self) -> str:
        """Return the name in the description."""
        return self.tree.name

    @property
    def urdf(self) -> str:
        """Return the text of the description."""
        return self.tree.urdf

    @property
    def base_link(self) -> str:
        """Return the name of the root link, in whose frame the base moves."""
        return self.tree.base_link

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the names of the joints."""
        return self.tree.joint_names

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the names of the joints, whose motion can be given."""
        return self.tree.joint_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """Return the names of the bodies, the base first, where it has rows."""
        if self.carried:
            return self.tree.link_names
        return (self.base_link, *self.tree.link_names)

    @property
    def inertias(self) -> np.ndarray:
        """Return the nominal standard parameters (bodies, 10)."""
        if self.carried:
            return self.tree.inertias
        return np.vstack([self.base_inertia, self.tree.inertias])

    @property
    def doubts(self) -> tuple[str, ...]:
        """Return links whose described inertias no body has, in words."""
        return self.tree.doubts

    @property
    def gravity_base(self) -> np.ndarray:
        """Return gravity (3,) in the frame of a base that stands upright [m/s^2]."""
        return self.tree.gravity_base

    @property
    def pin_model(self) -> Any:
        """Return the pinocchio model of the joints on a base that is held."""
        return self.tree.pin_model

    @property
    def weight(self) -> float:
        """Return the weight of all bodies as described [N]."""
        mass = self.base_inertia[0] + self.tree.inertias[:, 0].sum()
        return float(mass * np.linalg.norm(self.gravity_base))

    def kinematics_sha256(self) -> str:
        """Return a hash of axes, placements, feet and what carries the base."""
        parts = (self.tree.kinematics_sha256(), self.feet, self.carried)
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def floating_robot(urdf: str, options: Any, gravity_base: np.ndarray) -> FloatingRobot:
    """
    Return the FloatingRobot of a URDF text.

    options : of the method; gravity_base : (3,) in the frame of an upright base [m/s^2]
    ConfigError where feet and ``base`` contradict each other.
    """
    urdf = base_that_moves(urdf, options.locked_joints)
    tree = robot_from_options(urdf, options, gravity_base)
    feet = tuple(_foot(tree, line) for line in options.feet)
    if options.base == STANDING and not feet:
        raise ConfigError(
            'option feet',
            found='none of a robot that stands',
            expected='"LINK RADIUS" of each foot, or "LINK sole"',
            do='name them; base: carried where a vehicle, a rail or a rope holds the base',
        )
    if options.base != STANDING and feet:
        raise ConfigError(
            'option feet', found=f'feet of a robot whose base is {options.base}', expected='none'
        )
    base_inertia = np.array(tree.pin_model.inertias[0].toDynamicParameters())
    return FloatingRobot(tree, base_inertia, feet, options.base == CARRIED)


def base_that_moves(urdf: str, locked: Sequence[str]) -> str:
    """
    Return a URDF text from the link on that a joint of BASES carries, itself where there is none.

    locked : joints that are held
    """
    robot = parsed_xml(urdf)
    joints = robot.findall('joint')
    carry = [j for j in joints if j.get('type') in BASES and j.get('name') not in locked]
    if len(carry) != 1:
        return urdf
    links = {_end(carry[0], 'child')}
    size = 0
    while size < len(links):
        size = len(links)
        links.update(_end(joint, 'child') for joint in joints if _end(joint, 'parent') in links)
    for joint in joints:
        if _end(joint, 'parent') not in links:
            robot.remove(joint)
    for link in robot.findall('link'):
        if link.get('name') not in links:
            robot.remove(link)
    return ElementTree.tostring(robot, encoding='unicode')


def _end(joint: ElementTree.Element, end: str) -> str:
    """Return the name of the link at the ``end`` (parent, child) of a ``joint``."""
    return attribute(joint, end, 'link')


def _foot(tree: RobotModel, line: str) -> Foot:
    """Return the Foot of a ``line`` of the option ``feet``."""
    match = FOOT.fullmatch(line.strip())
    if match is None:
        raise ConfigError(
            'option feet',
            found=repr(line),
            expected='"LINK RADIUS" of a foot that touches at a point [m], or "LINK sole", and '
            'X Y Z [m] in the frame of the link where it is not there',
        )
    frame = frame_of(tree, match['link'], 'correct feet:')
    if frame.body < 0:
        raise ConfigError('option feet', found=f'{frame.name}, which no joint moves')
    place = numbers_in(match['place'] or '')
    if place:
        frame = replace(frame, position=frame.position + frame.rotation @ place)
    if match['touch'] == SOLE:
        return Foot(frame, None)
    return Foot(frame, float(match['touch']))
