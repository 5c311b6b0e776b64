"""AuditFinding: one thing that is wrong with a description, and what it is worth in torque."""

from dataclasses import dataclass
from typing import Any

from .described import DescribedInertia

NOTE, DOUBTFUL, WRONG = 'note', 'doubtful', 'wrong'
SEVERITIES = (NOTE, DOUBTFUL, WRONG)
# What to do about an inertia, and about a mass.
REPLACE = 'take it from CAD about the centre of mass, or write a plausible one with --fix'
CAD = 'take it from CAD, weigh the part, or identify it'


@dataclass(frozen=True)
class AuditFinding:
    """
    One thing that is wrong with a description.

    name : stable for programs; part : link or joint, '' for the whole robot
    severity : note, doubtful (look at it) or wrong (no robot has it)
    found, plausible : numbers with units, in words; why : it cannot be so; do : advice
    torque, joint, unit : largest error of a joint's torque that it makes over the range, of which
        joint; '' where it makes none that is known
    better : an inertia that the link can have, None where none is known
    """

    name: str
    part: str
    severity: str
    found: str
    plausible: str
    why: str
    do: str
    torque: float = 0.0
    joint: str = ''
    unit: str = ''
    better: DescribedInertia | None = None

    def sentence(self) -> str:
        """Return the finding in words."""
        says = f'{self.why}: {self.found}'
        if self.part:
            says = f'{self.part}: {says}'
        if self.plausible:
            says += f' (plausible: {self.plausible})'
        if self.joint:
            says += f', up to {self.torque:.2g} {self.unit} at {self.joint}'
        return f'{says}; {self.do}'

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        names = ('name', 'part', 'severity', 'found', 'plausible', 'why', 'do')
        values: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.joint:
            values['torque'] = {'value': self.torque, 'unit': self.unit, 'joint': self.joint}
        return values
