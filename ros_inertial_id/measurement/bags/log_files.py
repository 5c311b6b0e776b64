"""
The files of other programs: what an ``.npz``, ``.mat``, ``.csv`` or ``.parquet`` log holds.

Names of quantities, in small or large letters:

========  ====================================================================================
time      stamp_s, time_s, timestamp, stamp, time, times, t, __time [s]; stamp_ns, time_ns,
          timestamp_ns [ns]
position  position, positions, pos, q
velocity  velocity, velocities, vel, v, dq, qd, qdot
effort    effort, efforts, torque, torques, tau, current, currents (which of them is an option
          of the identification)
========  ====================================================================================

An ``.npz`` or ``.mat`` holds time (n,), the others (n, k), or (n,) for one joint, and perhaps the
names of the joints: joint_names, names, joints.  One that holds a single matrix is a table whose
columns are named by whoever imports it.

A ``.csv`` has one header line, or its columns are named by whoever imports it; commas, semicolons
or tabs between; an empty cell is NaN.  Its columns, and those of a ``.parquet``, are time and, for
each joint, ``q_<joint>``, ``q.<joint>``, ``q/<joint>``, ``q[<joint>]`` or as PlotJuggler writes it
``/topic/<joint>/position``, with any of the names above.  <joint> is a name, or a number (then
also ``q1``); numbered joints are taken in ascending order.  In a ``.csv`` whose own name ends in
one of the names above, such as ``run_efforts.csv``, a column that is not time is a joint's.
"""

from collections.abc import Mapping
import csv
from dataclasses import dataclass
from decimal import Decimal, DecimalException
import logging
from pathlib import Path
import re
from zipfile import BadZipFile, is_zipfile, ZipFile
import zlib

import numpy as np

from .packing import check_ratio
from ...errors import RecordingError

_ALIASES = {alias: kind for kind, aliases in {
    'time [s]': ('stamp_s', 'time_s', 'timestamp', 'stamp', 'time', 'times', 't',
                 '__time'),
    'time [ns]': ('stamp_ns', 'time_ns', 'timestamp_ns'),
    'position': ('position', 'positions', 'pos', 'q'),
    'velocity': ('velocity', 'velocities', 'vel', 'v', 'dq', 'qd', 'qdot'),
    'effort': ('effort', 'efforts', 'torque', 'torques', 'tau', 'current', 'currents'),
    'names': ('joint_names', 'names', 'joints')}.items() for alias in aliases}
_FIELDS = ('position', 'velocity', 'effort')
_WORDS = '|'.join(sorted((a for a, kind in _ALIASES.items() if kind in _FIELDS), key=len)[::-1])
_JOINT = r'(?P<number>\d+)|[_./ \[](?P<joint>[^\]]+)\]?'
_COLUMNS = (re.compile(rf'(?P<word>{_WORDS})({_JOINT})?', re.I),
            re.compile(rf'/(.*/)?(?P<joint>[^/]+)/(?P<word>{_WORDS})', re.I))
_LAST_SECOND = 2 ** 31  # builtin_interfaces/Time
_BLOCK = 10_000         # rows of a csv turned into an array at once
_LONGEST = 1 << 20      # letters of a header line
_MOST = 10_000          # columns
_logger = logging.getLogger(__name__)


@dataclass
class Log:
    """
    What a file holds.

    fields : position, velocity, effort -> (n, k)
    stamp_ns : (n,) int64, None where the file has no time
    names : of the k joints, None where the file has none
    """

    fields: dict[str, np.ndarray]
    stamp_ns: np.ndarray | None = None
    names: tuple[str, ...] | None = None


def read_npz(path: Path, columns: str = '') -> Log:
    """
    Return the Log of an .npz file.

    path : the file; columns : names of the columns of its only matrix, see ``read_csv``

    Raises RecordingError for one that cannot be read or holds no numbers.
    """
    try:
        if is_zipfile(path):
            with ZipFile(path) as archive:
                check_ratio(path.stat().st_size, sum(e.file_size for e in archive.infolist()))
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except (OSError, ValueError, EOFError, BadZipFile, zlib.error, RuntimeError,
            MemoryError) as error:
        raise RecordingError(f'{path} cannot be read', found=error,
                             expected='an .npz of plain arrays') from error
    return array_log(path, arrays, columns)


