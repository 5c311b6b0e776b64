"""The base parameters of a model as a table: for programs by name, for notebooks as HTML."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
import html
from typing import Any

import numpy as np

from ..errors import ConfigError

COLUMNS = ('name', 'value', 'standard_error', 'unit', 'relative_percent', 'nominal', 'expression')


@dataclass(frozen=True, repr=False)
class ParameterTable(Sequence[Mapping[str, Any]]):
    """
    One row per base parameter: a mapping of COLUMNS; not determined is NaN.

    ``pandas.DataFrame(table)`` and ``table['IzzR1']`` work; notebooks show it as a table.

    rows : the mappings
    """

    rows: tuple[Mapping[str, Any], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise ConfigError(f'no base parameter {key!r}', exists=self.names)
            return self.rows[self.names.index(key)]
        return self.rows[key]

    @property
    def names(self) -> list[str]:
        """Return the names, with R where other parameters are grouped in."""
        return [row['name'] for row in self.rows]

    @property
    def values(self) -> np.ndarray:
        """Return the values, (b,), in their units, NaN where not determined."""
        return np.array([row['value'] for row in self.rows])

    @property
    def standard_errors(self) -> np.ndarray:
        """Return the standard errors (b,) in the units of the values."""
        return np.array([row['standard_error'] for row in self.rows])

    @property
    def units(self) -> list[str]:
        """Return the units."""
        return [row['unit'] for row in self.rows]

    def __repr__(self) -> str:
        cells = [COLUMNS, *([_text(row[c]) for c in COLUMNS] for row in self.rows)]
        widths = [max(len(row[k]) for row in cells) for k in range(len(COLUMNS))]
        return '\n'.join('  '.join(f'{cell:<{w}}' for cell, w in zip(row, widths)).rstrip()
                         for row in cells)

    def _repr_html_(self) -> str:
        head = ''.join(f'<th>{c.replace("_", " ")}</th>' for c in COLUMNS)
        body = ''.join('<tr>' + ''.join(f'<td>{html.escape(_text(row[c]))}</td>' for c in COLUMNS)
                       + '</tr>' for row in self.rows)
        return f'<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def parameter_table(entries: Sequence[Mapping[str, Any]]) -> ParameterTable:
    """Return the ParameterTable of ``entries``, the base parameters of an IdentifiedModel."""
    return ParameterTable(tuple(
        {c: float('nan') if entry[c] is None else entry[c] for c in COLUMNS}
        for entry in entries))


def _text(value: Any) -> str:
    return f'{value:.6g}' if isinstance(value, float) else str(value)
