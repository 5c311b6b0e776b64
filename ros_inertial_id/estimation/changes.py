"""
Changes from one recording of a robot to the next, all else held, and their trends over time.

    target_d = A_d (beta + S delta_d) + noise of unit variance      for every day d

beta is common to all days, delta_d a few changes of each day (friction, a payload, a tilt of
gravity) with zero mean over the days, S their columns.  Alternating least squares: beta from all
days without their changes, the changes of each day without beta, until neither moves.

Trends: each hypothesis (drift, jump, temperature) is fitted by weighted least squares, and its
evidence is what it adds to the log likelihood less what its freedom costs (Schwarz 1978): half the
logarithm of the number of days per coefficient, and the logarithm of the places where a jump could
be (maximum of the likelihood over the change point: Hinkley 1970).  Standard errors are no smaller
than the scatter from day to day shows, by the median of first differences, which a jump does not
move much, or of second ones, which a steady drift does not move at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .problem import least_squares

ROUNDS = 20
SETTLED = 1e-3  # of a standard error
FEWEST = 5  # days that a trend needs
CERTAIN = 7.0  # nats: odds of a thousand to one, beside those of how many series are looked at
NORMAL = 1.4826  # standard deviation over the median of the amount, of normal numbers


@dataclass(frozen=True)
class Changes:
    """
    What changed from day to day.

    values, errors : (days, m) changes from the mean of all days and their standard errors
    common : (b,) beta
    """

    values: np.ndarray
    errors: np.ndarray
    common: np.ndarray


def changes_of(systems: Sequence[tuple[np.ndarray, np.ndarray]], S: np.ndarray, spread: np.ndarray,
               prior: tuple[np.ndarray, np.ndarray]) -> Changes:
    """
    Return the Changes of days.

    systems : (A (k, k), target (k,)) of every day, rows of unit variance
    S : (k, m) columns of the changes; spread : (m,) their prior standard deviations
    prior : rows (A, b) about beta (b,), whose columns are the first of A
    """
    size = prior[0].shape[1]
    maps = [A @ S for A, _ in systems]
    weights = [np.linalg.inv(B.T @ B + np.diag(1.0 / spread ** 2)) for B in maps]
    errors = np.sqrt(np.array([np.diag(w) for w in weights]))
    delta = np.zeros((len(systems), S.shape[1]))
    beta = np.zeros(size)
    for _ in range(ROUNDS):
        beta = least_squares(
            np.vstack([prior[0], *(A[:, :size] for A, _ in systems)]),
            np.concatenate([prior[1], *(t - B @ d for (_, t), B, d in zip(systems, maps, delta))]))
        new = np.array([w @ (B.T @ (t - A[:, :size] @ beta))
                        for w, B, (A, t) in zip(weights, maps, systems)])
        precision = 1.0 / errors ** 2
        new -= (precision * new).sum(0) / precision.sum(0)
        moved = np.abs((new - delta) / errors).max()
        delta = new
        if moved < SETTLED:
            break
    return Changes(delta, errors, beta)


@dataclass(frozen=True)
class Trend:
    """
    What a series does over time.

    kind : constant, drift, jump or temperature; size : change over the whole time, at the jump, or
        per degree; error : its standard error; at : day of the jump, else None
    evidence : nats against constant; inflation : of the standard errors by the scatter
    before : value at the first day, before the jump, or at the mean temperature
    """

    kind: str
    size: float
    error: float
    at: float | None
    evidence: float
    inflation: float
    before: float = 0.0

    @property
    def sigmas(self) -> float:
        """Return the size in standard errors."""
        return abs(self.size) / self.error if self.error else 0.0


def trend_of(days: np.ndarray, values: np.ndarray, errors: np.ndarray,
             temperature: np.ndarray | None = None, series: int = 1) -> Trend:
    """
    Return the Trend of a series, constant where nothing else is certain.

    days : (n,) increasing; values, errors : (n,); temperature : (n,) [deg C] or None
    series : how many are looked at together
    """
    count = len(days)
    if count < FEWEST:
        return Trend('constant', 0.0, float(np.min(errors, initial=np.inf)), None, 0.0, 1.0)
    limit, ground = CERTAIN + np.log(series), [np.ones(count)]
    inflation, best = _inflation(values, errors), None
    if temperature is not None and np.ptp(temperature) > 0.0:
        warm = temperature - temperature.mean()
        slope = np.diff(warm) @ np.diff(values) / (np.diff(warm) @ np.diff(warm))
        without = _inflation(values - slope * warm, errors)
        found = _tested('temperature', None, warm,
                        (ground, values, without * errors, 0.5 * np.log(count), without))
        if found.evidence > limit:
            best, inflation = found, without
            ground.append(warm)
    sigma = inflation * errors
    columns: list[tuple[str, float | None, np.ndarray, float]] = [
        ('drift', None, (days - days[0]) / (days[-1] - days[0]), 0.5 * np.log(count))]
    columns += [('jump', float(days[k]), (days >= days[k]).astype(float),
                 0.5 * np.log(count) + np.log(count - 1.0)) for k in range(1, count)]
    first = max((_tested(kind, at, column, (ground, values, sigma, cost, inflation))
                 for kind, at, column, cost in columns), key=lambda t: t.evidence)
    if first.evidence > limit:
        return first
    return best or Trend('constant', 0.0, float(1.0 / np.sqrt((1.0 / sigma ** 2).sum())), None,
                         0.0, inflation)


def _inflation(values: np.ndarray, errors: np.ndarray) -> float:
    """Return by how much the scatter from day to day exceeds the errors, 1 where it does not."""
    first, second = (
        NORMAL * np.median(np.abs(np.convolve(values, weights, 'valid'))
                           / np.sqrt(np.convolve(errors ** 2, np.square(weights), 'valid')))
        for weights in ([1.0, -1.0], [1.0, -2.0, 1.0]))
    count = len(values)  # of few days second differences are too few to be trusted as they are
    return float(max(1.0, min(first, second * np.sqrt(count / (count - 3.0)))))


def _tested(kind: str, at: float | None, column: np.ndarray,
            data: tuple[Sequence[np.ndarray], np.ndarray, np.ndarray, float, float]) -> Trend:
    """Return the Trend that one more column stands for, with its evidence."""
    ground, values, sigma, cost, inflation = data
    small = np.stack(ground, axis=1) / sigma[:, None]
    wide = np.column_stack([small, column / sigma])
    y = values / sigma
    left = [float(np.sum((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2))
            for A in (small, wide)]
    x = np.linalg.lstsq(wide, y, rcond=None)[0]
    error = np.sqrt(np.linalg.pinv(wide.T @ wide)[-1, -1])
    return Trend(kind, float(x[-1]), float(error), at, 0.5 * (left[0] - left[1]) - cost, inflation,
                 float(x[0]))