def array_log(path: Path, arrays: Mapping[str, np.ndarray], columns: str = '') -> Log:
    """
    Return the Log in named arrays.

    path : of their file, for messages; arrays : {name: array}
    columns : names of the columns of the only matrix, see ``read_csv``

    Raises RecordingError for arrays that hold no numbers.
    """
    if columns:
        names = _expanded(columns)
        tables = [x for x in arrays.values() if x.ndim == 2 and x.shape[1] == len(names)]
        if len(tables) != 1:
            raise RecordingError(f'{path} has other columns',
                                 found=[f'{name} {x.shape}' for name, x in arrays.items()],
                                 expected=f'one matrix of {len(names)} columns')
        return table_log(path, dict(zip(names, tables[0].T)))
    found = _by_kind(path, arrays)
    for kind in set(found) - {'names'}:
        if found[kind].dtype.kind not in 'fiu':
            raise RecordingError(f'{path}: {kind} is not numeric', found=found[kind].dtype)
    log = Log({kind: np.array(found[kind], float) for kind in _FIELDS if kind in found})
    log.fields = {kind: values[:, None] if values.ndim == 1 else values
                  for kind, values in log.fields.items()}
    if 'time [ns]' in found:
        log.stamp_ns = nanoseconds(path, found['time [ns]'], 1)
    elif 'time [s]' in found:
        log.stamp_ns = nanoseconds(path, found['time [s]'])
    if 'names' in found:
        names = found['names'].ravel()
        log.names = tuple(np.char.decode(names, errors='replace') if names.dtype.kind == 'S'
                          else map(str, names))
    return log


def _by_kind(path, columns):
    """Return the columns whose name is an alias by what they are; say which are not used."""
    found: dict[str, str] = {}
    for alias, kind in _ALIASES.items():
        for name in [name for name in columns if name.lower() == alias]:
            found.setdefault(kind, name)
    unused = [name for name in columns
              if name and name not in found.values() and not name.startswith('-')]
    if unused:
        _logger.warning('%s: not imported: %s', path, ', '.join(unused))
    return {kind: columns[name] for kind, name in found.items()}


def read_csv(path: Path, columns: str = '') -> Log:
    """
    Return the Log of a .csv file.

    path : the file
    columns : names instead of a header line, with spaces; q1..q6 for six, - for one not wanted

    Raises RecordingError naming the line that is no data.
    """
    try:
        with path.open(newline='', encoding='utf-8-sig', errors='replace') as stream:
            return _csv_log(path, stream, columns)
    except (OSError, csv.Error) as error:
        raise RecordingError(f'{path} cannot be read', found=error,
                             expected='a .csv of numbers') from error


def table_log(path: Path, table: Mapping[str, np.ndarray]) -> Log:
    """
    Return the Log in columns of numbers.

    path : of their file, for messages; table : {name: (n,)}

    Raises RecordingError for columns that are no numbers or do not belong together.
    """
    names = list(table)
    labels, joints = _joint_columns(path, names)
    wrong = [n for n in names if _joint(n) and np.asarray(table[n]).dtype.kind not in 'fiu']
    if wrong:
        raise RecordingError(f'{path}: not numeric', found=wrong)
    fields = {kind: np.stack([np.asarray(table[names[i]], float) for i in places], axis=1)
              for kind, places in joints.items()}
    time = _by_kind(path, {name: x for name, x in table.items() if not _joint(name)})
    stamps = next((nanoseconds(path, np.asarray(time[kind]), unit) for kind, unit in
                   (('time [ns]', 1), ('time [s]', 10 ** 9)) if kind in time), None)
    return Log(fields, stamps, _names(labels))


def _names(labels):
    """Return the names of joints, None where they are numbers or nothing."""
    numbered = all(label.isdigit() for label in labels)
    return None if numbered or labels == [''] else tuple(labels)


def _csv_log(path, stream, columns):
    delimiter, header = _header(path, stream, _expanded(columns))
    labels, joints = _joint_columns(path, header)
    time = _by_kind(path, {name: i for i, name in enumerate(header) if not _joint(name)})
    unit, clock = next(((u, time[k]) for u, k in ((1, 'time [ns]'), (10 ** 9, 'time [s]'))
                        if k in time), (0, 0))
    wanted = [column for columns in joints.values() for column in columns]
    parts: list[np.ndarray] = []
    stamps, block = [], []
    for line, row in enumerate(csv.reader(stream, delimiter=delimiter), 2):
        if len(row) != len(header):
            if not ''.join(row).strip():
                continue
            raise RecordingError(f'{path}, line {line}', expected=f'{len(header)} cells',
                                 found=len(row))
        if unit:
            stamps.append(_exact_ns(path, line, row[clock], unit))
        block.append([_number(path, line, row[i]) for i in wanted])
        if len(block) == _BLOCK:
            parts, block = [*parts, np.array(block)], []
    table = np.concatenate([*parts, np.array(block).reshape(-1, len(wanted))])
    k = len(labels)
    fields = {kind: table[:, i * k:(i + 1) * k].copy() for i, kind in enumerate(joints)}
    return Log(fields, np.array(stamps, np.int64) if unit else None, _names(labels))


