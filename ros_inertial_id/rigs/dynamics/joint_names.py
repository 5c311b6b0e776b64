"""Joints by the names that options give them."""

from collections.abc import Sequence

from ...errors import ConfigError


def joint_index(names: Sequence[str], name: str, what: str) -> int:
    """Return the index of a joint ``name`` among ``names``; ConfigError on ``what`` names it."""
    if name not in names:
        raise ConfigError(what, found=f'joint {name!r}', exists=names)
    return names.index(name)
