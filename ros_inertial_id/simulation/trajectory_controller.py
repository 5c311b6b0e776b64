"""
A joint_trajectory_controller as ros2_controllers has it (Jazzy and Kilted), for one arm.

What matters to somebody who sends trajectories piece by piece:

- A new trajectory replaces the old one at the next update.  Where its first point lies ahead, the
  way there begins at the *measured* state with acceleration 0 (``interpolate_from_desired_state:
  false``, the default) or at the last command (true).  Where points lie in the past, the
  trajectory is entered where its own clock says, and neither matters.
- Between two points: quintic where both carry velocity and acceleration, cubic with velocity
  alone, a straight line with positions alone.  After the last point the arm rests there.
- Speed scaling, as UR's driver asks for it, slows the clock of the running trajectory.  A new
  trajectory sets that clock to the present: what was slowed down is skipped.
- A joint farther from the trajectory than its tolerance aborts it: the measured position is held.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .joint_path import JointPath, path_of_points, rest_at
from ..errors import MotionError
from ..options import option

AT_REST = 1e-6  # [rad/s] velocity of a last point below which the controller accepts it
MEASURED, DESIRED = 'measured', 'desired'


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
        0.0, 'time after the last point until goal_tolerance counts', unit='s', at_least=0.0)
    speed_scaling: float = option(
        1.0, "share of its speed at which a trajectory runs, as by UR's speed slider",
        at_least=0.0, at_most=1.0)


@dataclass(frozen=True)
class _Stretch:
    """From ``begin`` [s] on ``path`` is followed, from ``path_time`` on, at ``rate``."""

    begin: float
    path: JointPath
    path_time: float
    rate: float

    def path_times(self, times):
        return self.path_time + self.rate * (times - self.begin)


class TrajectoryController:
    """
    The controller of n joints, at rest at ``q`` (n,) [rad or m] until it receives a trajectory.

    options : ControllerOptions; period : [s] between two updates
    memory : [s] for which past commands can be asked for
    speed_scaling : share of its speed at which a trajectory runs; may be set at any time
    """

    def __init__(self, q, options, period, memory=0.0):
        self.speed_scaling = options.speed_scaling
        self._options, self._period, self._memory = options, period, memory
        self._stretches = [_Stretch(-np.inf, rest_at(q), 0.0, 0.0)]
        self._next: tuple[np.ndarray, Sequence[np.ndarray]] | None = None
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
        if path.knots[-1] <= now:
            raise MotionError('the trajectory has no point ahead of now',
                              expected=f'a last point later than now, {now:.3f} s',
                              found=f'{path.knots[-1]:.3f} s', do='send at least one')
        self._next = np.asarray(times, dtype=float), points

    def update(self, now: float, q: np.ndarray, v: np.ndarray) -> str:
        """
        Begin what was received; return why a trajectory was aborted, '' when it was not.

        now : [s]; q, v : (n,) the measured state [rad or m and per second]
        """
        if self._next is not None:
            self._begin(now, q, v)
        elif self._stretches[-1].rate != self.speed_scaling and not self._holding:
            stretch = self._stretches[-1]
            self._follow(now, stretch.path, float(stretch.path_times(now)), self.speed_scaling)
        reason = '' if self._holding else self._violation(now, q)
        if reason:
            self.follow(now, rest_at(np.array(q)))
            self._holding = True
        return reason

    def follow(self, now: float, path: JointPath) -> None:
        """Follow ``path``, on the clock of ``update``, from ``now`` [s] on at full speed."""
        self._next, self._holding = None, True
        self._follow(now, path, now, 1.0)

    def command(self, times: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return commands (q, v, a), each (k, n), at ``times`` (k,) [s], at most memory ago."""
        times = np.asarray(times, dtype=float)
        out = np.zeros((3, len(times), self._joints))
        followed = np.searchsorted([s.begin for s in self._stretches], times, side='right') - 1
        for k in set(followed.tolist()):
            stretch, now = self._stretches[k], followed == k
            q, v, a = stretch.path(stretch.path_times(times[now]) if stretch.rate
                                   else np.full(now.sum(), stretch.path_time))
            out[:, now] = q, stretch.rate * v, stretch.rate ** 2 * a
        return out[0], out[1], out[2]

    def _begin(self, now, q, v):
        assert self._next is not None
        times, points = self._next
        if times[0] > now:
            at, state = now, [q, v, np.zeros_like(v)]
            if self._options.anchor == DESIRED:
                # the command for now was sent one period ago, and is anchored there
                at, state = now - self._period, [x[0] for x in self.command([now])]
            times = np.append(at, times)
            points = [np.vstack([before, x]) for before, x in zip(state, points)]
        self._next, self._holding = None, False
        self._follow(now, path_of_points(times, points, self._joints), now, self.speed_scaling)

    def _follow(self, now, path, path_time, rate):
        kept = [s for s in self._stretches if s.begin < now]
        while len(kept) > 1 and kept[1].begin < now - self._memory:
            kept.pop(0)
        self._stretches = [*kept, _Stretch(now, path, path_time, rate)]

    def _violation(self, now, q):
        stretch, options = self._stretches[-1], self._options
        late = float(stretch.path_times(now)) - stretch.path.knots[-1]
        limit = options.path_tolerance
        if late >= 0.0:
            limit = options.goal_tolerance if late > options.goal_time else 0.0
        if not limit:
            return ''
        away = np.abs(q - self.command([now])[0][0])
        if (away <= limit).all():
            return ''
        joint = int(away.argmax())
        return (f'joint {joint + 1} is {away[joint]:.4g} from the trajectory '
                f'(tolerance {limit:g}): aborted, the measured position is held')
