"""
Audit: what is wrong with a description, sorted by the torque that each error makes.

    CHECKS of the links, of the joints and of all together yield findings; ``worth`` adds the
    torque of the difference between what is described and what is plausible.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from .checks_of_all import CHECKS_OF_ALL
from .checks_of_joints import driven, JOINT_CHECKS
from .checks_of_links import link_findings
from .described import Described, DescribedInertia, DescribedJoint, SLIDING
from .finding import AuditFinding, DOUBTFUL, found, NOTE, SEVERITIES, WRONG
from .urdf import described_urdf
from ..dynamics.inertial_parameters import about_origin
from ..dynamics.range_torques import MovedBody, RangeTorques
from ..errors import ConfigError

TURN, STROKE, SPEED = np.pi, 0.5, 10.0  # range and speed of joints without limits [rad, m, 1/s]
NEGLIGIBLE = 0.02  # of a joint's largest torque: less is no more than a note
BEYOND_EFFORT = 1.5  # times the limit of an effort: postures are random, masses of makers rounded
TOTAL = 0.1, 0.3  # doubtful, wrong above: of the mass that is given
CHECKS: tuple[Callable[[Described], Iterable[AuditFinding]], ...] = (
    link_findings,
    *JOINT_CHECKS,
    *CHECKS_OF_ALL,
)
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
        worst = max((SEVERITIES.index(f.severity) for f in self.findings), default=0)
        return worst

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
            'joints': len(driven(self.robot)),
            'meshes_absent': sum(len(link.without_mesh) for link in self.robot.links.values()),
            'findings': [finding.to_dict() for finding in self.findings],
        }


class _Tree:
    """The moving bodies of a ``robot``, and the torques over their range."""

    def __init__(self, robot: Described) -> None:
        self._robot = robot
        self.joints: list[DescribedJoint] = []
        self._number: dict[str, int] = {}
        bodies = []
        for link in robot.in_order():
            joint = robot.carrier.get(link)
            if joint is None or not joint.moves:
                continue
            self._number[link] = len(self.joints)
            self.joints.append(joint)
            base = robot.body_of[joint.parent]
            placement = robot.placement_in(joint.parent, base) @ joint.placement
            lower, upper = _range(joint)
            bodies.append(
                MovedBody(
                    parent=self._number.get(base, -1),
                    slides=joint.kind in SLIDING,
                    placement=placement,
                    axis=joint.axis,
                    lower=lower,
                    upper=upper,
                    velocity=_positive(joint.velocity, SPEED),
                )
            )
        self.parameters = np.zeros((len(bodies), 10))
        for link, described in robot.links.items():
            number = self.number(link)
            if number is not None and described.inertia is not None:
                self.parameters[number] += self.of_body(link, described.inertia)
        self.torques = RangeTorques(bodies)

    def number(self, link: str) -> int | None:
        """Return the number of the body that a ``link`` is part of, None of a root."""
        return self._number.get(self._robot.body_of[link])

    def of_body(self, link: str, inertia: DescribedInertia) -> np.ndarray:
        """Return the ten parameters (10,) of an ``inertia`` of a ``link`` in its body's frame."""
        T = self._robot.placement_in(link, self._robot.body_of[link])
        R = T[:3, :3]
        centre = R @ inertia.centre + T[:3, 3]
        return about_origin(inertia.mass, centre, R @ inertia.tensor @ R.T)


def _range(joint: DescribedJoint) -> tuple[float, float]:
    """Return lower and upper of a ``joint``, those of a turn or stroke where it has none."""
    default = TURN
    if joint.kind in SLIDING:
        default = STROKE
    ends = np.array([joint.lower, joint.upper])
    if joint.kind == 'continuous' or not np.isfinite(ends).all() or ends[0] > ends[1]:
        return -default, default
    lower, upper = np.clip(ends, -2.0 * default, 2.0 * default)
    return float(lower), float(upper)


def _positive(value: float, default: float) -> float:
    if value > 0.0 and np.isfinite(value):
        return value
    return default


def audited(robot: Described, mass: float | None = None) -> Audit:
    """
    Return the Audit of a ``robot``.

    mass : of the robot on scales [kg], None where it is not known
    """
    if not robot.links:
        raise ConfigError('the description has no links', expected='at least one')
    findings = [finding for check in CHECKS for finding in check(robot)]
    findings += _total(robot, mass)
    if any(joint.moves for joint in robot.joints):
        tree = _Tree(robot)
        findings += _holding(tree)
        findings = [_worth(finding, robot, tree) for finding in findings]
    return Audit(robot, tuple(sorted(findings, key=_rank)))


@lru_cache(maxsize=8)
def audited_urdf(urdf: str) -> Audit:
    """Return the Audit of a ``urdf`` text, by its numbers alone: no shape is read."""
    return audited(described_urdf(urdf, shapes=False))


def _rank(finding: AuditFinding) -> tuple[int, float]:
    """Return the sort key of a finding: the worst first, then the largest torque."""
    return -SEVERITIES.index(finding.severity), -finding.torque


def _total(robot: Described, mass: float | None) -> Iterator[AuditFinding]:
    """Yield that the links together do not have the ``mass`` that is given."""
    if mass is None:
        return
    off = abs(robot.mass - mass) / mass
    if off <= TOTAL[0]:
        return
    what = 'parts are missing: the links weigh less than the robot'
    if robot.mass > mass:
        what = 'the links weigh more than the robot'
    severity = DOUBTFUL
    if off > TOTAL[1]:
        severity = WRONG
    yield found(
        'total mass', '', f'{robot.mass:.4g} kg', f'{mass:.4g} kg', what=what, severity=severity
    )


def _holding(tree: _Tree) -> Iterator[AuditFinding]:
    """Yield joints at which gravity is beyond the limit of the effort."""
    holding = tree.torques.holding(tree.parameters)
    for joint, torque in zip(tree.joints, holding):
        if joint.mimics or not 0.0 < joint.effort < np.inf:
            continue
        if torque > BEYOND_EFFORT * joint.effort:
            yield replace(
                found(
                    'effort limit',
                    joint.name,
                    f'{torque:.4g} {_unit(joint)} to hold, limit {joint.effort:.4g}',
                ),
                torque=float(torque - joint.effort),
                joint=joint.name,
                unit=_unit(joint),
            )


def _unit(joint: DescribedJoint) -> str:
    if joint.kind in SLIDING:
        return 'N'
    return 'N m'


def _worth(finding: AuditFinding, robot: Described, tree: _Tree) -> AuditFinding:
    """Return a ``finding`` with the torque that its error makes, a note where it makes none."""
    link = robot.links.get(finding.part)
    if finding.joint or link is None or finding.better is None:
        return finding
    number = tree.number(finding.part)
    if number is None:  # the root stands still
        if finding.name in BY_TORQUE and finding.severity == DOUBTFUL:
            return replace(finding, severity=NOTE)
        return finding
    change = -tree.of_body(finding.part, finding.better)
    if link.inertia is not None:
        change += tree.of_body(finding.part, link.inertia)
    torques = tree.torques.of_change(number, change)
    largest = tree.torques.largest(tree.parameters)
    shares = torques / np.maximum(largest, 1e-9)
    joint = int(np.argmax(torques))
    severity = finding.severity
    doubted = finding.name in BY_TORQUE and severity == DOUBTFUL
    if doubted and shares.max() < NEGLIGIBLE:
        severity = NOTE
    return replace(
        finding,
        severity=severity,
        torque=float(torques[joint]),
        joint=tree.joints[joint].name,
        unit=_unit(tree.joints[joint]),
    )
