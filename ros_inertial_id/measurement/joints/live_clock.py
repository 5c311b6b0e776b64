"""
LiveClock: the motion of a running machine on one uniform clock, filtered as it comes.

Every tick is filtered once, when as much of the future is known as that needs: a batch costs its
own samples and no window around them.
"""

import numpy as np

from .kinematic_state import FilterContext, History, JointSpaceState
from ..sampling import convolve_inside

BY_PRODUCTS = 64  # ticks: more of them at once are filtered by FFT
ONE_BY_ONE = 4  # ticks: so many are faster one by one
Kernels = tuple[np.ndarray, np.ndarray, np.ndarray]
# Of q, v and a: of which part of the rows, and by the kernel of which derivative.
FROM_POSITIONS = (0, 0), (0, 1), (0, 2)
FROM_VELOCITIES = (0, 0), (1, 0), (1, 1)


class LiveClock:
    """
    Ticks at ``start`` + k ``period`` [s], k = 0, 1, ...

    kernels : (K,) odd, of the motion, its first and its second derivative; of a convolution
    kernel : (2 h + 1,) by which columns and loads are filtered
    measured_velocity : rows of the motion are [q, v], not q alone
    causal : the kernels see the past alone, else as much on both sides
    half : h; past, ahead : ticks that a motion needs before and after it
    moved, loaded : how many ticks have their motion and their loads
    """

    def __init__(
        self,
        start: float,
        period: float,
        kernels: Kernels,
        kernel: np.ndarray,
        measured_velocity: bool,
        causal: bool = False,
    ) -> None:
        longest = max(map(len, kernels))
        self.half = len(kernel) // 2
        if causal:
            self.past, self.ahead = longest - 1, 0
        else:
            self.past = self.ahead = longest // 2
        self.moved, self.loaded = 0, self.past
        self._start, self._period, self._kernel = start, period, kernel
        plan, self._parts = FROM_POSITIONS, 1
        if measured_velocity:
            plan, self._parts = FROM_VELOCITIES, 2
        self._plan = [(part, kernels[order]) for part, order in plan]
        self._rows = np.empty((0, 0))
        self._motion: list[np.ndarray] = []
        self._loads = np.empty((0, 0))
        self._first = self.past  # tick of the first motion and loads that are kept
        self._around: FilterContext | None = None

    def times(self, first: int, end: int) -> np.ndarray:
        """Return the times [s] of the ticks from ``first`` to before ``end``."""
        return self._start + np.arange(first, end) * self._period

    def ticks(self, t: float) -> int:
        """Return the number of ticks until ``t`` [s]."""
        return int(np.floor((t - self._start) / self._period + 1e-6)) + 1

    def move(self, rows: np.ndarray) -> None:
        """Add the motion ``rows`` (M, n or 2 n) of the next ticks, and filter what can be."""
        self._rows = joined_rows(self._rows, rows)
        self.moved += len(rows)
        if len(self._rows) <= self.past + self.ahead:
            return
        n = self._rows.shape[1] // self._parts
        fresh = []
        for part, kernel in self._plan:
            reach = len(kernel) // 2
            if self.ahead:
                reach = self.past
            fresh.append(through(self._rows[:, part * n : (part + 1) * n], kernel, reach))
        if self._motion:
            self._motion = [np.concatenate(pair) for pair in zip(self._motion, fresh)]
        else:
            self._motion = fresh
        self._rows = self._rows[len(fresh[0]) :].copy()

    def load(self, loads: np.ndarray) -> None:
        """Add the loads (M, m) of the next ticks."""
        self._loads = joined_rows(self._loads, loads)
        self.loaded += len(loads)

    def state(self, first: int, last: int) -> JointSpaceState:
        """
        Return the state of the ticks ``first`` to ``last``, and forget what was before them.

        Both grow from call to call; there are motion and loads for ``half`` ticks around them.
        """
        low, half = first - self.half - self._first, self.half
        with_surroundings = slice(low, low + last - first + 2 * half + 1)
        keep = slice(half, half + last - first + 1)
        t = self.times(first - half, last + half + 1)
        q, v, a = (x[with_surroundings] for x in self._motion)
        loads = self._loads[with_surroundings]
        before = History.none(q.shape[1])
        if self._around is not None:
            before = self._around.until(t[0])
        self._around = FilterContext(t, q, v, a, self._kernel, keep, before)
        out = JointSpaceState(
            t[keep],
            0,
            q[keep],
            v[keep],
            a[keep],
            through(loads, self._kernel, half),
            loads[keep],
            self._around,
        )
        old = max(0, last - 1 - half - self._first)
        self._motion = [x[old:] for x in self._motion]
        self._loads, self._first = self._loads[old:], self._first + old
        return out


def joined_rows(rows: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return ``more`` rows (M, k) after ``rows`` (N, k), which may be none of any width."""
    if not rows.size:
        return more
    return np.concatenate([rows, more])


def through(x: np.ndarray, kernel: np.ndarray, reach: int) -> np.ndarray:
    """Return x (N, k) through a ``kernel`` that is no wider than ``reach``: (N - 2 reach, k)."""
    half = len(kernel) // 2
    x = x[reach - half : len(x) - reach + half]
    if len(x) - 2 * half > BY_PRODUCTS:
        return convolve_inside(x, kernel)
    if len(x) - 2 * half <= ONE_BY_ONE:
        return np.stack([kernel[::-1] @ x[k : k + len(kernel)] for k in range(len(x) - 2 * half)])
    # NumPy's sliding_window_view takes longer to check than this to filter.
    x, (count, columns) = np.ascontiguousarray(x), x.shape
    windows = np.ndarray(
        (count - 2 * half, columns, len(kernel)), x.dtype, x, strides=(*x.strides, x.strides[0])
    )
    return windows @ kernel[::-1]


def endpoint_kernels(period: float, samples: int) -> Kernels:
    """
    Return the kernels of value, slope and curvature of a cubic at the newest of its ``samples``.

    period : [s] between samples (Savitzky and Golay 1964)
    """
    t = np.arange(1 - samples, 1) * period
    fit = np.linalg.pinv(np.vander(t / -t[0], 4, increasing=True))
    value, slope, curvature = fit[0], fit[1] / -t[0], 2.0 * fit[2] / t[0] ** 2
    return value[::-1], slope[::-1], curvature[::-1]
