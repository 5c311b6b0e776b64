"""
What the simulated robot really is: near its description, but not the same.

The inertials of the description are the nominal guess that an identification starts from.  The
truth moves, turns and stretches the mass of every link at random: the affine map x -> (1 + E) x
+ t of its mass distribution and a scale s of its density,

    m' = s m,   c' = c + t,   Sigma' = s (1 + E) Sigma (1 + E)^T,   I' = tr(Sigma') 1 - Sigma'

with Sigma the second moments of mass about the centre of mass.  A mass distribution stays one,
so the truth is physically consistent whenever the description is (Wensing, Kim and Slotine,
Linear matrix inequalities for physically consistent inertial parameter identification, 2018).
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
import xml.etree.ElementTree as ET

import numpy as np
from scipy.spatial.transform import Rotation

from ..errors import RobotModelError

MOVABLE = ('revolute', 'continuous', 'prismatic')
TENSOR = (('ixx', 0, 0), ('ixy', 0, 1), ('ixz', 0, 2), ('iyy', 1, 1), ('iyz', 1, 2), ('izz', 2, 2))


@dataclass(frozen=True)
class JointLimits:
    """Limits of n joints: lower, upper [rad or m], effort [N m or N], velocity [rad/s, m/s]."""

    lower: np.ndarray
    upper: np.ndarray
    effort: np.ndarray
    velocity: np.ndarray

    def reach(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (lower, upper) with one turn, -pi to pi, for a joint without end stops."""
        free = np.isinf(self.lower)
        return np.where(free, -np.pi, self.lower), np.where(free, np.pi, self.upper)


@dataclass(frozen=True)
class JointFriction:
    """
    Friction torque ``viscous v + coulomb tanh(v / velocity_scale)`` of n joints.

    viscous : (n,) [N m s/rad or N s/m];  coulomb : (n,) [N m or N]
    velocity_scale : speed at which Coulomb friction has set in [rad/s or m/s]; tanh(100 v) as
        in Eq. 2 of Troebinger et al., generalized base inertial parameter set
    """

    viscous: np.ndarray
    coulomb: np.ndarray
    velocity_scale: float = 0.01

    law = 'tau = viscous * v + coulomb * tanh(v / velocity_scale)'

    def torque(self, v: np.ndarray) -> np.ndarray:
        """Return the torque, (..., n), that the motors need against friction at speeds v."""
        return self.viscous * v + self.coulomb * np.tanh(v / self.velocity_scale)


def parse(urdf: str) -> ET.Element:
    """Return the root element of a ``urdf`` text; RobotModelError if it is none."""
    try:
        robot = ET.fromstring(urdf)
    except ET.ParseError as error:
        raise RobotModelError('the robot description is not XML', found=error) from error
    if robot.tag != 'robot':
        raise RobotModelError('the robot description', expected='<robot>', found=f'<{robot.tag}>')
    return robot


def movable_joints(robot: ET.Element) -> tuple[str, ...]:
    """Return the names of the joints that a motor moves, in the order of ``robot``'s elements."""
    return tuple(
        joint.get('name', '')
        for joint in robot.findall('joint')
        if joint.get('type') in MOVABLE and joint.find('mimic') is None
    )


def joint_limits(robot: ET.Element, joint_names: Sequence[str]) -> JointLimits:
    """Return the JointLimits of ``joint_names`` (n,); RobotModelError names what is missing."""
    if not joint_names:
        raise RobotModelError('the robot description has no movable joint')
    joints = {joint.get('name'): joint for joint in robot.findall('joint')}
    return JointLimits(*np.array([_limits_of(joints[name]) for name in joint_names]).T)


def _limits_of(joint):
    """Return lower, upper, effort and velocity (4,) of a joint's element."""
    limit = joint.find('limit')
    given = {}
    if limit is not None:
        given = dict(limit.attrib)
    if joint.get('type') == 'continuous':
        given.update(lower='-inf', upper='inf')
    lower, upper, effort, velocity = (
        _number(given.get(key, '0')) for key in ('lower', 'upper', 'effort', 'velocity')
    )
    if not (lower < upper and effort > 0 and velocity > 0):
        raise RobotModelError(
            f'limits of joint {joint.get("name")!r} of the robot description',
            expected='lower < upper, effort > 0, velocity > 0',
            found=given or 'no <limit>',
        )
    return lower, upper, effort, velocity


