"""
MJCF as MuJoCo compiles it: no classes, frames, replicas, shapes; inertias and places as numbers.

For files that pinocchio does not read as MuJoCo does, where MuJoCo is installed.
"""

from dataclasses import dataclass
from pathlib import Path
import tempfile
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from .friction import JOINT_TERMS
from .inertial_parameters import about_origin
from ..errors import RobotModelError

KINDS = ('free', 'ball', 'slide', 'hinge')  # of joints, as MuJoCo numbers them
SAME = ('equality', 'tendon', 'actuator', 'keyframe')  # what names bodies and joints alone


@dataclass(frozen=True)
class CompiledActuator:
    """gear : of its joint; gain, bias (3,) : of its force, where ``is_affine`` says it is all."""

    gear: float
    gain: float
    bias: np.ndarray
    is_affine: bool


@dataclass(frozen=True)
class CompiledNumbers:
    """
    Numbers of an MJCF file, whatever classes and defaults give them.

    bodies : {name: ten parameters (10,) in the frame of the body}
    anchors : {name of a body: position (3,) of its joint in its frame [m]}
    joints : {name: {attribute: number}}; actuators : {joint: CompiledActuator}, the first of each
    gravity : (3,) [m/s^2]; floats : whether a body is free
    """

    bodies: dict[str, np.ndarray]
    anchors: dict[str, np.ndarray]
    joints: dict[str, dict[str, float]]
    actuators: dict[str, CompiledActuator]
    gravity: np.ndarray
    floats: bool


def compiled_numbers(text: str, folder: str | Path) -> CompiledNumbers:
    """
    Return the CompiledNumbers of the ``text`` of an MJCF file in a ``folder``.

    RobotModelError where MuJoCo is not installed, or does not read it.
    """
    try:
        import mujoco
    except ModuleNotFoundError:
        raise RobotModelError(
            'the numbers of an MJCF are written with MuJoCo', do='pip install mujoco'
        ) from None
    try:
        spec = mujoco.MjSpec.from_string(text)
        spec.modelfiledir = str(folder)
        model = spec.compile()
    except ValueError as error:
        raise RobotModelError('MuJoCo cannot read the MJCF', found=error) from None
    return CompiledNumbers(
        bodies={model.body(k).name: _ten_parameters(model, k) for k in range(1, model.nbody)},
        anchors=_anchors(model),
        joints={model.joint(k).name: _joint_numbers(model, k) for k in range(model.njnt)},
        actuators=_actuators(model, mujoco),
        gravity=model.opt.gravity.copy(),
        floats=bool(np.any(model.jnt_type == KINDS.index('free'))),
    )


def _ten_parameters(model: Any, number: int) -> np.ndarray:
    """Return the ten parameters (10,) of the body of a ``number`` in its frame."""
    w, x, y, z = model.body_iquat[number]
    axes = pin.Quaternion(w, x, y, z).toRotationMatrix()
    inertia = axes @ np.diag(model.body_inertia[number]) @ axes.T
    return about_origin(float(model.body_mass[number]), model.body_ipos[number], inertia)


def _anchors(model: Any) -> dict[str, np.ndarray]:
    """Return {body: position (3,) of its first joint} of bodies with one."""
    firsts = model.body_jntadr
    return {
        model.body(k).name: model.jnt_pos[firsts[k]].copy()
        for k in range(1, model.nbody)
        if firsts[k] >= 0
    }


def _joint_numbers(model: Any, number: int) -> dict[str, float]:
    """Return {attribute: number} of the joint of a ``number``, the spring's about its position."""
    velocity, position = model.jnt_dofadr[number], model.jnt_qposadr[number]
    return {
        'damping': float(model.dof_damping[velocity]),
        'frictionloss': float(model.dof_frictionloss[velocity]),
        'armature': float(model.dof_armature[velocity]),
        'stiffness': float(model.jnt_stiffness[number]),
        'springref': float(model.qpos_spring[position]),
    }


