"""
The regressor of a tree and its adjoint: how a number made from all rows changes with the motion.

In the base frame, about the base origin, body i with orientation R = (r1 r2 r3), origin p and
the acceleration a of that origin minus gravity has the wrench Y_i pi_i with the columns

    m      force a           moment p x a
    mc_k   force r''_k       moment r_k x a + p x r''_k        r' = omega x r
    I_kl   force 0           moment sym(r_k alpha_l + r'_k omega_l)

(alpha_l, omega_l are components in the body's frame).  Joint j has the unit twist
s_j = (z_j, p_j x z_j), a slider (0, z_j), and the row of joint j is s_j' Y_i for all bodies it
moves (Featherstone 2008, ch. 2 and 5).  Going back through these lines in reverse order gives
the derivative of any function of the rows by q, v and a at about twice the cost of the rows.

Arrays are components first, samples last: vectors (3, n, B).
"""

from dataclasses import dataclass

import numpy as np

# (row, column) of the inertia tensor in the order of the standard parameters
_TENSOR = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


def cross(a, b):
    """Return the cross products of vectors (3, ...)."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for x, y, z in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        np.multiply(a[y], b[z], out=out[x])
        out[x] -= a[z] * b[y]
    return out


def dot(a, b):
    """Return the scalar products of vectors (3, ...)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@dataclass(frozen=True)
class Chain:
    """
    The kinematics of a tree as arrays; n bodies numbered like its joints.

    parents : (n,) index of the parent body, -1 for the base
    rotations (n, 3, 3), translations (n, 3), axes (n, 3), prismatic (n,) as in RobotModel
    last : (n,) one past the last body that joint j moves (bodies are numbered depth first)
    moved : (n, n) moved[i, j] = 1 where joint j moves body i
    """

    parents: tuple
    rotations: np.ndarray
    translations: np.ndarray
    axes: np.ndarray
    prismatic: np.ndarray
    last: tuple
    moved: np.ndarray

    @classmethod
    def of(cls, robot):
        """Return the Chain of a RobotModel."""
        count = len(robot)
        moved = np.zeros((count, count))
        for i in range(count):
            moved[i, list(robot.ancestors(i))] = 1.0
        last = tuple(max(robot.subtree(j)) + 1 for j in range(count))
        return cls(robot.parents, robot.rotations, robot.translations, robot.axes,
                   np.asarray(robot.prismatic, dtype=bool), last, moved)


class TreePass:
    """
    One pass through a Chain: forward at construction, then ``back`` with derivatives.

    q, v, a : (n, B); gravity : (3,) or (3, B) in the base frame
    Keeps p, z (3, n, B), R (3, 3, n, B): origins, axes and orientations in the base frame.
    """

    def __init__(self, chain, q, v, a, gravity):
        self.chain, self.v, self.a = chain, v, a
        self.slides = chain.prismatic.any()
        self.turn = (~chain.prismatic).astype(float)[:, None]
        self._orient(q)
        self._move(q, np.asarray(gravity).reshape(3, 1, -1))

    def _orient(self, q):
        """Chain the orientations: R_i = R_parent F_i Rot(axis_i, q_i)."""
        chain, size = self.chain, q.shape[1]
        axis, fixed = chain.axes, chain.rotations
        outer = axis[:, :, None] * axis[:, None, :]
        skew = np.cross(axis[:, None, :], np.eye(3)[None]).swapaxes(1, 2)
        angle = q * self.turn
        terms = [np.einsum('nij,njk->ikn', fixed, x)[..., None]
                 for x in (outer, np.eye(3) - outer, skew)]
        self.step = terms[0] + terms[1] * np.cos(angle) + terms[2] * np.sin(angle)
        self.R = np.empty((3, 3) + q.shape)
        self.R_before = np.empty((3, 3) + q.shape)
        for i, parent in enumerate(chain.parents):
            self.R_before[:, :, i] = (self.R[:, :, parent] if parent >= 0
                                      else np.eye(3)[:, :, None])
            np.einsum('xkb,klb->xlb', self.R_before[:, :, i], self.step[:, :, i],
                      out=self.R[:, :, i])
        self.z = np.einsum('xknb,nk->xnb', self.R, axis)
        self.d = np.einsum('xknb,nk->xnb', self.R_before, chain.translations)
        assert size == self.z.shape[-1]
