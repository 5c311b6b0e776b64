"""Model error repeats with the motion: stretches are of distinct motion, errors are moderated."""

import numpy as np
from scipy.signal import lfilter

from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.estimation.base_parameters import find_base_parameters
from ros_inertial_id.estimation.estimators import Problem, ridge
from ros_inertial_id.estimation.r_factors import GroupFactor, merge, RFactors, triangle
from ros_inertial_id.estimation.residuals import robust_errors
from ros_inertial_id.identification.reduce.stretches import distinct_stretches


def _motion(t):
    w = np.array([2.1, 3.7, 5.3])
    return np.sin(np.outer(t, w)) + 0.3 * np.cos(np.outer(t, 2.3 * w))


def _stretches(t, q, count=8):
    return distinct_stretches(q, np.gradient(q, t, axis=0), t, count)


def test_a_motion_that_does_not_repeat_is_cut_by_time():
    t = np.arange(0.0, 10.0, 0.01)
    # Three joints come by chance near where they were, here and there.
    assert np.mean(_stretches(t, _motion(t)) == np.arange(len(t)) * 8 // len(t)) > 0.9


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


def test_errors_hold_the_truth_where_each_stretch_shows_something_else():
    """Errors that last; every direction is shown by one stretch above all, one is the noisiest."""
    rng, rows, z, wider = np.random.default_rng(7), 400, [], []
    base = find_base_parameters(
        rng.normal(size=(24, 8)),
        tuple(Parameter(f'x{k}', '', 1.0, 0.0, 10.0, 'rows') for k in range(8)),
    )
    for _ in range(150):
        folds = []
        for stretch in range(8):
            W, error = (
                lfilter([1.0], [1.0, -0.9], rng.normal(size=(rows, k)), axis=0) for k in (8, 1)
            )
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


def test_where_all_stretches_show_the_same_what_a_prior_pulls_by_is_no_scatter():
    """Eight equal stretches of a spring of 1 N m/rad, which is described by 0 +- 0.1 N m/rad."""
    rng, rows, count = np.random.default_rng(0), 400, 8
    W = rng.normal(size=rows)
    noise = rng.normal(size=rows)
    noise -= W * (W @ noise) / (W @ W)
    W *= np.sqrt(10.0 / (W @ W))  # each tells it to 1 / sqrt(10), in noise of unit size
    noise *= np.sqrt(rows / (noise @ noise))
    y = W + noise
    R = triangle(np.asfortranarray(np.column_stack([W, y, y])))
    folds = [RFactors(1, {'rows': GroupFactor('', np.arange(1), R, rows)})] * count
    base = find_base_parameters(np.ones((3, 1)), (Parameter('k', '', 1.0, 0.0, 0.1, 'joint'),))
    problem = Problem(merge(folds), base, {})
    by_rows = ridge(problem)
    # 80 of the data against 100 of the description: more than half of the way is the prior's.
    np.testing.assert_allclose(by_rows.params, 80.0 / 180.0, rtol=0.01)
    estimate = robust_errors(problem, by_rows, folds, base.prior_covariance())
    np.testing.assert_allclose(estimate.bse, by_rows.bse)
