"""
Arrays by name in memory, ``.npz``, ``.mat``, ``.hdf5`` and ``.jsonl``.

They hold time (n,), the others (n, k), or (n,) for one joint; fields of a MATLAB struct are
``data.q``.  A ``.jsonl`` has an object in each line.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import compress, islice
import json
import math
from pathlib import Path
import struct
from typing import Any
import zipfile
import zlib

import numpy as np

from .log_pieces import columns_of_pieces, PIECE
from .log_text import lines_of, texts
from .unpacked_size import check_unpacked
from ..recording import empty, page_out
from ...errors import RecordingError

_COMPRESSED = 15  # type of an element of a .mat
_MATLAB_7_3 = b'MATLAB 7.3'  # which is HDF5


def arrays_by_name(table: Any, path: Path | None = None) -> dict[str, np.ndarray]:
    """Return the arrays of a mapping or data frame; lists in cells become a matrix."""
    names = getattr(table, 'column_names', getattr(table, 'columns', table))
    return {str(name): array_of(table[name], path) for name in names}


def array_of(values: Any, path: Path | None) -> np.ndarray:
    """Return values, of objects those that they hold, as texts or as rows of a matrix."""
    x = np.atleast_1d(values)
    if x.dtype != object or not len(x):
        return x
    if isinstance(x[0], str):
        return texts(x, path)
    if np.isscalar(x[0]):
        return x
    return np.stack(list(x))


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a .npz."""
    if not zipfile.is_zipfile(path):
        raise RecordingError(f'{path} is no .npz', expected='what numpy.savez writes')
    with np.load(path, allow_pickle=False) as file:
        members = file.zip.infolist()
        check_unpacked(path, sum(member.file_size for member in members), len(members))
        arrays = {}
        for name in file.files:
            x = file[name]
            if isinstance(x, np.ndarray):  # not of a member with another ending
                arrays[name] = _in_a_file(np.atleast_1d(x))
        return arrays


def _in_a_file(x: np.ndarray) -> np.ndarray:
    """Return an array x of a file, in a file without a name if it is large: see ``empty``."""
    out = empty(x.shape, x.dtype)
    out[...] = x
    page_out()
    return out


def read_mat(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a .mat file; those that lie across are turned."""
    with path.open('rb') as file:
        is_hdf5 = file.read(len(_MATLAB_7_3)) == _MATLAB_7_3
    arrays = read_hdf5(path) if is_hdf5 else _read_mat_5(path)
    for name, x in arrays.items():
        if x.dtype.kind == 'U':
            arrays[name] = np.char.strip(x)
    longest = max((max(x.shape, default=0) for x in arrays.values()), default=0)
    return {name: _upright(x, longest) for name, x in arrays.items()}


def _upright(x: np.ndarray, longest: int) -> np.ndarray:
    """Return an array with its samples, as many as the ``longest`` one has, along the rows."""
    if x.ndim == 2 and x.shape[1] == longest > x.shape[0]:
        return x.T
    return x


def _read_mat_5(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a .mat file of version 4 or 5."""
    from scipy.io import loadmat, whosmat

    sizes = list(_elements(path))
    check_unpacked(path, sum(sizes), len(sizes))
    # Whole numbers may lie there as bytes.
    check_unpacked(path, 8 * sum(math.prod(shape) for _, shape, _ in whosmat(path)))
    values = _leaves(loadmat(path, simplify_cells=True))
    return {name: np.atleast_1d(x) for name, x in values if not name.startswith('__')}


def _elements(path: Path) -> Iterator[int]:
    """Yield the sizes [bytes] of the elements of a .mat of version 5, which begin with them."""
    with path.open('rb') as file:
        head = file.read(128)
        order = '<2I' if head[126:] == b'IM' else '>2I'
        while 0 not in head[:4] and len(tag := file.read(8)) == 8:  # version 4 begins with zeros
            kind, size = struct.unpack(order, tag)
            end = file.tell() + size
            if kind == _COMPRESSED:
                tag = zlib.decompressobj().decompress(file.read(1 << 12), 8)
                _, size = struct.unpack(order, tag)
            yield size
            file.seek(end)


def _leaves(values: Mapping[str, Any], before: str = '') -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of nested dicts: the fields of a struct are data.q."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, f'{before}{name}.')
        else:
            yield before + name, value


def read_hdf5(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an HDF5 file, pictures apart, by their paths in it."""
    import h5py

    datasets: dict[str, Any] = {}

    def take(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and _is_of_numbers(name, item):
            datasets[name] = item
            check_unpacked(path, 0, len(datasets))

    with h5py.File(path) as file:
        file.visititems(take)
        check_unpacked(path, sum(x.size * x.dtype.itemsize for x in datasets.values()))
        return {name: np.atleast_1d(np.squeeze(x[()])) for name, x in datasets.items()}


def _is_of_numbers(name: str, item: Any) -> bool:
    """Return whether a dataset of HDF5 may be a column: no picture, no reference of MATLAB's."""
    if name.startswith('#') or item.ndim > 2:
        return False
    return item.dtype.kind in 'fiuS' and item.dtype != np.uint8


def read_json_lines(path: Path) -> dict[str, np.ndarray]:
    """Return the values of the objects of a .jsonl by their names, NaN where one lacks."""
    with path.open() as stream:
        most_rows = sum(1 for _ in lines_of(path, stream))
        stream.seek(0)
        objects = _objects(path, lines_of(path, stream))
        pieces = iter(lambda: list(islice(objects, PIECE)), [])
        return columns_of_pieces(path, most_rows, (_by_name(path, piece) for piece in pieces))


def _objects(path: Path, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the object of every one of the ``lines`` of a .jsonl that is not blank."""
    for k, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield dict(_leaves(json.loads(line)))
        except (ValueError, AttributeError, RecursionError):
            raise RecordingError(
                f'{path}, line {k}', expected='an object as JSON', found=line.strip()[:60]
            ) from None


def _by_name(path: Path, objects: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Return the values of ``objects`` (n,) by their names, (n,) or of lists (n, k)."""
    names = dict.fromkeys(name for each in objects for name in each)
    return {name: _json_values([each.get(name) for each in objects], path) for name in names}


def _json_values(values: list[Any], path: Path) -> np.ndarray:
    """Return values (n,) of JSON: numbers or lists of them, NaN for null, or else texts."""
    are_there = [value is not None for value in values]
    present = [*compress(values, are_there)]
    if any(isinstance(value, str) for value in present):
        cells = np.full(len(values), '', object)
        cells[are_there] = present
        return texts(cells, path)
    x = np.array(present)
    if all(are_there):
        return x
    out = np.full((len(values), *x.shape[1:]), np.nan)
    out[are_there] = x
    return out
