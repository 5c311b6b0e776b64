"""Distances of capsules on moving bodies, with derivatives; arrays only."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .regressor_adjoint import cross, dot, TreePass


@dataclass(frozen=True)
class Capsules:
    """
    k capsules and the m pairs of them that must stay apart.

    bodies : (k,) body that carries the capsule, -1 for the base
    ends : (k, 2, 3) of its axis, in that body's frame [m]; radii : (k,) [m]; pairs : (m, 2)
    """

    bodies: np.ndarray
    ends: np.ndarray
    radii: np.ndarray
    pairs: np.ndarray

    def without(self, pairs: Sequence[int]) -> 'Capsules':
        """Return the Capsules without the pairs of these indices."""
        return Capsules(self.bodies, self.ends, self.radii,
                        np.delete(self.pairs, pairs, axis=0))

    def gaps(self, tree: TreePass) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """
        Return the gaps between the pairs (m, N) [m], below 0 inside.

        tree : TreePass of N samples
        Also the closest points on both axes and the unit vector from the second to the first,
        each (3, m, N), in the base frame.
        """
        ends = self._placed(tree)
        first, second = self.pairs.T
        a, u = ends[:, 0, first], ends[:, 1, first] - ends[:, 0, first]
        b, w = ends[:, 0, second], ends[:, 1, second] - ends[:, 0, second]
        s, t = _closest(a - b, u, w)
        on_first, on_second = a + s * u, b + t * w
        between = on_first - on_second
        distance = np.sqrt(dot(between, between)) + 1e-12
        gap = distance - (self.radii[first] + self.radii[second])[:, None]
        return gap, on_first, on_second, between / distance

    def _placed(self, tree):
        """Return the ends (3, 2, k, N) in the base frame."""
        size = tree.q.shape[1]
        placed = np.empty((3, 2, len(self.bodies), size))
        for k, (body, ends) in enumerate(zip(self.bodies, self.ends)):
            if body < 0:
                placed[:, :, k] = ends.T[:, :, None]
            else:
                placed[:, :, k] = (np.einsum('xcb,ec->xeb', tree.R[:, :, body], ends)
                                   + tree.p[:, None, body])
        return placed

    def back(self, tree: TreePass, gap_bar: np.ndarray, on_first: np.ndarray,
             on_second: np.ndarray, normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return p_bar and R_turn (3, n, N), see TreePass.back.

        tree : the TreePass of ``gaps``; gap_bar : (m, N) derivative by the gaps [1/m]
        on_first, on_second, normal : (3, m, N) the other results of ``gaps``
        """
        push = normal * gap_bar
        p_bar, R_turn = np.zeros_like(tree.p), np.zeros_like(tree.p)
        for side, point, sign in ((0, on_first, 1.0), (1, on_second, -1.0)):
            bodies = self.bodies[self.pairs[:, side]]
            for body in np.unique(bodies[bodies >= 0]):
                own = bodies == body
                force = sign * push[:, own]
                p_bar[:, body] += force.sum(1)
                R_turn[:, body] += cross(point[:, own] - tree.p[:, body, None], force).sum(1)
        return p_bar, R_turn


def _closest(r, u, w):
    """Return the parameters in 0..1 of the closest points of segments a + s u and b + t w."""
    uu, ww, uw = dot(u, u) + 1e-12, dot(w, w) + 1e-12, dot(u, w)
    ur, wr = dot(u, r), dot(w, r)
    apart = np.maximum(uu * ww - uw * uw, 1e-12 * uu * ww)
    s = np.clip((uw * wr - ur * ww) / apart, 0.0, 1.0)
    t = (uw * s + wr) / ww
    inside = np.clip(t, 0.0, 1.0)
    s = np.where(t == inside, s, np.clip((uw * inside - ur) / uu, 0.0, 1.0))
    return s, inside
