"""
The files of other programs as named columns: .npz, .mat, .csv, .txt and .parquet.

An ``.npz`` or ``.mat`` holds time (n,), the others (n, k), or (n,) for one joint; fields of a
MATLAB struct are ``data.q``.  One that holds a single matrix is a table whose columns are named by
whoever imports it.  A ``.csv`` or ``.txt`` has one header line, or columns named by whoever
imports it; commas, semicolons, tabs or spaces between; an empty cell is NaN, a decimal comma a
point.  A second line may hold units, a first one ``sep=;``.  ``ros2 topic echo --csv`` of joint
states is known without a header.  Where its own name ends in a quantity (``run_efforts.csv``), a
column that is not time is a joint's.  A ``.parquet``, or the folder of a LeRobot dataset, may hold
lists, whose elements have names in ``meta/info.json``, and episodes.
"""

from collections.abc import Callable, Mapping
import csv
from itertools import chain, islice
import json
import os
from pathlib import Path
import re
import struct
from typing import Any
from zipfile import BadZipFile, is_zipfile, ZipFile
import zlib

import numpy as np

from .log_columns import clocks, expanded, meaning, renamed, SECONDS, SI, WORDS
from .log_topics import field_of
from .packing import check_ratio
from ...errors import ConfigError, RecordingError

Columns = Mapping[str, np.ndarray | None]
_BLOCK = 10_000         # rows of a csv turned into arrays at once
_PAUSE = 1.0            # [s] between two episodes, whose times begin anew
# What the libraries raise for a damaged file.
_DAMAGED = (OSError, ValueError, TypeError, EOFError, LookupError, MemoryError, RuntimeError,
            struct.error, zlib.error, BadZipFile, csv.Error)


def read_file(path: Path, columns: str = '') -> Columns:
    """
    Return the named columns (n,) or (n, k) of a file, None for those whose names say nothing.

    path : of a type in READERS; columns : names, see ``log_columns.renamed``

    Raises RecordingError for a file that is not there, of another type or cannot be read,
    ConfigError where a library is not installed.
    """
    dataset = os.path.isdir(path) and _info(path)
    reader = _parquet if dataset else READERS.get(path.suffix.lower())
    if reader is None or not (dataset or os.path.isfile(path)):  # False for what is no path at all
        raise RecordingError(f'log {path}',
                             expected=f"an existing file of type {', '.join(READERS)}")
    try:
        if reader is _csv:
            return _csv(path, columns)
        return named(str(path), reader(path), columns)
    except _DAMAGED as error:
        raise RecordingError(f'{path} cannot be read', found=error,
                             expected='plain arrays or columns of numbers') from error


def is_log(path: Path) -> bool:
    """Return whether a ``path`` is that of a log, by its name, or of a LeRobot dataset."""
    return path.suffix.lower() in READERS or bool(os.path.isdir(path) and _info(path))


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
    with path.open('rb') as file:
        if file.read(10) == b'MATLAB 7.3':
            raise RecordingError(f'{path} cannot be read', found='version 7.3 (HDF5)',
                                 do="save it with '-v7'")
    try:
        found = _flat(loadmat(path, simplify_cells=True))
    except (MatReadError, NotImplementedError) as error:
        raise ValueError(str(error)) from error
    longest = max((max(x.shape, default=0) for x in found.values()), default=0)
    return {name: x.T if x.ndim == 2 and x.shape[1] == longest > x.shape[0] else x
            for name, x in found.items()}


def _flat(values, before=''):
    """Return {name: array} of nested dicts: the fields of a struct are data.q."""
    out: dict[str, np.ndarray] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            out |= _flat(value, f'{before}{name}.')
        elif not name.startswith('__'):
            array = np.atleast_1d(value)
            out[before + name] = np.char.strip(array) if array.dtype.kind == 'U' else array
    return out


def _info(path):
    """Return the meta/info.json of a LeRobot dataset that a path is, or lies in, None if none."""
    return next((info for folder in (path, *path.parents[:3])
                 if os.path.isfile(info := folder / 'meta' / 'info.json')), None)


def _parquet(path):
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError:
        raise ConfigError(f'{path}: parquet needs pyarrow', do='pip install pyarrow') from None
    info = _info(path)
    try:
        table = parquet.read_table(path / 'data' if path.is_dir() else path)
    except ArrowException as error:
        raise ValueError(str(error)) from error
    features = json.loads(info.read_text()).get('features', {}) if info else {}
    out: dict[str, np.ndarray] = {}
    for name in table.column_names:
        values = table.column(name).to_numpy()
        if values.dtype != object or not len(values) or isinstance(values[0], str):
            out[name] = values
            continue
        matrix, said = np.stack(values), meaning(name)
        names = (features.get(name) or {}).get('names')
        names = next(iter(names.values()), None) if isinstance(names, dict) else names
        if not said or not names or len(names) != matrix.shape[-1]:
            out[name] = matrix
            continue
        for joint, column in zip(map(str, names), matrix.T):
            own = meaning(joint)  # shoulder_pan.pos
            out[joint if own and own.quantity in WORDS and own.joint
                else f'{said.quantity}.{joint}'] = column
    if {'episode_index', 'timestamp'} <= set(out):
        out['timestamp'] = _one_after_another(out['timestamp'].astype(float), out['episode_index'])
    return out


