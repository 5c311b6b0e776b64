"""The smoother of motions against one dense least squares problem, and against the truth."""

import numpy as np

from ros_inertial_id.measurement.kalman import estimate, Readings, white_jerk


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


def test_causal_filter_ends_where_the_smoother_does():
    arguments = problem(seed=1)
    causal, smooth = (estimate(*arguments, smooth=s) for s in (False, True))
    np.testing.assert_allclose(causal.x[-1], smooth.x[-1], rtol=1e-12)
    trace = [np.trace(e.covariance, axis1=1, axis2=2) for e in (causal, smooth)]
    assert (trace[1] <= trace[0] * (1 + 1e-9)).all()


def test_deviations_are_honest_for_a_sine():
    t = np.arange(0.0, 4.0, 0.005)
    w, noise = 6.0, 1e-3
    truth = np.stack([np.sin(w * t), w * np.cos(w * t), -w ** 2 * np.sin(w * t)], axis=1)
    rng = np.random.default_rng(2)
    measured = truth[:, :1] + noise * rng.standard_normal((len(t), 1))
    F, Q = white_jerk(1, 0.005, 0.5 * w ** 6 * 0.01)
    H = np.broadcast_to(np.eye(1, 3), (len(t), 1, 3))
    zero = np.zeros_like(truth)
    out = estimate(F, Q, zero, Readings(H, measured, np.full_like(measured, noise ** 2)),
                   np.array([1.0, 10.0, 100.0]))
    standard_deviation = np.sqrt(np.diagonal(out.covariance, axis1=1, axis2=2))
    # The jerk of a sine is no white noise, so the deviations are honest within a factor of two.
    ratio = np.sqrt((((out.x - truth) / standard_deviation) ** 2).mean(0))
    assert (ratio < 2.0).all()
    assert np.std(out.x[:, 0] - truth[:, 0]) < 0.5 * noise
