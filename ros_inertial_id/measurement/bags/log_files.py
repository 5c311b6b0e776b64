"""
The files of other programs, and tables in memory, as named columns.

An ``.npz``, ``.mat`` or ``.hdf5`` holds time (n,), the others (n, k), or (n,) for one joint;
fields of a MATLAB struct are ``data.q``.  A ``.jsonl`` has an object in each line.  A
``.parquet``, or the folder of a LeRobot dataset, may hold lists, whose elements have names in
``meta/info.json``, and episodes.
"""

from collections.abc import Callable
import json
import math
import os
from pathlib import Path
import struct
from typing import Any
import zlib

import numpy as np

from .log_columns import meaning, renamed, WORDS
from .log_text import read_text, texts
from .unpacked_size import check_unpacked
from ..recording import empty, page_out
from ...errors import ConfigError, path_text, RecordingError

PAUSE = 1.0  # [s] between two episodes, whose times begin anew
_COMPRESSED = 15  # type of an element of a .mat


def read_table(source: Any, columns: str = '') -> dict[str, Any]:
    """
    Return the named columns (n,) or (n, k) of a log.

    source : path of a type in READERS, a data frame or a mapping of arrays
    columns : names, see ``log_columns.renamed``; ConfigError where a library is not installed
    """
    where = path_text(source) if isinstance(source, (str, Path)) else 'the table'
    if where == 'the table':
        try:
            return renamed(where, _arrays(source), columns)
        except (AttributeError, TypeError, KeyError, IndexError, ValueError) as error:
            raise RecordingError(
                'log',
                found=type(source).__name__,
                expected='a path, a data frame or a mapping of names to arrays',
            ) from error
    path = Path(source)
    dataset = os.path.isdir(path) and is_log(path)
    reader = _parquet if dataset else READERS.get(path.suffix.lower())
    if reader is None or not (dataset or os.path.isfile(path)):  # False for what is no path at all
        raise RecordingError(
            f'log {where}', expected=f'an existing file of type {", ".join(READERS)}'
        )
    try:
        return (
            read_text(path, columns)
            if reader is read_text
            else renamed(where, reader(path), columns)
        )
    except ImportError as error:
        raise ConfigError(
            f'{where} cannot be read',
            found=str(error).partition('\n')[0],
            do=INSTALL.get(reader, 'pip install pandas'),
        ) from None
    except RecordingError:
        raise
    except Exception as error:  # of six libraries, for a damaged file
        raise RecordingError(
            f'{where} cannot be read',
            found=str(error)[:200],
            expected='plain arrays or columns of numbers',
        ) from error


def is_log(path: Path) -> bool:
    """Return whether a ``path`` is that of a log, by its name, or of a LeRobot dataset."""
    return bool(_info(path)) if os.path.isdir(path) else path.suffix.lower() in READERS


def _arrays(table, path=None):
    """Return {name: array} of a mapping or data frame; lists in cells become a matrix."""
    out = {}
    for name in getattr(table, 'column_names', getattr(table, 'columns', table)):
        x = np.atleast_1d(table[name])
        if x.dtype == object and len(x) and not np.isscalar(x[0]):
            x = np.stack(list(x))
        out[str(name)] = texts(x, path) if x.dtype == object and isinstance(x[0], str) else x
    return out


def _npz(path):
    with np.load(path, allow_pickle=False) as file:
        members = file.zip.infolist()
        check_unpacked(path, sum(member.file_size for member in members), len(members))
        arrays = {key: _filed(file[key]) for key in file.files}
        return {key: x for key, x in arrays.items() if isinstance(x, np.ndarray)}


def _filed(x):
    """Return an array x of a file, in a file without a name if it is large: see ``empty``."""
    if not isinstance(x, np.ndarray):  # of a member with another ending
        return x
    out = empty(x.shape, x.dtype)
    out[...] = x
    page_out()
    return out


def _mat(path):
    """Return the arrays of a .mat file; those that lie across are turned."""
    from scipy.io import loadmat, whosmat

    with path.open('rb') as file:
        new = file.read(10) == b'MATLAB 7.3'
    if not new:
        sizes = [*_elements(path)]
        check_unpacked(path, sum(sizes), len(sizes))
        # Whole numbers may lie there as bytes.
        check_unpacked(path, 8 * sum(math.prod(shape) for _, shape, _ in whosmat(path)))
    arrays = (
        _hdf5(path)
        if new
        else {
            name: np.atleast_1d(x)
            for name, x in _leaves(loadmat(path, simplify_cells=True))
            if not name.startswith('__')
        }
    )
    found = {name: np.char.strip(x) if x.dtype.kind == 'U' else x for name, x in arrays.items()}
    longest = max((max(x.shape, default=0) for x in found.values()), default=0)
    return {
        name: x.T if x.ndim == 2 and x.shape[1] == longest > x.shape[0] else x
        for name, x in found.items()
    }


