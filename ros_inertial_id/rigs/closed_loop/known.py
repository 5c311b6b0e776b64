"""
What is known of a mechanism before: parameters, and sums of them such as base parameters.

A known parameter leaves the columns, its share of the torque moves to the other side.  A known sum
``a + c b = s`` ties its first parameter to the others: a = s - c b, so the column of b becomes
W_b - c W_a and s W_a moves to the other side.  All other base parameters stay what they are.
"""

from collections.abc import Mapping, Sequence
import re

import numpy as np

from ...dynamics.inertial_parameters import Parameter, SYMBOLS
from ...errors import ConfigError

TERM = re.compile(r'\s*([+-]?)\s*(\d[\d.]*(?:e[+-]?\d+)?)?\s*\*?\s*([A-Za-z]\w*)')
Sum = dict[str, float]  # parameter name -> coefficient


def read_known(lines: Sequence[str], parameters: Sequence[Parameter]
               ) -> tuple[dict[str, float], dict[str, Sum]]:
    """
    Return ({name: known value}, {name: the sum of others that is taken off it}).

    lines : option ``known``: NAME, NAME VALUE or SUM = VALUE; parameters : of all columns
    ConfigError where a line cannot be read, names nothing, or ties what is tied or known already.
    """
    names = {p.name: p for p in parameters}
    values: dict[str, float] = {}
    tied: dict[str, Sum] = {}
    for line in lines:
        total, value = _read(line)
        lead, *others = total
        for name in total:
            if name not in names:
                raise ConfigError('option known', found=name, exists=list(names))
            if others and names[name].law:
                raise ConfigError('option known', found=f'{name} in a sum',
                                  expected='parameters of bodies')
        clash = [lead for name in total if name in tied] + [lead for terms in tied.values()
                                                            if lead in terms]
        if lead in values or clash:
            raise ConfigError('option known', found=f'{lead} in two lines', expected='the first '
                              'parameter of a line in no other')
        values[lead] = value / total[lead]
        if others:
            tied[lead] = {name: total[name] / total[lead] for name in others}
    return values, tied


def links_as_described(lines: Sequence[str], links: Sequence[str],
                       inertias: np.ndarray) -> tuple[str, ...]:
    """
    Return ``lines`` of option known, those that name a link replaced by its ten parameters.

    links, inertias (n, 10) : of the bodies, as the robot description has them
    """
    out: list[str] = []
    for line in lines:
        body = links.index(line.strip()) if line.strip() in links else None
        out += [line] if body is None else [f'{symbol}{body + 1} {float(value)!r}'
                                            for symbol, value in zip(SYMBOLS, inertias[body])]
    return tuple(out)


def _read(line):
    """Return ({name: coefficient}, value) of a line."""
    left, equals, right = str(line).partition('=')
    words = left.split()
    if not equals:
        left, right = (words or [''])[0], ' '.join(words[1:]) or '0'
    total, place = {}, 0
    for match in TERM.finditer(left):
        if match.start() != place or (place and not match[1]) or match[3] in total:
            break
        total[match[3]] = float(match[2] or 1.0) * (-1.0 if match[1] == '-' else 1.0)
        place = match.end()
    try:
        if not total or left[place:].strip() or 0.0 in total.values():
            raise ValueError
        return total, float(right)
    except ValueError:
        raise ConfigError('option known', expected='NAME, NAME VALUE or SUM = VALUE, for example '
                          '"mcx2 + 0.25 m3 = 0.09"', found=repr(line)) from None


def without_tied(W: np.ndarray, names: Sequence[str], tied: Mapping[str, Sum]) -> np.ndarray:
    """
    Return columns W (..., p, B) of parameters with those tied to others taken off these.

    names : (p,) of the columns; tied : of ``read_known``.  W itself is changed.
    """
    for lead, others in tied.items():
        column = W[..., names.index(lead), :]
        for name, coefficient in others.items():
            W[..., names.index(name), :] -= coefficient * column
    return W


def with_tied(values: Mapping[str, float], known: Mapping[str, float],
              tied: Mapping[str, Sum]) -> dict[str, float]:
    """
    Return {name: value} of all parameters, those that are known or tied among them.

    values : of the estimated ones; known, tied : of ``read_known``
    """
    out = {**values, **known}
    for lead, others in tied.items():
        out[lead] -= sum(c * out[name] for name, c in others.items())
    return out
