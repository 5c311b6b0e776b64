"""
The identified robot as MJCF, MuJoCo's description: bodies, joints, rotors, friction, springs.

It has the kinematics and dynamics of the model and no shapes; the world is the base frame, in
which gravity points as the robot is mounted.
"""

from collections.abc import Sequence
from xml.etree import ElementTree as xml

import numpy as np
from scipy.spatial.transform import Rotation

from ...dynamics.inertial_parameters import about_center, bodies, Parameter
from ...dynamics.robot_model import RobotModel
from ...estimation.corrected_urdf import damping_and_friction

PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # of MJCF's fullinertia
HELD = ('viscous', 'coulomb', 'armature', 'spring')  # laws that a joint of MJCF can have


def identified_mjcf(robot: RobotModel, parameters: Sequence[Parameter], values: np.ndarray,
                    speeds: dict[str, float]) -> str:
    """
    Return the MJCF text of a tree robot with the standard parameters of a model.

    parameters, values : (p,) of the model, physically consistent
    speeds : {joint: largest speed seen [rad/s]} up to which a richer friction law is summed up
        as damping and friction loss
    """
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
        own = {p.law: float(x) for p, x in zip(parameters, values) if p.owner == joint}
        terms = {**damping_and_friction(parameters, values, joint, speeds.get(joint, 1.0)),
                 'armature': own.get('armature', 0.0)}
        _joint(parents[i], robot, i, {**terms, 'stiffness': own.get('spring', 0.0)})
    xml.indent(root)
    return xml.tostring(root, encoding='unicode') + '\n'


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
