"""
Motors that no description draws: joints of their own, on the base, behind those of the tree.

A motor turns several joints (a closure ``coupling MOTOR JOINT RATIO ...``), or one joint through a
spring (``elastic_joints``; Spong 1987: a rotor's energy is that of its own turning).  Its rotor
has no inertia but the ``armature`` of its friction.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .mechanism import MechanismOptions
from ...dynamics.robot_model import RobotModel
from ...errors import ConfigError


def elastic_pairs(lines: Sequence[str], joints: Sequence[str]) -> dict[str, str]:
    """
    Return {joint: motor} of the lines of the option ``elastic_joints``.

    joints : that exist.  ConfigError where a line cannot be read or names another joint.
    """
    out: dict[str, str] = {}
    for line in lines:
        words = str(line).split()
        taken = {*out, *out.values()}
        is_pair = len(words) == 2 and words[0] in joints and words[1] not in joints
        if not is_pair or taken & set(words):
            raise ConfigError(
                'option elastic_joints',
                expected='"JOINT MOTOR", each once, the motor no joint of the description',
                found=repr(line),
                exists=joints,
            )
        joint, motor = words
        out[joint] = motor
    return out


def _coupled_motors(lines, joints):
    """Return the first names of coupling ``lines`` that are no ``joints``."""
    out = []
    for line in lines:
        words = str(line).split()
        if words[:1] == ['coupling'] and len(words) >= 4 and words[1] not in joints:
            out.append(words[1])
    return out


def with_motors(robot: RobotModel, options: MechanismOptions) -> RobotModel:
    """Return the tree ``robot`` with a joint for every motor of the ``options``, last in it."""
    coupled = _coupled_motors(options.closures, robot.joint_names)
    elastic = elastic_pairs(options.elastic_joints, robot.joint_names).values()
    names = tuple(dict.fromkeys([*coupled, *elastic]))
    count = len(names)
    if not count:
        return robot
    unlimited = np.full(count, np.nan)
    return replace(
        robot,
        joint_names=robot.joint_names + names,
        link_names=robot.link_names + names,
        parents=robot.parents + (-1,) * count,
        prismatic=robot.prismatic + (False,) * count,
        rotations=np.concatenate([robot.rotations, np.tile(np.eye(3), (count, 1, 1))]),
        translations=np.vstack([robot.translations, np.zeros((count, 3))]),
        axes=np.vstack([robot.axes, np.tile([0.0, 0.0, 1.0], (count, 1))]),
        inertias=np.vstack([robot.inertias, np.zeros((count, 10))]),
        lower=np.append(robot.lower, unlimited),
        upper=np.append(robot.upper, unlimited),
        velocity=np.append(robot.velocity, unlimited),
        effort=np.append(robot.effort, unlimited),
    )


def motors_of(robot: RobotModel) -> tuple[str, ...]:
    """Return the names of the joints that ``with_motors`` has put into a tree."""
    return robot.joint_names[robot.pin_model.njoints - 1 :]
