"""
Shares: what each of links fixed to one another has of the body that they are.

Links fixed to one another are one body to an identification; its pseudo-inertia P is shared out
by the congruence T that turns their nominal sum P0 into it,

    T P0 T = P,   T = P0^-1/2 (P0^1/2 P P0^1/2)^1/2 P0^-1/2,   P_link' = T P_link T,

which keeps every link's positive definite and their sum exactly P (T is the geometric mean of P
and P0^-1; Bhatia, Positive definite matrices, 2007, ch. 4).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ...estimation.consistency import solid


def shares_of(
    names: Sequence[str],
    placements: Mapping[str, np.ndarray],
    nominal: Mapping[str, np.ndarray],
    P: np.ndarray,
) -> dict[str, np.ndarray]:
    """
    Return {link: its share (4, 4) of the pseudo-inertia P in the joint frame}; see the module.

    names : of links with mass; placements : (4, 4) of each in the joint frame
    nominal : ten parameters (10,) of each in its own frame
    """
    if len(names) == 1:
        return {names[0]: P}
    shares = {}
    for name in names:
        G = placements[name]
        shares[name] = G @ solid(nominal[name][None])[0] @ G.T
    T = _congruence(sum(shares.values()), P)
    return {name: T @ share @ T for name, share in shares.items()}


def _congruence(P0, P):
    """Return T = T' > 0 with T P0 T = P."""
    root = _power(P0, 0.5)
    inverse = _power(P0, -0.5)
    T = inverse @ _power(root @ P @ root, 0.5) @ inverse
    return (T + T.T) / 2


def _power(matrix, exponent):
    w, V = np.linalg.eigh((matrix + matrix.T) / 2)
    return (V * w**exponent) @ V.T
