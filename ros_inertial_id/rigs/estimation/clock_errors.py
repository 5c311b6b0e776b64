"""
Methods that find how late clocks are: what the errors of these offsets do to an estimate.

A clock that is late by one standard error moves the rows of all samples alike, and no length of
the recording averages it out: d beta = W+ C, with C what an error of unit size changes.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...dynamics.inertial_parameters import Parameter
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import Estimate, ESTIMATORS, Problem
from ...estimation.least_squares import pseudo_inverse
from ...estimation.residuals import Residuals
from ...methods.capabilities import EstimateOfRows, OwnErrors


class ClockRows(NamedTuple):
    """
    Some rows of a recording, by group.

    W : {group: (N, p)} about the parameters
    moved : {group: (N, k)} what each of k clocks changes that is late by one standard error
    """

    W: dict[str, np.ndarray]
    moved: dict[str, np.ndarray]


class LateClocks(OwnErrors):
    """Clocks of a recording are set right as far as their offsets are known."""

    @abstractmethod
    def clock_rows(
        self, observation: Any, robot: Any, parameters: Sequence[Parameter], values: np.ndarray
    ) -> ClockRows | None:
        """
        Return ClockRows of some samples of an ``observation``, None where no offset was found.

        parameters, values : (p,) of the estimate
        """

    def estimate(
        self, data: Any, problem: Problem, draft: np.ndarray, residuals: Residuals
    ) -> EstimateOfRows:
        """Return the EstimateOfRows of a ``problem``; see OwnErrors."""
        free = ESTIMATORS[data.options.estimator](problem)
        moves = []
        for robot, observation in zip(data.robots, data.observations):
            rows = self.clock_rows(observation, robot, problem.base.parameters, draft)
            if rows is not None:
                moves.append(_moves(rows, problem.base, free) / len(data.observations))
        if not moves:
            return EstimateOfRows(free)
        H = np.hstack(moves)
        return EstimateOfRows(free.widened(H @ H.T), H)


def _moves(rows: ClockRows, base: BaseParameters, estimate: Estimate) -> np.ndarray:
    """Return H (b, k): what errors of unit size of k clocks make of the base parameters."""
    W, moved = [], []
    for group, of_group in rows.W.items():
        weight = 1.0 / max(estimate.standard_deviation[group], 1e-12)
        W.append(weight * of_group[:, base.independent])
        moved.append(weight * rows.moved[group])
    return np.asarray(pseudo_inverse(np.vstack(W), base.prior_sd) @ np.vstack(moved))
