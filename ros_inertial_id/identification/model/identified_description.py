"""
The description with what was identified in it: a URDF, MJCF, or what the method writes.

What a description cannot hold (offsets, springs, rotor inertias, friction that is no line) stands
in it as a comment, and is said to whoever writes it.  The MJCF has the kinematics and dynamics of
the model and no shapes; its world is the base frame, in which gravity points as the robot is
mounted.
"""

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as xml

import numpy as np

from .corrected_urdf import corrected_urdf, damping_and_friction
from ..identified_model import IdentifiedModel
from ...dynamics.friction import friction_column, JOINT_TERMS, LAWS
from ...dynamics.inertial_parameters import about_center, bodies, Parameter
from ...dynamics.robot_model import RobotModel
from ...errors import EstimationError
from ...methods import METHODS
from ...methods.capabilities import DescribesRobots

PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # of MJCF's fullinertia


def description_of(model: IdentifiedModel, robot: Any) -> tuple[str, list[str]]:
    """
    Return (text of the description, what it cannot hold in words) of an identified robot.

    A URDF keeps all but its inertial and friction numbers; a method that describes its own robots
    writes theirs.

    model : IdentifiedModel, physically consistent
    EstimationError where the model is not physically consistent, or of a mechanism with loops.
    """
    links, method = consistent_parameters(model), METHODS[model.method]
    if isinstance(method, DescribesRobots):
        return method.description_with(links, robot, model.options, model.preprocessing[0]), []
    tree = tree_of(robot)
    text = corrected_urdf(tree, model.parameters, model.values, model.validity_range)
    lines = _beyond(model, tree, lambda p: _in_urdf(text, p))
    at = text.index('<robot')  # behind an XML declaration
    return f'{text[:at]}{_comment(model, lines)}\n{text[at:]}', lines


def mjcf_of(model: IdentifiedModel, robot: Any) -> tuple[str, list[str]]:
    """Return (MJCF, what it cannot hold in words) of a consistent ``model`` of a ``robot``."""
    consistent_parameters(model)
    tree = tree_of(robot)
    text = identified_mjcf(tree, model.parameters, model.values, largest_speeds(model))
    pushing = {p.name for p, x in zip(model.parameters, model.values)
               if p.law and LAWS[p.law].in_urdf == 'stiffness' and x < 0.0}
    lines = _beyond(model, tree, lambda p: LAWS[p.law].in_urdf and p.name not in pushing)
    comment = _comment(model, lines)
    return text.replace('>\n', f'>\n{comment}\n', 1), lines


def tree_of(robot: Any) -> RobotModel:
    """Return the RobotModel of a serial robot; EstimationError for a mechanism or rig."""
    if not isinstance(robot, RobotModel):
        raise EstimationError('no description of a tree', found='a mechanism with loops or a rig',
                              expected='a robot that is a tree')
    return robot


def consistent_parameters(model: IdentifiedModel) -> dict[str, list[float]]:
    """Return {link: ten parameters} of a consistent ``model``; EstimationError for another."""
    links = model.statistics.get('consistent', {}).get('links')
    if links is None:
        raise EstimationError('the model has no physically consistent parameters',
                              do='identify with --consistent')
    return links


def largest_speeds(model: IdentifiedModel) -> dict[str, float]:
    """Return {joint: largest speed of the training data [rad/s]} of a ``model``."""
    return {joint: float(np.abs(seen['v']).max())
            for joint, seen in model.validity_range.items() if 'v' in seen}


def _beyond(model: IdentifiedModel, robot: RobotModel, holds: Any) -> list[str]:
    """Return one line per joint term that a description does not hold, with its torque."""
    lines = []
    for p, value in zip(model.parameters, model.values):
        if p.law and value and not holds(p):
            seen = model.validity_range.get(p.owner, {})
            ends = np.array([seen.get(name, [0.0, 0.0]) for name in 'qva'])
            largest = float(np.abs(value * friction_column(p, *ends)).max())
            size = ('times the torque that its gear passes on' if LAWS[p.law].loaded else
                    f'up to {largest:.3g} N m in the training data')
            lines.append(f'{p.name} = {value:.6g} {p.unit} ({p.law} of {p.owner}, {size})')
    return lines


