"""Whether live predictions are as good as the model promised, and inside its validity range."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..identification.model import IdentifiedModel

OUTSIDE = 0.1  # how far beyond the identified range, as a share of it, is outside
WINDOW = 10.0  # [s] over which the running RMS forgets
WORSE = 2.0    # times the promised residual, from which it is worth a warning


class PredictionHealth:
    """The running residual of every row group of an IdentifiedModel ``model``, and excursions."""

    def __init__(self, model: IdentifiedModel) -> None:
        self._range = model.validity_range
        fit = model.statistics.get('validation', model.statistics['training'])['filtered']
        self.promised = fit['rms']
        self._square = dict.fromkeys(self.promised, 0.0)
        self._weight, self._count = 0.0, 0
        self._outside: dict[str, str] = {}

    def account(self, names: Sequence[str], residual: np.ndarray, t: np.ndarray) -> None:
        """
        Take residuals into the running mean squares.

        names : of the n row groups; residual : (N, n) [N m, N]; t : stamps (N,) [s]
        """
        share = min(1.0, len(t) * (t[-1] - t[0] + 1e-9) / max(1, len(t) - 1) / WINDOW)
        self._count += len(t)
        self._weight = (1 - share) * self._weight + share
        for name, square in zip(names, np.mean(residual ** 2, axis=0)):
            if np.isfinite(square):
                self._square[name] = (1 - share) * self._square[name] + share * float(square)

    def watch(self, seen: Mapping[str, Mapping[str, np.ndarray]]) -> str:
        """
        Return in words where a motion leaves the validity range of the model, or ''.

        seen : {joint: {quantity: (N,)}} of the motion
        """
        outside = {}
        for where, quantities in seen.items():
            for name, values in quantities.items():
                low, high = self._range[where][name]
                slack = OUTSIDE * (high - low)
                if values.min() < low - slack or values.max() > high + slack:
                    extreme = values.min() if values.min() < low - slack else values.max()
                    outside[f'{where} {name}'] = (
                        f'{extreme:.4g} outside {low:.4g} to {high:.4g}')
        self._outside.update(outside)
        return '; '.join(f'{k} {v}' for k, v in outside.items())

    def report(self) -> tuple[str, str, dict[str, Any]]:
        """Return (level, words, {key: value}) for diagnostics, excursions since the last one."""
        values: dict[str, Any] = {'predicted': self._count}
        worst = 0.0
        for name, square in self._square.items():
            rms = np.sqrt(square / self._weight) if self._weight else 0.0
            values[f'{name} rms'] = f'{rms:.4g}'
            values[f'{name} rms promised'] = f'{self.promised[name]:.4g}'
            worst = max(worst, rms / max(self.promised[name], 1e-12))
        values.update(self._outside)
        level, words = 'ok', 'as promised'
        if worst > WORSE:
            level, words = 'warn', f'residual {worst:.1f} times what was promised'
        if self._outside:
            level, words = 'warn', 'outside the validity range'
        self._outside = {}
        return level, words, values
