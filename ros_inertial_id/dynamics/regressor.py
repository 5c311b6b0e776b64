"""
The inverse dynamics of a tree as linear equations in the standard parameters, fast.

For body i and joint j that moves it, the power of the wrench of body i on the unit twist (u, w)
of joint j, both at the origin of frame i, is one row of the regressor (Khalil and Dombre 2002,
ch. 9; Newton-Euler of the body, projected):

    u.f + w.n,   f = m a + alpha x mc + omega x (omega x mc)
                 n = mc x a + I alpha + omega x I omega

with a the acceleration of the origin minus gravity.  Everything is computed for a block of
samples at once, component by component: arrays (..., 3, B), samples last, so that NumPy works
on long contiguous runs (einsum multiplies and adds in one pass over them, without temporaries).
Nothing of the size of the recording is ever formed.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

BLOCK = 1024  # samples: long enough to hide NumPy's call overhead, short enough for the cache

# glibc gives freed blocks above 128 kB back to the system and has them zeroed page by page when it
# gets them again, which costs more than computing rows.  Once it has seen a larger block freed it
# keeps all below that size (mallopt(3), M_MMAP_THRESHOLD); other allocators do not mind.
np.empty(16 << 20, dtype=np.uint8)


@dataclass(frozen=True)
class RowGroup:
    """
    The equations of one joint (or one force component) in a block.

    name : of the group; unit : of y
    columns : (k,) indices into the list of Parameters
    W : (B, k); y : (B,) measured torque, filtered like the positions; y_raw : (B,) as recorded
    known : (B,) share of known parameters, already taken off y and y_raw; 0: none
    """

    name: str
    unit: str
    columns: np.ndarray
    W: np.ndarray
    y: np.ndarray
    y_raw: np.ndarray
    known: np.ndarray | float = 0.0


@dataclass(frozen=True)
class RegressorBlock:
    """Consecutive samples as equations: t (B,) [s], segment number, one RowGroup per joint."""

    t: np.ndarray
    segment: int
    groups: tuple[RowGroup, ...]

    def rows(self, chosen: slice | np.ndarray) -> 'RegressorBlock':
        """Return the block of the samples chosen by a slice or an index array."""
        groups = tuple(RowGroup(g.name, g.unit, g.columns, g.W[chosen], g.y[chosen],
                                g.y_raw[chosen], g.known[chosen] if isinstance(g.known, np.ndarray)
                                else g.known)
                       for g in self.groups)
        return RegressorBlock(self.t[chosen], self.segment, groups)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """
    Return the cross products of vectors (..., 3, B).

    a, b : of shapes that broadcast
    """
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for x, y, z in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        np.multiply(a[..., y, :], b[..., z, :], out=out[..., x, :])
        out[..., x, :] -= a[..., z, :] * b[..., y, :]
    return out


def rotate(R: np.ndarray, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """
    Return R' x for rotations R (3, 3, B) and vectors (..., 3, B): into the child's frame.

    out : written where given
    """
    return np.einsum('kib,...kb->...ib', R, x, out=out)


def body_rows(u: np.ndarray, w: np.ndarray, a: np.ndarray, alpha: np.ndarray,
              omega: np.ndarray) -> np.ndarray:
    """
    Return the rows (..., 10, B) of a body's standard parameters for unit twists (u, w).

    u, w : (..., 3, B) linear and angular part of the twists at the body's frame origin
    a, alpha, omega : (3, B) acceleration of the origin minus gravity [m/s^2], angular
        acceleration [rad/s^2] and velocity [rad/s]; all in the body's frame.
    """
    return _project(u, w, a, *_wrench(a, alpha, omega))


def _project(u, w, a, force, moment):
    """Return u.f + w.n by parameter (..., 10, B); force (3, 3, B), moment (3, 9, B): _wrench."""
    out = np.empty(np.broadcast_shapes(u.shape, w.shape)[:-2] + (10, a.shape[-1]))
    np.einsum('...rb,rb->...b', u, a, out=out[..., 0, :])
    np.einsum('...rb,rcb->...cb', w, moment, out=out[..., 1:, :])
    out[..., 1:4, :] += np.einsum('...rb,rcb->...cb', u, force)
    return out


def _wrench(a, alpha, omega):
    """
    Return what each parameter adds to the wrench of a body, or of n: (3, n, B) for (3, B).

    force : (3, 3, B), f by mc; moment : (3, 9, B), n by mc and the six elements of I.
    (The others are plain: f by m is a, n by m and f by I are zero.)
    """
    ax, ay, az = alpha
    x, y, z = omega
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    force = np.empty((3, 3) + x.shape)
    for k, (p, r) in enumerate(((yy, zz), (xx, zz), (xx, yy))):
        np.add(p, r, out=force[k, k])
        np.negative(force[k, k], out=force[k, k])
    for k, m, product, swing in ((1, 0, xy, az), (0, 2, xz, ay), (2, 1, yz, ax)):
        np.add(product, swing, out=force[k, m])
        np.subtract(product, swing, out=force[m, k])
    moment = np.zeros((3, 9) + x.shape)
    for k, m, n in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):  # mc x a
        moment[k, m] = a[n]
        np.negative(a[n], out=moment[m, k])
    # I alpha + omega x I omega by Ixx, Ixy, Iyy, Ixz, Iyz, Izz; force holds some of the sums.
    table = ((ax, -force[2, 0], -yz, force[1, 0], yy - zz, yz),
             (xz, force[2, 1], ay, zz - xx, -force[0, 1], -xz),
             (-xy, xx - yy, xy, -force[1, 2], force[0, 2], az))
    for row, terms in zip(moment, table):
        for k, term in enumerate(terms):
            row[3 + k] = term
    return force, moment


def tree_rows(robot: Any, q: np.ndarray, v: np.ndarray, a: np.ndarray,
              gravity_base: np.ndarray | None = None) -> list[np.ndarray]:
    """
    Return the joint torque regressor of a block, joint by joint.

    q, v, a : (B, n) joint positions, velocities, accelerations [rad, m, s]
    gravity_base : (3,), the robot's own by default
    Result : list over joints j of arrays (10 k, B), the columns of the bodies in
        ``robot.subtree(j)`` in that order; tau_j = rows.T @ parameters.
    robot : RobotModel of n joints
    """
    gravity = robot.gravity_base if gravity_base is None else np.asarray(gravity_base)
    count, size = len(robot), len(q)
    q, v, a = (np.ascontiguousarray(x.T) for x in (q, v, a))
    base = np.zeros((3, 3, size))
    base[2] = -gravity[:, None]
    # omega, alpha and acceleration minus gravity of every body, and unit twists of its joints
    motion = np.empty((3, 3, count, size))
    twists: list[np.ndarray] = []
    for i, parent in enumerate(robot.parents):
        before = motion[:, :, parent] if parent >= 0 else base
        twist = twists[parent] if parent >= 0 else np.empty((2, 0, 3, size))
        twists.append(_step(robot, i, before, twist, (q[i], v[i], a[i]), motion[:, :, i]))
    omega, alpha, acc = motion
    force, moment = _wrench(acc, alpha, omega)
    bodies = [robot.subtree(j) for j in range(count)]
    out = [np.empty((len(moved), 10, size)) for moved in bodies]
    for i, (u, w) in enumerate(twists):
        rows = _project(u, w, acc[:, i], force[:, :, i], moment[:, :, i])
        for row, j in zip(rows, robot.ancestors(i)):
            out[j][bodies[j].index(i)] = row
    return [rows.reshape(-1, size) for rows in out]


def _step(robot, i, before, twist, joint, motion):
    """
    Write the motion (3, 3, B) of body i, return the unit twists (2, k + 1, 3, B) of its joints.

    before, twist : the same of the body before it, k joints; joint : its q, v, a (B,)
    """
    q, v, a = joint
    arm, turn = _crossed_with(robot.translations[i]), _crossed_with(robot.axes[i])
    linear, angular = twist
    acc = before[2]
    if np.any(arm):
        acc = acc + arm @ before[1] + cross(before[0], arm @ before[0])
        linear = linear + arm @ angular
    if robot.prismatic[i]:
        R = np.broadcast_to(robot.rotations[i][:, :, None], (3, 3, len(q)))
    else:
        R = rotation_about(robot.axes[i], q, robot.rotations[i])
    moved = np.empty((2, twist.shape[1] + 1, 3, len(q)))
    moved[:, -1] = 0.0
    rotate(R, before[:2], out=motion[:2])
    rotate(R, acc, out=motion[2])
    rotate(R, linear, out=moved[0, :-1])
    rotate(R, angular, out=moved[1, :-1])
    omega, alpha, acc = motion
    axis, spin = robot.axes[i][:, None], turn @ omega
    if robot.prismatic[i]:
        acc += q * (turn @ alpha) + cross(omega, q * spin) + 2.0 * v * spin + axis * a
        moved[0] += q * (turn @ moved[1])
        moved[0, -1] = axis
    else:
        alpha += v * spin + axis * a
        omega += axis * v
        moved[1, -1] = axis
    return moved


def _crossed_with(p):
    """Return the matrix (3, 3) that turns x into x cross p."""
    x, y, z = p
    return np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])


def rotation_about(axis: np.ndarray, q: np.ndarray, before: np.ndarray = np.eye(3)) -> np.ndarray:
    """
    Return the rotations (3, 3, B) by angles q (B,) about a unit axis (Rodrigues), before @.

    axis : (3,); before : (3, 3) rotation that comes first
    """
    turn = np.ones((3, len(q)))
    np.cos(q, out=turn[1])
    np.sin(q, out=turn[2])
    return (_rodrigues(axis.tobytes(), before.tobytes()) @ turn).reshape(3, 3, -1)


@lru_cache(maxsize=512)  # small batches: making it costs more than using it
def _rodrigues(axis: bytes, before: bytes) -> np.ndarray:
    """Return what 1, cosine and sine contribute (9, 3) to the rotations about an axis."""
    along = np.frombuffer(axis)
    outer = np.outer(along, along)
    parts = np.frombuffer(before).reshape(3, 3) @ [outer, np.eye(3) - outer,
                                                   -_crossed_with(along)]
    return parts.reshape(3, 9).T
