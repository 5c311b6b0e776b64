"""
Errors that an estimate inherits from what was calibrated.

What was calibrated (springs, platform) enters the rows linearly, W beta + C theta = 0, so an
error of theta moves the estimate by the same least squares solution: d beta = -(W+ C) d theta.  It
is the same in all recordings and does not average out, however long they are.  How an IMU sits
moves the rows too: C are their changes under its errors, those of the calibration and those by
every recording's own noise.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from ...dynamics.regressor import RegressorBlock, RowGroup
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import Estimate
from ...estimation.least_squares import pseudo_inverse
from ...estimation.r_factors import RFactors


def inherited_errors(data: Any, base: BaseParameters, estimate: Estimate) -> np.ndarray | None:
    """
    Return H (b, k): errors of the base parameters by k independent ones of unit size, or None.

    data : Dataset of a method that is Calibrated
    """
    covariance = data.robot.covariance
    if covariance is None:
        covariance = np.zeros((0, 0))
    remaining = [o.motion.erring(shared=False) for o in data.observations]
    size, known = len(base), len(covariance)
    factors = RFactors(size + known + sum(map(len, remaining)))
    if factors.size == size:
        return None
    joined = _Joined(base, base.standard(estimate.params), known, factors)
    first = size + known  # column of the recording's remaining errors
    for robot, observation, motions in zip(data.robots, data.observations, remaining):
        shared = observation.motion.erring(shared=True)
        columns = np.r_[size + known - len(shared) : size + known, first : first + len(motions)]
        first += len(motions)
        erring = [observation, *(replace(observation, motion=m) for m in [*shared, *motions])]
        for states in zip(*(o.states(training=True) for o in erring)):
            calibrated = data.method.calibrated_rows(states[0], robot)
            moved = (data.method.regress(state, robot, base.parameters) for state in states)
            for calibrated_block, *blocks in zip(calibrated, *moved):
                joined.accumulate(calibrated_block, blocks, columns)
    A = factors.system(estimate.standard_deviation)[0]
    roots = block_diag(_root(covariance), np.eye(factors.size - size - known))
    return pseudo_inverse(A[:, :size], base.prior_sd) @ (-A[:, size:] @ roots)


class _Joined:
    """Folds rows about base columns, then calibrated numbers, then errors of how IMUs sit."""

    def __init__(self, base, values, known, factors):
        self.places, self.size, self.values = base.places(), len(base), values
        self.known, self.factors = known, factors

    def accumulate(
        self, calibrated: RegressorBlock, blocks: Sequence[RegressorBlock], columns: np.ndarray
    ) -> None:
        """
        Accumulate rows of one block.

        calibrated : about the calibrated numbers; blocks : of the motion, then of it under each
        error of unit size; columns : of these errors
        """
        groups, added = [], np.arange(self.size, self.factors.size)
        for c, g, *moved in zip(calibrated.groups, *(b.groups for b in blocks)):
            places = self.places[g.columns]
            estimated = places >= 0
            # Of one width for all recordings, as RFactors are.
            W = np.zeros((len(added), len(g.y)))
            if self.known:
                W[: len(c.columns)] = c.W.T
            residual = np.array([x.W @ self.values[x.columns] - x.y for x in (g, *moved)])
            W[columns - self.size] += residual[1:] - residual[0]
            groups.append(
                RowGroup(
                    g.name,
                    g.unit,
                    np.append(places[estimated], added),
                    np.vstack([g.W.T[estimated], W]).T,
                    g.y,
                    g.y_raw,
                )
            )
        self.factors.accumulate(
            RegressorBlock(blocks[0].t, blocks[0].segment, tuple(groups)),
            np.arange(self.factors.size),
        )


def _root(covariance):
    """Return L (k, k) with L L' = covariance, whose last digits may have been cut off."""
    size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    w, V = np.linalg.eigh(covariance / size / size[:, None])
    return size[:, None] * V * np.sqrt(np.maximum(w, 0.0))
