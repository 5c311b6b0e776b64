"""The jackknife of a mean is its textbook standard error; solutions not below zero are scipy's."""

import numpy as np
from scipy.optimize import nnls

from ros_inertial_id.estimation.least_squares import (
    deviations,
    nonnegative_solution,
    standard_errors,
)


def test_of_a_mean_it_is_the_standard_error_of_the_mean():
    x = np.random.default_rng(0).normal(size=(20, 3)) * [1.0, 5.0, 0.1]
    left_out = (x.sum(0) - x) / 19
    expected = x.std(0, ddof=1) / np.sqrt(20)
    np.testing.assert_allclose(standard_errors(left_out), expected, rtol=1e-12)
    away = deviations(left_out)
    np.testing.assert_allclose(away.T @ away, np.cov(x.T) / 20, rtol=1e-9, atol=1e-15)


def test_solutions_not_below_zero_leave_what_scipys_leave():
    rng = np.random.default_rng(0)
    for m, p, twin in rng.integers(1, 12, (300, 3)):
        A, b = rng.normal(size=(m, p)), rng.normal(size=m)
        A = np.column_stack([A, A[:, :1] * (1.0 + 1e-13)]) if twin < 4 else A
        x = nonnegative_solution(A, b)
        assert x.min() >= 0.0
        np.testing.assert_allclose(np.linalg.norm(A @ x - b), nnls(A, b)[1], rtol=1e-9, atol=1e-9)
