"""
Texts of columns: one header line, or columns named by whoever imports it.

Commas, semicolons, tabs, bars or blanks between; an empty cell is NaN, a decimal comma a point.  A
second line may hold units, a first one ``sep=;``.  ``ros2 topic echo --csv`` of joint states is
known without a header; of ``run_efforts.csv`` a column that is not time is a joint's.  Texts are
UTF-8, UTF-16 by their first two bytes, or else of Windows.
"""

import codecs
from collections.abc import Iterable
import csv
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
import re
from typing import Any

import numpy as np

from .log_columns import ColumnNames
from .log_renaming import refuse_twice, RENAME, renamed
from .log_spellings import column_meaning, JOINT_QUANTITIES, NAMES, TIME, TIME_UNIT_OF, UNIT_OF
from .unpacked_size import check_unpacked
from ...errors import RecordingError

_ENCODINGS = {codecs.BOM_UTF16_LE: 'utf-16', codecs.BOM_UTF16_BE: 'utf-16'}  # by first bytes
_OF_WINDOWS = 'cp1252'  # of spreadsheets whose texts are no UTF-8: degrees as one byte
_ENCODED_BYTES = 1 << 16  # of a text that show its encoding
_MARKED_BYTES = 64  # of which every second one is zero in UTF-16 without its mark
FIRST_LINES = 5  # that show how a text is laid out
_DECIMAL_COMMA = re.compile(r'[-+]?\d+,\d+(e[-+]?\d+)?', re.I)


@dataclass(frozen=True)
class TextLayout:
    """How a text is laid out: names of its columns, lines above the first row of numbers."""

    path: Path
    delimiter: str
    names: list[str]
    lines_above: int
    decimal: str
    encoding: str

    @property
    def separator(self) -> str:
        """Return the delimiter as pandas takes it: one or several blanks."""
        return {' ': r'\s+'}.get(self.delimiter, self.delimiter)

    def error(self, are_wrong: Any, expected: str, found: str) -> RecordingError:
        """Return the error of the first of the rows that ``are_wrong``."""
        line = are_wrong.argmax() + self.lines_above + 1
        return RecordingError(f'{self.path}, line {line}', expected=expected, found=found)


def read_text(path: Path, columns: str) -> dict[str, Any]:
    """Return the columns of a text: of joints and topics as numbers, times and names as text."""
    layout = _layout(path, columns)
    numbers = renamed(str(path), {name: k for k, name in enumerate(layout.names)}, columns)
    names = ColumnNames(numbers)
    as_texts = names.names_of(TIME, NAMES)
    frame = _frame(layout, [numbers[name] for name in as_texts])
    values = {}
    for name, number in numbers.items():
        if name in as_texts:
            values[name] = texts(frame[number].fillna(''), path)
        else:
            values[name] = _floats(frame[number], layout, names, name)
    return values


def _frame(layout: TextLayout, as_texts: list[int]) -> Any:
    """Return the cells of a text as a data frame, those of the columns ``as_texts`` as texts."""
    from pandas import read_csv

    count = len(layout.names)
    frame = read_csv(
        layout.path,
        sep=layout.separator,
        header=None,
        names=range(count + 1),
        index_col=False,
        skiprows=layout.lines_above,
        dtype=dict.fromkeys(as_texts, str),
        low_memory=False,
        decimal=layout.decimal,
        skipinitialspace=True,
        encoding=layout.encoding,
        encoding_errors='replace',
    )
    are_beyond = frame[count].notna()
    if are_beyond.any():
        raise layout.error(are_beyond, f'{count} cells', 'more')
    return frame


def _floats(cells: Any, layout: TextLayout, names: ColumnNames, name: str) -> np.ndarray:
    """Return cells (n,) as floats; as they are where some are words, in columns not of joints."""
    from pandas import to_numeric

    if cells.dtype.kind in 'fiu':
        return cells.to_numpy(float)
    are_words = to_numeric(cells, errors='coerce').isna() & cells.notna()
    if not are_words.any():
        return cells.to_numpy(float)
    if name in names.topic_fields or names.is_measured(name):
        raise layout.error(are_words, 'a number', cells[are_words].iloc[0])
    return cells.to_numpy(object)


def _layout(path: Path, columns: str) -> TextLayout:
    """Return how a text is laid out, whose ``columns`` may be named by whoever imports it."""
    refuse_topic_echo(path)
    encoding = _encoding_of(path)
    with path.open(encoding=encoding, errors='replace') as stream:
        # A tab that begins a line ends an empty cell.
        lines = [line.rstrip().lstrip(' ') for line in islice(stream, FIRST_LINES)]
    lines += ['', '']
    lines_above, delimiter = 0, ''
    if stated := re.match(r'sep=(.)', lines[0]):
        lines_above, delimiter = 1, stated[1]
    header_line = lines[lines_above].lstrip('# ')
    delimiter = delimiter or _delimiter(header_line)
    header = _cells(header_line, delimiter)
    rows = [_cells(line, delimiter) for line in lines[lines_above + 1 :]]
    check_unpacked(path, 8 * len(header) * _line_count(path), len(header))
    second = rows[0] or header
    if _is_row(header, second):
        rows.insert(0, header)
        names = _names_without_header(path, header, second, columns)
    elif _are_units(second, len(header)):
        lines_above += 2
        units = [unit.strip('[]() ') for unit in second]
        names = [_with_unit(name, unit) for name, unit in zip(header, units)]
    else:
        lines_above += 1
        names = header
    names = _named_by_file(path, names)
    refuse_twice(str(path), names)
    return TextLayout(path, delimiter, names, lines_above, _decimal(delimiter, rows), encoding)