def _actuators(model: Any, mujoco: Any) -> dict[str, CompiledActuator]:
    """Return {joint: the first actuator on it}."""
    affine, no_bias = int(mujoco.mjtBias.mjBIAS_AFFINE), int(mujoco.mjtBias.mjBIAS_NONE)
    out: dict[str, CompiledActuator] = {}
    for number in range(model.nu):
        if model.actuator_trntype[number] != int(mujoco.mjtTrn.mjTRN_JOINT):
            continue
        fixed = model.actuator_gaintype[number] == int(mujoco.mjtGain.mjGAIN_FIXED)
        direct = model.actuator_dyntype[number] == int(mujoco.mjtDyn.mjDYN_NONE)
        bias, kind = np.zeros(3), model.actuator_biastype[number]
        if kind == affine:
            bias = model.actuator_biasprm[number, :3].copy()
        actuator = CompiledActuator(
            gear=float(model.actuator_gear[number, 0]),
            gain=float(model.actuator_gainprm[number, 0]),
            bias=bias,
            is_affine=bool(fixed and direct and kind in (affine, no_bias)),
        )
        out.setdefault(model.joint(model.actuator_trnid[number, 0]).name, actuator)
    return out


def compiled_mjcf(path: str | Path) -> ElementTree.Element | None:
    """Return the root of the MJCF file ``path`` compiled, None where MuJoCo cannot, or is not."""
    try:
        import mujoco
    except ModuleNotFoundError:
        return None
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'robot.xml'
        mujoco.mj_saveLastXML(str(file), model)
        saved = ElementTree.parse(file).getroot()
    root = ElementTree.Element('mujoco', model=saved.get('model', 'mjcf'))
    ElementTree.SubElement(root, 'compiler', angle='radian')
    world = ElementTree.SubElement(root, 'worldbody')
    bodies = [world]
    for number in range(1, model.nbody):
        bodies.append(_add_body(model, number, bodies[model.body_parentid[number]]))
    root.extend(section for tag in SAME for section in saved.iterfind(tag))
    return root


def _add_body(model: Any, number: int, parent: ElementTree.Element) -> ElementTree.Element:
    """Return the element of the body of a ``number``, put on its ``parent``."""
    body = ElementTree.SubElement(
        parent,
        'body',
        name=model.body(number).name or f'body{number}',
        pos=_words(model.body_pos[number]),
        quat=_words(model.body_quat[number]),
    )
    if model.body_mass[number] > 0.0:
        ElementTree.SubElement(
            body,
            'inertial',
            pos=_words(model.body_ipos[number]),
            quat=_words(model.body_iquat[number]),
            mass=_words(model.body_mass[number]),
            diaginertia=_words(model.body_inertia[number]),
        )
    first = model.body_jntadr[number]
    for joint in range(first, first + model.body_jntnum[number]):
        _add_joint(model, joint, body)
    for site in np.flatnonzero(model.site_bodyid == number):
        ElementTree.SubElement(
            body,
            'site',
            name=model.site(site).name or f'site{site}',
            pos=_words(model.site_pos[site]),
            quat=_words(model.site_quat[site]),
        )
    return body


def _add_joint(model: Any, number: int, body: ElementTree.Element) -> None:
    """Put the joint of a ``number`` on the element of its ``body``."""
    kind = KINDS[model.jnt_type[number]]
    joint = ElementTree.SubElement(
        body, 'joint', name=model.joint(number).name or f'joint{number}', type=kind
    )
    if kind == 'free':
        return
    joint.set('pos', _words(model.jnt_pos[number]))
    velocity = model.jnt_dofadr[number]
    damping, _, armature = JOINT_TERMS
    for name, values in (
        (damping, model.dof_damping),
        (armature, model.dof_armature),
        ('frictionloss', model.dof_frictionloss),
    ):
        joint.set(name, _words(values[velocity]))
    if model.jnt_stiffness[number].any():
        joint.set('stiffness', _words(model.jnt_stiffness[number]))
    if model.jnt_actfrclimited[number]:
        joint.set('actuatorfrcrange', _words(model.jnt_actfrcrange[number]))
    if kind == 'ball':
        return
    joint.set('axis', _words(model.jnt_axis[number]))
    joint.set('ref', _words(model.qpos0[model.jnt_qposadr[number]]))
    if model.jnt_limited[number]:
        joint.set('range', _words(model.jnt_range[number]))


def _words(values: Any) -> str:
    return ' '.join(f'{value:.17g}' for value in np.ravel(values))
