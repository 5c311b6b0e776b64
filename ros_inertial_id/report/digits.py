"""Digits: numbers as people write them, with as many digits as they are worth."""

import math

MOST_DECIMALS = 9


def significant(value: float | None, digits: int = 3) -> str:
    """Return a ``value`` with so many significant ``digits``, '-' for None."""
    if value is None or not math.isfinite(value):
        return '-'
    text = f'{value:#.{digits}g}'
    return f'{value:.{digits - 1}e}' if 'e' in text else text.rstrip('.')


def ratio(value: float | None) -> str:
    """Return a condition number or gap ``value``; None is how a model file writes infinity."""
    return 'infinite' if value is None or not math.isfinite(value) else f'{value:.4g}'


def percent(value: float | None) -> str:
    """Return a ``value`` in percent: two significant digits, no decimals from ten on."""
    return '-' if value is None else f'{value:.0f}' if value >= 10.0 else significant(value, 2)


def with_error(value: float, error: float | None) -> tuple[str, str]:
    """Return (value, error) as texts: the error to two digits, the value to the same decimals."""
    if not error or not math.isfinite(error):
        return f'{value:.6g}', '-' if error is None else significant(error, 2)
    decimals = 1 - math.floor(math.log10(error))
    if decimals > MOST_DECIMALS:  # exact data: digits without end help nobody
        return f'{value:.{MOST_DECIMALS}f}', f'{error:.1e}'
    decimals = max(0, decimals)
    return f'{value:.{decimals}f}', f'{error:.{decimals}f}'


def typeset(unit: str) -> str:
    """Return a ``unit`` with its powers raised: ``kg m^2`` as kg m², for pages and pictures."""
    return unit.replace('^2', '\u00b2').replace('^3', '\u00b3')
