"""The smoother of motions against one dense least squares problem, and against the truth."""

import numpy as np

from ros_inertial_id.rigs.measurement.kalman import estimate, Readings, white_jerk


def problem(count=40, seed=0):
    """Return the arguments of estimate for two coordinates, some readings lost."""
    rng = np.random.default_rng(seed)
    F, Q = white_jerk(2, 0.01, np.array([1e3, 4e2]))
    nominal = rng.normal(size=(count, 6)) * 0.01
    H = rng.normal(size=(count, 3, 6))
    residual, variance = rng.normal(size=(count, 3)), rng.uniform(0.5, 2.0, (count, 3))
    residual[5:9, 1] = np.nan
    residual[20] = np.nan
    return F, Q, nominal, Readings(H, residual, variance), np.full(6, 0.7)


def test_smoother_solves_the_least_squares_problem_of_all_samples():
    F, Q, nominal, readings, start = problem()
    H, residual, variance = readings.H, readings.residual, readings.variance
    count, size = nominal.shape
    out = estimate(F, Q, nominal, readings, start)
    whiten = np.linalg.inv(np.linalg.cholesky(Q))
    rows, right = [], []

    def add(blocks, value):
        row = np.zeros((len(value), count * size))
        for k, block in blocks:
            row[:, k * size:(k + 1) * size] = block
        rows.append(row)
        right.append(value)

    add([(0, np.diag(1 / start))], nominal[0] / start)
    for k in range(count):
        seen = np.isfinite(residual[k])
        weight = 1 / np.sqrt(variance[k, seen])[:, None]
        add([(k, weight * H[k, seen])],
            (weight[:, 0] * (residual[k, seen] + H[k, seen] @ nominal[k])))
        if k:
            add([(k, whiten), (k - 1, -whiten @ F)], np.zeros(size))
    A, b = np.vstack(rows), np.concatenate(right)
    expected, *_ = np.linalg.lstsq(A, b, rcond=None)
    # Q spans ten decades over one step: the dense problem keeps about six digits.
    np.testing.assert_allclose(out.x.ravel(), expected, atol=1e-5 * np.abs(expected).max())
    standard_deviation = np.sqrt(np.diag(np.linalg.inv(A.T @ A)))
    ours = np.sqrt(np.diagonal(out.covariance, axis1=1, axis2=2)).ravel()
    np.testing.assert_allclose(ours, standard_deviation, rtol=1e-3)


def test_likelihood_is_that_of_the_joint_normal_distribution_of_all_readings():
    F, Q, nominal, readings, start = problem(count=22, seed=3)
    count, size = nominal.shape
    mean, covariance = np.zeros((count, size)), np.zeros((count, count, size, size))
    covariance[0, 0] = np.diag(start ** 2)
    for k in range(1, count):
        mean[k] = F @ (mean[k - 1] + nominal[k - 1]) - nominal[k]
        covariance[k, k] = F @ covariance[k - 1, k - 1] @ F.T + Q
        for j in range(k):
            covariance[k, j] = F @ covariance[k - 1, j]
            covariance[j, k] = covariance[k, j].T
    rows = [(k, i) for k in range(count) for i in range(3) if np.isfinite(readings.residual[k, i])]
    H = np.zeros((len(rows), count * size))
    for place, (k, i) in enumerate(rows):
        H[place, k * size:(k + 1) * size] = readings.H[k, i]
    seen = tuple(np.array(rows).T)
    S = H @ covariance.transpose(0, 2, 1, 3).reshape(count * size, -1) @ H.T
    S += np.diag(readings.variance[seen])
    off = readings.residual[seen] - H @ mean.ravel()
    expected = -0.5 * (off @ np.linalg.solve(S, off) + np.linalg.slogdet(S)[1])
    found = estimate(F, Q, nominal, readings, start).log_likelihood
    assert abs(found - expected) < 1e-6 * abs(expected)  # but for 2 pi


def test_white_jerk_is_the_integral_of_what_every_instant_adds():
    F, Q = white_jerk(1, 0.3, np.array([7.0]))
    s, weight = np.polynomial.legendre.leggauss(3)  # exact to degree 5, Q's is 4
    s = 0.15 * (s + 1.0)
    adds = np.stack([0.5 * s ** 2, s, np.ones(3)])  # of a unit of jerk, s before the end
    np.testing.assert_allclose(Q, 7.0 * 0.15 * (adds * weight) @ adds.T, rtol=1e-12)
    np.testing.assert_allclose(F[:, 2], [0.5 * 0.3 ** 2, 0.3, 1.0], rtol=1e-12)


def test_causal_filter_ends_where_the_smoother_does():
    arguments = problem(seed=1)
    causal, smooth = (estimate(*arguments, smooth=s) for s in (False, True))
    np.testing.assert_allclose(causal.x[-1], smooth.x[-1], rtol=1e-12)
    trace = [np.trace(e.covariance, axis1=1, axis2=2) for e in (causal, smooth)]
    assert (trace[1] <= trace[0] * (1 + 1e-9)).all()
