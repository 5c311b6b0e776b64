"""
Newton and Euler of a body as linear equations in its standard parameters, fast.

The power of the wrench of a body on a unit twist (u, w), both at the origin of its frame, is one
row of a regressor (Khalil and Dombre 2002, ch. 9; Newton-Euler of the body, projected):

    u.f + w.n,   f = m a + alpha x mc + omega x (omega x mc)
                 n = mc x a + I alpha + omega x I omega

with a the acceleration of the origin minus gravity.  Everything is computed for a block of
samples at once, component by component: arrays (..., 3, B), samples last, so that NumPy works
on long contiguous runs (einsum multiplies and adds in one pass over them, without temporaries).
Nothing of the size of the recording is ever formed.

A tree is one recursion from the base.  Vectors are kept in frames whose z axis is the joint's, so
that a joint turns two components of three and the other factor of its placement is one constant
matrix (BLAS).  What a body's rows need moves along as columns of spatial vectors (6, k, B), linear
part first: acceleration of the origin (minus gravity), its velocity, and the unit twists of the
joints that move the body.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
import ctypes
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pinocchio as pin

BLOCK = 1024  # samples: long enough to hide NumPy's call overhead, short enough for the cache


def in_blocks(count: int) -> Iterator[slice]:
    """Yield slices of ``count`` samples, BLOCK each; the last has half to 1.5 of it."""
    begins = range(0, max(count - BLOCK // 2, min(count, 1)), BLOCK)
    return (slice(*pair) for pair in pairwise([*begins, count]))


# glibc gives freed blocks above 128 kB back to the system and has them zeroed page by page when it
# gets them again, which costs more than computing rows.  Once it has seen a larger block freed it
# keeps all below that size, but not where MALLOC_TRIM_THRESHOLD_ is set, as in workers of Dask:
# so it is set here (mallopt(3)).  Other allocators do not mind.
REUSED_BLOCK = 16 << 20  # bytes
with suppress(OSError, AttributeError):
    _libc = ctypes.CDLL(None)
    _libc.mallopt(-3, REUSED_BLOCK)  # M_MMAP_THRESHOLD
    _libc.mallopt(-1, 2 * REUSED_BLOCK)  # M_TRIM_THRESHOLD


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

    def rows(self, chosen: slice | np.ndarray) -> 'RowGroup':
        """Return the group of the samples chosen by a slice or an index array."""
        known = self.known
        if isinstance(known, np.ndarray):
            known = known[chosen]
        W, y, y_raw = self.W[chosen], self.y[chosen], self.y_raw[chosen]
        return RowGroup(self.name, self.unit, self.columns, W, y, y_raw, known)


@dataclass(frozen=True)
class RegressorBlock:
    """
    Consecutive samples as equations: t (B,) [s], segment number, one RowGroup per joint.

    seen : {joint or body: {quantity: (B,)}} of ``Method.validity_range``, where somebody asks
    """

    t: np.ndarray
    segment: int
    groups: tuple[RowGroup, ...]
    seen: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)

    def rows(self, chosen: slice | np.ndarray) -> 'RegressorBlock':
        """Return the block of the samples chosen by a slice or an index array."""
        groups = tuple(group.rows(chosen) for group in self.groups)
        return RegressorBlock(self.t[chosen], self.segment, groups, part_of(self.seen, chosen))

    def predicted(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Return group name -> what ``values`` (p,) of all Parameters give (B,)."""
        return {g.name: g.W @ values[g.columns] for g in self.groups}


def part_of(
    seen: Mapping[str, Mapping[str, np.ndarray]], chosen: slice | np.ndarray
) -> dict[str, dict[str, np.ndarray]]:
    """Return {joint or body: {quantity: (B,)}} of the samples ``chosen`` of what was ``seen``."""
    parts = {}
    for where, quantities in seen.items():
        parts[where] = {name: values[chosen] for name, values in quantities.items()}
    return parts


def _symmetric(row, column):
    """Return (3, 3, 6): the symmetric tensor of each of its six elements alone."""
    out = np.zeros((3, 3, 6))
    out[row, column, range(6)] = out[column, row, range(6)] = 1.0
    return out


ROW, COLUMN = (0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)  # of an inertia tensor, by parameter
INERTIA = _symmetric(ROW, COLUMN)
PRODUCTS = _symmetric((0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2))  # omega omega', in that order


