"""
Whether live predictions are as good as the model promised, inside its validity range.

A residual beyond the promise for a second is a fault.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..identification.model.identified_model import IdentifiedModel
from ..methods.contract import LiveTorques
from ..report.knowledge import fits

OUTSIDE = 0.1  # how far beyond the identified range, as a share of it, is outside
WINDOW = 10.0  # [s] over which the running RMS forgets
WORSE = 2.0    # times the promised residual, from which it is worth a warning
FEW = 20       # samples that are accounted together: of one alone no rate is known
SHORT = 0.2    # [s] over which a residual is averaged to be beyond the promise
LASTS = 1.0    # [s] beyond the promise that are a fault


class PredictionHealth:
    """The running residual of every row group of an IdentifiedModel ``model``, and excursions."""

    def __init__(self, model: IdentifiedModel) -> None:
        self._range = model.validity_range
        # On the validation, else in cross-validation, else in training.
        self.promised = [*fits(model).values()][-1]['filtered']['rms']
        self._square = dict.fromkeys(self.promised, 0.0)
        self._weight, self._count = 0.0, 0
        self._waiting: list[tuple[np.ndarray, ...]] = []  # stamps, residuals
        self._outside: dict[str, str] = {}
        self._short = np.zeros(len(self.promised))
        self._since = np.full(len(self.promised), np.inf)  # [s] beyond the promise
        self._faults: set[str] = set()

    def account(self, torques: LiveTorques, t: np.ndarray) -> None:
        """
        Take LiveTorques of N samples, stamped t (N,) [s], into the running mean squares.

        torques : with residuals (N, n) [N m, N]
        """
        self._count += len(t)
        self._waiting.append((t, torques.residual))
        if sum(len(t) for t, *_ in self._waiting) < FEW:
            return
        t, residual = map(np.concatenate, zip(*self._waiting))
        names, self._waiting = torques.names, []
        self._watch_faults(names, residual, t)
        share = min(1.0, len(t) * (t[-1] - t[0] + 1e-9) / (len(t) - 1) / WINDOW)
        self._weight = (1 - share) * self._weight + share
        for name, square in zip(names, np.mean(residual ** 2, axis=0)):
            if np.isfinite(square):
                self._square[name] = (1 - share) * self._square[name] + share * float(square)

    def _watch_faults(self, names, residual, t):
        """Note which residuals (N, n) at t (N,) [s] have been beyond the promise for a second."""
        if not np.isfinite(residual).all():
            return
        fade = np.exp(-len(t) / (len(t) - 1) * (t[-1] - t[0] + 1e-9) / SHORT)
        self._short = fade * self._short + (1 - fade) * np.mean(residual ** 2, axis=0)
        beyond = np.sqrt(self._short) > WORSE * np.array([self.promised[n] for n in names])
        self._since = np.where(beyond, np.minimum(self._since, t[0]), np.inf)
        self._faults |= {names[j] for j in np.flatnonzero(t[-1] - self._since >= LASTS)}

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
        if self._faults:
            level, words = 'warn', 'residual beyond the promise for a second: ' + ', '.join(
                sorted(self._faults))
        self._outside, self._faults = {}, set()
        return level, words, values
