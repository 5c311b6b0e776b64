"""
Noise of the motion: what it adds to the uncertainty of least squares, and to its residuals.

The rows are computed from a motion that the filter left noisy, and where the torque is as recorded
that noise is not white: it ends at the cutoff and grows towards it, which is where the regressors
are.  Drawn and sent through the same filter it becomes torque errors e, whose scores W' e have the
covariance that belongs between the bread of the sandwich (White 1980).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .base_parameters import BaseParameters
from .problem import effective_standard_deviation, Estimate, Problem
from .residuals import add_lags, autocovariance, correlation_time, Residuals
from ..dynamics.regressor import RegressorBlock

LEAST = 0.02  # share of the residual's variance that is left to the torque at least


@dataclass(frozen=True)
class MotionNoise:
    """
    What R draws of the motion's noise do.

    scores : group -> (b, R) of sum W' e; covariances : group -> (L,) autocovariance of e
    """

    scores: dict[str, np.ndarray]
    covariances: dict[str, np.ndarray]

    def correlation(self, residuals: Residuals) -> dict[str, float]:
        """Return group -> correlation of what is left of Residuals without this noise [rows]."""
        out = residuals.correlation()
        for name, own in self.covariances.items():
            total, pairs = residuals.covariances[name]
            whole = total / pairs
            padded = np.pad(own, (0, max(0, len(whole) - len(own))))
            remaining = whole - padded[:len(whole)]
            if remaining[0] <= LEAST * whole[0]:
                out[name] = LEAST
            else:
                share = float(remaining[0] / whole[0])
                out[name] = correlation_time(remaining / remaining[0]) * share
        return out

    def errors(self, problem: Problem, estimate: Estimate) -> np.ndarray:
        """Return H (b, R): errors of the base parameters by R independent ones of unit size."""
        standard_deviation = effective_standard_deviation(problem, estimate.standard_deviation)
        scores = np.sum([s / standard_deviation[name] ** 2 for name, s in self.scores.items()], 0)
        return estimate.cov_params @ scores / np.sqrt(scores.shape[1])


def motion_noise(pairs: Iterable[tuple[RegressorBlock, dict[str, np.ndarray], float]],
                 base: BaseParameters) -> MotionNoise | None:
    """
    Return the MotionNoise of (RegressorBlock, group -> errors (B, R), times each counts).

    base : BaseParameters of the columns of the blocks.  None where there are no pairs.
    pairs : such triples, in order of time
    """
    place = base.places()
    scores: dict[str, np.ndarray] = {}
    sums: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for block, errors, times in pairs:
        for group in block.groups:
            e = errors[group.name]
            seen = place[group.columns] >= 0
            own = scores.setdefault(group.name, np.zeros((len(base), e.shape[1])))
            own[place[group.columns][seen]] += np.sqrt(times) * group.W.T[seen] @ e
            add_lags(sums, group.name, *autocovariance(e))
    if not scores:
        return None
    return MotionNoise(scores, {name: total / count for name, (total, count) in sums.items()})
