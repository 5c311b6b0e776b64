"""Student's t and the derivatives of log Gamma are those of scipy."""

import numpy as np
import pytest
from scipy import special

from ros_inertial_id.estimation.distributions import (
    digamma,
    normal_quantile,
    student_quantile,
    trigamma,
)


def test_derivatives_of_log_gamma_are_scipys():
    x = np.geomspace(0.05, 1e4, 500)
    np.testing.assert_allclose(digamma(x), special.psi(x), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(trigamma(x), special.polygamma(1, x), rtol=1e-13)


@pytest.mark.parametrize('level', [0.6, 0.95, 0.975])
def test_quantiles_are_scipys(level):
    freedom = np.geomspace(1.0, 1e4, 50)
    np.testing.assert_allclose(
        [student_quantile(level, f) for f in freedom], special.stdtrit(freedom, level), rtol=1e-10
    )
    assert normal_quantile(level) == pytest.approx(special.ndtri(level), rel=1e-14)
