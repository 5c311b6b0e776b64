"""
Limits of robots that their URDF does not hold, as their makers publish them.

Found by the names of joints and robot, whatever their prefix; where several robots of a family
share the names of their joints (UR, iiwa), by the robot's name or that of its meshes.  They only
ever tighten what URDF and options allow.  Velocities that depend on the position (Franka
Research 3):

    |v| <= -offset + sqrt(gain * distance to the end)     towards either end of the range
"""

from dataclasses import dataclass
import re
import xml.etree.ElementTree as ET

import numpy as np

from .published_limits import ROBOTS
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError

NONE = 'none'  # instead of a robot's name: what the maker publishes is not looked at
ARRAYS = ('lower', 'upper', 'velocity', 'acceleration', 'jerk', 'effort', 'effort_rate', 'offset',
          'gain', 'low_end', 'high_end')


@dataclass(frozen=True)
class MakerLimits:
    """
    Published limits of n joints; inf where nothing is published.

    name, source : of the robot, of the figures
    lower, upper [rad], velocity [rad/s], acceleration [rad/s^2], jerk [rad/s^3], effort [N m],
        effort_rate [N m/s] : (n,)
    offset [rad/s], gain [rad/s^2] : (n,) of the velocity that depends on the position
    low_end, high_end : (n,) ends that it is counted from [rad]
    """

    name: str
    source: str
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    effort: np.ndarray
    effort_rate: np.ndarray
    offset: np.ndarray
    gain: np.ndarray
    low_end: np.ndarray
    high_end: np.ndarray


def maker_limits(robot: RobotModel, name: str = '') -> tuple[MakerLimits | None, tuple[str, ...]]:
    """
    Return the MakerLimits of the joints of a RobotModel ``robot``, or None, and what to say of it.

    name : whose limits hold, a key of published_limits.ROBOTS or NONE; '': found by the names
    Raises MotionError for a name that is none, or of a robot with other joints.
    """
    if name == NONE:
        return None, ()
    if name and name not in ROBOTS:
        raise MotionError('option limits', found=name, exists=(*ROBOTS, NONE))
    if name:
        joints = _joints(name, robot.joint_names)
        if joints is None and len(robot) == len(ROBOTS[name]['joints']):
            joints = list(range(len(robot)))
        if joints is None:
            raise MotionError(f'the joints are not those of {name}', found=robot.joint_names,
                              expected=f'names that end in {ROBOTS[name]["joints"]}')
        return _of(name, joints)
    words = _words(robot)
    alike = {key: joints for key in ROBOTS
             if (joints := _joints(key, robot.joint_names)) is not None}
    for key, joints in alike.items():
        if re.search(ROBOTS[key]['mark'], words):
            return _of(key, joints)
    families = sorted({ROBOTS[key]['family'] for key in alike if 'family' in ROBOTS[key]})
    return None, tuple(f'the joints are those of a {family}, but neither robot nor meshes say of '
                       'which: limits: says whose published limits hold, one of '
                       + ', '.join(alike) for family in families)


def _joints(key, joint_names):
    """Return the indices of the joints in the robot ``key``, or None where one is not its."""
    endings = ROBOTS[key]['joints']
    indices = [next((k for k, ending in enumerate(endings) if re.search(f'{ending}$', name)), None)
               for name in joint_names]
    return None if None in indices or len(set(indices)) < len(indices) else indices


def _words(robot):
    """Return the names of robot and meshes, one a line."""
    meshes = [mesh.get('filename', '') for mesh in ET.fromstring(robot.urdf).iter('mesh')]
    return '\n'.join((robot.name, *meshes))


def _of(key, joints):
    """Return the MakerLimits of ``joints``, indices into those of the robot ``key``, and words."""
    values = ROBOTS[key]
    count = len(values['joints'])
    default = {'lower': -np.inf, 'offset': 0.0, 'low_end': -np.inf}
    arrays = {kind: np.broadcast_to(np.asarray(values.get(kind, default.get(kind, np.inf)),
                                               dtype=float), count)[joints] for kind in ARRAYS}
    return (MakerLimits(values['name'], values['source'], **arrays),
            (f"limits of {values['name']}: {values['source']}",))
