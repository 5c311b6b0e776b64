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
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ros_inertial_id.simulation.joint_path import JointPath, path_of_points, rest_at, trajectory

MEASURED, DESIRED = 'measured', 'desired'


@dataclass(frozen=True)
class ControllerOptions:
    """
    What can be configured of the controller, with the defaults of ros2_controllers.

    anchor : from where the way to a first point ahead begins: MEASURED, or DESIRED
        (interpolate_from_desired_state: true)
    speed_scaling : share of its speed at which a trajectory runs, as by UR's speed slider
    """

    anchor: str = MEASURED
    speed_scaling: float = 1.0


@dataclass(frozen=True)
class _Stretch:
    """
    From ``begin`` [s] on ``path`` is followed, from ``path_time`` on, at ``rate``.

    ``effort`` (n,) is added to the feedback at ``begin`` and fades within ``fading`` [s].
    ``last`` (n,) is the acceleration of the last point, which another trajectory may begin with.
    """

    begin: float
    path: JointPath
    path_time: float
    rate: float
    effort: ArrayLike = 0.0
    fading: float = 1.0
    last: ArrayLike = 0.0

    def path_times(self, times):
        if not self.rate:
            return np.full(np.shape(times), self.path_time)
        return self.path_time + self.rate * (np.asarray(times) - self.begin)

    def anchor(self, now):
        """Return (q, v, a), each (n,), of the path, however fast it is followed."""
        times = self.path_times([now])
        q, v, a = (x[0] for x in self.path(times))
        return q, v, a + (times[0] >= self.path.end) * np.asarray(self.last)


class JointTrajectoryController:
    """
    The controller of n joints, at rest at ``q`` (n,) [rad or m] until it receives a trajectory.

    period : [s] between two updates; memory : [s] for which past commands can be asked for
    speed_scaling : share of its speed at which a trajectory runs; may be set at any time
    """

    def __init__(self, q, options, period, memory=0.0):
        self._period, self._joints = period, len(q)
        self._next: tuple[np.ndarray, Sequence[np.ndarray]] | None = None
        self.speed_scaling = options.speed_scaling
        self._options, self._memory = options, memory
        self._stretches = [_Stretch(-np.inf, rest_at(q), 0.0, 0.0)]
        self._holding = True

    def receive(self, now: float, times: ArrayLike, points: Sequence[np.ndarray]) -> None:
        """Take a trajectory that the next update begins with, instead of holding the arm."""
        trajectory(now, times, points, self._joints)
        self._next = np.asarray(times, dtype=float), points

    def update(self, now: float, q: np.ndarray, v: np.ndarray, effort: ArrayLike = 0.0) -> None:
        """
        Begin what was received.

        now : [s]; q, v : (n,) the measured state [rad or m and per second]
        effort : (n,) that a controller of efforts commanded last [N m or N]
        """
        last = self._stretches[-1]
        if self._next is not None:
            self._begin(now, q, v, effort)
        elif last.rate != self.speed_scaling and not self._holding:
            self._follow(
                now,
                last.path,
                float(last.path_times(now)),
                self.speed_scaling,
                0.0,
                1.0,
                last.last,
            )

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
            q, v, a = stretch.path(stretch.path_times(times[now]))
            out[:, now] = q, stretch.rate * v, stretch.rate**2 * a
        return out[0], out[1], out[2]

    def feed_forward(self, times: ArrayLike) -> np.ndarray:
        """Return the efforts (k, n) added to the feedback at ``times`` (k,) [s], since begin."""
        stretch = self._stretches[-1]
        gone = np.asarray(times, dtype=float) + self._period - stretch.begin
        return np.outer(
            np.clip(1.0 - gone / stretch.fading, 0.0, 1.0),
            np.broadcast_to(stretch.effort, self._joints),
        )

    def _begin(self, now, q, v, effort):
        assert self._next is not None
        (times, points), fading = self._next, 1.0
        last = points[2][-1] if len(points) > 2 else 0.0
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
        self._follow(
            now,
            path_of_points(times, points, self._joints),
            now + ahead,
            self.speed_scaling,
            effort,
            fading,
            last,
        )

    def _follow(self, now, path, path_time, rate, *effort):
        kept = [s for s in self._stretches if s.begin < now]
        while len(kept) > 1 and kept[1].begin < now - self._memory:
            kept.pop(0)
        self._stretches = [*kept, _Stretch(now, path, path_time, rate, *effort)]
