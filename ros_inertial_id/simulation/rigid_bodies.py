"""
The rigid bodies of a robot description in MuJoCo: torque to acceleration and back.

What MuJoCo's URDF reader would do that is not in the description is kept out:
collision shapes of links without an inertial become mass (1000 kg/m^3), meshes are opened, and
``<dynamics>`` becomes its own damping and dry friction.  So shapes and ``<dynamics>`` never
reach it; joint stops and contacts are off.  Fixed links are fused with their inertials, and the
root link stands still, so the world frame is the base frame.
"""

from typing import Any
import xml.etree.ElementTree as ET

import numpy as np

from ..errors import InertialIdError, RobotModelError


class RigidBodies:
    """
    The movable joints ``joint_names`` of a URDF text; all other joints are fixed at zero.

    gravity_base : (3,) gravitational acceleration in the base frame [m/s^2]
    armature : rotor inertia added to every joint, link side [kg m^2 or kg]
    model, data : MuJoCo's; dof : indices of the joints in them
    Vectors are (n,) in the order of ``joint_names``.  Raises RobotModelError when MuJoCo
    cannot read the description, InertialIdError when MuJoCo is not installed.
    """

    def __init__(self, urdf, joint_names, gravity_base, armature=0.0):
        self._mujoco = mujoco = _mujoco()
        try:
            self.model = mujoco.MjModel.from_xml_string(_bodies_only(urdf, joint_names))
        except ValueError as error:
            raise RobotModelError(
                'MuJoCo cannot simulate the robot description', found=' '.join(str(error).split())
            ) from error
        self.model.opt.gravity[:] = gravity_base
        disable = mujoco.mjtDisableBit
        self.model.opt.disableflags |= int(disable.mjDSBL_CONSTRAINT | disable.mjDSBL_CONTACT)
        self.model.dof_armature[:] = armature
        self.data = data = mujoco.MjData(self.model)
        self.dof = [int(self.model.joint(name).dofadr[0]) for name in joint_names]
        self._order: Any = np.array(self.dof)
        if self.dof == list(range(self.model.nv)):
            self._order = slice(None)  # faster
        # Views: looking an array up in MjData costs as much as filling it.
        self._q, self._v, self._a = data.qpos, data.qvel, data.qacc
        self._applied, self._inverse = data.qfrc_applied, data.qfrc_inverse

    def inverse(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the joint torques (n,) [N m or N] of the motion (q, v, a)."""
        order = self._order
        self._q[order], self._v[order], self._a[order] = q, v, a
        self._mujoco.mj_inverse(self.model, self.data)
        return self._inverse[order].copy()

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the joint-space inertia matrix (n, n) at q (n,)."""
        still = self.inverse(q, 0 * q, 0 * q)
        return np.array([self.inverse(q, 0 * q, row) - still for row in np.eye(len(q))])

    def accelerate(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the accelerations (n,) [rad/s^2 or m/s^2] at q, v (n,) under torques tau (n,)."""
        order = self._order
        self._q[order], self._v[order], self._applied[order] = q, v, tau
        self._mujoco.mj_forward(self.model, self.data)
        return self._a[order].copy()


def ten_parameters(mass: float, center: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """Return the ten parameters (10,) about the origin: mass, center (3,), inertia (3, 3)."""
    about_origin = inertia + mass * (center @ center * np.eye(3) - np.outer(center, center))
    return np.concatenate(
        [[mass], mass * center, about_origin[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]
    )


def _mujoco():
    try:
        import mujoco
    except ImportError as error:
        raise InertialIdError(
            'the simulated robot needs MuJoCo, which is not installed', do='pip install mujoco'
        ) from error
    return mujoco


def bare(urdf: str) -> ET.Element:
    """Return the root of a ``urdf`` text without shapes, dynamics and mimics."""
    robot = ET.fromstring(urdf)
    for link in robot.iter('link'):
        _remove(link, 'visual', 'collision')
    for joint in robot.findall('joint'):
        _remove(joint, 'dynamics', 'mimic')
    return robot


def _remove(element, *tags):
    """Remove what an element has of these tags."""
    for child in [child for child in element if child.tag in tags]:
        element.remove(child)


def _bodies_only(urdf, joint_names):
    robot = bare(urdf)
    for joint in robot.findall('joint'):
        if joint.get('name') not in joint_names:
            joint.set('type', 'fixed')
    return ET.tostring(robot, encoding='unicode')