def _in_urdf(text: str, parameter: Parameter) -> bool:
    """Return whether <dynamics> of the parameter's joint holds what it means."""
    dynamics = xml.fromstring(text).find(f"joint[@name='{parameter.owner}']/dynamics")
    return dynamics is not None and LAWS[parameter.law].in_urdf in dynamics.keys()


def _comment(model: IdentifiedModel, lines: Sequence[str]) -> str:
    head = f"identified by ros_inertial_id, {model.provenance.get('created', '')}"
    held = ['not held by this file:', *lines] if lines else []
    text = '\n     '.join([head, *held]).replace('--', '- -')
    return f'<!-- {text} -->'


def identified_mjcf(robot: RobotModel, parameters: Sequence[Parameter], values: np.ndarray,
                    speeds: dict[str, float]) -> str:
    """
    Return the MJCF text of a tree robot with the standard parameters of a model.

    parameters, values : (p,) of the model, physically consistent
    speeds : {joint: largest speed seen [rad/s]} up to which a richer friction law is summed up
        as damping and friction loss
    """
    from scipy.spatial.transform import Rotation  # takes long to import: when needed
    root = xml.Element('mujoco', model=robot.name)
    xml.SubElement(root, 'compiler', angle='radian', autolimits='true', inertiafromgeom='false')
    xml.SubElement(root, 'option', gravity=_numbers(robot.gravity_base))
    parents = {-1: xml.SubElement(root, 'worldbody')}
    first = bodies(parameters)
    for i, (joint, link) in enumerate(zip(robot.joint_names, robot.link_names)):
        quaternion = Rotation.from_matrix(robot.rotations[i]).as_quat()[[3, 0, 1, 2]]
        parents[i] = xml.SubElement(parents[robot.parents[i]], 'body', name=link,
                                    pos=_numbers(robot.translations[i]),
                                    quat=_numbers(quaternion))
        _inertial(parents[i], values[first[link]:first[link] + 10])
        terms = joint_terms(parameters, values, joint, speeds.get(joint, 1.0))
        # A spring that pushes away from its zero is what something else was taken for.
        terms['stiffness'] = max(0.0, terms['stiffness'])
        _joint(parents[i], robot, i, terms)
    xml.indent(root)
    return xml.tostring(root, encoding='unicode') + '\n'


def joint_terms(parameters: Sequence[Parameter], values: np.ndarray, joint: str,
                top: float) -> dict[str, float]:
    """
    Return {damping, friction, armature, stiffness: number} of a joint, as pinocchio and MJCF have.

    parameters, values : (p,); top : see ``damping_and_friction``
    """
    out = dict.fromkeys((*JOINT_TERMS, 'stiffness'), 0.0)
    for p, x in zip(parameters, values):
        if p.law and p.owner == joint and not LAWS[p.law].brakes and LAWS[p.law].in_urdf:
            out[LAWS[p.law].in_urdf] = float(x)
    return {**out, **damping_and_friction(parameters, values, joint, top)}


def _inertial(body: xml.Element, pi: np.ndarray) -> None:
    """Give a body its standard parameters (10,), about the centre of mass as MJCF has them."""
    mass, centre, central = about_center(pi)
    xml.SubElement(body, 'inertial', mass=_numbers([mass]), pos=_numbers(centre),
                   fullinertia=_numbers([central[place] for place in PLACES]))


def _joint(body: xml.Element, robot: RobotModel, i: int, terms: dict[str, float]) -> None:
    kind = 'slide' if robot.prismatic[i] else 'hinge'
    names = {'friction': 'frictionloss'}
    extra = {names.get(name, name): _numbers([value]) for name, value in terms.items() if value}
    if np.isfinite(robot.lower[i]) and np.isfinite(robot.upper[i]):
        extra['range'] = _numbers([robot.lower[i], robot.upper[i]])
    xml.SubElement(body, 'joint', {'name': robot.joint_names[i], 'type': kind,
                                   'axis': _numbers(robot.axes[i]), **extra})


def _numbers(values: Sequence[float] | np.ndarray) -> str:
    return ' '.join(repr(float(x)) for x in values)
