"""Columns of a log by the names that whoever imports it gives them: ``--columns``."""

from collections import Counter
from collections.abc import Iterable, Mapping
import re
import shlex
from typing import Any

import numpy as np

from ...errors import RecordingError

Table = Mapping[str, Any]  # {name: (n,) or (n, k)}
RENAME = (
    'name its columns: --columns "time q1..q6 v1..v6 tau1..tau6", or rename them: '
    '--columns "q_*=*_angle tau_*=*_moment"'
)
_NOT_WANTED = '-'


def renamed(where: str, table: Table, columns: str) -> dict[str, Any]:
    """
    Return a ``table`` by the names that its columns are given.

    where : of the log, for messages
    columns : NEW=OLD with spaces between, * stands for a joint, - as NEW for one not wanted; or
        names of all (of the only matrix, where there is one), q1..q6 for six
    """
    if not columns.strip():
        return dict(table)
    if '=' in columns:
        new_names = _new_names(where, table, columns)
        refuse_twice(where, new_names.values())
        return _mapped(table, new_names)
    names = _expanded(columns)
    refuse_twice(where, names)
    return _named_anew(where, table, names)


def refuse_twice(where: str, names: Iterable[str]) -> None:
    """Raise RecordingError where two columns have one name; ``where``: of the log."""
    counts = Counter(names)
    twice = sorted(name for name in counts if counts[name] > 1 and name not in ('', _NOT_WANTED))
    if twice:
        raise RecordingError(f'{where}: a column is there twice', found=twice)


def _new_names(where: str, table: Table, columns: str) -> dict[str, str]:
    """Return old name -> new name of the columns that NEW=OLD are of."""
    new_names = {}
    for word in shlex.split(columns):
        new, _, old = word.partition('=')
        pattern = re.compile(re.escape(old).replace(r'\*', '(.+)'))
        matches = list(filter(None, map(pattern.fullmatch, table)))
        if not (matches and new and old):
            raise RecordingError(
                f'{where} has no column {old!r}',
                exists=list(table)[:50],
                expected='NEW=OLD, such as tau_*=*_moment',
            )
        for match in matches:
            joint = match[1] if match.lastindex else ''
            new_names[match.string] = new.replace('*', joint)
    return new_names


def _mapped(table: Table, new_names: Mapping[str, str]) -> dict[str, Any]:
    """Return a table whose columns have new names; those that had these names before give way."""
    taken = set(new_names.values())
    result = {}
    for name, values in table.items():
        if name in new_names:
            result[new_names[name]] = values
        elif name not in taken:
            result[name] = values
    result.pop(_NOT_WANTED, None)
    return result


def _named_anew(where: str, table: Table, names: list[str]) -> dict[str, Any]:
    """Return the columns of a table, or of its only matrix with as many, by ``names`` of all."""
    columns = list(table.values())
    matrices = [x for x in columns if np.ndim(x) == 2 and x.shape[1] == len(names)]
    if len(matrices) == 1:
        columns = list(matrices[0].T)
    if len(columns) != len(names) or any(np.ndim(x) > 1 for x in columns):
        shapes = ', '.join(f'{name} {np.shape(x) or ""}' for name, x in table.items())
        raise RecordingError(
            f'{where} has other columns',
            found=f'{len(table)}: {shapes}',
            expected=f'{len(names)} as named, or one matrix of {len(names)} columns',
        )
    result = dict(zip(names, columns))
    result.pop(_NOT_WANTED, None)
    return result


def _expanded(columns: str) -> list[str]:
    """Return the names in a text, ``q1..q3`` as q1 q2 q3."""
    names: list[str] = []
    for word in columns.split():
        span = re.fullmatch(r'(.*?)(\d{1,4})\.\.\1(\d{1,4})', word)
        if span:
            first, last = int(span[2]), int(span[3])
            names += [f'{span[1]}{k}' for k in range(first, last + 1)]
        else:
            names.append(word)
    return names
