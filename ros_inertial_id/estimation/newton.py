"""Newton's method on the log-det barrier of physically consistent bodies."""

from collections.abc import Callable

import numpy as np

from ..errors import EstimationError
from ..lapack import lapack

ARMIJO = 0.1
SHORTEST_MOVE = (
    1e-10  # relative to Newton's: a cost that falls nowhere before it is flat by rounding
)
LEAST_DAMPING = 1e-12  # of the unit diagonal of a scaled Hessian: its rounding


def log_det(P: np.ndarray) -> float:
    """Return the sum of log det of matrices P (n, k, k), -inf where one has none."""
    try:
        factor = np.linalg.cholesky(P)
    except np.linalg.LinAlgError:
        return -np.inf
    return float(2.0 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum())


def newton(
    cost: Callable[[np.ndarray], float],
    derivatives: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    x: np.ndarray,
    free: np.ndarray,
    enough: float,
    most: int,
) -> tuple[np.ndarray, float, int]:
    """
    Return (x, decrement left or 0 at the minimum, steps), steps <= most.

    Self-concordant terms need no solver: damped steps with a line search cannot end in a wrong
    valley (Nesterov and Nemirovskii 1994).

    cost : of x (p,), inf outside its domain, minimised over x + free z, free (p, f)
    derivatives : gradient (p,) and Hessian (p, p) of it; enough : squared Newton decrement at
    which that is done
    EstimationError where the Hessian is not positive definite.
    """
    value, decrement = cost(x), np.inf
    unconstrained = free.shape[0] == free.shape[1]
    for step in range(most):
        try:
            gradient, hessian = derivatives(x)
        except np.linalg.LinAlgError:  # a body without extent, within rounding
            return x, decrement, step
        if not unconstrained:
            hessian, gradient = free.T @ hessian @ free, free.T @ gradient
        scale = 1.0 / np.sqrt(hessian.diagonal())  # unit diagonal: kg and kg m^2 meet as equals
        move = -scale * _solved(hessian * scale * scale[:, None], scale * gradient)
        decrement = -float(gradient @ move)
        # Below rounding of the objective itself there is nothing left to gain.
        if decrement <= max(enough, 1e-13 * abs(value)):
            return x, 0.0, step
        if not unconstrained:
            move = free @ move
        length, new = _line_search(cost, x, move, value, ARMIJO * decrement)
        if length < SHORTEST_MOVE:
            return x, 0.0, step
        x, value = x + length * move, new
    return x, decrement, most


def _line_search(cost, x, move, value, decrease):
    """Return the first length 1, 1/2, ... that lowers ``cost`` by ``decrease`` times it, cost."""
    length = 1.0
    while length >= SHORTEST_MOVE:
        new = cost(x + length * move)
        if new <= value - length * decrease:
            break
        length *= 0.5
    return length, new


def _solved(scaled, slope):
    """Return ``slope`` (f,) over a Hessian (f, f) of unit diagonal, damped where it must be."""
    damping = LEAST_DAMPING
    while True:
        # Convex, so positive definite but for rounding where priors differ by many decades.
        damped = scaled.copy()
        np.fill_diagonal(damped, scaled.diagonal() + damping)
        _, move, status = lapack.dposv(damped.T, slope, overwrite_a=True)
        if not status:
            return move
        damping *= 10.0
        if damping > 1.0:
            raise EstimationError(
                'the physically consistent estimate did not settle',
                found='a Hessian that is not positive definite',
                do='check the efforts first: inertial-id check',
            )
