"""A body that wobbles while it turns over and over, as differences of its exact pose show it."""

import numpy as np
from scipy.spatial.transform import Rotation

GRAVITY = np.array([0.0, 0.0, -9.81])
H = 1e-4  # [s] of the differences that make the truth: errors of 1e-7 at these frequencies


def pose(t, tumbling=1.0):
    """Return position and rotation at t (N,) [s]; tumbling 0: it wobbles alone."""
    phase = np.array([0.0, 1.0, 2.0])
    p = 0.03 * np.sin(2 * np.pi * np.array([1.1, 1.7, 2.3]) * t[:, None] + phase)
    wobble = 0.1 * np.sin(2 * np.pi * np.array([1.9, 1.3, 0.9]) * t[:, None] + phase)
    return p, (
        Rotation.from_rotvec(tumbling * np.outer(t, [0.4, 0.7, -0.3]))
        * Rotation.from_rotvec(wobble)
    )


def motion(t):
    """Return rotation, angular velocity, its rate, acceleration; body axes, differences."""

    def rate(t):
        before, after = pose(t - H)[1], pose(t + H)[1]
        return (before.inv() * after).as_rotvec() / (2 * H)

    omega, alpha = rate(t), (rate(t + 10 * H) - rate(t - 10 * H)) / (20 * H)
    p = [pose(t + k * 10 * H)[0] for k in (-1, 0, 1)]
    R = pose(t)[1]
    return R, omega, alpha, R.inv().apply((p[0] - 2 * p[1] + p[2]) / (10 * H) ** 2 - GRAVITY)
