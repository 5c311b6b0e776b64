"""Keeping limits exactly: what is allowed, steps in their units, motions made small enough."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import block_diag

from .objective import MotionProblem, Objective
from .regressor_adjoint import TreePass

FINEST_RATE = 1000.0  # [1/s] of the finest grid
RESERVE = 1e-5  # relative; peaks between samples of the finest grid
PLACE_RESERVE = 0.002  # [m] and, relative, of torques: they are checked on a coarser grid
SHRINKINGS = (1.0, 0.99, 0.98, 0.95, 0.9, 0.8, 0.65, 0.5)


def grid(problem: MotionProblem, samples: int) -> np.ndarray:
    """Return times (samples,) spread evenly over one period of ``problem`` [s]."""
    return np.arange(samples) * (problem.period / samples)


def finest_grid(problem: MotionProblem) -> np.ndarray:
    """Return the times (N,) of one period of ``problem`` at which joint limits are kept [s]."""
    return grid(problem, max(int(round(FINEST_RATE * problem.period)), 1000))


def random_postures(problem: MotionProblem, rng: np.random.Generator, count: int) -> np.ndarray:
    """Return postures (count, n) drawn by ``rng`` from the inner ranges of ``problem``."""
    limits = problem.limits
    return limits.middle + 0.8 * limits.half * rng.uniform(-1.0, 1.0, (count, len(limits.half)))


def postures_allowed(problem: MotionProblem, q: np.ndarray) -> np.ndarray:
    """Return (N,) whether postures q (N, n) keep box, sphere and clearance of ``problem``."""
    still = Objective(problem, np.zeros(len(q)))
    zero = np.zeros_like(q.T)
    good = tool_outside(still, still.evaluate(q.T, zero, zero)[0]) <= 0.0
    good[good] = problem.shapes.allowed(problem.robot, q[good])
    return good


def tool_outside(objective: Objective, tree: TreePass) -> np.ndarray:
    """Return the excess of the tool over its bounds (N,) [m], in a TreePass of ``objective``."""
    limits = objective.problem.limits
    if not limits.bounds_tool:
        return np.full(tree.q.shape[1], -np.inf)
    return limits.tool_outside(objective.tool_position(tree))


def limit_steps(problem: MotionProblem) -> np.ndarray:
    """
    Return T (n m, n m): steps T y as long as y use as much of the limits of q, v and a.

    In coordinates x of the problem as they are, where a harmonic counts as its position does,
    L-BFGS needs several times as many iterations.
    """
    limits, order = problem.limits, np.arange(1, problem.harmonics + 1)
    w = 2.0 * np.pi / problem.period * np.r_[0, order, order]
    use = [
        (w**k / limit[:, None]) ** 2
        for k, limit in enumerate((limits.half, limits.velocity, limits.acceleration))
    ]
    metrics = [(problem.space.T * row) @ problem.space for row in sum(use)]
    return block_diag(*(np.linalg.inv(np.linalg.cholesky(metric)).T for metric in metrics))


def least_gap(problem: MotionProblem, q: np.ndarray, most: float) -> float:
    """Return the least distance beyond margins [m] of shapes in postures q (N, n), at ``most``."""
    return min(float(problem.shapes.near(problem.robot, q, most).gaps.min(initial=most)), most)


def shrink(
    problem: MotionProblem, fine: Objective, dense: Sequence[np.ndarray], x: np.ndarray
) -> np.ndarray | None:
    """
    Return coordinates of the motion made small enough to keep every limit, or None.

    problem : MotionProblem; x : (n m,) coordinates of a motion that may break limits
    dense : q, v, a of the harmonics, each (1 + 2 K, N), on the finest grid; fine : Objective
    Joint by joint for position, velocity and acceleration; then as a whole for the rest, about
    its start where that is given, else about its mean.
    """
    c = problem.coefficients(x)
    fixed = np.outer(problem.start, problem.direction)
    c = _shrink_joints(problem, dense, c, fixed)
    center = fixed
    if not problem.direction.any():
        center = c * (np.arange(c.shape[1]) == 0)
    for factor in SHRINKINGS:
        x = ((center + factor * (c - center) - fixed) @ problem.space).ravel()
        if _allowed(problem, fine, x):
            return x
    return None


def _shrink_joints(problem, dense, c, fixed):
    limits, room = problem.limits, 1.0 - RESERVE
    q, v, a = (c @ phase for phase in dense)
    scale = np.minimum(limits.velocity / np.abs(v).max(1), limits.acceleration / np.abs(a).max(1))
    jerk = np.abs(np.diff(a)).max(1) * a.shape[1] / problem.period
    scale = np.minimum(scale, limits.jerk / np.maximum(jerk, 1e-12))
    if problem.direction.any():
        up = (limits.upper - problem.start) / np.maximum(q.max(1) - problem.start, 1e-12)
        down = (problem.start - limits.lower) / np.maximum(problem.start - q.min(1), 1e-12)
        scale = room * np.minimum(scale, np.minimum(up, down))
        c = fixed + np.minimum(scale, 1.0)[:, None] * (c - fixed)
        return _slow_down(limits.slowing, dense, c, fixed)
    scale = np.minimum(room * np.minimum(scale, 2.0 * limits.half / np.ptp(q, axis=1)), 1.0)
    c = np.column_stack([c[:, :1], scale[:, None] * c[:, 1:]])
    q = c @ dense[0]
    low, high = limits.middle - room * limits.half, limits.middle + room * limits.half
    c[:, 0] += np.maximum(low - q.min(1), 0.0) - np.maximum(q.max(1) - high, 0.0)
    return _slow_down(limits.slowing, dense, c, c * (np.arange(c.shape[1]) == 0))


def _slow_down(slowing, dense, c, center):
    """Return c shrunk about ``center``, joint by joint, until speeds near the ends are allowed."""
    if not np.isfinite(slowing.gain).any():
        return c

    def kept(share):
        part = center + share[:, None] * (c - center)
        over = slowing.beyond(part @ dense[0], (1.0 + RESERVE) * (part @ dense[1]))[0]
        return over.max(1) <= 0.0

    low, high = kept(np.ones(len(c))).astype(float), np.ones(len(c))
    for _ in range(20):  # what is allowed of (q, v) is convex: every smaller motion is, too
        middle = 0.5 * (low + high)
        good = kept(middle)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return center + low[:, None] * (c - center)


def _allowed(problem, fine, x):
    q, v, a = fine.motion(x)
    tree, _, _, tau = fine.evaluate(q, v, a)
    use = problem.limits.use_of_joints(q, v, a, tau) | problem.limits.use_of_rates(
        a, tau, problem.period / fine.samples
    )
    efforts = [use[kind] for kind in ('effort', 'effort_rate') if kind in use]
    efforts_allowed = np.max(efforts) <= 1.0 - PLACE_RESERVE
    tool_inside = tool_outside(fine, tree).max() <= -PLACE_RESERVE
    if not (efforts_allowed and tool_inside):
        return False
    return bool(least_gap(problem, q.T, PLACE_RESERVE) >= PLACE_RESERVE)
