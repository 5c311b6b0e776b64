"""
The description with what was identified in it: a URDF, MJCF, or what the method writes.

What a description cannot hold (offsets, springs, rotor inertias, friction that is no line) stands
in it as a comment, and is said to whoever writes it.  The MJCF has the kinematics and dynamics of
the model and no shapes; its world is the base frame, in which gravity points as the robot is
mounted.  The servos of a robot that was identified from its commands are position actuators, in
the MJCF and for Isaac Lab.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as xml

import numpy as np
import yaml

from .corrected_urdf import corrected_urdf, damping_and_friction
from .patched_mjcf import JointNumbers, patched_mjcf
from .targets import DAMPING, FRICTION, OFFSET, STIFFNESS, term_of, TERMS
from ..identified_model import IdentifiedModel, plain
from ...dynamics.friction import friction_column, JOINT_TERMS, LAWS
from ...dynamics.inertial_parameters import about_center, bodies, Parameter
from ...dynamics.pinocchio_model import pinocchio_model
from ...dynamics.robot_model import FloatingTree, RobotModel
from ...dynamics.tree_description import mjcf_source
from ...errors import ConfigError, EstimationError
from ...given_files import given_text
from ...measurement.joints.drives import is_commanded, is_limited
from ...measurement.summary import Summary
from ...methods import METHODS
from ...methods.capabilities import DescribesRobots

FULLINERTIA = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)  # rows and columns, as MJCF has them
SHORTEST_STEP = 5e-4  # [s] of a simulation in whose history the delay of the MJCF has room
# Time constant [s] and damping ratio of dry friction: MuJoCo's own, 20 ms, lets a joint creep; of
# steps beyond 2 ms it takes two.
STIFF_FRICTION = 0.004, 1.0
SERVO_GAINS = ('stiffness', 'damping')
WORLD = 'world'
MJCF_TERMS = {'friction': 'frictionloss'}  # of joint_terms: attribute of a joint, else its name
MJCF_KINDS = {False: 'hinge', True: 'slide'}  # of joints, if prismatic
ISAACLAB_TERMS = {  # field of an actuator: of joint_terms
    **{term: term for term in JOINT_TERMS if term != 'damping'},
    'dynamic_friction': 'friction',
    'viscous_friction': 'damping',
}
DELAY_WORDS = (
    'delay: MuJoCo 3.5 or later, steps of 0.5 ms or more; else hold ctrl back yourself, without '
    'delay, nsample and interp'
)
SUMMED_UP = 'held as the closest damping and friction'
FEEDFORWARD_WORDS = (
    'with velocities or feedforward: ctrl = q_command + (kv v_command + feedforward) / kp'
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
    tree = tree_on_base(robot)
    text = corrected_urdf(tree, model.parameters, model.values, model.validity_range)
    urdf = xml.fromstring(text)
    lines = _lines(model, lambda parameter: not _in_urdf(urdf, parameter))
    at = text.index('<robot')  # behind an XML declaration
    return f'{text[:at]}{comment(model, lines)}\n{text[at:]}', lines


def mjcf_of(
    model: IdentifiedModel, robot: Any, covariance: np.ndarray, lines: Sequence[str]
) -> str:
    """
    Return the MJCF of a consistent ``model`` of a ``robot``: that which it was read from, if any.

    covariance : (p, p) of the model's parameters; lines : of what it cannot hold, for a comment
    """
    tree = tree_on_base(robot)
    consistent_parameters(model)
    source = Path(mjcf_source(tree.urdf))
    if source.is_file():
        return _patched(source, tree, model)
    text = identified_mjcf(tree, model, covariance)
    return text.replace('>\n', f'>\n{comment(model, lines)}\n', 1)


def _patched(source: Path, robot: RobotModel, model: IdentifiedModel) -> str:
    """Return the text of the MJCF file ``source`` with the numbers of a ``model``."""
    first, terms = bodies(model.parameters), joint_terms(model)
    links = {link: model.values[k : k + 10] for link, k in first.items()}
    gains, joints = servos(model, robot), {}
    for joint in robot.joint_names:
        wanted = JointNumbers(mjcf_joint(terms[joint]), mjcf_bias(terms[joint]))
        if joint in gains:
            kp, kv = (gains[joint][name] for name in SERVO_GAINS)
            wanted = replace(wanted, gains=(kp, kv), history=_history(delay_of(model)))
        joints[joint] = wanted
    return patched_mjcf(given_text(source), source.parent, robot, links, joints)


def isaaclab_of(
    model: IdentifiedModel,
    robot: Any,
    covariance: np.ndarray,
    physics_dt: float,
    lines: Sequence[str],
) -> tuple[dict[str, Any], str]:
    """
    Return (the joints in the fields of Isaac Lab's actuators, the same as YAML).

    covariance : (p, p) of the model's parameters; physics_dt : [s] of the simulation
    lines : of what is not held
    """
    tree = tree_on_base(robot)
    if not physics_dt > 0.0:
        raise ConfigError('physics_dt', expected='above 0 s', found=physics_dt)
    delay = delay_of(model)
    steps = round(delay / physics_dt)
    joints = list(tree.joint_names)
    gains = servos(model, tree)
    terms, errors = joint_terms(model), joint_errors(model, covariance)
    actuators: dict[str, Any] = {'joint_names_expr': joints, **dict.fromkeys(SERVO_GAINS)}
    if gains:
        for gain in SERVO_GAINS:
            actuators[gain] = _column(gains, gain, joints)
    standard_errors = {}
    for field, term in ISAACLAB_TERMS.items():
        actuators[field] = _column(terms, term, joints)
        standard_errors[field] = _column(errors, term, joints)
    del standard_errors['dynamic_friction']  # one number with the static one
    actuators['effort_limit_sim'] = _limits(_effort_limits(model, tree), joints)
    actuators['velocity_limit_sim'] = _limits(tree.velocity, joints)
    out = plain(
        {
            'ImplicitActuatorCfg': actuators,
            'DelayedPDActuatorCfg': {'min_delay': steps, 'max_delay': steps},
            'delay': delay,
            'physics_dt': physics_dt,
            'standard_errors': standard_errors,
            'not_held': list(lines),
        }
    )
    return out, ISAACLAB + yaml.safe_dump(out, sort_keys=False, width=98)


def _column(table, name, joints):
    """Return {joint: number} of a {joint: {name: number}}."""
    return {joint: table[joint][name] for joint in joints}


def _limits(limits, joints):
    """Return {joint: limit} of those that have one, None where none has."""
    described = {}
    for joint, limit in zip(joints, limits):
        if 0.0 < limit < np.inf:
            described[joint] = float(limit)
    return described or None


def pinocchio_of(model: IdentifiedModel, robot: Any) -> Any:
    """Return the pinocchio.Model of a consistent ``model`` of a ``robot``, with joint terms."""
    tree = tree_of(robot)
    first, terms = bodies(model.parameters), joint_terms(model)
    begins = np.array([first[link] for link in tree.link_names])
    inertias = model.values[begins[:, None] + np.arange(10)]
    attributes = {}
    for name in JOINT_TERMS:
        attributes[name] = np.array([terms[joint][name] for joint in tree.joint_names])
    return pinocchio_model(tree, inertias, **attributes)


def tree_of(robot: Any) -> RobotModel:
    """Return the RobotModel of a robot on a base that is held; EstimationError for others."""
    if isinstance(robot, FloatingTree):
        raise EstimationError(
            'a base that moves', expected='a robot whose base is held', do='write a URDF or MJCF'
        )
    if not isinstance(robot, RobotModel):
        raise EstimationError(
            'no description of a tree',
            found='a mechanism with loops or a rig',
            expected='a robot that is a tree',
        )
    return robot


def tree_on_base(robot: Any) -> RobotModel:
    """Return the RobotModel of a robot whose base is held or moves; EstimationError for others."""
    if isinstance(robot, FloatingTree):
        return robot.tree
    return tree_of(robot)


def consistent_parameters(model: IdentifiedModel) -> dict[str, list[float]]:
    """Return {link: ten parameters} of a consistent ``model``; EstimationError for another."""
    links = model.statistics.get('consistent', {}).get('links')
    if links is None:
        raise EstimationError(
            'the model has no physically consistent parameters', do='identify with --consistent'
        )
    return links


def not_held(
    model: IdentifiedModel, terms: Collection[str], held: IdentifiedModel | None = None
) -> list[str]:
    """
    Return one line per term of a joint that who holds ``terms`` does not, with its torque.

    held : ``model`` identified again for these terms, None of one that is written as it is
    Friction of any law is held by who holds damping and friction.
    """
    friction_is_held = {DAMPING, FRICTION}.issubset(terms)
    again = set()
    if held is not None:
        again = {(term_of(p), p.owner) for p in held.parameters if p.law}

    def is_missing(parameter: Parameter) -> bool:
        if friction_is_held and LAWS[parameter.law].brakes:
            return False
        term = term_of(parameter)
        if held is None:
            return term not in terms
        return (term, parameter.owner) not in again

    return _lines(model, is_missing)


def _lines(model: IdentifiedModel, is_missing: Callable[[Parameter], bool]) -> list[str]:
    """Return one line per joint term of a ``model`` that is missing in its description."""
    lines = []
    for p, value in zip(model.parameters, model.values):
        if p.law and value and is_missing(p):
            torque = SUMMED_UP
            if not LAWS[p.law].brakes:
                torque = _torque_in_words(p, value, model.validity_range.get(p.owner, {}))
            lines.append(f'{p.name} = {value:.6g} {p.unit} ({p.law} of {p.owner}, {torque})')
    return lines


def _torque_in_words(parameter, value, joint_range):
    """Return the largest torque of a joint's term in the training data, in words."""
    if LAWS[parameter.law].loaded:
        return 'times the torque that its gear passes on'
    q, v, a = (np.array(joint_range.get(name, [0.0, 0.0])) for name in 'qva')
    largest = float(np.abs(value * friction_column(parameter, q, v, a)).max())
    return f'up to {largest:.3g} N m in the training data'


def _in_urdf(urdf: xml.Element, parameter: Parameter) -> bool:
    """Return whether <dynamics> of the parameter's joint holds what it means."""
    dynamics = urdf.find(f"joint[@name='{parameter.owner}']/dynamics")
    return dynamics is not None and term_of(parameter) in dynamics.keys()


def comment(model: IdentifiedModel, lines: Sequence[str]) -> str:
    """Return an XML comment on a ``model``, with ``lines`` of what a file does not hold."""
    text = '\n     '.join(comment_words(model, lines)).replace('--', '- -')
    return f'<!-- {text} -->'


def comment_words(model: IdentifiedModel, lines: Sequence[str]) -> list[str]:
    """Return the lines of a comment on a ``model``, with ``lines`` of what is not held."""
    words = [f'identified by ros_inertial_id, {model.provenance.get("created", "")}']
    if lines:
        words += ['not held by this file:', *lines]
    return words


def identified_mjcf(robot: RobotModel, model: IdentifiedModel, covariance: np.ndarray) -> str:
    """
    Return the MJCF text of a tree robot with the standard parameters of a consistent model.

    covariance : (p, p) of them
    """
    from scipy.spatial.transform import Rotation  # takes long to import: when needed

    root = xml.Element('mujoco', model=robot.name)
    xml.SubElement(root, 'compiler', angle='radian', autolimits='true')
    xml.SubElement(root, 'option', gravity=_numbers(robot.gravity_base), integrator='implicitfast')
    first = bodies(model.parameters)
    world = xml.SubElement(root, 'worldbody')
    parents = {-1: world}
    if robot.base_link in first:
        parents[-1] = _flying_base(world, robot, model.values[first[robot.base_link] :][:10])
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
        # A spring that pushes away from its zero is another effect, mistaken for one.
        terms[joint]['stiffness'] = max(0.0, terms[joint]['stiffness'])
        _joint(parents[i], robot, i, terms[joint], errors[joint])
    _add_actuators(root, robot, model)
    xml.indent(root)
    return xml.tostring(root, encoding='unicode') + '\n'


def _flying_base(world: xml.Element, robot: RobotModel, pi: np.ndarray) -> xml.Element:
    """Put the base with its standard parameters (10,) into the ``world``; return its element."""
    name = robot.base_link
    if name == WORLD:  # which another one cannot be called in MJCF
        name = f'{robot.name}_base'
    base = xml.SubElement(world, 'body', name=name)
    xml.SubElement(base, 'freejoint')
    _inertial(base, pi)
    return base


def joint_terms(model: IdentifiedModel) -> dict[str, dict[str, float]]:
    """
    Return {joint: {term: number}} of TERMS, as pinocchio and MJCF have them.

    A richer friction law is summed up as damping and friction over the speeds of the training.
    """
    return {joint: _terms(model, model.values, joint) for joint in model.robot['joints']}


def joint_errors(model: IdentifiedModel, covariance: np.ndarray) -> dict[str, dict[str, float]]:
    """Return the standard errors of ``joint_terms``; covariance : (p, p) of all parameters."""
    sd, out = np.sqrt(np.diag(covariance)), {}
    for joint in model.robot['joints']:
        columns = [k for k, p in enumerate(model.parameters) if p.law and p.owner == joint]
        terms = _terms(model, model.values, joint)
        changes = np.zeros((len(columns), len(terms)))
        for change, k in zip(changes, columns):
            values = model.values.copy()
            values[k] += sd[k]
            change[:] = list(_terms(model, values, joint).values())
            change -= list(terms.values())
        slopes = changes.T / sd[columns]
        joint_covariance = covariance[np.ix_(columns, columns)]
        variances = np.einsum('ij,jk,ik->i', slopes, joint_covariance, slopes)
        out[joint] = dict(zip(terms, np.sqrt(variances).tolist()))
    return out


def _terms(model, values, joint):
    """Return one joint's terms of ``joint_terms``, at other ``values`` (p,) of the parameters."""
    out = dict.fromkeys(TERMS, 0.0)
    for p, x in zip(model.parameters, values):
        term = term_of(p)
        if p.owner == joint and term and not LAWS[p.law].brakes:
            out[term] = float(x)
    fastest = np.abs(model.validity_range.get(joint, {}).get('v', 1.0)).max()
    return {**out, **damping_and_friction(model.parameters, values, joint, float(fastest))}


def servos(model: IdentifiedModel, robot: RobotModel) -> dict[str, dict[str, float]]:
    """Return {joint: {stiffness, damping}} of a robot that follows commands; {} of others."""
    if not is_commanded(model.options.get('effort_kind', '')):
        return {}
    gains: dict[str, dict[str, float]] = {joint: {} for joint in robot.joint_names}
    for name in SERVO_GAINS:
        values = np.broadcast_to(model.options[name] or (0.0,), len(robot)).tolist()
        for joint, value in zip(robot.joint_names, values):
            gains[joint][name] = value
    return gains


def _effort_limits(model: IdentifiedModel, robot: RobotModel) -> np.ndarray:
    """Return the limits of the actuators (n,) [N m, N], 0 where the efforts know none."""
    options = model.options
    if is_limited(options.get('effort_kind', ''), options.get('damping', ())):
        return robot.effort
    return np.zeros(len(robot))


def delay_of(model: IdentifiedModel) -> float:
    """Return the delay of the effect of commands [s]: efforts, made of them, are as early."""
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
        fullinertia=_numbers(central[FULLINERTIA]),
    )


