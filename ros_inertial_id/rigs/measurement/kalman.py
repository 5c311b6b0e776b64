"""
Kalman smoother of small deviations from a known motion, and of constants that readings depend on.

Deviations (displacement, rate, acceleration) are driven by a jerk that is random from sample to
sample and steady in between.  For given constants the smoother of Rauch, Tung and Striebel (1965)
is linear in the readings; with their changes by every constant beside them, one run says how the
motion depends on the constants and how likely these are (generalised least squares).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dgesv


@dataclass(frozen=True)
class Readings:
    """
    Linearised readings of all sensors at N samples of s states, and of p constants.

    H (N, m, s), C (N, m, p) : derivatives of the readings with states and constants
    residual : (N, m) measured less predicted, NaN where nothing was measured
    variance : (N, m) of the readings, in their units squared
    """

    H: np.ndarray
    C: np.ndarray
    residual: np.ndarray
    variance: np.ndarray

    def first(self, count: int) -> 'Readings':
        """Return the readings at the first ``count`` samples."""
        return Readings(
            self.H[:count], self.C[:count], self.residual[:count], self.variance[:count]
        )


@dataclass(frozen=True)
class Smoothed:
    """
    States and what the readings say of the constants c.

    x (N, s), slope (N, s, p) : the states are x + slope c
    information (p, p), pull (p,) : the log-likelihood is constant + pull' c - c' information c / 2
    constant : where all constants are zero
    """

    x: np.ndarray
    slope: np.ndarray
    information: np.ndarray
    pull: np.ndarray
    constant: float

    def log_likelihood(self) -> float:
        """Return that of the readings when the constants are independent of unit variance."""
        precision = self.information + np.eye(len(self.pull))
        return float(
            self.constant
            + 0.5
            * (self.pull @ np.linalg.solve(precision, self.pull) - np.linalg.slogdet(precision)[1])
        )


def steady_jerk(period: float, intensity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return transition F and noise Q (3 k, 3 k): a jerk for every sample, steady until the next.

    White jerk would let the rate leave the sum of the accelerations seen; then the IMU's
    amplitude says nothing about the markers', and the stiffness of springs is biased.
    period : [s] of one step; intensity : (k,) of the jerk [rad^2/s^5, m^2/s^5]
    """
    h = period
    F = np.array([[1.0, h, h * h / 2], [0.0, 1.0, h], [0.0, 0.0, 1.0]])
    w = np.array([h**3 / 6, h**2 / 2, h])
    return (np.kron(F, np.eye(len(intensity))), np.kron(np.outer(w, w) / h, np.diag(intensity)))


def smoothed(F: np.ndarray, Q: np.ndarray, readings: Readings, start: np.ndarray) -> Smoothed:
    """
    Return the Smoothed states of deviations that follow F (s, s) with noise Q (s, s).

    start : (s, s) covariance of the first deviation
    """
    A, b, square, constant = _information(readings)
    count, size, columns = b.shape
    P, x, eye = start, np.zeros((size, columns)), np.eye(size)
    states, covariance = np.empty((count, size, columns)), np.empty((count, size, size))
    before, before_P, pivots = states.copy(), covariance.copy(), np.empty((count, size))
    for k, (A_k, b_k) in enumerate(zip(A, b)):
        # Of small matrices dot takes half the time of @; NumPy's own solve checks for longer.
        if k:
            x, P = F.dot(x), F.dot(P).dot(F.T) + Q
        gain = eye + P.dot(A_k)
        before[k], before_P[k] = x, P
        factors, _, P, _ = dgesv(gain, P)
        pivots[k] = factors.diagonal()
        P = 0.5 * (P + P.T)
        x = x + P.dot(b_k - A_k.dot(x))
        states[k], covariance[k] = x, P
    new = b - A @ before
    square = square - sum(
        np.einsum('nij,nik->jk', one, other, optimize=True)
        for one, other in ((before, b), (new, before), (new, covariance @ new))
    )
    gains = np.swapaxes(np.linalg.solve(before_P[1:], F @ covariance[:-1]), 1, 2)
    for k in range(count - 2, -1, -1):
        states[k] += gains[k].dot(states[k + 1] - before[k + 1])
    constant -= 0.5 * (square[0, 0] + np.log(np.abs(pivots)).sum())
    return Smoothed(states[:, :, 0], -states[:, :, 1:], square[1:, 1:], square[1:, 0], constant)


