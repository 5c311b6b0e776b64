"""What is known only together is named."""

import numpy as np
import pytest

from ros_inertial_id.identification.judge.statistics import dependence


def test_what_is_known_together_is_named_with_its_inflation():
    # Of two with correlation r the variance is inflated by 1 / (1 - r^2); a third stands alone.
    sd, r = np.array([2.0, 0.1, 5.0, 1.0]), 0.96
    R = np.eye(4)
    R[0, 1] = R[1, 0] = r
    R[2, 3] = R[3, 2] = 0.999  # with one that is not determined
    shared = dependence('abcd', R * np.outer(sd, sd), np.array([True, True, True, False]))
    assert set(shared) == set('abc')
    assert shared['a']['partner'] == 'b' and shared['b']['correlation'] == pytest.approx(r)
    assert shared['a']['inflation'] == pytest.approx(1.0 / (1.0 - r ** 2))
    assert shared['c']['inflation'] == pytest.approx(1.0)