def _encoding_of(path: Path) -> str:
    """Return the encoding of a text, by its first bytes; RecordingError where it is no text."""
    with path.open('rb') as stream:
        first_bytes = stream.read(_ENCODED_BYTES)
    encoding = _ENCODINGS.get(first_bytes[:2])
    if encoding:
        return encoding
    if b'\0' in first_bytes[:_MARKED_BYTES]:
        raise RecordingError(
            f'{path} is no text', expected='UTF-8, or UTF-16 with its mark', found='zero bytes'
        )
    try:
        codecs.getincrementaldecoder('utf-8')().decode(first_bytes)
    except UnicodeDecodeError:
        return _OF_WINDOWS
    return 'utf-8-sig'


def refuse_topic_echo(path: Path) -> None:
    """Raise RecordingError where a file is what ``ros2 topic echo`` prints, by its first lines."""
    with path.open('rb') as stream:
        lines = stream.read(_ENCODED_BYTES).splitlines()[:FIRST_LINES]
    words = [line.strip() for line in lines if line.strip() not in (b'', b'---')]
    if words[:2] == [b'header:', b'stamp:']:
        raise RecordingError(
            f'{path} is what "ros2 topic echo" prints',
            expected='a bag, or one line for each message',
            do='record with "ros2 bag record /joint_states /robot_description", or with '
            '"ros2 topic echo --csv /joint_states > log.csv"',
        )


def _delimiter(line: str) -> str:
    for delimiter in ';\t,|':
        if delimiter in line:
            return delimiter
    return ' '


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter == ' ':
        return line.split()
    cells = next(csv.reader([line], delimiter=delimiter), [])
    return list(map(str.strip, cells))


def _is_row(header: list[str], second: list[str]) -> bool:
    """Return whether the first line is no header: numbers where the second has numbers."""
    are_numbers = list(map(_is_number, header))
    return any(are_numbers) and are_numbers == list(map(_is_number, second))


def _names_without_header(
    path: Path, cells: list[str], second: list[str], columns: str
) -> list[str]:
    """Return the names of a row of joint states from an echo, else numbers to be renamed."""
    names = _echo_names(cells)
    if names:
        return names
    if not columns:
        raise RecordingError(f'{path}: no header line', found=', '.join(second[:4]), do=RENAME)
    return list(map(str, range(len(cells))))


def _echo_names(cells: list[str]) -> list[str]:
    """Return names of a row of a JointState as ``ros2 topic echo --csv`` writes it, or []."""
    are_numbers = list(map(_is_number, cells[3:]))
    joints, rest = divmod(len(are_numbers), 4)
    begins_with_names = are_numbers[: joints + 1] == [*[False] * joints, True]
    if rest or not begins_with_names or not all(map(str.isdecimal, cells[:2])):
        return []
    names = ['header.stamp.sec', 'header.stamp.nanosec', 'header.frame_id']
    for word in ('name', *JOINT_QUANTITIES):
        names += [f'{word}{k}' for k in range(joints)]
    return names


def _are_units(cells: list[str], count: int) -> bool:
    """Return whether the second line holds units of ``count`` columns."""
    units = {cell.strip('[]() ').lower() for cell in cells}
    return len(cells) == count and not units.isdisjoint({*UNIT_OF, *TIME_UNIT_OF})


def _with_unit(name: str, unit: str) -> str:
    if not unit:
        return name
    return f'{name} [{unit}]'


def _named_by_file(path: Path, names: list[str]) -> list[str]:
    """Return the names; with the quantity where only the name of the file tells it."""
    meaning = column_meaning(re.split(r'[\W_]', path.stem)[-1])
    if meaning is None or not meaning.is_measured or meaning.joint:
        return names
    columns = ColumnNames(names)
    if columns.topic_fields or any(map(columns.is_measured, names)):
        return names
    times = columns.names_of(TIME)
    return [name if name in times else f'{meaning.quantity}_{name}' for name in names]


def _decimal(delimiter: str, rows: list[list[str]]) -> str:
    """Return the decimal sign of the cells of some rows: a comma where one has it, or a point."""
    if delimiter == ',':
        return '.'
    for cells in rows:
        if any(map(_DECIMAL_COMMA.fullmatch, cells)):
            return ','
    return '.'


def _line_count(path: Path) -> int:
    """Return how many lines a text has: a short one takes the room of all columns."""
    count = 0
    with path.open('rb') as stream:
        while block := stream.read(1 << 20):
            count += block.count(b'\n') + block.count(b'\r')
    return count


def _is_number(cell: str) -> bool:
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
