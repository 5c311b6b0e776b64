"""
The files of other programs, and tables in memory, as named columns.

A format is a row of READERS: a function of a path that returns its columns (n,) or (n, k) by name,
units beside the names in brackets, and knows nothing of joints.
"""

from collections.abc import Callable
import os
from pathlib import Path
from typing import Any

from .log_arrays import arrays_by_name, read_hdf5, read_json_lines, read_mat, read_npz
from .log_parquet import dataset_info, read_parquet
from .log_renaming import renamed
from .log_text import read_text, refuse_topic_echo
from ...errors import ConfigError, path_text, RecordingError
from ...given_files import instead_of_a_file

READERS: dict[str, Callable[..., dict[str, Any]]] = {
    '.npz': read_npz,
    '.csv': read_text,
    '.txt': read_text,
    '.mat': read_mat,
    '.parquet': read_parquet,
    '.jsonl': read_json_lines,
    '.hdf5': read_hdf5,
    '.h5': read_hdf5,
}
INSTALL = {
    read_parquet: 'pip install pyarrow',
    read_hdf5: 'pip install h5py',
    read_mat: "save it with '-v7', or pip install h5py",
}


def name_of(source: Any) -> str:
    """Return what messages call a log: its path, or the table in memory."""
    if isinstance(source, (str, Path)):
        return path_text(source)
    return 'the table'


def is_log(path: Path) -> bool:
    """Return whether a ``path`` is that of a log, by its name, or of a LeRobot dataset."""
    if os.path.isdir(path):
        return dataset_info(path) is not None
    return path.suffix.lower() in READERS


def read_table(source: Any, columns: str = '') -> dict[str, Any]:
    """
    Return the named columns (n,) or (n, k) of a log.

    source : path of a type in READERS, a data frame or a mapping of arrays
    columns : names, see ``log_renaming.renamed``; ConfigError where a library is not installed
    """
    if isinstance(source, (str, Path)):
        return _read_file(Path(source), columns)
    try:
        return renamed(name_of(source), arrays_by_name(source), columns)
    except (AttributeError, TypeError, KeyError, IndexError, ValueError) as error:
        raise RecordingError(
            'log',
            found=type(source).__name__,
            expected='a path, a data frame or a mapping of names to arrays',
        ) from error


def _read_file(path: Path, columns: str) -> dict[str, Any]:
    """Return the columns of a file, or dataset; errors of its library become ours."""
    where, reader = path_text(path), _reader(path)
    try:
        if reader is read_text:  # renamed before it is read: times stay texts, to be exact
            return read_text(path, columns)
        return renamed(where, reader(path), columns)
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


def _reader(path: Path) -> Callable[..., dict[str, Any]]:
    """Return the function that reads a file, RecordingError where there is none."""
    if os.path.isdir(path) and is_log(path):
        return read_parquet
    reader = READERS.get(path.suffix.lower())
    is_file = os.path.isfile(path)  # False for what is no path at all
    if reader is None and is_file:
        refuse_topic_echo(path)
    if reader is None or not is_file:
        raise RecordingError(
            f'log {path_text(path)}',
            expected=f'an existing file of type {", ".join(READERS)}',
            found=instead_of_a_file(path) or None,
        )
    return reader
