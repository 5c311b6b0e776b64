"""A controller's way between the points of a trajectory that have accelerations."""

import numpy as np
from scipy.interpolate import PPoly


def quintics(times, q, v, a):
    """Return the PPoly (k, n) of fifth order through q, v, a (k, n) at times (k,) [s]."""
    h = np.diff(times)[:, None]
    step = np.diff(q, axis=0)
    v0, v1, a0, a1 = v[:-1], v[1:], a[:-1], a[1:]
    return PPoly(
        np.array(
            [
                (12.0 * step - 6.0 * (v0 + v1) * h - (a0 - a1) * h**2) / (2.0 * h**5),
                (-30.0 * step + (16.0 * v0 + 14.0 * v1) * h + (3.0 * a0 - 2.0 * a1) * h**2)
                / (2.0 * h**4),
                (20.0 * step - (12.0 * v0 + 8.0 * v1) * h - (3.0 * a0 - a1) * h**2) / (2.0 * h**3),
                a0 / 2.0,
                v0,
                q[:-1],
            ]
        ),
        times,
    )
