"""Feedforward: how far the torque of a model will be from the robot's on a motion to come."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..identification.identified_model import IdentifiedModel
from ..identification.judge.prediction import alarm_ratios, band_for, TWO_SIGMA

CHANCE = 0.05  # that the largest error of a joint on the motion exceeds the peak


@dataclass(frozen=True)
class FeedforwardError:
    """
    What a controller that feeds a model forward has to expect of it on a motion of n joints.

    rms, peak : (n,) of the error of the torque [N m], [N] of sliders; one motion in twenty has a
        larger peak; not a number where the model has no band
    outside : share of the motion beyond the validity range, where both are by rule, not by data
    """

    names: tuple[str, ...]
    rms: np.ndarray
    peak: np.ndarray
    outside: float

    def words(self) -> str:
        """Return the errors in words, joint by joint."""
        unknown = [name for name, peak in zip(self.names, self.peak) if not np.isfinite(peak)]
        if unknown:
            return (
                'feedforward error not known: the model has no band for '
                f'{", ".join(unknown)}; identify this robot again'
            )
        errors = ', '.join(
            f'{name} {rms:.2g} and {peak:.2g}'
            for name, rms, peak in zip(self.names, self.rms, self.peak)
        )
        words = f'feedforward error of the model, rms and peak [N m, N]: {errors}'
        if self.outside:
            words += f'; {100.0 * self.outside:.0f} % of the motion is beyond the validity range'
        return words

    def plain(self) -> dict[str, Any]:
        """Return {rms, peak: {joint: value}, outside_percent} in plain Python values."""
        return {
            'rms': self._by_joint(self.rms),
            'peak': self._by_joint(self.peak),
            'outside_percent': round(100.0 * self.outside, 1),
        }

    def _by_joint(self, values: np.ndarray) -> dict[str, float]:
        """Return {joint: value} of those that are numbers, to four digits."""
        return {
            name: float(f'{value:.4g}')
            for name, value in zip(self.names, values)
            if np.isfinite(value)
        }


def feedforward_error(
    model: IdentifiedModel, joints: Sequence[str], t: np.ndarray, motion: Sequence[np.ndarray]
) -> FeedforwardError:
    """Return that of a ``model`` on a ``motion``: q, v, a (N, n) of ``joints`` at t (N,) [s]."""
    states = {}
    for j, joint in enumerate(joints):
        states[joint] = {name: x[:, j] for name, x in zip('qva', motion)}
    half, outside = band_for(model, joints).at(states)
    per_hour = 3600.0 * CHANCE * len(joints) / max(float(t[-1] - t[0]), 1e-3)
    ratios = alarm_ratios(model.statistics.get('prediction_band') or {}, joints, per_hour)
    return FeedforwardError(
        tuple(joints),
        np.sqrt(np.mean(half**2, axis=0)) / TWO_SIGMA,
        ratios * half.max(axis=0),
        float((outside > 0.0).any(axis=1).mean()),
    )
