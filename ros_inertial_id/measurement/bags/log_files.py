"""
The files of other programs as named columns: .npz, .mat, .csv, .txt and .parquet.

An ``.npz`` or ``.mat`` holds time (n,), the others (n, k), or (n,) for one joint.  One that holds
a single matrix is a table whose columns are named by whoever imports it.  A ``.csv`` or ``.txt``
has one header line, or its columns are named by whoever imports it; commas, semicolons, tabs or
spaces between; an empty cell is NaN.  Where its own name ends in a quantity, such as
``run_efforts.csv``, a column that is not time is a joint's.  See log_columns.py for the names.
"""

from collections.abc import Callable, Mapping
import csv
from decimal import Decimal, DecimalException
import os
from pathlib import Path
import re
import struct
from typing import Any
from zipfile import BadZipFile, is_zipfile, ZipFile
import zlib

import numpy as np

from .log_columns import ALIASES, CLOCKS, expanded, FIELDS, LAST_NS, meaning, no_time, renamed
from .packing import check_ratio
from ...errors import ConfigError, RecordingError

Columns = Mapping[str, np.ndarray | None]
_BLOCK = 10_000         # rows of a csv turned into an array at once
# What the libraries raise for a damaged file.
_DAMAGED = (OSError, ValueError, TypeError, EOFError, LookupError, MemoryError, RuntimeError,
            struct.error, zlib.error, BadZipFile)


def read_file(path: Path, columns: str = '') -> Columns:
    """
    Return the named columns (n,) or (n, k) of a file, None for those whose names say nothing.

    path : of a type in READERS; columns : names, see ``log_columns.renamed``

    Raises RecordingError for a file that is not there, of another type or cannot be read,
    ConfigError where a library is not installed.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None or not os.path.isfile(path):  # False for what is no path at all
        raise RecordingError(f'log {path}',
                             expected=f"an existing file of type {', '.join(READERS)}")
    try:
        if reader is _csv:
            return _csv(path, columns)
        return named(str(path), reader(path), columns)
    except (*_DAMAGED, csv.Error) as error:
        raise RecordingError(f'{path} cannot be read', found=error,
                             expected='plain arrays or columns of numbers') from error


def named(where: str, arrays: Mapping[str, np.ndarray], columns: str) -> Columns:
    """
    Return arrays, or the columns of the only matrix among them, by the names they are given.

    where : of the log, for messages; arrays : {name: array}; columns : see ``renamed``

    Raises RecordingError where there is no such column or matrix.
    """
    if not columns or '=' in columns:
        names = renamed(where, arrays, columns)
        return {names[name]: array for name, array in arrays.items()}
    words = expanded(columns)
    tables = [x for x in arrays.values() if x.ndim == 2 and x.shape[1] == len(words)]
    if len(tables) != 1 and (len(arrays) != len(words) or any(x.ndim != 1
                                                              for x in arrays.values())):
        raise RecordingError(f'{where} has other columns',
                             found=[f'{name} {x.shape}' for name, x in arrays.items()],
                             expected=f'one matrix of {len(words)} columns')
    return dict(zip(words, tables[0].T if tables else arrays.values()))


def _npz(path):
    if is_zipfile(path):
        with ZipFile(path) as archive:
            check_ratio(str(path), path.stat().st_size,
                        sum(e.file_size for e in archive.infolist()))
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def _mat(path):
    """Return the arrays of a .mat file, version 4 to 7.2; those that lie across are turned."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError
    try:
        found = loadmat(path, squeeze_me=False)
    except NotImplementedError:
        raise RecordingError(f'{path} cannot be read', found='version 7.3 (HDF5)',
                             do="save it with '-v7'") from None
    except MatReadError as error:
        raise ValueError(str(error)) from error
    # MATLAB has no vectors: a row or a column of times is (n,), and names are texts of one length.
    flat = {name: np.char.strip(x) if x.dtype.kind == 'U' else x.ravel() if 1 in x.shape else x
            for name, x in found.items() if not name.startswith('__')}
    longest = max((max(x.shape, default=0) for x in flat.values()), default=0)
    return {name: x.T if x.ndim == 2 and x.dtype.kind != 'U'
            and x.shape[1] == longest > x.shape[0] else x for name, x in flat.items()}


