"""
A joint_trajectory_controller that goes on from its command (interpolate_from_desired_state: true).

A new trajectory replaces the old one at the next update.  Where its first point lies ahead, the
way there begins at the last command; where points lie in the past, the trajectory is entered where
its own clock says.  Between two points: quintic where both carry velocity and acceleration, cubic
with velocity alone, a straight line with positions alone.  After the last point the arm rests
there.
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
    values = [_points(kind, x, len(times), joints) for kind, x in
              zip(('positions', 'velocities', 'accelerations'), points)]
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise MotionError('times of the trajectory', expected='finite and increasing',
                          found=times.tolist())
    if len(times) == 1:  # the arm rests there as soon as it comes into effect
        return rest_at(values[0][0], times[0])
    q, span = values[0], np.diff(times)[:, None]
    if len(values) == 1:
        return JointPath(PPoly(np.stack([np.diff(q, axis=0) / span, q[:-1]]), times))
    if len(values) == 2:
        return JointPath(CubicHermiteSpline(times, *values))
    return JointPath(PPoly(_quintic(q, values[1], values[2], span), times))


def _points(what, values, count, joints):
    values = np.asarray(values, dtype=float)
    if values.shape != (count, joints):
        raise MotionError(f'{what} of the trajectory', found=f'shape {values.shape}',
                          expected=f'{count} points of {joints} joints')
    if not np.isfinite(values).all():
        raise MotionError(f'{what} of the trajectory', expected='finite numbers',
                          found=f'{np.count_nonzero(~np.isfinite(values))} that are not')
    return values


def _quintic(q, v, a, span):
    """Return coefficients (6, m - 1, n), of the highest power first, of points (m, n)."""
    step, v0, v1 = np.diff(q, axis=0) / span, v[:-1], v[1:]
    a0, a1 = a[:-1] * span, a[1:] * span  # [rad/s]
    return np.stack([(12 * step - 6 * v1 - 6 * v0 - a0 + a1) / (2 * span**4),
                     (-30 * step + 14 * v1 + 16 * v0 + 3 * a0 - 2 * a1) / (2 * span**3),
                     (20 * step - 8 * v1 - 12 * v0 - 3 * a0 + a1) / (2 * span**2),
                     a[:-1] / 2, v0, q[:-1]])


class TrajectoryController:
    """
    The controller of n joints, at rest at ``q`` (n,) [rad or m] until it receives a trajectory.

    period : [s] between two updates
    """

    def __init__(self, q: np.ndarray, period: float) -> None:
        self._path, self._period, self._joints = rest_at(q), period, len(q)
        self._next: tuple[np.ndarray, Sequence[np.ndarray]] | None = None

    def receive(self, now: float, times: ArrayLike, points: Sequence[np.ndarray]) -> None:
        """
        Take a trajectory that the next update begins with.

        now : [s] of the clock of ``update``
        times : (m,) of the points [s] on that clock, some may be past
        points : positions, and if they have them velocities and accelerations, each (m, n)
        Raises MotionError, and changes nothing, where the controller would refuse it.
        """
        path = path_of_points(times, points, self._joints)
        if len(points) > 1 and np.abs(points[1][-1]).max() > AT_REST:
            raise MotionError('the last point of the trajectory moves', expected='velocities 0',
                              found=np.asarray(points[1][-1]).tolist(),
                              do='end the trajectory at rest')
        if path.end < now:
            raise MotionError('the trajectory has no point ahead of now',
                              expected=f'a last point not before now, {now:.3f} s',
                              found=f'{path.end:.3f} s', do='send at least one')
        self._next = np.asarray(times, dtype=float), points

    def update(self, now: float) -> None:
        """Begin at ``now`` [s] with what was received."""
        if self._next is None:
            return
        (times, points), self._next = self._next, None
        if times[0] > now:
            # The command for now was sent one period ago, and is anchored there.
            times = np.append(now - self._period, times)
            points = [np.vstack([here, x]) for here, x in zip(self.command([now]), points)]
        self._path = path_of_points(times, points, self._joints)

    def command(self, times: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return commands (q, v, a), each (k, n), at ``times`` (k,) [s]."""
        return self._path(times)
