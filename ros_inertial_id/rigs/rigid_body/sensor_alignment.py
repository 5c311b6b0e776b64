"""
How a force-torque sensor is turned against the frame that it is said to measure in.

Whatever the body weighs, the force on it points where its motion says.  A turn theta of the
sensor adds theta x f to the force, an error of gravity's direction R' dg: with mass, first
moments and bias all are linear in the force alone, and they differ as soon as the body turns.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from ..measurement.body_state import acceleration_at
from ..measurement.sources import BodiesObservation

SURE = 5.0     # standard errors beyond which the sensor is turned
LEAST = 0.1    # [deg] less is within what anybody mounts
MOST = 15.0    # [deg] more is no small angle: another frame, see wrench_frame
ROUNDS = 2     # of correcting and looking again
NYQUIST = 2.0  # independent samples per period of the cutoff


@dataclass(frozen=True)
class Alignment:
    """The turn (3,) [rad] of a sensor about its own axes, with standard errors (3,)."""

    turn: np.ndarray
    error: np.ndarray

    @property
    def significant(self) -> bool:
        """Return whether the sensor is turned beyond doubt and by what matters."""
        size = np.degrees(np.linalg.norm(self.turn))
        return bool((np.abs(self.turn) > SURE * self.error).any() and LEAST < size < MOST)

    def matrix(self) -> np.ndarray:
        """Return the rotation (3, 3) from what the sensor shows to the axes it is said to have."""
        return Rotation.from_rotvec(self.turn).as_matrix()

    def note(self) -> dict[str, list[float]]:
        """Return what was found, for logs and the model file."""
        return {'turn_deg': np.degrees(self.turn).round(4).tolist(),
                'standard_error_deg': np.degrees(self.error).round(4).tolist()}


def sensor_alignment(observation: BodiesObservation, rotation: np.ndarray) -> Alignment:
    """
    Return the Alignment of the one sensor on the one body of a BodiesObservation.

    observation : of the body; rotation : (3, 3) from the sensor's axes to the body's, as described
    """
    bodies, forces = [], []
    for state in observation.states(training=True):
        bodies.append(state.bodies[0])
        forces.append(state.sign * state.wrench[:, :3])
    fixed = np.concatenate([_columns(body, rotation) for body in bodies])
    measured, turn = np.concatenate(forces), np.zeros(3)
    for _ in range(ROUNDS):
        shown = Rotation.from_rotvec(turn).apply(measured)
        A = np.concatenate([fixed, np.cross(shown[:, None], np.eye(3)[None]).swapaxes(1, 2)], 2)
        x, covariance = _fit(A.reshape(-1, A.shape[2]), shown.ravel())
        turn = (Rotation.from_rotvec(x[-3:]) * Rotation.from_rotvec(turn)).as_rotvec()
    per_period = 1.0 / (observation.clock.period * observation.decimate
                        * observation.summary['cutoff'])
    error = np.sqrt(np.diag(covariance)[-3:] * max(1.0, per_period / NYQUIST))
    return Alignment(turn, error)


def _columns(body, rotation):
    """Return (N, 3, 10): force along the sensor's axes by mass, first moments, gravity, bias."""
    swing = np.stack([acceleration_at(body.omega, body.alpha, e) for e in np.eye(3)], axis=2)
    known = np.concatenate([body.acc[:, :, None], swing, -body.rotation().transpose(0, 2, 1)], 2)
    eye = np.broadcast_to(np.eye(3), swing.shape)
    return np.concatenate([rotation.T @ known, eye], axis=2)


def _fit(A, y):
    """Return the least squares solution and its covariance, directions without a row at zero."""
    size = np.linalg.norm(A, axis=0) + 1e-300
    inverse = np.linalg.pinv((A / size).T @ (A / size), rcond=1e-10, hermitian=True)
    x = inverse @ ((A / size).T @ y)
    variance = ((y - A / size @ x) ** 2).sum() / max(1, len(y) - len(x))
    return x / size, variance * inverse / size / size[:, None]
