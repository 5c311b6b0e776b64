"""
What a model is for: predicting torques all over the workspace, and how well it will.

With M_j = E[w_j' w_j] over random states of the workspace (w_j : row of joint j) and the
covariance G^-1 of the base parameters, trace(M_j G^-1) is the mean variance of the predicted
torque of joint j.  V-optimality (Atkinson, Donev and Tobias 2007, ch. 10) makes the sum over the
joints small, each relative to the variance of its measurement:

    trace(M G^-1),   M = sum_j M_j / sigma_j^2
"""

from dataclasses import replace

import numpy as np

from .objective import MotionProblem, Objective

STATES = 400  # random states of the workspace
SLOW = 3  # power of a uniform number: half of the speeds below an eighth of the limit, as friction
#           is hardest to predict there
ACCELERATION = 0.5  # share of the acceleration limits


def with_workspace(problem: MotionProblem, seed: int) -> MotionProblem:
    """Return ``problem`` with the moments of its workspace; ``seed`` : of the random states."""
    rng, limits = np.random.default_rng(seed), problem.limits
    shape = (len(problem.start), STATES)
    q, v, a = rng.uniform(-1.0, 1.0, (3, *shape))
    q = limits.middle[:, None] + limits.half[:, None] * q
    v = limits.velocity[:, None] * v ** SLOW
    a = ACCELERATION * limits.acceleration[:, None] * a
    objective = Objective(problem, np.zeros(STATES))
    rows = objective.evaluate(q, v, a)[2]
    moments = np.zeros((len(rows), len(problem.columns), len(problem.columns)))
    for moment, block, W in zip(moments, objective.blocks, rows):
        moment[block] = W @ W.T / W.shape[1]
    total = np.einsum('j,jkl->kl', problem.weights ** 2, moments)
    root = np.linalg.inv(np.linalg.cholesky(total))
    return replace(problem, moments=moments, root=root)


def torque_errors(problem: MotionProblem, factors: np.ndarray) -> np.ndarray:
    """
    Return the standard errors (n,) of predicted torques, mean square over the workspace [N m].

    problem : MotionProblem with a workspace; factors : (b, b) W'W of the weighted samples
    """
    values, vectors = np.linalg.eigh(factors)
    covariance = (vectors / np.maximum(values, 1e-300)) @ vectors.T
    return np.sqrt(np.einsum('jkl,lk->j', problem.moments, covariance))
