"""The number that the search makes small, with its gradient: criterion plus broken limits."""

from collections.abc import Sequence
from dataclasses import dataclass
import time
from typing import Any

import numpy as np

from .collision import CollisionShapes
from .criteria import search_value
from .fourier import basis
from .friction_width import counts, WIDTH_SAMPLES, width_variances
from .limits import Limits
from .regressor_adjoint import Chain, dot, TreePass
from ..dynamics.body_motion import cross
from ..dynamics.friction import LAWS
from ..dynamics.robot_model import RobotModel

FRICTION_STEP = 1e-6  # [rad, rad/s, rad/s^2] for the slope of a friction law
TOOL_UNIT = 0.3  # [m] what counts like the whole range of a joint
GAP_UNIT = 0.1  # [m] depth of a collision that counts like the whole range of a joint
PLACE_SPARE = 0.005  # [m] kept from box, sphere and other bodies, see Objective.spare


@dataclass(frozen=True)
class MotionProblem:
    """
    A motion to design, as arrays.

    robot : as it is mounted; chain : its kinematics; weights : (n,) 1 / sigma
    columns : (b,) base columns among the 10 n inertial ones, then friction
    friction : per joint a tuple of (place among the base columns, law, nonlinear parameters)
    nominal : (b,) base parameters for the torque limits
    information : (b, b) W'W of earlier recordings or None; share : samples the motion will give
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
    information: np.ndarray | None
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
    limits_cpu : seconds that the penalties took
    spare : room kept from box, sphere and other bodies [m], and effort (n,) : torques allowed;
        the search tightens them for what happens between its samples
    """

    def __init__(self, problem, times, joint_times=None, margin=1.0):
        self.problem, self.samples, self.margin = problem, len(times), margin
        self.spare, self.effort = PLACE_SPARE, margin * problem.limits.effort
        self.limits_cpu = 0.0
        if joint_times is None:
            joint_times = times
        self.phases = self._phases(times)
        joint_phases = self._phases(joint_times)
        self.joint_phases = np.hstack(joint_phases)
        slow = np.arange(WIDTH_SAMPLES) * (problem.period / WIDTH_SAMPLES)
        self.slow_phase = self._phases(slow[counts(slow, problem.period)])[1]
        inertial = problem.columns[problem.columns < 10 * len(problem.start)]
        self.body, self.parameter = inertial // 10, inertial % 10
        self.moves = problem.chain.moves[self.body][:, :, None]
        self.friction = _columns_by_law(problem.friction)

    def _phases(self, times):
        """Return the harmonics in q, v and a (1 + 2 K, N) at ``times`` (N,) [s]."""
        phases = basis(self.problem.harmonics, self.problem.period, times)
        return [phase.T.copy() for phase in phases]

    def motion(self, x: np.ndarray) -> list[np.ndarray]:
        """Return q, v, a (n, B) on the grid at coordinates x (n m,)."""
        c = self.problem.coefficients(x)
        return [c @ phase for phase in self.phases]

    def evaluate(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> tuple[TreePass, np.ndarray, np.ndarray, np.ndarray]:
        """
        Return the TreePass, its base columns, rows W (b, n, B), torques (n, B) of a motion.

        q, v, a : (n, B)
        """
        tree = TreePass(self.problem.chain, q, v, a, self.problem.robot.gravity_base)
        Y = tree.Y[:, self.parameter, self.body]
        W = np.zeros((len(self.problem.columns), *q.shape))
        np.einsum('xcb,xjb->cjb', Y, tree.s, out=W[: len(self.body)])
        W[: len(self.body)] *= self.moves
        for law, (places, joints) in self.friction:
            W[places, joints] = _friction(law, q[joints], v[joints], a[joints])
        return tree, Y, W, np.tensordot(self.problem.nominal, W, 1)

    def factors(self, W: np.ndarray) -> np.ndarray:
        """Return G = W'W (b, b) of the rows W of ``evaluate`` and of what was known before."""
        weighted = (self.problem.weights[:, None] * W).reshape(len(W), -1)
        G = self.problem.share / W.shape[2] * (weighted @ weighted.T)
        if self.problem.information is None:
            return G
        return G + self.problem.information

    def width_variances(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return variances (n,) by friction widths, derivatives by coefficients c (n, 1 + 2 K)."""
        out, bar = width_variances(self.problem, c @ self.slow_phase)
        return out, bar @ self.slow_phase.T

    def __call__(self, x, sharpness, strength):
        """Return (value, gradient) at coordinates x (n m,)."""
        q, v, a = self.motion(x)
        tree, Y, W, tau = self.evaluate(q, v, a)
        began = time.process_time()
        too_far, gradient = self._joints_broken(x, strength)
        broken, tau_bar, body_bars = self._places_broken(tau, tree, strength)
        self.limits_cpu += time.process_time() - began
        widths, width_bar = self.width_variances(self.problem.coefficients(x))
        value, slope, by_variance = search_value(
            self.problem.criterion, self.factors(W), sharpness, self.problem.root, widths.sum()
        )
        gradient += by_variance * width_bar
        for x_bar, phase in zip(self._back(tree, Y, W, slope, tau_bar, body_bars), self.phases):
            gradient += x_bar @ phase.T
        return value + too_far + broken, (gradient @ self.problem.space).ravel()

    def _back(self, tree, Y, W, slope, tau_bar, body_bars):
        """Return the derivatives (n, B) by q, v, a through the rows."""
        problem, count = self.problem, len(self.body)
        factor = 2.0 * problem.share / W.shape[2] * problem.weights[:, None] ** 2
        W_bar = factor * np.tensordot(slope, W, 1)
        W_bar += problem.nominal[:, None, None] * tau_bar
        inertial = W_bar[:count] * self.moves
        Y_bar = np.zeros_like(tree.Y)
        Y_bar[:, self.parameter, self.body] = np.einsum('xjb,cjb->xcb', tree.s, inertial)
        s_bar = np.einsum('xcb,cjb->xjb', Y, inertial)
        bars = tree.back(Y_bar, s_bar, *body_bars)
        for law, (places, joints) in self.friction:
            motion = [x[joints] for x in (tree.q, tree.v, tree.a)]
            for k, bar in enumerate(bars):
                up, down = list(motion), list(motion)
                up[k], down[k] = motion[k] + FRICTION_STEP, motion[k] - FRICTION_STEP
                bar[joints] += (
                    W_bar[places, joints]
                    * (_friction(law, *up) - _friction(law, *down))
                    / (2.0 * FRICTION_STEP)
                )
        return bars

    def tool_position(self, tree: TreePass) -> np.ndarray:
        """Return the end effector (3, B) in the base frame [m] of a TreePass ``tree``."""
        body, offset = self.problem.tool
        return tree.p[:, body] + np.einsum('xkb,k->xb', tree.R[:, :, body], offset)

    def _joints_broken(self, x, strength):
        """Return the penalty of position, velocity, acceleration; derivative (n, 1 + 2 K)."""
        limits, c = self.problem.limits, self.problem.coefficients(x)
        motion = (c @ self.joint_phases).reshape(len(c), 3, -1)
        scale, zero = strength / motion.shape[2], np.zeros(len(c))
        total, bar = _beyond(
            motion,
            np.stack([limits.middle, zero, zero], 1),
            self.margin * np.stack([limits.half, limits.velocity, limits.acceleration], 1),
            scale,
        )
        if np.isfinite(limits.slowing.gain).any():
            over, by_q, by_v = limits.slowing.beyond(motion[:, 0], motion[:, 1] / self.margin)
            excess = np.maximum(over, 0.0) / limits.velocity[:, None]
            total += scale * float((excess**2).sum())
            slope = 2.0 * scale * excess / limits.velocity[:, None]
            bar[:, 0] += slope * by_q
            bar[:, 1] += slope * by_v / self.margin
        return total, bar.reshape(len(c), -1) @ self.joint_phases.T

    def _places_broken(self, tau, tree, strength):
        """Return the penalty of torques and places, tau_bar, and (p_bar, R_turn)."""
        scale, places = strength / self.samples, []
        total, tau_bar = _beyond(tau, np.zeros(len(tau)), self.effort, scale)
        if self.problem.limits.bounds_tool:
            places.append(self._tool_broken(tree, scale))
        if self.problem.shapes.pairs:
            places.append(self._gaps_broken(tree, scale))
        penalty, p_bar, R_turn = 0.0, 0.0, 0.0
        for value, by_place, by_turn in places:
            penalty, p_bar, R_turn = penalty + value, p_bar + by_place, R_turn + by_turn
        return total + penalty, tau_bar, (p_bar, R_turn)

    def _tool_broken(self, tree, scale):
        """Return penalty, p_bar and R_turn (see TreePass.back) for box and sphere."""
        limits, spare = self.problem.limits, self.spare
        e = self.tool_position(tree)
        low, high = limits.box[:, :, None]
        out = np.maximum(e - high + spare, 0.0) - np.maximum(low + spare - e, 0.0)
        distance = np.sqrt(dot(e, e))
        inside = np.maximum(limits.sphere + spare - distance, 0.0) * (limits.sphere > 0.0)
        value = scale * ((out**2).sum() + (inside**2).sum()) / TOOL_UNIT**2
        bar = 2.0 * scale / TOOL_UNIT**2 * (out - inside * e / np.maximum(distance, 1e-9))
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
        return scale * float((short**2).sum()), p_bar, R_turn


def _columns_by_law(
    friction: Sequence[Sequence[tuple[int, str, Any]]],
) -> list[tuple[tuple[str, Any], np.ndarray]]:
    """
    Return [((law, constant), (base columns (k,), joints (k,)))] of friction.

    friction : see MotionProblem
    """
    columns: dict[tuple[str, Any], list[tuple[int, int]]] = {}
    for joint, laws in enumerate(friction):
        for base_column, law, constant in laws:
            columns.setdefault((law, constant), []).append((base_column, joint))
    return [(law, np.array(places).T) for law, places in columns.items()]


def _friction(law, q, v, a):
    """Return the column (k, B) of a ``law``, (name, constant), of k joints that move so."""
    kind, constant = LAWS[law[0]], law[1]
    if kind.memory:
        return np.array([kind.column(*x, constant) for x in zip(q, v, a)])
    return kind.column(q, v, a, constant)


def _beyond(x, center, limit, scale):
    """Return scale * sum(max(|x - center| / limit - 1, 0)^2) and its derivative by x (..., N)."""
    away = (x - center[..., None]) / limit[..., None]
    excess = np.sign(away) * np.maximum(np.abs(away) - 1.0, 0.0)
    return scale * float((excess**2).sum()), 2.0 * scale * excess / limit[..., None]
