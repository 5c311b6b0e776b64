"""
MJCF as MuJoCo compiles it: no classes, frames, replicas, shapes; inertias and places as numbers.

For files that pinocchio does not read as MuJoCo does, where MuJoCo is installed.
"""

from pathlib import Path
import tempfile
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .friction import JOINT_TERMS

KINDS = ('free', 'ball', 'slide', 'hinge')  # of joints, as MuJoCo numbers them
SAME = ('equality', 'tendon', 'actuator', 'keyframe')  # what names bodies and joints alone


def compiled_mjcf(path: str | Path) -> ElementTree.Element | None:
    """Return the root of the MJCF file ``path`` compiled, None where MuJoCo cannot, or is not."""
    model = compiled_model(path)
    if model is None:
        return None
    import mujoco

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


def compiled_model(path: str | Path) -> Any | None:
    """Return MuJoCo's MjModel of the MJCF file ``path``, None where it cannot, or is not there."""
    try:
        import mujoco
    except ModuleNotFoundError:
        return None
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        return None


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
