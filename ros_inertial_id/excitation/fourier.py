"""
Motions as finite Fourier series (Swevers et al. 1997; Troebinger et al., Eq. 12).

    q(t) = q0 + sum_k  a_k sin(k w t) + b_k cos(k w t),   w = 2 pi / period,  k = 1..K

At rest at the start, and so at the end of every period, means sum k a_k = 0 (velocity; Eq. 13 of
Troebinger et al. prints sum a_k) and sum k^2 b_k = 0 (acceleration).  All motions at rest are an
affine space; the search moves inside it by coordinates x of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import MotionError

LARGEST_NUMBER = 1e6  # [rad, m, s] of a motion's numbers, 1e-6 s the least


@dataclass(frozen=True)
class FourierMotion:
    """
    A periodic motion of n joints.

    joint_names : (n,); period : [s]
    offset : (n,) mean position [rad or m]
    sine, cosine : (n, K) coefficients of the harmonics [rad or m]
    """

    joint_names: tuple[str, ...]
    period: float
    offset: np.ndarray
    sine: np.ndarray
    cosine: np.ndarray

    def __post_init__(self):
        for name in ('offset', 'sine', 'cosine'):
            array = np.array(getattr(self, name), dtype=float)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def harmonics(self) -> int:
        """Return the number K of harmonics."""
        return self.sine.shape[1]

    @property
    def start(self) -> np.ndarray:
        """Return the position (n,) at the start and end of every period."""
        return self.offset + self.cosine.sum(1)

    def at(self, times: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return (q, v, a), each (N, n), at times (N,) [s]."""
        phases = basis(self.harmonics, self.period, times)
        coefficients = np.column_stack([self.offset, self.sine, self.cosine])
        return tuple(phase @ coefficients.T for phase in phases)

    def to_dict(self) -> dict[str, Any]:
        """Return the motion as plain lists, coefficients by joint name."""
        joints = {}
        for j, name in enumerate(self.joint_names):
            joints[name] = {
                'offset': float(self.offset[j]),
                'sine': self.sine[j].tolist(),
                'cosine': self.cosine[j].tolist(),
            }
        return {'period': float(self.period), 'joints': joints}


def motion_from_dict(content: Mapping[str, Any], source: str = 'motion') -> FourierMotion:
    """Return the FourierMotion of what ``to_dict`` made; MotionError when it is none."""
    try:
        period, joints = float(content['period']), content['joints']
        offset, sine, cosine = (_by_joint(joints, key) for key in ('offset', 'sine', 'cosine'))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MotionError(
            f'{source} is not a motion',
            expected='period, joints: {name: {offset, sine, cosine}}',
            found=f'{type(error).__name__}: {error}',
        ) from None
    numbers = (offset, sine, cosine)
    finite = all(x.size and (np.abs(x) < LARGEST_NUMBER).all() for x in numbers)
    if not finite or not 1.0 / LARGEST_NUMBER < period < LARGEST_NUMBER:
        raise MotionError(
            f'{source} has unequal or non-finite numbers',
            expected=('a period above 0, as many of offset, sine, cosine everywhere'),
        )
    if offset.ndim != 1 or sine.ndim != 2 or sine.shape != cosine.shape:
        raise MotionError(
            f'{source} has unequal coefficients', expected='as many sines as cosines everywhere'
        )
    return FourierMotion(tuple(joints), period, offset, sine, cosine)


def _by_joint(joints: Mapping[str, Any], key: str) -> np.ndarray:
    return np.array([joints[name][key] for name in joints], dtype=float)


def basis(
    harmonics: int, period: float, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return values and first two derivatives of 1, sines and cosines, each (N, 1 + 2 K).

    harmonics : their number K; period : of the first [s]; times : (N,) [s]
    """
    w = 2.0 * np.pi / period * np.arange(1, harmonics + 1)
    angle = np.asarray(times, dtype=float)[:, None] * w
    sin, cos, ones = np.sin(angle), np.cos(angle), np.ones((len(angle), 1))
    return (
        np.hstack([ones, sin, cos]),
        np.hstack([0 * ones, w * cos, -w * sin]),
        np.hstack([0 * ones, -w * w * sin, -w * w * cos]),
    )


def rest_space(harmonics: int, start_given: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the motions at rest of one joint: c = direction * start + space @ x.

    harmonics : their number K
    c : (1 + 2 K) offset, sines, cosines; space : (1 + 2 K, m) orthonormal; direction (1 + 2 K)
    start_given : q(0) = ``start``; otherwise it is free and ``direction`` is zero
    """
    k = np.arange(1, harmonics + 1, dtype=float)
    zeros, ones = np.zeros(harmonics), np.ones(harmonics)
    rows = [np.r_[0.0, k, zeros], np.r_[0.0, zeros, k * k]]
    if start_given:
        rows.append(np.r_[1.0, zeros, ones])
    direction = np.r_[1.0, zeros, zeros] * float(start_given)
    return direction, np.linalg.svd(np.array(rows))[2][len(rows) :].T


def random_motion(
    joint_names: Sequence[Any],
    bounds: Sequence[np.ndarray],
    rng: np.random.Generator,
    *,
    period: float = 10.0,
    harmonics: int = 5,
    share: float = 0.9,
) -> FourierMotion:
    """
    Return a random motion at rest at its ends within position, velocity, acceleration limits.

    joint_names : (n,); rng : draws the coefficients
    bounds : lower, upper, velocity and, if there are any, acceleration limits, each (n,), inf
        or nan where there is none [rad or m and their derivatives]
    period : [s]; harmonics : of the series; share : of its nearest limit that every joint uses
    """
    names = tuple(joint_names)
    count = len(names)
    space = rest_space(harmonics)[1]
    coefficients = rng.standard_normal((count, space.shape[1])) @ space.T
    coefficients[:, 0] = 0.0
    phases = basis(harmonics, period, np.linspace(0.0, period, 40 * harmonics + 1))
    q, v, a = (np.asarray(phase @ coefficients.T) for phase in phases)
    given = [*(np.asarray(bound, float) for bound in bounds), np.full(count, np.inf)]
    low, high, speed, acc = (
        np.where(np.isfinite(x), x, default)
        for x, default in zip(given, (-np.pi, np.pi, 2.0, np.inf))
    )
    scale = share * np.minimum(
        np.minimum(speed / abs(v).max(0), acc / abs(a).max(0)), (high - low) / np.ptp(q, axis=0)
    )
    coefficients *= scale[:, None]
    lowest, highest = low - scale * q.min(0), high - scale * q.max(0)
    coefficients[:, 0] = rng.uniform(lowest, highest)
    K = harmonics
    return FourierMotion(
        names, period, coefficients[:, 0], coefficients[:, 1 : K + 1], coefficients[:, K + 1 :]
    )
