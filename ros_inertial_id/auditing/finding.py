"""AuditFinding: one thing that is wrong with a description, and what it is worth in torque."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .described import DescribedInertia

NOTE, DOUBTFUL, WRONG = 'note', 'doubtful', 'wrong'
SEVERITIES = (NOTE, DOUBTFUL, WRONG)


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


@dataclass(frozen=True)
class AuditKind:
    """What is said of every finding of one kind: why, do : templates; severity."""

    severity: str
    why: str
    do: str


REPLACE = 'take it from CAD about the centre of mass, or write a plausible one with --fix'
CAD = 'take it from CAD, weigh the part, or identify it'
KINDS: Mapping[str, AuditKind] = {
    'mass below zero': AuditKind(WRONG, 'no body weighs less than nothing', CAD),
    'inertia without mass': AuditKind(
        WRONG, 'a link has moments of inertia and no mass', 'give the mass'
    ),
    'not positive definite': AuditKind(
        WRONG, 'a principal moment of inertia is below zero', REPLACE
    ),
    'triangle inequality': AuditKind(
        WRONG, 'no body has it: a principal moment is larger than the two others', REPLACE
    ),
    'triangle inequality by rounding': AuditKind(
        NOTE,
        'a principal moment is larger than the two others, by rounding',
        'give more digits: Drake and MuJoCo refuse it',
    ),
    'inertia too large': AuditKind(
        DOUBTFUL, 'more than mass within the shape of the link can have', REPLACE
    ),
    'inertia too small': AuditKind(
        DOUBTFUL, 'as if all mass were in one point of the shape', REPLACE
    ),
    'centre outside': AuditKind(
        DOUBTFUL, 'the centre of mass is outside of the shape', 'give it in m, in the link frame'
    ),
    'density': AuditKind(DOUBTFUL, '{what}', CAD),
    'masses in another unit': AuditKind(WRONG, '{what}', 'give masses in kg, inertias in kg m^2'),
    'placeholder': AuditKind(DOUBTFUL, '{what}', CAD),
    'mirrored links differ': AuditKind(
        DOUBTFUL, '{what} of {other}, its mirror image, differs', 'correct the one that is wrong'
    ),
    'products with wrong sign': AuditKind(
        DOUBTFUL,
        'products of inertia have the sign of {other}, its mirror image',
        'negate {products}',
    ),
    'total mass': AuditKind(DOUBTFUL, '{what}', 'look for parts without mass, or hidden ones'),
    'no masses': AuditKind(
        WRONG, 'no link has a mass: there is no dynamics in it', 'add inertials, or identify them'
    ),
    'massless': AuditKind(
        DOUBTFUL,
        'a joint moves what has no mass or no inertia, which simulators refuse',
        'give it an inertia, or fix the joint',
    ),
    'massless between joints': AuditKind(
        NOTE,
        'a link without mass between two joints',
        'as part of a joint with several axes it is right; MuJoCo wants an inertia',
    ),
    'effort limit': AuditKind(
        DOUBTFUL,
        'gravity alone asks for more than the limit of the effort',
        'correct the masses or the limit',
    ),
    'limits missing': AuditKind(
        DOUBTFUL, 'a joint without limits', 'give them, or make it continuous'
    ),
    'limits empty': AuditKind(WRONG, 'the range of the joint is empty', 'correct lower and upper'),
    'limits in degrees': AuditKind(WRONG, 'limits are in degrees', 'give them in rad'),
    'effort or velocity zero': AuditKind(
        DOUBTFUL,
        'limits of zero: a simulator that keeps them lets the robot fall',
        'give the limits of the drives',
    ),
    'no friction': AuditKind(
        NOTE,
        'no damping and no friction is given: a simulated joint swings for ever',
        'identify them, see inertial-id identify',
    ),
    'mimic': AuditKind(WRONG, '{what}', 'correct mimic'),
    'several roots': AuditKind(
        WRONG, 'links that no joint connects with the others', 'join them, or take them out'
    ),
    'root has inertia': AuditKind(
        NOTE,
        'the root link has an inertia, which KDL leaves out',
        'put a link without mass before it where KDL reads it',
    ),
}


def found(name: str, part: str, amount: str, plausible: str = '', **more: Any) -> AuditFinding:
    """
    Return the finding of kind ``name`` about a ``part``.

    amount : what was found; more : severity, better, and what stands in braces in the words
    """
    kind = KINDS[name]
    severity = more.pop('severity', kind.severity)
    better = more.pop('better', None)
    why = kind.why.format(**more)
    because = more.get('because', '')
    plausible = '; '.join(filter(None, (plausible, because)))
    do = kind.do.format(**more)
    return AuditFinding(name, part, severity, amount, plausible, why, do, better=better)
