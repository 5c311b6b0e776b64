"""Described torques: how far the efforts are those of the description, friction apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .hypothesis import Hypothesis
from .rows import Rows

NOTHING = 1e-9     # of the efforts: described torques so small are rounding
DESCRIBED = 0.5    # a description's torques are right within a factor exp(0.5) or so,
UNDESCRIBED = 6.0  # and where they are not at all, a joint costs that many nats
NOTHING = 1e-9    # of the efforts: described torques so small are rounding


def ratios_of(rows: Rows, reduced: Any, effective: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return (n, n) efforts over the described torques, friction apart, and their errors.

    rows : of the data; reduced : [joint] (A'A, A'Y, Y'Y) in units of the prior; effective : (n,)
    Entry [j, k] is of the torque of joint j in effort column k.
    """
    ratio, error = zip(*(_ratio(rows, j, reduced[j], effective[j])
                         for j in range(len(rows.robot))))
    return np.array(ratio), np.array(error)


def _ratio(rows: Rows, j: int, reduced: Any, effective: float) -> tuple[np.ndarray, np.ndarray]:
    AA, AY, YY = (x.sum(0) for x in reduced)
    count = len(rows.robot)
    return ratio_of(rows, j, AA, AY[:, :count], np.diagonal(YY)[:count], effective)


def ratio_of(rows: Rows, j: int, AA: np.ndarray, AY: np.ndarray, square: np.ndarray,
             effective: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return (m,) efforts over described torques of joint ``j``, and their errors.

    rows : of the data; AA : (c, c), AY : (c, m) products in units of the prior; square : (m,) sums
    of squares of the efforts; effective : number of independent samples
    """
    at = rows.places[j]
    basis = np.zeros((len(at), 4))
    basis[:, 0] = rows.prior.mean[at] / rows.prior.sd[at]
    basis[-4:-1, 1:] = np.eye(3)
    H, b = basis.T @ AA @ basis, basis.T @ AY
    size = np.sqrt(np.maximum(np.diagonal(H), 1e-300))
    inverse = np.linalg.pinv(H / size / size[:, None], rcond=1e-9, hermitian=True)
    x = inverse @ (b / size[:, None])
    left = np.maximum(square - (b / size[:, None] * x).sum(0), 0.0)
    described = H[0, 0] > NOTHING ** 2 * max(float(square.max()), 0.0)
    if not (described and inverse[0, 0] > 0.0):  # it has no torque, or one like friction's
        return np.zeros(len(square)), np.full(len(square), np.inf)
    error = np.sqrt(inverse[0, 0] * left / effective)
    return x[0] / size[0], error / size[0]


def undescribed(h: Hypothesis, joints: Sequence[int], ratio: np.ndarray,
                error: np.ndarray) -> float:
    """
    Return the nats that torques cost which are not those of the description.

    h : what is true; joints : that count; ratio, error : (n, n) of ``ratios_of`` under its gravity
    """
    cost = 0.0
    for j in joints:
        k = h.target[j] if h.target[j] < len(ratio) else j  # or its own, delayed
        cost += surprise(h.scale[j] * ratio[j, k], h.scale[j] * error[j, k])
    return cost


def surprise(ratio: float, error: float) -> float:
    """
    Return the nats that a joint costs whose torques are not those of the description.

    ratio, error : torques over described ones, and its standard error
    """
    unknown = (error / max(abs(ratio), 1e-12)) ** 2
    off = 0.5 * np.log(max(abs(ratio), 1e-12)) ** 2 / (DESCRIBED ** 2 + unknown)
    return float(min(UNDESCRIBED, off + UNDESCRIBED * (ratio < 0) / (1.0 + 4.0 * unknown)))


def nominal_residual(rows: Rows, gravity: np.ndarray | None = None) -> np.ndarray:
    """
    Return the (n,) RMS of what the description of ``rows`` leaves, friction fitted [N m].

    gravity : (3,) [m/s^2], as declared by default
    """
    out = []
    for j, at in enumerate(rows.places):
        gram = rows.grams[j].sum(0)
        described = rows.prior.mean[at].copy()
        described[-4:] = 0.0
        torque = rows.combined(j, described[:, None], gravity)[:, 0]
        own = -torque
        own[rows.target(j, j)] += 1.0
        friction = np.zeros((len(own), 4))
        friction[len(at) - 4 + np.arange(4), np.arange(4)] = 1.0
        F, g = friction.T @ gram @ friction, friction.T @ gram @ own
        size = np.sqrt(np.maximum(np.diagonal(F), 1e-300))
        x = np.linalg.pinv(F / size / size[:, None], rcond=1e-9, hermitian=True) @ (g / size)
        square = own @ gram @ own - x @ (g / size)
        out.append(np.sqrt(max(square, 0.0) / len(rows.fold)))
    return np.array(out)
