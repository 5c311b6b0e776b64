"""
Texts of columns: one header line, or columns named by whoever imports it.

Commas, semicolons, tabs, bars or blanks between; an empty cell is NaN, a decimal comma a point.  A
second line may hold units, a first one ``sep=;``.  ``ros2 topic echo --csv`` of joint states is
known without a header; of ``run_efforts.csv`` a column that is not time is a joint's.  Texts are
UTF-8, UTF-16 by their first two bytes, or else of Windows.
"""

import codecs
from collections.abc import Iterable, Iterator
import csv
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
import re
from typing import Any, TextIO

import numpy as np

from .log_columns import ColumnNames
from .log_pieces import columns_of_pieces, PIECE
from .log_renaming import refuse_twice, RENAME, renamed
from .log_spellings import column_meaning, JOINT_QUANTITIES, NAMES, TIME, TIME_UNIT_OF, UNIT_OF
from .unpacked_size import check_unpacked
from ...errors import RecordingError

_ENCODINGS = {  # by first bytes, the longest first
    codecs.BOM_UTF32_LE: 'utf-32',
    codecs.BOM_UTF32_BE: 'utf-32',
    codecs.BOM_UTF16_LE: 'utf-16',
    codecs.BOM_UTF16_BE: 'utf-16',
}
_OF_WINDOWS = 'cp1252'  # of spreadsheets whose texts are no UTF-8: degrees as one byte
_ENCODED_BYTES = 1 << 16  # of a text that show its encoding
_MARKED_BYTES = 64  # of which every second one is zero in UTF-16 without its mark
FIRST_LINES = 5  # that show how a text is laid out
LONGEST_LINE = 1 << 23  # letters
LONGEST_SHOWN = 60  # letters of a cell, in a message
_NOTHING = '', 'na', 'n/a', '#n/a', '<na>', 'null', 'none'  # in cells without a number
_NUMBER_OF_WORD = {**dict.fromkeys(_NOTHING, np.nan), 'true': 1.0, 'false': 0.0}
_DECIMAL_COMMA = re.compile(r'[-+]?\d+,\d+(e[-+]?\d+)?', re.I)


@dataclass(frozen=True)
class TextLayout:
    """How a text is laid out: names of its columns, lines above its rows of numbers."""

    path: Path
    delimiter: str
    names: list[str]
    lines_above: int
    most_rows: int
    decimal: str
    encoding: str

    def error(self, row: int, expected: str, found: str) -> RecordingError:
        """Return the error of a ``row``, counted from 0."""
        line = row + self.lines_above + 1
        return RecordingError(f'{self.path}, line {line}', expected=expected, found=found)


def read_text(path: Path, columns: str) -> dict[str, Any]:
    """Return the columns of a text: of joints and topics as numbers, times and names as text."""
    layout = _layout(path, columns)
    numbers = renamed(str(path), {name: k for k, name in enumerate(layout.names)}, columns)
    names = ColumnNames(numbers)
    as_texts = names.names_of(TIME, NAMES)

    def piece_of(cells: list[tuple[str, ...]], first_row: int) -> dict[str, np.ndarray]:
        piece = {}
        for name, number in numbers.items():
            if name in as_texts:
                piece[name] = texts(cells[number], path)
                continue
            are_of_joints = name in names.topic_fields or names.is_measured(name)
            piece[name] = _numbers(cells[number], layout, first_row, are_of_joints)
        return piece

    pieces = (piece_of(cells, first_row) for first_row, cells in _pieces(layout))
    return columns_of_pieces(path, layout.most_rows, pieces)


def _pieces(layout: TextLayout) -> Iterator[tuple[int, list[tuple[str, ...]]]]:
    """Yield the number of the first of some rows, and the cells of their columns."""
    with layout.path.open(encoding=layout.encoding, errors='replace', newline='') as stream:
        lines = islice(lines_of(layout.path, stream), layout.lines_above, None)
        rows = _rows(layout, lines)
        first_row, count = 0, len(layout.names)
        while piece := list(islice(rows, PIECE)):
            for number, row in enumerate(piece, first_row):
                if len(row) > count and any(cell.strip() for cell in row[count:]):
                    raise layout.error(number, f'{count} cells', 'more')
            padded = [piece[0] + [''] * (count - len(piece[0])), *piece[1:]]
            yield first_row, list(zip_longest(*padded, fillvalue=''))
            first_row += len(piece)
        if not first_row:
            yield 0, [()] * count


