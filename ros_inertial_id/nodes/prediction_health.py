"""
Whether live predictions are as good as the model promised, inside its validity range, and why not.

A residual beyond the promise for a second is a fault.  Its cause is the one of few that explains
most of it: efforts that are late, of another gain, or off by a constant (least squares of the
residual on the prediction's derivative, the prediction, and one).
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
CAUSE = 3.0    # [s] of which the cause is sought
EXPLAINS = 0.7  # of the residual's square, from which a cause is named


class PredictionHealth:
    """The running residual of every row group of an IdentifiedModel ``model``, and excursions."""

    def __init__(self, model: IdentifiedModel) -> None:
        self._range = model.validity_range
        # On the validation, else in cross-validation, else in training.
        self.promised = [*fits(model).values()][-1]['filtered']['rms']
        self._square = dict.fromkeys(self.promised, 0.0)
        self._weight, self._count = 0.0, 0
        self._waiting: list[tuple[np.ndarray, ...]] = []  # stamps, residuals, measured torques
        self._outside: dict[str, str] = {}
        self._short = np.zeros(len(self.promised))
        self._since = np.full(len(self.promised), np.inf)  # [s] beyond the promise
        self._moments = np.zeros((len(self.promised), 4, 4))
        self._faults: dict[str, str] = {}
        self._last: np.ndarray | None = None

    def account(self, torques: LiveTorques, t: np.ndarray) -> None:
        """
        Take LiveTorques of N samples, stamped t (N,) [s], into the running mean squares.

        torques : with residuals and predictions (N, n) [N m, N]
        """
        self._count += len(t)
        self._waiting.append((t, torques.residual, torques.measured))
        if sum(len(t) for t, *_ in self._waiting) < FEW:
            return
        t, residual, measured = map(np.concatenate, zip(*self._waiting))
        names, self._waiting = torques.names, []
        self._watch_faults(names, residual, measured - residual, t)
        share = min(1.0, len(t) * (t[-1] - t[0] + 1e-9) / (len(t) - 1) / WINDOW)
        self._weight = (1 - share) * self._weight + share
        for name, square in zip(names, np.mean(residual ** 2, axis=0)):
            if np.isfinite(square):
                self._square[name] = (1 - share) * self._square[name] + share * float(square)

    def _watch_faults(self, names, residual, predicted, t):
        """Note which residuals have been beyond the promise for a second, and why."""
        if not np.isfinite(residual).all():
            return
        span = float(t[-1] - t[0]) + 1e-9
        step = span / (len(t) - 1)
        fade = np.exp(-len(t) * step / SHORT)
        self._short = fade * self._short + (1 - fade) * np.mean(residual ** 2, axis=0)
        before = predicted[:1] if self._last is None else self._last
        slope = np.diff(np.concatenate([before, predicted]), axis=0) / step
        self._last = predicted[-1:]
        rows = np.stack([np.ones_like(slope), predicted, slope, residual], axis=2)
        self._moments = (np.exp(-len(t) * step / CAUSE) * self._moments
                         + np.einsum('mji,mjk->jik', rows, rows))
        beyond = np.sqrt(self._short) > WORSE * np.array([self.promised[n] for n in names])
        self._since = np.where(beyond, np.minimum(self._since, t[0]), np.inf)
        for j in np.flatnonzero(t[-1] - self._since >= LASTS):
            self._faults[names[j]] = cause(self._moments[j])

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
            level, words = 'warn', 'residual beyond the promise for a second: ' + '; '.join(
                f'{name}{", " * bool(why)}{why}' for name, why in self._faults.items())
        self._outside, self._faults = {}, {}
        return level, words, values


def cause(moments: np.ndarray) -> str:
    """
    Return in words what explains most of a residual, '' where nothing does.

    moments : (4, 4) sums of products of one, the predicted torque, its derivative, the residual
    """
    square = np.diagonal(moments)
    along = moments[:3, 3] / np.maximum(square[:3], 1e-300)
    explained = along * moments[:3, 3] / max(square[3], 1e-300)
    best = int(np.argmax(explained))
    if explained[best] < EXPLAINS:
        return ''
    if best == 0:
        return f'effort off by {along[0]:.3g}'
    if best == 1:
        gain = 1.0 + along[1]
        return 'effort negated' if gain < -0.5 else f'effort {gain:.3g} times what is predicted'
    return f"effort {abs(1e3 * along[2]):.0f} ms {'late' if along[2] < 0 else 'early'}"
