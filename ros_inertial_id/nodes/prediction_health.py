"""Whether live predictions are as good as the model promised, inside its validity range."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..identification.identified_model import IdentifiedModel
from ..methods.contract import LiveTorques
from ..report.knowledge import fits

OUTSIDE = 0.1  # how far beyond the identified range, as a share of it, is outside
WINDOW = 10.0  # [s] over which the running RMS forgets
WORSE = 2.0  # times the promised residual, from which it is worth a warning


class PredictionHealth:
    """The running residual of every row group of an IdentifiedModel ``model``, and excursions."""

    def __init__(self, model: IdentifiedModel) -> None:
        self._range = model.validity_range
        # On the validation, else in cross-validation, else in training.
        self.promised = [*fits(model).values()][-1]['filtered']['rms']
        self._square = dict.fromkeys(self.promised, 0.0)
        self._weight, self._count = 0.0, 0
        self._newest: float | None = None  # stamp [s]
        self._outside: dict[str, str] = {}

    def account(
        self, torques: LiveTorques, t: np.ndarray, seen: Mapping[str, Mapping[str, np.ndarray]]
    ) -> None:
        """
        Take LiveTorques of N samples, stamped t (N,) [s], into the running mean squares.

        torques : with residuals (N, n) [N m, N]; seen : {joint: {quantity: (N,)}} of the motion
        """
        self._count += len(t)
        since, self._newest = self._newest if self._newest is not None else t[0], float(t[-1])
        share = float(np.clip((self._newest - since) / WINDOW, 0.0, 1.0))
        self._weight = (1 - share) * self._weight + share
        for name, square in zip(torques.names, np.mean(torques.residual**2, axis=0)):
            if np.isfinite(square):
                self._square[name] = (1 - share) * self._square[name] + share * float(square)
        for where, quantities in seen.items():
            for name, values in quantities.items():
                low, high = self._range[where][name]
                slack = OUTSIDE * (high - low)
                for extreme in (values.min(), values.max()):
                    if not low - slack <= extreme <= high + slack:
                        self._outside[f'{where} {name}'] = (
                            f'{extreme:.4g} outside {low:.4g} to {high:.4g}'
                        )

    def report(self) -> tuple[str, str, dict[str, Any]]:
        """Return (level, words, {key: value}) for diagnostics, excursions since the last one."""
        values: dict[str, Any] = {'predicted': self._count}
        worse = {}
        for name, square in self._square.items():
            rms = np.sqrt(square / self._weight) if self._weight else 0.0
            values[f'{name} rms'] = f'{rms:.4g}'
            values[f'{name} rms promised'] = f'{self.promised[name]:.4g}'
            if (ratio := rms / max(self.promised[name], 1e-12)) > WORSE:
                worse[name] = ratio
        outside, self._outside = self._outside, {}
        if outside:
            return 'warn', 'outside the validity range', values | outside
        if worse:
            return (
                'warn',
                (
                    f'residual {max(worse.values()):.1f} times what was promised: '
                    + ', '.join(worse)
                ),
                values,
            )
        return 'ok', 'as promised', values
