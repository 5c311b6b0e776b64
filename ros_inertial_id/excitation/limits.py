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
GIVEN = ('lower', 'upper', 'velocity', 'acceleration', 'jerk', 'effort', 'effort_rate')
LEAST_RADICAND = 1e-9  # keeps a square root from zero


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
        Return the excess of velocities (n, N) [rad/s] over the limit, its slopes by q and v.

        q, v : (n, N) [rad, rad/s]; below 0 where the limit is kept
        """
        slows = np.isfinite(self.gain)[:, None]
        gain = np.where(slows, self.gain[:, None], 0.0)
        away = np.where(v > 0, self.high_end[:, None] - q, q - self.low_end[:, None])
        root = np.sqrt(np.maximum(gain * np.where(slows, away, 0.0), LEAST_RADICAND))
        room = root - self.offset[:, None]
        sign, slope = (
            np.where(v > 0, 1.0, -1.0),
            np.where(room > 0, 0.5 * self.share * gain / root, 0.0),
        )
        over = np.where(slows, np.abs(v) - self.share * np.maximum(room, 0.0), -np.inf)
        return over, sign * slope, np.where(slows, sign, 0.0)

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
    jerk [rad/s^3], effort_rate [N m/s] : (n,), inf where there is none
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
    jerk: np.ndarray
    effort_rate: np.ndarray
    margins: dict[str, float]
    notices: tuple[str, ...]
    guessed: bool = False

    @property
    def middle(self) -> np.ndarray:
        """Return the middle, (n,), of the position ranges."""
        return 0.5 * (self.lower + self.upper)

    @property
    def half(self) -> np.ndarray:
        """Return half the position ranges (n,)."""
        return 0.5 * (self.upper - self.lower)

    @property
    def bounds_tool(self) -> bool:
        """Return whether the end effector is bounded at all."""
        return self.sphere > 0.0 or bool(np.isfinite(self.box).any())

    def use_of_joints(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray
    ) -> dict[str, np.ndarray]:
        """
        Return the largest use of each limit, {kind: (n,)}, 1 at it.

        q, v, a, tau : (n, N) [rad or m and derivatives, N m or N]
        """
        velocity = np.minimum(self.velocity[:, None], self.slowing.at(q, v))
        return {
            'position': np.abs(q - self.middle[:, None]).max(1) / self.half,
            'velocity': (np.abs(v) / velocity).max(1),
            'acceleration': np.abs(a).max(1) / self.acceleration,
            'effort': np.abs(tau).max(1) / self.effort,
        }

    def use_of_rates(self, a: np.ndarray, tau: np.ndarray, step: float) -> dict[str, np.ndarray]:
        """
        Return the largest use of the limits of jerk and effort rate, where there are any.

        a, tau : (n, N) accelerations and torques every ``step`` [s]
        """
        out = {}
        if np.isfinite(self.jerk).any():
            out['jerk'] = _fastest(a) / step / self.jerk
        if np.isfinite(self.effort_rate).any():
            out['effort_rate'] = _fastest(tau) / step / self.effort_rate
        return out

    def tool_outside(self, tool: np.ndarray) -> np.ndarray:
        """Return (N,) how far the end effector ``tool`` (3, N) is outside box and sphere [m]."""
        low, high = self.box[:, :, None]
        outside = np.maximum(tool - high, low - tool).max(0)
        distance = np.sqrt((tool**2).sum(0))
        if self.sphere:
            outside = np.maximum(outside, self.sphere - distance)
        return outside


def find_limits(robot: RobotModel, options: Any) -> Limits:
    """
    Return the Limits of a robot: DesignOptions go before its URDF, what its maker publishes first.

    Raises MotionError that names the joints and the option when one is missing or impossible.
    """
    limits = kinematic_limits(robot, options)
    _need(
        robot,
        np.isfinite(limits.lower) & np.isfinite(limits.upper),
        'has no position limits',
        'give lower: and upper: [rad or m], one value for all joints or one each',
    )
    _need(
        robot,
        limits.lower < limits.upper,
        'has an empty position range',
        'give lower: and upper:, or lock the joint with locked_joints:',
    )
    for name, values, unit in (
        ('velocity', limits.velocity, 'rad/s or m/s'),
        ('effort', limits.effort, 'N m or N'),
        ('acceleration', limits.acceleration, 'rad/s^2 or m/s^2'),
        ('jerk', limits.jerk, 'rad/s^3 or m/s^3'),
    ):
        _need(
            robot,
            values > 0,
            f'has no {name} limit above zero',
            f'give {name}: [{unit}], one value for all joints or one each',
        )
    _need_start(robot, options.start, limits.lower, limits.upper)
    return limits


def kinematic_limits(robot: RobotModel, options: Any) -> Limits:
    """Return the Limits as find_limits does, without refusing what is missing."""
    count = len(robot)
    none = np.full(count, np.inf)
    described = {
        'lower': robot.lower,
        'upper': robot.upper,
        'velocity': robot.velocity,
        'effort': robot.effort,
    }
    # effort_rate is the maker's alone
    limits = {
        name: _per_joint(getattr(options, name, ()), described.get(name, none), name)
        for name in GIVEN
    }
    slowing = Slowing(np.zeros(count), none, -none, none)
    published, notices = maker_limits(robot, options.limits)
    if published:
        limits['lower'] = np.fmax(limits['lower'], published['lower'])
        for name in GIVEN[1:]:
            limits[name] = _tightened(limits[name], published[name])
        slowing = Slowing(
            published['offset'],
            published['gain'],
            published['low_end'],
            published['high_end'],
            1.0 - options.velocity_margin,
        )
    guessed = not np.isfinite(limits['acceleration']).any()
    if guessed:
        limits['acceleration'] = limits['velocity'] / RISE
        notices += (
            f'no acceleration limits are known; assumed: full speed in {RISE:g} s; '
            'set acceleration:',
        )
    inset = 0.5 * options.position_margin * (limits['upper'] - limits['lower'])
    margins = {
        'position': options.position_margin,
        'velocity': options.velocity_margin,
        'acceleration': options.acceleration_margin,
        'effort': options.effort_margin,
    }
    reduced = {name: (1.0 - margins.get(name, 0.0)) * limits[name] for name in GIVEN[2:]}
    return Limits(
        lower=limits['lower'] + inset,
        upper=limits['upper'] - inset,
        **reduced,
        box=_box(options.box),
        sphere=float(options.sphere),
        slowing=slowing,
        margins=margins,
        notices=notices,
        guessed=guessed,
    )


def _fastest(x):
    """Return the largest step (n,) from sample to sample of x (n, N)."""
    return np.abs(np.diff(x)).max(1)


def _per_joint(values, default, name):
    """Return the option's values, one each (n,), or without any the ``default`` (n,)."""
    values, count = np.atleast_1d(np.asarray(values, dtype=float)), len(default)
    if len(values) not in (0, 1, count):
        raise MotionError(
            f'option {name}',
            expected=f'nothing, 1 or {count} values',
            found=f'{len(values)} values',
        )
    if not len(values):
        return np.array(default, dtype=float)
    return np.array(np.broadcast_to(values, count))


