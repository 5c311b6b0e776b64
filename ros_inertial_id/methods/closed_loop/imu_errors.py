"""
How an IMU is turned against its link and how far its scales are off, seen in the markers' motion.

What it should read of the motion that markers alone show differs from what it reads by noise of
the markers, by biases, and by these.  What is beyond doubt is taken out of the readings; the
rest is left as it is, for correcting by a number that is mostly noise would only add some.
"""

from dataclasses import dataclass
from typing import Any, Mapping

import numpy as np
from scipy.spatial.transform import Rotation

from ...measurement.bodies.imu_mounting import fit_by_parts, LIKELY, mounting_columns, PRIOR, SURE

EDGE = 20      # part of the readings that is left out at both ends
ROUNDS = 3     # a turn of ten degrees is not small
MOVES = 0.7    # share of an axis' readings that the motion explains, or its scale does not show
TURN, SCALE = slice(0, 3), slice(9, 15)  # between them the biases


@dataclass(frozen=True)
class ImuErrors:
    """
    Turn and scale errors of an IMU: zeros where there is none beyond doubt.

    turn : (3,) rotation vector from the axes it has to those of its link [rad]
    scale : (6,) of gyro and accelerometer, share of the reading that is too much [-]
    """

    turn: np.ndarray
    scale: np.ndarray

    def corrected(self, readings: np.ndarray) -> np.ndarray:
        """Return readings (N, 6) [rad/s, m/s^2] of an IMU as described, without scale errors."""
        back = Rotation.from_rotvec(self.turn)
        right = readings * (1.0 - self.scale)
        return np.hstack([back.apply(right[:, :3]), back.apply(right[:, 3:])])

    def note(self) -> dict[str, list[Any]]:
        """Return what was found, for logs and the model file; None is no scale error."""
        return {'turned_degrees': np.degrees(self.turn).tolist(),
                'scale_corrected': [float(x) or None for x in self.scale]}


def noted(note: Mapping[str, Any]) -> ImuErrors:
    """Return the ImuErrors that a ``note`` of a model file says."""
    return ImuErrors(np.radians(note.get('turned_degrees') or np.zeros(3)),
                     np.array([x or 0.0 for x in note.get('scale_corrected') or np.zeros(6)]))


def imu_errors(read: np.ndarray, expected: np.ndarray) -> ImuErrors:
    """
    Return the ImuErrors of readings against what markers say that they should be.

    read, expected : (N, 6) angular velocity [rad/s] and specific force [m/s^2] at the same times
    """
    out = ImuErrors(np.zeros(3), np.zeros(6))
    for _ in range(ROUNDS):
        found = _beyond_doubt(out.corrected(read), expected)
        turn = Rotation.from_rotvec(found[TURN]) * Rotation.from_rotvec(out.turn)
        out = ImuErrors(turn.as_rotvec(), out.scale + found[SCALE])
    return out


def _beyond_doubt(read, expected):
    """
    Return turn, biases and scale errors (15,) of readings, zeros where they may be chance.

    By linear least squares on the readings, which have less noise than what is expected.
    """
    size = np.repeat([x.std() + 1e-12 for x in np.split(read - expected, 2, axis=1)], 3)
    A = np.concatenate([mounting_columns(read, 1.0)[:, :, :9],
                        read[:, :, None] * np.eye(6)], axis=2) / size[:, None]
    moves = expected.std(0) > MOVES * read.std(0)
    prior = np.concatenate([PRIOR[:9], np.where(moves, LIKELY, 1e-9)])
    # In the beginning and in the end the smoother knows least.
    inner = slice(len(A) // EDGE, len(A) - len(A) // EDGE)
    found, error = fit_by_parts(A[inner], ((read - expected) / size)[inner], prior)
    sure = np.abs(found) > SURE * error
    sure[TURN] = sure[TURN].any()
    sure[SCALE] &= moves
    return found * sure