def _joint(body, robot, i, terms, errors):
    """Give a body its joint, with the standard errors of its terms in a comment."""
    kind = MJCF_KINDS[bool(robot.prismatic[i])]
    attributes = {'name': robot.joint_names[i], 'type': kind, 'axis': _numbers(robot.axes[i])}
    sizes = []
    for term, value in terms.items():
        if value:
            sizes.append(f'{MJCF_TERMS.get(term, term)} {errors[term]:.2g}')
    for attribute, value in mjcf_joint(terms).items():
        if value:
            attributes[attribute] = _numbers([value])
    if 'frictionloss' in attributes:
        attributes['solreffriction'] = _numbers(STIFF_FRICTION)
    if sizes:
        body.append(xml.Comment(f' standard errors: {", ".join(sizes)} '))
    limits = [robot.lower[i], robot.upper[i]]
    if np.isfinite(limits).all():
        attributes['range'] = _numbers(limits)
    xml.SubElement(body, 'joint', attributes)


def mjcf_joint(terms: Mapping[str, float]) -> dict[str, float]:
    """
    Return {attribute of a joint of MJCF: number} of joint ``terms``, see ``joint_terms``.

    A spring holds the constant torque in its reference; one that pushes away from its zero is no
    joint's in MJCF, and stands in the actuator as a constant torque without a spring does.
    """
    out = {MJCF_TERMS.get(term, term): terms[term] for term in JOINT_TERMS}
    if terms[STIFFNESS] > 0.0:
        out['stiffness'] = terms[STIFFNESS]
        out['springref'] = -terms[OFFSET] / terms[STIFFNESS]
    else:
        out['stiffness'] = out['springref'] = 0.0
    return out


