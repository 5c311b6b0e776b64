"""
Live joint states: the same signals as offline, at a fixed small lag.

Samples come in as they arrive; out come the stamps of those samples for which as much of the
future is known as the filter needs (twice: once for the signals, once for columns with corners,
which are filtered as the torque was), and a JointSpaceState on a uniform clock around them.
"""

import numpy as np

from . import signals
from .kinematic_state import JointSpaceState, Surroundings

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
        """
        Return (stamps (m,) [s] of the samples that are ripe now, JointSpaceState), or None.

        Every sample is ripe once.  The state's clock begins with the first stamp, ends with or
        behind the last and has the samples' own period.
        """
        if len(self._times) < WARM_UP:
            return None
        if self._period is None:
            self._period = float(np.median(np.diff(self._times)))
            half = max(int(self._lag / self._period - 4) // 2, 1)
            self._kernel = signals.zero_phase_kernel(
                self._period, self._cutoff, (half - 0.5) * self._period)
            self._done = self._times[0] + self._margin()
        t = np.array(self._times)
        ripe = (t > self._done) & (t <= t[-1] - self._margin())
        if not ripe.any():
            return None
        stamps = t[ripe]
        state = self._state(t, stamps)
        self._done = stamps[-1]
        old = int(np.searchsorted(t, self._done - self._margin() - 2 * self._period))
        del self._times[:old], self._rows[:old]
        return stamps, state

    def _margin(self):
        """Return what must be known before and after a sample [s]: two half kernels and ends."""
        return (2 * (len(self._kernel) // 2) + 3) * self._period

    def _longest_gap(self):
        return max(signals.LONGEST_GAP, 10 * (self._period or 0.0))

    def _state(self, t, stamps):
        """Return the state on a uniform clock from the first to the last of ``stamps``."""
        period, half = self._period, len(self._kernel) // 2
        count = int(np.ceil((stamps[-1] - stamps[0]) / period - 1e-6)) + 1
        keep = slice(half + 1, half + 1 + count)  # differences at the ends are one-sided
        clock = stamps[0] + np.arange(-2 * half - 1, count + 2 * half + 1) * period
        rows = np.array(self._rows)
        uniform = np.stack([np.interp(clock, t, column) for column in rows.T], axis=1)
        smooth = signals.smooth_inside(uniform, self._kernel)
        n = rows.shape[1] // 3
        q = smooth[:, :n]
        v = smooth[:, n:2 * n] if self._measured else signals.differentiate(q, period)
        a = signals.differentiate(v, period)
        tau, tau_raw = (x[:, 2 * n:] @ self._map.T for x in (smooth, uniform[half:][:len(q)]))
        return JointSpaceState(
            clock[half:][keep], 0, *(x[keep] for x in (q, v, a, tau, tau_raw)),
            Surroundings(q, v, a, self._kernel, keep))
