"""
Newton and Euler for rigid bodies that are measured one by one: their wrenches and vibrations.

The wrench that the outside puts on a group of bodies is linear in their standard parameters.
Whatever they do to each other cancels in the sum, so only the wrenches that cross the border of
the group need a sensor (d'Alembert, with unit twists of a common frame as virtual motions).

Springs put ``preload - K x`` on a body's origin, x displacement and rotation vector from the rest
pose along the world's axes; gravity pulls at its centre.  Around the pose where both balance,
small motions obey M a + K' x = 0; K' has a part from the weight, as a pendulum's.  Damping is left
out: at a ratio of 0.02 it moves a frequency by 0.02 percent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pinocchio import skew
from scipy.spatial.transform import Rotation

from ...dynamics.inertial_parameters import inertia_tensor
from ...dynamics.regressor import body_rows, cross
from ...errors import EstimationError

AXES = ('fx', 'fy', 'fz', 'nx', 'ny', 'nz')  # of the six rows: force, then torque
ROW_UNITS = ('N',) * 3 + ('N m',) * 3
STEPS = 50


def own_rows(body: Any) -> np.ndarray:
    """
    Return the rows (6, 10, N) of one body: force, then torque, at its origin along its own axes.

    body : with ``omega, alpha, acc`` (N, 3) in its own frame, ``acc`` without gravity
    """
    count = len(body.omega)
    unit = np.broadcast_to(np.eye(3)[:, :, None], (3, 3, count))
    zero = np.zeros((3, 3, count))
    return _rows(body, np.concatenate([unit, zero]), np.concatenate([zero, unit]))


def composite_rows(bodies: Sequence[Any], origin: np.ndarray) -> np.ndarray:
    """
    Return the rows (6, 10 k, N) of the sum of k bodies: force, then torque about ``origin``.

    bodies : each with ``position`` (N, 3), ``rotation()`` (N, 3, 3) and what own_rows needs
    origin : (N, 3) in the world [m], along whose axes the rows are
    """
    out = []
    for body in bodies:
        R = body.rotation()
        inward = R.transpose(1, 2, 0)  # (row, component in the body, sample)
        arm = np.einsum('nji,nj->in', R, body.position - origin)
        moment = cross(inward, np.broadcast_to(arm, inward.shape))
        zero = np.zeros_like(inward)
        out.append(_rows(body, np.concatenate([inward, moment]), np.concatenate([zero, inward])))
    return np.concatenate(out, axis=1)


def _rows(body, u, w):
    acc, alpha, omega = (np.ascontiguousarray(x.T) for x in (body.acc, body.alpha, body.omega))
    return body_rows(u, w, acc, alpha, omega)


@dataclass(frozen=True)
class Suspension:
    """
    Springs and weight.

    stiffness (6, 6), preload (6,) : forces and torques about the origin, along the world's axes
    rest_rotation (3, 3) : body to world where the rotation vector is zero; gravity (3,) [m/s^2]
    """

    stiffness: np.ndarray
    preload: np.ndarray
    rest_rotation: np.ndarray
    gravity: np.ndarray


def vibration(springs: Suspension, pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the natural frequencies (K, 6) [Hz], ascending, and derivatives (K, 6, 10) by ``pi``.

    pi : (K, 10) of K bodies about their origins, in their own frames [kg, kg m, kg m^2].  A
    frequency is negative where the body topples.
    d(w^2) = psi' (dK' - w^2 dM) phi / psi' M phi (Fox and Kapoor 1968), also through the pose at
    rest, which moves with the weight.
    """
    R, stiffness, masses = _balance(springs, pi)
    M = np.einsum('kp,kpij->kij', pi, masses)
    values, right = np.linalg.eig(np.linalg.solve(M, stiffness))
    order = np.argsort(values.real, axis=1)
    values = np.take_along_axis(values, order, 1).real
    right = np.take_along_axis(right, order[:, None], 2)
    left = np.linalg.inv(M @ right).swapaxes(1, 2)[:, None]  # psi' M phi = 1
    # by ten parameters, by three turns
    dK, dM = np.zeros((len(pi), 13, 6, 6)), np.zeros((len(pi), 13, 6, 6))
    dM[:, :10] = masses
    dM[:, 10:] = _TURNS @ M[:, None] - M[:, None] @ _TURNS
    dK[:, 1:4, 3:, 3:] = _pendulum(springs, R.swapaxes(1, 2))
    dK[:, 10:, :, 3:] = -0.5 * springs.stiffness[:, 3:] @ _SKEW  # of _rate, first order
    dK[:, 10:, 3:, 3:] += _pendulum(springs, np.einsum('aij,kjl,kl->kai', _SKEW, R, pi[:, 1:4]))
    dK, dM = ((left * (d @ right[:, None])).sum(2).real for d in (dK, dM))
    slope = (dK - values[:, None] * dM).swapaxes(1, 2)
    load = np.zeros((len(pi), 6, 10))
    load[:, :3, 0], load[:, 3:, 1:4] = springs.gravity, -skew(springs.gravity) @ R
    turn = np.linalg.solve(stiffness, load)[:, 3:]
    frequency = np.sign(values) * np.sqrt(np.abs(values)) / (2 * np.pi)
    size = 8 * np.pi ** 2 * np.maximum(np.abs(frequency), 1e-3)  # a topple has no slope
    return frequency, (slope[:, :, :10] + slope[:, :, 10:] @ turn) / size[:, :, None]


