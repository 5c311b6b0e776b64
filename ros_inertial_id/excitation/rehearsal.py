"""
Rehearsal: the whole course in the computer before the robot moves.

Positions and speeds against their limits, torques of the nominal model at the chosen speed,
collisions of the robot with itself and with obstacles; on the way to the start too.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
import yaml

from .collision import CollisionShapes
from .playback import check_course, Course
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError

APPROACH, MOTION = 400, 2000  # samples of the way to the start, and of one period


@dataclass(frozen=True)
class Rehearsal:
    """use : {position, velocity, effort: largest share of a limit}; notices : what was left out"""

    use: dict[str, float]
    notices: tuple[str, ...]


def rehearse(course: Course, robot: RobotModel, shapes: CollisionShapes,
             effort: float = 1.0) -> Rehearsal:
    """
    Return the Rehearsal of a Course ``course``.

    robot : RobotModel, mounted as the robot is; shapes : its CollisionShapes
    effort : share of the effort limits that the nominal model may use
    Raises MotionError when a limit is exceeded or links or obstacles touch.
    """
    use = check_course(course, robot)
    whole = course.approach + course.motion.period / course.speed
    t = np.concatenate([np.linspace(0.0, course.approach, APPROACH),
                        np.linspace(course.approach, whole, MOTION)])
    q, v, a = course.at(t)
    touching = shapes.colliding(robot, q)
    if touching:
        raise MotionError(f'on this course {touching[0]} touches {touching[1]}',
                          do='move the robot nearer to the start by hand, or design another '
                             'motion')
    use, unknown = _with_effort(dict(use), robot, t, _torques(robot, q, v, a), effort)
    notices = [f"no effort limit in the URDF for {', '.join(unknown)}"] if unknown else []
    return Rehearsal(use, (*notices, *shapes.notices))


def _torques(robot, q, v, a):
    """Return the torques (N, n) [N m] of the nominal model."""
    data = robot.pin_model.createData()
    return np.array([pin.rnea(robot.pin_model, data, robot.pin_q(x), y, z)
                     for x, y, z in zip(q, v, a)])


def _with_effort(use, robot, t, tau, allowed):
    """Return ``use`` with the share of the effort limits, and the joints that have none."""
    unknown = []
    for j, name in enumerate(robot.joint_names):
        if not robot.effort[j] > 0:
            unknown.append(name)
            continue
        worst = int(np.abs(tau[:, j]).argmax())
        share = float(abs(tau[worst, j]) / robot.effort[j])
        if share > allowed:
            raise MotionError(
                f'{name} would need {abs(tau[worst, j]):.4g} N m at {t[worst]:.2f} s',
                expected=f'at most {allowed:g} of its effort limit {robot.effort[j]:g}',
                do='play slower, or design with effort: below that')
        use['effort'] = max(use.get('effort', 0.0), share)
    return use, unknown


def check_kinematics(path: str | Path, robot: RobotModel) -> None:
    """Raise MotionError when the design in ``path`` is of other kinematics than ``robot``."""
    try:
        with open(path, encoding='utf-8') as file:
            content = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise MotionError(f'{path} cannot be read', found=str(error).split('\n')[0]) from None
    designed = content.get('kinematics_sha256') if isinstance(content, dict) else None
    if designed and designed != robot.kinematics_sha256():
        raise MotionError(
            f'{path} was designed for other kinematics',
            expected=f"robot {content.get('robot')!r}, kinematics {designed[:12]}",
            found=f'robot_description {robot.name!r}, kinematics '
                  f'{robot.kinematics_sha256()[:12]}',
            do='design for the robot_description that is published')