def _header(path, stream, columns):
    """Return the delimiter and the names of the columns; leave the stream at the first data."""
    head = stream.readline(_LONGEST).lstrip('# ').strip()
    delimiter = max(',;\t', key=head.count)
    header = [name.strip() for name in next(csv.reader([head], delimiter=delimiter))]
    if header != [''] and all(map(_is_number, header)):
        if not columns:
            raise RecordingError(f'{path}: no header line', found=', '.join(header[:4]),
                                 do='name its columns: --columns "time q1..q6 v1..v6 tau1..tau6"')
        stream.seek(0)
    if columns and len(columns) != len(header):
        raise RecordingError(f'{path} has other columns', expected=f'{len(columns)} as named',
                             found=len(header))
    return delimiter, columns or _named_by_file(path, header)


def _named_by_file(path, header):
    """Return the header; with the quantity where only the name of the file tells it."""
    word = re.split(r'[\W_]', path.stem)[-1].lower()
    if _ALIASES.get(word) not in _FIELDS or any(map(_joint, header)):
        return header
    return [name if name.lower() in _ALIASES else f'{word}_{name}' for name in header]


def _expanded(columns):
    """Return the names in a text, ``q1..q3`` as q1 q2 q3, each ``-`` as -0, -1, ...."""
    out: list[str] = []
    for word in columns.split():
        span = re.fullmatch(r'(.*?)(\d{1,9})\.\.\1(\d{1,9})', word)
        if span and len(out) + int(span[3]) - int(span[2]) >= _MOST:
            raise RecordingError(f'{word} names too many columns', expected=f'at most {_MOST}')
        out += ([f'{span[1]}{k}' for k in range(int(span[2]), int(span[3]) + 1)] if span
                else [f'-{len(out)}' if word == '-' else word])
    return out


def _is_number(cell):
    try:
        return bool(float(cell)) or True
    except ValueError:
        return False


def _joint(name):
    """Return (quantity, joint) of a column's name, or None."""
    match = next(filter(None, (form.fullmatch(name) for form in _COLUMNS)), None)
    if match is None:
        return None
    parts = match.groupdict()
    return _ALIASES[parts['word'].lower()], parts.get('number') or parts['joint'] or ''


def _joint_columns(path, header):
    """Return the joints in order, and for each quantity their columns in that order."""
    found: dict[str, dict[str, int]] = {}
    for i, name in enumerate(header):
        if _joint(name):
            kind, label = _joint(name)
            if label in found.setdefault(kind, {}):
                raise RecordingError(f'{path}: {kind} of joint {label} is there twice',
                                     exists=header)
            found[kind][label] = i
    labels = list(found.get('position') or next(iter(found.values()), ()))
    if not labels or any(set(columns) != set(labels) for columns in found.values()):
        raise RecordingError(
            f'{path}: the columns do not belong together',
            expected='a header with time, and q_<joint>, v_<joint>, tau_<joint> of every joint',
            found=[f'{kind} of {list(columns)}' for kind, columns in found.items()] or header,
            do='name its columns: --columns "time q1..q6 v1..v6 tau1..tau6"')
    if all(label.isdigit() for label in labels):
        labels.sort(key=int)
    return labels, {kind: [columns[label] for label in labels] for kind, columns in found.items()}


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
    if abs(stamp_ns) >= _LAST_SECOND * 10 ** 9:
        raise RecordingError(f'{path}, line {line}: no time', found=cell,
                             do='a time in seconds is named stamp_s, in nanoseconds stamp_ns')
    return stamp_ns


def nanoseconds(path: Path, times: np.ndarray, unit: int = 10 ** 9) -> np.ndarray:
    """
    Return times as (n,) int64 [ns], exact to the nearest.

    path : the file they come from, for the message
    times : (n,)
    unit : of the times [ns]

    Whole seconds go apart: today's unix time in float, times 1e9, would be 128 ns off.
    """
    last = _LAST_SECOND * 10 ** 9 // unit
    wrong = np.flatnonzero(~((times > -last) & (times < last)))
    if wrong.size:
        raise RecordingError(f'{path}, sample {wrong[0]}: no time', found=times.flat[wrong[0]],
                             do='a time in seconds is named stamp_s, in nanoseconds stamp_ns')
    whole = np.floor(times).astype(np.int64)
    return whole * unit + np.round((times - whole) * unit).astype(np.int64)
