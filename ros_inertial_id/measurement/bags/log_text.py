"""
Texts of columns: one header line, or columns named by whoever imports it.

Commas, semicolons, tabs, bars or blanks between; an empty cell is NaN, a decimal comma a point.  A
second line may hold units, a first one ``sep=;``.  ``ros2 topic echo --csv`` of joint states is
known without a header; of ``run_efforts.csv`` a column that is not time is a joint's.
"""

from collections import Counter
from collections.abc import Iterable
import csv
from itertools import islice
from pathlib import Path
import re
from typing import Any

import numpy as np

from .log_columns import clocks, meaning, of_joints, RENAME, renamed, SECONDS, SI, WORDS
from .log_topics import field_of
from .unpacked_size import check_unpacked
from ...errors import RecordingError


def read_text(path: Path, columns: str) -> dict[str, Any]:
    """Return the columns of a text: of joints and topics as numbers, times and names as text."""
    from pandas import read_csv, to_numeric

    delimiter, header, first, comma = _head(path, columns)
    places = renamed(str(path), {name: k for k, name in enumerate(header)}, columns)
    words = {name for own, _ in clocks(places) for name in own}
    words |= {name for name in places if (said := meaning(name)) and said.quantity == 'names'}
    frame = read_csv(
        path,
        sep=r'\s+' if delimiter == ' ' else delimiter,
        header=None,
        names=range(len(header) + 1),
        index_col=False,
        skiprows=first,
        dtype={places[name]: str for name in words},
        low_memory=False,
        decimal=',' if comma else '.',
        skipinitialspace=True,
        encoding='utf-8-sig',
        encoding_errors='replace',
    )
    longer = frame[len(header)].notna()
    if longer.any():
        raise RecordingError(
            f'{path}, line {longer.argmax() + first + 1}',
            found='more',
            expected=f'{len(header)} cells',
        )
    out = {}
    for name, k in places.items():
        if name in words:
            out[name] = texts(frame[k].fillna(''), path)
            continue
        if frame[k].dtype.kind in 'fiu':
            out[name] = frame[k].to_numpy(float)
            continue
        bad = to_numeric(frame[k], errors='coerce').isna() & frame[k].notna()
        if bad.any() and (field_of(name) or of_joints(name)):
            raise RecordingError(
                f'{path}, line {bad.argmax() + first + 1}',
                expected='a number',
                found=frame[k][bad].iloc[0],
            )
        out[name] = frame[k].to_numpy(object if bad.any() else float)
    return out


def _head(path, columns):
    """Return delimiter, names of the columns, line of the first row, whether commas are points."""
    with path.open(encoding='utf-8-sig', errors='replace') as stream:
        lines = [line.strip() for line in islice(stream, 5)] + ['', '']
    said = re.match(r'sep=(.)', lines[0])
    first = 1 if said else 0
    lines[first] = lines[first].lstrip('# ')
    delimiter = said[1] if said else next((d for d in ';\t,|' if d in lines[0]), ' ')
    header, *rows = [
        [
            cell.strip()
            for cell in (
                line.split()
                if delimiter == ' '
                else next(csv.reader([line], delimiter=delimiter), [])
            )
        ]
        for line in lines[first:]
    ]
    check_unpacked(path, 8 * len(header) * _lines(path), len(header))
    second = rows[0] or header
    if any(map(_is_number, header)) and [*map(_is_number, second)] == [*map(_is_number, header)]:
        rows, header = [header, *rows], _of_echo(header) or [str(k) for k in range(len(header))]
        if header[0] == '0' and not columns:
            raise RecordingError(f'{path}: no header line', found=', '.join(second[:4]), do=RENAME)
    else:
        units = [unit.strip('[]() ') for unit in second]
        with_units = len(units) == len(header) and {*map(str.lower, units)} & {*SI, *SECONDS}
        if with_units:
            header = [f'{name} [{unit}]' if unit else name for name, unit in zip(header, units)]
        first += 2 if with_units else 1
    header = _named_by_file(path, header)
    twice = sorted(name for name, count in Counter(header).items() if count > 1 and name)
    if twice:
        raise RecordingError(f'{path}: a column is there twice', found=twice)
    comma = delimiter != ',' and any(
        re.fullmatch(r'[-+]?\d+,\d+(e[-+]?\d+)?', cell, re.I) for row in rows for cell in row
    )
    return delimiter, header, first, comma


def _lines(path):
    """Return how many lines a text has: a short one takes the room of all columns."""
    with path.open('rb') as stream:
        return sum(
            block.count(b'\n') + block.count(b'\r')
            for block in iter(lambda: stream.read(1 << 20), b'')
        )


def _of_echo(cells):
    """Return names of a row of a JointState as ``ros2 topic echo --csv`` writes it, or None."""
    words = [not _is_number(cell) for cell in cells[3:]]
    joints = words.index(False) if False in words else 0
    numbers = len(words) - joints
    if not (all(cell.isdecimal() for cell in cells[:2]) and joints and numbers == 3 * joints):
        return None
    return ['header.stamp.sec', 'header.stamp.nanosec', 'header.frame_id'] + [
        f'{word}{k}' for word in ('name', *WORDS) for k in range(joints)
    ]


def _named_by_file(path, header):
    """Return the header; with the quantity where only the name of the file tells it."""
    said = meaning(re.split(r'[\W_]', path.stem)[-1])
    if (
        not said
        or said.quantity not in WORDS
        or said.commanded
        or said.joint
        or any(map(of_joints, header))
    ):
        return header
    times = {name for own, _ in clocks(header) for name in own}
    return [name if name in times else f'{said.quantity}_{name}' for name in header]


def _is_number(cell):
    try:
        float(cell.replace(',', '.'))
    except ValueError:
        return False
    return True


def texts(cells: Iterable[Any], path: Path | None) -> np.ndarray:
    """Return ``cells`` (n,) of a file as texts, each of which takes the room of the longest."""
    words = [*map(str, cells)]
    if path:
        check_unpacked(path, 4 * len(words) * max(map(len, words), default=0))
    return np.array(words, str)
