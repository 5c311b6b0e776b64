"""
Inherited errors: how wrong parameters are because of what they rest on.

What was calibrated (springs, platform) enters the rows linearly, W beta + C theta = 0, so an
error of theta moves the estimate by the same least squares solution: d beta = -(W+ C) d theta.  It
is the same in all recordings and does not average out, however long they are.  How an IMU sits
moves the rows too: C are their derivatives, and d theta its errors, those by the recording's own
noise and those of the calibration.
"""

from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag

from .dynamics.regressor import RegressorBlock, RowGroup
from .estimation.information import Information
from .folding import places, standard


def inherited_errors(rows, robots, observations, base, estimate):
    """
    Return H (b, k): errors of the base parameters by k independent ones of unit size, or None.

    rows : a method; one that offers ``calibrated`` has robots with a ``covariance`` (k, k) or
    None, and observations of motions with ``slips``
    """
    if not hasattr(rows, 'calibrated'):
        return None
    covariance = robots[0].covariance
    covariance = np.zeros((0, 0)) if covariance is None else covariance
    slips = [list(o.motion.slips()) for o in observations]
    size, known = len(base), len(covariance)
    roots = [_root(covariance), *(slip.own for found in slips for slip in found)]
    information = Information(size + sum(map(len, roots)))
    if information.size == size:
        return None
    joined, place = _Joined(base, standard(base, estimate), known, information), size + known
    for robot, observation, found in zip(robots, observations, slips):
        others = [replace(observation, motion=m) for slip in found for m in slip.motions]
        for states in zip(*(o.states(training=True) for o in (observation, *others))):
            calibrated = rows.calibrated(states[0], robot)
            moved = (rows.regress(state, robot, base.parameters) for state in states)
            for other, *blocks in zip(calibrated, *moved):
                joined.fold(other, blocks, found, place)
        place += len(others)
    A = information.system(estimate.deviation)[0]
    scale = np.sqrt(np.diag(base.spread()))
    change, *_ = np.linalg.lstsq(A[:, :size] * scale, -A[:, size:] @ block_diag(*roots),
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


class _Joined:
    """Folds rows about base columns, then calibrated numbers, then the mountings of IMUs."""

    def __init__(self, base, values, known, information):
        self.own, self.size, self.values = places(base), len(base), values
        self.known, self.information = known, information

    def fold(self, calibrated, blocks, slips, place):
        """Fold blocks of the motion and of those that slip, whose columns begin at ``place``."""
        groups, added = [], self.size + np.arange(self.information.size - self.size)
        for c, g, *moved in zip(calibrated.groups, *(b.groups for b in blocks)):
            seen = self.own[g.columns] >= 0
            # Of one width for all recordings: an Information wants it.
            W = np.zeros((len(added), len(g.y)))
            theta, at = W[:self.known], place - self.size
            theta[:len(c.columns)] = c.W.T[:self.known]
            rest = np.array([x.W @ self.values[x.columns] - x.y for x in (g, *moved)])
            change = rest[1:] - rest[0]
            for slip in slips:
                slope, change = np.split(change, [len(slip.sizes)])
                slope = slope / slip.sizes[:, None]
                W[at:at + len(slope)] = slope
                at += len(slope)
                if slip.calibrated and self.known > len(c.columns):
                    theta[len(c.columns):] += slip.shared.T @ slope
            groups.append(RowGroup(g.name, g.unit, np.append(self.own[g.columns][seen], added),
                                   np.vstack([g.W.T[seen], W]).T, g.y, g.y_raw))
        self.information.fold(RegressorBlock(blocks[0].t, blocks[0].segment, tuple(groups)),
                              np.arange(self.information.size))


def _root(covariance):
    """Return L (k, k) with L L' = covariance, whose last digits may have been cut off."""
    size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    w, V = np.linalg.eigh(covariance / size / size[:, None])
    return size[:, None] * V * np.sqrt(np.maximum(w, 0.0))
