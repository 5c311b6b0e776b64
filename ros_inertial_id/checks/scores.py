"""
Scores: what further columns could explain of the residual, before any of them is fitted.

Rao's score statistic: at the fit without them, g' S^-1 g / 2 nats, with g the covariance of
columns and residual and S the information of the columns that the fitted parameters do not share
(Rao 1948).  It costs one solution for all alternatives, and where it is small a fit is no use.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .evidence import Evidence

WORTH = 3.0  # nats on the data fitted: less is never certain on data left out


@dataclass(frozen=True)
class Added:
    """
    Further columns, weighed and summed over joints.

    cross : (p, m) products with the fitted columns; own : (m, m) with themselves
    toward : (m,) with the residual
    """

    cross: np.ndarray
    own: np.ndarray
    toward: np.ndarray

    def __add__(self, other: 'Added') -> 'Added':
        return Added(self.cross + other.cross, self.own + other.own, self.toward + other.toward)


def combined(evidence: Evidence, columns: Sequence[np.ndarray]) -> Added:
    """
    Return the Added of columns that are combinations of those in the Gram matrices.

    evidence : of the data; columns : per joint (k, m), as of ``Rows.combined``
    """
    rows, values = evidence.rows, evidence.base.values
    cross = np.zeros((len(rows.prior.mean), columns[0].shape[1]))
    own, toward = np.zeros((cross.shape[1],) * 2), np.zeros(cross.shape[1])
    for j, (at, c, w) in enumerate(zip(rows.places, columns, evidence.base.weight)):
        product = rows.grams[j].sum(0) @ c
        cross[at] += w * (product[:len(at)] + rows.pulled(j, product))
        own += w * c.T @ product
        left = -rows.combined(j, values[at][:, None])[:, 0]
        left[rows.target(j, j)] += 1.0
        toward += w * product.T @ left
    return Added(cross, own, toward)


def sampled(evidence: Evidence, columns: Sequence[np.ndarray], chosen: np.ndarray) -> Added:
    """
    Return the Added of columns that are not zero in some samples only.

    evidence : of the data; columns : per joint (M, m) in the samples ``chosen`` (M,)
    """
    rows = evidence.rows
    cross = np.zeros((len(rows.prior.mean), columns[0].shape[1]))
    own, toward = np.zeros((cross.shape[1],) * 2), np.zeros(cross.shape[1])
    for j, (at, X, w) in enumerate(zip(rows.places, columns, evidence.base.weight)):
        cross[at] += w * rows.columns(j, rows.gravity)[chosen].T @ X
        own += w * X.T @ X
        toward += w * X.T @ evidence.left[chosen, j]
    return Added(cross, own, toward)


def each(evidence: Evidence, added: Added) -> tuple[np.ndarray, np.ndarray]:
    """Return (m,) nats of each of ``added`` alone, by ``evidence``, and the values of each."""
    S = np.diagonal(_information(evidence, added))
    return 0.5 * added.toward ** 2 / S, added.toward / S


def together(evidence: Evidence, added: Added) -> float:
    """Return the nats of all ``added`` columns at once, by ``evidence``, less their number."""
    S = _information(evidence, added)
    return float(0.5 * added.toward @ np.linalg.solve(S, added.toward) - len(S))


def _information(evidence: Evidence, added: Added) -> np.ndarray:
    """Return S (m, m): what of ``added`` columns the parameters of ``evidence`` do not share."""
    cross = added.cross * evidence.rows.prior.sd[:, None]
    return added.own + np.eye(len(added.own)) - cross.T @ evidence.covariance @ cross


def each_by_few(evidence: Evidence, columns: Sequence[np.ndarray],
                chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return nats and values as ``each``, of columns that are known in some of the samples alone.

    evidence : of the data; columns : per joint (M, m) in the samples ``chosen`` (M,)
    The other columns are taken there as well: what they share must cancel.
    """
    rows, sd, p = evidence.rows, evidence.rows.prior.sd, len(evidence.rows.prior.mean)
    m = columns[0].shape[1]
    H, g = np.eye(p + m), np.zeros(p + m)
    g[:p] = (rows.prior.mean - evidence.base.values) / sd
    for j, (at, X, w) in enumerate(zip(rows.places, columns, evidence.base.weight)):
        A = np.hstack([rows.columns(j, rows.gravity)[chosen] * sd[at], X])
        places = np.append(at, p + np.arange(m))
        w = w * len(rows.fold) / len(chosen)
        H[np.ix_(places, places)] += w * A.T @ A
        g[places] += w * A.T @ evidence.left[chosen, j]
    shared = np.linalg.solve(H[:p, :p], np.column_stack([H[:p, p:], g[:p]]))
    S = np.diagonal(H[p:, p:] - H[p:, :p] @ shared[:, :-1])
    toward = g[p:] - H[p:, :p] @ shared[:, -1]
    return 0.5 * toward ** 2 / S, toward / S
