"""
What a motion must keep: limits from options, URDF and maker, and how close a motion comes.

A margin is taken off position, velocity and acceleration: a controller overshoots, a filter
delays, and a brake needs room.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .maker_limits import maker_limits
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError

RISE = 0.5  # [s] to full speed where no acceleration limit is known: gentler than arms are built
NEAR = 1e-9  # keeps a square root from zero


@dataclass(frozen=True)
class Slowing:
    """
    Velocity limits that fall towards the ends: |v| <= share (-offset + sqrt(gain distance)).

    offset [rad/s], gain [rad/s^2] : (n,), gain inf where there is none
    low_end, high_end : (n,) [rad]; share : of the maker's limit that is used
    """

    offset: np.ndarray
    gain: np.ndarray
    low_end: np.ndarray
    high_end: np.ndarray
    share: float = 1.0

    def beyond(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return how far velocities exceed the limit (n, N) [rad/s], and its slopes by q and v.

        q, v : (n, N) [rad, rad/s]; below 0 where the limit is kept
        """
        known = np.isfinite(self.gain)[:, None]
        gain = np.where(known, self.gain[:, None], 0.0)
        away = np.where(v > 0, self.high_end[:, None] - q, q - self.low_end[:, None])
        root = np.sqrt(np.maximum(gain * np.where(known, away, 0.0), NEAR))
        room = root - self.offset[:, None]
        sign, slope = np.where(v > 0, 1.0, -1.0), np.where(
            room > 0, 0.5 * self.share * gain / root, 0.0)
        over = np.where(known, np.abs(v) - self.share * np.maximum(room, 0.0), -np.inf)
        return over, sign * slope, np.where(known, sign, 0.0)

    def at(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the limits (n, N) [rad/s] at q, v (n, N), inf where there is none."""
        return np.maximum(np.abs(v) - self.beyond(q, v)[0], 1e-6)


@dataclass(frozen=True)
class Limits:
    """
    What the motion must keep, for n joints, margins taken off.

    lower, upper [rad or m], velocity, acceleration, effort : (n,); the last may be inf
    box : (2, 3) lowest and highest position of the end effector [m], may be infinite
    sphere : the least distance of the end effector from the base [m], 0 for none
    slowing : velocity limits that depend on the position
    margins : {kind: share of the limit that was taken off}; notices : about the limits, in words
    guessed : whether the acceleration limits are ours, as none are known
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray
    box: np.ndarray
    sphere: float
    slowing: Slowing
    margins: dict[str, float]
    notices: tuple[str, ...]
    guessed: bool = False

    @property
    def middle(self) -> np.ndarray:
        """Return the middle (n,) of the position ranges."""
        return 0.5 * (self.lower + self.upper)

    @property
    def half(self) -> np.ndarray:
        """Return half the position ranges (n,)."""
        return 0.5 * (self.upper - self.lower)

    @property
    def bounds_tool(self) -> bool:
        """Return whether the end effector is bounded at all."""
        return self.sphere > 0.0 or bool(np.isfinite(self.box).any())

    def use_of_joints(self, q: np.ndarray, v: np.ndarray, a: np.ndarray,
                      tau: np.ndarray) -> dict[str, np.ndarray]:
        """
        Return the largest use of each limit, {kind: (n,)}, 1 at it.

        q, v, a, tau : (n, N) [rad or m and derivatives, N m or N]
        """
        velocity = np.minimum(self.velocity[:, None], self.slowing.at(q, v))
        return {'position': np.abs(q - self.middle[:, None]).max(1) / self.half,
                'velocity': (np.abs(v) / velocity).max(1),
                'acceleration': np.abs(a).max(1) / self.acceleration,
                'effort': np.abs(tau).max(1) / self.effort}

    def tool_outside(self, tool: np.ndarray) -> np.ndarray:
        """Return (N,) how far the end effector ``tool`` (3, N) is outside box and sphere [m]."""
        low, high = self.box[:, :, None]
        outside = np.maximum(tool - high, low - tool).max(0)
        distance = np.sqrt((tool ** 2).sum(0))
        return np.maximum(outside, self.sphere - distance) if self.sphere else outside


def find_limits(robot: RobotModel, options: Any) -> Limits:
    """
    Return the Limits of a RobotModel ``robot``, options (DesignOptions) going before the URDF.

    What the maker publishes tightens both, see maker_limits.
    Raises MotionError that names the joints and the option when one is missing or impossible.
    """
    limits = kinematic_limits(robot, options)
    _need(robot, np.isfinite(limits.lower) & np.isfinite(limits.upper), 'has no position limits',
          'give lower: and upper: [rad or m], one value for all joints or one each')
    _need(robot, limits.lower < limits.upper, 'has an empty position range',
          'give lower: and upper:, or lock the joint with locked_joints:')
    for name, values, unit in (('velocity', limits.velocity, 'rad/s or m/s'),
                               ('effort', limits.effort, 'N m or N'),
                               ('acceleration', limits.acceleration, 'rad/s^2 or m/s^2')):
        _need(robot, values > 0, f'has no {name} limit above zero',
              f'give {name}: [{unit}], one value for all joints or one each')
    _need_start(robot, options.start, limits.lower, limits.upper)
    return limits


def kinematic_limits(robot: RobotModel, options: Any) -> Limits:
    """
    Return the Limits as find_limits does, without refusing what is missing.

    robot : RobotModel; options : DesignOptions
    """
    count, notices = len(robot), []
    given = {name: _per_joint(getattr(options, name), count, name)
             for name in ('lower', 'upper', 'velocity', 'acceleration', 'effort')}
    lower, upper = _choose(given['lower'], robot.lower), _choose(given['upper'], robot.upper)
    velocity = _choose(given['velocity'], robot.velocity)
    acceleration = given['acceleration']
    known = maker_limits(robot.joint_names)
    none = np.full(count, np.inf)
    slowing = Slowing(np.zeros(count), none, -none, none)
    if known:
        limits, k = known
        notices.append(f'limits of {limits.name}: {limits.source}')
        lower, upper = np.maximum(lower, limits.lower[k]), np.minimum(upper, limits.upper[k])
        velocity = np.minimum(velocity, limits.velocity[k])
        acceleration = np.minimum(none if acceleration is None else acceleration,
                                  limits.acceleration[k])
        slowing = Slowing(limits.offset[k], limits.gain[k], limits.low_end[k],
                          limits.high_end[k], 1.0 - options.velocity_margin)
    elif acceleration is None:
        acceleration = velocity / RISE
        notices.append('no acceleration limits are known: those that reach full speed in '
                       f'{RISE:g} s are taken; acceleration: gives others')
    inset = 0.5 * options.position_margin * (upper - lower)
    margins = {'position': options.position_margin, 'velocity': options.velocity_margin,
               'acceleration': options.acceleration_margin}
    return Limits(lower + inset, upper - inset, (1.0 - options.velocity_margin) * velocity,
                  (1.0 - options.acceleration_margin) * acceleration,
                  _choose(given['effort'], robot.effort), _box(options.box),
                  float(options.sphere), slowing, margins, tuple(notices),
                  guessed=known is None and given['acceleration'] is None)


def _per_joint(values, count, name):
    values = tuple(np.atleast_1d(np.asarray(values, dtype=float)))
    if len(values) not in (0, 1, count):
        raise MotionError(f'option {name}', expected=f'nothing, 1 or {count} values',
                          found=f'{len(values)} values')
    return np.broadcast_to(values, count).copy() if values else None


def _choose(given, urdf):
    return np.array(urdf, dtype=float) if given is None else given


def _need(robot, good, what, do):
    bad = [name for name, ok in zip(robot.joint_names, good) if not ok]
    if bad:
        raise MotionError(f"{'joint' if len(bad) == 1 else 'each of these joints'} {what}",
                          found=bad, do=do)


def _need_start(robot, start, lower, upper):
    if not len(start):
        return
    if len(start) != len(robot):
        raise MotionError('option start', expected=f'{len(robot)} positions',
                          found=f'{len(start)}')
    start = np.asarray(start, dtype=float)
    bad = [f'{name} at {x:.4g} outside {low:.4g} to {high:.4g}' for name, x, low, high in
           zip(robot.joint_names, start, lower, upper) if not low <= x <= high]
    if bad:
        raise MotionError('the start is outside the position limits', found=bad,
                          do='give a start: within them')


def _box(values):
    if not len(values):
        return np.array([[-np.inf] * 3, [np.inf] * 3])
    box = np.asarray(values, dtype=float)
    if box.shape != (6,) or not (box[:3] < box[3:]).all():
        raise MotionError('option box', expected='xmin ymin zmin xmax ymax zmax [m], each min '
                          'below its max', found=list(values))
    return box.reshape(2, 3)