def _elements(path):
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


def _leaves(values, before=''):
    """Yield (name, value) of nested dicts: the fields of a struct are data.q."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, f'{before}{name}.')
        else:
            yield before + name, value


def _hdf5(path):
    """Return the arrays of an HDF5 file, pictures apart, by their paths in it."""
    import h5py

    found: dict[str, Any] = {}

    def take(name: str, item: Any) -> None:
        if (
            isinstance(item, h5py.Dataset)
            and item.ndim <= 2
            and item.dtype.kind in 'fiuS'
            and (item.dtype != np.uint8)
            and not name.startswith('#')
        ):
            found[name] = item
            check_unpacked(path, 0, len(found))

    with h5py.File(path) as file:
        file.visititems(take)
        check_unpacked(path, sum(x.size * x.dtype.itemsize for x in found.values()))
        return {name: np.atleast_1d(np.squeeze(x[()])) for name, x in found.items()}


def _json_lines(path):
    from pandas import DataFrame

    rows = []
    with path.open() as stream:
        for k, line in enumerate(stream, 1):
            try:
                rows += [dict(_leaves(json.loads(line)))] if line.strip() else []
            except (ValueError, AttributeError):
                raise RecordingError(
                    f'{path}, line {k}', expected='an object as JSON', found=line.strip()[:60]
                ) from None
    names = {name for row in rows for name in row}
    check_unpacked(path, 8 * len(rows) * len(names), len(names))
    return _arrays(DataFrame(rows), path)


def _info(path):
    """Return the meta/info.json of a LeRobot dataset that a path is, or lies in, None if none."""
    return next(
        (
            info
            for folder in (path, *path.parents[:3])
            if os.path.isfile(info := folder / 'meta' / 'info.json')
        ),
        None,
    )


def _parquet_table(path):
    """Return the table of a file, or of those in a folder; texts stay in dictionaries."""
    from pyarrow.parquet import ParquetDataset, read_metadata

    texts, plain = set(), 0
    for content in map(read_metadata, ParquetDataset(path).files):
        check_unpacked(path, 0, content.num_columns)
        for k in range(content.num_columns):
            column = content.schema.column(k)
            plain += max(8, column.length) * sum(
                content.row_group(group).column(k).num_values
                for group in range(content.num_row_groups)
            )
            texts |= {column.path} if column.physical_type == 'BYTE_ARRAY' else set()
    check_unpacked(path, plain)
    return ParquetDataset(path, read_dictionary=[*texts]).read()


def _parquet(path):
    info = _info(path)
    features = json.loads(info.read_text()).get('features', {}) if info else {}
    out: dict[str, np.ndarray] = {}
    folder = path / 'data' if (path / 'data').is_dir() else path
    for name, x in _arrays(_parquet_table(folder), folder).items():
        said, names = meaning(name), (features.get(name) or {}).get('names')
        before = f'{name}.' * bool(said and said.commanded)
        names = next(iter(names.values()), None) if isinstance(names, dict) else names
        if not said or not names or x.shape[1:] != (len(names),):
            out[name] = x
            continue
        for joint, column in zip(map(str, names), x.T):  # shoulder_pan, or shoulder_pan.pos
            own = meaning(joint)
            out[
                before
                + (
                    joint
                    if own and own.quantity in WORDS and own.joint
                    else f'{said.quantity}.{joint}'
                )
            ] = column
    if {'episode_index', 'timestamp'} <= set(out):  # one after the other
        t = out['timestamp'] = out['timestamp'].astype(float)
        for end in np.flatnonzero(np.diff(out['episode_index'])).tolist():
            t[end + 1 :] += t[end] + PAUSE - t[end + 1]
    return out


READERS: dict[str, Callable[..., Any]] = {
    '.npz': _npz,
    '.csv': read_text,
    '.txt': read_text,
    '.mat': _mat,
    '.parquet': _parquet,
    '.jsonl': _json_lines,
    '.hdf5': _hdf5,
    '.h5': _hdf5,
}
INSTALL = {
    _parquet: 'pip install pyarrow',
    _hdf5: 'pip install h5py',
    _mat: "save it with '-v7', or pip install h5py",
}
