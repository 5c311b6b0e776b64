"""The number that the search makes small, with its gradient: criterion plus broken limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .collision import CollisionShapes
from .criteria import search_value
from .fourier import basis
from .friction_width import by_widths, counts, SAMPLES
from .limits import Limits
from .regressor_adjoint import Chain, dot, TreePass
from ..dynamics.body_motion import cross
from ..dynamics.friction import LAWS
from ..dynamics.robot_model import RobotModel

FRICTION_STEP = 1e-6  # [rad, rad/s, rad/s^2] for the slope of a friction law
TOOL_UNIT = 0.3  # [m] what counts like the whole range of a joint
GAP_UNIT = 0.1  # [m] depth of a collision that counts like the whole range of a joint
SPARE = 0.005  # [m] kept from box, sphere and other bodies, see Objective.spare


@dataclass(frozen=True)
class MotionProblem:
    """
    A motion to design, as arrays.

    robot : as it is mounted; chain : its kinematics; weights : (n,) 1 / sigma
    columns : (b,) base columns among the 10 n inertial ones, then friction
    friction : per joint a tuple of (place among the base columns, law, nonlinear parameters)
    nominal : (b,) base parameters for the torque limits
    known : (b, b) W'W of earlier recordings or None; share : samples the motion will give
    tool : (body, offset (3,)) of the end effector; shapes : that are kept apart
    criterion : name; period [s]; space, direction, start : coordinates, see rest_space
    moments : (n, b, b) E[w_j' w_j] over the workspace; root : (b, b) whitens their weighted sum
    width_moments : (n,) see friction_width.py; 0 where Coulomb friction takes no part
    """

    robot: RobotModel
    chain: Chain
    weights: np.ndarray
    columns: np.ndarray
    friction: tuple[tuple[Any, ...], ...]
    nominal: np.ndarray
    known: np.ndarray | None
    share: float
    limits: Limits
    tool: tuple[int, np.ndarray]
    shapes: CollisionShapes
    criterion: str
    period: float
    harmonics: int
    direction: np.ndarray
    space: np.ndarray
    start: np.ndarray
    moments: np.ndarray
    root: np.ndarray
    width_moments: np.ndarray

    def coefficients(self, x: np.ndarray) -> np.ndarray:
        """Return the coefficients, (n, 1 + 2 K), at the coordinates x (n m,)."""
        count = len(self.start)
        return np.outer(self.start, self.direction) + x.reshape(count, -1) @ self.space.T


class Objective:
    """
    Criterion and broken limits at ``times`` (B,) within one period [s].

    joint_times : (J,) where position, velocity and acceleration are looked at; as ``times``
    margin : share of the limits that the search may use
    spare : room kept from box, sphere and other bodies [m], and effort (n,) : torques allowed;
        the search tightens them for what happens between its samples
    """

    def __init__(self, problem, times, joint_times=None, margin=1.0):
        self.problem, self.samples, self.margin = problem, len(times), margin
        self.spare, self.effort = SPARE, margin * problem.limits.effort
        self.phases, self.joint_phases = (
            [phase.T.copy() for phase in basis(problem.harmonics, problem.period, grid)]
            for grid in (times, times if joint_times is None else joint_times))
        slow = np.arange(SAMPLES) * (problem.period / SAMPLES)
        self.slow_phase = basis(problem.harmonics, problem.period,
                                slow[counts(slow, problem.period)])[1].T.copy()
        count = len(problem.start)
        inertial = problem.columns[problem.columns < 10 * count]
        self.body, self.parameter = inertial // 10, inertial % 10
        self.rows = [self._columns_of(j) for j in range(count)]
        self.blocks = [np.ix_(columns, columns) for _, columns in self.rows]

    def _columns_of(self, j):
        """Return (slice of inertial base columns, all base columns) of the row of joint j."""
        moved = np.flatnonzero(self.problem.chain.moves[:, j][self.body])
        own = slice(moved[0], moved[-1] + 1) if len(moved) else slice(0, 0)
        friction = [place for place, _, _ in self.problem.friction[j]]
        return own, np.r_[own, friction].astype(int)

    def motion(self, x: np.ndarray) -> list[np.ndarray]:
        """Return q, v, a (n, B) on the grid at coordinates x (n m,)."""
        c = self.problem.coefficients(x)
        return [c @ phase for phase in self.phases]

    def evaluate(self, q: np.ndarray, v: np.ndarray, a: np.ndarray
                 ) -> tuple[TreePass, np.ndarray, list[np.ndarray], np.ndarray]:
        """
        Return the TreePass, its base columns, the rows per joint and the torques (n, B).

        q, v, a : (n, B) a motion
        """
        tree = TreePass(self.problem.chain, q, v, a, self.problem.robot.gravity_base)
        Y = tree.Y[:, self.parameter, self.body]
        rows, tau = [], []
        for j, (own, columns) in enumerate(self.rows):
            W = np.einsum('xcb,xb->cb', Y[:, own], tree.s[:, j])
            if self.problem.friction[j]:
                W = np.vstack([W, [LAWS[law].column(q[j], v[j], a[j], nonlinear)
                                   for _, law, nonlinear in self.problem.friction[j]]])
            rows.append(W)
            tau.append(self.problem.nominal[columns] @ W)
        return tree, Y, rows, np.array(tau)

    def factors(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        """Return G = W'W (b, b) of the ``rows`` of ``evaluate`` and of what was known before."""
        size = len(self.problem.columns)
        G = np.zeros((size, size))
        for block, W, weight in zip(self.blocks, rows, self.problem.weights):
            G[block] += (weight ** 2 * self.problem.share / W.shape[1]) * (W @ W.T)
        return G if self.problem.known is None else G + self.problem.known

    def width_variances(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return variances (n,) by friction widths, derivatives by coefficients c (n, 1 + 2 K)."""
        out, bar = width_variances(self.problem, c @ self.slow_phase)
        return out, bar @ self.slow_phase.T

    def __call__(self, x, sharpness, strength):
        """Return (value, gradient) at coordinates x (n m,)."""
        q, v, a = self.motion(x)
        tree, Y, rows, tau = self.evaluate(q, v, a)
        widths, width_bar = self.width_variances(self.problem.coefficients(x))
        value, slope, by_variance = search_value(
            self.problem.criterion, self.factors(rows), sharpness, self.problem.root,
            widths.sum())
        too_far, gradient = self._joints_broken(x, strength)
        gradient += by_variance * width_bar
        broken, tau_bar, body_bars = self._places_broken(tau, tree, strength)
        for x_bar, phase in zip(self._back(tree, Y, rows, slope, tau_bar, body_bars),
                                self.phases):
            gradient += x_bar @ phase.T
        return value + too_far + broken, (gradient @ self.problem.space).ravel()

    def _back(self, tree, Y, rows, slope, tau_bar, body_bars):
        """Return the derivatives (n, B) by q, v, a through the rows."""
        Y_bar, s_bar = np.zeros_like(Y), np.zeros_like(tree.s)
        friction = []
        for j, ((own, columns), W) in enumerate(zip(self.rows, rows)):
            factor = 2.0 * self.problem.weights[j] ** 2 * self.problem.share / W.shape[1]
            W_bar = (factor * slope[self.blocks[j]]) @ W
            if tau_bar[j].any():
                W_bar += np.outer(self.problem.nominal[columns], tau_bar[j])
            count = own.stop - own.start
            Y_bar[:, own] += tree.s[:, j, None] * W_bar[None, :count]
            np.einsum('xcb,cb->xb', Y[:, own], W_bar[:count], out=s_bar[:, j])
            friction.append(W_bar[count:])
        full = np.zeros_like(tree.Y)
        full[:, self.parameter, self.body] = Y_bar
        return self._back_friction(tree, friction, tree.back(full, s_bar, *body_bars))

    def _back_friction(self, tree, W_bars, bars):
        bars = list(bars)
        for j, (W_bar, laws) in enumerate(zip(W_bars, self.problem.friction)):
            motion = [tree.q[j], tree.v[j], tree.a[j]]
            for row, (_, law, nonlinear) in zip(W_bar, laws):
                for k in range(3):
                    up, down = list(motion), list(motion)
                    up[k], down[k] = motion[k] + FRICTION_STEP, motion[k] - FRICTION_STEP
                    slope = (LAWS[law].column(*up, nonlinear) - LAWS[law].column(*down, nonlinear))
                    bars[k][j] += row * slope / (2.0 * FRICTION_STEP)
        return bars

    def tool_position(self, tree: TreePass) -> np.ndarray:
        """Return the end effector (3, B) in the base frame [m] of a TreePass ``tree``."""
        body, offset = self.problem.tool
        return tree.p[:, body] + np.einsum('xkb,k->xb', tree.R[:, :, body], offset)

    def _joints_broken(self, x, strength):
        """Return the penalty of position, velocity, acceleration; derivative (n, 1 + 2 K)."""
        limits, c = self.problem.limits, self.problem.coefficients(x)
        scale = strength / self.joint_phases[0].shape[1]
        total, gradient = 0.0, np.zeros_like(c)
        for phase, center, limit in zip(
                self.joint_phases, (limits.middle, 0.0, 0.0),
                (limits.half, limits.velocity, limits.acceleration)):
            value, bar = _beyond(c @ phase, center, self.margin * limit, scale)
            total += value
            gradient += bar @ phase.T
        if np.isfinite(limits.slowing.gain).any():
            value, q_bar, v_bar = self._slowing_broken(c, scale)
            total += value
            gradient += q_bar @ self.joint_phases[0].T + v_bar @ self.joint_phases[1].T
        return total, gradient

    def _slowing_broken(self, c, scale):
        """Return the penalty of velocities too high near an end, its derivatives by q and v."""
        limits = self.problem.limits
        over, by_q, by_v = limits.slowing.beyond(c @ self.joint_phases[0],
                                                 c @ self.joint_phases[1] / self.margin)
        excess = np.maximum(over, 0.0) / limits.velocity[:, None]
        bar = 2.0 * scale * excess / limits.velocity[:, None]
        return scale * float((excess ** 2).sum()), bar * by_q, bar * by_v / self.margin

    def _places_broken(self, tau, tree, strength):
        """Return the penalty of torques and places, tau_bar, and (p_bar, R_turn)."""
        limits, total = self.problem.limits, 0.0
        scale = strength / self.samples
        value, tau_bar = _beyond(tau, 0.0, self.effort, scale)
        total += value
        places = []
        if limits.bounds_tool:
            places.append(self._tool_broken(tree, scale))
        if self.problem.shapes.pairs:
            places.append(self._gaps_broken(tree, scale))
        total += sum(value for value, _, _ in places)
        p_bar, R_turn = (sum(part) for part in list(zip(*places))[1:]) if places else (0.0, 0.0)
        return total, tau_bar, (p_bar, R_turn)

    def _tool_broken(self, tree, scale):
        """Return penalty, p_bar and R_turn (see TreePass.back) for box and sphere."""
        limits, spare = self.problem.limits, self.spare
        e = self.tool_position(tree)
        low, high = limits.box[:, :, None]
        out = np.maximum(e - high + spare, 0.0) - np.maximum(low + spare - e, 0.0)
        distance = np.sqrt(dot(e, e))
        inside = np.maximum(limits.sphere + spare - distance, 0.0) * (limits.sphere > 0.0)
        value = scale * ((out ** 2).sum() + (inside ** 2).sum()) / TOOL_UNIT ** 2
        bar = 2.0 * scale / TOOL_UNIT ** 2 * (out - inside * e / np.maximum(distance, 1e-9))
        body = self.problem.tool[0]
        p_bar, R_turn = np.zeros_like(tree.p), np.zeros_like(tree.p)
        p_bar[:, body] = bar
        R_turn[:, body] = cross(e - tree.p[:, body], bar)
        return value, p_bar, R_turn

    def _gaps_broken(self, tree, scale):
        """Return penalty, p_bar and R_turn (see TreePass.back) for shapes too near each other."""
        near = self.problem.shapes.near(self.problem.robot, tree.q.T, self.spare)
        short = near.lacking / GAP_UNIT
        force = 2.0 * scale / GAP_UNIT * short * near.normals.T
        p_bar, R_turn = np.zeros_like(tree.p), np.zeros_like(tree.p)
        for side, sign in ((0, 1.0), (1, -1.0)):
            moving = near.bodies[:, side] >= 0
            body, sample = near.bodies[moving, side], near.samples[moving]
            arm = near.points[moving, side].T - tree.p[:, body, sample]
            push = sign * force[:, moving]
            np.add.at(p_bar.transpose(1, 2, 0), (body, sample), push.T)
            np.add.at(R_turn.transpose(1, 2, 0), (body, sample), cross(arm, push).T)
        return scale * float((short ** 2).sum()), p_bar, R_turn


def width_variances(problem: MotionProblem, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the variances (n,) by not knowing the friction widths, their derivatives (n, N) by v.

    v : (n, N) evenly spread over the part of one period of ``problem`` that counts [rad/s, m/s]
    """
    if not problem.width_moments.any():
        return np.zeros(len(v)), np.zeros_like(v)
    counted = counts(np.linspace(0.0, problem.period, SAMPLES), problem.period).mean()
    step = counted * problem.period / v.shape[1]
    return by_widths(v, step, problem.width_moments, problem.share * counted)


def _beyond(x, center, limit, scale):
    """Return scale * sum(max(|x - center| / limit - 1, 0)^2) and its derivative by x."""
    limit = limit[:, None]
    away = (x - np.reshape(center, (-1, 1))) / limit
    excess = np.maximum(np.abs(away) - 1.0, 0.0)
    return scale * float((excess ** 2).sum()), 2.0 * scale * np.sign(away) * excess / limit
