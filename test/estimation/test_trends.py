"""Trends and changes of days: found where they are, nowhere else, with honest errors."""

import numpy as np
import pytest

from ros_inertial_id.estimation.changes import changes_of, trend_of

DAYS = np.arange(20.0)


def series(seed, column=0.0, size=0.0, sigma=1.0):
    return size * column + sigma * np.random.default_rng(seed).normal(size=len(DAYS))


def test_noise_is_constant():
    kinds = [trend_of(DAYS, series(k), np.ones(20)).kind for k in range(100)]
    # Odds of a thousand to one for each of 100: at most one by chance.
    assert sum(kind != 'constant' for kind in kinds) <= 1


def test_a_drift_is_found_with_its_size():
    errors = []
    for seed in range(40):
        found = trend_of(DAYS, series(seed, DAYS / DAYS[-1], 8.0), np.ones(20))
        assert found.kind == 'drift'
        errors.append((found.size - 8.0) / found.error)
    # Errors in stated standard errors: of unit size, as far as forty of them show.
    assert 0.6 < np.std(errors) < 1.4


def test_a_steady_drift_of_few_days_is_no_scatter():
    # Every step is of twenty standard errors, and each like the one before.
    found = trend_of(DAYS[:6], 20.0 * DAYS[:6] + series(0)[:6], np.ones(6))
    assert found.kind == 'drift' and found.inflation < 3.0
    assert found.size == pytest.approx(100.0, abs=4.0 * found.error)


def test_a_jump_is_found_at_its_day():
    for seed in range(20):
        found = trend_of(DAYS, series(seed, DAYS >= 12.0, 6.0), np.ones(20))
        assert found.kind == 'jump'
        assert abs(found.at - 12.0) <= 1.0
        assert found.size == pytest.approx(6.0, abs=4.0 * found.error)


def test_scatter_beyond_the_stated_errors_widens_them():
    wild = [trend_of(DAYS, series(k, sigma=10.0), np.ones(20)) for k in range(60)]
    assert sum(t.kind != 'constant' for t in wild) <= 2
    assert 5.0 < np.median([t.inflation for t in wild]) < 15.0


def test_what_follows_the_temperature_is_no_drift():
    warm = 20.0 + 5.0 * np.sin(DAYS) + 0.2 * DAYS
    found = trend_of(DAYS, series(3, warm, 2.0, 0.5), np.full(20, 0.5), warm)
    assert found.kind == 'temperature'
    assert found.size == pytest.approx(2.0, abs=4.0 * found.error)
    both = trend_of(DAYS, 2.0 * warm + series(3, DAYS, 1.0, 0.5), np.full(20, 0.5), warm)
    assert both.kind == 'drift'


def test_few_days_show_nothing():
    assert trend_of(DAYS[:3], np.array([0.0, 50.0, 100.0]), np.ones(3)).kind == 'constant'


def test_changes_are_found_beside_what_is_common():
    rng, days, size = np.random.default_rng(0), 12, 4
    beta, S = np.array([3.0, -1.0, 0.5, 2.0]), np.eye(size)[:, [1, 3]]
    true = rng.normal(size=(days, 2))
    true -= true.mean(0)
    systems = []
    for d in range(days):
        A = rng.normal(size=(200, size))
        systems.append((A, A @ (beta + S @ true[d]) + rng.normal(size=200)))
    found = changes_of(systems, S, np.array([10.0, 10.0]), (np.eye(size) / 100.0, np.zeros(size)))
    assert np.abs((found.values - true) / found.errors).max() < 4.5
    # 200 rows of unit columns and noise: 1 / sqrt(200) each, a fifth apart by chance.
    np.testing.assert_allclose(found.errors, 200.0 ** -0.5, rtol=0.3)
    np.testing.assert_allclose(found.common, beta, atol=0.15)
