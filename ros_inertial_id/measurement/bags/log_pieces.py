"""Columns of a log that is read piece by piece: however long, one piece is in memory."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from .unpacked_size import check_unpacked
from ..recording import empty, page_out

PIECE = 1 << 13  # rows that are read together
_NUMBERS = {*'biuf'}  # kinds of arrays


class GrowingColumn:
    """
    A column (n, ...) of at most ``rows`` rows of a file at ``path``, in a file if it is large.

    kind : of its first values; shape : of a row.  Rows that no piece gives are NaN.
    """

    def __init__(self, path: Path, rows: int, kind: np.dtype, shape: tuple[int, ...]) -> None:
        self._path, self._rows, self._shape = path, rows, shape
        self._values, self._end = self._empty(kind), 0

    def add(self, begin: int, piece: np.ndarray) -> None:
        """Put a ``piece`` (m, ...) into the rows from ``begin`` on."""
        self._fill(begin)
        kind = _common_type(piece.dtype, self._values.dtype)
        if kind != self._values.dtype:  # longer texts, or numbers beside none
            values = self._empty(kind)
            values[:begin] = self._values[:begin]
            self._values = values
        self._end = begin + len(piece)
        self._values[begin : self._end] = piece

    def column(self, rows: int) -> np.ndarray:
        """Return the first ``rows`` rows, once all pieces are there."""
        self._fill(rows)
        return self._values[:rows]

    def _empty(self, kind: np.dtype) -> np.ndarray:
        check_unpacked(self._path, kind.itemsize * self._rows)
        return empty((self._rows, *self._shape), kind)

    def _fill(self, end: int) -> None:
        """Put NaN into the rows before ``end`` that no piece has given."""
        if self._end < end:
            self.add(self._end, np.full((end - self._end, *self._shape), np.nan))


def _common_type(one: np.dtype, other: np.dtype) -> np.dtype:
    """Return the type of an array that holds values of both: objects for numbers and texts."""
    kinds = {one.kind, other.kind}
    if kinds <= _NUMBERS or len(kinds) == 1:
        return np.promote_types(one, other)
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
            if name not in growing:
                growing[name] = GrowingColumn(path, rows, values.dtype, values.shape[1:])
            growing[name].add(begin, values)
            end = begin + len(values)
        page_out()
    return {name: column.column(end) for name, column in growing.items()}