def drawn_errors(
    F: np.ndarray,
    Q: np.ndarray,
    readings: Readings,
    start: np.ndarray,
    draws: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """
    Return errors (draws, N, s) of the Smoothed states of ``readings``, whose constants are known.

    Deviations and readings are drawn as the model has them, and smoothed: what is off has the
    distribution of the errors, from sample to sample as well (Durbin and Koopman 2002).
    F, Q, start : see ``smoothed``; rng : that they are drawn from
    """
    count, m, size = readings.H.shape
    true = np.empty((count, size, draws))
    jerk, x = root_of(Q), root_of(start) @ rng.standard_normal((size, draws))
    for k in range(count):
        true[k] = x
        x = F @ x + jerk @ rng.standard_normal((size, draws))
    noise = np.sqrt(readings.variance)[:, :, None] * rng.standard_normal((count, m, draws))
    seen = np.isfinite(readings.residual)
    read = np.where(seen[:, :, None], readings.H @ true + noise, 0.0)
    unread = np.where(seen, 0.0, np.nan)
    found = -smoothed(F, Q, replace(readings, C=read, residual=unread), start).slope
    return np.moveaxis(found - true, 2, 0)


def root_of(covariance: np.ndarray) -> np.ndarray:
    """Return L (k, k) with L L' a ``covariance`` (k, k) that may be singular but for rounding."""
    w, V = np.linalg.eigh(covariance)
    return V * np.sqrt(np.maximum(w, 0.0))


def at_ticks(
    t: np.ndarray,
    stamps: np.ndarray,
    readings: np.ndarray,
    variance: np.ndarray,
    predicted: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return residual and variance (N, m) of a sensor at the ticks t (N,).

    Every reading counts once, at the tick next to it, whatever the rate of its sensor; several at
    one tick count as their mean, none as NaN.

    stamps (M,) [s], readings (M, m), variance (m,) or (M, m); predicted : (N, m) at the ticks
    """
    tick = np.clip(np.round((stamps - t[0]) / (t[1] - t[0])).astype(int), 0, len(t) - 1)
    residual = readings - at_times(stamps, t, predicted)
    weight = 1.0 / np.broadcast_to(variance, residual.shape)
    total, factors = np.zeros(predicted.shape), np.zeros(predicted.shape)
    np.add.at(total, tick, weight * residual)
    np.add.at(factors, tick, weight)
    factors[factors == 0.0] = np.nan
    return total / factors, 1.0 / factors


def at_times(times: np.ndarray, t: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """
    Return rows (N, k) at t (N,) interpolated to times (M,), hardly outside of t.

    By cubics: what straight lines flatten, the smoother would make too lively.
    """
    from scipy.interpolate import make_interp_spline  # takes long to import: when needed

    return make_interp_spline(t, rows, k=min(3, len(t) - 1), check_finite=False)(times)


def _information(readings):
    """
    Return each sample's information of the states, and the readings' part of the likelihood.

    A (N, s, s), b (N, s, 1 + p) of residual and constants, their weighted squares
    (1 + p, 1 + p), log-likelihood of the weights alone
    """
    seen = np.isfinite(readings.residual)
    weight = np.where(seen, 1.0 / np.where(seen, readings.variance, 1.0), 0.0)
    r = np.concatenate([np.where(seen, readings.residual, 0.0)[:, :, None], readings.C], axis=2)
    weighted = np.swapaxes(readings.H * weight[:, :, None], 1, 2)
    square = np.einsum('nij,ni,nik->jk', r, weight, r, optimize=True)
    return weighted @ readings.H, weighted @ r, square, 0.5 * np.log(weight[seen]).sum()