def motion_features(a: np.ndarray, alpha: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """
    Return (12, B) what a body's wrench is linear in: a, alpha and the products of omega.

    a, alpha, omega : (3, B) acceleration of the origin minus gravity [m/s^2], angular
        acceleration [rad/s^2] and velocity [rad/s]; all in the body's frame
    """
    out = np.empty((12, a.shape[-1]))
    out[:3], out[3:6] = a, alpha
    np.multiply(omega, omega, out=out[6:9])
    np.multiply(omega[0], omega[1:], out=out[9:11])
    np.multiply(omega[1], omega[2], out=out[11])
    return out


def _cross_tensor() -> np.ndarray:
    """Return (3, 3, 3): (a x b)_i = sum over j, k of E[i, j, k] a_j b_k."""
    return np.cross(np.eye(3)[:, None], np.eye(3)).transpose(2, 0, 1)


def _wrench_tensor() -> np.ndarray:
    """Return (2, 3, 10, 12): f and n by parameter, linear in ``motion_features``."""
    E, out = _cross_tensor(), np.zeros((2, 3, 10, 12))
    out[0, :, 0, :3] = np.eye(3)  # m a
    out[0, :, 1:4, 3:6] = E.transpose(0, 2, 1)  # alpha x mc
    out[0, :, 1:4, 6:] = PRODUCTS - np.eye(3)[:, :, None] * np.trace(PRODUCTS)  # omega x omega x
    out[1, :, 1:4, :3] = E  # mc x a
    out[1, :, 4:, 3:6] = INERTIA.transpose(0, 2, 1)  # I alpha
    out[1, :, 4:, 6:] = np.einsum('isj,jkc,skp->icp', E, INERTIA, PRODUCTS)  # omega x I omega
    return out


WRENCH = _wrench_tensor()


class WrenchRows:
    """
    Rows of some standard parameters of a body: u.f + w.n by ``columns`` (indices 0 to 9).

    tensor : (2, 3, 10, 12), f and n by parameter from features; WRENCH where the parameters are
        about the frame of the motion
    """

    def __init__(self, columns: Sequence[int] = range(10), tensor: np.ndarray = WRENCH) -> None:
        # Only first moments have both force and moment; a mass no moment, an inertia no force.
        chosen = np.array(columns, dtype=int)
        mass = chosen[chosen == 0]
        first = tensor[:, :, chosen[(chosen > 0) & (chosen < 4)]]
        second = tensor[1][:, chosen[chosen > 3], 3:]
        self._first, self._second = first.reshape(-1, 12), second.reshape(-1, 9)
        self._counts = len(mass), first.shape[2], second.shape[1]

    def __call__(self, u: np.ndarray, w: np.ndarray, features: np.ndarray) -> np.ndarray:
        """
        Return the rows (..., k, B) by the columns.

        u, w : (..., 3, B) linear and angular part of the twists; features : (12, B) of the motion
        """
        mass, first, second = self._counts
        samples = features.shape[-1]
        out = np.empty(u.shape[:-2] + (mass + first + second, samples))
        if mass:
            np.einsum('...rb,rb->...b', u, features[:3], out=out[..., 0, :])
        if first:
            force, moment = (self._first @ features).reshape(2, 3, first, samples)
            part = out[..., mass : mass + first, :]
            np.einsum('...rb,rcb->...cb', u, force, out=part)
            part += np.einsum('...rb,rcb->...cb', w, moment)
        if second:
            moment = (self._second @ features[3:]).reshape(3, second, samples)
            np.einsum('...rb,rcb->...cb', w, moment, out=out[..., mass + first :, :])
        return out


ALL_ROWS = WrenchRows()


def body_rows(
    u: np.ndarray, w: np.ndarray, a: np.ndarray, alpha: np.ndarray, omega: np.ndarray
) -> np.ndarray:
    """
    Return the rows (..., 10, B) of a body's standard parameters for unit twists (u, w).

    u, w : (..., 3, B) linear and angular part of the twists at the body's frame origin
    a, alpha, omega : (3, B), see ``motion_features``
    """
    return ALL_ROWS(u, w, motion_features(a, alpha, omega))


MOTION = 2  # columns before the twists: acceleration and velocity


@dataclass(frozen=True)
class JointStep:
    """
    From the body before a joint to the one that it moves, frames turned so that z is the axis.

    transform : (6, 6) spatial vectors of the one before in the joint's frame at q = 0
    swing : (3, 6) acceleration of the joint's origin by the products of omega, same frame
    tensor : (2, 3, 10, 12), see WrenchRows, of parameters in the link's own frame
    rows : WrenchRows of all ten parameters
    """

    transform: np.ndarray
    swing: np.ndarray
    tensor: np.ndarray
    rows: WrenchRows


def joint_steps(robot: Any) -> tuple[JointStep, ...]:
    """Return the JointSteps of a RobotModel ``robot``."""
    turned, steps = {-1: np.eye(3)}, []  # of the base and every body: its axis is z
    for i, parent in enumerate(robot.parents):
        turned[i] = pin.Quaternion.FromTwoVectors(np.eye(3)[2], robot.axes[i]).matrix()
        before = turned[parent]
        R = (before.T @ robot.rotations[i] @ turned[i]).T
        arm = before.T @ robot.translations[i]
        transform = np.zeros((6, 6))
        transform[:3, :3] = transform[3:, 3:] = R
        transform[:3, 3:] = -R @ pin.skew(arm)
        force = WRENCH[0, :, 1:4, 6:]  # omega x (omega x arm) is what a first moment adds
        tensor = _about_turned(turned[i])
        swing = R @ np.einsum('rcp,c->rp', force, arm)
        steps.append(JointStep(transform, swing, tensor, WrenchRows(tensor=tensor)))
    return tuple(steps)


def _about_turned(Q):
    """Return WRENCH (2, 3, 10, 12) for motion in a frame turned by Q, parameters in the link's."""
    inertia = (Q.T @ INERTIA.transpose(2, 0, 1) @ Q)[:, ROW, COLUMN]  # (link's, turned)
    out = WRENCH.copy()
    out[:, :, 1:4] = np.einsum('hrcf,kc->hrkf', WRENCH[:, :, 1:4], Q)
    out[:, :, 4:] = np.einsum('hrcf,kc->hrkf', WRENCH[:, :, 4:], inertia)
    return out


def bodies_rows(
    robot: Any,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    gravity_base: np.ndarray | None = None,
    columns: Sequence[Sequence[int]] | None = None,
) -> list[np.ndarray]:
    """
    Return the rows of every body of a block: (joints that move it, k, B).

    q, v, a : (B, n) joint positions, velocities, accelerations [rad, m, s]
    gravity_base : (3,), the robot's own by default; (6,) where the base turns as well, with its
        angular acceleration, negated like the linear one that gravity stands for
    columns : of each body the parameters (0 to 9) whose rows are wanted; all ten by default
    Joints in the order of ``robot.ancestors``: from the base to the body's own.
    """
    if gravity_base is None:
        gravity_base = robot.gravity_base
    gravity, out = np.asarray(gravity_base), []
    base = np.zeros((6, MOTION, len(q)))
    base[: len(gravity), 0] = -gravity[:, None]
    for i, (X, features) in enumerate(_motions(robot, q, v, a, base)):
        step, twists = robot.steps[i], X[:, MOTION:].swapaxes(0, 1)
        rows = step.rows
        if columns is not None:
            rows = WrenchRows(columns[i], step.tensor)
        out.append(rows(twists[:, :3], twists[:, 3:], features))
    return out


def moving_base_rows(
    robot: Any,
    base: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    columns: Sequence[Sequence[int]],
) -> list[np.ndarray]:
    """
    Return the rows of the base and of every body of a block: (6 + joints that move it, k, B).

    base : (9, B) acceleration of its origin minus gravity [m/s^2], angular acceleration
        [rad/s^2] and velocity [rad/s], along its own axes: what an IMU there reads
    q, v, a : (B, n), see ``bodies_rows``; columns : of the base, then of each body
    The first six rows are force [N] and moment [N m] on the base, at its origin along its axes.
    """
    start = np.zeros((6, MOTION + 6, len(q)))
    start[:, 0], start[3:, 1] = base[:6], base[6:]
    start[range(6), range(MOTION, MOTION + 6)] = 1.0
    tensors = [WRENCH, *(step.tensor for step in robot.steps)]
    moved = [(start, motion_features(base[:3], base[3:6], base[6:]))]
    moved += _motions(robot, q, v, a, start)
    out = []
    for tensor, chosen, (X, features) in zip(tensors, columns, moved):
        twists = X[:, MOTION:].swapaxes(0, 1)
        out.append(WrenchRows(chosen, tensor)(twists[:, :3], twists[:, 3:], features))
    return out


def gravity_slopes(robot: Any, q: np.ndarray) -> list[np.ndarray]:
    """
    Return the slopes of rows by gravity along x, y, z of the base: per body (3, k, 4, B).

    robot, q : see ``bodies_rows``, whose rows are affine in gravity; of mass and first moments
    alone, as gravity pulls at nothing else
    """
    base, still, out = np.zeros((6, MOTION + 3, len(q))), np.zeros_like(q), []
    base[range(3), range(MOTION, MOTION + 3)] = -1.0  # carried along as further accelerations
    for step, (X, _) in zip(robot.steps, _motions(robot, q, still, still, base)):
        a, u = X[:3, MOTION : MOTION + 3], X[:, MOTION + 3 :].swapaxes(0, 1)
        moment = np.tensordot(step.tensor[1][:, 1:4, :3], a, 1)  # (3, 3 first moments, 3, B)
        slopes = np.empty((3, len(u), 4, len(q)))
        slopes[:, :, 0] = np.einsum('krb,rgb->gkb', u[:, :3], a)
        slopes[:, :, 1:] = np.einsum('krb,rcgb->gkcb', u[:, 3:], moment)
        out.append(slopes)
    return out


def slopes_with_positions(robot: Any, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return d tau / d q (N, n, n) of the bodies as described; q, v, a : (N, n)."""
    out = np.empty((*q.shape, len(robot)))
    scratch = robot.pin_model.createData()
    for k, motion in enumerate(zip(robot.pin_q(q), v, a)):
        out[k] = pin.computeRNEADerivatives(robot.pin_model, scratch, *motion)[0]
    return out


def nominal_torques(robot: Any, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """
    Return the torques (N, n) [N m] ([N] of sliders) that move the bodies as described.

    robot, q, v, a : see ``bodies_rows``, of any number of samples N
    """
    wrenches = [
        np.tensordot(pi, step.tensor, (0, 2)).reshape(6, 12)
        for pi, step in zip(robot.inertias, robot.steps)
    ]
    chains, out = [list(robot.ancestors(i)) for i in range(len(robot))], np.zeros(q.shape).T
    for part in in_blocks(len(q)):
        base = np.zeros((6, MOTION, len(q[part])))
        base[:3, 0] = -robot.gravity_base[:, None]
        for wrench, chain, (X, features) in zip(
            wrenches, chains, _motions(robot, q[part], v[part], a[part], base)
        ):
            out[chain, part] += np.einsum('rkb,rb->kb', X[:, MOTION:], wrench @ features)
    return out.T


def _motions(robot, q, v, a, base):
    """
    Yield of every body its columns (6, k, B), and features.

    Those of the ``base``, moved along, then the unit twists of the joints that move the body.
    """
    q, v, a = (np.ascontiguousarray(x.T) for x in (q, v, a))
    cosine, sine = np.cos(q), np.sin(q)
    motions = {-1: (base, motion_features(base[:3, 0], base[3:, 0], base[3:, 1]))}
    for i, (step, parent) in enumerate(zip(robot.steps, robot.parents)):
        turn = None
        if not robot.prismatic[i]:
            turn = np.array([[cosine[i], -sine[i]], [sine[i], cosine[i]]])
        X = _step(step, motions[parent], turn, (q[i], v[i], a[i]))
        features = motion_features(X[:3, 0], X[3:, 0], X[3:, 1])
        motions[i] = X, features
        yield X, features


def _step(step, before, turn, joint):
    """Return the columns (6, k + 1, B) of the next body by those ``before`` it, and features."""
    columns, features = before
    _, count, samples = columns.shape
    q, v, a = joint
    placed = (step.transform @ columns.reshape(6, -1)).reshape(6, count, samples)
    placed[:3, 0] += step.swing @ features[6:]
    out = np.empty((6, count + 1, samples))
    out[:, -1] = 0.0
    if turn is None:
        out[:, :-1] = placed
        _slide(out, q, v, a)
        return out
    halves, target = placed.reshape(2, 3, count, samples), out.reshape(2, 3, count + 1, samples)
    np.einsum('kib,hknb->hinb', turn, halves[:, :2], out=target[:, :2, :-1])
    target[:, 2, :-1] = halves[:, 2]
    (alpha_x, omega_x), (alpha_y, omega_y), (alpha_z, omega_z) = out[3:, :MOTION]
    alpha_x += v * omega_y
    alpha_y -= v * omega_x
    alpha_z += a
    omega_z += v
    out[5, -1] = 1.0
    return out


def _slide(columns, q, v, a):
    """Move the origin of spatial vectors (6, k, B) along z by q, and add the slide itself."""
    omega = columns[3:, 1]
    swing = q * omega[2]
    columns[:3, 0] += swing * omega
    columns[2, 0] += a - q * (omega**2).sum(0)
    columns[0, 0] += 2.0 * v * omega[1]
    columns[1, 0] -= 2.0 * v * omega[0]
    columns[0] += q * columns[4]
    columns[1] -= q * columns[3]
    columns[2, 1] += v
    columns[2, -1] = 1.0


def tree_rows(
    robot: Any, q: np.ndarray, v: np.ndarray, a: np.ndarray, gravity_base: np.ndarray | None = None
) -> list[np.ndarray]:
    """
    Return the joint torque regressor of a block, joint by joint.

    robot, q, v, a, gravity_base : see ``bodies_rows``
    Result : list over joints j of arrays (10 k, B), the columns of the bodies in
        ``robot.subtree(j)`` in that order; tau_j = rows.T @ parameters.
    """
    bodies = bodies_rows(robot, q, v, a, gravity_base)
    rows = []
    for moved in robot.moved:
        rows.append(np.concatenate([bodies[i][k] for i, k in moved]))
    return rows
