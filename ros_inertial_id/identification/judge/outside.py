"""Outside: where a validation leaves what the training has seen, and what it costs there."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...dynamics.regressor import RegressorBlock

MARGIN = 0.02  # of a range beyond its ends: an end is one sample, with noise


def excess(seen: Mapping[str, Mapping[str, np.ndarray]], ranges: Mapping[str, Mapping[str, Any]],
           group: str) -> np.ndarray:
    """
    Return how far beyond its ranges a motion is, (N,) in half ranges of the farthest; 0: inside.

    seen : {joint or body: {quantity: (N,)}}
    Positions of all joints count, as they turn the weight; velocity and acceleration its own.
    """
    away = []
    for where, quantities in seen.items():
        for name, x in quantities.items():
            low, high = ranges.get(where, {}).get(name, (-np.inf, np.inf))
            other = group in seen and where != group and name in ('v', 'a')
            if other or not np.isfinite(high - low) or high == low:
                away.append(np.zeros(np.shape(x)))
                continue
            beyond = np.abs(2.0 * x - low - high) / (high - low) - 1.0
            away.append(np.where(beyond > 2.0 * MARGIN, beyond, 0.0))
    return np.max(away, axis=0)


class Outside:
    """
    Sums of squares inside and outside of the validity range of a model.

    ranges : {joint or body: {quantity: [smallest, largest]}} of the training data
    """

    def __init__(self, ranges: Mapping[str, Mapping[str, Any]]) -> None:
        self._ranges = ranges
        self._left: dict[tuple[str, str], list[float]] = {}
        # {group, '' for all: rows inside and outside: samples, squared error, squared target}
        self._sums: dict[str, np.ndarray] = {}

    def mask(self, seen: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """
        Return {joint or body, '' for any: which samples (N,) are outside}, and count them.

        seen : {joint or body: {quantity: (N,)}} of ``Method.validity_range``
        """
        out: dict[str, np.ndarray] = {}
        for where, quantities in seen.items():
            for name, x in quantities.items():
                trained = self._ranges.get(where, {}).get(name)
                if trained is None:
                    continue
                margin = MARGIN * (trained[1] - trained[0])
                beyond = (x < trained[0] - margin) | (x > trained[1] + margin)
                if beyond.any():
                    low, high, count = self._left.get((where, name), (np.inf, -np.inf, 0.0))
                    self._left[where, name] = [min(low, float(x.min())), max(high, float(x.max())),
                                               count + float(beyond.sum())]
                for key in (where, ''):
                    out[key] = out[key] | beyond if key in out else beyond
        return out

    def add(self, block: RegressorBlock, predicted: Mapping[str, np.ndarray],
            beyond: Mapping[str, np.ndarray]) -> None:
        """Add a ``block`` with its prediction {group: (B,)}; ``beyond`` : of ``mask``, (B,)."""
        for group in block.groups:
            error, target = (group.y - predicted[group.name]) ** 2, group.y ** 2
            for key, name in ((group.name, group.name), ('', '')):
                if key not in beyond:
                    continue
                sums = self._sums.setdefault(name, np.zeros((2, 3)))
                for side in (0, 1):
                    own = beyond[key] == bool(side)
                    sums[side] += [own.sum(), error[own].sum(), target[own].sum()]

    def summary(self) -> dict[str, Any]:
        """
        Return what left its range, the share of samples, relative residuals [%]; {} for nothing.

        Of every joint and quantity: trained and seen [smallest, largest], samples_percent; of
        every joint the rms of its residual while it was itself inside, and outside.
        """
        if not self._left:
            return {}
        joints: dict[str, dict[str, Any]] = {}
        count = {name: float(sums[:, 0].sum()) for name, sums in self._sums.items()}
        for (where, name), (low, high, samples) in self._left.items():
            whole = count.get(where) or count[''] / max(1, len(self._sums) - 1)
            joints.setdefault(where, {})[name] = {
                'trained': [float(x) for x in self._ranges[where][name]], 'seen': [low, high],
                'samples_percent': float(100.0 * samples / whole)}
        inside, beyond = self._sums['']
        return {'joints': joints, 'samples_percent': float(100.0 * beyond[0] / count['']),
                'relative_percent_inside': _percent(inside),
                'relative_percent_outside': _percent(beyond),
                'rms': {name: {'inside': _rms(sums[0]), 'outside': _rms(sums[1])}
                        for name, sums in self._sums.items() if name and sums[1, 0]}}


def _percent(sums):
    return float(100.0 * np.sqrt(sums[1] / sums[2])) if sums[2] > 0.0 else None


def _rms(sums):
    return float(np.sqrt(sums[1] / sums[0])) if sums[0] else None
