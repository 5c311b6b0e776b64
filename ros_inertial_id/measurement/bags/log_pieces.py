"""Columns of a log that is read piece by piece: however long, one piece is in memory."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from .unpacked_size import check_unpacked
from ..recording import empty, page_out

PIECE = 1 << 13  # rows that are read together
_NUMBERS, _TEXTS = 'biuf', 'U'  # kinds of arrays


class GrowingColumn:
    """
    A column (n, ...) of at most ``rows`` rows of a file at ``path``, in a file if it is large.

    Rows that no piece gives are NaN.
    """

    def __init__(self, path: Path, rows: int) -> None:
        self._path, self._rows = path, rows
        self._values: np.ndarray | None = None
        self._end = 0

    def add(self, begin: int, piece: np.ndarray) -> None:
        """Put a ``piece`` (m, ...) into the rows from ``begin`` on."""
        dtype = piece.dtype
        if begin > self._end:
            dtype = _common_type(dtype, np.dtype(float))
        if self._values is not None:
            dtype = _common_type(dtype, self._values.dtype)
        if self._values is None or dtype != self._values.dtype:
            self._begin_anew(dtype, piece.shape[1:])
        assert self._values is not None
        if begin > self._end:
            self._values[self._end : begin] = np.nan
        self._end = begin + len(piece)
        self._values[begin : self._end] = piece

    def _begin_anew(self, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        """Go on in an array of another ``dtype``, of longer texts, whose rows have a ``shape``."""
        check_unpacked(self._path, dtype.itemsize * self._rows)
        values = empty((self._rows, *shape), dtype)
        if self._values is not None:
            values[: self._end] = self._values[: self._end]
        self._values = values

    def column(self, rows: int) -> np.ndarray:
        """Return the first ``rows`` rows, once all pieces are there."""
        if self._end < rows:
            missing = np.full(rows - self._end, np.nan)
            if self._values is not None and self._values.ndim > 1:
                missing = np.full((rows - self._end, *self._values.shape[1:]), np.nan)
            self.add(self._end, missing)
        assert self._values is not None
        return self._values[:rows]


def _common_type(one: np.dtype, other: np.dtype) -> np.dtype:
    """Return the type of an array that holds values of both: objects for numbers and texts."""
    kinds = one.kind + other.kind
    if all(kind in _NUMBERS for kind in kinds) or set(kinds) == {_TEXTS}:
        return np.promote_types(one, other)
    if one == other:
        return one
    return np.dtype(object)


def columns_of_pieces(
    path: Path, rows: int, pieces: Iterable[Mapping[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """
    Return the columns of a file by name.

    rows : at most as many; pieces : {name: (m, ...)}, one after the other
    """
    growing: dict[str, GrowingColumn] = {}
    end = 0
    for piece in pieces:
        begin = end
        names = growing.keys() | piece.keys()
        check_unpacked(path, 8 * rows * len(names), len(names))
        for name, values in piece.items():
            column = growing.setdefault(name, GrowingColumn(path, rows))
            column.add(begin, values)
            end = begin + len(values)
        page_out()
    return {name: column.column(end) for name, column in growing.items()}
