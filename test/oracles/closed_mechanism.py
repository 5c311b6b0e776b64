"""
A closed mechanism in MuJoCo: the tree of a URDF and its loops as equality constraints.

The closures are read here anew, in MuJoCo's own terms (sites that are connected or welded, joints
that are coupled), so an identification that agrees does not agree with itself.
"""

import xml.etree.ElementTree as ET

import numpy as np

from ros_inertial_id.simulation.rigid_bodies import _mujoco, bare

DRY_WIDTH = 1e-3  # [m/s or rad/s] over which simulated dry friction changes sign
STIFF = (-1e7, -4e3)  # solref: stiffness [1/s^2] and damping [1/s] of closures, step 1e-4 s
HARD = (0.9999, 0.9999, 0.001, 0.5, 2.0)  # solimp: hardly anything yields


class ClosedMechanism:
    """
    The movable joints of a URDF text with ``closures`` (words as in the method's options).

    Every link, also a fixed one, is a body of its name with a site of its name.
    step : of the simulation [s]; gravity is (0, 0, -9.81) m/s^2 in the base frame
    forces : spring, damping, dry {joint: stiffness, viscous or Coulomb coefficient}, and
        rest {joint: relaxed position of its spring}
    """

    def __init__(self, urdf, closures, step=1e-4, **forces):
        self._mujoco = mujoco = _mujoco()
        spec = mujoco.MjSpec.from_string(_bare(urdf))
        for body in spec.bodies:
            body.add_site(name=body.name)
        for text in closures:
            _add_closure(mujoco, spec, text)
        self.model = model = spec.compile()
        model.opt.gravity[:] = 0.0, 0.0, -9.81
        model.opt.timestep = step
        model.opt.disableflags |= int(
            mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
        )
        model.opt.tolerance, model.opt.iterations = 1e-14, 50
        self.data = mujoco.MjData(model)
        self.joint_names = tuple(model.joint(i).name for i in range(model.njnt))
        dry = forces.pop('dry', {})
        targets = {
            'damping': model.dof_damping,
            'spring': model.jnt_stiffness,
            'rest': model.qpos_spring,
        }
        for kind, values in forces.items():
            for name, value in values.items():
                targets[kind][self.joint_names.index(name)] = value
        self._dry = {self.joint_names.index(n): f for n, f in dry.items()}

    def place(self, positions):
        """Put the joints at ``positions`` {joint: [rad or m]} (assembled, at rest)."""
        self._mujoco.mj_resetData(self.model, self.data)
        for name, value in positions.items():
            self.data.qpos[self.joint_names.index(name)] = value
        self._mujoco.mj_forward(self.model, self.data)

    def apply(self, torque):
        """
        Apply ``torque`` {joint index: [N m]} and compute poses and accelerations of this instant.

        Dry friction is added against the motion.
        """
        data = self.data
        data.qfrc_applied[:] = 0.0
        for index, value in torque.items():
            data.qfrc_applied[index] += value
        for index, force in self._dry.items():
            data.qfrc_applied[index] -= force * np.tanh(data.qvel[index] / DRY_WIDTH)
        self._mujoco.mj_forward(self.model, data)

    def step(self):
        """Move on by one time step under what is applied (call ``apply`` before)."""
        self._mujoco.mj_step2(self.model, self.data)


def _bare(urdf):
    """Return the URDF without shapes and dynamics, every link kept as a body."""
    robot = bare(urdf)
    for joint in robot.findall('joint'):
        for extra in joint.findall('safety_controller'):
            joint.remove(extra)
    settings = ET.SubElement(robot, 'mujoco')
    ET.SubElement(settings, 'compiler', fusestatic='false', discardvisual='false')
    return ET.tostring(robot, encoding='unicode')


def _add_closure(mujoco, spec, text):
    kind, first, second, *numbers = text.split()
    equality = spec.add_equality()
    if kind == 'coupling':
        ratio, offset = ([float(x) for x in numbers] + [0.0])[:2]
        equality.type = mujoco.mjtEq.mjEQ_JOINT
        equality.data[:5] = [offset, ratio, 0.0, 0.0, 0.0]
    else:
        equality.type = mujoco.mjtEq.mjEQ_WELD if kind == 'weld' else mujoco.mjtEq.mjEQ_CONNECT
        equality.objtype = mujoco.mjtObj.mjOBJ_SITE
    equality.name1, equality.name2 = first, second
    equality.solref[:], equality.solimp[:] = STIFF, HARD
