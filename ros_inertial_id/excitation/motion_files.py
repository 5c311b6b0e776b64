"""Motions in files."""

from pathlib import Path

from .fourier import FourierMotion, motion_from_dict
from ..dynamics.robot_model import RobotModel
from ..errors import ConfigError, MotionError
from ..options import read_yaml


def read_motion(path: str | Path) -> FourierMotion:
    """Return the motion in a design's YAML file ``path``; MotionError if there is none."""
    content = _content(path)
    if isinstance(content, dict):
        content = content.get('motion', content)
    return motion_from_dict(content, str(path))


def check_kinematics(path: str | Path, robot: RobotModel) -> None:
    """Raise MotionError when the design in ``path`` is of other kinematics than ``robot``."""
    content = _content(path)
    if not isinstance(content, dict):
        return
    designed = content.get('kinematics_sha256')
    if designed and designed != robot.kinematics_sha256():
        raise MotionError(
            f'{path} was designed for other kinematics',
            expected=f'robot {content.get("robot")!r}, kinematics {designed[:12]}',
            found=f'robot_description {robot.name!r}, kinematics {robot.kinematics_sha256()[:12]}',
            do='design for the robot_description that is published',
        )


def _content(path):
    try:
        return read_yaml(str(path))
    except ConfigError as error:
        raise MotionError(error) from None
