"""
Physically consistent parameters: full standard parameters that a robot of matter can have.

    minimise  1/2 |A K x - b|^2  +  sum over bodies of D(P(x), P0)  +  1/2 friction belief
    where every pseudo-inertia P is positive definite and friction does no work on the robot

A, b are the weighted rows of the data about the base parameters K x; D is the log-det Bregman
divergence from the nominal body, tr(P0^-1 P) - log det(P0^-1 P) - 4: an entropy, independent of
frames and units (Lee, Wensing and Park, Geometric robot dynamic identification, 2020, Eq. 24).
It decides what the data leave open and, growing beyond all bounds where P ceases to be positive
definite, it is the barrier that keeps P so (Wensing, Kim and Slotine 2018: P > 0 exactly when a
body with these moments exists).  All terms are convex and self-concordant, so Newton's method
needs no solver and cannot end in a wrong valley (Nesterov and Nemirovskii 1994).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..dynamics.friction import LAWS
from ..dynamics.inertial_parameters import pseudo_inertia
from ..errors import EstimationError

DISSIPATION = 0.1  # weight of -log(coefficient): a tenth of a standard error at one from zero
NEWTON_STEPS = 200
DECREMENT = 1e-9   # squared Newton decrement: the objective is this close to its minimum
SMALLEST = 1e-3    # a nominal body is no thinner than this share of its radius of gyration


@dataclass(frozen=True)
class ConsistentEstimate:
    """
    Standard parameters with positive definite pseudo-inertias.

    values : (p,) standard parameters; params : (b,) the base parameters they imply
    cov_params : (b, b) covariance of params (the objective's curvature; constraints that bind
        make it smaller)
    deviation : group -> standard deviation of the residual [unit of the group]
    smallest_eigenvalue : link -> of its pseudo-inertia about the centre of mass [kg, kg m^2]
    loss_percent : increase of the weighted residual over the unconstrained estimate
    """

    values: np.ndarray
    params: np.ndarray
    cov_params: np.ndarray
    deviation: dict
    smallest_eigenvalue: dict
    loss_percent: float


def consistent(problem, estimate, *, masses=None, total_mass=None):
    """
    Return the ConsistentEstimate to an Estimate of the same Problem.

    masses : {link: known mass [kg]}; total_mass : known sum over all moving links [kg]
    """
    base = problem.base
    cost = _Cost(problem, estimate)
    fixed, values = _known_masses(base.parameters, dict(masses or {}), total_mass)
    x, curvature = _minimise(cost, cost.start(masses or {}, total_mass), fixed, values)
    K = base.matrix()
    params = K @ x
    half = K @ _null_space(fixed, len(x))
    reduced = _null_space(fixed, len(x))
    covariance = half @ cho_solve(cho_factor(reduced.T @ curvature @ reduced), half.T)
    deviation = {name: float(g.residual(params) / np.sqrt(max(g.rows, 1)))
                 for name, g in problem.information.groups.items()}
    loss = 100.0 * (_misfit(problem, estimate, params)
                    / max(_misfit(problem, estimate, estimate.params), 1e-300) - 1.0)
    return ConsistentEstimate(x, params, covariance, deviation, cost.smallest(x), float(loss))
