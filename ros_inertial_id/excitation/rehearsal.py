"""
Rehearsal: the whole course in the computer before the robot moves.

Positions and speeds against their limits, torques of the nominal model at the chosen speed,
collisions of the robot with itself and with obstacles; on the way to the start too.
"""

from dataclasses import dataclass

import numpy as np

from .braking import nominal_torques, Stopping, with_brake
from .collision import CollisionShapes
from .limits import Limits
from .playback import check_course, Course
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError

APPROACH, MOTION = 400, 2000  # samples of the way to the start, and of one period


@dataclass(frozen=True)
class Rehearsal:
    """
    What a course would do.

    use : {position, velocity, acceleration, effort, and where they are limited jerk and
        effort_rate: largest share of a limit}, of the course itself
    course : with the braking time that the limits ask for; stopping : how it stops
    notices : what was left out
    """

    use: dict[str, float]
    course: Course
    stopping: Stopping
    notices: tuple[str, ...]

    def words(self, mounting: str) -> str:
        """Return what would happen, in words; ``mounting`` : for which torques were computed."""
        course, stopping = self.course, self.stopping
        return '; '.join((
            f'{course.approach:.1f} s to the start, then {course.periods} times '
            f'{course.motion.period / course.speed:.1f} s',
            ', '.join(f'{name} {100 * share:.0f} % of its limits'
                      for name, share in self.use.items()),
            f'stops within {stopping.brake:g} s and {stopping.distance.max():.2f} rad or m, '
            f'{stopping.alone:.2f} s and {stopping.distance_alone.max():.2f} if the player dies',
            f'torques for mounting {mounting}', *self.notices))


def rehearse(course: Course, robot: RobotModel, shapes: CollisionShapes, limits: Limits,
             effort: float = 1.0) -> Rehearsal:
    """
    Return the Rehearsal of a Course ``course``, and of braking in every moment of it.

    robot : RobotModel, mounted as the robot is; shapes : its CollisionShapes
    limits : its Limits; their margins are for designs, the course may use them up
    effort : share of the effort limits that the nominal model may use
    Raises MotionError when a limit is exceeded, braking would exceed one, or links or obstacles
    come too near.
    """
    use = check_course(course, robot)
    whole = course.approach + course.motion.period / course.speed
    t = np.concatenate([np.linspace(0.0, course.approach, APPROACH),
                        np.linspace(course.approach, whole, MOTION)])
    q, v, a = course.at(t)
    touching = shapes.colliding(robot, q)
    if touching:
        raise MotionError(f'on this course {touching[0]} comes too near to {touching[1]}',
                          do='move the robot nearer to the start by hand, or design another '
                             'motion')
    use = _with_kinematics(dict(use), robot, limits, (q, v, a))
    tau = nominal_torques(robot, q, v, a)
    use = _with_rates(use, robot, limits, (q, v, a, tau), t)
    use, unknown = _with_effort(use, robot, t, tau, effort)
    notices = [f"no effort limit in the URDF for {', '.join(unknown)}"] if unknown else []
    braked, stopping = with_brake(course, robot, limits, effort)
    return Rehearsal(use, braked, stopping, (*notices, *limits.notices, *shapes.notices))


def _with_kinematics(use, robot, limits, motion):
    """Return ``use`` with acceleration and with velocities that depend on the position."""
    q, v, a = (x.T for x in motion)
    slow = limits.slowing.at(q, v) / limits.slowing.share
    shares = {'velocity': np.abs(v) / slow}
    acceleration = limits.acceleration / (1.0 - limits.margins['acceleration'])
    if not limits.guessed:
        shares['acceleration'] = np.abs(a) / acceleration[:, None]
    for kind, share in shares.items():
        _refuse_above(kind, share.max(1), robot)
        use[kind] = max(use.get(kind, 0.0), float(share.max()))
    return use


def _with_rates(use, robot, limits, motion, t):
    """Return ``use`` with jerk and effort rate, of the way to the start and of the motion."""
    a, tau = motion[2], motion[3]
    for part in (slice(0, APPROACH), slice(APPROACH, None)):
        rates = limits.use_of_rates(a[part].T, tau[part].T[:, None], t[part][1] - t[part][0])
        for kind, share in rates.items():
            _refuse_above(kind, share, robot)
            use[kind] = max(use.get(kind, 0.0), float(share.max()))
    return use


def _refuse_above(kind, share, robot):
    """Raise MotionError when the ``share`` (n,) of a limit is above 1 for a joint."""
    j = int(share.argmax())
    if share[j] > 1.0 + 1e-6:
        raise MotionError(f'the course exceeds the {kind} limit of {robot.joint_names[j]}',
                          expected='at most 100 %', found=f'{100.0 * share[j]:.0f} %',
                          do='play slower, or design for these limits')


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
