"""Read an MJCF as Described, as MuJoCo compiles it."""

from collections.abc import Callable, Iterable, Iterator
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
from .shapes import box, capsule, cylinder, PlacedShape, shaped, sphere
from ..errors import RobotModelError

KINDS = ('floating', 'ball', 'prismatic', 'revolute')  # as MuJoCo numbers joints
MESH = 7  # number of that kind of geom
JOINT_TRANSMISSION = 0  # of an actuator
# {number of a kind of geom: its corners, from its half sizes}
CORNERS: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    2: lambda size: sphere(size[:1]),
    3: lambda size: capsule([size[0], 2.0 * size[1]]),
    4: lambda size: sphere([1.0]) * size,
    5: lambda size: cylinder([size[0], 2.0 * size[1]]),
    6: lambda size: box(2.0 * size),
}


def described_mjcf(model: Any, name: str) -> Described:
    """Return MuJoCo's MjModel ``model`` as Described; ``name`` : of the robot."""
    names = ['world']
    names += [model.body(k).name or f'body{k}' for k in range(1, model.nbody)]
    links = {body: _link(model, number, body) for number, body in enumerate(names)}
    joints: list[DescribedJoint] = []
    for number in range(1, model.nbody):
        joints += _joints(model, number, names)
    return with_frames(name, 'MJCF', links, joints)


def _link(model: Any, number: int, name: str) -> DescribedLink:
    """Return the body of a ``number`` with the corners of its geoms."""
    if number == 0:  # the floor and the walls
        return DescribedLink(name)
    geoms = np.flatnonzero(model.geom_bodyid == number).tolist()
    return shaped(DescribedLink(name, _inertia(model, number, name)), _shapes(model, geoms))


def _inertia(model: Any, number: int, name: str) -> DescribedInertia:
    """Return the inertia of the body of a ``number``."""
    mass, moments = float(model.body_mass[number]), model.body_inertia[number]
    if not np.isfinite([mass, *moments]).all():
        raise RobotModelError(f'mass and inertia of body {name!r}', expected='finite numbers')
    R = rotation(model.body_iquat[number])
    return DescribedInertia(mass, model.body_ipos[number].copy(), R @ np.diag(moments) @ R.T)


def _shapes(model: Any, geoms: Iterable[int]) -> Iterator[PlacedShape]:
    """Yield the shapes of ``geoms``, but for planes and fields."""
    for geom in geoms:
        corners = _corners(model, geom)
        if corners is not None:
            placement = _placement(model.geom_pos[geom], model.geom_quat[geom])
            yield PlacedShape(str(geom), corners, placement)


def _corners(model: Any, geom: int) -> np.ndarray | None:
    """Return the corners (P, 3) of a ``geom``, None of planes and fields."""
    kind = int(model.geom_type[geom])
    if kind == MESH:
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        return np.asarray(model.mesh_vert[first : first + model.mesh_vertnum[mesh]], dtype=float)
    if kind in CORNERS:
        return CORNERS[kind](model.geom_size[geom])
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
        damping=float(np.max(model.dof_damping[velocity])),
        friction=float(np.max(model.dof_frictionloss[velocity])),
    )


def _effort(model: Any, joint: int) -> float:
    """Return the largest effort [N m, N] that limits leave a ``joint``, nan for none."""
    if model.jnt_actfrclimited[joint]:
        return float(np.max(model.jnt_actfrcrange[joint]))
    drives = (
        (model.actuator_trntype == JOINT_TRANSMISSION)
        & (model.actuator_trnid[:, 0] == joint)
        & (model.actuator_forcelimited != 0)
    )
    gears = np.abs(model.actuator_gear[drives, 0])
    return float(gears @ model.actuator_forcerange[drives].max(axis=1)) or np.nan


def rotation(quaternion: np.ndarray) -> np.ndarray:
    """Return the matrix, (3, 3), of a ``quaternion`` (w, x, y, z)."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + 2.0 * w * cross + 2.0 * cross @ cross


def _placement(position: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation(quaternion), position
    return T
