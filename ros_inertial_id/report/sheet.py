"""
Sheets: the content of pages as plain values; all but the live one are Sheets in one template.

``sections`` composes them; ``write_sheet`` makes the HTML file of one, which needs nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
import json
from pathlib import Path
import shlex
from typing import Any, NamedTuple

from .drawings import Drawings
from .knowledge import joined, typeset
from .text_table import text_lines
from .. import __version__
from ..errors import ConfigError
from ..identification.files import write_text
from ..identification.identified_model import plain


class Cell(NamedTuple):
    """A text in a table; sort : what orders it; style : flag, dim, missing, mono or unit."""

    text: str
    sort: str | float | None = None
    style: str = ''


class Card(NamedTuple):
    """A number or word that stands large at the top; alarm : it must not be overlooked."""

    word: str
    text: str
    alarm: bool = False


def _text_of(cell: Cell | str) -> str:
    if isinstance(cell, Cell):
        return cell.text
    return cell


@dataclass(frozen=True)
class Table:
    """
    A table of cells, each a text or a Cell.

    heads, rows : as many cells as heads, else ConfigError
    words : columns of words, which stand left
    flagged : numbers of rows with something wrong; note : below it
    grades : of the rows; with them the table can be sorted and filtered
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    words: Sequence[int] = ()
    flagged: Sequence[int] = ()
    title: str = ''
    note: str = ''
    grades: Sequence[str] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.heads):
                raise ConfigError(
                    f'a row of the table of {", ".join(self.heads)}',
                    expected=f'{len(self.heads)} cells',
                    found=len(row),
                )
            for cell in row:
                if not isinstance(cell, (Cell, str)):
                    raise ConfigError(
                        f'a cell of the table of {", ".join(self.heads)}',
                        expected='a text or a Cell',
                        found=repr(cell),
                    )

    def lines(self) -> list[str]:
        """Return the table as lines of text; columns beyond the terminal's width stand below."""
        texts = [list(map(_text_of, row)) for row in self.rows]
        return text_lines(self.heads, texts, self.words)


@dataclass(frozen=True)
class Section:
    """
    A part of a page, which folds.

    title : its heading; digest : beside it, also while it is folded; opened : at first
    texts : sentences; tables; charts : small ones, by their numbers; note : above the charts
    figures : [(joint, large charts, small charts)]; code : as typed; view : an arm in 3D
    """

    title: str
    digest: str = ''
    texts: Sequence[str] = ()
    tables: Sequence[Table] = ()
    charts: Sequence[str] = ()
    figures: Sequence[tuple[str, Sequence[str], Sequence[str]]] = ()
    note: str = ''
    code: str = ''
    view: Mapping[str, Any] | None = None
    opened: bool = True

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        has_rows = any(table.rows for table in self.tables)
        return not any((self.texts, self.charts, self.figures, self.code, self.view, has_rows))


@dataclass(frozen=True)
class Sheet:
    """
    What a page says.

    title, about : what it is of; at the top: cards, sentences, table, charts by their numbers,
        view : an arm in 3D beside these
    commands : [(what for, as typed)] of what to do next
    sections : in their order, those without content are left out
    numbers : behind the link JSON; drawings : the charts
    """

    title: str
    about: str
    cards: Sequence[Card] = ()
    sentences: Sequence[str] = ()
    sections: Sequence[Section] = ()
    table: Table | None = None
    charts: Sequence[str] = ()
    view: Mapping[str, Any] | None = None
    commands: Sequence[tuple[str, str]] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    drawings: Drawings = field(default_factory=Drawings)


def write_sheet(sheet: Sheet, path: str | Path, words: Sequence[str]) -> str:
    """Write a ``sheet`` as one HTML file; ``words`` : of the command that made it; return path."""
    write_text(path, sheet_text(sheet, words))
    return str(path)


def sheet_text(sheet: Sheet, words: Sequence[str] = ()) -> str:
    """Return the HTML text of a ``sheet``; ``words`` : of the command that made it."""
    sections = [section for section in sheet.sections if not section.empty]
    if words:
        now = datetime.now(timezone.utc).isoformat(timespec='seconds')
        sections.append(
            Section('Provenance', f'ros_inertial_id {__version__}, {now}', code=shlex.join(words))
        )
    return fill(
        'sheet.html',
        {'title': sheet.title, 'sheet': sheet, 'sections': sections},
        {**sheet.drawings.to_dict(), 'numbers': plain(sheet.numbers)},
    )


def fill(template: str, values: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """
    Return the HTML text of a template of this room, with style and script inside.

    values : of its variables; data : for its script; ConfigError where jinja2 is not installed
    """
    text = json.dumps(data, separators=(',', ':'), allow_nan=False).replace('<', '\\u003c')
    return _environment().get_template(template).render(**values, data=text)


@cache
def _environment() -> Any:
    """Return jinja2's Environment of this room: templates are compiled once, as modules are."""
    try:
        from jinja2 import Environment, PackageLoader, select_autoescape, StrictUndefined
    except ModuleNotFoundError as error:
        raise ConfigError(f'a page needs {error.name}', do=f'install {error.name}') from None
    environment = Environment(
        loader=PackageLoader('ros_inertial_id.report', ''),
        undefined=StrictUndefined,
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_compiled_templates(),
    )
    environment.filters.update(typeset=typeset, joined=joined)
    return environment


def _compiled_templates() -> Any:
    """Return jinja2's cache in the folder for temporary files, None where it cannot be used."""
    from jinja2 import FileSystemBytecodeCache

    try:
        return FileSystemBytecodeCache()
    except (OSError, RuntimeError):  # somebody else's folder, or none that can be written to
        return None
