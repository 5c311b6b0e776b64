"""
Limits of robots that their URDF does not hold, as their makers publish them.

Found by the names of joints and robot, whatever their prefix; where several robots of a family
share the names of their joints (UR, iiwa), by the robot's name or that of its meshes.  They only
ever tighten what URDF and options allow.  Velocities that depend on the position (Franka
Research 3):

    |v| <= -offset + sqrt(gain * distance to the end)     towards either end of the range
"""

from collections.abc import Sequence
import re

import numpy as np

from .published_limits import ROBOTS
from ..dynamics.description import parsed_xml
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError

NONE = 'none'  # instead of a robot's name: what the maker publishes is not looked at
KINDS_OF_LIMITS = (
    'lower',
    'upper',
    'velocity',
    'acceleration',
    'jerk',
    'effort',
    'effort_rate',
    'offset',
    'gain',
    'low_end',
    'high_end',
)
NOT_PUBLISHED = {'lower': -np.inf, 'offset': 0.0, 'low_end': -np.inf}  # inf: all other kinds


def maker_limits(
    robot: RobotModel, name: str = ''
) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """
    Return the published limits {kind: (n,)} of the joints of a robot, and what to say of them.

    KINDS_OF_LIMITS, in the units of published_limits.py; inf where nothing is published, empty
    where the robot is not known.  offset and gain are of the velocity that depends on the
    position, low_end and high_end [rad] are the ends that it is counted from.
    name : whose limits hold, a key of ROBOTS or NONE; '': found by the names
    Raises MotionError for a name that is none, or of a robot with other joints.
    """
    if name == NONE:
        return {}, ()
    if name:
        return _published_limits(name, _joints_by_name(name, robot))
    names = _names_in_urdf(robot)
    alike = _robots_with(robot.joint_names)
    for key, joints in alike.items():
        if re.search(ROBOTS[key]['mark'], names):
            return _published_limits(key, joints)
    families = sorted({ROBOTS[key]['family'] for key in alike if 'family' in ROBOTS[key]})
    return {}, tuple(
        f'the joints are those of a {family}, but neither robot nor meshes say of '
        'which: limits: says whose published limits hold, one of ' + ', '.join(alike)
        for family in families
    )


def _joints_by_name(key: str, robot: RobotModel) -> list[int]:
    """Return the indices of all joints in the robot ``key`` that an option names; MotionError."""
    if key not in ROBOTS:
        raise MotionError('option limits', found=key, exists=(*ROBOTS, NONE))
    endings = ROBOTS[key]['joints']
    joints = _joints(key, robot.joint_names)
    if joints is not None:
        return joints
    if len(robot) != len(endings):
        raise MotionError(
            f'the joints are not those of {key}',
            found=robot.joint_names,
            expected=f'names that end in {endings}',
        )
    return list(range(len(robot)))


def _robots_with(joint_names: Sequence[str]) -> dict[str, list[int]]:
    """Return {key of ROBOTS: indices of all joints in it} of those whose joints have the names."""
    robots = {}
    for key in ROBOTS:
        joints = _joints(key, joint_names)
        if joints is not None:
            robots[key] = joints
    return robots


def _joints(key: str, joint_names: Sequence[str]) -> list[int] | None:
    """Return the indices of the joints in the robot ``key``, or None where one is not its."""
    endings, indices = ROBOTS[key]['joints'], list[int]()
    for name in joint_names:
        matches = [k for k, ending in enumerate(endings) if re.search(f'{ending}$', name)]
        indices += matches[:1]
    if len(set(indices)) < len(joint_names):
        return None
    return indices


def _names_in_urdf(robot):
    """Return the names of robot and meshes, one a line."""
    meshes = [mesh.get('filename', '') for mesh in parsed_xml(robot.urdf).iter('mesh')]
    return '\n'.join((robot.name, *meshes))


def _published_limits(key, joints):
    """Return the limits of ``joints``, indices into those of the robot ``key``, and words."""
    published = ROBOTS[key]
    count = len(published['joints'])
    arrays = {}
    for kind in KINDS_OF_LIMITS:
        values = np.asarray(published.get(kind, NOT_PUBLISHED.get(kind, np.inf)), dtype=float)
        arrays[kind] = np.broadcast_to(values, count)[joints]
    return arrays, (f'limits of {published["name"]}: {published["source"]}',)
