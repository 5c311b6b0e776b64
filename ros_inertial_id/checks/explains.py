"""
EXPLAINS: which finding causes which others, applied once to all findings of a recording.

A cause may name its effects by the beginning of their names.
"""

from collections.abc import Sequence

from .finding import Finding

EVERYTHING = ('',)  # the beginning of every name

# {cause: beginnings of the names of its effects}
EXPLAINS: dict[str, tuple[str, ...]] = {
    'two robots on one topic': EVERYTHING,
    'stamps run backwards': EVERYTHING,
    'stamps jump': EVERYTHING,
    'position not unwrapped': ('velocity', 'position spikes', 'wrong rate'),
    'stamps jitter': ('wrong rate',),
    'position in degrees': ('velocity in another unit', 'wrong rate'),
}


def without_effects(findings: Sequence[Finding]) -> list[Finding]:
    """Return ``findings`` without those that another one explains, and not in turn."""
    causes = {f.name for f in findings if f.name in EXPLAINS}
    return [f for f in findings if not _is_effect(f.name, causes)]


def explains_everything(finding: Finding) -> bool:
    """Return whether nothing else counts beside ``finding``."""
    return EXPLAINS.get(finding.name) == EVERYTHING


def _is_effect(name: str, causes: set[str]) -> bool:
    return any(_explains(cause, name) and not _explains(name, cause) for cause in causes)


def _explains(cause: str, effect: str) -> bool:
    return cause != effect and effect.startswith(EXPLAINS.get(cause, ()))
