"""Mending: the data as they would be without a cause that was found, to look at what remains."""

from dataclasses import replace

import numpy as np

from .grams import grams_of
from .hypothesis import Candidate
from .rows import Motion, Rows, rows_of


def mended(rows: Rows, cause: Candidate) -> Rows:
    """
    Return the Rows of the same samples as if a ``cause`` were not there.

    rows : of all samples that the cause was fitted to
    """
    if cause.axes is not None:
        motion = rows.motion
        turned = replace(motion, q=motion.q * cause.axes, v=motion.v * cause.axes,
                         a=motion.a * cause.axes)
        rows = replace(rows_of(rows.robot, turned, rows.prior), gravity=rows.gravity)
    motion = _torques(rows, cause)
    targets = tuple(np.hstack([motion.tau, motion.late[:, j]]) for j in range(len(rows.robot)))
    return replace(rows, motion=motion, targets=targets, gravity=cause.hypothesis.gravity,
                   grams=grams_of(rows.matrices, targets, rows.fold))


def _torques(rows: Rows, cause: Candidate) -> Motion:
    """Return the Motion with the efforts that the hypothesis of a cause makes of them."""
    h, motion, count = cause.hypothesis, rows.motion, len(rows.robot)
    free = cause.fit.values[len(rows.prior.mean):]
    tau, late = motion.tau.copy(), motion.late.copy()
    for j in range(count):
        k = int(h.target[j])
        own = k < count
        tau[:, j] = h.scale[j] * (motion.tau[:, k] if own else motion.late[:, j, k - count])
        late[:, j] = h.scale[j] * motion.late[:, k if own else j]
        known = h.extra[j] @ -free if h.extra else h.added[j] if h.added else np.zeros(len(tau))
        tau[:, j] += known
        late[:, j] += known[:, None]
    return replace(motion, tau=tau, late=late)
