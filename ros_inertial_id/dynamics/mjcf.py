"""
MJCF: the description of a mechanism for MuJoCo, read by MuJoCo's own parser.

Bodies and joints become a tree, ``<equality>`` its closures, actuators the joints with a measured
torque.  Stiffness, damping, friction loss and armature become springs and friction laws, each with
the value that stands there as its prior, as uncertain as it is large.
"""

from pathlib import Path
from typing import Any

from .mjcf_options import closures, coordinates, forces
from .mjcf_tree import driven, MjcfTree
from ..errors import ConfigError, RobotModelError


def mjcf_description(path: str | Path) -> str:
    """
    Return the URDF text, with options of closed_loop, of an MJCF file.

    A body with a free joint that no equality ties to another is taken to be mounted where it is.
    ConfigError without MuJoCo, RobotModelError for what MuJoCo or this reader cannot read.
    """
    try:
        import mujoco
    except ModuleNotFoundError:
        raise ConfigError(f'{path} is an MJCF, which MuJoCo reads', found='no mujoco',
                          do='pip install "ros_inertial_id[mjcf]", or give a URDF') from None
    read = MjcfTree(mujoco, _compiled(mujoco, path))
    for body in range(1, read.model.nbody):
        read.body(body)
    tree, motors = read.tree, driven(read)
    if not tree.joints:
        raise RobotModelError(f'{path} has no moving joint', expected='at least one')
    closures(read)
    forces(read)
    if 'closures' not in tree.options and set(motors) == set(tree.joints):
        tree.options.clear()  # a serial arm, which has a method and friction of its own
    else:
        coordinates(read, motors)
    return tree.urdf()


def _compiled(mujoco: Any, path: str | Path) -> Any:
    """Return MuJoCo's model of a file, without meshes where bodies have an <inertial>."""
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        if spec.compiler.inertiafromgeom != mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE:
            _without_meshes(spec)
        spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        return spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise RobotModelError(f'MuJoCo cannot read {path}',
                              found=' '.join(str(error).split())) from None


def _without_meshes(spec):
    """Take out the shapes of bodies with an <inertial>, and files that nothing needs then."""
    for body in spec.bodies:
        if body.explicitinertial or body.name == 'world':
            for geom in list(body.geoms):
                spec.delete(geom)
    used = {geom.meshname for geom in spec.geoms} | {geom.hfieldname for geom in spec.geoms}
    for coloured in (*spec.geoms, *spec.sites, *spec.tendons):
        coloured.material = ''
    for kept, each in ((used, (*spec.meshes, *spec.hfields)),
                       ((), (*spec.skins, *spec.materials, *spec.textures))):
        for one in each:
            if one.name not in kept:
                spec.delete(one)
