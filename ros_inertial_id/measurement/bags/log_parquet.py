"""
Parquet files, and LeRobot datasets, which are folders of them.

A column may hold lists: features, whose elements have names in ``meta/info.json``.  Episodes
follow each other.
"""

from collections.abc import Iterator
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from .log_arrays import array_of, arrays_by_name
from .log_pieces import columns_of_pieces, PIECE
from .log_spellings import column_meaning, ColumnMeaning, JOINT_QUANTITIES
from .unpacked_size import check_unpacked
from ...given_files import given_text

PAUSE = 1.0  # [s] between two episodes, whose times begin anew
READ_BYTES = 1 << 16  # of a column at once
_NUMBERS = {'double': 'f8', 'float': 'f4', 'int64': 'i8', 'int32': 'i4'}  # of Arrow: of NumPy
_LEVELS = 3  # of folders between a dataset's own and its files
EPISODE, EPISODE_TIME = 'episode_index', 'timestamp'


def dataset_info(path: Path) -> Path | None:
    """Return the meta/info.json of a LeRobot dataset that a path is, or lies in, None if none."""
    for folder in (path, *path.parents[:_LEVELS]):
        info = folder / 'meta' / 'info.json'
        if os.path.isfile(info):
            return info
    return None


def read_parquet(path: Path) -> dict[str, np.ndarray]:
    """Return the columns of a file, or of a dataset's, those of a feature by its elements."""
    data = path / 'data'
    folder = data if data.is_dir() else path
    element_names = _element_names(dataset_info(path))
    columns: dict[str, np.ndarray] = {}
    for feature, values in _parquet_columns(folder).items():
        columns |= _feature_columns(feature, values, element_names.get(feature, []))
    if EPISODE in columns and EPISODE_TIME in columns:
        times = columns[EPISODE_TIME].astype(float)
        columns[EPISODE_TIME] = _one_after_another(times, columns[EPISODE])
    return columns


def _parquet_columns(path: Path) -> dict[str, np.ndarray]:
    """Return the columns of a file, or of those in a folder; texts stay in dictionaries."""
    from pyarrow import default_memory_pool
    from pyarrow.parquet import read_metadata

    files = [path]
    if path.is_dir():
        files = sorted(path.rglob('*.parquet'))
    texts, plain_bytes, rows = set(), 0, 0
    for content in map(read_metadata, files):
        check_unpacked(path, 0, content.num_columns)
        rows += content.num_rows
        for k in range(content.num_columns):
            column = content.schema.column(k)
            groups = [content.row_group(group) for group in range(content.num_row_groups)]
            values = sum(group.column(k).num_values for group in groups)
            plain_bytes += max(8, column.length) * values
            if column.physical_type == 'BYTE_ARRAY':
                texts.add(column.path)
    check_unpacked(path, plain_bytes)
    columns = columns_of_pieces(path, rows, _pieces(path, files, list(texts)))
    default_memory_pool().release_unused()
    return columns


def _pieces(path: Path, files: list[Path], texts: list[str]) -> Iterator[dict[str, np.ndarray]]:
    """Yield the columns of some rows of ``files``, whose columns of ``texts`` are dictionaries."""
    from pyarrow.parquet import ParquetFile

    how = {'buffer_size': READ_BYTES, 'pre_buffer': False, 'read_dictionary': texts}
    for file in files:
        with ParquetFile(file, **how) as content:
            if not content.metadata.num_rows:
                yield arrays_by_name(content.schema_arrow.empty_table(), path)
            for batch in content.iter_batches(PIECE):
                yield {name: _cells(batch[name], path) for name in batch.schema.names}


def _cells(column: Any, path: Path) -> np.ndarray:
    """Return the cells of a ``column`` of Arrow as an array."""
    kind = _NUMBERS.get(str(column.type))
    if kind and not column.null_count:  # Arrow's own way to NumPy imports pandas: 60 MB
        values = column.buffers()[1]
        return np.frombuffer(values, kind, len(column), column.offset * np.dtype(kind).itemsize)
    if str(column.type).startswith('dictionary'):
        words = filter(None, column.dictionary.to_pylist())
        check_unpacked(path, 4 * len(column) * max(map(len, words), default=0))
    return array_of(column, path)


def _element_names(info: Path | None) -> dict[str, list[str]]:
    """Return the names of the elements of each feature of a dataset that has names."""
    if info is None:
        return {}
    result = {}
    for feature, content in json.loads(given_text(info)).get('features', {}).items():
        names = (content or {}).get('names')
        if isinstance(names, dict):  # {"motors": [...]}
            names = next(iter(names.values()), None)
        result[feature] = [str(name) for name in names or ()]
    return result


def _feature_columns(feature: str, values: np.ndarray, names: list[str]) -> dict[str, np.ndarray]:
    """Return a column of each element of a feature of joints (n, k) with ``names`` (k,)."""
    meaning = column_meaning(feature)
    if meaning is None or not names or values.shape[1:] != (len(names),):
        return {feature: values}
    return {_column_name(feature, meaning, name): x for name, x in zip(names, values.T)}


def _column_name(feature: str, meaning: ColumnMeaning, name: str) -> str:
    """
    Return the name of the column of one element of a feature.

    The feature says what it is and ``name`` of which joint, "shoulder_pan" or "shoulder_pan.pos";
    but states and actions may hold "shoulder_pan.vel" and "shoulder_pan.torque" as well.
    """
    element = column_meaning(name)
    if element is None or element.quantity not in JOINT_QUANTITIES or not element.joint:
        return f'{feature}.{name}'
    if meaning.quantity != 'position':
        return f'{feature}.{element.joint}'
    if meaning.is_commanded:
        return f'{feature}.{name}'
    return name


def _one_after_another(times: np.ndarray, episodes: np.ndarray) -> np.ndarray:
    """Return times (n,) [s] that go on from one of the ``episodes`` (n,) to the next."""
    for end in np.flatnonzero(np.diff(episodes)).tolist():
        times[end + 1 :] += times[end] + PAUSE - times[end + 1]
    return times
