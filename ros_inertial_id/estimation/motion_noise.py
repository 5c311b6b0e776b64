"""
Noise of the motion: what it adds to the uncertainty of least squares, and to its residuals.

The rows are computed from a motion that the filter left noisy, and where the torque is as recorded
that noise is not white: it ends at the cutoff and grows towards it, which is where the regressors
are.  Drawn and sent through the same filter it becomes torque errors e, whose scores W' e have the
covariance that belongs between the bread of the sandwich (White 1980).  Rows are weighted by all
that is left of them: those of a passive joint, whose torque is known to be zero, have no other
noise than the motion's, and would outweigh all others without it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from .base_parameters import BaseParameters
from .problem import bread, effective_standard_deviation, Estimate, Problem, solved_weights
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

    def remaining(self, residuals: Residuals) -> dict[str, float]:
        """
        Return group -> share of what Residuals, correlated as they are, weigh without this noise.

        residuals : of the same data
        """
        whole_time, out = residuals.correlation(), {}
        for name, own in self.covariances.items():
            total, pairs = residuals.covariances[name]
            whole = total / pairs
            padded = np.pad(own, (0, max(0, len(whole) - len(own))))
            remaining = whole - padded[:len(whole)]
            share = float(remaining[0] / whole[0])
            if share > LEAST:
                share *= correlation_time(remaining / remaining[0])
            out[name] = min(1.0, max(share, LEAST) / whole_time[name])
        return out

    def with_errors(self, problem: Problem, estimate: Estimate, residuals: Residuals
                    ) -> tuple[Estimate, np.ndarray]:
        """
        Return the estimate with errors of all other noise, and those of this noise (b, R).

        The latter are by R independent ones of unit size.  Residuals : of the same data
        """
        inverse, weights = bread(problem, estimate), solved_weights(problem, estimate)
        sd = effective_standard_deviation(problem, estimate.standard_deviation)
        meat = np.linalg.inv(problem.base.prior_covariance()) * estimate.leaning
        for name, share in self.remaining(residuals).items():
            rows = problem.factors.groups[name].equations(len(meat)) * sd[name]
            meat += share * rows.T @ rows / weights[name] ** 4
        covariance = inverse @ meat @ inverse
        error = np.sqrt(np.diag(covariance))
        scores = np.sum([s / weights[name] ** 2 for name, s in self.scores.items()], 0)
        return (replace(estimate, cov_params=covariance, bse=error,
                        data_bse=estimate.data_bse * error / estimate.bse),
                inverse @ scores / np.sqrt(scores.shape[1]))


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
