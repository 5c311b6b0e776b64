"""
The description with what was identified in it: a URDF, MJCF, or what the method writes.

What a description cannot hold (offsets, springs, rotor inertias, friction that is no line) stands
in it as a comment, and is said to whoever writes it.  The MJCF has the kinematics and dynamics of
the model and no shapes; its world is the base frame, in which gravity points as the robot is
mounted.  The servos of a robot that was identified from its commands are position actuators, in
the MJCF and for Isaac Lab.
"""

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as xml

import numpy as np
import yaml

from .corrected_urdf import corrected_urdf, damping_and_friction
from ..identified_model import IdentifiedModel, plain
from ...dynamics.friction import friction_column, JOINT_TERMS, LAWS
from ...dynamics.inertial_parameters import about_center, bodies, Parameter
from ...dynamics.robot_model import RobotModel
from ...errors import ConfigError, EstimationError
from ...measurement.joints.drives import is_commanded
from ...measurement.summary import Summary
from ...methods import METHODS
from ...methods.capabilities import DescribesRobots

PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # of MJCF's fullinertia
SHORTEST_STEP = 5e-4  # [s] of a simulation in whose history the delay of the MJCF has room
SERVO_WORDS = (
    'delay: MuJoCo 3.5 or later, steps of 0.5 ms or more; else hold ctrl back yourself, without '
    'delay, nsample and interp',
    'with velocities or feedforward: ctrl = q_command + (kv v_command + feedforward) / kp',
)
ISAACLAB = """\
# ImplicitActuatorCfg(**this['ImplicitActuatorCfg']), or with the delay of the commands
# DelayedPDActuatorCfg(**this['ImplicitActuatorCfg'], **this['DelayedPDActuatorCfg'])
"""


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
        summary = Summary.of(model.preprocessing[0])
        return method.description_with(links, robot, model.options, summary), []
    tree = tree_of(robot)
    text = corrected_urdf(tree, model.parameters, model.values, model.validity_range)
    lines = _beyond(model, tree, lambda p: _in_urdf(text, p))
    at = text.index('<robot')  # behind an XML declaration
    return f'{text[:at]}{_comment(model, lines)}\n{text[at:]}', lines


def mjcf_of(model: IdentifiedModel, robot: Any, covariance: np.ndarray) -> tuple[str, list[str]]:
    """
    Return (MJCF, what it cannot hold in words) of a consistent ``model`` of a ``robot``.

    covariance : (p, p) of the model's parameters
    """
    consistent_parameters(model)
    tree = tree_of(robot)
    text = identified_mjcf(tree, model, covariance)
    pushing = {
        p.name
        for p, x in zip(model.parameters, model.values)
        if p.law and LAWS[p.law].in_urdf == 'stiffness' and x < 0.0
    }
    lines = _beyond(model, tree, lambda p: LAWS[p.law].in_urdf and p.name not in pushing)
    comment = _comment(model, lines)
    return text.replace('>\n', f'>\n{comment}\n', 1), lines


def isaaclab_of(
    model: IdentifiedModel, robot: Any, covariance: np.ndarray, physics_dt: float
) -> tuple[dict[str, Any], str]:
    """
    Return (the joints in the fields of Isaac Lab's actuators, the same as YAML).

    covariance : (p, p) of the model's parameters; physics_dt : [s] of the simulation
    """
    tree = tree_of(robot)
    joints = tree.joint_names
    if not physics_dt > 0.0:
        raise ConfigError('physics_dt', expected='above 0 s', found=physics_dt)
    gains, delay = servos(model, tree), delay_of(model)
    terms, errors = joint_terms(model), joint_errors(model, covariance)

    def column(table, name):
        return {joint: table[joint][name] for joint in joints}

    def limits(values):
        return {j: float(x) for j, x in zip(joints, values) if np.isfinite(x) and x > 0} or None

    own = {name: name for name in JOINT_TERMS if name != 'damping'}
    friction = {**own, 'dynamic_friction': 'friction', 'viscous_friction': 'damping'}
    steps = round(delay / physics_dt)
    out = plain(
        {
            'ImplicitActuatorCfg': {
                'joint_names_expr': list(joints),
                **{
                    name: column(gains, name) if gains else None
                    for name in ('stiffness', 'damping')
                },
                **{field: column(terms, name) for field, name in friction.items()},
                'effort_limit_sim': limits(tree.effort),
                'velocity_limit_sim': limits(tree.velocity),
            },
            'DelayedPDActuatorCfg': {'min_delay': steps, 'max_delay': steps},
            'delay': delay,
            'physics_dt': physics_dt,
            'standard_errors': {
                field: column(errors, name)
                for field, name in friction.items()
                if field != 'dynamic_friction'
            },
            'not_held': _beyond(model, tree, lambda p: LAWS[p.law].in_urdf in JOINT_TERMS),
        }
    )
    return out, ISAACLAB + yaml.safe_dump(out, sort_keys=False, width=98)