def mjcf_bias(terms: Mapping[str, float]) -> tuple[float, float]:
    """
    Return what an actuator adds to its force, as no joint holds these ``terms``.

    A constant [N m], and times the position [N m/rad].
    """
    if terms[STIFFNESS] > 0.0:
        return 0.0, 0.0
    return 0.0 - terms[OFFSET], 0.0 - terms[STIFFNESS]


def _add_actuators(root, robot, model):
    """
    Add an actuator per joint of a servo, or where one holds a torque that no joint does.

    That of a servo is of the kind position, whose command waits in MuJoCo's history; those of
    others are motors.
    """
    terms, gains = joint_terms(model), servos(model, robot)
    biases = {joint: mjcf_bias(terms[joint]) for joint in robot.joint_names}
    if not gains and not any(map(any, biases.values())):
        return
    actuators = xml.SubElement(root, 'actuator')
    history = _history(delay_of(model))
    if history:
        actuators.append(xml.Comment(f' {DELAY_WORDS} '))
    if gains:
        actuators.append(xml.Comment(f' {FEEDFORWARD_WORDS} '))
    for joint, limit in zip(robot.joint_names, _effort_limits(model, robot)):
        tag, force = _force_law(gains.get(joint), biases[joint])
        attributes = {'name': joint, 'joint': joint, **force}
        if limit > 0:
            attributes['forcerange'] = _numbers([-limit, limit])
        xml.SubElement(actuators, tag, {**attributes, **history})


def _history(delay):
    """Return the attributes of an actuator whose commands wait a ``delay`` [s], {} for none."""
    if not delay:
        return {}
    samples = int(np.ceil(delay / SHORTEST_STEP)) + 1
    return {'delay': _numbers([delay]), 'interp': 'linear', 'nsample': str(samples)}


def _force_law(gains, bias):
    """Return tag and attributes of an actuator with ``gains`` (none: a motor) and a ``bias``."""
    if gains is None:
        kp = kv = 0.0
        tag, attributes = 'motor', {}
    else:
        kp, kv = gains['stiffness'], gains['damping']
        tag, attributes = 'position', {'kp': _numbers([kp]), 'kv': _numbers([kv])}
    if not any(bias):
        return tag, attributes
    constant, slope = bias
    return 'general', {
        'gainprm': _numbers([1.0 if gains is None else kp]),
        'biastype': 'affine',
        'biasprm': _numbers([constant, slope - kp, -kv]),
    }


def _numbers(values: Sequence[float] | np.ndarray) -> str:
    return ' '.join(map(repr, np.asarray(values, dtype=float).tolist()))
