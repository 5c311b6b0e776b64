"""
Sampling: values at jittering stamps at other times, filters and spectra of uniform samples.

Cubic splines follow a motion where straight lines would flatten it (by 0.3 % for 2.5 Hz sampled at
100 Hz).  A spline is local: a sample two dozen away counts less than rounding, so a long recording
is interpolated piece by piece with the same result.

What scipy.signal, ndimage, interpolate and fft do as well is here because importing them takes
longer than identifying from ten minutes of data.  The tests hold both together.
"""

from typing import Literal

import numpy as np
from numpy import fft

from ..lapack import lapack

LONGEST_GAP = 0.05  # [s]: a motion at 5 Hz is still followed in between
PERIODS = 10  # ... and of a slow series, so many of its own periods
SPLINE_REACH = 24  # samples: 0.27^24 of a sample is left in the spline so far away
SAME_STAMP = 1e-6  # periods between a stamp and where a value is wanted
NEAR_STAMPS = 0.25  # periods: samples stamped closer count as one, or their noise has no bounds
TOGETHER = 16  # rows of sums of products: more cost products with zero, fewer calls
KERNELS_AT_ONCE = 8  # in one transform at least: longer ones cost memory, shorter ones time


def longest_gap(steps: np.ndarray) -> float:
    """Return the time [s] that a series with ``steps`` (n,) [s] between stamps may be silent."""
    if not len(steps):
        return 0.0
    return max(LONGEST_GAP, PERIODS * float(np.median(steps)))


def interpolate(stamps: np.ndarray, values: np.ndarray, t: np.ndarray) -> np.ndarray:
    """
    Return values (N, k) at increasing times by cubic interpolation.

    stamps : (n,) [s] of values (n, k); t : (N,) [s] wanted, a little outside of the stamps at
    most.  What lies beyond a gap before or after t is left out; a gap within t is bridged.
    """
    if not len(t):
        return np.empty((0, values.shape[1]))
    low = max(0, int(np.searchsorted(stamps, t[0])) - SPLINE_REACH)
    high = int(np.searchsorted(stamps, t[-1])) + SPLINE_REACH
    at, x = stamps[low:high], values[low:high]
    steps = np.diff(at)
    if steps.max(initial=0.0) > LONGEST_GAP:
        gaps = np.flatnonzero(steps > longest_gap(steps))
        middle = 0.5 * (at[gaps] + at[gaps + 1])
        first = gaps[middle < t[0]].max(initial=-1) + 1
        last = gaps[middle > t[-1]].min(initial=len(at) - 1) + 1
        at, x = at[first:last], x[first:last]
    at, x, step = _apart(at, x)
    if len(at) < 2:
        return np.repeat(x, len(t), axis=0)
    here = slice(int(np.searchsorted(at, t[0] - SAME_STAMP * step)), None)
    if len(at[here]) >= len(t) and np.abs(at[here][: len(t)] - t).max() < SAME_STAMP * step:
        return x[here][: len(t)].copy()  # stamped where they are wanted
    t = np.clip(t, at[0] - step, at[-1] + step)  # further outside a cubic would run away
    return _spline(at, x, t)


def _spline(at, x, t):
    """Return the cubic, not-a-knot spline (de Boor 2001, IV) through ``x`` (n, k), at t (N,)."""
    h = np.diff(at)[:, None]
    slope = np.diff(x, axis=0) / h
    if len(at) < 4:
        bend = np.diff(slope, axis=0).sum(0) / (at[-1] - at[0])
        return x[0] + (t - at[0])[:, None] * (slope[0] + (t - at[1])[:, None] * bend)
    a, b = at[2] - at[0], at[-1] - at[-3]  # of the ends, whose two cubics are one
    first = ((h[0] + 2.0 * a) * h[1] * slope[0] + h[0] ** 2 * slope[1]) / a
    last = (h[-1] ** 2 * slope[-2] + (2.0 * b + h[-1]) * h[-2] * slope[-1]) / b
    right = np.vstack([first, 3.0 * (h[1:] * slope[:-1] + h[:-1] * slope[1:]), last])
    s = lapack.dgtsv(
        np.append(h[1:], b),
        np.vstack([h[1], 2.0 * (h[:-1] + h[1:]), h[-2]]),
        np.append(a, h[:-1]),
        right,
    )[3]
    third = (s[:-1] + s[1:] - 2.0 * slope) / h
    second = (slope - s[:-1]) / h - third
    k = (np.searchsorted(at, t, side='right') - 1).clip(0, len(h) - 1)
    u = (t - at[k])[:, None]
    return (((third / h)[k] * u + second[k]) * u + s[k]) * u + x[k]


def held(stamps: np.ndarray, values: np.ndarray, t: np.ndarray, period: float) -> np.ndarray:
    """
    Return means (N, k), over a ``period`` [s] about uniform times, of values held until the next.

    stamps : (n,) [s] of values (n, k), the last of which holds on; t : (N,) [s], a period apart
    """
    edges = np.append(t - 0.5 * period, t[-1:] + 0.5 * period)
    low = max(0, int(np.searchsorted(stamps, edges[0], side='right')) - 1)
    high = int(np.searchsorted(stamps, edges[-1])) + 1
    at, x = stamps[low:high], values[low:high]
    areas = np.cumsum(x[:-1] * np.diff(at)[:, None], axis=0)
    areas = np.concatenate([np.zeros((1, x.shape[1])), areas])
    k = (np.searchsorted(at, edges, side='right') - 1).clip(0)
    return np.asarray(np.diff(areas[k] + (edges - at[k])[:, None] * x[k], axis=0) / period)


