"""Joints and numbers as the lines of options name them."""

from collections.abc import Sequence
import math

from ...errors import ConfigError


def joint_index(names: Sequence[str], name: str, what: str) -> int:
    """Return the index of a joint ``name`` among ``names``; ConfigError on ``what`` names it."""
    if name not in names:
        raise ConfigError(what, found=f'joint {name!r}', exists=names)
    return names.index(name)


def finite_number(text: str) -> float:
    """Return the number that a ``text`` is; ValueError where it is none, nan or infinite."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
