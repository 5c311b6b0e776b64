"""
Braking: how fast a course can be stopped, from any of its moments, within the robot's limits.

The clock of the course slows down, so the arm stays on the path that was checked for collisions.
With the rate r of that clock and its slope r'

    v -> r v,   a -> r^2 a + r' v,   tau -> g + r^2 (tau - g) + r' M v

Both are x = x0 + r^2 x1 + r' x2 at every place of the path.  So acceleration and torque bound r',
and jerk and torque rate its change (Bobrow, Dubowsky and Gibson 1985; Pham and Pham 2018, whose
toppra has no limits of jerk and torque rate).  The slope goes as low as they let it, and back to 0
just in time.
Going on at the same rate keeps all limits, so there is always a way; where a limit tightens faster
than the slope may follow, braking is begun more gently.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .limits import Limits
from ..dynamics.regressor import nominal_torques
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError

PATH = 0.005  # [s] between the places of a path at which it is known
GRID = 0.01  # [s] between the places from which stops are worked out beforehand
SLOPE_STEP = 0.004  # [s] of the slope
LONGEST_BRAKING = 2.0  # [s] to rest
SHARES = (0.98, 0.96, 0.94, 0.91, 0.87, 0.8, 0.65, 0.5)  # of the limits, tried one after the other
GOING_ON = 0.8  # the same for going on after a stop: nobody waits for it
BACK = 0.3  # share of jerk and effort rate that getting the slope back to 0 counts on
FASTEST_SLOPE = 200.0  # [1/s^2] change of the slope, where nothing else limits it
STEEPEST = 20.0  # [1/s] of the slope, of a course that hardly moves
ROUNDED_USE = 1e-6  # relative: a motion that uses a limit in full may still be braked at its ends


@dataclass(frozen=True)
class Change:
    """
    From ``begin`` [s] on the rate of a path clock goes to ``goal`` (0 or 1), and stays.

    path : (K, 3) path time [s], rate and slope [1/s], every SLOPE_STEP
    """

    begin: float
    goal: float
    path: np.ndarray

    @property
    def end(self) -> float:
        """Return the time at which the rate has reached its goal [s]."""
        return self.begin + SLOPE_STEP * (len(self.path) - 1)

    def state(self, times: np.ndarray) -> np.ndarray:
        """Return (s, s', s'') as (3, N) at ``times`` (N,) [s], none before its begin."""
        since = np.asarray(times, dtype=float) - self.begin
        k = np.minimum(np.maximum(since / SLOPE_STEP, 0.0).astype(int), len(self.path) - 1)
        s, rate, slope = self.path[k].T
        after = since - k * SLOPE_STEP
        bend = (self.path[np.minimum(k + 1, len(self.path) - 1), 2] - slope) / SLOPE_STEP
        return np.array(
            [
                s + after * (rate + after * (slope / 2.0 + after * bend / 6.0)),
                rate + after * (slope + after * bend / 2.0),
                slope + after * bend,
            ]
        )


class Brakes:
    """
    All that braking along a path has to know; ``stops`` of every moment at full rate.

    at : times (N,) [s] -> q, v, a, each (N, n), of the path; duration : of it [s], at most one
        period of the motion after ``approach`` [s], after which the motion repeats itself
    robot : mounted as it is; limits : of which braking may use the margins
    effort : share of the effort limits that the nominal model may use
    Raises MotionError where there is no way to rest within the limits.
    """

    def __init__(
        self,
        at: Callable[[np.ndarray], tuple[np.ndarray, ...]],
        duration: float,
        approach: float,
        robot: RobotModel,
        limits: Limits,
        effort: float = 1.0,
    ):
        self._period, self._approach = duration - approach, approach
        self._names = robot.joint_names
        q, v, a = at(PATH * np.arange(round(duration / PATH) + 2))
        still = 0.0 * q
        gravity = nominal_torques(robot, q, still, still)
        parts = np.array(
            [
                [still, gravity],
                [a, nominal_torques(robot, q, v, a) - gravity],
                [v, nominal_torques(robot, q, still, v) - gravity],
            ]
        )
        parts = parts.transpose(2, 0, 1, 3).reshape(len(q), 3, -1)
        self._path = np.hstack([parts, np.gradient(parts, PATH, axis=0)])
        of_motion = np.abs(a).max(0)  # the motion itself is checked elsewhere
        most = limits.acceleration / (1.0 - limits.margins['acceleration'])
        self._most = (1.0 + ROUNDED_USE) * np.concatenate(
            [
                np.where(most > 0, np.maximum(most, of_motion), np.inf),
                effort * np.where(robot.effort > 0, robot.effort, np.inf),
            ]
        )
        self._rates = np.concatenate([limits.jerk, limits.effort_rate])
        self._starts = GRID * np.arange(round(duration / GRID) + 1)
        self.stops = self._stops()

    @property
    def longest(self) -> float:
        """Return the longest time to rest from full rate [s]."""
        return max(SLOPE_STEP * (len(stop) - 1) for stop in self.stops)

    def stop(self, begin: float, s: float) -> Change:
        """Return the Change from full rate to rest at the path time ``s``, ``begin`` [s]."""
        k = int(np.clip(round((s - self._turns(s)) / GRID), 0, len(self.stops) - 1))
        return Change(begin, 0.0, self.stops[k] + [s - self._starts[k], 0.0, 0.0])

    def change(self, begin: float, state: np.ndarray, goal: float) -> Change:
        """
        Return the Change to a rate ``goal``, 0 or 1, from ``begin`` [s] on.

        state : (3,) path time [s], rate and slope then
        """
        share = SHARES[0]
        if goal:
            share = GOING_ON
        path = self._follow(np.asarray(state, dtype=float)[:, None], goal, share)
        return Change(begin, goal, _trimmed(path[:, :, 0], goal))

    def _turns(self, s):
        """Return the whole periods [s] that the path time s is beyond the first."""
        return self._period * np.floor(np.maximum(s - self._approach, 0.0) / self._period)

    def _stops(self):
        """Return, of each of the starts, (K, 3) path time, rate and slope until it rests."""
        stops: list[np.ndarray] = [np.zeros((1, 3))] * len(self._starts)
        unsolved, worst = np.arange(len(self._starts)), ''
        for share in SHARES:
            count = len(unsolved)
            path = self._follow(
                np.array([self._starts[unsolved], np.ones(count), np.zeros(count)]), 0.0, share
            )
            worst, broken = self._broken(path)
            broken |= path[-1, 1] > 0.0
            for k in np.flatnonzero(~broken):
                stops[unsolved[k]] = _trimmed(path[:, :, k], 0.0)
            unsolved = unsolved[broken]
            if not len(unsolved):
                return tuple(stops)
        raise MotionError(
            'the course cannot be braked within the limits',
            found=worst,
            expected=f'to rest in at most {LONGEST_BRAKING:g} s',
            do='play slower',
        )

    def _follow(self, state, goal, share):
        """Return (K, 3, N) path time, rate and slope of the fastest ways from (3, N) to a goal."""
        (s, rate, slope), rows = state, [state]
        for _ in range(round(LONGEST_BRAKING / SLOPE_STEP)):
            away = goal - rate
            if (np.abs(away) <= 0.0).all():
                break
            low, high, change, back = self._bounds(s, rate, slope, share)
            # from which the slope still gets back to 0 in time, in steps
            left, half = np.abs(away) - 0.5 * SLOPE_STEP * np.abs(slope), 0.5 * back * SLOPE_STEP
            wish = np.sqrt(half**2 + 2.0 * back * np.maximum(left, 0.0)) - half
            wish = np.clip(np.sign(away) * wish, np.minimum(low, 0.0), np.maximum(high, 0.0))
            after = slope + np.clip(wish - slope, -change * SLOPE_STEP, change * SLOPE_STEP)
            reached = rate + 0.5 * SLOPE_STEP * (slope + after)
            there = (goal - reached) * np.sign(away) <= back * SLOPE_STEP**2
            s = s + SLOPE_STEP * (rate + SLOPE_STEP * (slope / 3.0 + after / 6.0))
            rate, slope = np.where(there, goal, reached), np.where(there, 0.0, after)
            rows.append(np.array([s, rate, slope]))
        return np.array(rows)

    def _places(self, s, count=6):
        """Return x0, x1, x2, then their slopes along the path, (count, N, 2 n), at s (N,) [s]."""
        x = np.clip((s - self._turns(s)) / PATH, 0.0, len(self._path) - 1.001)
        k = x.astype(int)
        part, path = (x - k)[:, None, None], self._path[:, :count]
        before = path[k]
        return (before + part * (path[k + 1] - before)).transpose(1, 0, 2)

    def _bounds(self, s, rate, slope, share):
        """
        Return the lowest and highest slope (N,) [1/s] and its largest change (N,) [1/s^2].

        And the change that its way back to 0 counts on, whatever the path then asks for itself.
        """
        x0, x1, x2, d0, d1, d2 = self._places(s)
        rate, slope = rate[:, None], slope[:, None]
        x2 = np.where(np.abs(x2) > 1e-9, x2, 1e-9)
        room, own = share * np.sign(x2) * self._most, x0 + rate**2 * x1
        changing = 2.0 * rate * slope * x1 + rate * (d0 + rate**2 * d1 + slope * d2)
        left = np.maximum(share * self._rates - np.abs(changing), BACK * self._rates)
        most, back = (
            np.minimum((rates / np.abs(x2)).min(1), FASTEST_SLOPE)
            for rates in (left, BACK * self._rates)
        )
        return (
            np.maximum(((-room - own) / x2).max(1), -STEEPEST),
            np.minimum(((room - own) / x2).min(1), STEEPEST),
            most,
            back,
        )

    def _broken(self, path):
        """Return in words the worst use of a limit, and which (N,) of the ways break one."""
        steps, _, count = path.shape
        s, rate, slope = path.transpose(1, 0, 2).reshape(3, -1)
        x0, x1, x2 = self._places(s, 3)
        x = (x0 + rate[:, None] ** 2 * x1 + slope[:, None] * x2).reshape(steps, count, -1)
        uses = np.hstack(
            [
                np.abs(x).max(0) / self._most,
                np.abs(np.diff(x, axis=0)).max(0, initial=0.0) / SLOPE_STEP / self._rates,
            ]
        )
        k, n = int(uses.max(0).argmax()), len(self._names)
        kind = ('acceleration', 'effort', 'jerk', 'effort_rate')[k // n]
        return f'{kind} of {self._names[k % n]} at {100.0 * uses.max():.0f} %', uses.max(1) > 1.0


def _trimmed(path, goal):
    """Return a way (K, 3) until it has reached its goal, its slopes made to lead there exactly."""
    count = int(np.argmax((path[:, 1] == goal) & (path[:, 2] == 0.0))) + 1
    path = path[:count].copy()
    there = np.sign(goal - path[0, 1]) * path[1:, 2] > 0.0  # not what it has to turn back from
    if there.any():
        lacking = goal - path[0, 1] - 0.5 * SLOPE_STEP * (path[1:, 2] + path[:-1, 2]).sum()
        path[1:, 2] *= np.where(
            there, 1.0 + lacking / (SLOPE_STEP * path[1:, 2][there].sum()), 1.0
        )
    path[1:, 1] = path[0, 1] + np.cumsum(0.5 * SLOPE_STEP * (path[1:, 2] + path[:-1, 2]))
    path[-1, 1] = goal
    path[1:, 0] = path[0, 0] + np.cumsum(
        SLOPE_STEP * (path[:-1, 1] + SLOPE_STEP * (path[:-1, 2] / 3.0 + path[1:, 2] / 6.0))
    )
    return path
