"""
Step zero of suspended_platform: springs and platform from free vibrations with a known mass.

The same six rows, other unknowns: platform (ten), stiffness (21), damping (6) and preload (6) on
one side, the known mass that was added on the other.  Vibrations of the empty platform alone fix
nothing but ratios (every term could be doubled); the added mass sets the scale.
"""

from typing import Iterator

import numpy as np
from scipy.spatial.transform import Rotation

from .rig import displacement, Rest
from ..bodies.observation import BodiesState
from ..dynamics.rigid_bodies import composite_rows, ROW_UNITS, wrench_groups
from ...dynamics.friction import law_of
from ...dynamics.inertial_parameters import Parameter, SCALES, SYMBOLS, UNITS
from ...dynamics.regressor import BLOCK, RegressorBlock

PAIRS = tuple((i, j) for i in range(6) for j in range(i, 6))
K_SCALE = np.array([1e3] * 3 + [1e2] * 3)  # [N/m, N m/rad]: columns of one size
K_PRIOR_SD = 1e6
NAMES = ('x', 'y', 'z', 'rx', 'ry', 'rz')


def calibration_parameters() -> tuple[Parameter, ...]:
    """Return the 43 Parameters of an unknown platform on unknown springs."""
    out = [
        Parameter(s + '0', u, c, 0.0, 1e3, 'platform') for s, u, c in zip(SYMBOLS, UNITS, SCALES)
    ]
    for i, j in PAIRS:
        unit = ('N/m', 'N', 'N m/rad')[(i >= 3) + (j >= 3)]
        out.append(
            Parameter(
                f'k_{NAMES[i]}_{NAMES[j]}',
                unit,
                float(np.sqrt(K_SCALE[i] * K_SCALE[j])),
                0.0,
                K_PRIOR_SD,
                'springs',
                law_of('stiffness'),
            )
        )
    out += [
        Parameter(f'd_{n}', u, 1.0, 0.0, 1e4, 'springs', 'damping')
        for n, u in zip(NAMES, ('N s/m',) * 3 + ('N m s/rad',) * 3)
    ]
    out += [
        Parameter(f'preload_{n}', u, 1.0, 0.0, 1e5, 'springs', 'preload')
        for n, u in zip(NAMES, ROW_UNITS)
    ]
    return tuple(out)


def without_moment(rest: Rest, value: np.ndarray) -> tuple[Rest, np.ndarray]:
    """
    Return (rest, value (43,)) turned to where the springs have no moment.

    There, and only there, is the stiffness of springs symmetric: a moment M that they have at
    rest shows as a skew part [M]x / 2, and taken for symmetric as an inertia that is not there.
    """
    moment, K = value[40:43], stiffness_of(value)
    turn = np.linalg.solve(K[3:, 3:], moment)
    value = np.array(value)
    value[37:40] -= K[:3, 3:] @ turn
    value[40:43] = 0.0
    return (rest[0], Rotation.from_rotvec(turn).as_matrix() @ rest[1]), value


def stiffness_of(value: np.ndarray) -> np.ndarray:
    """Return the stiffness (6, 6) in the numbers ``value`` (43,), or in their errors."""
    K = np.zeros((6, 6))
    for k, (i, j) in enumerate(PAIRS):
        K[i, j] = K[j, i] = value[10 + k]
    return K


def calibration_blocks(
    state: BodiesState, rest: Rest, added: np.ndarray
) -> Iterator[RegressorBlock]:
    """
    Yield RegressorBlocks of a BodiesState of the platform with a known mass on it.

    rest : (position (3,), rotation (3, 3)) from which displacements count
    added : (10,) parameters of what was added, in the platform's frame; zeros when empty
    """
    for low in range(0, len(state.t), BLOCK):
        piece = state.rows(slice(low, low + BLOCK))
        body = piece.bodies[0]
        count = len(piece.t)
        x, dx = displacement(body, rest)
        rows = composite_rows([body], body.position)
        known = -np.einsum('ikn,k->ni', rows, np.asarray(added, dtype=float))
        springs = np.zeros((6, 33, count))
        for k, (i, j) in enumerate(PAIRS):
            springs[i, k] += x[:, j]
            if i != j:
                springs[j, k] += x[:, i]
        springs[range(6), 21 + np.arange(6)] = dx.T
        springs[range(6), 27 + np.arange(6)] = -1.0
        W = np.concatenate([rows, springs], axis=1)
        groups = wrench_groups('platform', np.arange(43), W.transpose(0, 2, 1), known, known)
        yield RegressorBlock(piece.t, state.segment, groups)
