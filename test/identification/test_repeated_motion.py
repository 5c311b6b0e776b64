"""Model error repeats with the motion: stretches are of distinct motion, errors are moderated."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.signal import lfilter

from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.estimation.base_parameters import find_base_parameters
from ros_inertial_id.estimation.estimators import Problem, ridge
from ros_inertial_id.estimation.r_factors import GroupFactor, merge, RFactors, triangle
from ros_inertial_id.identification.reduce.stretches import (distinct_stretches, joined,
                                                             moderated_covariance, moderation,
                                                             robust_errors)


def _motion(t):
    w = np.array([2.1, 3.7, 5.3])
    return np.sin(np.outer(t, w)) + 0.3 * np.cos(np.outer(t, 2.3 * w))


def _stretches(t, q, count=8):
    return distinct_stretches(q, np.gradient(q, t, axis=0), t, count)


def test_a_motion_that_does_not_repeat_is_cut_by_time():
    t = np.arange(0.0, 10.0, 0.01)
    # Three joints come by chance near where they were, here and there.
    assert np.mean(_stretches(t, _motion(t)) == np.arange(len(t)) * 8 // len(t)) > 0.9


def test_a_slow_motion_is_cut_by_time_though_it_stays_near_itself_for_long():
    t = np.arange(0.0, 1000.0, 0.5)
    assert np.mean(_stretches(t, _motion(0.01 * t)) == np.arange(len(t)) * 8 // len(t)) > 0.9


def test_an_arm_that_rests_shows_nothing_new():
    t = np.arange(0.0, 10.0, 0.01)
    q = _motion(np.maximum(t - 5.0, 0.0))
    numbers = distinct_stretches(q, np.gradient(q, t, axis=0), t, 8)
    assert numbers[:480].max() == 0 and set(numbers) == set(range(8))


def test_periods_share_their_stretches():
    t = np.arange(0.0, 20.0, 0.01)
    rng = np.random.default_rng(0)
    q = _motion(t % 10.0) + 0.01 * rng.normal(size=(len(t), 3))
    numbers = distinct_stretches(q, np.gradient(_motion(t % 10.0), t, axis=0), t, 8)
    # But for where the period begins anew with a leap, and a sample at the borders.
    same = numbers[20:980] == numbers[1020:1980]
    assert same.mean() > 0.97 and set(numbers) == set(range(8))


def test_a_second_recording_of_the_same_motion_adds_no_stretch():
    t = np.arange(0.0, 10.0, 0.01)
    q, v = _motion(t), np.gradient(_motion(t), t, axis=0)
    numbers = distinct_stretches(np.tile(q, (2, 1)), np.tile(v, (2, 1)), np.tile(t, 2), 8)
    assert np.mean(numbers[:len(t)] == numbers[len(t):]) > 0.97  # but for samples at borders


def _moderated(ratios):
    common, own = moderation(ratios, 15)
    return np.sqrt(common + own * ratios ** 2)


def test_errors_that_differ_by_chance_alone_become_one():
    ratios = np.sqrt(np.random.default_rng(1).chisquare(15, 80) / 15)
    out = _moderated(ratios)
    assert np.ptp(out) < 0.5 * np.ptp(ratios)
    # Eighty of fifteen degrees of freedom know their common size to 2 %.
    assert out.mean() == pytest.approx(1.0, abs=0.06)


def test_errors_that_differ_more_stay_and_are_as_wide_as_few_stretches_ask_for():
    rng = np.random.default_rng(2)
    true = np.exp(rng.normal(size=80))
    ratios = true * np.sqrt(rng.chisquare(15, 80) / 15)
    out = _moderated(ratios)
    np.testing.assert_allclose(out[ratios > 0.5], ratios[ratios > 0.5], rtol=0.2)
    assert np.median(out / ratios) > 1.03


def _jackknife_of_a_mean(samples, correlation):
    """Return (draws,) variance of the mean of samples (draws, N) and of how many stretches."""
    rows = samples.shape[1]
    problem = SimpleNamespace(correlation={'a': correlation},
                              factors=SimpleNamespace(groups={'a': SimpleNamespace(rows=rows)}))
    sums = joined(problem, np.moveaxis(samples.reshape(len(samples), 16, -1).sum(2), 1, 0))
    count = len(sums)
    left_out = (sums.sum(0) - sums) / (rows * (1 - 1 / count))
    return (count - 1) / count * ((left_out - left_out.mean(0)) ** 2).sum(0), count


def test_stretches_are_longer_than_what_the_model_lacks():
    rng, pole = np.random.default_rng(3), np.exp(-1 / 60)
    white = rng.normal(size=(300, 4800))
    variance, count = _jackknife_of_a_mean(white, 1.0)
    assert count == 16 and variance.mean() == pytest.approx(1 / 4800, rel=0.1)
    # An autoregressive process: sums of N samples count as N (1 - pole) / (1 + pole).
    lasting = lfilter([np.sqrt(1 - pole ** 2)], [1.0, -pole], white, axis=1)
    time = (1 + pole) / (1 - pole)
    variance, count = _jackknife_of_a_mean(lasting, time)
    # Stretches of 5 such times miss a tenth of the variance, the 16 of 2.5 times a fifth.
    assert count == 8 and variance.mean() == pytest.approx(0.9 * time / 4800, rel=0.06)


def test_errors_hold_the_truth_where_each_stretch_shows_something_else():
    """Errors that last; every direction is shown by one stretch above all, one is the noisiest."""
    rng, rows, z, wider = np.random.default_rng(7), 400, [], []
    base = find_base_parameters(rng.normal(size=(24, 8)), tuple(
        Parameter(f'x{k}', '', 1.0, 0.0, 10.0, 'rows') for k in range(8)))
    for _ in range(150):
        folds = []
        for stretch in range(8):
            W, error = (lfilter([1.0], [1.0, -0.9], rng.normal(size=(rows, k)), axis=0)
                        for k in (8, 1))
            W *= np.where(np.arange(8) == stretch, 3.0, 1.0)
            y = W.sum(1) + error[:, 0] * (3.0 if stretch == 5 else 1.0)
            R = triangle(np.asfortranarray(np.column_stack([W, y, y])))
            folds.append(RFactors(8, {'rows': GroupFactor('', np.arange(8), R, rows)}))
        problem = Problem(merge(folds), base, {})
        by_rows = ridge(problem)
        estimate = robust_errors(problem, by_rows, folds, base.prior_covariance())
        z.extend((estimate.params - 1.0) / estimate.bse)
        wider.extend(estimate.bse / by_rows.bse)
    assert 0.93 < np.mean(np.abs(z) < 1.96) < 0.985
    assert np.median(wider) > 1.5  # that of the rows does not know what lasts


def test_what_is_known_together_stays_known_where_each_one_is_not():
    """Ten threes of which the sum is known, as of friction laws that are hard to tell apart."""
    rng = np.random.default_rng(4)
    V = np.linalg.qr(np.column_stack([np.ones(3), rng.normal(size=(3, 2))]))[0]
    by_rows, true = (np.kron(np.eye(10), V * variance @ V.T)
                     for variance in ([1e-4, 1.0, 1.0], [4e-4, 9.0, 1.0]))
    away = rng.multivariate_normal(np.zeros(30), true, 16) / 16 ** 0.5
    out = moderated_covariance(by_rows, away)
    stated = np.sqrt([np.ones(3) @ out[k:k + 3, k:k + 3] @ np.ones(3) / 3
                      for k in range(0, 30, 3)])
    # Sixteen stretches know an error to a fifth, and Student's t widens it by a tenth.
    assert np.sqrt(np.mean(stated ** 2)) == pytest.approx(0.02, rel=0.3)
    assert np.all(np.diag(out) >= (1.0 - 1e-9) * np.diag(by_rows))
    # Where stretches agree better than rows let expect, the rows say how much is known.
    by_rows = np.kron(np.eye(10), V * [1e-8, 1.0, 1.0] @ V.T)
    away = rng.multivariate_normal(np.zeros(30), 0.01 * by_rows, 16) / 16 ** 0.5
    np.testing.assert_allclose(moderated_covariance(by_rows, away), by_rows, atol=1e-12)
