"""FloatingRobot: a tree of joints on a base that moves, and the feet that touch the ground."""

from dataclasses import dataclass
import hashlib
from typing import Any

import numpy as np

from ...dynamics.body_motion import Frame, frame_of
from ...dynamics.robot_model import FloatingTree, robot_from_options, RobotModel
from ...errors import ConfigError

STANDING, CARRIED, FLYING = 'standing', 'carried', 'flying'
SOLE = 'sole'


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


def _foot(tree: RobotModel, line: str) -> Foot:
    """Return the Foot of a ``line`` of the option ``feet``."""
    words = line.split()
    if len(words) == 2:
        frame = frame_of(tree, words[0], 'correct feet:')
        if frame.body < 0:
            raise ConfigError('option feet', found=f'{words[0]}, which no joint moves')
        if words[1] == SOLE:
            return Foot(frame, None)
        try:
            radius = float(words[1])
        except ValueError:
            radius = -1.0
        if 0.0 <= radius < 1.0:
            return Foot(frame, radius)
    raise ConfigError(
        'option feet',
        found=repr(line),
        expected='"LINK RADIUS" of a foot that touches at a point [m], or "LINK sole"',
    )
