"""
Inherited errors: how wrong parameters are because the description they rest on was calibrated.

What was calibrated (springs, platform) enters the rows linearly, W beta + C theta = 0, so an
error of theta moves the estimate by the same least squares solution: d beta = -(W+ C) d theta.  It
is the same in all recordings and does not average out, however long they are.
"""

from dataclasses import replace

import numpy as np

from .dynamics.regressor import RegressorBlock, RowGroup
from .estimation.information import Information
from .folding import places


def inherited_errors(rows, robots, observations, base, estimate):
    """
    Return H (b, k): errors of the base parameters by k independent ones of unit size, or None.

    rows : a method; one that offers ``calibrated`` has robots with a ``covariance`` (k, k) or None
    """
    covariance = getattr(robots[0], 'covariance', None)
    if covariance is None:
        return None
    own, size = places(base), len(base)
    information = Information(size + len(covariance))
    everything = np.arange(information.size)
    for robot, observation in zip(robots, observations):
        for state in observation.states(training=True):
            for block, other in zip(rows.regress(state, robot, base.parameters),
                                    rows.calibrated(state, robot)):
                information.fold(_joined(block, other, own, size), everything)
    A = information.system(estimate.deviation)[0]
    scale = np.sqrt(np.diag(base.spread()))
    change, *_ = np.linalg.lstsq(A[:, :size] * scale, -A[:, size:] @ _root(covariance),
                                 rcond=1e-13)
    return scale[:, None] * change


def widened(estimate, errors):
    """Return the Estimate with ``errors`` H (b, k) in its covariance; None adds nothing."""
    if errors is None:
        return estimate
    covariance = estimate.cov_params + errors @ errors.T
    extra = (errors ** 2).sum(1)
    return replace(estimate, cov_params=covariance, bse=np.sqrt(np.diag(covariance)),
                   data_bse=np.sqrt(estimate.data_bse ** 2 + extra))


def _joined(block, other, own, size):
    """Return the RegressorBlock about base columns, then calibrated ones."""
    groups = []
    for g, c in zip(block.groups, other.groups):
        seen = own[g.columns] >= 0
        W = np.vstack([g.W.T[seen], c.W.T])
        groups.append(RowGroup(g.name, g.unit, np.append(own[g.columns][seen], size + c.columns),
                               W.T, g.y, g.y_raw))
    return RegressorBlock(block.t, block.segment, tuple(groups))


def _root(covariance):
    """Return L (k, k) with L L' = covariance, whose last digits may have been cut off."""
    size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    w, V = np.linalg.eigh(covariance / size / size[:, None])
    return size[:, None] * V * np.sqrt(np.maximum(w, 0.0))
