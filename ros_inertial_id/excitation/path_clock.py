"""
Path clock: how far along its path a motion is, at every moment of the robot's time.

Each piece of a motion goes on for a moment and then eases to rest.  One that comes too late to
follow on goes on from where the arm is by then: the motion is stretched, never caught up.  The
rate s' of the path clock is a quintic in time wherever it changes, continuous with its first two
derivatives, so that velocity and acceleration

    v = s' dq/ds,   a = s'^2 d2q/ds2 + s'' dq/ds

have no jump, and a message that arrives a little late meets almost the same command.
"""

from dataclasses import dataclass

import numpy as np

ROUGH = 64  # places within a change of the rate between which its inverse is interpolated


@dataclass(frozen=True)
class RateChange:
    """
    From ``begin`` [s] on the rate goes to ``goal`` (0 or 1) within ``duration`` [s], and stays.

    at : path time [s] at its begin; rate : (s', s'', s''') there
    """

    begin: float
    at: float
    rate: tuple[float, float, float]
    goal: float
    duration: float

    def state(self, times: np.ndarray) -> np.ndarray:
        """Return (s, s', s'', s''') as (4, N) at ``times`` (N,) [s], none before its begin."""
        since, T = np.asarray(times, dtype=float) - self.begin, self.duration
        x = np.minimum(since, T) / T
        r, v, a = self.rate[0], self.rate[1] * T, self.rate[2] * T * T
        rise = self.goal - r
        c = np.array([r, v, 0.5 * a, 10.0 * rise - 6.0 * v - 1.5 * a,
                      -15.0 * rise + 8.0 * v + 1.5 * a, 6.0 * rise - 3.0 * v - 0.5 * a])
        powers, k = x ** np.arange(7.0)[:, None], np.arange(6.0)
        s = self.at + T * (c / (k + 1.0)) @ powers[1:] + self.goal * np.maximum(since - T, 0.0)
        rate = c @ powers[:6]
        slope = (k * c)[1:] @ powers[:5] / T
        bend = (k * (k - 1.0) * c)[2:] @ powers[:4] / T ** 2
        over = since >= T  # exactly, where rounding would leave a drift
        return np.array([s, np.where(over, self.goal, rate), np.where(over, 0.0, slope),
                         np.where(over, 0.0, bend)])

    @property
    def end(self) -> float:
        """Return when the rate has reached its goal [s]."""
        return self.begin + self.duration


class PathClock:
    """
    The path time that was promised to a controller, until the motion rests.

    begin : [s] when path time 0 is, from where on the rate is 1
    ease : [s] of a change between rest and full rate
    """

    def __init__(self, begin: float, ease: float) -> None:
        self._begin, self._ease = begin, ease
        self._changes = [RateChange(begin, 0.0, (1.0, 0.0, 0.0), 1.0, ease)]
        self._end: RateChange | None = None  # what comes after the last of them, as promised

    def go_on(self, now: float, horizon: float, margin: float) -> bool:
        """
        Promise to go on until ``now`` + ``horizon``, then to ease to rest.

        margin : [s] after now within which what was promised before cannot be changed any more
        Return whether the path clock had to be slowed down.
        """
        end, self._end = self._end, None
        if end is not None and end.begin < now + margin:
            self._changes.append(end)
            self._append(now + margin, 1.0, self._ease)
        self._end = self._change(now + horizon, 0.0, self._ease)
        return end in self._changes

    def brake(self, now: float, duration: float) -> None:
        """Promise to come to rest within ``duration`` [s] from ``now`` on."""
        self._changes = [s for s in self._promised() if s.begin <= now] or self._changes[:1]
        self._end = None
        last = self._changes[-1]
        if last.goal or last.end > now + duration:  # else it rests sooner
            self._append(now, 0.0, duration)

    def state(self, times: np.ndarray) -> np.ndarray:
        """Return (s, s', s'') as (3, N) at ``times`` (N,) [s], full rate before the begin."""
        return self._state(np.asarray(times, dtype=float), self._promised())

    @property
    def delay(self) -> float:
        """Return by how much the motion is stretched so far, if it goes on [s]."""
        last = self._changes[-1]
        return last.end - float(last.state(np.array([last.end]))[0, 0]) - self._begin

    def rests_at(self) -> float:
        """Return when the last promise has come to rest [s]."""
        return self._promised()[-1].end

    def times(self, path_times: np.ndarray) -> np.ndarray:
        """Return when (N,) [s] the path clock shows ``path_times`` (N,) [s], if it goes on."""
        grid = [np.linspace(s.begin, s.end, ROUGH) for s in self._changes[1:]]
        places = np.unique(np.concatenate([[self._changes[0].begin], *grid]))
        shown = np.maximum.accumulate(self._state(places, self._changes)[0])
        out = np.interp(path_times, shown, places)
        before, after = path_times < shown[0], path_times > shown[-1]
        out[before] = (places[0] + path_times - shown[0])[before]
        out[after] = (places[-1] + path_times - shown[-1])[after]
        return out

    def _state(self, times, changes):
        out = np.array([times - self._begin, np.ones_like(times), np.zeros_like(times)])
        for change in changes:
            out = np.where(times >= change.begin, change.state(times)[:3], out)
        return out

    def _promised(self):
        return [*self._changes, *([] if self._end is None else [self._end])]

    def _change(self, begin, goal, duration):
        s, *rate = self._changes[-1].state(np.array([begin]))[:, 0].tolist()
        return RateChange(begin, s, tuple(rate), goal, duration)

    def _append(self, begin, goal, duration):
        self._changes.append(self._change(begin, goal, duration))
