"""Newton's method on the log-det barrier of physically consistent bodies."""

from collections.abc import Callable

import numpy as np

from ..errors import EstimationError
from ..lapack import lapack

ARMIJO = 0.1
ROUNDING = 1e-12  # of the unit diagonal of a scaled Hessian


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
    whole = free.shape[0] == free.shape[1]  # nothing is kept, all directions as they are
    for step in range(most):
        try:
            gradient, hessian = derivatives(x)
        except np.linalg.LinAlgError:  # a body without extent, within rounding
            return x, decrement, step
        reduced, slope = (
            (hessian, gradient) if whole else (free.T @ hessian @ free, free.T @ gradient)
        )
        size = 1.0 / np.sqrt(reduced.diagonal())  # unit diagonal: kg and kg m^2 meet as equals
        move = -size * _solved(reduced * size * size[:, None], size * slope)
        decrement = -float(slope @ move)
        # Below rounding of the objective itself there is nothing left to gain.
        if decrement <= max(enough, 1e-13 * abs(value)):
            return x, 0.0, step
        direction, length = move if whole else free @ move, 1.0
        while not (new := cost(x + length * direction)) <= (value - ARMIJO * length * decrement):
            length *= 0.5
            if length < 1e-10:
                return x, 0.0, step
        x, value = x + length * direction, new
    return x, decrement, most


def _solved(scaled, slope):
    """Return ``slope`` (f,) over a Hessian (f, f) of unit diagonal, damped where it must be."""
    damping = ROUNDING
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
