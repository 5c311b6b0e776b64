"""Checks of joints: limits, friction, mimic, and what they move."""

from collections.abc import Iterator

import numpy as np

from .described import Described, DescribedJoint, TURNING
from .finding import AuditFinding, DOUBTFUL, found, NOTE

LARGEST_RANGE = 13.0  # [rad]: two turns; beyond, whole numbers are degrees
ENDLESS = 1e6  # [rad, m]: limits beyond are none
JOINTS_IN_WORDS = 12  # joints that are named in words


def named(names: list[str]) -> str:
    """Return ``names`` in words, not too many."""
    if len(names) <= JOINTS_IN_WORDS:
        return ', '.join(names)
    return f'{", ".join(names[:JOINTS_IN_WORDS])} and {len(names) - JOINTS_IN_WORDS} more'


def driven(robot: Described) -> list[DescribedJoint]:
    """Return the moving joints that follow no other."""
    return [joint for joint in robot.joints if joint.moves and not joint.mimics]


def limits(robot: Described) -> Iterator[AuditFinding]:
    """Yield limits that are missing, empty or in degrees."""
    for joint in driven(robot):
        if joint.kind == 'continuous' or robot.kind != 'URDF':
            continue
        if np.isnan(joint.lower):
            yield found('limits missing', joint.name, f'{joint.kind} without lower and upper')
        elif joint.lower >= joint.upper:
            yield found('limits empty', joint.name, f'from {joint.lower:.4g} to {joint.upper:.4g}')
    degrees = [joint for joint in robot.joints if _in_degrees(joint)]
    for joint in degrees:
        yield found(
            'limits in degrees',
            joint.name,
            f'from {joint.lower:.4g} to {joint.upper:.4g}',
            f'{np.radians(joint.lower):.3f} to {np.radians(joint.upper):.3f} rad',
        )


def _in_degrees(joint: DescribedJoint) -> bool:
    """Return whether limits of a hinge are whole numbers beyond two turns."""
    ends = np.array([joint.lower, joint.upper])
    if joint.kind not in TURNING or not np.isfinite(ends).all():
        return False
    largest = np.abs(ends).max()
    return bool(LARGEST_RANGE < largest <= 720.0 and np.all(ends % 1.0 == 0.0))


def drives(robot: Described) -> Iterator[AuditFinding]:
    """Yield limits of effort or velocity that are zero."""
    joints = driven(robot)
    zero = [j.name for j in joints if j.effort == 0.0 or j.velocity == 0.0]
    if not zero or robot.kind != 'URDF':
        return
    severity = NOTE  # of a gripper or a head
    if 2 * len(zero) > len(joints):
        severity = DOUBTFUL
    yield found('effort or velocity zero', '', named(zero), severity=severity)


def friction(robot: Described) -> Iterator[AuditFinding]:
    """Yield that no joint has damping or friction."""
    moving = driven(robot)
    terms = [[joint.damping, joint.friction] for joint in moving]
    if moving and not np.nan_to_num(terms).any():
        yield found('no friction', '', f'{len(moving)} joints')


def mimic(robot: Described) -> Iterator[AuditFinding]:
    """Yield joints that follow one that is not there, or nothing."""
    names = {joint.name for joint in robot.joints}
    for joint in robot.joints:
        if not joint.mimics:
            continue
        if joint.mimics not in names:
            yield found(
                'mimic', joint.name, joint.mimics, what='it follows a joint that is not there'
            )
        elif not joint.multiplier:
            yield found('mimic', joint.name, 'multiplier 0', what='it follows and stands still')


def massless(robot: Described) -> Iterator[AuditFinding]:
    """Yield joints that move bodies without mass or inertia."""
    if not robot.mass:
        return
    for body, links in robot.fixed_together.items():
        carrier = robot.carrier.get(body)
        if carrier is None or not carrier.moves or _has_inertia(robot, links):
            continue
        kind = 'massless'
        if _is_between_joints(robot, links):
            kind = 'massless between joints'
        mass = sum(robot.links[name].mass for name in links)
        yield found(kind, body, f'{mass:.3g} kg and no inertia, moved by {carrier.name}')


def _has_inertia(robot: Described, links: list[str]) -> bool:
    """Return whether one of ``links`` has a mass with moments."""
    for name in links:
        inertia = robot.links[name].inertia
        if inertia is not None and inertia.mass > 0.0 and inertia.has_moments:
            return True
    return False


def _is_between_joints(robot: Described, links: list[str]) -> bool:
    """Return whether ``links`` have no shape and carry a joint: a joint of several axes."""
    if any(len(robot.links[name].points) for name in links):
        return False
    return any(joint.moves for name in links for joint in robot.joints_on[name])


def roots(robot: Described) -> Iterator[AuditFinding]:
    """Yield links that are not joined with the others, and a root with an inertia."""
    first, *others = sorted(robot.roots, key=lambda root: -_size(robot, root))
    if others:
        yield found('several roots', '', named(others), first)
    inertia = robot.links[first].inertia
    if robot.kind == 'URDF' and inertia is not None and not inertia.empty:
        yield found('root has inertia', first, f'{inertia.mass:.3g} kg')


def _size(robot: Described, root: str) -> int:
    """Return how many links hang on a ``root``."""
    count, waiting = 0, [root]
    while waiting:
        name = waiting.pop()
        count += 1
        waiting += [joint.child for joint in robot.joints_on[name]]
    return count


JOINT_CHECKS = (limits, drives, friction, mimic, massless, roots)