def _balance(springs, pi):
    """
    Return the rotations (K, 3, 3) and stiffness (K, 6, 6) where all forces cancel.

    Also mass matrices (K, 10, 6, 6) of unit parameters about the origin along the world's axes.
    """
    x, g = np.zeros((len(pi), 6)), springs.gravity
    for _ in range(STEPS):
        R = Rotation.from_rotvec(x[:, 3:]).as_matrix() @ springs.rest_rotation
        moment = np.einsum('kij,kj->ki', R, pi[:, 1:4])
        K = springs.stiffness @ _rate(x[:, 3:])
        K[:, 3:, 3:] += _pendulum(springs, moment)
        residual = springs.preload - x @ springs.stiffness.T
        residual[:, :3] += np.outer(pi[:, 0], g)
        residual[:, 3:] += moment @ skew(g)  # moment x g
        if np.abs(residual).max() < 1e-9 * (1.0 + np.abs(springs.preload).max()):
            T = np.zeros((len(pi), 1, 6, 6))
            T[:, 0, :3, :3] = T[:, 0, 3:, 3:] = R
            return R, K, T @ _UNIT_MASS @ T.swapaxes(2, 3)
        step = np.linalg.solve(K, residual[:, :, None])[:, :, 0]
        # a turn stays within the chart
        step *= np.minimum(1.0, 0.3 / (np.abs(step[:, 3:]).max(1, keepdims=True) + 1e-12))
        x[:, :3] += step[:, :3]
        x[:, 3:] = (Rotation.from_rotvec(step[:, 3:]) * Rotation.from_rotvec(x[:, 3:])).as_rotvec()
    raise EstimationError('the springs do not carry this body',
                          found=f'{np.abs(residual).max():.2g} N or N m out of balance')


def _rate(theta):
    """Return (K, 6, 6): change of (displacement, rotation vector) by displacement and turn."""
    angle = np.maximum(np.linalg.norm(theta, axis=1), 1e-4)  # below, c is 1 / 12 to 1e-9
    c = (1 - 0.5 * angle / np.tan(0.5 * angle)) / angle ** 2
    S = np.einsum('ka,aij->kij', theta, _SKEW)
    out = np.tile(np.eye(6), (len(theta), 1, 1))
    out[:, 3:, 3:] += -0.5 * S + c[:, None, None] * S @ S
    return out


def _pendulum(springs, moment):
    """Return stiffness (..., 3, 3) against turning of a weight with first moments (..., 3)."""
    weight = (moment @ springs.gravity)[..., None, None]
    return weight * np.eye(3) - moment[..., :, None] * springs.gravity


def _unit_mass():
    """Return the mass matrices (10, 6, 6) of the ten parameters, each one."""
    out = np.zeros((10, 6, 6))
    for k, pi in enumerate(np.eye(10)):
        S = skew(pi[1:4])
        out[k] = np.block([[pi[0] * np.eye(3), -S], [S, inertia_tensor(pi)]])
    return out


_UNIT_MASS = _unit_mass()
_SKEW = np.array([skew(axis) for axis in np.eye(3)])
_TURNS = np.array([np.kron(np.eye(2), S) for S in _SKEW])
