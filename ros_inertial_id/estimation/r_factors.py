"""
R factors (square-root information): all that least squares needs of the data.

The rows of each group (joint) are accumulated, block by block, in the upper triangular R of a QR
factorisation of ``[W, y, y_raw]`` (sequential TSQR; Golub and Van Loan 2013, 6.5): R'R is the sum
of outer products, at the accuracy of QR and not of the normal equations.  From the R factors come
ordinary and weighted solutions, residuals of any candidate, covariance and condition number;
those of other bags, segments or processes merge by one more QR.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
import logging
from typing import Any, ContextManager

import numpy as np

from ..dynamics.regressor import RegressorBlock
from ..lapack import lapack

try:
    from threadpoolctl import ThreadpoolController
except ImportError:  # it has no rosdep key: without it BLAS takes the threads it likes
    ThreadpoolController = None
    logging.getLogger(__name__).debug('threadpoolctl is not installed: BLAS threads not limited')

Y, Y_RAW = -2, -1  # columns of R, after those of W
PANEL = 8  # columns that dtpqrt reduces at once: fastest from 4 to 16 for triangles of 20 to 100
# Of squared lengths of columns, added to them: rounding of sums of products, which may otherwise
# leave of a column that others explain less than nothing.
SUM_ROUNDING = 1e-13
_THREADS = None
if ThreadpoolController is not None:
    _THREADS = ThreadpoolController()


def one_thread() -> ContextManager[Any]:
    """Return a context in which BLAS uses one thread: tall-skinny products lose with more."""
    if _THREADS is None:
        return nullcontext()
    return _THREADS.limit(limits=1, user_api='blas')


def triangle(rows: np.ndarray, R: np.ndarray | None = None, trapezoid: int = 0) -> np.ndarray:
    """
    Return the upper triangle, (k, k), of the QR factorisation of [R; rows].

    rows : (m, k) Fortran-ordered, destroyed; R : (k, k) upper triangle, kept; none by default
    trapezoid : how many of the last ``rows`` are upper trapezoidal, at most k
    """
    k = rows.shape[1]
    if R is None:
        R = np.zeros((k, k), order='F')
    # LAPACK's dtpqrt skips the zeros of R, and takes half the time of dgeqrf of the stack.
    R, _, _, status = lapack.dtpqrt(trapezoid, min(PANEL, k), R, rows, overwrite_b=True)
    if status:
        raise np.linalg.LinAlgError(f'dtpqrt: {status}')
    return R


def stack(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return ``parts`` (m, k) below each other, Fortran-ordered, for ``triangle``."""
    out = np.empty((sum(map(len, parts)), parts[0].shape[1]), order='F')
    return np.concatenate(parts, out=out)


def products_triangle(products: np.ndarray) -> np.ndarray:
    """
    Return an upper triangle R (k, k), R'R the ``products`` (k, k) of columns with each other.

    Of a column that others explain what is left is known to SUM_ROUNDING of its squared length.
    """
    length = np.sqrt(np.maximum(np.diagonal(products), 0.0))  # which rounding may make negative
    scale = np.where(length > 0.0, length, np.inf)
    scaled = products / scale / scale[:, None]
    np.fill_diagonal(scaled, 1.0 + SUM_ROUNDING)
    try:
        R = np.linalg.cholesky(scaled).T
    except np.linalg.LinAlgError:  # many columns are one but for rounding
        values, axes = np.linalg.eigh(scaled)
        R = triangle(
            np.asfortranarray(np.sqrt(np.maximum(values, SUM_ROUNDING))[:, None] * axes.T)
        )
    return np.asfortranarray(R * length)


def combined(products: np.ndarray, T: np.ndarray) -> np.ndarray:
    """
    Return T' P T (..., m, m): ``products`` P (..., k, k) about combinations T (k, m).

    Most of them are one column times a number: these are taken, not multiplied out.
    """
    of_one = np.count_nonzero(T, axis=0) == 1
    column = np.abs(T).argmax(axis=0)
    factor = np.where(of_one, T[column, np.arange(len(column))], 0.0)
    of_several = T[:, ~of_one]
    half = np.take(products, column, axis=-2)  # rows first: they lie together
    half *= factor[:, None]
    half[..., ~of_one, :] = of_several.T @ products
    out = np.take(half, column, axis=-1)
    out *= factor
    out[..., ~of_one] = half @ of_several
    return out


@dataclass
class GroupFactor:
    """columns (k,) of one row group; R (k + 2, k + 2) of [W, y, y_raw]; rows accumulated."""

    unit: str
    columns: np.ndarray
    R: np.ndarray
    rows: float = 0

    def residual(self, x: np.ndarray, raw: bool = False) -> float:
        """Return the norm of y - W x, y_raw instead with ``raw``, of all parameters x (p,)."""
        target = self._target_rows(raw)
        return float(np.linalg.norm(target - self.R[:, :Y] @ x[self.columns]))

    def equations(self, size: int) -> np.ndarray:
        """Return (k + 2, size) of W: the rows of R with a column for each of all ``size``."""
        out = np.zeros((len(self.R), size))
        out[:, self.columns] = self.R[:, :Y]
        return out

    def target(self, raw: bool = False) -> float:
        """Return the norm of y over all rows, of the torque as recorded with ``raw``."""
        return float(np.linalg.norm(self._target_rows(raw)))

    def _target_rows(self, raw):
        """Return the column of y, or of y_raw, in R."""
        if raw:
            return self.R[:, Y_RAW]
        return self.R[:, Y]


