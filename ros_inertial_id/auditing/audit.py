"""
Audit: what is wrong with a description, sorted by the torque that each error makes.

    The checks are tables: of links, joints, masses and mirror images. ``worth`` adds the torque of
    the difference between what is described and what is plausible.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .check import above, Check, first_finding, no_part, Table, when
from .checks_of_joints import JOINT_CHECKS
from .checks_of_links import link_findings
from .checks_of_masses import MASS_CHECKS
from .checks_of_pairs import PAIR_CHECKS
from .described import Described, DescribedJoint
from .finding import AuditFinding, DOUBTFUL, NOTE, SEVERITIES, WRONG
from .torques import DescribedTorques
from .urdf import described_urdf
from ..errors import ConfigError

NEGLIGIBLE = 0.02  # of a joint's largest torque: less is no more than a note
BEYOND_EFFORT = 1.5  # times the limit of an effort: postures are random, masses of makers rounded
TOTAL = 0.1, 0.3  # doubtful, wrong above: of the mass that is given
CHECKS: tuple[Table[Any], ...] = (*JOINT_CHECKS, *MASS_CHECKS, *PAIR_CHECKS)
# A doubt that names one of these counts only where it makes a torque that matters.
BY_TORQUE = (
    'mirrored links differ',
    'products with wrong sign',
    'placeholder',
    'density',
    'centre outside',
    'inertia too large',
    'inertia too small',
)


@dataclass(frozen=True)
class Audit:
    """
    What was found in a description.

    robot : Described; findings : the worst first, of equal severity by torque
    """

    robot: Described
    findings: tuple[AuditFinding, ...]

    @property
    def status(self) -> int:
        """Return 2 where something is wrong, 1 where something is doubtful, else 0."""
        return max((SEVERITIES.index(f.severity) for f in self.findings), default=0)

    @property
    def word(self) -> str:
        """Return the worst severity in a word, good for none."""
        return ('good', DOUBTFUL, WRONG)[self.status]

    def of_severity(self, severity: str) -> list[AuditFinding]:
        """Return the findings of a ``severity``."""
        return [finding for finding in self.findings if finding.severity == severity]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            'robot': self.robot.name,
            'kind': self.robot.kind,
            'status': self.status,
            'word': self.word,
            'mass': self.robot.mass,
            'links': len(self.robot.links),
            'joints': len(self.robot.driven),
            'meshes_absent': sum(len(link.without_mesh) for link in self.robot.links.values()),
            'findings': [finding.to_dict() for finding in self.findings],
        }


def audited(robot: Described, mass: float | None = None) -> Audit:
    """
    Return the Audit of a ``robot``.

    mass : of the robot on scales [kg], None where it is not known
    """
    if not robot.links:
        raise ConfigError('the description has no links', expected='at least one')
    findings = list(link_findings(robot))
    for table in CHECKS:
        findings += table.findings(robot)
    if mass is not None:
        findings += first_finding(WEIGHED_CHECKS, Weighed(robot.mass, mass))
    if any(joint.moves for joint in robot.joints):
        torques = DescribedTorques(robot)
        findings += _held_too_hard(torques)
        findings = [_worth(finding, torques) for finding in findings]
    return Audit(robot, tuple(sorted(findings, key=_rank)))


@lru_cache(maxsize=8)
def audited_urdf(urdf: str) -> Audit:
    """Return the Audit of a ``urdf`` text, by its numbers alone: no shape is read."""
    return audited(described_urdf(urdf, shapes=False))


def _rank(finding: AuditFinding) -> tuple[int, float]:
    """Return the sort key of a finding: the worst first, then the largest torque."""
    return -SEVERITIES.index(finding.severity), -finding.torque


class Weighed(NamedTuple):
    """The mass of all links, and that of the robot [kg]."""

    described: float
    true: float

    @property
    def error(self) -> float:
        """Return how far they are apart, as a share of the true one."""
        return abs(self.described - self.true) / self.true

    @property
    def words(self) -> str:
        """Return in words which is the larger."""
        if self.described > self.true:
            return 'the links weigh more than the robot'
        return 'parts are missing: the links weigh less than the robot'


WEIGHED_CHECKS: tuple[Check[Weighed], ...] = (
    Check(
        'total mass',
        above(lambda masses: masses.error, *TOTAL),
        why='{0.words}',
        do='look for parts without mass, or hidden ones',
        found=lambda masses: f'{masses.described:.4g} kg',
        plausible=lambda masses: f'{masses.true:.4g} kg',
        about=no_part,
    ),
)


class Held(NamedTuple):
    """A ``joint`` and the largest ``torque`` that holds it [N m, N]."""

    joint: DescribedJoint
    torque: float

    def is_too_hard(self) -> bool:
        """Return whether the torque is beyond the limit of the effort."""
        return self.torque > BEYOND_EFFORT * self.joint.effort


HELD_CHECKS: tuple[Check[Held], ...] = (
    Check(
        'effort limit',
        when(Held.is_too_hard, DOUBTFUL),
        why='gravity alone asks for more than the limit of the effort',
        do='correct the masses or the limit',
        found=lambda held: (
            f'{held.torque:.4g} {held.joint.unit} to hold, limit {held.joint.effort:.4g}'
        ),
        about=lambda held: held.joint.name,
    ),
)


def _held_too_hard(torques: DescribedTorques) -> Iterator[AuditFinding]:
    """Yield joints at which gravity is beyond the limit of the effort."""
    for joint, torque in zip(torques.joints, torques.holding):
        if joint.mimics or not 0.0 < joint.effort < np.inf:
            continue
        for finding in first_finding(HELD_CHECKS, Held(joint, torque)):
            excess = float(torque - joint.effort)
            yield replace(finding, torque=excess, joint=joint.name, unit=joint.unit)


def _worth(finding: AuditFinding, torques: DescribedTorques) -> AuditFinding:
    """Return a ``finding`` with the torque that its error makes, a note where it makes none."""
    if finding.joint or finding.better is None:
        return finding
    if torques.is_held(finding.part):
        return _negligible(finding)
    changes = torques.of_change(finding.part, finding.better)
    largest = int(np.argmax(changes))
    joint = torques.joints[largest]
    worth = replace(finding, torque=float(changes[largest]), joint=joint.name, unit=joint.unit)
    if np.max(changes / np.maximum(torques.largest, 1e-9)) < NEGLIGIBLE:
        return _negligible(worth)
    return worth


def _negligible(finding: AuditFinding) -> AuditFinding:
    """Return a ``finding`` that makes no torque, a note where it counts by its torque."""
    if finding.name in BY_TORQUE and finding.severity == DOUBTFUL:
        return replace(finding, severity=NOTE)
    return finding
