"""Read an MJCF as Described, as MuJoCo compiles it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .described import (
    Described,
    DescribedInertia,
    DescribedJoint,
    DescribedLink,
    joints_about,
    with_frames,
)
from .hulls import shape_points

KINDS = ('floating', 'ball', 'prismatic', 'revolute')  # as MuJoCo numbers joints
MESH = 7  # number of that kind of geom
JOINT_TRANSMISSION = 0  # of an actuator
# {number of a kind of geom: its corners, from its half sizes}
SHAPES: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    2: lambda size: shape_points('sphere', size),
    3: lambda size: shape_points('capsule', [size[0], 2.0 * size[1]]),
    4: lambda size: shape_points('sphere', [1.0]) * size,
    5: lambda size: shape_points('cylinder', [size[0], 2.0 * size[1]]),
    6: lambda size: shape_points('box', 2.0 * size),
}


def described_mjcf(model: Any, name: str) -> Described:
    """Return MuJoCo's MjModel ``model`` as Described; ``name`` : of the robot."""
    names = ['world']
    names += [model.body(k).name or f'body{k}' for k in range(1, model.nbody)]
    links = {body: _link(model, number, body) for number, body in enumerate(names)}
    joints: list[DescribedJoint] = []
    for number in range(1, model.nbody):
        joints += _joints(model, number, names)
    if not model.body(0).name and not len(links['world'].points):
        links['world'] = DescribedLink('world')
    return with_frames(name, 'MJCF', links, joints)


def _link(model: Any, number: int, name: str) -> DescribedLink:
    """Return the body of a ``number`` with the corners of its geoms."""
    parts = [np.zeros((0, 3))]
    for geom in np.flatnonzero(model.geom_bodyid == number):
        points = _corners(model, int(geom))
        if points is not None:
            T = _placement(model.geom_pos[geom], model.geom_quat[geom])
            parts.append(points @ T[:3, :3].T + T[:3, 3])
    if not number:  # the floor and the walls
        return DescribedLink(name)
    R = rotation(model.body_iquat[number])
    inertia = DescribedInertia(
        float(model.body_mass[number]),
        model.body_ipos[number].copy(),
        R @ np.diag(model.body_inertia[number]) @ R.T,
    )
    return DescribedLink(name, inertia, np.concatenate(parts))


def _corners(model: Any, geom: int) -> np.ndarray | None:
    """Return the corners (P, 3) of a ``geom``, None of planes and fields."""
    kind = int(model.geom_type[geom])
    if kind == MESH:
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        return np.asarray(model.mesh_vert[first : first + model.mesh_vertnum[mesh]], dtype=float)
    if kind in SHAPES:
        return SHAPES[kind](model.geom_size[geom])
    return None


def _joints(model: Any, number: int, names: list[str]) -> list[DescribedJoint]:
    """Return the joints that carry a body, one on the other; a fixed one for none."""
    body, parent = names[number], names[model.body_parentid[number]]
    placement = _placement(model.body_pos[number], model.body_quat[number])
    first, count = model.body_jntadr[number], model.body_jntnum[number]
    if not count:
        axis = np.array([1.0, 0.0, 0.0])
        return [DescribedJoint(f'{body}_fixed', 'fixed', parent, body, placement, axis)]
    joints = []
    for number_of_joint in range(first, first + count):
        child = body
        if number_of_joint < first + count - 1:
            child = f'{body}@{number_of_joint}'
        offset = np.eye(4)
        offset[:3, 3] = model.jnt_pos[number_of_joint]
        joint = _joint(model, number_of_joint, (parent, child), placement)
        joints += joints_about(joint, offset)
        parent, placement = child, np.eye(4)
    return joints


def _joint(
    model: Any, number: int, ends: tuple[str, str], placement: np.ndarray
) -> DescribedJoint:
    """Return the joint of a ``number`` between two links."""
    limits = [np.nan, np.nan]
    start = 0.0
    kind = KINDS[model.jnt_type[number]]
    if kind in KINDS[2:]:
        start = model.qpos0[model.jnt_qposadr[number]]
    if model.jnt_limited[number]:
        limits = model.jnt_range[number] - start
    velocity = model.jnt_dofadr[number]
    damping, friction, armature = (
        float(np.max(values[velocity]))
        for values in (model.dof_damping, model.dof_frictionloss, model.dof_armature)
    )
    return DescribedJoint(
        name=model.joint(number).name or f'joint{number}',
        kind=kind,
        parent=ends[0],
        child=ends[1],
        placement=placement,
        axis=model.jnt_axis[number].copy(),
        lower=float(limits[0]),
        upper=float(limits[1]),
        effort=_effort(model, number),
        damping=damping,
        friction=friction,
        armature=armature,
    )


def _effort(model: Any, joint: int) -> float:
    """Return the largest effort [N m, N] that limits leave a ``joint``, nan for none."""
    if model.jnt_actfrclimited[joint]:
        return float(np.max(model.jnt_actfrcrange[joint]))
    efforts = []
    for actuator in range(model.nu):
        if model.actuator_trntype[actuator] != JOINT_TRANSMISSION:
            continue
        if model.actuator_trnid[actuator, 0] == joint and model.actuator_forcelimited[actuator]:
            gear = abs(float(model.actuator_gear[actuator, 0]))
            efforts.append(gear * float(np.max(model.actuator_forcerange[actuator])))
    return sum(efforts) or np.nan


def rotation(quaternion: np.ndarray) -> np.ndarray:
    """Return the matrix, (3, 3), of a ``quaternion`` (w, x, y, z)."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + 2.0 * w * cross + 2.0 * cross @ cross


def _placement(position: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation(quaternion), position
    return T
