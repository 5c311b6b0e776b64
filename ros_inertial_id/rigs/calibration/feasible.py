"""
Bounds of a combination that the data leave open, by physically consistent bodies.

The parameters x = x0 + N z that explain the data equally well are cut by the pseudo-inertias of
all bodies, P(x) >= 0 (Wensing, Kim, Slotine 2018): a convex set, so the least and the greatest
value of a linear function are two small semidefinite programs, solved by following the central
path of the log-det barrier (Boyd and Vandenberghe 2004, ch. 11).
"""

import numpy as np

from ...dynamics.inertial_parameters import pseudo_inertia
from ...errors import EstimationError
from ...estimation.newton import log_det, newton

GAP = 1e-7          # of the function, relative to its size at the start
DECREMENT = 1e-10   # squared, of Newton
STEPS = 100         # of Newton for every point of the path
UNBOUNDED = 1e9     # nothing bounds what has gone so far
GROWTH = 8.0        # of the barrier's weight from point to point


def feasible_interval(x0: np.ndarray, N: np.ndarray, direction: np.ndarray, to_bodies: np.ndarray,
                      offset: np.ndarray) -> tuple[float, float]:
    """
    Return (least, greatest) value of direction @ x over all physical x = x0 + N z.

    x0, direction : (p,); N : (p, k); to_bodies (10 n, p), offset (10 n,) : x -> ten parameters of
    each of n bodies.  EstimationError when no physical x exists: the data contradict consistency.
    """
    start = (offset + to_bodies @ x0).reshape(-1, 10)
    moves = (to_bodies @ N).T.reshape(N.shape[1], -1, 10)
    scale = np.sqrt(_size(start))  # congruence that makes masses and lengths comparable
    F0 = _scaled(pseudo_inertia(start), scale)
    F = _scaled(pseudo_inertia(moves), scale)
    # Unknowns of one size; those that move nothing (other columns) are left out.
    length = np.sqrt((F ** 2).sum((1, 2, 3)))
    used = length > 0
    F, slope = F[used] / length[used, None, None, None], (direction @ N)[used] / length[used]
    z = _interior(F0, F)
    here = float(direction @ x0)
    ends = [here + sign * _minimum(sign * slope, F0, F, z) for sign in (1.0, -1.0)]
    return ends[0], ends[1]


def diagonal_interval(x0: np.ndarray, n: np.ndarray, direction: np.ndarray, to_bodies: np.ndarray,
                      offset: np.ndarray) -> tuple[float, float]:
    """
    Return (least, greatest) direction @ x over x = x0 + s n with positive moments of inertia.

    The weaker condition of the suspended_platform paper (Eq. 19) on Ixx, Iyy, Izz of every body.
    x0, n, direction : (p,); to_bodies, offset : see ``feasible_interval``
    """
    diagonal = [4, 6, 9]
    start = (offset + to_bodies @ x0).reshape(-1, 10)[:, diagonal].ravel()
    move = (to_bodies @ n).reshape(-1, 10)[:, diagonal].ravel()
    low = max((-a / b for a, b in zip(start, move) if b > 1e-12), default=-np.inf)
    high = min((-a / b for a, b in zip(start, move) if b < -1e-12), default=np.inf)
    if low >= high:
        raise EstimationError('no positive moments of inertia explain the data')
    ends = [float(direction @ (x0 + s * n)) for s in (low, high)]
    return min(ends), max(ends)


def _size(start):
    """Return (n, 4): what a body's second moments and mass are like."""
    inertia = np.abs(start[:, [4, 6, 9]]).max(1)
    mass = np.maximum(np.abs(start[:, 0]), 1e-3)
    return np.column_stack([np.maximum(inertia, 1e-9)] * 3 + [mass])


def _scaled(P, scale):
    return P / (scale[:, :, None] * scale[:, None, :])


def _interior(F0, F):
    """Return z with F0 + sum z F > 0 by raising the smallest eigenvalue above zero."""
    eye = np.broadcast_to(np.eye(4), F0.shape)
    lift = max(0.0, -float(np.linalg.eigvalsh(F0).min())) + 1.0
    z = np.append(np.zeros(len(F)), lift)
    if lift <= 1.0:
        return z[:-1]
    G = np.concatenate([F, eye[None]])
    slope = np.append(np.zeros(len(F)), 1.0)
    weight = 1.0
    for _ in range(40):
        z = _center(weight * slope, F0, G, z)
        # Strictly inside, with a tenth of what the barrier gained as a margin.
        if np.linalg.eigvalsh(F0 + np.einsum('k,knij->nij', z[:-1], F)).min() > 1e-9:
            return z[:-1]
        weight *= GROWTH
        if weight > 1e12:
            break
    raise EstimationError('no physically consistent bodies explain the data',
                          found=f'a pseudo-inertia that lacks {z[-1]:.2g} of its size',
                          do='check the springs, the overall mass and the postures')


def _minimum(slope, F0, F, z):
    """Return the least slope @ z over F0 + sum z F >= 0, from a z inside."""
    weight, size = 1.0 / max(np.abs(slope).max(), 1e-300), 4.0 * len(F0)
    first = None
    for _ in range(60):
        z = _center(weight * slope, F0, F, z)
        value = float(slope @ z)
        if np.abs(z).max(initial=0.0) > UNBOUNDED:
            return value
        first = max(abs(value), 1e-9) if first is None else max(first, abs(value))
        if size / weight < GAP * first:
            return value
        weight *= GROWTH
    return value


def _center(slope, F0, F, z):
    """Return the minimum of slope @ z - log det(F0 + sum z F) from a z inside."""
    def matter(z):
        return F0 + np.einsum('k,knij->nij', z, F)

    def derivatives(z):
        G = np.einsum('nij,knjl->knil', np.linalg.inv(matter(z)), F)
        return slope - np.einsum('knii->k', G), np.einsum('knij,lnji->kl', G, G)

    return newton(lambda z: float(slope @ z) - log_det(matter(z)), derivatives, z,
                  np.eye(len(z)), DECREMENT, STEPS)[0]
