"""Tables of named rows: by name and by column for programs, data frames, HTML in notebooks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
import html
from typing import Any

import numpy as np

from ..errors import ConfigError
from ..representation import brief

SYMMETRIC = ('xx', 'xy', 'xz', 'xy', 'yy', 'yz', 'xz', 'yz', 'zz')  # moments, row by row


class Row(dict[str, Any]):
    """A row of a Table: ``row['value']`` and ``row.value``."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f'no column {name!r}; there is: {", ".join(map(str, self))}')

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self})


class LinkRow(Row):
    """
    A link: mass [kg], centre of mass (3,) [m] and inertia about it (3, 3) [kg m^2], with errors.

    In the axes of the frame of the link's joint.
    """

    @property
    def center_of_mass(self) -> np.ndarray:
        """Return the centre of mass (3,) [m]."""
        return self._numbers(('x', 'y', 'z'))

    @property
    def center_of_mass_error(self) -> np.ndarray:
        """Return the standard errors (3,) [m] of the centre of mass."""
        return self._numbers(('x_error', 'y_error', 'z_error'))

    @property
    def inertia(self) -> np.ndarray:
        """Return the (3, 3) moments [kg m^2] about the centre of mass."""
        return self._symmetric('')

    @property
    def inertia_error(self) -> np.ndarray:
        """Return the standard errors (3, 3) [kg m^2] of the inertia."""
        return self._symmetric('_error')

    def _symmetric(self, suffix: str) -> np.ndarray:
        names = [f'I{pair}{suffix}' for pair in SYMMETRIC]
        return self._numbers(names).reshape(3, 3)

    def _numbers(self, names: Sequence[str]) -> np.ndarray:
        return np.array([self[name] for name in names])


@dataclass(frozen=True, repr=False)
class Table(Sequence[Row]):
    """
    Rows with the same columns, of which the first names them; not determined is NaN.

    ``table['IzzR1']`` is a row, ``table['value']`` or ``table.value`` a column (rows,),
    ``to_dataframe()`` the whole in pandas; notebooks show it.

    what : a row is, for messages; rows : the mappings
    """

    what: str
    rows: tuple[Row, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return self.rows[key]
        if key in self.names:
            return self.rows[self.names.index(key)]
        if key in self.columns:
            return np.array([row[key] for row in self.rows])
        raise ConfigError(
            f'no {self.what} {key!r}',
            exists=self.names,
            expected=f'one of them, or a column: {", ".join(self.columns)}',
        )

    def __getattr__(self, name: str) -> np.ndarray:
        if name in ('rows', '__setstate__'):  # of a copy that is not filled yet
            raise AttributeError(name)
        for column in (name, name.removesuffix('s')):
            if column in self.columns:
                return self[column]
        raise AttributeError(f'no column {name!r}; there is: {", ".join(self.columns)}')

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.columns})

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        if not self.rows:
            return []
        return list(self.rows[0])

    @property
    def names(self) -> list[str]:
        """Return the names of the rows."""
        return [row[self.columns[0]] for row in self.rows]

    def to_dataframe(self) -> Any:
        """Return a pandas.DataFrame, its index the names of the rows."""
        import pandas

        frame = pandas.DataFrame(list(map(dict, self.rows)), columns=self.columns)
        return frame.set_index(self.columns[:1])

    def __repr__(self) -> str:
        return brief(str(self))

    def __str__(self) -> str:
        cells = [self.columns, *map(self._cells, self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        return '\n'.join(_padded(line, widths) for line in cells)

    def _repr_html_(self) -> str:
        head = _html_row('th', [column.replace('_', ' ') for column in self.columns])
        body = ''.join(_html_row('td', self._cells(row)) for row in self.rows)
        return f'<table><thead>{head}</thead><tbody>{body}</tbody></table>'

    def _cells(self, row: Row) -> list[str]:
        """Return the cells of a ``row`` as texts."""
        return [_text(row[column]) for column in self.columns]


def table(what: str, rows: Sequence[Mapping[str, Any]], kind: type[Row] = Row) -> Table:
    """Return the Table of ``rows``, in which None is NaN; ``what`` : a row is."""
    return Table(what, tuple(kind(_with_nan(row)) for row in rows))


def _with_nan(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ``row`` with NaN for what is None."""
    nan = float('nan')
    return {name: nan if value is None else value for name, value in row.items()}


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f'{value:.6g}'
    if isinstance(value, tuple):
        return ' '.join(value)
    return str(value)


def _padded(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return a line of ``cells``, each as wide as its column."""
    return '  '.join(f'{cell:<{width}}' for cell, width in zip(cells, widths)).rstrip()


def _html_row(tag: str, cells: Sequence[str]) -> str:
    """Return a row of HTML, every cell in a ``tag``."""
    return '<tr>' + ''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells) + '</tr>'
