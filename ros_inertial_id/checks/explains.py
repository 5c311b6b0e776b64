"""
EXPLAINS: which finding causes which others, applied once to all findings of a recording.

A cause explains its effects where it is more than a note; what a note explains is said so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .finding import Finding, NOTE, SEVERITIES

DELAYED = 'effort delayed'
CAUSES = (
    'effort',  # negated, in another unit, a current, delayed, ...
    'gain of a joint',
    'wrong mounting',
    'gravity compensated',
    'encoder zero off',
    'payload not declared',
)
FOREIGN = ('description of another robot', 'efforts do not follow the motion')
SAMPLING = ('description of another robot', DELAYED)  # what samples by themselves explain
QUALITIES = (  # of the samples of efforts, which stay whatever explains the torques
    'effort stuck',
    'effort clipped',
    'effort quantised',
    'effort spikes',
    'effort not finite',
    'efforts without sign',
)
EVERYTHING = ('',)  # the beginning of every name
NO_MOTION = ('two robots on one topic', 'stamps run backwards', 'stamps jump')
NOT_FINITE = ('position not finite', 'velocity not finite', 'effort not finite')


@dataclass(frozen=True)
class Explained:
    """
    What a cause explains.

    effects : beginnings of names, '' of every one; but : names that it does not explain
    inherits : whether the cause is as bad as its worst effect
    by_a_note : whether it explains where it is only a note
    """

    effects: tuple[str, ...]
    but: tuple[str, ...] = ()
    inherits: bool = False
    by_a_note: bool = False


EXPLAINS: dict[str, Explained] = {
    'two robots on one topic': Explained(EVERYTHING, but=(*NO_MOTION, *NOT_FINITE)),
    'stamps run backwards': Explained(EVERYTHING, but=(*NO_MOTION, *NOT_FINITE)),
    'stamps jump': Explained(EVERYTHING, but=(*NO_MOTION, *NOT_FINITE)),
    'position not unwrapped': Explained(
        ('velocity', 'position spikes', 'wrong rate'), but=NOT_FINITE, by_a_note=True
    ),
    'position in degrees': Explained(('velocity in another unit', 'wrong rate')),
    'velocity or position negated': Explained(
        (*CAUSES, *FOREIGN, 'joints exchanged'), QUALITIES, inherits=True
    ),
    'stamps jitter': Explained(('wrong rate', *SAMPLING)),
    'stamps repeat': Explained(SAMPLING),
    'samples held': Explained(SAMPLING),
    'messages lost': Explained(SAMPLING),
    'joints exchanged': Explained((*CAUSES, *FOREIGN, 'bodies other'), QUALITIES),
    'joint slides in the description': Explained((*CAUSES, *FOREIGN, 'bodies other'), QUALITIES),
    'arm at rest': Explained(CAUSES, QUALITIES),
    'efforts do not follow the motion': Explained(CAUSES, QUALITIES),
    'description of another robot': Explained(CAUSES, QUALITIES),
}


def without_effects(findings: Sequence[Finding]) -> list[Finding]:
    """Return ``findings`` without those that another one explains."""
    out = list(findings)
    for cause, explained in EXPLAINS.items():
        causing = [f for f in out if f.name == cause and _counts(f, explained)]
        if causing:
            effects = [f for f in out if f.name != cause and _is_effect(f.name, explained)]
            out = [f for f in out if f not in effects]
            if explained.inherits:
                out = _as_bad_as(out, causing, effects)
    return out


def explains_everything(finding: Finding) -> bool:
    """Return whether what else is seen beside ``finding`` says nothing."""
    return finding.name in EXPLAINS and EXPLAINS[finding.name].effects == EVERYTHING


def _counts(finding: Finding, explained: Explained) -> bool:
    return explained.by_a_note or finding.severity != NOTE


def _is_effect(name: str, explained: Explained) -> bool:
    return name.startswith(explained.effects) and name not in explained.but


def _as_bad_as(
    findings: Sequence[Finding], causing: Sequence[Finding], effects: Sequence[Finding]
) -> list[Finding]:
    """Return ``findings``, those that are ``causing`` as bad as the worst of their ``effects``."""
    worst = max((SEVERITIES.index(f.severity) for f in effects), default=0)
    out = []
    for finding in findings:
        if finding in causing:
            severity = max(worst, SEVERITIES.index(finding.severity))
            finding = replace(finding, severity=SEVERITIES[severity])
        out.append(finding)
    return out