def _apart(t, x):
    """Return stamps (m,), values (m, k), those too near as one, their mean; the usual step."""
    steps = np.diff(t)
    step = 0.0
    if len(steps):
        step = np.median(steps)
    near = (steps <= NEAR_STAMPS * step) | (steps <= 0.0)
    if not near.any():
        return t, x, step
    first = np.flatnonzero(np.r_[True, ~near])
    count = np.diff(np.r_[first, len(t)])
    t, x = np.add.reduceat(t, first) / count, np.add.reduceat(x, first) / count[:, None]
    if len(t) > 1:
        step = np.median(np.diff(t))
    return t, x, step


def fast_size(least: int) -> int:
    """Return the first product of powers of 2, 3 and 5 from ``least`` on: it transforms fast."""
    odd = np.outer(3 ** np.arange(12), 5 ** np.arange(8)).ravel()
    return int((odd << np.ceil(np.log2(np.maximum(least / odd, 1.0))).astype(int)).min())


def convolve_inside(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """
    Return x convolved with a kernel where that lies wholly inside: (N - K + 1, k).

    x : (N, k); kernel : (K,), N >= K.  Overlap-save (Oppenheim and Schafer 2010, 8.7).
    """
    K = len(kernel)
    size = fast_size(min(len(x), max(KERNELS_AT_ONCE * K, 4096)))
    response, step = fft.rfft(kernel, size)[:, None], size - K + 1
    out = np.empty((len(x) - K + 1, x.shape[1]))
    for start in range(0, len(out), step):
        part = fft.irfft(fft.rfft(x[start : start + size], size, axis=0) * response, size, axis=0)
        stop = min(start + step, len(out))
        out[start:stop] = part[K - 1 : K - 1 + stop - start]
    return out


def convolve_at(x: np.ndarray, kernel: np.ndarray, rows: slice) -> np.ndarray:
    """
    Return the ``rows`` of ``convolve_inside`` alone, as sums of products: for few of many.

    x : (N, k); kernel : (K,), N >= K; rows : with a step of at least 1
    """
    first, last, step = rows.indices(len(x) - len(kernel) + 1)
    count = len(range(first, last, step))
    # TOGETHER rows at once are a matrix product, each column of it the kernel some steps later.
    shifted = np.zeros((len(kernel) + (TOGETHER - 1) * step, TOGETHER))
    for k in range(TOGETHER):
        shifted[k * step : k * step + len(kernel), k] = kernel[::-1]
    end = max(0, count - 1) // TOGETHER * TOGETHER * step + len(shifted)
    x = np.concatenate([x[first:], np.zeros((max(0, first + end - len(x)), x.shape[1]))])
    pieces = np.lib.stride_tricks.sliding_window_view(x, len(shifted), axis=0)
    out = pieces[:: TOGETHER * step] @ shifted
    return out.transpose(0, 2, 1).reshape(-1, x.shape[1])[:count]


def moving_mean(
    x: np.ndarray, size: int, mode: Literal['symmetric', 'constant'] = 'symmetric'
) -> np.ndarray:
    """
    Return the mean of ``size`` neighbours of each sample (N, ...), by running sums.

    x : (N, ...); mode : what follows beyond the ends, their mirror image or zeros
    """
    ends = [(size // 2 + 1, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 1)
    total = np.cumsum(np.pad(x, ends, mode=mode), axis=0)
    return (total[size:] - total[:-size]) / size


def power_spectra(x: np.ndarray, period: float, window: int) -> tuple[np.ndarray, np.ndarray]:
    """
    Return frequencies (F,) [Hz] and one-sided power densities (K, F, k) of windows [unit^2/Hz].

    x : (N, k); period : [s] between samples; window : samples of a window, N at most
    As Welch 1967, but not averaged: Hann windows that overlap by half, without their straight
    lines.
    """
    pieces = np.lib.stride_tricks.sliding_window_view(x, window, axis=0)[:: window - window // 2]
    line = np.stack([np.ones(window), np.linspace(-1.0, 1.0, window)], axis=1)
    line = np.linalg.qr(line)[0]
    taper = np.hanning(window + 1)[:-1]
    residual = pieces - pieces @ line @ line.T  # (K, k, window)
    power = np.abs(fft.rfft(taper * residual)) ** 2 * (2.0 * period / (taper @ taper))
    power[..., 0] /= 2.0  # zero and the Nyquist frequency stand alone
    if window % 2 == 0:
        power[..., -1] /= 2.0
    return fft.rfftfreq(window, period), power.transpose(0, 2, 1)


def butterworth_kernel(period: float, cutoff: float, order: int, half: int) -> np.ndarray:
    """
    Return the impulse response (2 half + 1,) of a Butterworth low-pass run both ways.

    period : [s] between samples; cutoff : [Hz], where one half is left; order : of one pass
    half : samples on either side.  By the bilinear transform (Oppenheim and Schafer 2010, 7.2).
    """
    # The slowest pole decays with w_c sin(pi / 2 n): what comes round the circle is rounding.
    lasts = 40.0 / (2.0 * np.pi * cutoff * period * np.sin(np.pi / (2 * order)))
    size = fast_size(2 * half + int(lasts) + 1)
    warped = np.tan(np.pi * np.arange(size // 2 + 1) / size) / np.tan(np.pi * cutoff * period)
    with np.errstate(over='ignore'):
        response = 1.0 / (1.0 + warped ** (2 * order))
    kernel = fft.irfft(response, size)
    return np.concatenate([kernel[half:0:-1], kernel[: half + 1]])
