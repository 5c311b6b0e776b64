"""
Free vibration of a body on springs: natural frequencies, and how they depend on its parameters.

The springs put ``preload - K x`` on the body's origin, x displacement and rotation vector from
the rest pose along the world's axes; gravity pulls at its centre.  Around the pose where both
balance, small motions obey M a + K' x = 0; K' has a part from the weight, as a pendulum's.
Damping is left out: at a ratio of 0.02 it moves a frequency by 0.02 percent.
"""

from dataclasses import dataclass

import numpy as np
from pinocchio import skew
from scipy.linalg import eig
from scipy.spatial.transform import Rotation

from ...dynamics.inertial_parameters import inertia_tensor
from ...errors import EstimationError

STEPS = 50


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


@dataclass(frozen=True)
class Vibration:
    """
    Six modes of a body at rest on its springs.

    squared : (6,) of the angular frequencies, ascending [rad^2/s^2], negative where it topples
    slope : (6, 10) their derivatives by the body's ten parameters
    displacement : (6,) of the pose at rest
    """

    squared: np.ndarray
    slope: np.ndarray
    displacement: np.ndarray

    @property
    def frequency(self) -> np.ndarray:
        """Return the frequencies (6,) [Hz], negative where it topples."""
        return np.sign(self.squared) * np.sqrt(np.abs(self.squared)) / (2 * np.pi)

    @property
    def frequency_slope(self) -> np.ndarray:
        """Return the derivatives (6, 10) of the frequencies."""
        size = np.maximum(np.abs(self.frequency), 1e-3)  # a topple has no slope
        return self.slope / (8 * np.pi ** 2 * size)[:, None]


def vibration(springs: Suspension, pi: np.ndarray) -> Vibration:
    """
    Return the Vibration of a body with ten parameters ``pi`` about its origin, in its own frame.

    d(w^2) = psi' (dK' - w^2 dM) phi / psi' M phi (Fox and Kapoor 1968), also through the pose at
    rest, which moves with the weight.

    springs : Suspension of the body; pi : (10,) [kg, kg m, kg m^2]
    """
    x, R, stiffness, masses = _balance(springs, pi)
    M = np.tensordot(pi, masses, 1)
    values, left, right = eig(stiffness, M, left=True)
    order = np.argsort(values.real)
    values, left, right = values[order].real, left[:, order], right[:, order]
    weight = (left.conj() * (M @ right)).sum(0)
    dK, dM = np.zeros((13, 6, 6)), np.zeros((13, 6, 6))  # by ten parameters, by three turns
    dM[:10] = masses
    for k, moment in enumerate(R.T):
        dK[1 + k, 3:, 3:] = _pendulum(springs, moment)
    for k, axis in enumerate(np.eye(3)):
        S = np.kron(np.eye(2), skew(axis))
        dM[10 + k] = S @ M - M @ S
        dK[10 + k, :, 3:] = -0.5 * springs.stiffness[:, 3:] @ skew(axis)  # of _rate, first order
        dK[10 + k, 3:, 3:] += _pendulum(springs, np.cross(axis, R @ pi[1:4]))
    dK, dM = ((left.conj() * (d @ right)).sum(1) for d in (dK, dM))
    slope = ((dK - values * dM) / weight).real.T
    load = np.zeros((6, 10))
    load[:3, 0], load[3:, 1:4] = springs.gravity, -skew(springs.gravity) @ R
    turn = np.linalg.solve(stiffness, load)[3:]
    return Vibration(values, slope[:, :10] + slope[:, 10:] @ turn, x)


def _balance(springs, pi):
    """
    Return displacement (6,), rotation (3, 3), stiffness (6, 6) where all forces cancel.

    Also mass matrices (10, 6, 6) of unit parameters about the origin along the world's axes.
    """
    x, g = np.zeros(6), springs.gravity
    for _ in range(STEPS):
        R = Rotation.from_rotvec(x[3:]).as_matrix() @ springs.rest_rotation
        moment = R @ pi[1:4]
        K = springs.stiffness @ _rate(x[3:])
        K[3:, 3:] += _pendulum(springs, moment)
        residual = springs.preload - springs.stiffness @ x
        residual[:3] += pi[0] * g
        residual[3:] += np.cross(moment, g)
        if np.abs(residual).max() < 1e-9 * (1.0 + np.abs(springs.preload).max()):
            T = np.kron(np.eye(2), R)
            return x, R, K, T @ _UNIT_MASS @ T.T
        step = np.linalg.solve(K, residual)
        step *= min(1.0, 0.3 / (np.abs(step[3:]).max() + 1e-12))  # a turn stays within the chart
        x[:3] += step[:3]
        x[3:] = (Rotation.from_rotvec(step[3:]) * Rotation.from_rotvec(x[3:])).as_rotvec()
    raise EstimationError('the springs do not carry this body',
                          found=f'{np.abs(residual).max():.2g} N or N m out of balance')


def _rate(theta):
    """Return (6, 6): change of (displacement, rotation vector) by displacement and small turn."""
    angle, S = np.linalg.norm(theta), skew(theta)
    c = 1 / 12 if angle < 1e-4 else (1 - 0.5 * angle / np.tan(0.5 * angle)) / angle ** 2
    out = np.eye(6)
    out[3:, 3:] += -0.5 * S + c * S @ S
    return out


def _pendulum(springs, moment):
    """Return the stiffness (3, 3) against turning of a weight with this first moment (3,)."""
    return -skew(springs.gravity) @ skew(moment)


def _unit_mass():
    """Return the mass matrices (10, 6, 6) of the ten parameters, each one."""
    out = np.zeros((10, 6, 6))
    for k, pi in enumerate(np.eye(10)):
        S = skew(pi[1:4])
        out[k] = np.block([[pi[0] * np.eye(3), -S], [S, inertia_tensor(pi)]])
    return out


_UNIT_MASS = _unit_mass()
