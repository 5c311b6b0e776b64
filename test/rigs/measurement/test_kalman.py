"""The smoother of motions and constants against one dense least squares problem."""

import numpy as np

from ros_inertial_id.rigs.measurement.kalman import (
    at_ticks,
    at_times,
    drawn_errors,
    Readings,
    smoothed,
    steady_jerk,
)


def problem(count=40, seed=0):
    """Return F, Q, Readings and start of two coordinates and two constants, some not read."""
    rng = np.random.default_rng(seed)
    F, Q = steady_jerk(0.01, np.array([1e3, 4e2]))
    Q = Q + np.diag(np.repeat([1e-9, 1e-6, 1e-3], 2))  # so that the dense problem has an inverse
    residual, variance = rng.normal(size=(count, 3)), rng.uniform(0.5, 2.0, (count, 3))
    residual[5:9, 1] = np.nan
    residual[20] = np.nan
    return (
        F,
        Q,
        Readings(
            rng.normal(size=(count, 3, 6)), rng.normal(size=(count, 3, 2)), residual, variance
        ),
        np.diag(np.full(6, 0.49)),
    )


def test_smoother_solves_the_least_squares_problem_of_all_samples_and_constants():
    F, Q, readings, start = problem()
    H, C, residual, variance = readings.H, readings.C, readings.residual, readings.variance
    count, size = len(H), 6
    out = smoothed(F, Q, readings, start)
    whiten = np.linalg.inv(np.linalg.cholesky(Q))
    rows, right = [], []

    def add(blocks, constants, value):
        row = np.zeros((len(value), count * size + 2))
        for k, block in blocks:
            row[:, k * size : (k + 1) * size] = block
        row[:, -2:] = constants
        rows.append(row)
        right.append(value)

    add([(0, np.diag(np.diag(start) ** -0.5))], 0.0, np.zeros(size))
    add([], np.eye(2), np.zeros(2))
    for k in range(count):
        seen = np.isfinite(residual[k])
        weight = 1 / np.sqrt(variance[k, seen])[:, None]
        add([(k, weight * H[k, seen])], weight * C[k, seen], weight[:, 0] * residual[k, seen])
        if k:
            add([(k, whiten), (k - 1, -whiten @ F)], 0.0, np.zeros(size))
    A, b = np.vstack(rows), np.concatenate(right)
    expected, *_ = np.linalg.lstsq(A, b, rcond=None)
    P = np.linalg.inv(out.information + np.eye(2))
    constants = P @ out.pull
    found = out.x + out.slope @ constants
    # Q spans decades over one step: the dense problem keeps about six digits.
    np.testing.assert_allclose(found.ravel(), expected[:-2], atol=1e-5 * abs(expected).max())
    np.testing.assert_allclose(constants, expected[-2:], rtol=1e-6)
    np.testing.assert_allclose(P, np.linalg.inv(A.T @ A)[-2:, -2:], rtol=1e-5)


def test_likelihood_is_that_of_the_joint_normal_distribution_of_all_readings():
    F, Q, readings, start = problem(count=22, seed=3)
    count, size = len(readings.H), 6
    covariance = np.zeros((count, count, size, size))
    covariance[0, 0] = start
    for k in range(1, count):
        covariance[k, k] = F @ covariance[k - 1, k - 1] @ F.T + Q
        for j in range(k):
            covariance[k, j] = F @ covariance[k - 1, j]
            covariance[j, k] = covariance[k, j].T
    rows = [(k, i) for k in range(count) for i in range(3) if np.isfinite(readings.residual[k, i])]
    H = np.zeros((len(rows), count * size))
    for place, (k, i) in enumerate(rows):
        H[place, k * size : (k + 1) * size] = readings.H[k, i]
    seen = tuple(np.array(rows).T)
    S = H @ covariance.transpose(0, 2, 1, 3).reshape(count * size, -1) @ H.T
    S += np.diag(readings.variance[seen]) + readings.C[seen] @ readings.C[seen].T
    off = readings.residual[seen]
    expected = -0.5 * (off @ np.linalg.solve(S, off) + np.linalg.slogdet(S)[1])
    found = smoothed(F, Q, readings, start).log_likelihood()
    assert abs(found - expected) < 1e-6 * abs(expected)  # but for 2 pi


