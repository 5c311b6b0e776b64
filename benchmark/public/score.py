"""Figures of one entry on one split."""

from dataclasses import dataclass

import numpy as np

from .signals import Motion

INSIDE = 1.96  # standard deviations that hold 95 % of a normal distribution


@dataclass(frozen=True)
class Score:
    """
    Residuals relative to what was measured, and how far the stated errors hold.

    filtered, raw : RMS of all joints over that of the measured torque [%]; raw of what was
        recorded before the filter
    worst_joint : its name and filtered residual [%]; inside : samples within 1.96 sd [%]
    """

    filtered: float
    raw: float
    worst_joint: tuple[str, float]
    inside: float


def score(joints: tuple[str, ...], motion: Motion, tau: np.ndarray, sd: np.ndarray) -> Score:
    """Return the Score of predicted torques and their standard deviations (N, n)."""
    kept = motion.judged
    residual = (motion.tau - motion.low_passed(tau))[kept]
    raw = (motion.tau_raw - tau)[kept]
    measured = motion.tau[kept]
    each = 100.0 * np.linalg.norm(residual, axis=0) / np.linalg.norm(measured, axis=0)
    worst = int(np.argmax(each))
    return Score(
        float(100.0 * np.linalg.norm(residual) / np.linalg.norm(measured)),
        float(100.0 * np.linalg.norm(raw) / np.linalg.norm(motion.tau_raw[kept])),
        (joints[worst], float(each[worst])),
        float(100.0 * np.mean(np.abs(residual) <= INSIDE * sd[kept])),
    )
