"""
Finding, Verdict and Checkup: what the checks of a recording say, and the rules of verdicts.

For a joint, with its residual in cross-validation, or of data that the model has not seen,
relative to its own torque (RMS over RMS):

- do not use: more than half remains as residual (three quarters of the variance is what a model
  should explain at least); at 100 % predicting zero is better; or a finding says it is wrong;
- usable: more than a fifth; or more than a tenth that is systematic, i.e. several times what noise
  of the efforts leaves behind the filter; or more than a fifth outside the trained range; or worse
  than the description alone; or a finding is doubtful;
- good: otherwise; not checked: no rule covers it, as there is no residual to judge.

For the whole the same on all torques together, of which no more than an eightieth may be
systematic; it is never better than usable while a joint leaves too much of its own torque, and
names that joint: a wrist weighs nothing in the sum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
import math
from types import MappingProxyType
from typing import Any

import numpy as np

from .thresholds import BEYOND_NOISE, FIFTH, HALF, SYSTEMATIC, TENTH, WORSE

NOTE, MASKED, DOUBTFUL, WRONG = 'note', 'masked', 'doubtful', 'wrong'
SEVERITIES = (NOTE, MASKED, DOUBTFUL, WRONG)
WORDS = GOOD, USABLE, NOT_CHECKED, DO_NOT_USE = 'good', 'usable', 'not checked', 'do not use'

NATS = 'nats'  # unit of a log-likelihood difference
REMOVED = '% of the residual'  # unit of what a cause takes of the left-out residual
CROSS, VALIDATION = 'in cross-validation', 'on the validation recording'

Window = tuple[float, float]


def odds(evidence: float) -> str:
    """Return a log-likelihood difference, the ``evidence``, as odds."""
    return (
        f'{math.exp(evidence):.0f} to 1' if evidence < 10.0 else f'above {math.exp(10.0):.0f} to 1'
    )


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
        """Return the evidence with its unit; a log-likelihood difference as odds."""
        if self.unit == NATS:
            return f'odds {odds(self.evidence)}'
        one = self.evidence == 1.0 and ' ' not in self.unit
        return f'{self.evidence:.3g} {self.unit.removesuffix("s") if one else self.unit}'


@dataclass(frozen=True)
class Verdict:
    """word : one of WORDS; reasons : why it is not better."""

    word: str
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.word + (f' ({"; ".join(self.reasons)})' if self.reasons else '')


@dataclass(frozen=True, repr=False)
class Checkup:
    """
    The findings of all recordings, the worst first, and what they are worth together.

    checks : Findings; verdict : of the whole; joints : {joint: Verdict}
    masked : per recording the share of samples that are left out (0 to 1)
    torque : {joint: RMS of the measured torque}; nominal : {joint: RMS of what the description
        alone leaves}; residual : {joint: RMS on left-out data}, all [N m or N]
    noise : {joint: RMS that noise of the efforts leaves behind the filter} [N m or N]
    """

    checks: tuple[Finding, ...]
    verdict: Verdict
    joints: Mapping[str, Verdict]
    masked: tuple[float, ...]
    torque: Mapping[str, float] = field(default_factory=dict)
    nominal: Mapping[str, float] = field(default_factory=dict)
    residual: Mapping[str, float] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return self.text()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON and the model file."""
        return {
            'verdict': verdict_entry(self.verdict, self.joints),
            'checks': [asdict(finding) for finding in self.checks],
            'masked_share': list(self.masked),
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> 'Checkup':
        """Return the Checkup whose ``fields`` asdict gave, after JSON or not."""
        checks = tuple(
            Finding(
                **{
                    **f,
                    'joints': tuple(f['joints']),
                    'windows': tuple((a, b) for a, b in f['windows']),
                }
            )
            for f in fields['checks']
        )
        joints = {joint: verdict_of(v) for joint, v in fields['joints'].items()}
        return cls(
            **{
                **fields,
                'checks': checks,
                'verdict': verdict_of(fields['verdict']),
                'joints': joints,
                'masked': tuple(fields['masked']),
            }
        )

    def text(self) -> str:
        """Return the verdict first, then one line per finding."""
        lines = [f'verdict: {self.verdict}']
        several = len(self.masked) > 1
        lines += [
            f'{f.severity}{f" in recording {f.recording + 1}" if several else ""}: {f.sentence()}'
            for f in self.checks
        ] or ['nothing was found']
        lines += [f'{joint}: {v}' for joint, v in self.joints.items() if v.word != GOOD]
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
    return {
        'word': whole.word,
        'reasons': list(whole.reasons),
        'joints': {
            joint: {'word': v.word, 'reasons': list(v.reasons)} for joint, v in joints.items()
        },
    }


@dataclass(frozen=True)
class Judged:
    """
    What is judged, of joints that moved.

    residual, torque : {joint: RMS of the residual, of measured torque}; where : in words
    noise : {joint: RMS that noise of the efforts leaves behind the filter}, empty: not known
    """

    residual: Mapping[str, float]
    torque: Mapping[str, float]
    where: str = CROSS
    noise: Mapping[str, float] = field(default_factory=dict)

    def share(self, joints: Sequence[str]) -> float:
        """Return the residual of ``joints`` together, relative to their torque."""
        torque = _together(self.torque, joints)
        return _together(self.residual, joints) / torque if torque else 0.0

    def words(self, share: float) -> str:
        """Return a ``share`` of the torque in words."""
        return f'{100 * share:.3g} % relative residual {self.where}'

    def systematic(self, joints: Sequence[str], least: float) -> list[str]:
        """Return the reason against more than ``least`` of the torque that is no noise."""
        share, left, noise = (
            self.share(joints),
            *(_together(x, joints) for x in (self.residual, self.noise)),
        )
        if not self.noise or not least < share <= FIFTH or left < BEYOND_NOISE * noise:
            return []
        return [
            f'{self.words(share)}, of which noise of the efforts explains '
            f'{100 * noise / left:.2g} %: systematic'
        ]


def _together(values: Mapping[str, float], joints: Sequence[str]) -> float:
    return float(np.linalg.norm([values.get(joint, 0.0) for joint in joints]))


def joint_verdicts(
    fit: Judged,
    nominal: Mapping[str, float],
    findings: Sequence[Finding],
    outside: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, Verdict]:
    """
    Return {joint: Verdict}.

    nominal : {joint: RMS of what the description alone leaves}, may be empty
    findings : of the checks
    outside : {joint: RMS of the residual outside of the trained range}, may be empty
    """
    out = {}
    for joint, rms in fit.torque.items():
        residual, share = fit.residual[joint], fit.share([joint])
        own = [f for f in findings if joint in f.joints]
        reasons = [f.says for f in own if f.severity == DOUBTFUL]
        reasons += fit.systematic([joint], TENTH)
        if rms and outside.get(joint, 0.0) > FIFTH * rms >= residual:
            reasons.append(
                f'{100 * outside[joint] / rms:.3g} % relative residual outside the validity range'
            )
        if joint in nominal and residual > WORSE * nominal[joint]:
            reasons.append(
                f'residual more than {WORSE} times that of the described bodies with '
                'fitted friction'
            )
        out[joint] = _verdict(fit, share, [f.says for f in own if f.severity == WRONG], reasons)
    return out


def whole_verdict(
    fit: Judged, joints: Mapping[str, Verdict], findings: Sequence[Finding]
) -> Verdict:
    """
    Return the Verdict of all joints together.

    fit : as in ``joint_verdicts``, which gave ``joints``; findings : of the checks
    """
    moved = list(fit.torque)
    out = _verdict(
        fit,
        fit.share(moved),
        [f.says for f in findings if f.severity == WRONG],
        [
            *(f.says for f in findings if f.severity == DOUBTFUL),
            *fit.systematic(moved, SYSTEMATIC),
        ],
    )
    bad = [joint for joint, v in joints.items() if v.word == DO_NOT_USE]
    rest = [joint for joint in moved if joint not in bad]
    poor = [joint for joint in rest if fit.share([joint]) > FIFTH]
    lacking = [joint for joint in rest if fit.systematic([joint], TENTH)]
    named = [
        words.format(', '.join(own))
        for words, own in (
            ('not for {}', bad),
            (f'more than {100 * FIFTH:.0f} % relative residual of {{}} {fit.where}', poor),
            (f'more than {100 * TENTH:.0f} % systematic residual of {{}} {fit.where}', lacking),
        )
        if own
    ]
    if named and out.word != DO_NOT_USE and moved:
        return Verdict(USABLE, (*out.reasons, *named))
    return out


def _verdict(fit: Judged, share: float, wrong: Sequence[str], doubtful: Sequence[str]) -> Verdict:
    """Return the Verdict of a relative residual and of reasons against it."""
    reasons = list(dict.fromkeys(wrong))
    if share >= 1.0:
        reasons.append(f'{fit.words(share)}: predicting zero is better')
    elif share > HALF:
        reasons.append(fit.words(share))
    if reasons:
        return Verdict(DO_NOT_USE, tuple(reasons))
    reasons = [*dict.fromkeys(doubtful), *[fit.words(share)] * (share > FIFTH)]
    return Verdict(USABLE if reasons else GOOD, tuple(reasons))
