"""
Interpolation: values at jittering stamps, at other times.

Cubic splines follow a motion where straight lines would flatten it (by 0.3 % for 2.5 Hz sampled at
100 Hz) and leave noise about as large between the stamps as on them.  A spline is local: a sample
two dozen away counts less than rounding, so a long recording is interpolated piece by piece with
the same result, and nothing beyond a gap counts.
"""

import numpy as np

LONGEST_GAP = 0.05  # [s]: a motion at 5 Hz is still followed in between
PERIODS = 10        # ... and of a slow series, so many of its own periods
REACH = 24          # samples: 0.27^24 of a sample is left in the spline so far away
SAME = 1e-6         # periods between a stamp and where a value is wanted
NEAR = 0.25         # periods: samples stamped closer count as one, or their noise has no bounds


def longest_gap(steps: np.ndarray) -> float:
    """Return the time [s] that a series with ``steps`` (n,) [s] between stamps may be silent."""
    return max(LONGEST_GAP, PERIODS * float(np.median(steps))) if len(steps) else 0.0


def interpolate(stamps: np.ndarray, values: np.ndarray, t: np.ndarray) -> np.ndarray:
    """
    Return values (N, k) at increasing times by cubic interpolation.

    stamps : (n,) increasing [s] of values (n, k); t : (N,) [s] wanted, which may begin and end a
    little outside of the stamps.  What lies beyond a gap before or after t is left out; a gap
    within t is bridged.
    """
    if not len(t):
        return np.empty((0, values.shape[1]))
    low = max(0, int(np.searchsorted(stamps, t[0])) - REACH)
    high = int(np.searchsorted(stamps, t[-1])) + REACH
    at, x = stamps[low:high], values[low:high]
    steps = np.diff(at)
    gaps = np.flatnonzero(steps > longest_gap(steps))
    middle = 0.5 * (at[gaps] + at[gaps + 1])
    first = gaps[middle < t[0]].max(initial=-1) + 1
    last = gaps[middle > t[-1]].min(initial=len(at) - 1) + 1
    at, x = _apart(at[first:last], x[first:last])
    if len(at) < 2:
        return np.repeat(x, len(t), axis=0)
    step = np.median(np.diff(at))
    here = slice(int(np.searchsorted(at, t[0] - SAME * step)), None)
    if len(at[here]) >= len(t) and np.abs(at[here][:len(t)] - t).max() < SAME * step:
        return x[here][:len(t)].copy()  # stamped where they are wanted
    t = np.clip(t, at[0] - step, at[-1] + step)  # further outside a cubic would run away
    from scipy.interpolate import make_interp_spline  # takes long to import: when needed
    return make_interp_spline(at, x, k=min(3, len(at) - 1))(t)


def _apart(t, x):
    """Return stamps (m,) and values (m, k), those too near to each other as one, their mean."""
    steps = np.diff(t)
    if not len(steps):
        return t, x
    near = (steps <= NEAR * np.median(steps)) | (steps <= 0.0)
    if not near.any():
        return t, x
    first = np.flatnonzero(np.r_[True, ~near])
    count = np.diff(np.r_[first, len(t)])
    return np.add.reduceat(t, first) / count, np.add.reduceat(x, first) / count[:, None]
