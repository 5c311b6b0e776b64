"""
What an estimate owes to errors that all samples have in common, such as a clock that is late.

They move the rows of all samples alike, and no length of the recording averages them out:
d beta = (W'W + P^-1)^-1 W'C, with C what an error of unit size changes and P the prior of the
description.  Without it an error would move what the rows hardly show by more than any body can
differ from its description, and who asks for a sum then takes it for refuted.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .noisy_rows import NoisyMotion
from ...dynamics.inertial_parameters import Parameter
from ...estimation.estimators import effective_standard_deviation, Estimate, prior_rows, Problem
from ...estimation.residuals import Residuals
from ...methods.capabilities import EstimateOfRows


class MovedRows(NamedTuple):
    """
    Some rows of a recording, by group.

    W : {group: (N, p)} about the parameters
    moved : {group: (N, k)} what each of k errors changes that is one standard error
    own : how many of them, the first, are of clocks, which every recording has of its own
    times : how many samples each of these stands for
    """

    W: dict[str, np.ndarray]
    moved: dict[str, np.ndarray]
    own: int
    times: float


class CommonErrors(NoisyMotion):
    """What is known to a standard error is in the rows of all samples."""

    @abstractmethod
    def moved_rows(
        self, observation: Any, robot: Any, parameters: Sequence[Parameter]
    ) -> MovedRows | None:
        """Return MovedRows of some samples of an ``observation``, None without a common error."""

    def estimate(
        self, data: Any, problem: Problem, draft: np.ndarray, residuals: Residuals
    ) -> EstimateOfRows:
        """Return the EstimateOfRows of a ``problem``; see OwnErrors."""
        out = super().estimate(data, problem, draft, residuals)
        own, shared = [], []
        for robot, observation in zip(data.robots, data.observations):
            rows = self.moved_rows(observation, robot, problem.base.parameters)
            if rows is not None:
                moves = _moves(rows, problem, out.free) / len(data.observations)
                own.append(moves[:, : rows.own])
                shared.append(moves[:, rows.own :])
        if not own:
            return out
        return replace(out, of_clocks=np.hstack(own), of_model=np.sum(shared, axis=0))


def _moves(rows: MovedRows, problem: Problem, estimate: Estimate) -> np.ndarray:
    """Return H (b, k): what errors of unit size make of the base parameters."""
    base = problem.base
    deviations = effective_standard_deviation(problem, estimate.standard_deviation)
    scores = []
    for group, of_group in rows.W.items():
        weight = rows.times / max(deviations[group], 1e-12) ** 2
        scores.append(weight * of_group[:, base.independent].T @ rows.moved[group])
    scale = base.prior_sd
    all_rows = np.vstack([problem.factors.system(deviations)[0], prior_rows(base)[0]]) * scale
    information = all_rows.T @ all_rows
    return scale[:, None] * np.linalg.solve(information, scale[:, None] * np.sum(scores, axis=0))
