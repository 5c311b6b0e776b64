"""
The inverse dynamics of a tree as linear equations in the standard parameters, fast.

For body i and joint j that moves it, the power of the wrench of body i on the unit twist (u, w)
of joint j, both at the origin of frame i, is one row of the regressor (Khalil and Dombre 2002,
ch. 9; Newton-Euler of the body, projected):

    u.f + w.n,   f = m a + alpha x mc + omega x (omega x mc)
                 n = mc x a + I alpha + omega x I omega

with a the acceleration of the origin minus gravity.  Everything is computed for a block of
samples at once, component by component: arrays (..., 3, B), samples last, so that NumPy works
on long contiguous runs.  Nothing of the size of the recording is ever formed.
"""

from dataclasses import dataclass

import numpy as np

BLOCK = 1024  # samples: long enough to hide NumPy's call overhead, short enough for the cache


@dataclass(frozen=True)
class RowGroup:
    """
    The equations of one joint (or one force component) in a block.

    name : of the group; unit : of y
    columns : (k,) indices into the list of Parameters
    W : (B, k); y : (B,) measured side, filtered like the positions; y_raw : (B,) as recorded
    """

    name: str
    unit: str
    columns: np.ndarray
    W: np.ndarray
    y: np.ndarray
    y_raw: np.ndarray


@dataclass(frozen=True)
class RegressorBlock:
    """Consecutive samples as equations: t (B,) [s], segment number, one RowGroup per joint."""

    t: np.ndarray
    segment: int
    groups: tuple

    def rows(self, chosen):
        """Return the block of the samples chosen by a slice or an index array."""
        groups = tuple(RowGroup(g.name, g.unit, g.columns, g.W[chosen], g.y[chosen],
                                g.y_raw[chosen]) for g in self.groups)
        return RegressorBlock(self.t[chosen], self.segment, groups)


def cross(a, b):
    """Return the cross products of vectors (..., 3, B)."""
    ax, ay, az = a[..., 0, :], a[..., 1, :], a[..., 2, :]
    bx, by, bz = b[..., 0, :], b[..., 1, :], b[..., 2, :]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-2)


def rotate(R, x):
    """Return R' x for rotations R (3, 3, B) and vectors (..., 3, B): into the child's frame."""
    return np.stack([R[0, k] * x[..., 0, :] + R[1, k] * x[..., 1, :] + R[2, k] * x[..., 2, :]
                     for k in range(3)], axis=-2)


def body_rows(u, w, a, alpha, omega, out=None):
    """
    Return the rows (..., 10, B) of a body's standard parameters for unit twists (u, w).

    u, w : (..., 3, B) linear and angular part of the twists at the body's frame origin
    a, alpha, omega : (3, B) acceleration of the origin minus gravity [m/s^2], angular
        acceleration [rad/s^2] and velocity [rad/s]; all in the body's frame.
    """
    if out is None:
        out = np.empty(np.broadcast_shapes(u.shape, w.shape)[:-2] + (10, a.shape[-1]))
    p = cross(w, omega)
    out[..., 0, :] = (u * a).sum(-2)
    out[..., 1:4, :] = (cross(a, w) + cross(u, alpha) + omega * (u * omega).sum(-2)[..., None, :]
                        - u * (omega * omega).sum(-2))
    wx, wy, wz = w[..., 0, :], w[..., 1, :], w[..., 2, :]
    px, py, pz = p[..., 0, :], p[..., 1, :], p[..., 2, :]
    (ax, ay, az), (ox, oy, oz) = alpha, omega
    out[..., 4, :] = wx * ax + px * ox
    out[..., 5, :] = wx * ay + wy * ax + px * oy + py * ox
    out[..., 6, :] = wy * ay + py * oy
    out[..., 7, :] = wx * az + wz * ax + px * oz + pz * ox
    out[..., 8, :] = wy * az + wz * ay + py * oz + pz * oy
    out[..., 9, :] = wz * az + pz * oz
    return out


@dataclass
class _Motion:
    """Motion of one body's frame, in that frame: arrays (3, B), twists of its joints (k, 3, B)."""

    omega: np.ndarray
    alpha: np.ndarray
    a: np.ndarray
    u: np.ndarray
    w: np.ndarray


def tree_rows(robot, q, v, a, gravity_base=None):
    """
    Return the joint torque regressor of a block, joint by joint.

    q, v, a : (B, n) joint positions, velocities, accelerations [rad, m, s]
    gravity_base : (3,), the robot's own by default
    Result : list over joints j of arrays (10 k, B), the columns of the bodies in
        ``robot.subtree(j)`` in that order; tau_j = rows.T @ parameters.
    """
    gravity = robot.gravity_base if gravity_base is None else np.asarray(gravity_base)
    count, size = len(robot), len(q)
    q, v, a = (np.ascontiguousarray(x.T) for x in (q, v, a))
    out = [np.empty((len(robot.subtree(j)), 10, size)) for j in range(count)]
    place = [{body: k for k, body in enumerate(robot.subtree(j))} for j in range(count)]
    zero = np.zeros((3, size))
    none = np.zeros((0, 3, size))
    motions = []
    base = _Motion(zero, zero, zero - gravity[:, None], none, none)
    for i in range(count):
        before = motions[robot.parents[i]] if robot.parents[i] >= 0 else base
        motion = _step(robot, i, before, q[i], v[i], a[i])
        motions.append(motion)
        rows = body_rows(motion.u, motion.w, motion.a, motion.alpha, motion.omega)
        for row, j in zip(rows, robot.ancestors(i)):
            out[j][place[j][i]] = row
    return [rows.reshape(-1, size) for rows in out]


def _step(robot, i, before, q, v, a):
    """Return the motion of body i from that of the body before it (its twists' joints added)."""
    axis = robot.axes[i][:, None]
    fixed, position = robot.rotations[i], robot.translations[i][:, None]
    if robot.prismatic[i]:
        R = np.broadcast_to(fixed[:, :, None], (3, 3, q.size))
        position = position + (fixed @ axis) * q
    else:
        R = np.einsum('ij,jkb->ikb', fixed, _about(robot.axes[i], q))
    omega = rotate(R, before.omega)
    swing = cross(before.omega, np.broadcast_to(position, omega.shape))
    acc = rotate(R, before.a + cross(before.alpha, np.broadcast_to(position, omega.shape))
                 + cross(before.omega, swing))
    alpha = rotate(R, before.alpha)
    u = rotate(R, before.u + cross(before.w, np.broadcast_to(position, before.w.shape)))
    w = rotate(R, before.w)
    unit = np.broadcast_to(axis, (3, q.size))
    zero = np.zeros((3, q.size))
    if robot.prismatic[i]:
        acc = acc + 2.0 * cross(omega, axis * v) + axis * a
        own_u, own_w = unit, zero
    else:
        alpha = alpha + cross(omega, axis * v) + axis * a
        omega = omega + axis * v
        own_u, own_w = zero, unit
    return _Motion(omega, alpha, acc, np.concatenate([u, own_u[None]]),
                   np.concatenate([w, own_w[None]]))


def _about(axis, q):
    """Return the rotations (3, 3, B) by angles q (B,) about a unit axis (Rodrigues)."""
    cos, sin = np.cos(q), np.sin(q)
    x, y, z = axis
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    outer = np.outer(axis, axis)
    eye = np.eye(3)
    return ((eye - outer)[..., None] * cos + skew[..., None] * sin + outer[..., None])
