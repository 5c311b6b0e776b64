"""Checks of joints: limits, friction, mimic, and what they move."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from .check import always, Check, no_part, SOUND, Table, the_robot, when
from .described import Body, Described, DescribedJoint, DescribedLink, TURNING
from .finding import DOUBTFUL, NOTE, WRONG

DEGREES = 13.0, 720.0  # whole numbers between them are no limits in rad: beyond two turns
NAMES_IN_WORDS = 12


def named(names: Sequence[str]) -> str:
    """Return ``names`` in words, not too many."""
    if len(names) <= NAMES_IN_WORDS:
        return ', '.join(names)
    return f'{", ".join(names[:NAMES_IN_WORDS])} and {len(names) - NAMES_IN_WORDS} more'


def with_range(robot: Described) -> list[DescribedJoint]:
    """Return the joints of a ``robot`` that have to have limits."""
    return [joint for joint in robot.driven if joint.kind != 'continuous']


def bounded_hinges(robot: Described) -> list[DescribedJoint]:
    """Return the hinges of a ``robot`` that have limits."""
    hinges = [joint for joint in robot.joints if joint.kind in TURNING]
    return [joint for joint in hinges if np.isfinite([joint.lower, joint.upper]).all()]


def _are_in_degrees(joint: DescribedJoint) -> bool:
    """Return whether limits of a hinge are whole numbers beyond two turns."""
    limits = np.array([joint.lower, joint.upper])
    least, most = DEGREES
    return bool(least < np.abs(limits).max() <= most and np.all(limits % 1.0 == 0.0))


def _range(joint: DescribedJoint) -> str:
    return f'from {joint.lower:.4g} to {joint.upper:.4g}'


def _range_of_degrees(joint: DescribedJoint) -> str:
    return f'{np.radians(joint.lower):.3f} to {np.radians(joint.upper):.3f} rad'


def _powerless(robot: Described) -> list[str]:
    """Return the joints whose effort or velocity has to be zero."""
    return [joint.name for joint in robot.driven if joint.effort == 0.0 or joint.velocity == 0.0]


def _severity_of_powerless(robot: Described) -> str:
    """Return a note for joints without power that can be those of a gripper or a head."""
    count = len(_powerless(robot))
    if 2 * count > len(robot.driven):
        return DOUBTFUL
    if count:
        return NOTE
    return SOUND


def _is_frictionless(robot: Described) -> bool:
    """Return whether a ``robot`` has drives and none of them damping or friction."""
    terms = [[joint.damping, joint.friction] for joint in robot.driven]
    return bool(robot.driven) and not np.nan_to_num(terms).any()


def followers(robot: Described) -> list[DescribedJoint]:
    """Return the joints of a ``robot`` that follow one that is there."""
    names = {joint.name for joint in robot.joints}
    return [joint for joint in robot.joints if joint.mimics in names]


def followers_of_nobody(robot: Described) -> list[DescribedJoint]:
    """Return the joints of a ``robot`` that follow one that is not there."""
    names = {'', *(joint.name for joint in robot.joints)}
    return [joint for joint in robot.joints if joint.mimics not in names]


def massless_bodies(robot: Described) -> list[Body]:
    """Return the moving bodies without mass or inertia, of a ``robot`` with some mass."""
    if robot.mass == 0.0:
        return []
    moving = [body for body in robot.bodies.values() if body.joint is not None]
    return [body for body in moving if not any(map(_resists, body.links))]


def _resists(link: DescribedLink) -> bool:
    """Return whether a ``link`` has a mass with moments."""
    return link.inertia.mass > 0.0 and link.inertia.has_moments


def _is_between_joints(body: Body) -> bool:
    """Return whether a ``body`` has no shape and carries a joint: one joint of several axes."""
    drawn = any(len(link.points) for link in body.links)
    return not drawn and any(joint.moves for joint in body.joints_on)


def _no_inertia(body: Body) -> str:
    return f'{body.mass:.3g} kg and no inertia, moved by {body.moved_by}'


def _by_size(robot: Described) -> list[str]:
    """Return the roots of a ``robot``, that of most links first."""
    sizes = Counter(robot.root_of.values())
    return sorted(robot.roots, key=lambda root: -sizes[root])


def main_root(robot: Described) -> list[DescribedLink]:
    """Return the root of most links, where it has an inertia."""
    root = robot.links[_by_size(robot)[0]]
    if root.inertia.empty:
        return []
    return [root]


JOINT_CHECKS: tuple[Table[Any], ...] = (
    Table(
        with_range,
        (
            Check(
                'limits missing',
                when(lambda joint: np.isnan(joint.lower), DOUBTFUL),
                why='a joint without limits',
                do='give them, or make it continuous',
                found=lambda joint: f'{joint.kind} without lower and upper',
            ),
            Check(
                'limits empty',
                when(lambda joint: joint.lower >= joint.upper, WRONG),
                why='the range of the joint is empty',
                do='correct lower and upper',
                found=_range,
            ),
        ),
        kinds=('URDF',),
    ),
    Table(
        bounded_hinges,
        (
            Check(
                'limits in degrees',
                when(_are_in_degrees, WRONG),
                why='limits are in degrees',
                do='give them in rad',
                found=_range,
                plausible=_range_of_degrees,
            ),
        ),
    ),
    Table(
        the_robot,
        (
            Check(
                'effort or velocity zero',
                _severity_of_powerless,
                why='limits of zero: a simulator that keeps them lets the robot fall',
                do='give the limits of the drives',
                found=lambda robot: named(_powerless(robot)),
                about=no_part,
            ),
        ),
        kinds=('URDF',),
    ),
    Table(
        the_robot,
        (
            Check(
                'no friction',
                when(_is_frictionless, NOTE),
                why='no damping and no friction is given: a simulated joint swings for ever',
                do='identify them, see inertial-id identify',
                found=lambda robot: f'{len(robot.driven)} joints',
                about=no_part,
            ),
        ),
    ),
    Table(
        followers_of_nobody,
        (
            Check(
                'mimic',
                always(WRONG),
                why='it follows a joint that is not there',
                do='correct mimic',
                found=lambda joint: joint.mimics,
            ),
        ),
    ),
    Table(
        followers,
        (
            Check(
                'mimic',
                when(lambda joint: joint.multiplier == 0.0, WRONG),
                why='it follows and stands still',
                do='correct mimic',
                found=lambda _: 'multiplier 0',
            ),
        ),
    ),
    Table(
        massless_bodies,
        (
            Check(
                'massless between joints',
                when(_is_between_joints, NOTE),
                why='a link without mass between two joints',
                do='as part of a joint with several axes it is right; MuJoCo wants an inertia',
                found=_no_inertia,
            ),
            Check(
                'massless',
                always(DOUBTFUL),
                why='a joint moves what has no mass or no inertia, which simulators refuse',
                do='give it an inertia, or fix the joint',
                found=_no_inertia,
            ),
        ),
    ),
    Table(
        the_robot,
        (
            Check(
                'several roots',
                when(lambda robot: len(robot.roots) > 1, WRONG),
                why='links that no joint connects with the others',
                do='join them, or take them out',
                found=lambda robot: named(_by_size(robot)[1:]),
                plausible=lambda robot: _by_size(robot)[0],
                about=no_part,
            ),
        ),
    ),
    Table(
        main_root,
        (
            Check(
                'root has inertia',
                always(NOTE),
                why='the root link has an inertia, which KDL leaves out',
                do='put a link without mass before it where KDL reads it',
                found=lambda link: f'{link.mass:.3g} kg',
            ),
        ),
        kinds=('URDF',),
    ),
)
