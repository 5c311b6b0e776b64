"""
Errors that an estimate inherits from what was calibrated, and from how its IMUs sit.

What was calibrated (springs, platform) enters the rows linearly, W beta + C theta = 0, so an
error of theta moves the estimate by the same least squares solution: d beta = -(W+ C) d theta.  It
is the same in all recordings and does not average out, however long they are.  How an IMU sits
moves the rows too: C are their changes under its errors, those of the calibration and those by
every recording's own noise.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from ...dynamics.regressor import RegressorBlock, RowGroup
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import Estimate
from ...estimation.least_squares import pseudo_inverse
from ...estimation.r_factors import RFactors


class ErringRows(NamedTuple):
    """
    The rows of a recording, and the same under errors that all its samples share.

    shared, own : how many errors of unit size are those of the calibration, the last numbers of
        it, and how many the recording's own
    blocks : (rows about the calibrated numbers or None, [rows, then under each shared error, then
        under each of the own, ...]) of one block after the other
    """

    shared: int
    own: int
    blocks: Iterator[tuple[RegressorBlock | None, Sequence[RegressorBlock]]]


def inherited_errors(
    recordings: Sequence[ErringRows],
    covariance: np.ndarray,
    base: BaseParameters,
    estimate: Estimate,
) -> np.ndarray | None:
    """
    Return H (b, k): errors of the base parameters by k independent ones of unit size, or None.

    covariance : (c, c) of the calibrated numbers
    """
    size, calibrated = len(base), len(covariance)
    factors = RFactors(size + calibrated + sum(rows.own for rows in recordings))
    if factors.size == size:
        return None
    joined = _Joined(base, base.standard(estimate.params), calibrated, factors)
    first = size + calibrated  # column of the recording's own errors
    for rows in recordings:
        of_calibration = np.arange(size + calibrated - rows.shared, size + calibrated)
        columns = np.append(of_calibration, np.arange(first, first + rows.own))
        first += rows.own
        for calibrated_block, blocks in rows.blocks:
            joined.accumulate(calibrated_block, blocks, columns)
    A = factors.system(estimate.standard_deviation)[0]
    roots = block_diag(_root(covariance), np.eye(factors.size - size - calibrated))
    return pseudo_inverse(A[:, :size], base.prior_sd) @ (-A[:, size:] @ roots)


class _Joined:
    """Folds rows about base columns, then calibrated numbers, then errors of recordings."""

    def __init__(self, base, values, calibrated, factors):
        self.places, self.size, self.values = base.places(), len(base), values
        self.calibrated, self.factors = calibrated, factors

    def accumulate(
        self,
        calibrated: RegressorBlock | None,
        blocks: Sequence[RegressorBlock],
        columns: np.ndarray,
    ) -> None:
        """
        Accumulate rows of one block.

        calibrated : about the calibrated numbers; blocks : as measured, then under each error of
        unit size; columns : of these errors
        """
        groups, added = [], np.arange(self.size, self.factors.size)
        for number, (group, *moved) in enumerate(zip(*(block.groups for block in blocks))):
            places = self.places[group.columns]
            estimated = places >= 0
            # Of one width for all recordings, as RFactors are.
            W = np.zeros((len(added), len(group.y)))
            if calibrated is not None and self.calibrated:
                of_numbers = calibrated.groups[number]
                W[: len(of_numbers.columns)] = of_numbers.W.T
            residual = np.array([x.W @ self.values[x.columns] - x.y for x in (group, *moved)])
            W[columns - self.size] += residual[1:] - residual[0]
            groups.append(
                RowGroup(
                    group.name,
                    group.unit,
                    np.append(places[estimated], added),
                    np.vstack([group.W.T[estimated], W]).T,
                    group.y,
                    group.y_raw,
                )
            )
        self.factors.accumulate(
            RegressorBlock(blocks[0].t, blocks[0].segment, tuple(groups)),
            np.arange(self.factors.size),
        )


def _root(covariance):
    """Return L (k, k) with L L' = covariance, whose last digits may have been cut off."""
    if not len(covariance):
        return covariance
    size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    w, V = np.linalg.eigh(covariance / size / size[:, None])
    return size[:, None] * V * np.sqrt(np.maximum(w, 0.0))
