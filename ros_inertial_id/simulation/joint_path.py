"""
Paths through joint space as a joint_trajectory_controller runs them.

Between two points each joint follows the polynomial fixed by what the points carry: quintic
(position, velocity, acceleration), cubic (position, velocity) or a straight line (position).
After the last point the path rests there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import MotionError


@dataclass(frozen=True)
class JointPath:
    """
    Piecewise polynomial q(t); call it with times.

    knots : (m + 1,) times of the points [s], increasing
    coefficients : (m, 6, n) of each piece, in powers of the time since its first knot
    """

    knots: np.ndarray
    coefficients: np.ndarray

    def __call__(self, times):
        """Return (q, v, a), each (k, n), at ``times`` (k,) [s]."""
        times = np.asarray(times, dtype=float)
        piece = np.searchsorted(self.knots, times, side='right') - 1
        piece = np.clip(piece, 0, len(self.coefficients) - 1)
        s = (np.minimum(times, self.knots[-1]) - self.knots[piece])[:, None]
        c0, c1, c2, c3, c4, c5 = self.coefficients[piece].swapaxes(0, 1)
        q = c0 + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * c5))))
        v = c1 + s * (2 * c2 + s * (3 * c3 + s * (4 * c4 + s * 5 * c5)))
        a = 2 * c2 + s * (6 * c3 + s * (12 * c4 + s * 20 * c5))
        resting = times >= self.knots[-1]
        v[resting] = a[resting] = 0
        return q, v, a


def rest_at(q: np.ndarray) -> JointPath:
    """Return the JointPath that stays at ``q`` (n,) [rad or m]."""
    coefficients = np.zeros((1, 6, len(q)))
    coefficients[0, 0] = q
    return JointPath(np.array([-1.0, 0.0]), coefficients)


def path_through(start_time: float, start: Sequence[np.ndarray], times: Any, positions: Any,
                 velocities: Any, accelerations: Any) -> JointPath:
    """
    Return the JointPath from a state through points to rest.

    start_time : time of the state [s]
    start : (q, v, a) of the state, each (n,)
    times : (m,) times of the points [s], later than ``start_time`` and increasing
    positions, velocities, accelerations : (m, n)
    Raises MotionError for points that cannot be followed.
    """
    points = [np.vstack([x, more]) for x, more in zip(start, (positions, velocities,
                                                              accelerations))]
    return path_of_points(np.append(start_time, times), points, len(start[0]))


def path_of_points(times: Any, points: Sequence[Any], joints: int) -> JointPath:
    """
    Return the JointPath through points; it rests at the last.

    times : (m,) of the points [s], increasing
    points : positions, and if there are velocities and accelerations, each (m, n)
    joints : their number n
    Raises MotionError for points that cannot be followed.
    """
    times = np.asarray(times, dtype=float)
    if not len(times):
        raise MotionError('the trajectory has no point', do='send at least one')
    values = [_points(kind, x, len(times), joints) for kind, x in
              zip(('positions', 'velocities', 'accelerations'), points)]
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise MotionError('times of the trajectory', expected='finite and increasing',
                          found=times.tolist())
    if len(times) == 1:  # the arm rests there as soon as it comes into effect
        return JointPath(np.array([times[0] - 1.0, times[0]]), rest_at(values[0][0]).coefficients)
    span = np.diff(times)[:, None]
    if len(values) == 1:
        return JointPath(times, _linear(values[0], span))
    if len(values) == 2:
        return JointPath(times, _cubic(values[0], values[1], span))
    return JointPath(times, _quintic(values[0], values[1], values[2], span))


def _points(what, values, count, joints):
    values = np.asarray(values, dtype=float)
    if values.shape != (count, joints):
        raise MotionError(f'{what} of the trajectory', found=f'shape {values.shape}',
                          expected=f'{count} points of {joints} joints')
    if not np.isfinite(values).all():
        raise MotionError(f'{what} of the trajectory', expected='finite numbers',
                          found=f'{np.count_nonzero(~np.isfinite(values))} that are not')
    return values


def _linear(q, span):
    zero = np.zeros_like(q[:-1])
    return np.stack([q[:-1], np.diff(q, axis=0) / span, zero, zero, zero, zero], axis=1)


def _cubic(q, v, span):
    step, v0, v1 = np.diff(q, axis=0), v[:-1], v[1:]
    zero = np.zeros_like(v0)
    return np.stack([q[:-1], v0, (3 * step / span - 2 * v0 - v1) / span,
                     (v0 + v1 - 2 * step / span) / span**2, zero, zero], axis=1)


def _quintic(q, v, a, span):
    step, v0, v1 = np.diff(q, axis=0) / span, v[:-1], v[1:]
    a0, a1 = a[:-1] * span, a[1:] * span  # [rad/s]
    c3 = (20 * step - 8 * v1 - 12 * v0 - 3 * a0 + a1) / (2 * span**2)
    c4 = (-30 * step + 14 * v1 + 16 * v0 + 3 * a0 - 2 * a1) / (2 * span**3)
    c5 = (12 * step - 6 * v1 - 6 * v0 - a0 + a1) / (2 * span**4)
    return np.stack([q[:-1], v0, a[:-1] / 2, c3, c4, c5], axis=1)