def _tightened(own, published):
    """Return the lower of two limits; where a URDF has zero or nan, it has none."""
    missing = (own == 0.0) | np.isnan(own)
    return np.where(missing & np.isfinite(published), published, np.minimum(own, published))


def _need(robot, good, what, do):
    bad = [name for name, ok in zip(robot.joint_names, good) if not ok]
    if bad:
        subject = 'each of these joints'
        if len(bad) == 1:
            subject = 'joint'
        raise MotionError(f'{subject} {what}', found=bad, do=do)


def _need_start(robot, start, lower, upper):
    if not len(start):
        return
    if len(start) != len(robot):
        raise MotionError(
            'option start', expected=f'{len(robot)} positions', found=f'{len(start)}'
        )
    start = np.asarray(start, dtype=float)
    bad = [
        f'{name} at {x:.4g} outside {low:.4g} to {high:.4g}'
        for name, x, low, high in zip(robot.joint_names, start, lower, upper)
        if not low <= x <= high
    ]
    if bad:
        raise MotionError(
            'the start is outside the position limits', found=bad, do='give a start: within them'
        )


def _box(values):
    if not len(values):
        return np.array([[-np.inf] * 3, [np.inf] * 3])
    box = np.asarray(values, dtype=float)
    if box.shape != (6,) or not (box[:3] < box[3:]).all():
        raise MotionError(
            'option box',
            expected='xmin ymin zmin xmax ymax zmax [m], each min below its max',
            found=list(values),
        )
    return box.reshape(2, 3)
