"""Distances of capsules on moving bodies, with derivatives; arrays only."""

from dataclasses import dataclass

import numpy as np

from .regressor_adjoint import Chain, dot, TreePass
from ..dynamics.body_motion import cross
from ..dynamics.robot_model import RobotModel


@dataclass(frozen=True)
class Capsules:
    """
    k capsules, the m pairs of them that must stay apart, and the f that must stay above a floor.

    bodies : (k,) body that carries the capsule, -1 for the base
    ends : (k, 2, 3) of its axis, in that body's frame [m]; radii : (k,) [m]; pairs : (m, 2)
    above : (f,) capsules kept above the plane z = ``floor`` [m] of the base frame
    margins : (m + f,) distance to be kept by the pairs, then by those above the floor [m]
    """

    bodies: np.ndarray
    ends: np.ndarray
    radii: np.ndarray
    pairs: np.ndarray
    above: np.ndarray
    floor: float
    margins: np.ndarray

    def pairs_of_bodies(self) -> np.ndarray:
        """Return the bodies (m + f, 2) of every gap, -1 for the base, obstacles and the floor."""
        floor = np.column_stack([self.bodies[self.above], np.full(len(self.above), -1)])
        return np.vstack([self.bodies[self.pairs], floor])

    def gaps_at(self, robot: RobotModel, q: np.ndarray) -> np.ndarray:
        """Return the gaps (N, m + f) [m] of a RobotModel ``robot`` in postures q (N, n)."""
        zero = np.zeros_like(q.T)
        return self.gaps(TreePass(Chain.of(robot), q.T, zero, zero, np.zeros(3)))[0].T

    def gaps(self, tree: TreePass) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """
        Return the gaps, (m + f, N) [m], of the pairs and above the floor, below 0 inside.

        tree : TreePass of N samples
        Also the closest points on both axes and the unit vector from the second to the first,
        each (3, m + f, N), in the base frame.
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
        pairs = gap, on_first, on_second, between / distance
        gap, on_first, on_second, normal = (
            np.concatenate(both, axis=-2) for both in zip(pairs, self._above_floor(ends)))
        return gap, on_first, on_second, normal

    def _above_floor(self, ends):
        """Return what ``gaps`` does, of the capsules above the floor (f, N)."""
        down = ends[:, :, self.above]
        lower = np.where(down[2:, 0] < down[2:, 1], down[:, 0], down[:, 1])
        foot = lower * np.array([1.0, 1.0, 0.0])[:, None, None]
        foot[2] = self.floor
        up = np.zeros_like(lower)
        up[2] = 1.0
        return lower[2] - self.floor - self.radii[self.above][:, None], lower, foot, up

    def back(self, tree: TreePass, gap_bar: np.ndarray, on_first: np.ndarray,
             on_second: np.ndarray, normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return p_bar and R_turn (3, n, N), see TreePass.back.

        tree : the TreePass of ``gaps``; gap_bar : (m + f, N) derivative by the gaps [1/m]
        on_first, on_second, normal : (3, m + f, N) the other results of ``gaps``
        """
        push, both = normal * gap_bar, self.pairs_of_bodies()
        p_bar, R_turn = np.zeros_like(tree.p), np.zeros_like(tree.p)
        for side, point, sign in ((0, on_first, 1.0), (1, on_second, -1.0)):
            bodies = both[:, side]
            for body in np.unique(bodies[bodies >= 0]):
                own = bodies == body
                force = sign * push[:, own]
                p_bar[:, body] += force.sum(1)
                R_turn[:, body] += cross(point[:, own] - tree.p[:, body, None], force).sum(1)
        return p_bar, R_turn

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
