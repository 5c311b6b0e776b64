"""
Error-state Kalman filter and smoother of smooth motions: position, velocity, acceleration.

A nominal motion is known; the states are small deviations from it, driven by white jerk, so the
filter is linear whatever the sensors are.  Forward alone it is causal (live); with the backward
pass of Rauch, Tung and Striebel (1965) it is the best estimate from all the data (offline).
"""

from dataclasses import dataclass
from typing import Callable

import numpy as np
from scipy.linalg.lapack import dgesv

Process = Callable[[float], tuple[np.ndarray, np.ndarray]]  # intensity -> transition, noise


@dataclass(frozen=True)
class Readings:
    """
    Linearised readings of all sensors at the N samples of a nominal motion of s states.

    H : (N, m, s) derivative of the readings with the states
    residual : (N, m) measured less predicted at the nominal, NaN where nothing was measured
    variance : (N, m) of the readings, in their units squared
    """

    H: np.ndarray
    residual: np.ndarray
    variance: np.ndarray

    def first(self, count: int) -> 'Readings':
        """Return the readings at the first ``count`` samples."""
        return Readings(self.H[:count], self.residual[:count], self.variance[:count])


@dataclass(frozen=True)
class Estimates:
    """
    States (N, 3 k): k positions, velocities, accelerations, and covariance (N, 3 k, 3 k).

    log_likelihood : of the data under the model, to compare models
    """

    x: np.ndarray
    covariance: np.ndarray
    log_likelihood: float


