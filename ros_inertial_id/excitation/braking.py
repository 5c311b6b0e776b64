"""
Braking: how fast a course can be stopped, from any of its moments, within the robot's limits.

The clock of the course slows from 1 to 0 by a quintic in the braking time T, so the arm stays on
the path that was checked for collisions.  With the rate r and its slope r' of that clock

    v -> r v,   a -> r^2 a + r' v,   |r'| <= 1.875 / T

T is the shortest of BRAKES for which acceleration, torque and what the robot limits of their
changes stay within the limits.  A piece whose successor is late ends more gently: by at most EASY
times the accelerations that the course has itself.
"""

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from .limits import Limits
from .playback import Course, HORIZON
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError

BRAKES = (0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.75, 0.9, 1.1, 1.35, 1.6, 2.0)  # [s]
STARTS = 0.02  # [s] between the moments at which braking is tried
PHASES = np.linspace(0.05, 0.95, 13)  # of the braking time that are looked at
EASY = 1.1  # times the course's own largest acceleration, joint by joint
ROUNDING = 1e-6  # relative: a motion that uses a limit in full may still be braked at its ends


@dataclass(frozen=True)
class Stopping:
    """
    How a course stops: brake : [s] when asked to; distance : (n,) until then, at most [rad or m].

    alone, distance_alone : the same when nothing more arrives, as after the player was killed
    """

    brake: float
    distance: np.ndarray
    alone: float
    distance_alone: np.ndarray


def with_brake(course: Course, robot: RobotModel, limits: Limits,
               effort: float = 1.0) -> tuple[Course, Stopping]:
    """
    Return ``course`` with the shortest braking time that keeps the limits, and how it stops.

    robot : RobotModel, mounted as it is; limits : Limits, of which braking may use the margins
    effort : share of the effort limits that the nominal model may use
    Raises MotionError when even the longest of BRAKES exceeds one.
    """
    starts = np.arange(0.0, min(course.duration, course.approach
                                + course.motion.period / course.speed), STARTS)
    own = np.abs(course.at(starts)[2]).max(0)  # the motion itself is checked elsewhere
    allowed = np.maximum(_known(limits.acceleration) / (
        1.0 - limits.margins['acceleration']), own) * (1.0 + ROUNDING)
    torque = effort * np.where(robot.effort > 0, robot.effort, np.inf)
    worst, found = '', None
    for brake in BRAKES:
        q, v, a = (x.reshape(-1, len(robot)) for x in course.braking(starts, PHASES, brake))
        hardest = np.abs(a).max(0)
        worst = _exceeded(robot, hardest / allowed, 'acceleration')
        if not worst:
            tau = nominal_torques(robot, q, v, a)
            worst = _exceeded(robot, np.abs(tau).max(0) / torque, 'effort')
            a, tau = (x.reshape(len(starts), len(PHASES), -1).transpose(2, 0, 1)
                      for x in (a, tau))
            rates = limits.use_of_rates(a, tau, brake * (PHASES[1] - PHASES[0]))
            for kind, use in rates.items():
                worst = worst or _exceeded(robot, use, kind)
        if not worst:
            found = found or brake
            if (hardest <= EASY * own).all() or brake == BRAKES[-1]:
                slower = replace(course, brake=found, ease=brake)
                return slower, _stopping(slower, starts)
    raise MotionError('the course cannot be braked within the limits', found=worst,
                      expected=f'to rest in at most {BRAKES[-1]:g} s', do='play slower')


def _known(limit):
    return np.where(np.isfinite(limit) & (limit > 0), limit, np.inf)


def _exceeded(robot, use, kind):
    j = int(np.argmax(use))
    return f'{kind} of {robot.joint_names[j]} at {100.0 * use[j]:.0f} %' if use[j] > 1.0 else ''


def nominal_torques(robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return the torques (N, n) [N m] of the nominal model of ``robot``; q, v, a : (N, n)."""
    data = robot.pin_model.createData()
    return np.array([pin.rnea(robot.pin_model, data, robot.pin_q(x), y, z)
                     for x, y, z in zip(q, v, a)])


def _stopping(course, starts):
    begin, shares = course.at(starts)[0][:, None], np.linspace(0.0, 1.0, 11)
    way = np.abs(course.braking(starts, shares, course.brake)[0] - begin)
    ahead = np.linspace(0.0, HORIZON, 6)
    alone = np.abs(course.braking(starts + HORIZON, shares, course.ease)[0] - begin)
    run = np.abs(course.at((starts[:, None] + ahead).ravel())[0].reshape(
        len(starts), len(ahead), -1) - begin)
    return Stopping(course.brake, way.max((0, 1)), HORIZON + course.ease,
                    np.maximum(alone.max((0, 1)), run.max((0, 1))))
