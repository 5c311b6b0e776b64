"""Text tables: a Table as lines of a terminal, columns beyond its width below the others."""

from collections.abc import Sequence
import re
from shutil import get_terminal_size

LINE_WIDTH = 118  # characters of a line, where no terminal and no COLUMNS says another
BETWEEN = 2  # characters, of columns


def text_lines(
    heads: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[int]
) -> list[str]:
    """
    Return a table as lines of text.

    heads : a unit or what follows a comma stands below; rows : as many texts as heads
    words : numbers of columns that stand left, as the first one does
    """
    upper, lower = zip(*map(_two_lines, heads))
    lines = [line for line in (upper, lower, *rows) if any(line)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    to_the_left = {0, *words}

    def padded(text: str, column: int) -> str:
        if column in to_the_left:
            return text.ljust(widths[column])
        return text.rjust(widths[column])

    shown = []
    for columns in _parts(widths):
        for line in lines:
            cells = [padded(line[column], column) for column in columns]
            shown.append((' ' * BETWEEN).join(cells).rstrip().replace('±', '+-'))
    return shown


def _two_lines(head: str) -> tuple[str, str]:
    """Return a ``head`` in two: before and after its comma or unit."""
    before, *after = re.split(r', | (?=\[)', head, maxsplit=1)
    return before, ''.join(after)


def _parts(widths: Sequence[int]) -> list[list[int]]:
    """Return the columns of each part that fits the terminal, the first of all in each."""
    longest = get_terminal_size((LINE_WIDTH, 0)).columns
    part = [0]
    parts = [part]
    used = widths[0]
    for column, width in enumerate(widths[1:], 1):
        used += BETWEEN + width
        if used > longest and len(part) > 1:
            part = [0]
            parts.append(part)
            used = widths[0] + BETWEEN + width
        part.append(column)
    return parts
