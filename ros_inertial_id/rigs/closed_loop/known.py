"""
What is known of a mechanism besides its description: lines of the option ``known``.

    NAME              zero
    NAME VALUE        a parameter
    SUM = VALUE       a sum of parameters of bodies, such as "mcx2 + 0.25 m3 = 0.09"
    LINK              all ten parameters of a body, as the URDF has them
"""

from dataclasses import dataclass
import re
from typing import Sequence

import numpy as np

from ..dynamics.joint_names import finite_number
from ...dynamics.inertial_parameters import Parameter, SYMBOLS
from ...errors import ConfigError

TERM = re.compile(r'\s*([+-]?)\s*(\d[\d.]*(?:e[+-]?\d+)?)?\s*\*?\s*([A-Za-z]\w*)')
Sum = dict[str, float]  # parameter name -> coefficient


@dataclass(frozen=True)
class KnownSum:
    """``lead`` plus coefficient times parameter of all ``others`` is ``value``."""

    lead: str
    others: Sum
    value: float

    @property
    def names(self) -> set[str]:
        """Return the names of all parameters in it."""
        return {self.lead, *self.others}


def read_known(
    lines: Sequence[str], parameters: Sequence[Parameter]
) -> tuple[dict[str, float], dict[str, Sum]]:
    """
    Return ({name: known value}, {name: the sum of others that is taken off it}).

    lines : NAME, NAME VALUE or SUM = VALUE, about the ``parameters`` of all columns
    ConfigError where a line cannot be read, names nothing, or ties what is tied or known already.
    """
    by_name = {p.name: p for p in parameters}
    sums: list[KnownSum] = []
    for line in lines:
        known = _read_line(line)
        _check_parameters(known, by_name)
        _check_independent(known, sums)
        sums.append(known)
    values = {known.lead: known.value for known in sums}
    return values, {known.lead: known.others for known in sums if known.others}


def _check_parameters(known, by_name):
    """Raise ConfigError where a KnownSum names no parameter, or a force in a sum."""
    for name in (known.lead, *known.others):
        if name not in by_name:
            raise ConfigError('option known', found=name, exists=list(by_name))
        if known.others and by_name[name].law:
            raise ConfigError(
                'option known', found=f'{name} in a sum', expected='parameters of bodies'
            )


def _check_independent(known, before):
    """Raise ConfigError where a KnownSum leads what one ``before`` has, or has its lead tied."""
    for earlier in before:
        tied = earlier.lead in known.names and earlier.others
        if known.lead in earlier.names or tied:
            raise ConfigError(
                'option known',
                found=f'{known.lead} in two lines',
                expected='the first parameter of a line in no other',
            )


def _read_line(line):
    """Return the KnownSum of a line, divided by the coefficient of its first parameter."""
    try:
        text, text_of_value = _sides(str(line))
        (lead, scale), *others = _terms(text).items()  # ValueError of none
        value = finite_number(text_of_value) / scale
        return KnownSum(lead, {name: c / scale for name, c in others}, value)
    except ValueError:
        raise ConfigError(
            'option known',
            expected='NAME, NAME VALUE or SUM = VALUE, for example "mcx2 + 0.25 m3 = 0.09"',
            found=repr(line),
        ) from None


def _sides(line):
    """Return the texts of parameters and of the value; ValueError for an empty line."""
    terms, equals, value = line.partition('=')
    if equals:
        return terms, value
    name, *number = line.split()
    return name, ' '.join(number) or '0'


def _terms(text):
    """Return {name: coefficient} of a sum in order; ValueError for a text that is none."""
    terms: Sum = {}
    end = 0
    while text[end:].strip():
        match = TERM.match(text, end)
        if match is None:
            raise ValueError
        sign, factor, name = match.groups()
        coefficient = float(sign + (factor or '1'))
        repeated, unsigned = name in terms, bool(terms) and not sign
        if repeated or unsigned or coefficient == 0.0:
            raise ValueError
        terms[name] = coefficient
        end = match.end()
    return terms


def links_as_described(
    lines: Sequence[str], links: Sequence[str], inertias: np.ndarray
) -> tuple[str, ...]:
    """Return ``lines``, those of a link replaced by its ten of the URDF's inertias (n, 10)."""
    out: list[str] = []
    for line in lines:
        link = line.strip()
        if link not in links:
            out.append(line)
            continue
        body = links.index(link)
        for symbol, value in zip(SYMBOLS, inertias[body]):
            out.append(f'{symbol}{body + 1} {float(value)!r}')
    return tuple(out)
