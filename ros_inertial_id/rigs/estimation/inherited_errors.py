"""
Errors that an estimate inherits from what was calibrated.

What was calibrated (springs, platform) enters the rows linearly, W beta + C theta = 0, so an
error of theta moves the estimate by the same least squares solution: d beta = -(W+ C) d theta.  It
is the same in all recordings and does not average out, however long they are.  How an IMU sits
moves the rows too: C are their derivatives, and d theta its errors, those by the recording's own
noise and those of the calibration.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from ...dynamics.regressor import RegressorBlock, RowGroup
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import Estimate
from ...estimation.r_factors import RFactors


def inherited_errors(data: Any, base: BaseParameters, estimate: Estimate) -> np.ndarray | None:
    """
    Return H (b, k): errors of the base parameters by k independent ones of unit size, or None.

    data : Dataset of a method that is Calibrated
    """
    method = data.method
    covariance = data.robot.covariance
    covariance = np.zeros((0, 0)) if covariance is None else covariance
    sensitivities = [list(o.motion.extrinsic_sensitivities()) for o in data.observations]
    size, known = len(base), len(covariance)
    roots = [_root(covariance), *(s.own for several in sensitivities for s in several)]
    factors = RFactors(size + sum(map(len, roots)))
    if factors.size == size:
        return None
    joined, place = _Joined(base, base.standard(estimate.params), known, factors), size + known
    for robot, observation, own in zip(data.robots, data.observations, sensitivities):
        others = [replace(observation, motion=m) for s in own for m in s.motions]
        for states in zip(*(o.states(training=True) for o in (observation, *others))):
            calibrated = method.calibrated_rows(states[0], robot)
            moved = (method.regress(state, robot, base.parameters) for state in states)
            for other, *blocks in zip(calibrated, *moved):
                joined.accumulate(other, blocks, own, place)
        place += len(others)
    A = factors.system(estimate.standard_deviation)[0]
    scale = base.prior_sd
    change, *_ = np.linalg.lstsq(A[:, :size] * scale, -A[:, size:] @ block_diag(*roots),
                                 rcond=1e-13)
    return scale[:, None] * change


class _Joined:
    """Folds rows about base columns, then calibrated numbers, then the mountings of IMUs."""

    def __init__(self, base, values, known, factors):
        self.own, self.size, self.values = base.places(), len(base), values
        self.known, self.factors = known, factors

    def accumulate(self, calibrated: RegressorBlock, blocks: Sequence[RegressorBlock],
                   sensitivities: Sequence[Any], place: int) -> None:
        """
        Accumulate rows of one block.

        calibrated : about the calibrated numbers; blocks : of the motion, then of the motions
        with moved extrinsics; sensitivities : to those; place : of their first column
        """
        groups, added = [], self.size + np.arange(self.factors.size - self.size)
        for c, g, *moved in zip(calibrated.groups, *(b.groups for b in blocks)):
            seen = self.own[g.columns] >= 0
            # Of one width for all recordings, as RFactors are.
            W = np.zeros((len(added), len(g.y)))
            theta, at = W[:self.known], place - self.size
            theta[:len(c.columns)] = c.W.T[:self.known]
            residual = np.array([x.W @ self.values[x.columns] - x.y for x in (g, *moved)])
            change = residual[1:] - residual[0]
            for sensitivity in sensitivities:
                slope, change = np.split(change, [len(sensitivity.sizes)])
                slope = slope / sensitivity.sizes[:, None]
                W[at:at + len(slope)] = slope
                at += len(slope)
                if sensitivity.calibrated and self.known > len(c.columns):
                    theta[len(c.columns):] += sensitivity.shared.T @ slope
            groups.append(RowGroup(g.name, g.unit, np.append(self.own[g.columns][seen], added),
                                   np.vstack([g.W.T[seen], W]).T, g.y, g.y_raw))
        self.factors.accumulate(
            RegressorBlock(blocks[0].t, blocks[0].segment, tuple(groups)),
            np.arange(self.factors.size))


def _root(covariance):
    """Return L (k, k) with L L' = covariance, whose last digits may have been cut off."""
    size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    w, V = np.linalg.eigh(covariance / size / size[:, None])
    return size[:, None] * V * np.sqrt(np.maximum(w, 0.0))
