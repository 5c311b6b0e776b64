"""A motion looked at closely: limits at a thousand samples per second, and W'W."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .feasible import clearances, finest_grid
from .fourier import basis
from .objective import MotionProblem, Objective
from ..estimation.r_factors import one_thread

CHUNK = 1000  # samples at once
POSTURES = 1000  # of one period, for the collision check


@dataclass(frozen=True)
class Use:
    """
    How much of each limit a motion uses, 1 at the limit.

    joints : {position, velocity, acceleration, effort: (n,)}, jerk and effort_rate where limited
    tool_outside : how far the end effector leaves box and sphere [m], -inf without them
    gap : least by which capsules around the shapes are farther apart than their margins [m], inf
        without them
    """

    joints: dict[str, np.ndarray]
    tool_outside: float
    gap: float

    def broken(self, joint_names: Sequence[str]) -> list[str]:
        """Return the limits that are broken, in words; joint_names : (n,) for these words."""
        out = [f'{kind} of {name} at {100.0 * use:.1f} %' for kind, uses in self.joints.items()
               for name, use in zip(joint_names, uses) if use > 1.0]
        if self.tool_outside > 0.0:
            out.append(f'end effector {self.tool_outside:.3f} m outside box or inside sphere')
        if self.gap < 0.0:
            out.append(f'capsules around two shapes {-self.gap:.3f} m too near')
        return out


@dataclass(frozen=True)
class Assessment:
    """
    A motion on the finest grid.

    use : of the limits
    factors : (b, b) W'W of all its weighted samples, with what was known before
    postures : (k, n) along one period [rad or m]
    """

    use: Use
    factors: np.ndarray
    postures: np.ndarray


def assess(problem: MotionProblem, x: np.ndarray) -> Assessment:
    """Return the Assessment of the motion at coordinates x (n m,) of ``problem``."""
    c, count = problem.coefficients(x), problem.harmonics
    return assess_motion(problem, lambda times: [
        c @ phase.T for phase in basis(count, problem.period, times)], finest_grid(problem))


def assess_motion(problem: MotionProblem, at: Callable[[np.ndarray], Sequence[np.ndarray]],
                  times: np.ndarray) -> Assessment:
    """
    Return the Assessment of a motion.

    problem : MotionProblem, whose limits it is to keep
    at : times (N,) [s] -> q, v, a, each (n, N); times : evenly spread over one period [s]
    """
    with one_thread():
        return _assess(problem, at, times)


def _assess(problem, at, times):
    count = len(times)
    joints: dict[str, np.ndarray] = {}
    outside, gap, factors, postures = -np.inf, np.inf, np.zeros(()), []
    for low in range(0, count, CHUNK):
        part = Objective(problem, times[low:low + CHUNK])
        q, v, a = at(times[low:low + CHUNK])
        tree, _, rows, tau = part.evaluate(q, v, a)
        rates = problem.limits.use_of_rates(a, part.by_mounting(tau), times[1] - times[0])
        for kind, use in (problem.limits.use_of_joints(q, v, a, tau) | rates).items():
            joints[kind] = np.maximum(joints.get(kind, 0.0), use)
        left, nearest = clearances(part, tree)
        outside, gap = max(outside, left.max()), min(gap, nearest.min())
        share = part.samples / count
        factors = factors + share * part.factors(rows)
        postures.append(q.T)
    return Assessment(Use(joints, float(outside), float(gap)), factors,
                      np.concatenate(postures)[::max(count // POSTURES, 1)])


def describe(design: Any) -> dict[str, Any]:
    """Return a Design ``design`` in plain Python values; use of the limits in percent."""
    return {
        'torque_standard_error': {n: float(f'{e:.4g}') for n, e in zip(
            design.motion.joint_names, design.torque_errors)},  # [N m]
        'condition_number': design.condition_number,
        'criterion': design.criterion,
        'value': design.value,
        'seconds': round(design.seconds, 3),
        'cpu_seconds': round(design.cpu_seconds, 3),
        'base_parameters': len(design.base_names),
        **plain_use(design),
        'motions_found': design.found,
        'motions_rejected': design.rejected,
        'notices': list(design.notices)}


def plain_use(design: Any) -> dict[str, Any]:
    """Return how a ``design`` uses its limits in plain Python values, in percent."""
    use, names = design.use, design.motion.joint_names
    real = {kind: values * (1.0 - design.limits.margins.get(kind, 0.0))
            for kind, values in use.joints.items()}
    out = {
        'feasible': not use.broken(names),
        'use_of_limits_percent': {kind: round(100.0 * float(values.max()), 3)
                                  for kind, values in real.items()},
        'use_of_limits_percent_by_joint': {
            kind: {n: round(100.0 * float(u), 3) for n, u in zip(names, values)}
            for kind, values in real.items()}}
    if np.isfinite(use.tool_outside):
        out['end_effector_inside_by_m'] = round(-use.tool_outside, 6)
    if np.isfinite(use.gap):
        out['collision_clearance_at_least_m'] = round(
            use.gap + design.options.distance, 6)
    return out