def white_jerk(count: int, period: float, intensity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return transition F and noise Q (3 k, 3 k) of coordinates driven by white jerk.

    count : k coordinates; period : [s] of one step
    intensity : (k,) or one number, spectral density of the jerk [rad^2/s^5, m^2/s^5]
    """
    h = period
    F = np.array([[1, h, h * h / 2], [0, 1, h], [0, 0, 1]])
    Q = np.array([[h ** 5 / 20, h ** 4 / 8, h ** 3 / 6], [h ** 4 / 8, h ** 3 / 3, h ** 2 / 2],
                  [h ** 3 / 6, h ** 2 / 2, h]])
    return np.kron(F, np.eye(count)), np.kron(Q, np.diag(np.broadcast_to(intensity, count)))


def vague_start(variance: np.ndarray) -> np.ndarray:
    """
    Return a covariance (3 k, 3 k) of the first deviation, wide enough to say nothing.

    variance : (k,) of one reading of each position
    """
    wide = 100 * np.repeat([1.0, 30.0, 1000.0], len(variance)) ** 2
    return np.diag(wide * np.tile(variance, 3))


def squared_jerk(acceleration: np.ndarray, period: float) -> np.ndarray:
    """
    Return the mean squared jerk (k,) of a nominal motion, the scale of its process noise.

    acceleration : (N, k); period : [s]
    """
    return (np.gradient(acceleration, period, axis=0) ** 2).mean(0)


def likeliest_intensity(process: Process, intensities: np.ndarray, nominal: np.ndarray,
                        readings: Readings, start: np.ndarray) -> float:
    """
    Return the one of ``intensities`` under which the readings are likeliest.

    process : intensity -> (F, Q); nominal : (N, s); readings : Readings at its samples
    start : (s, s) covariance or (s,) standard deviation of the first deviation
    """
    likelihood = [estimate(*process(x), nominal, readings, start, False).log_likelihood
                  for x in intensities]
    return intensities[int(np.argmax(likelihood))]


def smoothed_by_white_jerk(nominal: np.ndarray, period: float, readings: Readings,
                           start: np.ndarray, intensities: np.ndarray,
                           tried: int) -> tuple[Estimates, np.ndarray]:
    """
    Return the smoothed Estimates and the intensity (k,) of the jerk that is likeliest.

    nominal : (N, 3 k) positions, velocities, accelerations; period : [s] of its samples
    readings, start : see ``estimate``
    intensities : [s] per squared jerk of the nominal, tried on the first ``tried`` samples
    """
    count = nominal.shape[1] // 3
    scale = squared_jerk(nominal[:, 2 * count:], period)
    best = scale * likeliest_intensity(
        lambda tau: white_jerk(count, period, scale * tau), intensities, nominal[:tried],
        readings.first(tried), start)
    return estimate(*white_jerk(count, period, best), nominal, readings, start), best


def estimate(F: np.ndarray, Q: np.ndarray, nominal: np.ndarray, readings: Readings,
             start: np.ndarray, smooth: bool = True) -> Estimates:
    """
    Return the Estimates of the motion ``nominal + deviation``.

    F, Q : (s, s); nominal : (N, s) positions, velocities, accelerations
    start : (s,) standard deviation or (s, s) covariance of the first deviation
    smooth : False gives the causal filter
    """
    count, size = nominal.shape
    forced = nominal[:-1] @ F.T - nominal[1:]  # the nominal does not follow F by itself
    A, b, constant = _information(readings)
    P = np.diag(np.square(start)) if np.ndim(start) == 1 else start
    x, eye = np.zeros(size), np.eye(size)
    filtered, covariance = np.empty((count, size)), np.empty((count, size, size))
    before, before_P, gained = filtered.copy(), covariance.copy(), covariance.copy()
    transposed = F.T
    for k, (A_k, b_k) in enumerate(zip(A, b)):
        # Of small matrices dot takes half the time of @; NumPy's own solve checks for longer.
        if k:
            x, P = F.dot(x) + forced[k - 1], F.dot(P).dot(transposed) + Q
        gain = eye + P.dot(A_k)
        before[k], before_P[k], gained[k] = x, P, gain
        _, _, P, _ = dgesv(gain, P)
        P = 0.5 * (P + P.T)
        x = x + P.dot(b_k - A_k.dot(x))
        filtered[k], covariance[k] = x, P
    new = b - (A @ before[:, :, None])[:, :, 0]
    likelihood = constant + 0.5 * (
        (before * (b + new)).sum() + np.einsum('ni,nij,nj->', new, covariance, new)
        - np.linalg.slogdet(gained)[1].sum())
    if smooth:
        gains = np.swapaxes(np.linalg.solve(before_P[1:], F @ covariance[:-1]), 1, 2)
        for k in range(count - 2, -1, -1):
            gain = gains[k]
            filtered[k] += gain.dot(filtered[k + 1] - before[k + 1])
            covariance[k] += gain.dot(covariance[k + 1] - before_P[k + 1]).dot(gain.T)
    return Estimates(nominal + filtered, covariance, float(likelihood))


def at_ticks(t: np.ndarray, stamps: np.ndarray, readings: np.ndarray, variance: np.ndarray,
             predicted: np.ndarray,
             slopes: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return H (N, m, s), residual and variance (N, m) of a sensor at the ticks t (N,).

    Every reading counts once, at the tick next to it, whatever the rate of its sensor; several at
    one tick count as their mean, none as NaN.

    stamps (M,) [s], readings (M, m), variance (m,) or (M, m); predicted : (N, >= m) at the ticks
    slopes : (N, m, s); None: readings are the first m states
    """
    count = readings.shape[1]
    if slopes is None:
        slopes = np.broadcast_to(np.eye(count, predicted.shape[1]),
                                 (len(t), count, predicted.shape[1]))
    tick = np.clip(np.round((stamps - t[0]) / (t[1] - t[0])).astype(int), 0, len(t) - 1)
    residual = readings - at_times(stamps, t, predicted[:, :count])
    variance = np.broadcast_to(variance, residual.shape)
    weight = np.where(variance > 0.0, 1.0, 0.0)  # none: not determined
    np.divide(weight, variance, out=weight, where=weight > 0.0)
    total, factors = np.zeros((len(t), count)), np.zeros((len(t), count))
    np.add.at(total, tick, weight * residual)
    np.add.at(factors, tick, weight)
    nothing = factors == 0.0
    factors[nothing] = np.nan
    return slopes, total / factors, 1.0 / factors


def at_times(times: np.ndarray, t: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """
    Return rows (N, k) at t (N,) interpolated to times (M,), hardly outside of t.

    By cubics: what straight lines flatten, the smoother would make too lively.
    """
    from scipy.interpolate import make_interp_spline  # takes long to import: when needed
    return make_interp_spline(t, rows, k=min(3, len(t) - 1), check_finite=False)(times)


def _information(readings):
    """Return what every sample says: A (N, s, s), b (N, s), and the constant log-likelihood."""
    H, residual, variance = readings.H, readings.residual, readings.variance
    seen = np.isfinite(residual)
    weight = np.where(seen, 1.0 / np.where(seen, variance, 1.0), 0.0)
    r = np.where(seen, residual, 0.0)
    weighted = np.swapaxes(H * weight[:, :, None], 1, 2)
    constant = 0.5 * (np.log(weight[seen]).sum() - (weight * r * r).sum())
    return weighted @ H, (weighted @ r[:, :, None])[:, :, 0], constant
