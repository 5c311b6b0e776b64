"""
Playback: a motion cut into short pieces, each of which ends at rest.

A Course leads slowly from where the robot is to the start of the motion and then through its
periods.  The controller never gets more than a moment of it: every piece goes on for HORIZON and
then brakes to rest along the course, so a player that is killed leaves the robot at rest, on the
path that was checked.  Pieces are cut in path time, see path_clock.py: late ones stretch the
motion.

Every piece begins with a few points of the PAST.  A joint_trajectory_controller starts a new
trajectory at the measured state and interpolates from there to the first point ahead; whatever the
arm lags behind would become a jump of the command with every piece.  With points in the past it
enters the trajectory at its own clock, and all pieces together are one.

For the same reason a course begins where the controller HOLDS the arm, which gravity and friction
keep apart from where the arm is, and LEAD before it moves.
"""

from dataclasses import dataclass

import numpy as np

from .braking import Brakes
from .fourier import FourierMotion
from .limits import Limits
from .path_clock import LEAST_GAP, PathClock, POINT_STEP
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError

HORIZON = 0.2  # [s] of motion in a piece
MARGIN = 0.06  # [s] from when a piece is cut until the controller surely follows it
PAST = 10  # points of a piece before its time: 0.2 s, in which a controller's clock may be behind
LEAD = 0.2  # [s] from the first piece to the start: late, it still meets a course at rest
FASTEST_MEASURED = 1.2  # of the speed limit: more is no noise of a measured velocity
LIMIT_SLACK = 0.01  # [rad or m] beyond the position limits
CHECK_STEP = 0.005  # [s] between two looks at a course
TURN = 2.0 * np.pi  # [rad]
_PEAK = 1.875  # peak speed of a quintic over its mean speed


