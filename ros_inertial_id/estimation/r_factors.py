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

PANEL = 8  # columns that dtpqrt reduces at once: fastest from 4 to 16 for triangles of 20 to 100
_THREADS = ThreadpoolController() if ThreadpoolController else None


def one_thread() -> ContextManager[Any]:
    """Return a context in which BLAS uses one thread: tall-skinny products lose with more."""
    return nullcontext() if _THREADS is None else _THREADS.limit(limits=1, user_api='blas')


def triangle(rows: np.ndarray, R: np.ndarray | None = None, trapezoid: int = 0) -> np.ndarray:
    """
    Return the upper triangle, (k, k), of the QR factorisation of [R; rows].

    rows : (m, k) Fortran-ordered, destroyed; R : (k, k) upper triangle, kept; none by default
    trapezoid : how many of the last ``rows`` are upper trapezoidal, at most k
    """
    k = rows.shape[1]
    R = np.zeros((k, k), order='F') if R is None else R
    # LAPACK's dtpqrt skips the zeros of R, and takes half the time of dgeqrf of the stack.
    R, _, _, status = lapack.dtpqrt(trapezoid, min(PANEL, k), R, rows, overwrite_b=True)
    if status:
        raise np.linalg.LinAlgError(f'dtpqrt: {status}')
    return R


def stack(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return ``parts`` (m, k) below each other, Fortran-ordered, for ``triangle``."""
    out = np.empty((sum(map(len, parts)), parts[0].shape[1]), order='F')
    return np.concatenate(parts, out=out)


def of_columns(R: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """
    Return the upper triangle, (k, k), of some ``columns`` (k,) of an upper triangle R.

    As far as they are the first ones they stand in R already.
    """
    kept = int(np.argmin(np.append(columns == np.arange(len(columns)), False)))
    out = R[: len(columns), columns]
    if kept < len(columns):
        out[kept:, kept:] = triangle(np.asfortranarray(R[kept:, columns[kept:]]))
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
        target = self.R[:, -1 if raw else -2]
        return float(np.linalg.norm(target - self.R[:, :-2] @ x[self.columns]))

    def equations(self, size: int) -> np.ndarray:
        """Return (k + 2, size) of W: the rows of R with a column for each of all ``size``."""
        out = np.zeros((len(self.R), size))
        out[:, self.columns] = self.R[:, :-2]
        return out

    def target(self, raw: bool = False) -> float:
        """Return the norm of y over all rows, of the torque as recorded with ``raw``."""
        return float(np.linalg.norm(self.R[:, -1 if raw else -2]))


@dataclass
class RFactors:
    """What many rows say about ``size`` columns, which those of each GroupFactor index."""

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
            place = keep[group.columns]
            chosen = np.flatnonzero(place >= 0)
            old = self.groups.get(group.name)
            if old is None:
                k = len(chosen) + 2
                old = GroupFactor(group.unit, place[chosen], np.zeros((k, k)))
                self.groups[group.name] = old
            # The transpose of a C-ordered (k, rows) is what LAPACK wants, without a copy.
            y, W = group.y[samples], group.W.T[:, samples]
            rows = np.empty((len(old.R), len(y)))
            np.take(W, chosen, axis=0, out=rows[:-2], mode='clip')
            rows[-2], rows[-1] = y, group.y_raw[samples]
            old.R = triangle(rows.T, old.R)
            old.rows += len(y)

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
            own = T[group.columns]
            new = np.flatnonzero(np.any(own, axis=0))
            rows = np.column_stack([group.R[:, :-2] @ own[:, new], group.R[:, -2:]])
            out.groups[name] = GroupFactor(
                group.unit, new, triangle(np.asfortranarray(rows)), group.rows
            )
        return out

    def system(
        self, standard_deviation: Mapping[str, float] | None = None
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """
        Return (A (p, p) upper triangular, b (p,), |residual outside A|) of the weighted rows.

        standard_deviation : name -> standard deviation of the group's rows; ones by default
        """
        stack = []
        for name, group in self.groups.items():
            rows = np.zeros((len(group.R), self.size + 1))
            rows[:, group.columns] = group.R[:, :-2]
            rows[:, -1] = group.R[:, -2]
            stack.append(rows / (standard_deviation[name] if standard_deviation else 1.0))
        R = triangle(np.asfortranarray(np.vstack(stack)))
        return R[:-1, :-1], R[:-1, -1], abs(R[-1, -1])

    def rows(self) -> float:
        """Return the number of rows, over all groups."""
        return sum(group.rows for group in self.groups.values())


def merge(folds: Sequence[RFactors]) -> RFactors:
    """Return the RFactors of all ``folds`` together."""
    out = RFactors(folds[0].size)
    for name in dict.fromkeys(name for f in folds for name in f.groups):
        own = [f.groups[name] for f in folds if name in f.groups]
        R = triangle(stack([g.R for g in own])) if len(own) > 1 else own[0].R
        out.groups[name] = GroupFactor(own[0].unit, own[0].columns, R, sum(g.rows for g in own))
    return out
