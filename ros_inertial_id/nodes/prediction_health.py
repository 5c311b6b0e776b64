"""Whether live residuals are as small as those of the model, inside its validity range."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..dynamics.robot_model import RobotModel
from ..identification.identified_model import IdentifiedModel
from ..methods.contract import LiveTorques
from ..report.knowledge import fits

NO_MODEL = 'no model yet'  # what torque_prediction says until it has one
OUTSIDE = 0.1  # how far beyond the identified range, as a share of it, is outside
RMS_MEMORY = 10.0  # [s] over which the running RMS forgets
WORSE = 2.0  # times the RMS of the model's own residual, from which it is worth a warning
SMALLEST_RMS = 1e-12  # [N m, N] that is no zero


def force_units(robot: Any) -> dict[str, str]:
    """Return {joint: unit of its effort} of an arm, nothing of another ``robot``."""
    if not isinstance(robot, RobotModel):
        return {}
    return {name: ('N m', 'N')[slides] for name, slides in zip(robot.joint_names, robot.prismatic)}


class PredictionHealth:
    """
    The running residual of every row group of a ``model``, and excursions.

    robot : that the model is of, whose joints have units; None: unknown
    """

    def __init__(self, model: IdentifiedModel, robot: Any = None) -> None:
        self._units = force_units(robot)
        self._range = model.validity_range
        # RMS on the validation, else in cross-validation, else in training.
        self.expected = [*fits(model).values()][-1]['filtered']['rms']
        self._square = dict.fromkeys(self.expected, 0.0)
        self._weight = dict.fromkeys(self.expected, 0.0)  # of it: a residual may not be known
        self._count = 0
        self._newest: float | None = None  # stamp [s]
        self._excursions: dict[str, str] = {}

    def account(
        self, torques: LiveTorques, t: np.ndarray, motion: Mapping[str, Mapping[str, np.ndarray]]
    ) -> None:
        """
        Take LiveTorques of N samples, stamped t (N,) [s], into the running mean squares.

        torques : with residuals (N, n) [N m, N]; motion : {joint: {quantity: (N,)}}
        """
        self._count += len(t)
        newest = float(t[-1])
        since = newest - t[0]
        if self._newest is not None:
            since = newest - self._newest
        self._newest = newest
        share = float(np.clip(since / RMS_MEMORY, 0.0, 1.0))
        for name, square in zip(torques.names, np.mean(torques.residual**2, axis=0)):
            if np.isfinite(square):
                self._weight[name] = (1 - share) * self._weight[name] + share
                self._square[name] = (1 - share) * self._square[name] + share * float(square)
        for where, quantities in motion.items():
            for name, values in quantities.items():
                self._note_excursion(where, name, (values.min(), values.max()))

    def _note_excursion(self, where: str, name: str, extremes: tuple[float, float]) -> None:
        """Note where a quantity of a joint leaves the range in which it was identified."""
        low, high = self._range[where][name]
        slack = OUTSIDE * (high - low)
        for extreme in extremes:
            if not low - slack <= extreme <= high + slack:
                words = f'{extreme:.4g} outside {low:.4g} to {high:.4g}'
                self._excursions[f'{where} {name}'] = words

    def report(self) -> tuple[str, str, dict[str, Any]]:
        """Return (level, words, {key: value}) for diagnostics, excursions since the last one."""
        values: dict[str, Any] = {'predicted': self._count}
        values.update({f'{name} unit': unit for name, unit in self._units.items()})
        ratios = {}
        for name, rms in self._rms().items():
            expected = self.expected[name]
            values[f'{name} rms'] = f'{rms:.4g}'
            values[f'{name} rms expected'] = f'{expected:.4g}'
            ratios[name] = rms / max(expected, SMALLEST_RMS)
        excursions, self._excursions = self._excursions, {}
        if excursions:
            return 'warn', 'outside the validity range', values | excursions
        worse = [name for name, ratio in ratios.items() if ratio > WORSE]
        if worse:
            words = f'residual RMS {max(ratios.values()):.1f} times that of the model: '
            return 'warn', words + ', '.join(worse), values
        return 'ok', 'predicting; residual RMS as that of the model', values

    def _rms(self) -> dict[str, float]:
        """Return {name: running RMS of the residual [N m, N]}, 0 before any sample."""
        rms = dict.fromkeys(self._square, 0.0)
        for name, weight in self._weight.items():
            if weight:
                rms[name] = float(np.sqrt(self._square[name] / weight))
        return rms
