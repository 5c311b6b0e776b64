"""The band of predicted torques holds what it says, of stretches that it has not seen."""

import numpy as np
import pytest

from ros_inertial_id.identification.judge.prediction import (band_of, half_widths, LEVEL,
                                                             quantile_of_stretches)
from ros_inertial_id.identification.judge.validation import excess

RANGES = {'j': {'q': [-1.0, 1.0], 'v': [-2.0, 2.0], 'a': [-10.0, 10.0]},
          'k': {'q': [0.0, 1.0], 'v': [-1.0, 1.0], 'a': [-1.0, 1.0]}}


def noise(count, samples, rng, spread=0.3):
    """Return (count, samples) errors of stretches of their own size, correlated in time."""
    white = rng.standard_normal((count, samples + 9))
    slow = sum(white[:, k:k + samples] for k in range(10)) / np.sqrt(10.0)
    return slow * np.exp(spread * rng.standard_normal((count, 1)))


@pytest.mark.parametrize('count', [5, 10, 25])
def test_a_further_stretch_is_held_as_often_as_the_level_says(count):
    rng, held = np.random.default_rng(count), []
    stretch = np.repeat(np.arange(count), 200)
    for _ in range(200):
        seen, new = noise(count, 200, rng), noise(20, 200, rng)
        held.append(np.mean(np.abs(new) <= quantile_of_stretches(np.abs(seen).ravel(), stretch)))
    # On average over data sets as much as is said, of few stretches more.
    assert LEVEL - 0.005 < np.mean(held) < (0.99 if count == 5 else 0.975)


def test_the_band_is_wide_where_the_residual_is():
    rng, size = np.random.default_rng(1), 500
    stretch = np.repeat(np.arange(25.0), size)
    v, a = rng.uniform(-2.0, 2.0, stretch.size), rng.uniform(-10.0, 10.0, stretch.size)
    true = 0.2 + 0.5 * np.abs(v)
    residual = true * noise(25, size, rng, 0.0).ravel()
    band = band_of([{'j': np.stack([stretch, residual, v, a])}], RANGES)
    assert band['stretches'] == 25 and band['level'] == LEVEL
    half = half_widths(band, ['j'], {'j': {'v': v, 'a': a}}, RANGES)[0][:, 0]
    for low, high in ((0.0, 0.3), (0.3, 1.0), (1.0, 2.0)):
        own = (low <= np.abs(v)) & (np.abs(v) < high)
        assert 0.93 < np.mean(np.abs(residual[own]) <= half[own]) < 0.99, low


def test_stretches_of_two_recordings_are_not_one():
    rng = np.random.default_rng(2)
    one, other = ({'j': np.stack([np.repeat(np.arange(5.0), 50), rng.standard_normal(250),
                                  np.zeros(250), np.zeros(250)])} for _ in range(2))
    assert band_of([one, other], RANGES)['stretches'] == 10
    assert band_of([one], RANGES)['stretches'] == 5


def test_the_band_widens_with_the_way_out_of_range():
    still = {'constant': 1.0, 'per_speed': 0.0, 'per_acceleration': 0.0, 'near_reversal': 0.5,
             'slow': 0.1}
    band = {'joints': {'j': still}}
    seen = {'j': {'q': np.array([0.0, 1.5, 1.01, 0.0, 0.0]), 'v': np.array([1.0, 1, 1, 4, 0]),
                  'a': np.zeros(5)},
            'k': {'q': np.array([0.5, 0.5, 0.5, 0.5, 2.0]), 'v': np.array([9.0, 9, 9, 9, 9]),
                  'a': np.zeros(5)}}
    half, outside = half_widths(band, ['j', 'k'], seen, RANGES)
    # An end of a range is one sample, with noise; the speed of another joint is its own matter.
    np.testing.assert_allclose(outside[:, 0], [0.0, 0.5, 0.0, 1.0, 2.0])
    np.testing.assert_allclose(half[:, 0], [1.0, 1.5, 1.0, 2.0, 1.5 * 3.0])
    assert np.isnan(half[:, 1]).all()
    np.testing.assert_allclose(excess(seen, RANGES, 'k')[:4], 8.0)
