"""What a motion must keep: limits from the URDF and the options, and how close a motion comes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics.robot_model import RobotModel
from ..errors import MotionError


@dataclass(frozen=True)
class Limits:
    """
    What the motion must keep, for n joints.

    lower, upper [rad or m], velocity, acceleration, effort : (n,); the last may be inf
    box : (2, 3) lowest and highest position of the end effector [m], may be infinite
    sphere : the least distance of the end effector from the base [m], 0 for none
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray
    box: np.ndarray
    sphere: float

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
        Return the largest use of each limit there is, {kind: (n,)}, 1 at it.

        q, v, a, tau : (n, N) [rad or m and derivatives, N m or N]
        """
        use = {'position': np.abs(q - self.middle[:, None]).max(1) / self.half,
               'velocity': np.abs(v).max(1) / self.velocity,
               'acceleration': np.abs(a).max(1) / self.acceleration,
               'effort': np.abs(tau).max(1) / self.effort}
        if np.isinf(self.acceleration).all():
            del use['acceleration']
        return use

    def tool_outside(self, tool: np.ndarray) -> np.ndarray:
        """Return (N,) how far the end effector ``tool`` (3, N) is outside box and sphere [m]."""
        low, high = self.box[:, :, None]
        outside = np.maximum(tool - high, low - tool).max(0)
        distance = np.sqrt((tool ** 2).sum(0))
        return np.maximum(outside, self.sphere - distance) if self.sphere else outside


def find_limits(robot: RobotModel, options: Any) -> Limits:
    """
    Return the Limits of a RobotModel ``robot``, options (DesignOptions) going before the URDF.

    Raises MotionError that names the joints and the option when one is missing or impossible.
    """
    count = len(robot)
    given = {name: _per_joint(getattr(options, name), count, name)
             for name in ('lower', 'upper', 'velocity', 'acceleration', 'effort')}
    lower = _choose(given['lower'], robot.lower)
    upper = _choose(given['upper'], robot.upper)
    velocity = _choose(given['velocity'], robot.velocity)
    effort = _choose(given['effort'], robot.effort)
    acceleration = _choose(given['acceleration'], np.full(count, np.inf))
    _need(robot, np.isfinite(lower) & np.isfinite(upper), 'has no position limits',
          'give lower: and upper: [rad or m], one value for all joints or one each')
    _need(robot, lower < upper, 'has an empty position range',
          'give lower: and upper:, or lock the joint with locked_joints:')
    for name, values, unit in (('velocity', velocity, 'rad/s or m/s'),
                               ('effort', effort, 'N m or N'),
                               ('acceleration', acceleration, 'rad/s^2 or m/s^2')):
        _need(robot, values > 0, f'has no {name} limit above zero',
              f'give {name}: [{unit}], one value for all joints or one each')
    _need_start(robot, options.start, lower, upper)
    return Limits(lower, upper, velocity, acceleration, effort, _box(options.box),
                  float(options.sphere))


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
