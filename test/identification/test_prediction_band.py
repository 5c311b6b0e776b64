"""The band of predicted torques holds what it says, of stretches that it has not seen."""

import numpy as np
import pytest

from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.identification.judge.prediction import alarm_ratios, Band, Excess
from ros_inertial_id.identification.judge.validation import (
    BAND_LEVEL,
    band_of,
    Outside,
    quantile_of_stretches,
)
from ros_inertial_id.identification.reduce.stretches import SHORTEST_PIECE

RANGES = {
    'j': {'q': [-1.0, 1.0], 'v': [-2.0, 2.0], 'a': [-10.0, 10.0]},
    'k': {'q': [0.0, 1.0], 'v': [-1.0, 1.0], 'a': [-1.0, 1.0]},
}


def noise(count, samples, rng, spread=0.3):
    """Return (count, samples) errors of stretches of their own size, correlated in time."""
    white = rng.standard_normal((count, samples + 9))
    slow = sum(white[:, k : k + samples] for k in range(10)) / np.sqrt(10.0)
    return slow * np.exp(spread * rng.standard_normal((count, 1)))


@pytest.mark.parametrize('count', [5, 10, 25])
def test_a_further_stretch_is_held_as_often_as_the_level_says(count):
    rng, held = np.random.default_rng(count), []
    stretch = np.repeat(np.arange(count), 200)
    for _ in range(200):
        seen, new = noise(count, 200, rng), noise(20, 200, rng)
        held.append(np.mean(np.abs(new) <= quantile_of_stretches(np.abs(seen).ravel(), stretch)))
    # On average over data sets as much as is said, of few stretches more.
    assert BAND_LEVEL - 0.005 < np.mean(held) < (0.99 if count == 5 else 0.975)


@pytest.mark.parametrize('share, joints', [(0.02, 'j'), (0.1, 'j'), (0.1, 'jk')])
def test_the_largest_errors_of_all_joints_exceed_their_limits_as_often_as_is_said(share, joints):
    rng, rows, new = np.random.default_rng(0), {}, {}
    for joint in joints:
        seen, new[joint] = noise(400, 200, rng, 0.0), noise(10000, 200, rng, 0.0)
        still = np.zeros(seen.size)
        rows[joint] = np.stack([np.repeat(np.arange(400.0), 200), seen.ravel(), still, still])
    band = band_of([rows], RANGES)
    half = Band(band, list(joints), RANGES).at({joint: {'v': np.zeros(1)} for joint in joints})[0]
    limits = half[0] * alarm_ratios(band, list(joints), share * 3600.0 / SHORTEST_PIECE)
    beyond = [np.abs(new[joint]).max(1) > limit for joint, limit in zip(joints, limits)]
    # Of the maxima of normal numbers Gumbel's distribution is the limit, not the truth.
    assert np.mean(np.any(beyond, axis=0)) == pytest.approx(share, rel=0.4)


def test_the_band_is_wide_where_the_residual_is():
    rng, size = np.random.default_rng(1), 500
    stretch = np.repeat(np.arange(25.0), size)
    v, a = rng.uniform(-2.0, 2.0, stretch.size), rng.uniform(-10.0, 10.0, stretch.size)
    true = 0.2 + 0.5 * np.abs(v)
    residual = true * noise(25, size, rng, 0.0).ravel()
    band = band_of([{'j': np.stack([stretch, residual, v, a])}], RANGES)
    assert band['stretches'] == 25 and band['level'] == BAND_LEVEL
    half = Band(band, ['j'], RANGES).at({'j': {'v': v, 'a': a}})[0][:, 0]
    for low, high in ((0.0, 0.3), (0.3, 1.0), (1.0, 2.0)):
        own = (low <= np.abs(v)) & (np.abs(v) < high)
        assert 0.93 < np.mean(np.abs(residual[own]) <= half[own]) < 0.99, low


def test_the_band_widens_with_the_way_out_of_range():
    still = {
        'constant': 1.0,
        'per_speed': 0.0,
        'per_acceleration': 0.0,
        'near_reversal': 0.5,
        'slow': 0.1,
    }
    band = {'joints': {'j': still}}
    seen = {
        'j': {
            'q': np.array([0.0, 1.5, 1.01, 0.0, 0.0]),
            'v': np.array([1.0, 1, 1, 4, 0]),
            'a': np.zeros(5),
        },
        'k': {
            'q': np.array([0.5, 0.5, 0.5, 0.5, 2.0]),
            'v': np.array([9.0, 9, 9, 9, 9]),
            'a': np.zeros(5),
        },
    }
    half, outside = Band(band, ['j', 'k'], RANGES).at(seen)
    # An end of a range is one sample, with noise; the speed of another joint is its own matter.
    np.testing.assert_allclose(outside[:, 0], [0.0, 0.5, 0.0, 1.0, 2.0])
    np.testing.assert_allclose(half[:, 0], [1.0, 1.5, 1.0, 2.0, 1.5 * 3.0])
    assert np.isnan(half[:, 1]).all()
    np.testing.assert_allclose(Excess(['k'], RANGES)(seen)[:4, 0], 8.0)


def test_a_turn_further_is_the_same_position_where_the_joint_says_so():
    x = np.array([0.5, 1.5, 0.5 + 2.0 * np.pi, -4.0 * np.pi, np.pi])
    seen = {'j': {'q': x}}
    away = Excess(['j'], RANGES, ['j'])(seen)[:, 0]
    np.testing.assert_allclose(away, [0.0, 0.5, 0.0, 0.0, np.pi - 1.0], atol=1e-12)
    away = Excess(['j'], RANGES)(seen)[:, 0]
    np.testing.assert_allclose(away, np.where(x == 0.5, 0.0, np.abs(x) - 1.0))
    around = {'j': {'q': [-4.0, 2.5]}}  # every position of a turn was seen
    assert not Excess(['j'], around, ['j'])({'j': {'q': 100.0 * x}}).any()


def _block(errors):
    groups = tuple(
        RowGroup(name, 'N m', np.array([0]), np.zeros((len(e), 1)), 1.0 + e, 1.0 + e)
        for name, e in errors.items()
    )
    return RegressorBlock(np.arange(4.0), 0, groups)


def test_errors_are_counted_where_they_are():
    outside = Outside({'a': {'v': [-1.0, 1.0]}, 'b': {'v': [-1.0, 1.0]}})
    seen = {'a': {'v': np.array([0.0, 0.5, 2.0, 3.0])}, 'b': {'v': np.zeros(4)}}
    errors = {'a': np.array([0.1, 0.1, 0.5, 0.5]), 'b': np.full(4, 0.2)}
    outside.add(_block(errors), {name: np.ones(4) for name in errors}, outside.mask(seen))
    found = outside.summary()
    assert found['joints'] == {
        'a': {'v': {'trained': [-1.0, 1.0], 'seen': [0.0, 3.0], 'samples_percent': 50.0}}
    }
    assert found['samples_percent'] == 50.0
    assert found['rms'] == {'a': {'inside': pytest.approx(0.1), 'outside': pytest.approx(0.5)}}
    there = np.sqrt(2 * (0.5**2 + 0.2**2) / (2 * (1.5**2 + 1.2**2)))
    assert found['relative_percent_outside'] == pytest.approx(100 * there)
