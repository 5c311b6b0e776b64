"""
Rehearsal: the whole course in the computer before the robot moves.

Positions and speeds against their limits, torques of the nominal model at the chosen speed,
collisions of the robot with itself and with obstacles; on the way to the start too.
"""

from dataclasses import dataclass

import numpy as np

from .braking import Brakes
from .collision import CollisionShapes
from .feedforward import feedforward_error, FeedforwardError
from .limits import Limits
from .playback import check_course, Course, HORIZON
from ..dynamics.regressor import nominal_torques
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError
from ..identification.files import read_model_text
from ..identification.identified_model import IdentifiedModel

APPROACH, MOTION = 400, 2000  # samples of the way to the start, and of one period


@dataclass(frozen=True)
class Stopping:
    """
    How a course stops at most when nothing follows a piece, whatever the moment.

    seconds : [s] until it rests; distance : (n,) until then [rad or m]
    """

    seconds: float
    distance: np.ndarray


@dataclass(frozen=True)
class Rehearsal:
    """
    What a course would do.

    use : {position, velocity, acceleration, effort, and where they are limited jerk and
        effort_rate: largest share of a limit}, of the course itself
    notices : what was left out
    feedforward : error of a model on the course, None without one
    """

    use: dict[str, float]
    course: Course
    brakes: Brakes
    stopping: Stopping
    notices: tuple[str, ...]
    feedforward: FeedforwardError | None = None

    def words(self, mounting: str) -> str:
        """Return the course in words; ``mounting`` : for which torques were computed."""
        course, stopping = self.course, self.stopping
        shares = [f'{name} {100 * share:.0f} % of its limits' for name, share in self.use.items()]
        words = [
            f'{course.approach:.1f} s to the start, then {course.periods} times '
            f'{course.motion.period / course.speed:.1f} s',
            ', '.join(shares),
            f'stops within {stopping.seconds:.2f} s and {stopping.distance.max():.2f} rad or m',
            f'torques for mounting {mounting}',
            *self.notices,
        ]
        if self.feedforward is not None:
            words.append(self.feedforward.words())
        return '; '.join(words)


def rehearse(
    course: Course,
    robot: RobotModel,
    shapes: CollisionShapes,
    limits: Limits,
    effort: float = 1.0,
    model: str = '',
) -> Rehearsal:
    """
    Return the Rehearsal of a course, and of braking in every moment of it.

    limits : their margins are for designs, the course may use them up
    effort : share of the effort limits that the nominal model may use
    model : model file whose feedforward errors are said; '' : none
    Raises ConfigError for a file that is no model, MotionError when a limit is exceeded, braking
    would exceed one, or links or obstacles come too near.
    """
    check_course(course, robot)
    end = course.approach + course.motion.period / course.speed
    t = np.concatenate(
        [np.linspace(0.0, course.approach, APPROACH), np.linspace(course.approach, end, MOTION)]
    )
    q, v, a = course.at(t)
    touching = shapes.colliding(robot, q)
    if touching:
        raise MotionError(
            f'on this course {touching[0]} comes too near to {touching[1]}',
            do='move the robot nearer to the start by hand, or design another motion',
        )
    tau = nominal_torques(robot, q, v, a)
    shares = _shares(robot, limits, t, (q, v, a, tau))
    for kind, share in shares.items():
        j = int(share.argmax())
        if share[j] > 1.0 + 1e-6:
            raise MotionError(
                f'the course exceeds the {kind} limit of {robot.joint_names[j]}',
                expected='at most 100 %',
                found=f'{100.0 * share[j]:.0f} %',
                do='play slower, or design for these limits',
            )
    use = {kind: float(share.max()) for kind, share in shares.items()}
    has_effort_limit = robot.effort > 0
    if has_effort_limit.any():
        use['effort'] = _use_of_effort(robot, t, tau, effort)
    unlimited = [name for name, given in zip(robot.joint_names, has_effort_limit) if not given]
    notices = [*limits.notices, *shapes.notices]
    if unlimited:
        notices.insert(0, f'no effort limit in the URDF for {", ".join(unlimited)}')
    brakes = course.brakes(robot, limits, effort)
    feedforward = None
    if model:
        identified = IdentifiedModel.from_yaml(read_model_text(model), model)
        feedforward = feedforward_error(identified, robot.joint_names, t, (q, v, a))
    stopping = stopping_of(course, brakes)
    return Rehearsal(use, course, brakes, stopping, tuple(notices), feedforward)


def stopping_of(course: Course, brakes: Brakes) -> Stopping:
    """Return the Stopping of a course with its Brakes: the worst of all moments."""
    begins = np.concatenate([[stop[0, 0]] * len(stop) for stop in brakes.stops])
    ways = np.concatenate([stop[:, 0] for stop in brakes.stops])
    rests = course.at(ways)[0]
    distance = np.abs(rests - course.at(begins - HORIZON)[0]).max(0)
    return Stopping(HORIZON + brakes.longest, distance)


def _shares(robot, limits, t, motion):
    """Return the largest share {kind: (n,)} of all limits but those of effort."""
    q, v, a, tau = (x.T for x in motion)
    half = 0.5 * (robot.upper - robot.lower)
    speed = np.where(robot.velocity > 0, robot.velocity, np.inf)[:, None]
    slow = np.minimum(speed, limits.slowing.at(q, v) / limits.slowing.share)
    away = np.abs(q.T - 0.5 * (robot.upper + robot.lower)).max(0)
    shares = {
        'position': np.where(half > 0, away, 0.0) / np.where(half > 0, half, 1.0),
        'velocity': (np.abs(v) / slow).max(1),
    }
    if not limits.guessed:
        most = limits.acceleration / (1.0 - limits.margins['acceleration'])
        shares['acceleration'] = np.abs(a).max(1) / most
    for part in (slice(0, APPROACH), slice(APPROACH, None)):
        rates = limits.use_of_rates(a[:, part], tau[:, part], t[part][1] - t[part][0])
        shares.update(
            {kind: np.fmax(share, shares.get(kind, 0.0)) for kind, share in rates.items()}
        )
    return shares


def _use_of_effort(robot, t, tau, allowed):
    """Return the largest share of an effort limit; MotionError where it is not allowed."""
    share = np.abs(tau) / np.where(robot.effort > 0, robot.effort, np.inf)
    j = int(share.max(0).argmax())
    worst = int(share[:, j].argmax())
    if share[worst, j] > allowed:
        raise MotionError(
            f'{robot.joint_names[j]} would need {abs(tau[worst, j]):.4g} N m at {t[worst]:.2f} s',
            expected=f'at most {allowed:g} of its effort limit {robot.effort[j]:g}',
            do='play slower, or design with effort: below that',
        )
    return float(share[worst, j])
