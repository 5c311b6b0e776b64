"""
What a motion shows of the widths over which Coulomb friction changes sign, a nonlinear parameter.

The torque c tanh(v / w) changes with log w by -c g(v / w), g(x) = x / cosh(x)^2: only speeds near
the width show it, and only there does it matter.  In a local design (Chernoff 1953) this slope is
one more column per joint.  It is next to orthogonal to the others (zero but for hundredths of the
time), so what it adds to the variance of predicted torques, relative to that of a measurement, is

    E[g^2] / (1 / PRIOR^2 + sum over the samples of g^2),

whatever the level c of friction is; E over the workspace.
"""

import numpy as np

SAMPLES = 1000  # of a period: a joint passes through the width in hundredths of a second
END = 0.2       # [s] at both ends of a motion, from rest: presliding, and filters that guess
PRIOR = 2.0     # c / sigma, of friction of 1 % and noise of 0.5 % of the torque limit; the
#                 logarithm of a width is known to 1 beforehand


def counts(times: np.ndarray, period: float) -> np.ndarray:
    """Return (N,) whether the speeds at times (N,) of one ``period`` [s] show a width."""
    return (times > END) & (times < period - END)


def moments(most: np.ndarray, power: float, width: float) -> np.ndarray:
    """Return E[g^2] (n,) for speeds u^power times ``most`` (n,), u uniform; width [rad/s, m/s]."""
    u = (np.arange(SAMPLES) + 0.5) / SAMPLES
    return (_slope(np.outer(most, u ** power) / width)[0] ** 2).mean(1)


def by_widths(v: np.ndarray, width: float, expected: np.ndarray, samples: float
              ) -> tuple[np.ndarray, np.ndarray]:
    """
    Return what not knowing the widths adds to the variance of each joint, its derivatives by v.

    Both in arrays, (n,) and (n, N).
    v : (n, N) velocities that stand for ``samples`` measured ones; width [rad/s, m/s]
    expected : (n,) E[g^2] of the workspace, see ``moments``
    """
    g, by_x = _slope(v / width)
    share = samples / v.shape[1]
    shown = PRIOR ** -2.0 + share * (g ** 2).sum(1)
    out = expected / shown
    return out, -(out / shown)[:, None] * (2.0 * share / width) * g * by_x


def _slope(x):
    """Return g(x) and its derivative."""
    square = np.cosh(np.clip(x, -300.0, 300.0)) ** -2.0
    return x * square, square * (1.0 - 2.0 * x * np.tanh(x))
