"""Stated 95 % intervals hold the truth at slow and fast rates: the corners of a benchmark."""

import numpy as np
import pytest
from sampled_arm import scores


@pytest.mark.parametrize(
    'rate, band, velocity', [(100.0, 2.5, 'differentiated'), (500.0, 0.5, 'measured')]
)
def test_the_corners_are_covered_with_the_laws_that_the_data_choose(rate, band, velocity):
    z = np.concatenate([scores(rate, band, velocity, seed) for seed in range(4)])
    # 127 parameters of four recordings, which are not independent: 95 % to some three percent.
    # With two-point differences and straight lines 75 % at 100 Hz, and |z| to 8.
    assert 0.90 < np.mean(abs(z) < 1.96) and abs(z).max() < 4.5
    assert 0.7 < np.sqrt((z**2).mean()) < 1.2