def _parquet(path):
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError:
        raise ConfigError('a .parquet needs pyarrow', do='pip install pyarrow') from None
    try:
        found = parquet.read_table(path)
        return {name: found.column(name).to_numpy() for name in found.column_names}
    except ArrowException as error:
        raise ValueError(str(error)) from error


def _csv(path, columns):
    with path.open(newline='', encoding='utf-8-sig', errors='replace') as stream:
        rows, header = _rows(path, stream, columns)
        understood = {name: meaning(name) for name in header}
        kinds = {name: said[0] for name, said in understood.items() if said}
        clocks = {name: CLOCKS[kind] for name, kind in kinds.items() if kind in CLOCKS}
        numbers = [name for name, kind in kinds.items() if kind in FIELDS]
        place = {name: i for i, name in enumerate(header)}
        out: dict[str, list[np.ndarray]] = {name: [] for name in (*clocks, *numbers)}
        block: list[list[Any]] = []

        def put_away():
            for name, values in zip(out, zip(*block)):
                out[name].append(np.array(values, 'M8[ns]' if name in clocks else float))
            block.clear()

        for line, row in enumerate(rows, 2):
            if len(row) != len(header):
                if not ''.join(row).strip():
                    continue
                raise RecordingError(f'{path}, line {line}', expected=f'{len(header)} cells',
                                     found=len(row))
            block.append([_exact_ns(path, line, row[place[name]], unit)
                          for name, unit in clocks.items()]
                         + [_number(path, line, row[place[name]]) for name in numbers])
            if len(block) == _BLOCK:
                put_away()
        put_away()
    return {name: np.concatenate([*out[name], np.empty(0, 'M8[ns]' if name in clocks else float)])
            if name in out else None for name in header}


def _rows(path, stream, columns):
    """Return the rows of data and the names of the columns, as they are named."""
    head = stream.readline().lstrip('# ').strip()
    delimiter = max(',;\t', key=head.count)
    spaces = delimiter not in head and ' ' in head

    def split(lines):
        return (line.split() for line in lines) if spaces else csv.reader(
            lines, delimiter=delimiter)

    header = [name.strip() for name in next(split([head]), [''])] or ['']
    if header != [''] and all(map(_is_number, header)):
        if not columns:
            raise RecordingError(f'{path}: no header line', found=', '.join(header[:4]),
                                 do='name its columns: --columns "time q1..q6 v1..v6 tau1..tau6"')
        stream.seek(0)
        header = [str(k) for k in range(len(header))]
    else:
        header = _named_by_file(path, header)
    if len(set(header)) < len(header):
        twice = sorted({name for name in header if header.count(name) > 1 and name})
        if twice:
            raise RecordingError(f'{path}: a column is there twice', found=twice)
    names = renamed(str(path), header, columns)
    return split(stream), [names[name] for name in header]


def _named_by_file(path, header):
    """Return the header; with the quantity where only the name of the file tells it."""
    word = re.split(r'[\W_]', path.stem)[-1].lower()
    if ALIASES.get(word) not in FIELDS or any(
            said and said[0] in FIELDS for said in map(meaning, header)):
        return header
    return [name if name.lower() in ALIASES else f'{word}_{name}' for name in header]


def _is_number(cell):
    try:
        return bool(float(cell)) or True
    except ValueError:
        return False


def _number(path, line, cell):
    try:
        return float(cell)
    except ValueError:
        if not cell.strip():
            return np.nan
        raise RecordingError(f'{path}, line {line}', expected='a number', found=cell) from None


def _exact_ns(path, line, cell, unit):
    """Return a time as text in ns; a float of today's seconds would resolve 240 ns."""
    try:
        stamp_ns = int((Decimal(cell.strip()) * unit).to_integral_value())
    except (DecimalException, ValueError, OverflowError):
        raise RecordingError(f'{path}, line {line}', expected='a time', found=cell) from None
    if abs(stamp_ns) >= LAST_NS:
        raise no_time(f'{path}, line {line}', cell)
    return stamp_ns


READERS: dict[str, Callable[..., Any]] = {'.npz': _npz, '.csv': _csv, '.txt': _csv, '.mat': _mat,
                                          '.parquet': _parquet}
