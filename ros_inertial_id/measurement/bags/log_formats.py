"""
Logs of any format: the reader by the file's name, and several files that make one log.

Positions and efforts may come from separate files.  Those of one clock are joined sample by
sample; efforts with stamps of their own stay apart, as a topic of their own.
"""

from collections.abc import Sequence
import os
from pathlib import Path
import struct
import zlib

import numpy as np

from .log_files import array_log, Log, read_csv, read_npz, table_log
from ...errors import ConfigError, RecordingError

SAME = 1000  # [ns] between stamps of one sample: unix time in float is off by 120


def read_mat(path: Path, columns: str = '') -> Log:
    """
    Return the Log of a .mat file of MATLAB, version 4 to 7.2.

    path : the file; columns : names of the columns of its only matrix, see ``read_csv``

    Raises RecordingError for one that cannot be read, structures and cells among them.
    """
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError
    try:
        found = loadmat(path, squeeze_me=False)
    except NotImplementedError:
        raise RecordingError(f'{path} cannot be read', found='version 7.3 (HDF5)',
                             do="save it with '-v7'") from None
    except (OSError, ValueError, TypeError, EOFError, LookupError, MemoryError, struct.error,
            zlib.error, MatReadError) as error:
        raise RecordingError(f'{path} cannot be read', found=error,
                             expected='a .mat of plain arrays') from error
    arrays = {name: x for name, x in found.items() if not name.startswith('__')}
    if columns:
        return array_log(path, arrays, columns)
    # MATLAB has no vectors: a row or a column of times is (n,), and names are texts of one length.
    flat = {name: np.char.strip(x) if x.dtype.kind == 'U' else x.ravel() if 1 in x.shape else x
            for name, x in arrays.items()}
    longest = max((max(x.shape, default=0) for x in flat.values()), default=0)
    return array_log(path, {name: x.T if x.ndim == 2 and x.dtype.kind != 'U'
                            and x.shape[1] == longest > x.shape[0] else x
                            for name, x in flat.items()})


def read_parquet(path: Path, columns: str = '') -> Log:
    """
    Return the Log of a .parquet file.

    path : the file; columns : names to use instead of its own, see ``read_csv``

    Raises RecordingError for one that cannot be read, ConfigError where pyarrow is not installed.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError:
        raise ConfigError('a .parquet needs pyarrow', do='pip install pyarrow') from None
    try:
        found = parquet.read_table(path)
        table = {name: found.column(name).to_numpy() for name in found.column_names}
    except (OSError, ValueError, ArrowException) as error:
        raise RecordingError(f'{path} cannot be read', found=error,
                             expected='a .parquet of columns of numbers') from error
    if not columns:
        return table_log(path, table)
    return array_log(path, {'table': np.stack([*table.values()], axis=1)}, columns)


READERS = {'.npz': read_npz, '.csv': read_csv, '.mat': read_mat, '.parquet': read_parquet}


def read_file(path: Path, columns: str = '') -> Log:
    """
    Return the Log of a file.

    path : of a type in READERS; columns : names of its columns, see ``read_csv``

    Raises RecordingError for a file that is not there or of another type.
    """
    kind = path.suffix.lower()
    if kind not in READERS or not os.path.isfile(path):  # False for what is no path at all
        raise RecordingError(f'log {path}',
                             expected=f"an existing file of type {', '.join(READERS)}")
    return READERS[kind](path, columns)


def joined(paths: Sequence[Path], logs: Sequence[Log]) -> tuple[Log, Log | None]:
    """
    Return the Log of several files, and that of efforts with a clock of their own or None.

    paths : of the files, for messages; logs : their Logs, one of them with positions

    Raises RecordingError for files that say the same thing twice or share no clock.
    """
    first = next((k for k, log in enumerate(logs) if 'position' in log.fields), 0)
    out, apart = logs[first], None
    for path, log in zip(paths, logs):
        if log is logs[first]:
            continue
        twice = set(log.fields) & set(out.fields)
        if twice:
            raise RecordingError(f'{path} holds what {paths[first]} holds',
                                 found=', '.join(sorted(twice)))
        log = _ordered(path, log, out)
        if _one_clock(out, log):
            stamps = out.stamp_ns if out.stamp_ns is not None else log.stamp_ns
            out = Log({**out.fields, **log.fields}, stamps, out.names or log.names)
        elif set(log.fields) == {'effort'} and out.stamp_ns is not None \
                and log.stamp_ns is not None:
            apart = log
        else:
            raise RecordingError(
                f'{path} and {paths[first]} share no clock', found=[
                    f'{len(next(iter(x.fields.values())))} samples' for x in (log, out)],
                expected='equally many samples, or a time column in each of positions and efforts')
    return out, apart


def _one_clock(a: Log, b: Log) -> bool:
    """Return whether samples of two Logs belong together one by one."""
    lengths = {len(x) for log in (a, b) for x in log.fields.values()}
    if len(lengths) != 1:
        return False
    return a.stamp_ns is None or b.stamp_ns is None or bool(
        np.all(np.abs(a.stamp_ns - b.stamp_ns) <= SAME))


def _ordered(path: Path, log: Log, like: Log) -> Log:
    """Return a Log with its joints in the order of another, where both name them."""
    widths = [sorted({x.shape[1] for x in own.fields.values()}) for own in (log, like)]
    if widths[0] != widths[1]:
        raise RecordingError(f'{path} is of other joints', found=f'{widths[0]} columns',
                             expected=f'{widths[1]}')
    if log.names is None or like.names is None or log.names == like.names:
        return log
    if set(log.names) != set(like.names):
        raise RecordingError(f'{path} is of other joints', found=log.names, expected=like.names)
    order = [log.names.index(name) for name in like.names]
    return Log({kind: x[:, order] for kind, x in log.fields.items()}, log.stamp_ns, like.names)