@dataclass
class RFactors:
    """
    What many rows say of ``size`` columns.

    groups : name -> GroupFactor, whose columns are indices into those
    """

    size: int
    groups: dict[str, GroupFactor] = field(default_factory=dict)

    def accumulate(
        self, block: RegressorBlock, keep: np.ndarray, samples: np.ndarray | slice = slice(None)
    ) -> None:
        """
        Take in ``samples`` of a RegressorBlock.

        keep : (its columns,) -> index of ours, -1 to leave out
        """
        for group in block.groups:
            indices = keep[group.columns]
            chosen = np.flatnonzero(indices >= 0)
            factor = self.groups.get(group.name)
            if factor is None:
                k = len(chosen) + 2
                factor = GroupFactor(group.unit, indices[chosen], np.zeros((k, k)))
                self.groups[group.name] = factor
            # The transpose of a C-ordered (k, rows) is what LAPACK wants, without a copy.
            y, W = group.y[samples], group.W.T[:, samples]
            rows = np.empty((len(factor.R), len(y)))
            np.take(W, chosen, axis=0, out=rows[:Y], mode='clip')
            rows[Y], rows[Y_RAW] = y, group.y_raw[samples]
            factor.R = triangle(rows.T, factor.R)
            factor.rows += len(y)

    def fade(self, share: float) -> None:
        """Let what was accumulated so far count only a ``share`` of what will be."""
        for group in self.groups.values():
            group.R, group.rows = np.sqrt(share) * group.R, share * group.rows

    def merge(self, other: 'RFactors') -> 'RFactors':
        """Return the RFactors of both, neither changed."""
        merged = RFactors(self.size, dict(self.groups))
        for name, theirs in other.groups.items():
            ours = merged.groups.get(name)
            if ours is None:
                merged.groups[name] = theirs
                continue
            R = triangle(theirs.R.copy(order='F'), ours.R, len(theirs.R))
            merged.groups[name] = GroupFactor(ours.unit, ours.columns, R, ours.rows + theirs.rows)
        return merged

    def select(self, keep: np.ndarray | Sequence[int]) -> 'RFactors':
        """Return the RFactors about the columns ``keep`` (indices) alone, in that order."""
        return self.combine(np.eye(self.size)[:, np.asarray(keep, dtype=int)])

    def combine(self, T: np.ndarray) -> 'RFactors':
        """Return the RFactors about columns that are combinations of ours, T (p, new)."""
        out = RFactors(T.shape[1])
        for name, group in self.groups.items():
            T_group = T[group.columns]
            columns = np.flatnonzero(np.any(T_group, axis=0))
            rows = np.column_stack([group.R[:, :Y] @ T_group[:, columns], group.R[:, Y:]])
            R = triangle(np.asfortranarray(rows))
            out.groups[name] = GroupFactor(group.unit, columns, R, group.rows)
        return out

    def system(
        self,
        standard_deviation: Mapping[str, float] | None = None,
        prior: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """
        Return (A (p, p) upper triangular, b (p,), |residual outside A|) of the weighted rows.

        standard_deviation : name -> standard deviation of the group's rows; ones by default
        prior : upper triangle (p + 1, p + 1) of further rows, the target last
        """
        weighted = []
        for name, group in self.groups.items():
            rows = np.zeros((len(group.R), self.size + 1))
            rows[:, group.columns] = group.R[:, :Y]
            rows[:, -1] = group.R[:, Y]
            if standard_deviation:
                rows /= standard_deviation[name]
            weighted.append(rows)
        R = triangle(stack(weighted), prior)
        return R[:-1, :-1], R[:-1, -1], abs(R[-1, -1])

    def rows(self) -> float:
        """Return the number of rows, over all groups."""
        return sum(group.rows for group in self.groups.values())


def merge(folds: Sequence[RFactors]) -> RFactors:
    """Return the RFactors of all ``folds`` together."""
    out = RFactors(folds[0].size)
    groups: dict[str, list[GroupFactor]] = {}
    for fold in folds:
        for name, group in fold.groups.items():
            groups.setdefault(name, []).append(group)
    for name, parts in groups.items():
        R = parts[0].R
        for part in parts[1:]:
            R = triangle(part.R.copy(order='F'), R, trapezoid=len(R))
        rows = sum(part.rows for part in parts)
        out.groups[name] = GroupFactor(parts[0].unit, parts[0].columns, R, rows)
    return out
