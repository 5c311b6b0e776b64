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
        if (
            len(words) != 2
            or words[0] not in joints
            or words[0] in out
            or words[1] in (*joints, *out.values())
        ):
            raise ConfigError(
                'option elastic_joints',
                expected='"JOINT MOTOR", each once, the motor no joint of the description',
                found=repr(line),
                exists=joints,
            )
        out[words[0]] = words[1]
    return out


def with_motors(robot: RobotModel, options: MechanismOptions) -> RobotModel:
    """Return the tree ``robot`` with a joint for every motor of the ``options``, last in it."""
    words = [str(line).split() for line in options.closures]
    names = (
        *(
            w[1]
            for w in words
            if w[:1] == ['coupling'] and len(w) >= 4 and w[1] not in robot.joint_names
        ),
        *elastic_pairs(options.elastic_joints, robot.joint_names).values(),
    )
    names = tuple(dict.fromkeys(names))
    count = len(names)
    if not count:
        return robot
    lower, upper, velocity, effort = (
        np.append(x, np.full(count, np.nan))
        for x in (robot.lower, robot.upper, robot.velocity, robot.effort)
    )
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
        lower=lower,
        upper=upper,
        velocity=velocity,
        effort=effort,
    )


def motors_of(robot: RobotModel) -> tuple[str, ...]:
    """Return the names of the joints that ``with_motors`` has put into a tree."""
    return robot.joint_names[robot.pin_model.njoints - 1 :]