def test_a_jerk_that_is_steady_over_a_step_moves_as_its_polynomial():
    F, Q = steady_jerk(0.3, np.array([7.0]))
    np.testing.assert_allclose(F @ [1.0, 2.0, 3.0], [1 + 0.6 + 1.5 * 0.09, 2.9, 3.0], rtol=1e-12)
    jerk = np.array([0.3**3 / 6, 0.3**2 / 2, 0.3])  # of one from rest
    np.testing.assert_allclose(Q, 7.0 / 0.3 * np.outer(jerk, jerk), rtol=1e-12)


def test_every_reading_counts_once_at_the_tick_next_to_it():
    t = np.arange(5) * 0.1
    stamps = np.array([0.0, 0.06, 0.12, 0.31])
    readings = stamps[:, None] + np.array([1.0, 2.0, 4.0, 8.0])[:, None]
    residual, variance = at_ticks(t, stamps, readings, np.array([2.0]), t[:, None])
    np.testing.assert_allclose(residual[:, 0], [1.0, 3.0, np.nan, 8.0, np.nan])
    np.testing.assert_allclose(variance[:, 0], [2.0, 1.0, np.nan, 2.0, np.nan])


def test_between_slow_ticks_a_fast_motion_is_not_flattened():
    """10 Hz on a clock of 60 Hz: straight lines flatten it by 9 %, and inertias by a quarter."""
    t, times = np.arange(0.0, 2.0, 1.0 / 60.0), np.arange(0.5, 1.5, 1e-3)
    w = 20.0 * np.pi
    found = at_times(times, t, np.stack([np.sin(w * t), np.cos(w * t)], axis=1))
    exact = np.stack([np.sin(w * times), np.cos(w * times)], axis=1)
    # A cubic spline errs by (w h)^4 / 384 at most, 0.3 %.
    np.testing.assert_allclose(found, exact, atol=0.006)


def test_drawn_errors_have_the_covariance_of_all_samples_together():
    """By the joint normal distribution of twelve samples, of which one was not seen."""
    count, draws, rng = 12, 4000, np.random.default_rng(2)
    F, Q = steady_jerk(0.1, np.array([3.0]))
    start, variance = np.diag([1.0, 2.0, 4.0]), 0.04
    residual = rng.standard_normal((count, 1))
    residual[5] = np.nan
    readings = Readings(
        np.broadcast_to([[1.0, 0.0, 0.0]], (count, 1, 3)),
        np.zeros((count, 1, 0)),
        residual,
        np.full((count, 1), variance),
    )
    errors = drawn_errors(F, Q, readings, start, draws, rng).reshape(draws, -1)
    to_come = [np.linalg.matrix_power(F, k) for k in range(count)]
    noises = [start, *[Q] * (count - 1)]
    prior = np.zeros((3 * count, 3 * count))
    for k, noise in enumerate(noises):
        move = np.vstack([np.zeros((3, 3))] * k + to_come[: count - k])
        prior += move @ noise @ move.T
    H = np.kron(np.delete(np.eye(count), 5, axis=0), [1.0, 0.0, 0.0])
    gain = prior @ H.T @ np.linalg.inv(H @ prior @ H.T + variance * np.eye(count - 1))
    expected = prior - gain @ H @ prior
    size = np.sqrt(np.diag(expected))
    # 4000 draws know a correlation to 1.6 %.
    np.testing.assert_allclose(
        np.cov(errors.T) / np.outer(size, size), expected / np.outer(size, size), atol=0.08
    )
