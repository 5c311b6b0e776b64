"""Tables of named rows: by name and by column for programs, data frames, HTML in notebooks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
import html
from typing import Any

import numpy as np

from ..errors import ConfigError


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
        return self._numbers(
            tuple(f'I{min(a, b)}{max(a, b)}{suffix}' for a in 'xyz' for b in 'xyz')
        ).reshape(3, 3)

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
        column = name if name in self.columns else name.removesuffix('s')
        if column in self.columns:
            return self[column]
        raise AttributeError(f'no column {name!r}; there is: {", ".join(self.columns)}')

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.columns})

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.rows[0]) if self.rows else []

    @property
    def names(self) -> list[str]:
        """Return the names of the rows."""
        return [row[self.columns[0]] for row in self.rows]

    def to_dataframe(self) -> Any:
        """Return a pandas.DataFrame, its index the names of the rows."""
        import pandas

        return pandas.DataFrame(list(map(dict, self.rows)), columns=self.columns).set_index(
            self.columns[0]
        )

    def __repr__(self) -> str:
        cells = [self.columns, *([_text(row[c]) for c in self.columns] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        return '\n'.join(
            '  '.join(f'{cell:<{w}}' for cell, w in zip(row, widths)).rstrip() for row in cells
        )

    def _repr_html_(self) -> str:
        head = ''.join(f'<th>{c.replace("_", " ")}</th>' for c in self.columns)
        body = ''.join(
            '<tr>'
            + ''.join(f'<td>{html.escape(_text(row[c]))}</td>' for c in self.columns)
            + '</tr>'
            for row in self.rows
        )
        return f'<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def table(what: str, rows: Sequence[Mapping[str, Any]], kind: type[Row] = Row) -> Table:
    """Return the Table of ``rows``, in which None is NaN; ``what`` : a row is."""
    return Table(
        what,
        tuple(
            kind({name: float('nan') if value is None else value for name, value in row.items()})
            for row in rows
        ),
    )


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f'{value:.6g}'
    return ' '.join(value) if isinstance(value, tuple) else str(value)
