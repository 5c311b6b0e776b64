"""Finding and Checkup: what the checks of a recording say."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

NOTE, MASKED, DOUBTFUL, WRONG = 'note', 'masked', 'doubtful', 'wrong'
SEVERITIES = (NOTE, MASKED, DOUBTFUL, WRONG)
WORDS = GOOD, USABLE, DO_NOT_USE = 'good', 'usable', 'do not use'

Window = tuple[float, float]


@dataclass(frozen=True)
class Finding:
    """
    One thing that is wrong with a recording.

    name : of the cause, stable for programs; says : the sentence for people
    tests : what the check compares; evidence : in ``unit``, nats (log likelihood ratio), a count
        or a share; a unit of one word is a plural
    joints : concerned, in the order of the robot; windows : (start, end) since the first stamp [s]
    severity : note, masked (left out), doubtful (numbers suffer) or wrong (mend it first)
    do : advice; recording : its number, from 0
    """

    name: str
    says: str
    tests: str
    evidence: float
    unit: str
    joints: tuple[str, ...]
    severity: str
    do: str
    windows: tuple[Window, ...] = ()
    recording: int = 0

    def sentence(self) -> str:
        """Return what was found, where, how sure that is, and what to do."""
        where = ''
        if self.windows:
            shown = ', '.join(f'{a:.2f} to {b:.2f}' for a, b in self.windows[:3])
            more = f' and {len(self.windows) - 3} more' if len(self.windows) > 3 else ''
            where = f' (at {shown}{more} s)'
        return f'{self.says}{where} [{self.amount}]; {self.do}'

    @property
    def amount(self) -> str:
        """Return the evidence with its unit."""
        one = self.evidence == 1.0 and ' ' not in self.unit
        return f"{self.evidence:.3g} {self.unit.removesuffix('s') if one else self.unit}"


@dataclass(frozen=True)
class Verdict:
    """word : good, usable or do not use; reasons : why it is not better."""

    word: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checkup:
    """
    The findings of all recordings, the worst first, and what they are worth together.

    checks : Findings; verdict : of the whole; joints : {joint: Verdict}
    masked : per recording the share of samples that are left out (0 to 1)
    torque : {joint: RMS of the measured torque}; nominal : {joint: RMS of what the description
        alone leaves}; residual : {joint: RMS on left-out data}, all [N m or N]
    lasting : {joint: integrated correlation time of the residual [s]}
    """

    checks: tuple[Finding, ...]
    verdict: Verdict
    joints: Mapping[str, Verdict]
    masked: tuple[float, ...]
    torque: Mapping[str, float] = field(default_factory=dict)
    nominal: Mapping[str, float] = field(default_factory=dict)
    residual: Mapping[str, float] = field(default_factory=dict)
    lasting: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON and the model file."""
        return {'verdict': verdict_entry(self.verdict, self.joints),
                'checks': [asdict(finding) for finding in self.checks],
                'masked_share': list(self.masked)}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> 'Checkup':
        """Return the Checkup whose ``fields`` asdict gave, after JSON or not."""
        checks = tuple(Finding(**{**f, 'joints': tuple(f['joints']),
                                  'windows': tuple((a, b) for a, b in f['windows'])})
                       for f in fields['checks'])
        joints = {joint: verdict_of(v) for joint, v in fields['joints'].items()}
        return cls(**{**fields, 'checks': checks, 'verdict': verdict_of(fields['verdict']),
                      'joints': joints, 'masked': tuple(fields['masked'])})

    def text(self) -> str:
        """Return the verdict first, then one line per finding."""
        lines = [f'verdict: {self.verdict.word}'
                 + (f" ({'; '.join(self.verdict.reasons)})" if self.verdict.reasons else '')]
        several = len(self.masked) > 1
        lines += [f'{f.severity}{f" in recording {f.recording + 1}" if several else ""}: '
                  f'{f.sentence()}' for f in self.checks] or ['nothing was found']
        lines += [f'{joint}: {v.word}' + (f" ({'; '.join(v.reasons)})" if v.reasons else '')
                  for joint, v in self.joints.items() if v.word != GOOD]
        if any(self.masked):
            shares = ', '.join(f'{100 * share:.2g} %' for share in self.masked)
            lines.append(f'left out: {shares} of the samples (--keep-all uses them)')
        return '\n'.join(lines)


def verdict_of(fields: Mapping[str, Any]) -> Verdict:
    """Return the Verdict whose ``fields`` JSON and the model file have."""
    return Verdict(fields['word'], tuple(fields['reasons']))


def verdict_entry(whole: Verdict, joints: Mapping[str, Verdict]) -> dict[str, Any]:
    """
    Return a verdict as JSON and the model file have it.

    whole : of all; joints : {joint: Verdict}
    """
    return {'word': whole.word, 'reasons': list(whole.reasons),
            'joints': {joint: {'word': v.word, 'reasons': list(v.reasons)}
                       for joint, v in joints.items()}}
