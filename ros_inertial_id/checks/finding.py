"""Finding, Verdict and Checkup: what the checks of a recording say."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
import math
from typing import Any

from ..errors import InertialIdError
from ..representation import brief

NOTE, MASKED, DOUBTFUL, WRONG = 'note', 'masked', 'doubtful', 'wrong'
SEVERITIES = (NOTE, MASKED, DOUBTFUL, WRONG)
WORDS = GOOD, USABLE, NOT_CHECKED, DO_NOT_USE = 'good', 'usable', 'not checked', 'do not use'

NATS = 'nats'  # unit of a log-likelihood difference
REMOVED = '% of the residual'  # unit of what a cause takes of the left-out residual
CROSS, VALIDATION = 'in cross-validation', 'on the validation recording'

Window = tuple[float, float]
SHOWN_WINDOWS = 3  # in a sentence


def severity_of(amount: float, limit: float, within: str, beyond: str) -> str:
    """Return the severity of an ``amount``: ``beyond`` where it is above its ``limit``."""
    if amount > limit:
        return beyond
    return within


def odds(evidence: float) -> str:
    """Return a log-likelihood difference, the ``evidence``, as odds in words."""
    if evidence < 10.0:
        return f'odds {math.exp(evidence):.0f} to 1'
    return 'certain'


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
    alone : whether only its joints are wrong: the others predict as well beside it
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
    alone: bool = False

    def sentence(self) -> str:
        """Return the finding in words: what, where, how sure that is, and what to do."""
        return f'{self.says}{self._where()} [{self.amount}]; {self.do}'

    def _where(self):
        if not self.windows:
            return ''
        shown = ', '.join(f'{a:.2f} to {b:.2f}' for a, b in self.windows[:SHOWN_WINDOWS])
        more = len(self.windows) - SHOWN_WINDOWS
        if more > 0:
            shown = f'{shown} and {more} more'
        return f' (at {shown} s)'

    @property
    def amount(self) -> str:
        """Return the evidence with its unit; a log-likelihood difference as odds."""
        if self.unit == NATS:
            return odds(self.evidence)
        unit = self.unit
        if self.evidence == 1.0 and ' ' not in unit:
            unit = unit.removesuffix('s')
        number = f'{self.evidence:.3g}'
        if self.evidence >= 1e3:  # as written by people
            number = f'{self.evidence:.0f}'
        return f'{number} {unit}'


def of_severity(findings: Iterable[Finding], severity: str) -> list[Finding]:
    """Return those of ``findings`` that have a ``severity``."""
    return [finding for finding in findings if finding.severity == severity]


def names_of(findings: Iterable[Finding]) -> set[str]:
    """Return the names of ``findings``."""
    return {finding.name for finding in findings}


def sentences(findings: Iterable[Finding], severity: str) -> list[str]:
    """Return the sentences of ``findings`` of a ``severity``."""
    return [finding.says for finding in of_severity(findings, severity)]


@dataclass(frozen=True)
class Verdict:
    """word : one of WORDS; reasons : why it is not better."""

    word: str
    reasons: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON and the model file."""
        return {'word': self.word, 'reasons': list(self.reasons)}

    def __str__(self) -> str:
        if not self.reasons:
            return self.word
        return f'{self.word} ({"; ".join(self.reasons)})'


@dataclass(frozen=True, repr=False)
class Checkup:
    """
    The findings of all recordings, the worst first, and what they are worth together.

    checks : Findings; verdict : of the whole; joints : {joint: Verdict}
    masked : per recording the share of samples that are left out (0 to 1)
    torque : {joint: RMS of the measured torque}; nominal : {joint: RMS of what the description
        alone leaves}; residual : {joint: RMS on left-out data}, all [N m or N]
    noise : {joint: RMS that noise of the efforts leaves behind the filter} [N m or N]
    best : {joint: RMS on left-out data if all were as their best quarter} [N m or N]
    independent : {joint: number of independent residuals}
    """

    checks: tuple[Finding, ...]
    verdict: Verdict
    joints: Mapping[str, Verdict]
    masked: tuple[float, ...]
    torque: Mapping[str, float] = field(default_factory=dict)
    nominal: Mapping[str, float] = field(default_factory=dict)
    residual: Mapping[str, float] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)
    best: Mapping[str, float] = field(default_factory=dict)
    independent: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return brief(self.text())

    def __str__(self) -> str:
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
        checks = tuple(_finding_from(entry) for entry in fields['checks'])
        typed = {
            'checks': checks,
            'verdict': verdict_of(fields['verdict']),
            'joints': verdicts_of(fields['joints']),
            'masked': tuple(fields['masked']),
        }
        return cls(**{**fields, **typed})

    def text(self) -> str:
        """Return the verdict first, then one line per finding."""
        lines = [f'verdict: {self.verdict}']
        lines += [self._line(finding) for finding in self.checks]
        if not self.checks:
            lines.append('nothing was found')
        for joint, verdict in self.joints.items():
            if verdict.word != GOOD and verdict.reasons != self.verdict.reasons:
                lines.append(f'{joint}: {verdict}')
        if any(self.masked):
            shares = ', '.join(f'{100 * share:.2g} %' for share in self.masked)
            lines.append(
                f'left out: {shares} of the samples (inertial-id identify --keep-all uses them)'
            )
        return '\n'.join(lines)

    def _line(self, finding):
        where = ''
        if len(self.masked) > 1:
            where = f' in recording {finding.recording + 1}'
        return f'{finding.severity}{where}: {finding.sentence()}'


def _finding_from(entry):
    """Return the Finding of an ``entry`` that asdict gave."""
    windows = tuple((a, b) for a, b in entry['windows'])
    return Finding(**{**entry, 'joints': tuple(entry['joints']), 'windows': windows})


def verdict_of(fields: Mapping[str, Any]) -> Verdict:
    """Return the Verdict whose ``fields`` JSON and the model file have."""
    return Verdict(fields['word'], tuple(fields['reasons']))


def verdicts_of(fields: Mapping[str, Any]) -> dict[str, Verdict]:
    """Return {joint: Verdict} of what JSON and the model file have of each joint."""
    return {joint: verdict_of(entry) for joint, entry in fields.items()}


def verdict_entry(whole: Verdict, joints: Mapping[str, Verdict]) -> dict[str, Any]:
    """
    Return a verdict as JSON and the model file have it.

    whole : of all; joints : {joint: Verdict}
    """
    of_joints = {joint: verdict.to_dict() for joint, verdict in joints.items()}
    return {**whole.to_dict(), 'joints': of_joints}


def forced_lines(forced: Mapping[str, str]) -> list[str]:
    """Return what stands beside numbers that were computed by force: {name: why refused}."""
    return [f'By force, though {name} is refused: {reason}' for name, reason in forced.items()]


@contextmanager
def beside_errors(forced: Mapping[str, str]) -> Iterator[None]:
    """Say in the errors within it what is used by force: {name: why refused}."""
    try:
        yield
    except InertialIdError as error:
        if not forced:
            raise
        raise type(error)('; '.join([*forced_lines(forced), str(error)])) from error
