"""
A motion looked at closely: limits at a thousand samples per second, W'W, errors of torques.

With M_j = E[w_j' w_j] over random states of the workspace (w_j : row of joint j) and the
covariance G^-1 of the base parameters, trace(M_j G^-1) is the mean variance of the predicted
torque of joint j.  V-optimality (Atkinson, Donev and Tobias 2007, ch. 10) makes the sum over the
joints small, each relative to the variance of its measurement:

    trace(M G^-1),   M = sum_j M_j / sigma_j^2
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .feasible import finest_grid, tool_outside
from .fourier import basis
from .friction_width import counts, width_variances
from .friction_width import moments as width_moments
from .objective import MotionProblem, Objective
from ..estimation.r_factors import one_thread

CHUNK = 1000  # samples at once
COLLISION_POSTURES = 1000  # of one period, for the collision check
CLEARANCE = 0.03  # [m] beyond its margin at which a shape is far
STATES = 400  # random states of the workspace
# Power of a uniform number: half of the speeds are below an eighth of the limit, where friction is
# hardest to predict.
SPEED_POWER = 3
ACCELERATION = 0.5  # share of the acceleration limits


@dataclass(frozen=True)
class Use:
    """
    How much of each limit a motion uses, 1 at the limit.

    joints : {position, velocity, acceleration, effort: (n,)}, jerk and effort_rate where limited
    tool_outside : how far the end effector leaves box and sphere [m], -inf without them
    gap : least distance of shapes beyond their margins [m], at most CLEARANCE; inf without
    closest : the two that have it; none where all are farther apart
    """

    joints: dict[str, np.ndarray]
    tool_outside: float
    gap: float
    closest: tuple[str, ...]

    def broken(self, joint_names: Sequence[str]) -> list[str]:
        """Return the limits that are broken, in words."""
        out = [
            f'{kind} of {name} at {100.0 * use:.1f} %'
            for kind, uses in self.joints.items()
            for name, use in zip(joint_names, uses)
            if use > 1.0
        ]
        if self.tool_outside > 0.0:
            out.append(f'end effector {self.tool_outside:.3f} m outside box or inside sphere')
        if self.gap < 0.0:
            out.append(f'{self.closest[0]} comes too near to {self.closest[1]}')
        return out

    def plain(
        self, joint_names: Sequence[str], margins: Mapping[str, float], distance: float
    ) -> dict[str, Any]:
        """
        Return the use in plain values, in percent of the limits themselves.

        margins : {kind: share that was taken off}; distance : that shapes are to keep [m]
        """
        real = {
            kind: values * (1.0 - margins.get(kind, 0.0)) for kind, values in self.joints.items()
        }
        percent = {kind: _percent(values) for kind, values in real.items()}
        out = {
            'feasible': not self.broken(joint_names),
            'use_of_limits_percent': {kind: max(values) for kind, values in percent.items()},
            'use_of_limits_percent_by_joint': {
                kind: dict(zip(joint_names, values)) for kind, values in percent.items()
            },
        }
        if np.isfinite(self.tool_outside):
            out['end_effector_inside_by_m'] = round(-self.tool_outside, 6)
        if np.isfinite(self.gap):
            out['collision_clearance_at_least_m'] = round(self.gap + distance, 6)
        return out


def _percent(shares: np.ndarray) -> list[float]:
    return [round(100.0 * share, 3) for share in shares.tolist()]


@dataclass(frozen=True)
class Assessment:
    """
    A motion on the finest grid.

    factors : (b, b) W'W of its samples and of what was known
    widths : (n,) variances by friction widths, see friction_width.py
    """

    use: Use
    factors: np.ndarray
    widths: np.ndarray


def assess(problem: MotionProblem, x: np.ndarray) -> Assessment:
    """Return the Assessment of the motion at coordinates x (n m,) of ``problem``."""
    c, count = problem.coefficients(x), problem.harmonics
    return assess_motion(
        problem,
        lambda times: [c @ phase.T for phase in basis(count, problem.period, times)],
        finest_grid(problem),
    )


def assess_motion(
    problem: MotionProblem, at: Callable[[np.ndarray], Sequence[np.ndarray]], times: np.ndarray
) -> Assessment:
    """
    Return the Assessment of a motion.

    at : times (N,) [s] -> q, v, a, each (n, N); times : evenly spread over one period [s]
    """
    count = len(times)
    joints: dict[str, np.ndarray] = {}
    outside, factors, postures, speeds = -np.inf, np.zeros(()), [], []
    with one_thread():
        for low in range(0, count, CHUNK):
            part = Objective(problem, times[low : low + CHUNK])
            q, v, a = at(times[low : low + CHUNK])
            tree, _, W, tau = part.evaluate(q, v, a)
            rates = problem.limits.use_of_rates(a, tau, times[1] - times[0])
            for kind, use in (problem.limits.use_of_joints(q, v, a, tau) | rates).items():
                joints[kind] = np.maximum(joints.get(kind, 0.0), use)
            outside = max(outside, float(tool_outside(part, tree).max()))
            share = part.samples / count
            factors = factors + share * part.factors(W)
            postures.append(q.T)
            speeds.append(v)
    looked_at = np.concatenate(postures)[:: max(count // COLLISION_POSTURES, 1)]
    v = np.concatenate(speeds, axis=1)[:, counts(times, problem.period)]
    return Assessment(
        Use(joints, outside, *_clearance(problem, looked_at)),
        factors,
        width_variances(problem, v)[0],
    )


def _clearance(problem, postures):
    """Return the least gap of all shapes [m] and the names of the two that have it."""
    if not problem.shapes.pairs:
        return np.inf, ()
    near = problem.shapes.near(problem.robot, postures, CLEARANCE)
    if not len(near.gaps):
        return CLEARANCE, ()
    least = int(near.gaps.argmin())
    return float(near.gaps[least]), problem.shapes.pairs[near.pairs[least]]


def with_workspace(problem: MotionProblem, seed: int) -> MotionProblem:
    """Return ``problem`` with the moments of its workspace, over states drawn with ``seed``."""
    rng, limits = np.random.default_rng(seed), problem.limits
    q, v, a = rng.uniform(-1.0, 1.0, (3, len(problem.start), STATES))
    q = limits.middle[:, None] + limits.half[:, None] * q
    v = limits.velocity[:, None] * v**SPEED_POWER
    a = ACCELERATION * limits.acceleration[:, None] * a
    W = Objective(problem, np.zeros(STATES)).evaluate(q, v, a)[2]
    moments = W.transpose(1, 0, 2) @ W.transpose(1, 2, 0) / STATES
    total = np.einsum('j,jkl->kl', problem.weights**2, moments)
    root = np.linalg.inv(np.linalg.cholesky(total))
    return replace(
        problem,
        moments=moments,
        root=root,
        width_moments=problem.width_moments * width_moments(limits.velocity, SPEED_POWER),
    )


def torque_errors(problem: MotionProblem, result: Assessment) -> np.ndarray:
    """
    Return the standard errors (n,) of predicted torques, mean square over the workspace [N m].

    problem : MotionProblem with a workspace; result : of a motion
    """
    values, vectors = np.linalg.eigh(result.factors)
    covariance = (vectors / np.maximum(values, 1e-300)) @ vectors.T
    return np.sqrt(
        np.einsum('jkl,lk->j', problem.moments, covariance) + result.widths / problem.weights**2
    )
