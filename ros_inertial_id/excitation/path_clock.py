"""
Path clock: how far along its path a motion is, at every moment of the robot's time.

Each piece of a motion goes on for a moment and then brakes to rest.  One that comes too late to
follow on goes on from where the arm is by then: the motion is stretched, never caught up.  The
rate s' of the path clock and its slope s'' have no jump, nor have velocity and acceleration

    v = s' dq/ds,   a = s'^2 d2q/ds2 + s'' dq/ds

so that a message that arrives a little late meets almost the same command.

What a controller does between two points is its own polynomial, so two pieces agree only where
they have the same points.  Those stand on one grid and where the rate begins or ends to change,
and a change that a piece brings begins at a point of the piece before.
"""

import numpy as np

from .braking import Brakes, Change, GRID

FULL = np.array([1.0, 0.0])  # rate and slope
POINT_STEP = 0.02  # [s] between the points of a piece
LEAST_GAP = 0.1  # of a POINT_STEP: no two points are nearer
LATE_SHARE = 0.8  # of the horizon of a late piece, from where on it differs: others may follow it
SAME_TIME = 1e-9  # [s] of stamps: times nearer than that are the same


class PathClock:
    """
    The path time that was promised to a controller, until the motion rests.

    begin : [s] when path time 0 is, from where on the rate is 1; brakes : of the path
    """

    def __init__(self, begin: float, brakes: Brakes) -> None:
        self._begin, self._brakes = begin, brakes
        self._changes = [Change(begin, 1.0, np.array([[0.0, *FULL]]))]
        self._end: Change | None = None  # what comes after the last of them, as promised

    def go_on(self, now: float, horizon: float, margin: float) -> bool:
        """
        Promise to go on until ``now`` + ``horizon``, then to brake to rest.

        margin : [s] after now within which what was promised before cannot be changed any more
        Return whether the path clock had to be slowed down.
        """
        end, self._end = self._end, None
        late = False
        if end is not None and end.begin < now + margin - SAME_TIME:
            late = True
            self._changes = [*self._changes, end]
            joins = now + LATE_SHARE * horizon
            begin = float(self.points(joins, joins + 2.0 * POINT_STEP)[0])
            change = self._brakes.change(begin, self._at(begin), 1.0)
            if change.path[:, 1].min() < 0.0:  # too near to rest to be turned round
                begin = max(begin, end.end)
                change = self._brakes.change(begin, self._at(begin), 1.0)
            self._changes = [*self._changes, change]
        self._end = self._stop(now + horizon)
        return late

    def state(self, times: np.ndarray) -> np.ndarray:
        """Return (s, s', s'') as (3, N) at ``times`` (N,) [s], full rate before the begin."""
        return self._state(np.asarray(times, dtype=float), self._promised())

    @property
    def delay(self) -> float:
        """Return the delay of the motion so far, if it goes on [s]."""
        last = self._changes[-1]
        return last.end - float(last.path[-1, 0]) - self._begin

    def rests_at(self) -> float:
        """Return the time at which the last promise has come to rest [s]."""
        return self._promised()[-1].end

    def points(self, first: float, last: float) -> np.ndarray:
        """Return the times (N,) [s] of the points of a piece, from ``first`` to ``last`` [s]."""
        changes, until = np.zeros(0), np.inf
        for change in reversed(self._promised()):  # a later one cuts those before it short
            ends = np.array([change.begin, change.end])
            changes = np.append(changes, ends[ends <= until])
            until = min(until, change.begin)
        changes = np.unique(changes)
        changes = changes[np.append(True, np.diff(changes) > LEAST_GAP * POINT_STEP)]
        first, last = first - SAME_TIME, last + SAME_TIME
        grid = POINT_STEP * np.arange(
            np.ceil(first / POINT_STEP), np.floor(last / POINT_STEP) + 1.0
        )
        grid = grid[np.abs(grid[:, None] - changes).min(1) > LEAST_GAP * POINT_STEP]
        return np.sort(np.concatenate([grid, changes[(first < changes) & (changes < last)]]))

    def times(self, path_times: np.ndarray) -> np.ndarray:
        """Return the (N,) times [s] of ``path_times`` (N,) [s], if the path clock goes on."""
        grid = [np.linspace(s.begin, s.end, len(s.path)) for s in self._changes]
        places = np.unique(np.concatenate(grid))
        shown = np.maximum.accumulate(self._state(places, self._changes)[0])
        out = np.interp(path_times, shown, places)
        before, after = path_times < shown[0], path_times > shown[-1]
        out[before] = (places[0] + path_times - shown[0])[before]
        out[after] = (places[-1] + path_times - shown[-1])[after]
        return out

    def _state(self, times, changes):
        out = np.array([times - self._begin, np.ones_like(times), np.zeros_like(times)])
        first, ends = times.min(), [change.begin for change in changes[1:]] + [np.inf]
        for change, end in zip(changes, ends):
            if end > first:
                out = np.where(times >= change.begin, change.state(times), out)
        return out

    def _at(self, time):
        return self._state(np.array([time]), self._changes)[:, 0]

    def _promised(self):
        if self._end is None:
            return self._changes
        return [*self._changes, self._end]

    def _stop(self, time):
        """Return the Change to rest from ``time``, at full rate from the grid before it."""
        state = self._at(time)
        if (state[1:] != FULL).any():
            time = float(self.points(time - 2.0 * POINT_STEP, time)[-1])
            return self._brakes.change(time, self._at(time), 0.0)
        grid_point = GRID * np.floor(np.round(state[0] / GRID, 6))
        begin = max(time + grid_point - state[0], self._changes[-1].end)
        return self._brakes.stop(begin, self._at(begin)[0])
