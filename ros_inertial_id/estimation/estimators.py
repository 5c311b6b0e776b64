"""
Estimators: from Information to numbers with their uncertainty.

An estimator is one function of ``Problem`` and one line of ``ESTIMATORS``.
"""

import numpy as np

from .errors_in_variables import instrumental, total
from .problem import (effective_deviation, Estimate, finish, group_deviation, least_squares,
                      prior_rows, Problem, solve, two_step)
from .robust import robust

__all__ = ('ESTIMATORS', 'Estimate', 'Problem', 'ordinary', 'ridge', 'weighted')


def ordinary(problem):
    """
    Return the ordinary least squares Estimate.

    Assumes errors of equal variance in all rows, regressors without error (Gauss).
    """
    groups = problem.information.groups
    beta = solve(problem.information.system(), problem.base)
    square = sum(g.residual(beta) ** 2 for g in groups.values())
    free = max(1, problem.information.rows() - len(beta))
    common = float(np.sqrt(square / free))
    deviation = {name: common for name in groups}
    return finish(problem, beta, deviation, None)


def weighted(problem):
    """
    Return the two-step weighted least squares Estimate: each joint by its own residual.

    Assumes errors independent between joints, of one variance per joint (Aitken; Gautier 1997).
    """
    beta, deviation = two_step(problem)
    return finish(problem, beta, deviation, None)


def ridge(problem):
    """
    Return the weighted Estimate that leans towards the nominal parameters.

    The belief of the robot description (nominal value, spread of a body's own mass over a third
    of the reach) joins the data as further rows (Bayesian least squares; Hoerl and Kennard 1970):
    where the data speak it yields, where they are silent it keeps predictions sane.
    """
    _, deviation = two_step(problem)
    prior = prior_rows(problem.base)
    beta = None
    for _ in range(2):  # the weights once more from the residuals of the final kind
        A, b, _ = problem.information.system(effective_deviation(problem, deviation))
        beta = least_squares(np.vstack([A, prior[0]]), np.concatenate([b, prior[1]]))
        deviation = group_deviation(problem, beta)
    return finish(problem, beta, deviation, prior)


ESTIMATORS = {
    'ordinary': ordinary,
    'weighted': weighted,
    'ridge': ridge,
    'robust': robust,
    'total': total,
    'instrumental': instrumental,
}
