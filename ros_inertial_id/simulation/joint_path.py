"""
The path through the points of a trajectory, as a joint_trajectory_controller follows it.

Between two points: quintic where both carry velocity and acceleration, cubic with velocity alone,
a straight line with positions alone.  After the last point the arm rests there.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicHermiteSpline, PPoly

from ..errors import MotionError

AT_REST = np.finfo(np.float32).eps  # [rad/s] largest velocity of a last point


class JointPath:
    """
    Piecewise polynomial q(t) of n joints that rests at its ``end`` [s]; call it with times.

    position : of times [s] that increase, with values (n,) [rad or m]
    """

    def __init__(self, position: PPoly) -> None:
        self._orders = position, position.derivative(), position.derivative(2)
        self.end = float(position.x[-1])

    def __call__(self, times: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (q, v, a), each (k, n), at ``times`` (k,) [s]."""
        times = np.asarray(times, dtype=float)
        q, v, a = (order(np.minimum(times, self.end)) for order in self._orders)
        v[times >= self.end] = a[times >= self.end] = 0
        return q, v, a


def rest_at(q: np.ndarray, since: float = 0.0) -> JointPath:
    """Return the JointPath that stays at ``q`` (n,) [rad or m], as if it ended ``since`` [s]."""
    return JointPath(PPoly(np.array(q, dtype=float)[None, None], [since - 1.0, since]))


def path_of_points(times: ArrayLike, points: Sequence[ArrayLike], joints: int) -> JointPath:
    """
    Return the JointPath through points; it rests at the last.

    times : (m,) of the points [s], increasing
    points : positions, and if there are velocities and accelerations, each (m, joints)
    Raises MotionError for points that cannot be followed.
    """
    times = np.asarray(times, dtype=float)
    if not len(times):
        raise MotionError('the trajectory has no point', do='send at least one')
    values = [
        _points(kind, x, len(times), joints)
        for kind, x in zip(('positions', 'velocities', 'accelerations'), points)
    ]
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise MotionError(
            'times of the trajectory', expected='finite and increasing', found=times.tolist()
        )
    if len(times) == 1:  # the arm rests there as soon as it comes into effect
        return rest_at(values[0][0], times[0])
    q, span = values[0], np.diff(times)[:, None]
    if len(values) == 1:
        return JointPath(PPoly(np.stack([np.diff(q, axis=0) / span, q[:-1]]), times))
    if len(values) == 2:
        return JointPath(CubicHermiteSpline(times, *values))
    return JointPath(PPoly(_quintic(q, values[1], values[2], span), times))


def trajectory(
    now: float, times: ArrayLike, points: Sequence[np.ndarray], joints: int
) -> JointPath:
    """
    Return the JointPath of a trajectory that comes at ``now`` [s].

    times, points, joints : as path_of_points has them, on the clock of ``now``

    Raises MotionError where the controller would refuse it.
    """
    path = path_of_points(times, points, joints)
    if len(points) > 1 and np.abs(points[1][-1]).max() > AT_REST:
        raise MotionError(
            'the last point of the trajectory moves',
            expected='velocities 0',
            found=np.asarray(points[1][-1]).tolist(),
            do='end the trajectory at rest',
        )
    if path.end < now:
        raise MotionError(
            'the trajectory has no point ahead of now',
            expected=f'a last point not before now, {now:.3f} s',
            found=f'{path.end:.3f} s',
            do='send at least one',
        )
    return path


def _points(what, values, count, joints):
    values = np.asarray(values, dtype=float)
    if values.shape != (count, joints):
        raise MotionError(
            f'{what} of the trajectory',
            found=f'shape {values.shape}',
            expected=f'{count} points of {joints} joints',
        )
    if not np.isfinite(values).all():
        raise MotionError(
            f'{what} of the trajectory',
            expected='finite numbers',
            found=f'{np.count_nonzero(~np.isfinite(values))} that are not',
        )
    return values


def _quintic(q, v, a, span):
    """Return coefficients (6, m - 1, n), of the highest power first, of points (m, n)."""
    step, v0, v1 = np.diff(q, axis=0) / span, v[:-1], v[1:]
    a0, a1 = a[:-1] * span, a[1:] * span  # [rad/s]
    return np.stack(
        [
            (12 * step - 6 * v1 - 6 * v0 - a0 + a1) / (2 * span**4),
            (-30 * step + 14 * v1 + 16 * v0 + 3 * a0 - 2 * a1) / (2 * span**3),
            (20 * step - 8 * v1 - 12 * v0 - 3 * a0 + a1) / (2 * span**2),
            a[:-1] / 2,
            v0,
            q[:-1],
        ]
    )