def perturbed_urdf(
    robot: ET.Element,
    rng: np.random.Generator,
    mass_change: float,
    center_shift: float,
    shape_change: float,
) -> str:
    """
    Return the description as text with other inertials.

    mass_change : relative change of each mass, at most
    center_shift : of each centre of mass along each axis, at most, in radii of gyration
    shape_change : stretch and shear of each mass distribution, at most
    """
    robot = deepcopy(robot)
    for link in robot.findall('link[inertial]'):
        inertial = link.find('inertial')
        mass, center, axes, moments = _read_inertial(link.get('name'), inertial)
        scale = 1 + mass_change * rng.uniform(-1, 1)
        stretch = np.eye(3) + shape_change * rng.uniform(-1, 1, (3, 3))
        radius = np.sqrt(np.trace(moments) / mass)  # [m]
        shift = center_shift * radius * rng.uniform(-1, 1, 3)
        _write_inertial(
            inertial, scale * mass, center + axes @ shift, scale * stretch @ moments @ stretch.T
        )
    return ET.tostring(robot, encoding='unicode')


def random_friction(
    limits: JointLimits, rng: np.random.Generator, factor: float = 1.0
) -> JointFriction:
    """
    Return ``factor`` times a friction that good drives have.

    Coulomb 0.5 to 1.5 % of the effort limit, viscous 1 to 3 % of it at full speed.
    """
    n = len(limits.effort)
    return JointFriction(
        factor * rng.uniform(0.01, 0.03, n) * limits.effort / limits.velocity,
        factor * rng.uniform(0.005, 0.015, n) * limits.effort,
    )


def _read_inertial(link, inertial):
    """
    Return mass [kg], centre (3,) [m], axes (3, 3) and second moments (3, 3) [kg m^2].

    The moments are about the centre and along the axes, columns in the link frame.
    """
    given = {child.tag: child.attrib for child in inertial}
    tensor, origin = given.get('inertia', {}), given.get('origin', {})
    inertia = np.zeros((3, 3))
    for name, row, column in TENSOR:
        inertia[row, column] = inertia[column, row] = _number(tensor.get(name, '0'))
    mass = _number(given.get('mass', {}).get('value', '0'))
    center, rpy = _numbers(origin, 'xyz'), _numbers(origin, 'rpy')
    if 'quat_xyzw' in origin and 'rpy' not in origin:
        rpy = Rotation.from_quat(_numbers(origin, 'quat_xyzw')).as_euler('xyz')
    moments = np.trace(inertia) / 2 * np.eye(3) - inertia
    if not _is_body(mass, np.hstack([center, rpy]), moments):
        raise RobotModelError(
            f'inertial of link {link!r}',
            found='none that a body can have',
            expected='mass > 0 and principal inertias with each < the sum of the others',
        )
    return mass, center, Rotation.from_euler('xyz', rpy).as_matrix(), moments


def _is_body(mass, pose, moments):
    """Return whether a body can have this mass, origin (6,) and second moments (3, 3)."""
    if len(pose) != 6:
        return False
    if not np.isfinite(np.hstack([mass, pose, moments.ravel()])).all():
        return False
    return mass > 0 and np.linalg.eigvalsh(moments)[0] > 0


def _write_inertial(inertial, mass, center, moments):
    origin, tensor = inertial.find('origin'), inertial.find('inertia')
    if origin is None:
        origin = ET.SubElement(inertial, 'origin', rpy='0 0 0')
    inertial.find('mass').set('value', repr(float(mass)))
    origin.set('xyz', ' '.join(map(repr, center.tolist())))
    inertia = np.trace(moments) * np.eye(3) - moments
    for name, row, column in TENSOR:
        tensor.set(name, repr(float(inertia[row, column])))


def _numbers(attributes, name):
    """Return the numbers (k,) in an attribute, three zeros where it is absent."""
    return np.array([_number(text) for text in attributes.get(name, '0 0 0').split()])


def _number(text):
    """Return the float in ``text``, NaN where there is none; NaN fails every check above."""
    try:
        return float(text)
    except ValueError:
        return np.nan
