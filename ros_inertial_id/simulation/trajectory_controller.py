"""
A joint_trajectory_controller as ros2_controllers has it (Jazzy and Kilted), for one arm.

What matters to somebody who sends trajectories piece by piece:

- A new trajectory replaces the old one at the next update.  Where its first point lies ahead, the
  way there begins at the *measured* state with acceleration 0 (``interpolate_from_desired_state:
  false``, the default) or at the last command (true).  Where points lie in the past, the
  trajectory is entered where its own clock says, and neither matters.
- A controller of efforts that goes from the measured state to a first point ahead begins with the
  last effort that it commanded and lets it fade until that point (from ros2_controllers 4.22 on).
- Between two points: quintic where both carry velocity and acceleration, cubic with velocity
  alone, a straight line with positions alone.  After the last point the arm rests there.
- Speed scaling, as UR's driver asks for it, slows the clock of the running trajectory.  A new
  trajectory sets that clock to the present: what was slowed down is skipped.  Each update commands
  where the trajectory is one period later, at full speed.
- A joint farther from the trajectory than its tolerance aborts it: the last command stays for one
  update, then the position that was measured is held.

benchmark/real_controller.py compares it with the real one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import MotionError
from ..options import option

AT_REST = np.finfo(np.float32).eps  # [rad/s] largest velocity of a last point
MEASURED, DESIRED = 'measured', 'desired'


@dataclass(frozen=True)
class JointPath:
    """
    Piecewise polynomial q(t) that rests at its end; call it with times.

    knots : (m + 1,) times of the points [s], increasing
    coefficients : (m, 6, n) of each piece, in powers of the time since its first knot
    last_acceleration : (n,) of the last point, which another trajectory may begin with
    """

    knots: np.ndarray
    coefficients: np.ndarray
    last_acceleration: ArrayLike = 0.0

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
    last = values[2][-1] if len(values) > 2 else 0.0
    if len(times) == 1:  # the arm rests there as soon as it comes into effect
        return JointPath(np.array([times[0] - 1.0, times[0]]), rest_at(values[0][0]).coefficients,
                         last)
    span = np.diff(times)[:, None]
    if len(values) == 1:
        return JointPath(times, _linear(values[0], span))
    if len(values) == 2:
        return JointPath(times, _cubic(values[0], values[1], span))
    return JointPath(times, _quintic(values[0], values[1], values[2], span), last)


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


@dataclass(frozen=True)
class ControllerOptions:
    """What can be configured of the controller, with the defaults of ros2_controllers."""

    anchor: str = option(
        MEASURED, 'state from which the way to a first point that lies ahead begins: measured '
        '(interpolate_from_desired_state: false) or desired', choices=(MEASURED, DESIRED))
    allow_partial_joints_goal: bool = option(
        False, 'whether a trajectory may leave out joints, which then stay where they are')
    path_tolerance: float = option(
        0.0, 'distance from the trajectory that aborts it; 0: none', unit='rad', at_least=0.0)
    goal_tolerance: float = option(
        0.0, 'distance from the last point that aborts it after goal_time; 0: none', unit='rad',
        at_least=0.0)
    goal_time: float = option(
        0.0, 'time after the last point until goal_tolerance counts; 0: it never does', unit='s',
        at_least=0.0)
    speed_scaling: float = option(
        1.0, "share of its speed at which a trajectory runs, as by UR's speed slider",
        at_least=0.0, at_most=1.0)


@dataclass(frozen=True)
class _Stretch:
    """
    From ``begin`` [s] on ``path`` is followed, from ``path_time`` on, at ``rate``.

    ``effort`` (n,) is added to the feedback at ``begin`` and fades within ``fading`` [s].
    """

    begin: float
    path: JointPath
    path_time: float
    rate: float
    effort: ArrayLike = 0.0
    fading: float = 1.0

    def path_times(self, times):
        if not self.rate:
            return np.full(np.shape(times), self.path_time)
        return self.path_time + self.rate * (np.asarray(times) - self.begin)

    def anchor(self, now):
        """Return (q, v, a), each (n,), of the path, however fast it is followed."""
        times = self.path_times([now])
        q, v, a = (x[0] for x in self.path(times))
        return q, v, a + (times[0] >= self.path.knots[-1]) * self.path.last_acceleration


class TrajectoryController:
    """
    The controller of n joints, at rest at ``q`` (n,) [rad or m] until it receives a trajectory.

    period : [s] between two updates; memory : [s] for which past commands can be asked for
    speed_scaling : share of its speed at which a trajectory runs; may be set at any time
    """

    def __init__(self, q, options, period, memory=0.0):
        self.speed_scaling = options.speed_scaling
        self._options, self._period, self._memory = options, period, memory
        self._stretches = [_Stretch(-np.inf, rest_at(q), 0.0, 0.0)]
        self._next: tuple[np.ndarray, Sequence[np.ndarray]] | None = None
        self._hold: np.ndarray | None = None  # where the next update holds the arm
        self._holding, self._joints = True, len(q)

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
        if path.knots[-1] < now:
            raise MotionError('the trajectory has no point ahead of now',
                              expected=f'a last point not before now, {now:.3f} s',
                              found=f'{path.knots[-1]:.3f} s', do='send at least one')
        self._next, self._hold = (np.asarray(times, dtype=float), points), None

    def update(self, now: float, q: np.ndarray, v: np.ndarray, effort: ArrayLike = 0.0) -> str:
        """
        Begin what was received; return why a trajectory was aborted, '' when it was not.

        now : [s]; q, v : (n,) the measured state [rad or m and per second]
        effort : (n,) that a controller of efforts commanded last [N m or N]
        """
        last, begins = self._stretches[-1], self._next is not None
        if begins:
            self._begin(now, q, v, effort)
        elif self._hold is not None:
            self.follow(now, rest_at(self._hold))
        elif last.rate != self.speed_scaling and not self._holding:
            self._follow(now, last.path, float(last.path_times(now)), self.speed_scaling)
        reason = '' if self._holding else self._violation(now, q, begins)
        if reason:
            self.follow(now, rest_at(last.anchor(now)[0]))
            self._hold = np.array(q)
        return reason

    def follow(self, now: float, path: JointPath) -> None:
        """Follow ``path``, on the clock of ``update``, from ``now`` [s] on at full speed."""
        self._next, self._hold, self._holding = None, None, True
        self._follow(now, path, now, 1.0)

    def command(self, times: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return commands (q, v, a), each (k, n), at ``times`` (k,) [s], at most memory ago."""
        times = np.asarray(times, dtype=float)
        out = np.zeros((3, len(times), self._joints))
        followed = np.searchsorted([s.begin for s in self._stretches], times, side='right') - 1
        for k in set(followed.tolist()):
            stretch, now = self._stretches[k], followed == k
            q, v, a = stretch.path(stretch.path_times(times[now]))
            out[:, now] = q, stretch.rate * v, stretch.rate ** 2 * a
        return out[0], out[1], out[2]

    def feed_forward(self, times: ArrayLike) -> np.ndarray:
        """Return the efforts (k, n) added to the feedback at ``times`` (k,) [s], since begin."""
        stretch = self._stretches[-1]
        gone = np.asarray(times, dtype=float) + self._period - stretch.begin
        return np.outer(np.clip(1.0 - gone / stretch.fading, 0.0, 1.0),
                        np.broadcast_to(stretch.effort, self._joints))

    def _begin(self, now, q, v, effort):
        assert self._next is not None
        (times, points), fading = self._next, 1.0
        if times[0] > now:
            at, state = now, [q, v, np.zeros_like(v)]
            if self._options.anchor == DESIRED:
                # the command for now was sent one period ago, and is anchored there
                at, state, effort = now - self._period, self._stretches[-1].anchor(now), 0.0
            fading = times[0] - now
            times = np.append(at, times)
            points = [np.vstack([before, x]) for before, x in zip(state, points)]
        else:
            effort = 0.0
        self._next, self._holding = None, False
        ahead = (1.0 - self.speed_scaling) * self._period
        self._follow(now, path_of_points(times, points, self._joints), now + ahead,
                     self.speed_scaling, effort, fading)

    def _follow(self, now, path, path_time, rate, *effort):
        kept = [s for s in self._stretches if s.begin < now]
        while len(kept) > 1 and kept[1].begin < now - self._memory:
            kept.pop(0)
        self._stretches = [*kept, _Stretch(now, path, path_time, rate, *effort)]

    def _violation(self, now, q, begins):
        stretch, options = self._stretches[-1], self._options
        clock = float(stretch.path_times(now)) - (1.0 - stretch.rate) * self._period
        late = clock - stretch.path.knots[-1]
        limit = options.path_tolerance
        if late + self._period >= 0.0 and not begins:
            limit = options.goal_tolerance if late > options.goal_time > 0.0 else 0.0
        if not limit:
            return ''
        away = np.abs(q - stretch.path([clock])[0][0])
        if (away <= limit).all():
            return ''
        joint = int(away.argmax())
        return (f'joint {joint + 1} is {away[joint]:.4g} from the trajectory '
                f'(tolerance {limit:g}): aborted, the measured position is held')