def _one_after_another(t, episode):
    """Return times t (n,) [s], those of each episode behind the one before, with a pause."""
    ends = np.flatnonzero(np.diff(episode))
    for end in ends.tolist():
        t[end + 1:] += t[end] + _PAUSE - t[end + 1]
    return t


def _csv(path, columns):
    with path.open(newline='', encoding='utf-8-sig', errors='replace') as stream:
        rows, header, first = _rows(path, stream, columns)
        texts = {name for own, _ in clocks(header) for name in own}
        texts |= {name for name in header if (said := meaning(name)) and said.quantity == 'names'}
        wanted = [name for name in header if name in texts or field_of(name) or (
            (said := meaning(name)) and said.quantity in WORDS)]
        place = {name: i for i, name in enumerate(header)}
        out: dict[str, list[np.ndarray]] = {name: [] for name in wanted}
        line = first
        while block := list(islice(rows, _BLOCK)):
            for k, row in enumerate(block, line):
                if len(row) != len(header) and ''.join(row).strip():
                    raise RecordingError(f'{path}, line {k}', expected=f'{len(header)} cells',
                                         found=len(row))
            for name in wanted:
                cells = [row[place[name]] for row in block if len(row) == len(header)]
                out[name].append(np.array(cells, str) if name in texts
                                 else _numbers(path, line, cells))
            line += len(block)
    return {name: np.concatenate([*out[name], np.empty(0, str if name in texts else float)])
            if name in out else None for name in header}


def _rows(path, stream, columns):
    """Return the rows of data, the names of the columns, and the line of the first row."""
    head = stream.readline()
    said = re.match(r'sep=(.)', head)
    head = (stream.readline() if said else head).lstrip('# ').strip()
    delimiter = said[1] if said else next((d for d in ';\t,' if d in head), ' ')
    split: Callable[..., Any] = (
        (lambda lines: map(str.split, lines)) if delimiter == ' ' else
        lambda lines: csv.reader(lines, delimiter=delimiter))
    header = [name.strip() for name in next(split([head]), [''])] or ['']
    rows, line = split(stream), 3 if said else 2
    second: list[str] = next(rows, [])
    if any(map(_is_number, header)) and list(map(_is_number, second or header)) == list(
            map(_is_number, header)):  # a row as the next one
        rows, line = chain([header, second] if second else [header], rows), line - 1
        header = _of_echo(header) or [str(k) for k in range(len(header))]
        if header[0] == '0' and not columns:
            raise RecordingError(f'{path}: no header line', found=', '.join(second[:4]),
                                 do='name its columns: --columns "time q1..q6 v1..v6 tau1..tau6"')
    elif len(second) == len(header) and {unit.strip('[]() ').lower() for unit in second} & {
            *SI, *SECONDS}:
        header = [f'{name} [{unit}]' if (unit := own.strip('[]() ')) else name
                  for name, own in zip(header, second)]
        line += 1
    else:
        rows = chain([second] if second else [], rows)
    header = _named_by_file(path, header)
    if len(set(header)) < len(header):
        twice = sorted({name for name in header if header.count(name) > 1 and name})
        if twice:
            raise RecordingError(f'{path}: a column is there twice', found=twice)
    names = renamed(str(path), header, columns)
    return rows, [names[name] for name in header], line


def _of_echo(cells):
    """Return names of a row of a JointState as ``ros2 topic echo --csv`` writes it, or None."""
    words = [not _is_number(cell) for cell in cells[3:]]
    joints = words.index(False) if False in words else 0
    numbers = len(words) - joints
    if not (all(cell.isdecimal() for cell in cells[:2]) and joints and numbers == 3 * joints):
        return None
    return ['header.stamp.sec', 'header.stamp.nanosec', 'header.frame_id'] + [
        f'{word}{k}' for word in ('name', *WORDS) for k in range(joints)]


def _named_by_file(path, header):
    """Return the header; with the quantity where only the name of the file tells it."""
    said = meaning(re.split(r'[\W_]', path.stem)[-1])
    if not said or said.quantity not in WORDS or said.joint or any(
            own and own.quantity in WORDS for own in map(meaning, header)):
        return header
    times = {name for own, _ in clocks(header) for name in own}
    return [name if name in times else f'{said.quantity}_{name}' for name in header]


def _is_number(cell):
    try:
        return bool(float(cell.replace(',', '.'))) or True
    except ValueError:
        return False


def _numbers(path, line, cells):
    """Return numbers (n,) of cells, of which the first stands in a line of a file."""
    try:
        return np.array(cells, float)
    except ValueError:
        pass
    out = []
    for k, cell in enumerate(cells, line):
        try:
            out.append(float(cell.replace(',', '.')) if cell.strip() else np.nan)
        except ValueError:
            raise RecordingError(f'{path}, line {k}', expected='a number', found=cell) from None
    return np.array(out)


READERS: dict[str, Callable[..., Any]] = {'.npz': _npz, '.csv': _csv, '.txt': _csv, '.mat': _mat,
                                          '.parquet': _parquet}
