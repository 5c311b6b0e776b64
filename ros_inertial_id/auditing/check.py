"""Check: one row of a table of what can be wrong with the links, joints, ... of a description."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import attrgetter
from typing import Generic, TypeVar

from .described import Correction, Described, NO_CORRECTION
from .finding import AuditFinding, DOUBTFUL, WRONG

KINDS_OF_DESCRIPTIONS = ('URDF', 'MJCF', 'SDF')
SOUND = ''  # severity where nothing is wrong
Part = TypeVar('Part')


@dataclass(frozen=True)
class Check(Generic[Part]):
    """
    A check of a part: one row of a table.

    name : of its findings, stable for programs
    severity : of a part, SOUND where nothing is wrong with it
    why, do : in words, {0} : the part; found, plausible : numbers of the part with units, in words
    correction : of the inertia of a part
    about : the link or joint that the finding names
    """

    name: str
    severity: Callable[[Part], str]
    why: str
    do: str
    found: Callable[[Part], str]
    plausible: Callable[[Part], str] = lambda _: ''
    correction: Callable[[Part], Correction] = lambda _: NO_CORRECTION
    about: Callable[[Part], str] = attrgetter('name')

    def findings(self, part: Part) -> Iterator[AuditFinding]:
        """Yield what is wrong with a ``part``: one finding, or none."""
        severity = self.severity(part)
        if severity == SOUND:
            return
        correction = self.correction(part)
        yield AuditFinding(
            name=self.name,
            part=self.about(part),
            severity=severity,
            found=self.found(part),
            plausible='; '.join(filter(None, (self.plausible(part), correction.because))),
            why=self.why.format(part),
            do=self.do.format(part),
            better=correction.inertia,
        )


@dataclass(frozen=True)
class Table(Generic[Part]):
    """
    Checks of one kind of parts.

    parts : of a robot, those that are checked; checks : the first that finds something counts
    kinds : of descriptions that are checked
    """

    parts: Callable[[Described], Iterable[Part]]
    checks: Sequence[Check[Part]]
    kinds: Sequence[str] = KINDS_OF_DESCRIPTIONS

    def findings(self, robot: Described) -> Iterator[AuditFinding]:
        """Yield what is wrong with the parts of a ``robot``."""
        if robot.kind in self.kinds:
            for part in self.parts(robot):
                yield from first_finding(self.checks, part)


def first_finding(checks: Iterable[Check[Part]], part: Part) -> Iterator[AuditFinding]:
    """Yield the finding of the first of ``checks`` that finds something wrong with a ``part``."""
    return islice(chain.from_iterable(check.findings(part) for check in checks), 1)


def the_robot(robot: Described) -> list[Described]:
    """Return the ``robot`` itself, as the part that is checked."""
    return [robot]


def no_part(_: object) -> str:
    """Return what a finding about the whole robot names: no link, no joint."""
    return ''


def always(severity: str) -> Callable[[Part], str]:
    """Return the ``severity`` of all parts that are checked."""
    return lambda _: severity


def when(condition: Callable[[Part], bool], severity: str) -> Callable[[Part], str]:
    """Return the ``severity`` of parts for which a ``condition`` holds."""

    def severity_of(part: Part) -> str:
        if condition(part):
            return severity
        return SOUND

    return severity_of


def above(amount: Callable[[Part], float], doubtful: float, wrong: float) -> Callable[[Part], str]:
    """Return the severity of parts by an ``amount``; doubtful, wrong : it is above, of amount."""

    def severity_of(part: Part) -> str:
        value = amount(part)
        if value > wrong:
            return WRONG
        if value > doubtful:
            return DOUBTFUL
        return SOUND

    return severity_of


def below(amount: Callable[[Part], float], doubtful: float, wrong: float) -> Callable[[Part], str]:
    """Return the severity of parts by an ``amount``; doubtful, wrong : it is below, of amount."""
    return above(lambda part: -amount(part), -doubtful, -wrong)
