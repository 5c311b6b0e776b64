"""
The inverse dynamics of a tree as rows of its bodies: one recursion from the base, a block at once.

Vectors are kept in frames whose z axis is the joint's, so that a joint turns two components of
three and the other factor of its placement is one constant matrix (BLAS).  What a body's rows
need moves along as columns of spatial vectors (6, k, B), linear part first: acceleration of the
origin (minus gravity), its velocity, and the unit twists of the joints that move the body.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from .regressor import COLUMN, INERTIA, motion_features, ROW, WRENCH, WrenchRows

MOTION = 2  # columns before the twists: acceleration and velocity


@dataclass(frozen=True)
class JointStep:
    """
    From the body before a joint to the one that it moves, frames turned so that z is the axis.

    place : (6, 6) spatial vectors of the one before in the joint's frame at q = 0
    swing : (3, 6) acceleration of the joint's origin by the products of omega, same frame
    tensor : (2, 3, 10, 12), see WrenchRows, of parameters in the link's own frame
    rows : WrenchRows of all ten parameters
    """

    place: np.ndarray
    swing: np.ndarray
    tensor: np.ndarray
    rows: WrenchRows


def joint_steps(robot: Any) -> tuple[JointStep, ...]:
    """Return the JointSteps of a RobotModel ``robot``."""
    turned = [pin.Quaternion.FromTwoVectors(np.eye(3)[2], axis).matrix() for axis in robot.axes]
    out = []
    for i, parent in enumerate(robot.parents):
        before = turned[parent] if parent >= 0 else np.eye(3)
        R = (before.T @ robot.rotations[i] @ turned[i]).T
        arm = before.T @ robot.translations[i]
        place = np.zeros((6, 6))
        place[:3, :3] = place[3:, 3:] = R
        place[:3, 3:] = -R @ pin.skew(arm)
        force = WRENCH[0, :, 1:4, 6:]  # omega x (omega x arm) is what a first moment adds
        tensor = _about_turned(turned[i])
        out.append(JointStep(place, R @ np.einsum('rcp,c->rp', force, arm), tensor,
                             WrenchRows(tensor=tensor)))
    return tuple(out)


def _about_turned(Q):
    """Return WRENCH (2, 3, 10, 12) for motion in a frame turned by Q, parameters in the link's."""
    inertia = (Q.T @ INERTIA.transpose(2, 0, 1) @ Q)[:, ROW, COLUMN]  # (link's, turned)
    out = WRENCH.copy()
    out[:, :, 1:4] = np.einsum('hrcf,kc->hrkf', WRENCH[:, :, 1:4], Q)
    out[:, :, 4:] = np.einsum('hrcf,kc->hrkf', WRENCH[:, :, 4:], inertia)
    return out


def bodies_rows(robot: Any, q: np.ndarray, v: np.ndarray, a: np.ndarray,
                gravity_base: np.ndarray | None = None,
                columns: Sequence[Sequence[int]] | None = None) -> list[np.ndarray]:
    """
    Return the rows of every body of a block: (joints that move it, k, B).

    robot : RobotModel of n joints
    q, v, a : (B, n) joint positions, velocities, accelerations [rad, m, s]
    gravity_base : (3,), the robot's own by default
    columns : of each body the parameters (0 to 9) whose rows are wanted; all ten by default
    Joints in the order of ``robot.ancestors``: from the base to the body's own.
    """
    gravity = robot.gravity_base if gravity_base is None else np.asarray(gravity_base)
    size = len(q)
    q, v, a = (np.ascontiguousarray(x.T) for x in (q, v, a))
    cosine, sine = np.cos(q), np.sin(q)
    base = np.zeros((6, MOTION, size))
    base[:3, 0] = -gravity[:, None]
    still = base, np.zeros((12, size))
    moved: list[tuple[np.ndarray, np.ndarray]] = []
    out = []
    for i, (step, parent) in enumerate(zip(robot.steps, robot.parents)):
        before = moved[parent] if parent >= 0 else still
        turn = None if robot.prismatic[i] else np.array([[cosine[i], -sine[i]],
                                                         [sine[i], cosine[i]]])
        X = _step(step, before, turn, (q[i], v[i], a[i]))
        features = motion_features(X[:3, 0], X[3:, 0], X[3:, 1])
        moved.append((X, features))
        rows = step.rows if columns is None else WrenchRows(columns[i], step.tensor)
        twists = X[:, MOTION:].swapaxes(0, 1)
        out.append(rows(twists[:, :3], twists[:, 3:], features))
    return out


def _step(step, before, turn, joint):
    """Return the columns (6, k + 1, B) of the next body by those ``before`` it, and features."""
    columns, features = before
    _, count, size = columns.shape
    q, v, a = joint
    placed = (step.place @ columns.reshape(6, -1)).reshape(6, count, size)
    placed[:3, 0] += step.swing @ features[6:]
    out = np.empty((6, count + 1, size))
    out[:, -1] = 0.0
    if turn is None:
        out[:, :-1] = placed
        _slide(out, q, v, a)
        return out
    halves, target = placed.reshape(2, 3, count, size), out.reshape(2, 3, count + 1, size)
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
    columns[2, 0] += a - q * (omega ** 2).sum(0)
    columns[0, 0] += 2.0 * v * omega[1]
    columns[1, 0] -= 2.0 * v * omega[0]
    columns[0] += q * columns[4]
    columns[1] -= q * columns[3]
    columns[2, 1] += v
    columns[2, -1] = 1.0


def tree_rows(robot: Any, q: np.ndarray, v: np.ndarray, a: np.ndarray,
              gravity_base: np.ndarray | None = None) -> list[np.ndarray]:
    """
    Return the joint torque regressor of a block, joint by joint.

    robot, q, v, a, gravity_base : see ``bodies_rows``
    Result : list over joints j of arrays (10 k, B), the columns of the bodies in
        ``robot.subtree(j)`` in that order; tau_j = rows.T @ parameters.
    """
    bodies = bodies_rows(robot, q, v, a, gravity_base)
    return [np.concatenate([bodies[i][k] for i, k in moved]) for moved in robot.moved]
