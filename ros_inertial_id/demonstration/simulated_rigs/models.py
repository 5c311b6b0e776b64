"""MuJoCo's models of simulated rigs: every link a body, sensors at a site, gravity along -z."""

from collections.abc import Sequence
from typing import Any
import xml.etree.ElementTree as ET

from ...simulation.rigid_bodies import _mujoco, bare

IMU_SENSORS = 'GYRO', 'ACCELEROMETER'


def spec_of(urdf: str) -> Any:
    """Return the MjSpec of a URDF text without shapes; fixed links are bodies of their own."""
    robot = bare(urdf)
    settings = ET.SubElement(robot, 'mujoco')
    ET.SubElement(settings, 'compiler', fusestatic='false', discardvisual='false')
    return _mujoco().MjSpec.from_string(ET.tostring(robot, encoding='unicode'))


def add_sensors(spec: Any, body: Any, site: str, kinds: Sequence[str]) -> None:
    """Add a ``site`` at the frame of a ``body`` and sensors there, of mjtSensor ``kinds``."""
    mujoco = _mujoco()
    body.add_site(name=site)
    for kind in kinds:
        spec.add_sensor(
            name=kind.lower(),
            type=getattr(mujoco.mjtSensor, f'mjSENS_{kind}'),
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            objname=site,
        )


def compiled(spec: Any, step: float) -> Any:
    """Return the MjModel of a ``spec``, in steps of ``step`` [s]; joints have no limits."""
    mujoco = _mujoco()
    model = spec.compile()
    model.opt.gravity[:] = 0.0, 0.0, -9.81
    model.opt.timestep = step
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
    return model


def compiled_on_ground(spec: Any, step: float, solref: Sequence[float], armature: float) -> Any:
    """
    Return the MjModel of a robot that touches the ground, as ``compiled`` does.

    step : [s]; solref : of all contacts; armature : of every joint but those of the base [kg m^2]
    """
    mujoco = _mujoco()
    model = compiled(spec, step)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.geom_solref[:] = solref
    hinges = model.jnt_type == int(mujoco.mjtJoint.mjJNT_HINGE)
    model.dof_armature[model.jnt_dofadr[hinges]] = armature
    return model
