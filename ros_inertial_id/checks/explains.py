"""
EXPLAINS: which finding causes which others, applied once to all findings of a recording.

A cause explains its effects where it is more than a note; what a note explains is said so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .finding import Finding, NOTE, SEVERITIES

DELAYED = 'effort delayed'
CAUSE_NAMES = (
    'effort',  # negated, in another unit, a current, delayed, ...
    'gain of a joint',
    'wrong mounting',
    'gravity compensated',
    'encoder zero off',
    'payload not declared',
    'link described otherwise',
    'load changes',
)
FOREIGN_NAMES = ('description of another robot', 'efforts do not follow the motion')
SAMPLING_EFFECTS = ('description of another robot', DELAYED)  # what samples by themselves explain
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
    'position in counts': Explained(('wrong rate', 'velocity quantised', 'position quantised')),
    'velocity or position negated': Explained(
        (*CAUSE_NAMES, *FOREIGN_NAMES, 'joints exchanged'), QUALITIES, inherits=True
    ),
    'stamps jitter': Explained(('wrong rate', *SAMPLING_EFFECTS)),
    'stamps repeat': Explained(SAMPLING_EFFECTS),
    'samples held': Explained(SAMPLING_EFFECTS),
    'messages lost': Explained(SAMPLING_EFFECTS),
    'joints exchanged': Explained((*CAUSE_NAMES, *FOREIGN_NAMES, 'bodies other'), QUALITIES),
    'joint slides in the description': Explained(
        (*CAUSE_NAMES, *FOREIGN_NAMES, 'bodies other'), QUALITIES
    ),
    'arm at rest': Explained(CAUSE_NAMES, QUALITIES),
    'efforts do not follow the motion': Explained(CAUSE_NAMES, QUALITIES),
    'description of another robot': Explained(CAUSE_NAMES, QUALITIES),
}

NO_CAUSE = Explained(effects=())  # of findings that are no cause


def without_effects(findings: Sequence[Finding]) -> list[Finding]:
    """Return ``findings`` without those that another one explains."""
    out = list(findings)
    for cause, explained in EXPLAINS.items():
        severities = {finding.severity for finding in out if finding.name == cause}
        if not explained.by_a_note:
            severities.discard(NOTE)
        if severities:
            out = _without_effects_of(cause, explained, out)
    return out


def _without_effects_of(cause, explained, findings):
    """Return ``findings`` without the effects of a ``cause``, which may be as bad as they are."""
    effects = [finding for finding in findings if _is_effect(finding.name, cause, explained)]
    severities = [effect.severity for effect in effects]
    out = []
    for finding in findings:
        if finding in effects:
            continue
        if finding.name == cause and explained.inherits:
            finding = _as_bad_as(finding, severities)
        out.append(finding)
    return out


def explains_everything(finding: Finding) -> bool:
    """Return whether what else is seen beside ``finding`` says nothing."""
    explained = EXPLAINS.get(finding.name, NO_CAUSE)
    return explained.effects == EVERYTHING


def _is_effect(name, cause, explained):
    if name in (cause, *explained.but):
        return False
    return name.startswith(explained.effects)


def _as_bad_as(finding, severities):
    """Return a ``finding`` as bad as the worst of ``severities``, if that is worse."""
    worst = max([finding.severity, *severities], key=SEVERITIES.index)
    return replace(finding, severity=worst)
