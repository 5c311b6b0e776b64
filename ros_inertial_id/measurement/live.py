"""
Live joint states: the same signals as offline, at a fixed small lag.

Samples come in as they arrive; out come JointSpaceStates at the stamps of those same samples,
once as much of the future is known as the filter's kernel needs.
"""

import numpy as np

from . import signals
from .kinematic_state import JointSpaceState

WARM_UP = 50  # samples from which the period of the clock is read


class LiveJoints:
    """
    A running window of n joints.

    cutoff [Hz], measured_velocity : as identified; effort_map : (n, n)
    lag : [s], how far in the past the newest state lies
    """

    def __init__(self, cutoff, measured_velocity, effort_map, lag):
        self._cutoff, self._measured = cutoff, measured_velocity
        self._map, self._lag = effort_map, lag
        self.reset()

    def reset(self):
        """Forget everything: after a gap, or time that ran backwards."""
        self._rows, self._times = [], []
        self._period = self._kernel = self._done = None

    def add(self, t, q, v, tau):
        """
        Add a sample at time t [s] (increasing); return False when the window was reset before it.

        q, v, tau : (n,) as recorded; v may be all NaN where velocities are differentiated.
        """
        kept = True
        if self._times and not 0.0 < t - self._times[-1] < self._longest_gap():
            if t == self._times[-1]:
                return True  # the same sample twice
            self.reset()
            kept = False
        self._times.append(t)
        self._rows.append(np.concatenate([q, v if self._measured else q, tau]))
        return kept

    def take(self):
        """Return the JointSpaceState of the samples that are ripe now, or None."""
        if len(self._times) < WARM_UP:
            return None
        if self._period is None:
            self._period = float(np.median(np.diff(self._times)))
            half = max(self._lag - 2 * self._period, self._period)
            self._kernel = signals.zero_phase_kernel(self._period, self._cutoff, half)
            self._done = self._times[0] + self._margin()
        t = np.array(self._times)
        ripe = (t > self._done) & (t <= t[-1] - self._margin())
        if not ripe.any():
            return None
        state = self._state(t, ripe)
        self._done = t[ripe][-1]
        old = int(np.searchsorted(t, self._done - self._margin() - 2 * self._period))
        del self._times[:old], self._rows[:old]
        return state

    def _margin(self):
        return (len(self._kernel) // 2 + 2) * self._period

    def _longest_gap(self):
        return max(signals.LONGEST_GAP, 10 * (self._period or 0.0))

    def _state(self, t, ripe):
        """Return the state at the ripe stamps, from a uniform clock around them."""
        period, half = self._period, len(self._kernel) // 2
        first, last = t[ripe][0], t[ripe][-1]
        count = int(np.ceil((last - first) / period)) + 3
        clock = first - period + np.arange(-half, count + half) * period
        rows = np.array(self._rows)
        uniform = np.stack([np.interp(clock, t, column) for column in rows.T], axis=1)
        smooth = signals.smooth_inside(uniform, self._kernel)
        n = rows.shape[1] // 3
        q = smooth[:, :n]
        v = smooth[:, n:2 * n] if self._measured else signals.differentiate(q, period)
        a = signals.differentiate(v, period)
        tau = smooth[:, 2 * n:] @ self._map.T
        inner = clock[half:half + len(q)]
        at = [np.stack([np.interp(t[ripe], inner, c) for c in x.T], axis=1)
              for x in (q, v, a, tau)]
        return JointSpaceState(t[ripe], 0, *at, rows[ripe, 2 * n:] @ self._map.T)
