"""
EXPLAINS: which finding causes which others, applied once to all findings of a recording.

A cause may name its effects by the beginning of their names.
"""

from collections.abc import Sequence

from .finding import Finding

# {cause: beginnings of the names of its effects}; '' is the beginning of every name
EXPLAINS: dict[str, tuple[str, ...]] = {
    'two robots on one topic': ('',),
    'stamps run backwards': ('',),
    'stamps jump': ('',),
    'position not unwrapped': ('velocity', 'position spikes', 'wrong rate'),
    'stamps jitter': ('wrong rate',),
    'position in degrees': ('velocity in another unit', 'wrong rate'),
}


def without_effects(findings: Sequence[Finding]) -> list[Finding]:
    """Return ``findings`` without those that another one explains."""
    names = {f.name for f in findings}
    causes = [cause for cause in EXPLAINS if cause in names]
    return [f for f in findings if not any(_explains(cause, f.name) for cause in causes)]


def _explains(cause: str, name: str) -> bool:
    return name != cause and name.startswith(EXPLAINS[cause])
