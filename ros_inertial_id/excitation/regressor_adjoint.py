"""
The regressor of a tree and its adjoint: how a number made from all rows changes with the motion.

In the base frame, about the base origin, body i with axes R = (r1 r2 r3), origin p and the
acceleration a of that origin minus gravity needs the wrench Y_i pi_i with the columns

    m      force a           moment p x a
    mc_k   force r''_k       moment r_k x a + p x r''_k          r' = omega x r
    I_kl   force 0           moment sym(r_k alpha_l + r'_k omega_l)

(alpha_l, omega_l are components in the body's frame).  Joint j has the unit twist
s_j = (z_j, p_j x z_j), a slider (0, z_j), and its row is s_j' Y_i for every body it moves
(Featherstone 2008, ch. 2 and 5).  Going back through these lines gives the derivative of any
function of the rows by q, v and a at about twice the cost of the rows.

Vectors are (3, n, B): components first, samples last.  ``x_bar`` is the derivative by x.
For c = a x b:  a_bar = b x c_bar,  b_bar = c_bar x a.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics.body_motion import cross
from ..dynamics.robot_model import RobotModel

# (row, column) of the inertia tensor in the order of the standard parameters
_TENSOR = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
# where element (k, l) of the tensor stands among the ten standard parameters
_PLACE = np.array([[4, 5, 7], [5, 6, 8], [7, 8, 9]])


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the scalar products (...) of vectors a and b, each (3, ...)."""
    return np.einsum('x...,x...->...', a, b)


@dataclass(frozen=True)
class Chain:
    """
    The kinematics of a tree as arrays; n bodies numbered like the joints that move them.

    parents : (n,) index of the parent body, -1 for the base
    fixed : (3, 3, 3, n) parts of the orientation in the parent's frame that are constant, go
        with cos q and go with sin q (Rodrigues)
    translations (3, n), axes (3, n), prismatic (n,) : as in RobotModel
    moves : (n, n) moves[i, j] = 1 where joint j moves body i
    """

    parents: tuple[int, ...]
    fixed: np.ndarray
    translations: np.ndarray
    axes: np.ndarray
    prismatic: np.ndarray
    moves: np.ndarray

    @classmethod
    def of(cls, robot: RobotModel) -> 'Chain':
        """Return the Chain of a RobotModel ``robot``."""
        count = len(robot)
        moves = np.zeros((count, count))
        for i in range(count):
            moves[i, list(robot.ancestors(i))] = 1.0
        outer = robot.axes[:, :, None] * robot.axes[:, None, :]
        x, y, z = robot.axes.T
        zero = np.zeros(count)
        skew = np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]).transpose(2, 0, 1)
        parts = [
            np.einsum('nij,njk->ikn', robot.rotations, part)
            for part in (outer, np.eye(3) - outer, skew)
        ]
        return cls(
            robot.parents,
            np.array(parts),
            robot.translations.T.copy(),
            robot.axes.T.copy(),
            np.asarray(robot.prismatic, dtype=bool),
            moves,
        )


