"""Described model: what a description says of a robot, as if it had been identified."""

from dataclasses import asdict
from typing import Any

import numpy as np

from .outcome import base_entries, provenance, robot_entry
from ..identified_model import IdentifiedModel
from ..prepare.mounting import structural_base
from ..settings import load_options
from ...dynamics.friction import law_of, LAWS
from ...dynamics.inertial_parameters import bodies, Parameter
from ...dynamics.robot_model import gravity_from_mounting, RobotModel
from ...errors import RobotModelError
from ...estimation.estimators import Estimate
from ...estimation.r_factors import one_thread
from ...methods import METHODS

EVERYWHERE = [-np.inf, np.inf]  # a description knows no validity range
FAST = 10.0  # [rad/s or m/s] of joints without a velocity limit, for curves over the speed


def described_model(urdf: str, mounting: str, changes: dict[str, Any]) -> IdentifiedModel:
    """
    Return the IdentifiedModel of a tree robot with the numbers of its ``urdf`` (text).

    No base parameter is determined: a description has no standard errors.

    mounting : see ``gravity_from_mounting``; changes : {option: value}, locked_joints for example
    RobotModelError for a description without inertias, or of no tree.
    """
    name, options = load_options('', '', {
        'friction': [law_of('damping'), law_of('friction')], 'coulomb_width': 0.0,
        'mounting': mounting, **changes})
    method = METHODS[name]
    gravity = gravity_from_mounting(mounting, magnitude=options.gravity_magnitude)
    robot = method.build(urdf, options, gravity)
    bare = [link for link, pi in zip(robot.link_names, robot.inertias) if pi[0] <= 0.0]
    if bare:
        raise RobotModelError('the URDF has links without inertia', found=bare,
                              expected='an <inertial> of every moving link')
    parameters = method.parameters(robot, options)
    values = np.array([_described(robot, p) for p in parameters])
    with one_thread():
        base = structural_base(method, [robot], parameters)
    none = np.zeros(len(base.independent))
    links = {link: values[k:k + 10].tolist() for link, k in bodies(parameters).items()}
    return IdentifiedModel(
        name, asdict(options), robot_entry(robot),
        {'text': [mounting], 'gravity_base': [gravity.tolist()]}, parameters, values,
        base_entries(base, Estimate(none, np.diag(none), none, none, none.astype(bool),
                                    {}, {}, np.inf, 0)),
        np.diag(none), {'consistent': {'links': links}},
        {joint: {'q': EVERYWHERE, 'v': [-speed, speed], 'a': EVERYWHERE} for joint, speed in zip(
            robot.joint_names, np.where(robot.velocity > 0.0, robot.velocity, FAST).tolist())},
        [{'cutoff': options.cutoff, 'velocity': options.velocity}], provenance(()))


def _described(robot: RobotModel, parameter: Parameter) -> float:
    """Return the value of a ``parameter`` in the description of a ``robot``."""
    if not parameter.law:
        return parameter.nominal
    model = robot.pin_model
    place = model.joints[1 + robot.joint_names.index(parameter.owner)].idx_v
    return float(getattr(model, LAWS[parameter.law].in_urdf)[place])
