"""
design_sweep: a friction sweep about a posture from which every limit is kept.

Middle postures are tried until the whole sweep keeps position, velocity, acceleration, torque,
box and sphere, and no shapes come too near each other.
"""

from collections.abc import Callable
from dataclasses import dataclass
import time
from typing import Any

import numpy as np

from .assessment import assess_motion, Use
from .feasible import postures_allowed, random_postures
from .friction_sweep import KIND, LEG, sweep_about, SweepMotion
from .limits import Limits
from .problem import check_postures, DesignOptions, motion_problem
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError
from ..identification.judge.feedforward import FeedforwardError

RATE = 200.0  # [1/s] at which a sweep is looked at: nothing in it is fast
TRIES = 60  # middle postures
POSTURES = 2000  # drawn for them


@dataclass(frozen=True)
class SweepDesign:
    """
    A friction sweep that keeps its limits.

    seconds : it took; notices : what was not checked
    feedforward : error of the model of the options on this motion, None without one
    """

    robot: RobotModel
    options: DesignOptions
    motion: SweepMotion
    use: Use
    limits: Limits
    seconds: float
    notices: tuple[str, ...]
    feedforward: FeedforwardError | None = None

    def summary(self) -> dict[str, Any]:
        """Return the design in numbers, as plain Python values."""
        return {'kind': KIND, 'period': round(self.motion.period, 3),
                'seconds': round(self.seconds, 3),
                **({'feedforward_error': self.feedforward.plain()} if self.feedforward else {}),
                **self.use.plain(self.motion.joint_names, self.limits.margins,
                                 self.options.distance), 'notices': list(self.notices)}

    def words(self) -> tuple[str, ...]:
        """Return the design in words, line by line."""
        speeds = np.unique(np.abs(self.motion.speeds))
        return (f"friction sweep at {', '.join(f'{x:g}' for x in speeds)} rad/s, both ways, "
                f'{self.motion.period:.0f} s',
                *([self.feedforward.words()] if self.feedforward else []))


def design_sweep(robot: RobotModel, options: DesignOptions,
                 stop: Callable[[], bool] | None = None) -> SweepDesign:
    """
    Return the SweepDesign about the first posture that keeps every limit.

    stop : true ends the search
    Raises MotionError when a speed exceeds a limit or no posture is found in time.
    """
    began = time.monotonic()
    problem, _ = motion_problem(robot, options)
    check_postures(problem, options)
    motion = sweep_about(robot.joint_names, problem.limits.middle, options.sweep_speeds,
                         LEG, problem.limits.acceleration)
    refusal = ['no posture leaves room for the way of a joint']
    for middle in _middles(problem, options, motion.reach):
        if time.monotonic() - began > options.seconds or stop is not None and stop():
            break
        tried = SweepMotion(motion.joint_names, middle, motion.speeds, motion.leg, motion.ramp)
        times = np.arange(0.0, tried.period, 1.0 / RATE)
        use = assess_motion(problem, lambda t: [x.T for x in tried.at(t)], times).use
        refusal = use.broken(robot.joint_names)
        if not refusal:
            return SweepDesign(robot, options, tried, use, problem.limits,
                               time.monotonic() - began,
                               (*problem.limits.notices, *problem.shapes.notices))
    raise MotionError('no friction sweep that keeps all limits was found', found=refusal,
                      do='give another start:, or lower sweep_speeds:')


def _middles(problem, options, reach):
    """Return postures (k, n) about which there is room, the start alone where one is given."""
    limits = problem.limits
    if len(options.start):
        return np.array([options.start], dtype=float)
    low, high = limits.lower + reach, limits.upper - reach
    if (low > high).any():
        return np.zeros((0, len(low)))
    drawn = random_postures(problem, np.random.default_rng(options.seed), POSTURES)
    postures = np.clip(np.vstack([limits.middle, drawn]), low, high)
    return postures[postures_allowed(problem, postures)][:TRIES]