def tree_of(robot: Any) -> RobotModel:
    """Return the RobotModel of a serial robot; EstimationError for a mechanism or rig."""
    if not isinstance(robot, RobotModel):
        raise EstimationError(
            'no description of a tree',
            found='a mechanism with loops or a rig',
            expected='a robot that is a tree',
        )
    return robot


def consistent_parameters(model: IdentifiedModel) -> dict[str, list[float]]:
    """Return {link: ten parameters} of a consistent ``model``; EstimationError for another."""
    links = model.statistics.get('consistent', {}).get('links')
    if links is None:
        raise EstimationError(
            'the model has no physically consistent parameters', do='identify with --consistent'
        )
    return links


def _beyond(model: IdentifiedModel, robot: RobotModel, holds: Any) -> list[str]:
    """Return one line per joint term that a description does not hold, with its torque."""
    lines = []
    for p, value in zip(model.parameters, model.values):
        if p.law and value and not holds(p):
            seen = model.validity_range.get(p.owner, {})
            ends = np.array([seen.get(name, [0.0, 0.0]) for name in 'qva'])
            largest = float(np.abs(value * friction_column(p, *ends)).max())
            size = (
                'times the torque that its gear passes on'
                if LAWS[p.law].loaded
                else f'up to {largest:.3g} N m in the training data'
            )
            lines.append(f'{p.name} = {value:.6g} {p.unit} ({p.law} of {p.owner}, {size})')
    return lines


def _in_urdf(text: str, parameter: Parameter) -> bool:
    """Return whether <dynamics> of the parameter's joint holds what it means."""
    dynamics = xml.fromstring(text).find(f"joint[@name='{parameter.owner}']/dynamics")
    return dynamics is not None and LAWS[parameter.law].in_urdf in dynamics.keys()


def _comment(model: IdentifiedModel, lines: Sequence[str]) -> str:
    head = f'identified by ros_inertial_id, {model.provenance.get("created", "")}'
    held = ['not held by this file:', *lines] if lines else []
    text = '\n     '.join([head, *held]).replace('--', '- -')
    return f'<!-- {text} -->'


def identified_mjcf(robot: RobotModel, model: IdentifiedModel, covariance: np.ndarray) -> str:
    """
    Return the MJCF text of a tree robot with the standard parameters of a consistent model.

    covariance : (p, p) of them
    """
    from scipy.spatial.transform import Rotation  # takes long to import: when needed

    root = xml.Element('mujoco', model=robot.name)
    xml.SubElement(root, 'compiler', angle='radian', autolimits='true', inertiafromgeom='false')
    xml.SubElement(root, 'option', gravity=_numbers(robot.gravity_base), integrator='implicitfast')
    parents = {-1: xml.SubElement(root, 'worldbody')}
    first = bodies(model.parameters)
    terms, errors = joint_terms(model), joint_errors(model, covariance)
    for i, (joint, link) in enumerate(zip(robot.joint_names, robot.link_names)):
        quaternion = Rotation.from_matrix(robot.rotations[i]).as_quat()[[3, 0, 1, 2]]
        parents[i] = xml.SubElement(
            parents[robot.parents[i]],
            'body',
            name=link,
            pos=_numbers(robot.translations[i]),
            quat=_numbers(quaternion),
        )
        _inertial(parents[i], model.values[first[link] : first[link] + 10])
        # A spring that pushes away from its zero is what something else was taken for.
        terms[joint]['stiffness'] = max(0.0, terms[joint]['stiffness'])
        _joint(parents[i], robot, i, terms[joint], errors[joint])
    _add_servos(root, robot, servos(model, robot), delay_of(model))
    xml.indent(root)
    return xml.tostring(root, encoding='unicode') + '\n'


def joint_terms(model: IdentifiedModel) -> dict[str, dict[str, float]]:
    """
    Return {joint: {damping, friction, armature, stiffness: number}}, as pinocchio and MJCF have.

    A richer friction law is summed up as damping and friction over the speeds of the training.
    """
    return {joint: _terms(model, model.values, joint) for joint in model.robot['joints']}


