"""
What a motion shows of the widths over which Coulomb friction changes sign, a nonlinear parameter.

The torque c tanh(v / w) changes with log w by -c g(v / w), g(x) = x / cosh(x)^2: only speeds near
the width show it, and only there does it matter.  In a local design (Chernoff 1953) this slope is
one more column per joint.  It is next to orthogonal to the others (zero but for hundredths of the
time), so what it adds to the variance of predicted torques, relative to that of a measurement, is

    E[g^2] / (1 / PRIOR^2 + sum over the samples of (h * g)^2),

whatever the level c of friction is; E over the workspace, h the low-pass filter of identification:
of a joint that passes through the width in milliseconds hardly anything comes through it, for g is
odd.
"""

from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

WIDTH_SAMPLES = 2000  # of a period: a joint passes through the width in hundredths of a second
SHOWN_WIDTH = 0.02  # [rad/s, m/s] that is to be shown: good drives have 0.01 to 0.05
FILTER = 0.016  # [s] standard deviation of a low-pass filter of 10 Hz
END = 0.2  # [s] at both ends of a motion, from rest: presliding, and filters that guess
PRIOR = 2.0  # c / sigma, of friction of 1 % and noise of 0.5 % of the torque limit; the
#                 logarithm of a width is known to 1 beforehand


def counts(times: np.ndarray, period: float) -> np.ndarray:
    """Return (N,) whether the speeds at times (N,) of one ``period`` [s] show a width."""
    return (times > END) & (times < period - END)


def moments(most: np.ndarray, power: float) -> np.ndarray:
    """Return E[g^2] (n,) for speeds u^power times ``most`` (n,) [rad/s, m/s], u uniform."""
    u = (np.arange(WIDTH_SAMPLES) + 0.5) / WIDTH_SAMPLES
    return (_slope(np.outer(most, u**power) / SHOWN_WIDTH)[0] ** 2).mean(1)


def width_variances(problem: Any, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the variances (n,) by not knowing the friction widths, their derivatives (n, N) by v.

    v : (n, N) evenly spread over the part of one period of a MotionProblem that counts
        [rad/s, m/s]
    """
    if not problem.width_moments.any():
        return np.zeros(len(v)), np.zeros_like(v)
    counted = counts(np.linspace(0.0, problem.period, WIDTH_SAMPLES), problem.period).mean()
    step = counted * problem.period / v.shape[1]
    return by_widths(v, step, problem.width_moments, problem.share * counted)


def by_widths(
    v: np.ndarray, step: float, expected: np.ndarray, samples: float
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the variance by friction widths of each joint (n,), and its derivatives by v.

    Both in arrays, (n,) and (n, N).
    v : (n, N) velocities every ``step`` [s] that stand for ``samples`` measured ones
    expected : (n,) E[g^2] of the workspace, see ``moments``
    """
    g, by_x = _slope(v / SHOWN_WIDTH)
    share = samples / v.shape[1]
    passed = _filtered(g, step)
    shown = PRIOR**-2.0 + share * (passed**2).sum(1)
    out = expected / shown
    bar = -(out / shown)[:, None] * (2.0 * share / SHOWN_WIDTH) * _filtered(passed, step)
    return out, bar * by_x


def _filtered(g, step):
    """Return g (n, N) low-passed; the filter is symmetric, and so its own adjoint."""
    return gaussian_filter1d(g, FILTER / step, axis=1, mode='constant')


def _slope(x):
    """Return g(x) and its derivative; one exponential is all that a hyperbolic function costs."""
    speed = np.abs(x)
    e = np.exp(-2.0 * speed)
    square = 4.0 * e / (1.0 + e) ** 2
    return x * square, square * (1.0 - 2.0 * speed * (1.0 - e) / (1.0 + e))
