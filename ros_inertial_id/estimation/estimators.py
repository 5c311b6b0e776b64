"""
Estimators: from R factors to numbers with their uncertainty.

An estimator is one function of ``Problem`` and one line of ``ESTIMATORS``.  A method whose motion
can be filtered anew may offer ``instrumental`` among its own options.
"""

from collections.abc import Callable

import numpy as np

from .instrumental import instrumental
from .problem import (effective_standard_deviation, Estimate, finish, group_standard_deviation,
                      least_squares, prior_rows, Problem, solve, two_step)

ROUNDS = 10      # of the ridge's weights
SETTLED = 0.02   # relative change of them that is no reason for another round

__all__ = ('ESTIMATORS', 'Estimate', 'Problem', 'ordinary', 'params_of', 'ridge',
           'weighted')


def ordinary(problem: Problem) -> Estimate:
    """
    Return the ordinary least squares Estimate.

    Assumes errors of equal variance in all rows, regressors without error (Gauss).
    """
    groups = problem.factors.groups
    beta = solve(problem.factors.system(), problem.base)
    square = sum(g.residual(beta) ** 2 for g in groups.values())
    free = max(1, problem.factors.rows() - len(beta))
    common = float(np.sqrt(square / free))
    standard_deviation = {name: common for name in groups}
    return finish(problem, beta, standard_deviation, None)


def weighted(problem: Problem) -> Estimate:
    """
    Return the two-step weighted least squares Estimate: each joint by its own residual.

    Assumes errors independent between joints, of one variance per joint (Aitken; Gautier 1997).
    """
    beta, standard_deviation = two_step(problem)
    return finish(problem, beta, standard_deviation, None)


def ridge(problem: Problem) -> Estimate:
    """
    Return the weighted Estimate that leans towards the nominal parameters.

    The prior of the robot description (nominal value, standard deviation of a body's own mass
    over a third of the reach) joins the data as further rows (Bayesian least squares; Hoerl and
    Kennard 1970): it yields where the data are informative and decides where they are not.
    problem : with the prior of its base parameters
    """
    return finish(problem, *_ridge(problem))


def _ridge(problem):
    """Return params (b,), standard deviations by group and prior rows of ``ridge``."""
    _, standard_deviation = two_step(problem)
    prior = prior_rows(problem.base)
    beta = problem.base.nominal()
    for number in range(ROUNDS):  # the weights from the residuals of the final kind
        A, b, _ = problem.factors.system(effective_standard_deviation(problem, standard_deviation))
        beta = least_squares(np.vstack([A, prior[0]]), np.concatenate([b, prior[1]]))
        before, standard_deviation = standard_deviation, group_standard_deviation(problem, beta)
        if number and all(abs(x - before[k]) < SETTLED * x for k, x in standard_deviation.items()):
            break
    return beta, standard_deviation, prior


def params_of(estimator: Callable[[Problem], Estimate]) -> Callable[[Problem], np.ndarray]:
    """Return the function of a Problem that gives the params (b,) of an ``estimator`` alone."""
    if estimator is ridge:
        return lambda problem: _ridge(problem)[0]
    return lambda problem: estimator(problem).params


ESTIMATORS = {
    'ordinary': ordinary,
    'weighted': weighted,
    'ridge': ridge,
    'instrumental': instrumental,
}
