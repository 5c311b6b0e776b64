"""
Long pushes: torques of several seconds, constant or half a sine, from one time to another.

A link that is pushed loads many joints; an offset of a sensor that changes looks the same.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.linalg import solve_triangular

from .finding import DOUBTFUL, Finding
from .thin_samples import amid, slow, ThinSamples
from .thresholds import CERTAIN, CONTACT_LOAD, FIFTH, PUSH_LESS
from ..estimation.residuals import autocovariances, correlation_time

PIECES = 24      # of time, between which a push begins and ends
LEAST = 1e-5     # of the squared residual, that a push leaves: less is rounding
TINY = 1e-9


def long_push_findings(samples: ThinSamples, joints: Sequence[str]) -> list[Finding]:
    """
    Return the Finding of the push of several seconds that explains most, if it is certain.

    A push bends the fit that should show it, so that the model is fitted beside it, to samples
    in which a joint moves.
    """
    t, torque = samples.t, np.sqrt(np.mean(samples.torque ** 2, axis=0))
    weight = ~slow(samples.velocity) / samples.sd
    left, Q = _fitted(samples, weight)
    piece = np.minimum(((t - t[0]) / max(np.ptp(t), 1e-9) * PIECES).astype(int), PIECES - 1)
    shapes = _shapes()
    P = (piece[:, None] == np.arange(PIECES))[:, :, None] * weight[:, None]
    seen = Q.swapaxes(1, 2) @ P.transpose(2, 0, 1)
    toward = shapes @ (P * left[:, None]).sum(axis=0)
    size = shapes ** 2 @ (P ** 2).sum(axis=0) - np.square(shapes @ seen.swapaxes(1, 2)).sum(2).T
    gain = toward / np.maximum(size, TINY)
    share = np.minimum(toward * gain / np.maximum((left ** 2).sum(axis=0), TINY), 1.0 - LEAST)
    own = (np.sqrt(1.0 - share) < PUSH_LESS) & (np.abs(gain) > FIFTH * torque)
    # What touches the arm loads it as a whole: a small joint alone has friction of its own.
    load = np.linalg.norm(gain * own, axis=1, keepdims=True)
    own &= load > CONTACT_LOAD * np.linalg.norm(torque)
    k = int(np.argmax(-(np.log1p(-share) * own).sum(axis=1)))
    push = shapes[k] @ P - (Q @ (seen @ shapes[k])[:, :, None])[:, :, 0].T
    # A push that is there correlates what holds it: few samples would seem independent.
    nats = -0.5 * len(t) * np.log1p(-share[k]) / _lasting(left - push * gain[k])
    own = own[k]
    certain = float(nats[own].sum() - np.log(len(shapes) * len(joints)))
    during = t[shapes[k][piece] > 0.0]
    if certain < CERTAIN or not amid(during[0], during[-1], t):
        return []
    names = tuple(n for n, concerned in zip(joints, own) if concerned)
    return [Finding('contact', f'the efforts of {", ".join(names)} are off from {during[0]:.1f} '
                    f'to {during[-1]:.1f} s: a long push, a load or an offset of the sensor',
                    'residuals with a torque for some time, and without', certain, 'nats', names,
                    DOUBTFUL, 'move without touching anything')]


def _fitted(samples: ThinSamples, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted residuals (N, n) of the model, and its columns (n, N, k), orthonormal."""
    R, A = samples.triangle(weight), samples.rows * weight.T[:, :, None]
    count = A.shape[2]
    Q = solve_triangular(R[:count, :count].T, A.reshape(-1, count).T, lower=True).T
    Q = Q.reshape(A.shape)
    return samples.torque * weight - (Q @ R[:count, count]).T, Q


def _shapes() -> np.ndarray:
    """Return shapes (m, PIECES) of a push: constant and half a sine between any two pieces."""
    k, out = np.arange(PIECES), []
    for low, high in combinations(range(1, PIECES), 2):
        inside = (k >= low) & (k < high)
        out += [inside, inside * np.sin(np.pi * (k + 0.5 - low) / (high - low))]
    return np.array(out, dtype=float)


def _lasting(series: np.ndarray) -> np.ndarray:
    """Return (n,) the integrated correlation times of ``series`` (N, n) [samples]."""
    lags = autocovariances(series.T) / np.arange(len(series), 0, -1)
    return np.array([correlation_time(own / own[0]) if own[0] > 0 else 1.0 for own in lags])