def joint_errors(model: IdentifiedModel, covariance: np.ndarray) -> dict[str, dict[str, float]]:
    """Return the standard errors of ``joint_terms``; covariance : (p, p) of all parameters."""
    sd, out = np.sqrt(np.diag(covariance)), {}
    for joint in model.robot['joints']:
        own = [k for k, p in enumerate(model.parameters) if p.law and p.owner == joint]
        terms = [
            _terms(model, values, joint)
            for values in (model.values, *model.values + np.diag(sd)[own])
        ]
        found = np.array([list(x.values()) for x in terms])
        slopes = (found[1:] - found[0]).T / sd[own]
        out[joint] = dict(
            zip(
                terms[0],
                np.sqrt(
                    np.einsum('ij,jk,ik->i', slopes, covariance[np.ix_(own, own)], slopes)
                ).tolist(),
            )
        )
    return out


def _terms(model, values, joint):
    """Return one joint's terms of ``joint_terms``, at other ``values`` (p,) of the parameters."""
    out = dict.fromkeys((*JOINT_TERMS, 'stiffness'), 0.0)
    for p, x in zip(model.parameters, values):
        if p.law and p.owner == joint and not LAWS[p.law].brakes and LAWS[p.law].in_urdf:
            out[LAWS[p.law].in_urdf] = float(x)
    fastest = np.abs(model.validity_range.get(joint, {}).get('v', 1.0)).max()
    return {**out, **damping_and_friction(model.parameters, values, joint, float(fastest))}


def servos(model: IdentifiedModel, robot: RobotModel) -> dict[str, dict[str, float]]:
    """Return {joint: {stiffness, damping}} of a robot that follows commands; {} of others."""
    if not is_commanded(model.options.get('effort_kind', '')):
        return {}
    gains = [
        np.broadcast_to(model.options[name] or (0.0,), len(robot)).tolist()
        for name in ('stiffness', 'damping')
    ]
    return {
        joint: dict(zip(('stiffness', 'damping'), own))
        for joint, *own in zip(robot.joint_names, *gains)
    }


def delay_of(model: IdentifiedModel) -> float:
    """Return by how much commands take effect late [s]: efforts, made of them, are as early."""
    if not is_commanded(model.options.get('effort_kind', '')):
        return 0.0
    return max(0.0, -Summary.of(model.preprocessing[0]).time_offset)


def _inertial(body: xml.Element, pi: np.ndarray) -> None:
    """Give a body its standard parameters (10,), about the centre of mass as MJCF has them."""
    mass, centre, central = about_center(pi)
    xml.SubElement(
        body,
        'inertial',
        mass=_numbers([mass]),
        pos=_numbers(centre),
        fullinertia=_numbers([central[place] for place in PLACES]),
    )


def _joint(body, robot, i, terms, errors):
    """Give a body its joint, with the standard errors of its terms in a comment."""
    names = {'friction': 'frictionloss'}
    held = {names.get(name, name): value for name, value in terms.items() if value}
    if held:
        said = ', '.join(
            f'{names.get(name, name)} {errors[name]:.2g}' for name in terms if terms[name]
        )
        body.append(xml.Comment(f' standard errors: {said} '))
    extra = {name: _numbers([value]) for name, value in held.items()}
    if np.isfinite(robot.lower[i]) and np.isfinite(robot.upper[i]):
        extra['range'] = _numbers([robot.lower[i], robot.upper[i]])
    xml.SubElement(
        body,
        'joint',
        {
            'name': robot.joint_names[i],
            'type': 'slide' if robot.prismatic[i] else 'hinge',
            'axis': _numbers(robot.axes[i]),
            **extra,
        },
    )


def _add_servos(root, robot, gains, delay):
    """Add a position actuator per joint, whose command waits in MuJoCo's history."""
    if not gains:
        return
    late = (
        {
            'delay': _numbers([delay]),
            'interp': 'linear',
            'nsample': str(int(np.ceil(delay / SHORTEST_STEP)) + 1),
        }
        if delay
        else {}
    )
    actuators = xml.SubElement(root, 'actuator')
    for words in SERVO_WORDS[0 if late else 1 :]:
        actuators.append(xml.Comment(f' {words} '))
    for joint, limit in zip(robot.joint_names, robot.effort):
        force = {'forcerange': _numbers([-limit, limit])} if limit > 0 else {}
        xml.SubElement(
            actuators,
            'position',
            {
                'name': joint,
                'joint': joint,
                'kp': _numbers([gains[joint]['stiffness']]),
                'kv': _numbers([gains[joint]['damping']]),
                **force,
                **late,
            },
        )


def _numbers(values: Sequence[float] | np.ndarray) -> str:
    return ' '.join(repr(float(x)) for x in values)
