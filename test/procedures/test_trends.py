"""Trends and changes of days: found where they are, nowhere else, with honest errors."""

import numpy as np
import pytest
from scipy.stats import linregress

from ros_inertial_id.procedures.changes import change_over, changes_of, trend_of

DAYS = np.arange(20.0)


def series(seed, column=0.0, size=0.0, sigma=1.0):
    return size * column + sigma * np.random.default_rng(seed).normal(size=len(DAYS))


@pytest.mark.parametrize('days, sigma', [(8, 10.0), (20, 1.0), (20, 10.0)])
def test_p_values_are_kept_by_noise_of_whatever_size(days, sigma):
    rng, runs, t = np.random.default_rng(0), 1000, np.arange(float(days))
    p = np.array(
        [trend_of(t, sigma * rng.normal(size=days), np.ones(days)).p_value for _ in range(runs)]
    )
    for level in (0.1, 0.01, 0.001):  # three deviations of a binomial number above what is stated
        assert np.sum(p <= level) <= level * runs + 3.0 * np.sqrt(level * runs)


def test_a_drift_is_found_with_its_size():
    errors = []
    for seed in range(40):
        found = trend_of(DAYS, series(seed, DAYS / DAYS[-1], 8.0), np.ones(20))
        assert found.p_value < 1e-4
        errors.append((found.size - 8.0) / found.error)
    # Errors in stated standard errors: of unit size, as far as forty of them show.
    assert 0.6 < np.std(errors) < 1.4


@pytest.mark.parametrize('days', [5, 8, 20])
def test_so_many_days_less_two_are_free_to_scatter_about_a_line(days):
    rng, t = np.random.default_rng(days), np.arange(float(days))
    values = 0.4 * t + rng.normal(size=days)
    found = trend_of(t, values, np.full(days, 1e-3))  # errors that explain none of the scatter
    line = linregress(t, values)
    assert found.size == pytest.approx(line.slope * (days - 1))
    assert found.error == pytest.approx(line.stderr * (days - 1))
    assert found.p_value == pytest.approx(line.pvalue)


def test_few_days_show_nothing():
    assert trend_of(DAYS[:3], np.array([0.0, 50.0, 100.0]), np.ones(3)) is None
    assert trend_of(np.zeros(20), DAYS, np.ones(20)) is None  # all on one day


def test_changes_are_found_beside_what_is_common():
    rng, days, size = np.random.default_rng(0), 12, 4
    beta, S = np.array([3.0, -1.0, 0.5, 2.0]), np.eye(size)[:, [1, 3]]
    true = rng.normal(size=(days, 2))
    true -= true.mean(0)
    systems = []
    for d in range(days):
        A = rng.normal(size=(200, size))
        systems.append((A, A @ (beta + S @ true[d]) + rng.normal(size=200)))
    prior = np.eye(size) / 100.0, np.zeros(size)
    values, errors, common = changes_of(systems, S, np.array([10.0, 10.0]), prior)
    assert np.abs((values - true) / errors).max() < 4.5
    # 200 rows of unit columns and noise: 1 / sqrt(200) each, a fifth apart by chance.
    np.testing.assert_allclose(errors, 200.0**-0.5, rtol=0.3)
    np.testing.assert_allclose(common, beta, atol=0.15)


@pytest.mark.parametrize('days', [2, 4, 8])
def test_steps_that_are_none_are_not_named_more_often_than_stated(days):
    rng, runs, t = np.random.default_rng(days), 1000, np.arange(float(days))
    p = np.array(
        [change_over(t, rng.normal(size=days), np.ones(days)).p_value for _ in range(runs)]
    )
    for level in (0.1, 0.01):
        assert np.sum(p <= level) <= level * runs + 3.0 * np.sqrt(level * runs)


def test_a_step_is_found_where_it_is():
    values = np.where(DAYS < 7, 0.0, 6.0) + series(1)
    found = change_over(DAYS, values, np.ones(20))
    assert found.since == 7 and found.size == pytest.approx(6.0, abs=4.0 * found.error)
    assert change_over(DAYS[:1], values[:1], np.ones(1)) is None


def test_errors_of_changes_hold_that_of_what_is_common():
    """Two days that show different things: the scatter of their change over many noises."""
    rng = np.random.default_rng(3)
    rows = [rng.normal(size=(30, 3)) * scale for scale in ((1.0, 0.1, 1.0), (0.1, 1.0, 1.0))]
    rows[1][:, 2] += 3.0 * rows[1][:, 1]  # there the change looks like a common parameter
    S, prior = np.eye(3)[:, [2]], (np.eye(3) * 1e-3, np.zeros(3))
    steps = []
    for _ in range(300):
        systems = [(A, rng.normal(size=30)) for A in rows]
        delta, errors, _ = changes_of(systems, S, np.array([1e3]), prior)
        steps.append(delta[1, 0] - delta[0, 0])
    assert np.std(steps) == pytest.approx(np.linalg.norm(errors[:, 0]), rel=0.15)
