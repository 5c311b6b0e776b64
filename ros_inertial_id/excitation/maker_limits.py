"""
Limits of robots that their URDF does not hold, as their makers publish them.

Found by the names of joints and robot, whatever their prefix; where several robots of a family
share the names of their joints (UR, iiwa), by the robot's name or that of its meshes.  They only
ever tighten what URDF and options allow.  Velocities that depend on the position (Franka
Research 3):

    |v| <= -offset + sqrt(gain * distance to the end)     towards either end of the range
"""

import re
import xml.etree.ElementTree as ET

import numpy as np

from .published_limits import ROBOTS
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError

NONE = 'none'  # instead of a robot's name: what the maker publishes is not looked at
ARRAYS = (
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


def maker_limits(
    robot: RobotModel, name: str = ''
) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """
    Return the published limits {kind: (n,)} of the joints of a robot, and what to say of them.

    The kinds of ARRAYS, in the units of published_limits.py; inf where nothing is published, empty
    where the robot is not known.  offset and gain are of the velocity that depends on the
    position, low_end and high_end [rad] are the ends that it is counted from.
    name : whose limits hold, a key of ROBOTS or NONE; '': found by the names
    Raises MotionError for a name that is none, or of a robot with other joints.
    """
    if name == NONE:
        return {}, ()
    if name and name not in ROBOTS:
        raise MotionError('option limits', found=name, exists=(*ROBOTS, NONE))
    if name:
        joints = _joints(name, robot.joint_names)
        if joints is None and len(robot) == len(ROBOTS[name]['joints']):
            joints = list(range(len(robot)))
        if joints is None:
            raise MotionError(
                f'the joints are not those of {name}',
                found=robot.joint_names,
                expected=f'names that end in {ROBOTS[name]["joints"]}',
            )
        return _of(name, joints)
    words = _words(robot)
    alike = {
        key: joints for key in ROBOTS if (joints := _joints(key, robot.joint_names)) is not None
    }
    for key, joints in alike.items():
        if re.search(ROBOTS[key]['mark'], words):
            return _of(key, joints)
    families = sorted({ROBOTS[key]['family'] for key in alike if 'family' in ROBOTS[key]})
    return {}, tuple(
        f'the joints are those of a {family}, but neither robot nor meshes say of '
        'which: limits: says whose published limits hold, one of ' + ', '.join(alike)
        for family in families
    )


def _joints(key, joint_names):
    """Return the indices of the joints in the robot ``key``, or None where one is not its."""
    endings = ROBOTS[key]['joints']
    indices = [
        next((k for k, ending in enumerate(endings) if re.search(f'{ending}$', name)), None)
        for name in joint_names
    ]
    return None if None in indices or len(set(indices)) < len(indices) else indices


def _words(robot):
    """Return the names of robot and meshes, one a line."""
    meshes = [mesh.get('filename', '') for mesh in ET.fromstring(robot.urdf).iter('mesh')]
    return '\n'.join((robot.name, *meshes))


def _of(key, joints):
    """Return the limits of ``joints``, indices into those of the robot ``key``, and words."""
    values = ROBOTS[key]
    count = len(values['joints'])
    default = {'lower': -np.inf, 'offset': 0.0, 'low_end': -np.inf}
    arrays = {
        kind: np.broadcast_to(
            np.asarray(values.get(kind, default.get(kind, np.inf)), dtype=float), count
        )[joints]
        for kind in ARRAYS
    }
    return arrays, (f'limits of {values["name"]}: {values["source"]}',)
