"""An IMU that is mounted a few degrees otherwise than described, as the rows show it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .base_motion import ImuMotion
from .observation import FloatingObservation
from ..bodies.observation import doubt

STEP = np.deg2rad(5.0)  # by which the IMU is turned about each axis to see what it changes
LARGEST = np.deg2rad(30.0)  # of a turn that parabolas show
TURN_ROUNDS = 2
EXPLAINS = 0.6  # of the residual is left at most by a turn that is right


def turn_doubts(
    observation: FloatingObservation, relative: Callable[[FloatingObservation], float]
) -> list[dict[str, Any]]:
    """
    Return the fields of a Finding where an IMU that is turned a little explains more.

    relative : of an observation -> the residual that is left of its rows
    Squares of the residual are about a parabola of a small turn about each axis.
    """
    base = observation.base
    if not isinstance(base, ImuMotion):
        return []

    def square(turn: np.ndarray) -> float:
        remounted = base.remounted(Rotation.from_rotvec(turn).as_matrix(), np.ones(2))
        return relative(replace(observation, base=remounted)) ** 2

    turn = np.zeros(3)
    before = left = square(turn)
    for _ in range(TURN_ROUNDS):
        turn = turn + np.array([_lowest(square, turn, axis, left) for axis in STEP * np.eye(3)])
        left = square(turn)
    if left > EXPLAINS**2 * before:
        return []
    degrees = ' '.join(f'{angle:.0f}' for angle in np.rad2deg(turn))
    return [
        doubt(
            'IMU otherwise than described',
            f'the IMU is turned by about {degrees} degrees about x, y and z of its frame',
            'the residual with it turned so',
            (100.0 * left**0.5, '% residual with it'),
            'correct the frame of the IMU in the description',
        )
    ]


def _lowest(square, turn, axis, here):
    """Return how far along an ``axis`` [rad] the parabola through three turns is lowest."""
    less, more = square(turn - axis), square(turn + axis)
    curvature = less - 2.0 * here + more
    if curvature <= 0.0:
        return 0.0
    return np.clip(0.5 * STEP * (less - more) / curvature, -LARGEST, LARGEST)
