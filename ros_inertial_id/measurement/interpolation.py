"""
Interpolation: values at jittering stamps, at other times.

Cubic splines follow a motion where straight lines would flatten it (by 0.3 % for 2.5 Hz sampled at
100 Hz) and leave noise about as large between the stamps as on them.  A spline is local: a sample
two dozen away counts less than rounding, so a long recording is interpolated piece by piece with
the same result, and nothing beyond a gap counts.

What scipy.interpolate does as well; importing that takes as long as reading a bag of a minute.
The tests hold both together.
"""

import numpy as np
from scipy.linalg import solve_banded

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
    return cubic_spline(at, x, t)


def cubic_spline(at: np.ndarray, x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """
    Return the cubic spline through values (n, k) at times t: (N, k).

    at : (n,) increasing; x : (n, k); t : (N,).  Its third derivative does not jump at the second
    and the last but one of the stamps (de Boor 1978, IV.8); through two or three it is a parabola.
    """
    h, n = np.diff(at)[:, None], len(at)
    slope = np.diff(x, axis=0) / h
    d = _derivatives(h, slope) if n > 3 else _of_parabola(h, slope)
    i = np.clip(np.searchsorted(at, t, side='right') - 1, 0, n - 2)
    s, h, slope = (t - at[i])[:, None], h[i], slope[i]
    c2, c3 = 3.0 * slope - 2.0 * d[i] - d[i + 1], d[i] + d[i + 1] - 2.0 * slope
    s_h = s / h
    return x[i] + s * (d[i] + s_h * (c2 + s_h * c3))


def _of_parabola(h, slope):
    """Return the derivatives (n, k) at two or three stamps."""
    if len(h) == 1:
        return np.repeat(slope, 2, axis=0)
    bend = (slope[1] - slope[0]) / (h[0] + h[1])
    return np.stack([slope[0] - bend * h[0], slope[0] + bend * h[0], slope[1] + bend * h[1]])


def _derivatives(h, slope):
    """Return the derivatives (n, k) of a not-a-knot spline at its n stamps, four at least."""
    bands, right = np.zeros((3, len(h) + 1)), np.empty((len(h) + 1, slope.shape[1]))
    bands[1, 1:-1] = 2.0 * (h[:-1] + h[1:])[:, 0]
    bands[0, 2:], bands[2, :-2] = h[:-1, 0], h[1:, 0]
    right[1:-1] = 3.0 * (h[1:] * slope[:-1] + h[:-1] * slope[1:])
    for end, near, far in ((0, 0, 1), (-1, -1, -2)):
        both = h[near] + h[far]
        bands[1, end] = h[far, 0]
        bands[0 if end == 0 else 2, 1 if end == 0 else -2] = both[0]
        right[end] = ((h[near] + 2.0 * both) * h[far] * slope[near]
                      + h[near] ** 2 * slope[far]) / both
    return solve_banded((1, 1), bands, right)


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