def _rows(layout: TextLayout, lines: Iterator[str]) -> Iterator[list[str]]:
    """Yield the cells of ``lines`` that are not blank."""
    if layout.delimiter == ' ':
        yield from filter(None, map(str.split, lines))
        return
    rows = csv.reader(lines, delimiter=layout.delimiter, skipinitialspace=True)
    try:
        yield from filter(None, rows)
    except csv.Error as error:
        raise RecordingError(
            f'{layout.path}, up to line {rows.line_num + layout.lines_above}',
            expected='quotes that end within their cell',
            found=error,
        ) from None


def lines_of(path: Path, stream: TextIO) -> Iterator[str]:
    """Yield the lines of an open text; RecordingError for one longer than any of numbers."""
    while line := stream.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise RecordingError(
                f'{path} is no log', found=f'a line of {LONGEST_LINE >> 20} MB or more'
            )
        yield line


def _numbers(
    cells: tuple[str, ...], layout: TextLayout, first_row: int, are_of_joints: bool
) -> np.ndarray:
    """
    Return ``cells`` (n,), of rows from ``first_row`` on, as floats, NaN for empty ones.

    RecordingError where some are words and ``are_of_joints``; else what nobody will read.
    """
    if layout.decimal == ',':
        cells = tuple(cell.replace(',', '.') for cell in cells)
    try:
        return np.fromiter(map(float, cells), float, len(cells))
    except ValueError:  # of the first that is empty, or a word
        pass
    numbers = [_number(cell.strip()) for cell in cells]
    if None not in numbers:
        return np.array(numbers, float)
    row = numbers.index(None)
    if are_of_joints:
        raise layout.error(first_row + row, 'a number', cells[row][:LONGEST_SHOWN])
    return np.full(len(cells), cells[row], object)


def _number(cell: str) -> float | None:
    """Return the number in a ``cell``, NaN for an empty one, None for a word."""
    try:
        return float(cell)
    except ValueError:
        return _NUMBER_OF_WORD.get(cell.lower())


def _layout(path: Path, columns: str) -> TextLayout:
    """Return how a text is laid out, whose ``columns`` may be named by whoever imports it."""
    refuse_topic_echo(path)
    encoding = _encoding_of(path)
    with path.open(encoding=encoding, errors='replace') as stream:
        # A tab that begins a line ends an empty cell.
        first_lines = islice(lines_of(path, stream), FIRST_LINES)
        lines = [line.rstrip().lstrip(' ') for line in first_lines]
    lines += ['', '']
    lines_above, delimiter = 0, ''
    if stated := re.match(r'sep=(.)', lines[0]):
        lines_above, delimiter = 1, stated[1]
    header_line = lines[lines_above].lstrip('# ')
    delimiter = delimiter or _delimiter(header_line)
    header = _cells(header_line, delimiter)
    rows = [_cells(line, delimiter) for line in lines[lines_above + 1 :]]
    line_count = _line_count(path)
    check_unpacked(path, 8 * len(header) * line_count, len(header))
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
    decimal = _decimal(delimiter, rows)
    return TextLayout(path, delimiter, names, lines_above, line_count, decimal, encoding)


def _encoding_of(path: Path) -> str:
    """Return the encoding of a text, by its first bytes; RecordingError where it is no text."""
    with path.open('rb') as stream:
        first_bytes = stream.read(_ENCODED_BYTES)
    for mark, encoding in _ENCODINGS.items():
        if first_bytes.startswith(mark):
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
    """Return how many lines a text has at most: a short one takes the room of all columns."""
    count = 1
    with path.open('rb') as stream:
        while block := stream.read(1 << 20):
            count += block.count(b'\n') + block.count(b'\r') - block.count(b'\r\n')
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