@dataclass(frozen=True)
class Course:
    """
    Where the robot is to be at every time.

    start : (n,) where it begins; periods : how often the motion is played
    speed : share of the designed speed; approach : [s] to the start of the motion
    """

    motion: FourierMotion
    start: np.ndarray
    periods: int
    speed: float
    approach: float

    @property
    def duration(self) -> float:
        """Return the length of the course [s]."""
        return self.approach + self.periods * self.motion.period / self.speed

    def at(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (q, v, a), each (N, n), at times (N,) [s] since the start of the course."""
        times = np.clip(np.asarray(times, dtype=float), 0.0, self.duration)
        x = np.clip(times / self.approach, 0.0, 1.0)[:, None]
        way = self.motion.start - self.start
        q = self.start + way * x**3 * (10 - 15 * x + 6 * x**2)
        v = way / self.approach * 30 * x**2 * (1 - x) ** 2
        a = way / self.approach**2 * 60 * x * (1 - x) * (1 - 2 * x)
        playing = times > self.approach
        if playing.any():
            mq, mv, ma = self.motion.at((times[playing] - self.approach) * self.speed)
            q[playing], v[playing], a[playing] = mq, self.speed * mv, self.speed**2 * ma
        return q, v, a

    def along(self, clock: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (q, v, a), each (N, n), where a path ``clock`` (3, N) shows (s, s', s'')."""
        s, rate, slope = clock
        q, v, a = self.at(s)
        return q, rate[:, None] * v, rate[:, None] ** 2 * a + slope[:, None] * v

    def piece(self, clock: PathClock, now: float, past: int = PAST) -> tuple[np.ndarray, ...]:
        """
        Return (times (N,), q, v, a (N, n)) about ``now`` [s]: a past, HORIZON, then to rest.

        clock : PathClock that says how far along the path
        past : points before ``now``; without them a controller goes to the first point from where
            it is, or where it measures the arm
        times are seconds of the robot's clock, the first of them may be negative: before its
        start the course rests there.  The last point is at rest.
        """
        rest = max(clock.rests_at(), now + POINT_STEP)
        if past:
            begin, first = [], POINT_STEP * (np.ceil(now / POINT_STEP - LEAST_GAP) - past)
        else:
            begin, first = [now], now + LEAST_GAP * POINT_STEP
        points = clock.points(first, rest - LEAST_GAP * POINT_STEP)
        times = np.concatenate([begin, points, [rest]])
        shown = clock.state(times)
        shown[1:, -1] = 0.0  # exactly at rest
        return times, *self.along(shown)

    def brakes(self, robot: RobotModel, limits: Limits, effort: float = 1.0) -> Brakes:
        """
        Return the Brakes of the course; MotionError where it cannot be stopped within limits.

        effort : share of the effort limits that the nominal model may use
        """
        once = self.approach + self.motion.period / self.speed
        return Brakes(self.at, once, self.approach, robot, limits, effort)

    def period_starts(self) -> np.ndarray:
        """Return the times [s] of the course at which a period of the motion begins or ends."""
        return self.approach + np.arange(self.periods + 1) * self.motion.period / self.speed


def plan_course(
    motion: FourierMotion,
    start: np.ndarray,
    robot: RobotModel,
    *,
    periods: int = 1,
    speed: float = 1.0,
    approach_speed: float = 0.2,
) -> Course:
    """
    Return the Course of a motion from ``start`` (n,), at a share ``speed`` of its own.

    Every joint approaches at a share ``approach_speed`` of its speed limit.
    Raises MotionError when joints differ or start or course leave the limits.
    """
    if tuple(motion.joint_names) != tuple(robot.joint_names):
        raise MotionError(
            'the motion is of another robot', expected=robot.joint_names, found=motion.joint_names
        )
    start = np.asarray(start, dtype=float)
    _check_start(start, robot)
    limit = np.where(np.isfinite(robot.velocity) & (robot.velocity > 0), robot.velocity, 1.0)
    needed = _PEAK * np.abs(motion.start - start) / (approach_speed * limit)
    course = Course(motion, start, periods, speed, max(1.0, float(needed.max())))
    check_course(course, robot)
    return course


def check_course(course: Course, robot: RobotModel) -> None:
    """Raise MotionError where ``course`` leaves the limits of position or speed of ``robot``."""
    once = Course(course.motion, course.start, 1, course.speed, course.approach)
    q, v, _ = once.at(np.arange(0.0, once.duration, CHECK_STEP))
    lowest, highest, fastest = q.min(0), q.max(0), np.abs(v).max(0)
    for j, name in enumerate(robot.joint_names):
        low, high, speed = robot.lower[j], robot.upper[j], robot.velocity[j]
        if lowest[j] < low - 1e-9 or highest[j] > high + 1e-9:
            raise MotionError(
                f'the course leaves the position limits of {name}',
                expected=f'{low:g} to {high:g}',
                found=f'{lowest[j]:.4g} to {highest[j]:.4g}',
            )
        if fastest[j] > speed * (1 + 1e-9):
            raise MotionError(
                f'the course exceeds the speed limit of {name}',
                expected=f'at most {speed:g}',
                found=f'{fastest[j]:.4g}',
            )


def _check_start(start, robot):
    for name, q, low, high in zip(robot.joint_names, start, robot.lower, robot.upper):
        if q < low - 1e-3 or q > high + 1e-3:
            raise MotionError(
                f'{name} is outside its position limits',
                found=f'{q:.4g}',
                expected=f'{low:g} to {high:g}',
                do='move it back by hand first',
            )


def deviation(robot: RobotModel, q: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """
    Return the deviation of joints at q from the expected positions, each (..., n) [rad or m].

    Joints without limits that turn are reported within one turn: whole turns are none of it.
    """
    away = np.asarray(q - expected)
    free = np.isnan(robot.lower) & np.isnan(robot.upper) & ~np.asarray(robot.prismatic)
    return np.abs(away - np.where(free, TURN * np.round(away / TURN), 0.0))


@dataclass(frozen=True)
class Guard:
    """
    What makes a player stop.

    tracking [rad or m], stale [s], effort : share of the URDF's effort limit
    """

    tracking: float
    stale: float
    effort: float

    def objection(
        self,
        robot: RobotModel,
        expected: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
    ) -> str:
        """
        Return the reason for which the robot must stop, '' when all is well.

        expected : (N, n) of the course at the samples' own times; q, v, tau : (N, n) measured
        """
        away = deviation(robot, q, expected)
        with np.errstate(invalid='ignore'):  # a robot without efforts says NaN
            reasons = (
                (~np.isfinite(q), '{name}: position is not finite'),
                (
                    ~(away <= self.tracking),
                    '{name} is {away:.3f} from where it should be (allowed {tracking:g})',
                ),
                (
                    (q < robot.lower - LIMIT_SLACK) | (q > robot.upper + LIMIT_SLACK),
                    '{name} at {q:.4g} is beyond its position limits',
                ),
                (
                    np.abs(v) > FASTEST_MEASURED * robot.velocity,
                    '{name} at {v:.4g} per second is beyond its speed limit',
                ),
                (
                    np.abs(tau) > self.effort * robot.effort,
                    '{name}: effort {tau:.4g} is above {share:g} of its limit {limit:g}',
                ),
            )
        wrong = np.array([places for places, _ in reasons])
        if not wrong.any():
            return ''
        k = int(wrong.any((0, 2)).argmax())
        j = int(wrong[:, k].any(0).argmax())
        words = reasons[int(wrong[:, k, j].argmax())][1]
        return words.format(
            name=robot.joint_names[j],
            away=away[k, j],
            q=q[k, j],
            v=v[k, j],
            tau=tau[k, j],
            tracking=self.tracking,
            share=self.effort,
            limit=robot.effort[j],
        )