class TreePass:
    """
    One pass through a Chain: forward at construction, ``back`` with derivatives.

    q, v, a : (n, B) [rad, m, s]; gravity : (3,) or (3, B) in the base frame [m/s^2]
    R (3, 3, n, B), z, p (3, n, B) : orientations, joint axes, origins in the base frame [m]
    Y : (6, 10, n, B) moment and force of each body per standard parameter
    s : (6, n, B) unit twists of the joints, angular part first
    """

    def __init__(self, chain, q, v, a, gravity):
        self.chain = chain
        self.turn = np.where(chain.prismatic, 0.0, 1.0)[:, None]
        self.slide = 1.0 - self.turn if chain.prismatic.any() else None
        self.q, self.v, self.a = q, v, a
        self._orient()
        self._move(np.asarray(gravity, dtype=float).reshape(3, 1, -1))
        self._wrenches()

    def _orient(self):
        """Chain the orientations, then the twists and origins."""
        chain, angle = self.chain, self.q * self.turn
        constant, cosine, sine = chain.fixed[..., None]
        step = constant + cosine * np.cos(angle) + sine * np.sin(angle)
        self.R = np.empty_like(step)
        before = np.empty_like(step)
        for i, parent in enumerate(chain.parents):
            before[:, :, i] = self.R[:, :, parent] if parent >= 0 else np.eye(3)[:, :, None]
            np.einsum('xkb,klb->xlb', before[:, :, i], step[:, :, i], out=self.R[:, :, i])
        self.z = np.einsum('xknb,kn->xnb', self.R, chain.axes)
        self.arm = np.einsum('xknb,kn->xnb', before, chain.translations)
        self.d = self.arm if self.slide is None else self.arm + self.z * (self.slide * self.q)
        self.p = chain.moves @ self.d

    def _move(self, gravity):
        """Sum velocities and accelerations along the chain."""
        moves, before = self.chain.moves, self.chain.moves - np.eye(len(self.q))
        self.spin = self.z * (self.turn * self.v)
        self.omega, self.omega_before = moves @ self.spin, before @ self.spin
        turning = self.z * (self.turn * self.a) + cross(self.omega_before, self.spin)
        self.alpha, self.alpha_before = moves @ turning, before @ turning
        self.swing = cross(self.omega_before, self.d)
        step = cross(self.alpha_before, self.d) + cross(self.omega_before, self.swing)
        if self.slide is not None:
            sliding = self.z * (self.slide * self.v)
            step += self.z * (self.slide * self.a) + 2.0 * cross(self.omega_before, sliding)
        self.acc = moves @ step - gravity

    def _wrenches(self):
        """Write the body regressors Y and the twists s."""
        r, omega, alpha = self.R, self.omega[:, None], self.alpha[:, None]
        acc, p = self.acc[:, None], self.p[:, None]
        self.rd = cross(omega, r)
        self.rdd = cross(alpha, r) + cross(omega, self.rd)
        self.alpha_body = np.einsum('xknb,xnb->knb', r, self.alpha)
        self.omega_body = np.einsum('xknb,xnb->knb', r, self.omega)
        self.Y = np.zeros((6, 10) + self.q.shape)
        moment, force = self.Y[:3], self.Y[3:]
        force[:, 0], force[:, 1:4] = self.acc, self.rdd
        moment[:, 0] = cross(self.p, self.acc)
        moment[:, 1:4] = cross(r, acc) + cross(p, self.rdd)
        for place, (k, m) in enumerate(_TENSOR, start=4):
            out = moment[:, place]
            np.multiply(r[:, k], self.alpha_body[m], out=out)
            out += self.rd[:, k] * self.omega_body[m]
            if k != m:
                out += r[:, m] * self.alpha_body[k] + self.rd[:, m] * self.omega_body[k]
        self.s = np.empty((6,) + self.q.shape)
        self.s[:3], self.s[3:] = self.z * self.turn, cross(self.p, self.z) * self.turn
        if self.slide is not None:
            self.s[3:] += self.z * self.slide

    def back(
        self, Y_bar: np.ndarray, s_bar: np.ndarray, p_bar: Any = 0.0, R_turn: Any = 0.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return the derivatives by q, v, a, each (n, B).

        Y_bar (6, 10, n, B), s_bar (6, n, B), p_bar (3, n, B) : derivatives by Y, s, p
        R_turn : (3, n, B) derivative by a small rotation of body i about its origin [1/rad]
        """
        p_bar, z_bar = self._back_twists(s_bar, p_bar)
        r_bar, p_bar, omega_bar, alpha_bar, acc_bar = self._back_wrenches(Y_bar, p_bar)
        R_turn = R_turn + cross(self.R, r_bar).sum(1)
        return self._back_motion(omega_bar, alpha_bar, acc_bar, p_bar, z_bar, R_turn)

    def _back_twists(self, s_bar, p_bar):
        turning = s_bar[3:] * self.turn
        z_bar = s_bar[:3] * self.turn + cross(turning, self.p)
        if self.slide is not None:
            z_bar += s_bar[3:] * self.slide
        return p_bar + cross(self.z, turning), z_bar

    def _back_wrenches(self, Y_bar, p_bar):
        r, rd, omega, alpha = self.R, self.rd, self.omega[:, None], self.alpha[:, None]
        acc, p = self.acc[:, None], self.p[:, None]
        moment, force = Y_bar[:3], Y_bar[3:]
        mass, first, tensor = moment[:, 0], moment[:, 1:4], moment[:, _PLACE]
        alpha_body = np.einsum('xklnb,xknb->lnb', tensor, r)
        omega_body = np.einsum('xklnb,xknb->lnb', tensor, rd)
        rd_bar = np.einsum('xklnb,lnb->xknb', tensor, self.omega_body)
        r_bar = np.einsum('xklnb,lnb->xknb', tensor, self.alpha_body)
        r_bar += cross(acc, first) + alpha * alpha_body + omega * omega_body
        rdd_bar = cross(first, p) + force[:, 1:4]
        rd_bar += cross(rdd_bar, omega)
        r_bar += cross(rdd_bar, alpha) + cross(rd_bar, omega)
        acc_bar = cross(mass, self.p) + cross(first, r).sum(1) + force[:, 0]
        p_bar = p_bar + cross(self.acc, mass) + cross(self.rdd, first).sum(1)
        alpha_bar = (r * alpha_body + cross(r, rdd_bar)).sum(1)
        omega_bar = (r * omega_body + cross(rd, rdd_bar) + cross(r, rd_bar)).sum(1)
        return r_bar, p_bar, omega_bar, alpha_bar, acc_bar

    def _back_motion(self, omega_bar, alpha_bar, acc_bar, p_bar, z_bar, R_turn):
        below = self.chain.moves.T
        after = below - np.eye(len(below))
        step_bar = below @ acc_bar
        swing_bar = cross(step_bar, self.omega_before)
        d_bar = below @ p_bar + cross(step_bar, self.alpha_before)
        d_bar += cross(swing_bar, self.omega_before)
        before_bar = cross(self.swing, step_bar) + cross(self.d, swing_bar)
        sliding_bar = None
        if self.slide is not None:
            sliding_bar = 2.0 * cross(step_bar, self.omega_before)
            before_bar += 2.0 * cross(self.z * (self.slide * self.v), step_bar)
        turning_bar = below @ alpha_bar + after @ cross(self.d, step_bar)
        before_bar += cross(self.spin, turning_bar)
        spin_bar = below @ omega_bar + after @ before_bar + cross(turning_bar, self.omega_before)
        z_bar = z_bar + self.turn * (turning_bar * self.a + spin_bar * self.v)
        v_bar, a_bar = self.turn * dot(self.z, spin_bar), self.turn * dot(self.z, turning_bar)
        q_bar = 0.0
        if self.slide is not None:
            assert sliding_bar is not None
            z_bar += self.slide * (d_bar * self.q + sliding_bar * self.v + step_bar * self.a)
            q_bar = self.slide * dot(self.z, d_bar)
            v_bar += self.slide * dot(self.z, sliding_bar)
            a_bar += self.slide * dot(self.z, step_bar)
        R_turn = below @ (R_turn + cross(self.z, z_bar)) + after @ cross(self.arm, d_bar)
        return q_bar + self.turn * dot(self.z, R_turn), v_bar, a_bar
