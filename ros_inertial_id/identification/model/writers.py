"""
Writers: the text of a model for every target.

A writer takes (model, robot, covariance (p, p) of its parameters, lines of what is not held) and
returns the text.  The model is consistent and one that the target holds, or all that is held of it
is written.
"""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from .corrected_urdf import corrected_urdf
from .identified_description import (
    comment,
    consistent_parameters,
    description_of,
    isaaclab_of,
    joint_terms,
    mjcf_of,
    pinocchio_of,
    servos,
    tree_on_base,
)
from .sdf import sdf_of
from .targets import ARMATURE
from .usd_overlay import usd_of
from ..identified_model import IdentifiedModel
from ...dynamics.pinocchio_model import pinocchio_text
from ...dynamics.robot_model import FloatingTree, RobotModel

Writer = Callable[..., str]


def _urdf(model: IdentifiedModel, robot: Any, covariance: np.ndarray, lines: Sequence[str]) -> str:
    """Return the URDF of a ``model`` with all friction; of a rig what its method writes."""
    if not isinstance(robot, RobotModel | FloatingTree):
        return description_of(model, robot)[0]
    return _with_comment(_joints_with_friction(model, tree_on_base(robot)), comment(model, lines))


def _drake(
    model: IdentifiedModel, robot: Any, covariance: np.ndarray, lines: Sequence[str]
) -> str:
    """Return the URDF of a ``model`` with rotor inertias and gains where Drake has them."""
    tree = tree_on_base(robot)
    terms, gains, actuators = joint_terms(model), servos(model, tree), []
    for joint in tree.joint_names:
        inside = f'<drake:rotor_inertia value="{terms[joint][ARMATURE]!r}"/>'
        if joint in gains:
            kp, kd = gains[joint]['stiffness'], gains[joint]['damping']
            inside += f'<drake:controller_gains p="{kp!r}" d="{kd!r}"/>'
        name = escape(joint)
        actuators.append(
            '  <transmission><type>transmission_interface/SimpleTransmission</type>'
            f'<joint name="{name}"/><actuator name="{name}_rotor">'
            f'<drake:gear_ratio value="1"/>{inside}</actuator></transmission>'
        )
    text = _with_comment(_joints_with_friction(model, tree), comment(model, lines))
    text = text.replace('<robot', '<robot xmlns:drake="https://drake.mit.edu"', 1)
    head, end, tail = text.rpartition('</robot>')
    return '\n'.join([head.rstrip(), *actuators, end + tail])


def _joints_with_friction(model: IdentifiedModel, robot: RobotModel) -> str:
    consistent_parameters(model)
    return corrected_urdf(robot, model.parameters, model.values, model.validity_range, True)


def _with_comment(text: str, words: str) -> str:
    """Return the ``text`` of a URDF with a comment before its root."""
    at = text.index('<robot')
    return f'{text[:at]}{words}\n{text[at:]}'


def _isaaclab(
    model: IdentifiedModel,
    robot: Any,
    covariance: np.ndarray,
    lines: Sequence[str],
    physics_dt: float = 0.005,
) -> str:
    return isaaclab_of(model, robot, covariance, physics_dt, lines)[1]


def _pinocchio(
    model: IdentifiedModel, robot: Any, covariance: np.ndarray, lines: Sequence[str]
) -> str:
    return pinocchio_text(pinocchio_of(model, robot))


WRITERS: dict[str, Writer] = {
    'mujoco': mjcf_of,
    'isaaclab': _isaaclab,
    'newton': mjcf_of,
    'gazebo': sdf_of,
    'urdf': _urdf,
    'drake': _drake,
    'pinocchio': _pinocchio,
    'usd': usd_of,
}
