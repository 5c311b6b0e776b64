"""
What an estimate owes to errors that all samples have in common, such as a clock that is late.

They move the rows of all samples alike, and no length of the recording averages them out:
d beta = W+ C, with C what an error of unit size changes.
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


class MovedRows(NamedTuple):
    """
    Some rows of a recording, by group.

    W : {group: (N, p)} about the parameters
    moved : {group: (N, k)} what each of k errors changes that is one standard error
    own : how many of them, the first, are of clocks, which every recording has of its own
    """

    W: dict[str, np.ndarray]
    moved: dict[str, np.ndarray]
    own: int


class CommonErrors(OwnErrors):
    """What is known to a standard error is in the rows of all samples."""

    @abstractmethod
    def moved_rows(
        self, observation: Any, robot: Any, parameters: Sequence[Parameter], values: np.ndarray
    ) -> MovedRows | None:
        """
        Return MovedRows of some samples of an ``observation``, None without a common error.

        parameters, values : (p,) of the estimate
        """

    def estimate(
        self, data: Any, problem: Problem, draft: np.ndarray, residuals: Residuals
    ) -> EstimateOfRows:
        """Return the EstimateOfRows of a ``problem``; see OwnErrors."""
        free = ESTIMATORS[data.options.estimator](problem)
        own, shared = [], []
        for robot, observation in zip(data.robots, data.observations):
            rows = self.moved_rows(observation, robot, problem.base.parameters, draft)
            if rows is not None:
                moves = _moves(rows, problem.base, free) / len(data.observations)
                own.append(moves[:, : rows.own])
                shared.append(moves[:, rows.own :])
        if not own:
            return EstimateOfRows(free)
        return EstimateOfRows(free, of_clocks=np.hstack(own), of_model=np.sum(shared, axis=0))


def _moves(rows: MovedRows, base: BaseParameters, estimate: Estimate) -> np.ndarray:
    """Return H (b, k): what errors of unit size make of the base parameters."""
    W, moved = [], []
    for group, of_group in rows.W.items():
        weight = 1.0 / max(estimate.standard_deviation[group], 1e-12)
        W.append(weight * of_group[:, base.independent])
        moved.append(weight * rows.moved[group])
    return np.asarray(pseudo_inverse(np.vstack(W), base.prior_sd) @ np.vstack(moved))
