"""
The rigid bodies of a robot description in MuJoCo: torque to acceleration and back.

What MuJoCo's URDF reader would do that is not in the description is kept out:
collision shapes of links without an inertial become mass (1000 kg/m^3), meshes are opened, and
``<dynamics>`` becomes its own damping and dry friction.  So shapes and ``<dynamics>`` never
reach it; joint stops and contacts are off.  Fixed links are fused with their inertials, and the
root link stands still, so the world frame is the base frame.
"""

import xml.etree.ElementTree as ET

import numpy as np

from ..errors import InertialIdError, RobotModelError

LOCKED = 1e9  # [kg m^2 or kg] inertia that no motor moves


class RigidBodies:
    """
    The movable joints ``joint_names`` of a URDF text; all other joints are fixed at zero.

    gravity_base : (3,) gravitational acceleration in the base frame [m/s^2]
    armature : rotor inertia added to every joint, link side [kg m^2 or kg]
    Vectors are (n,) in the order of ``joint_names``.  Raises RobotModelError when MuJoCo
    cannot read the description, InertialIdError when MuJoCo is not installed.
    """

    def __init__(self, urdf, joint_names, gravity_base, armature=0.0):
        self._mujoco = mujoco = _mujoco()
        try:
            self.model = mujoco.MjModel.from_xml_string(_bodies_only(urdf, joint_names))
        except ValueError as error:
            raise RobotModelError('MuJoCo cannot simulate the robot description',
                                  found=' '.join(str(error).split())) from error
        self.model.opt.gravity[:] = gravity_base
        disable = mujoco.mjtDisableBit
        self.model.opt.disableflags |= int(disable.mjDSBL_CONSTRAINT | disable.mjDSBL_CONTACT)
        self.model.dof_armature[:] = self._armature = armature
        self.data = mujoco.MjData(self.model)
        self.dof = np.array([self.model.joint(name).dofadr[0] for name in joint_names])

    def inverse(self, q, v, a):
        """Return the joint torques (n,) [N m or N] of the motion (q, v, a)."""
        data, dof = self.data, self.dof
        data.qpos[dof], data.qvel[dof], data.qacc[dof] = q, v, a
        self._mujoco.mj_inverse(self.model, data)
        return data.qfrc_inverse[dof]

    def accelerate(self, q, v, tau):
        """Return the joint accelerations (n,) [rad/s^2 or m/s^2] under the torques tau."""
        data, dof = self.data, self.dof
        data.qpos[dof], data.qvel[dof], data.qfrc_applied[dof] = q, v, tau
        self._mujoco.mj_forward(self.model, data)
        return data.qacc[dof]

    def inertia(self, q):
        """Return the joint space inertia matrix (n, n) at q."""
        zero = np.zeros(len(q))
        rest = self.inverse(q, zero, zero)
        return np.array([self.inverse(q, zero, unit) - rest for unit in np.eye(len(q))])

    def lock(self, joint):
        """Make the joint of this index immovable, None: none."""
        self.model.dof_armature[:] = self._armature
        if joint is not None:
            self.model.dof_armature[self.dof[joint]] = LOCKED


def _mujoco():
    try:
        import mujoco
    except ImportError as error:
        raise InertialIdError('the simulated robot needs MuJoCo, which is not installed',
                              do='pip install mujoco') from error
    return mujoco


def _bodies_only(urdf, joint_names):
    robot = ET.fromstring(urdf)
    for link in robot.iter('link'):
        for shape in link.findall('visual') + link.findall('collision'):
            link.remove(shape)
    for joint in robot.findall('joint'):
        for extra in joint.findall('dynamics') + joint.findall('mimic'):
            joint.remove(extra)
        if joint.get('name') not in joint_names:
            joint.set('type', 'fixed')
    return ET.tostring(robot, encoding='unicode')
