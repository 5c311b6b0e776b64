"""
A force on one link, which loads every joint that carries the link: J' f (Haddadin et al. 2017).

Three unknowns explain all joints at once, so a push that is small in each of them is certain in
all together, and friction of some joints is none: no force loads these alone.
"""

from collections.abc import Callable

import numpy as np

from .rows import Rows

WEAK = 0.02  # of a link's strongest lever: a force along a weaker one is not seen


def force_nats(rows: Rows, chosen: np.ndarray, mean: np.ndarray, square: np.ndarray,
               usual: np.ndarray, nats: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """
    Return (M,) nats that the best force on the middle of one link explains, less its unknowns.

    rows : of all samples; chosen : (M,) samples; mean, square : (M, n) of the residuals around
    these; usual : (n,) size of residuals [N m]; nats : (..., n) of a mean square of residuals
    """
    levers = _levers(rows, chosen)
    force = np.linalg.pinv(levers / usual[:, None], rcond=WEAK) @ (mean / usual)[..., None]
    torque = (levers @ force)[..., 0]
    left = square - 2.0 * mean * torque + torque ** 2
    explained = (nats(square) - nats(left)).sum(axis=2)
    loaded = np.any(levers != 0.0, axis=(1, 3)).sum(axis=1)
    return np.asarray((explained - np.minimum(loaded, 3)[:, None]).max(axis=0))


def _levers(rows: Rows, chosen: np.ndarray) -> np.ndarray:
    """Return (links, M, n, 3): torques of unit forces on each link, where its gravity pulls."""
    count = len(rows.robot)
    bodies = rows.prior.mean[:10 * count].reshape(count, 10)
    mass = np.where(bodies[:, :1] > 0.0, bodies[:, :1], np.inf)
    point = np.hstack([np.ones((count, 1)), bodies[:, 1:4] / mass])
    out = np.zeros((count, len(chosen), count, 3))
    for j, (at, heavy) in enumerate(zip(rows.places, rows.heavy)):
        links = at[heavy][::4] // 10
        pulled = rows.matrices[j][chosen, len(at):].reshape(len(chosen), 3, len(links), 4)
        out[links, :, j] = np.einsum('mxlk,lk->lmx', pulled, point[links])
    return out
