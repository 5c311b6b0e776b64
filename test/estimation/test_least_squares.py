"""The jackknife of a mean is its textbook standard error, stretch by stretch."""

import numpy as np

from ros_inertial_id.estimation.least_squares import deviations, standard_errors


def test_of_a_mean_it_is_the_standard_error_of_the_mean():
    x = np.random.default_rng(0).normal(size=(20, 3)) * [1.0, 5.0, 0.1]
    left_out = (x.sum(0) - x) / 19
    expected = x.std(0, ddof=1) / np.sqrt(20)
    np.testing.assert_allclose(standard_errors(left_out), expected, rtol=1e-12)
    away = deviations(left_out)
    np.testing.assert_allclose(away.T @ away, np.cov(x.T) / 20, rtol=1e-9, atol=1e-15)
