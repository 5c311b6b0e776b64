"""
Changes from one recording of a robot to the next, all else held, and their trends over time.

    target_d = A_d (beta + S delta_d) + noise of unit variance      for every day d

beta is common to all days, delta_d a few changes of each day (friction, a payload, a tilt of
gravity) with zero mean over the days, S their columns.  Alternating least squares: beta from all
days without their changes, the changes of each day without beta, until neither moves.

A trend or a step is fitted by weighted least squares, with a standard error that is widened to the
scatter that it leaves where that is more than the errors say.  From five days on its two-sided
p-value is that of Student's t: valid for scatter that is normal and independent from day to day,
of whatever size.  Of fewer days nothing says how they scatter: steps are tested by the errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..estimation.r_factors import triangle
from ..lapack import solve_triangular

ALTERNATIONS = 20
SETTLED_CHANGE = 1e-3  # of a standard error
TREND_DAYS = 5  # days that a trend needs


def changes_of(
    systems: Sequence[tuple[np.ndarray, np.ndarray]],
    S: np.ndarray,
    spread: np.ndarray,
    prior: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return changes from the mean of all days (days, m), their standard errors, and beta (b,).

    systems : (A (k, k), target (k,)) of every day, rows of unit variance
    S : (k, m) columns of the changes; spread : (m,) their prior standard deviations
    prior : rows (A, b) about beta (b,), whose columns are the first of A
    """
    size = prior[0].shape[1]
    days = [_Day.of(A, target, S, spread, size) for A, target in systems]
    held = np.array([day.errors for day in days])
    precision = 1.0 / held**2
    errors = np.hypot(held, _errors_of_common(days, prior[0]))
    beta, delta = np.zeros(size), np.zeros(errors.shape)
    rows = np.vstack([prior[0], *(day.A for day in days)])
    R = triangle(np.array(rows, order='F'))
    for _ in range(ALTERNATIONS):
        unchanged = [day.target - day.B @ change for day, change in zip(days, delta)]
        residual = np.concatenate([prior[1], *unchanged]) - rows @ beta
        # Semi-normal equations, which every round refines (Bjorck 1987).
        beta = beta + solve_triangular(R, solve_triangular(R, rows.T @ residual, trans=True))
        new = np.array([day.change(beta) for day in days])
        new -= (precision * new).sum(0) / precision.sum(0)
        moved = np.abs((new - delta) / errors).max()
        delta = new
        if moved < SETTLED_CHANGE:
            break
    return delta, errors, beta


def _errors_of_common(days: Sequence['_Day'], prior: np.ndarray) -> np.ndarray:
    """
    Return the standard errors (days, m) of changes by that of the parameters common to all days.

    prior : (k, b) rows about these.  An error that moves all days alike changes none of them; the
    others move days apart, of two by opposite amounts.
    """
    information = prior.T @ prior + sum(day.information for day in days)
    scale = 1.0 / np.sqrt(np.diag(information))
    root = np.linalg.cholesky(information * np.outer(scale, scale))
    effects = np.array([np.linalg.solve(root, scale[:, None] * day.per_common.T) for day in days])
    apart = effects - effects.mean(axis=0)
    return np.sqrt((apart**2).sum(axis=1) * len(days) / max(len(days) - 1, 1))


@dataclass(frozen=True)
class _Day:
    """
    The system of a day: target (k,) = A (k, b) beta + B (k, m) change + noise.

    weight : (m, m) covariance of its changes, the others held
    """

    A: np.ndarray
    B: np.ndarray
    target: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(
        cls, A: np.ndarray, target: np.ndarray, S: np.ndarray, spread: np.ndarray, size: int
    ) -> '_Day':
        """Return the system of a day, of whose columns ``size`` are common to all days."""
        B = A @ S
        weight = np.linalg.inv(B.T @ B + np.diag(1.0 / spread**2))
        return cls(A[:, :size], B, target, weight)

    @property
    def errors(self) -> np.ndarray:
        """Return standard deviations (m,) of the changes."""
        return np.sqrt(np.diag(self.weight))

    @property
    def per_common(self) -> np.ndarray:
        """Return by how much (m, b) the changes fall as the common parameters rise."""
        return self.weight @ (self.B.T @ self.A)

    @property
    def information(self) -> np.ndarray:
        """Return what the day says (b, b) of the common parameters, its changes free."""
        return self.A.T @ self.A - (self.B.T @ self.A).T @ self.per_common

    def change(self, beta: np.ndarray) -> np.ndarray:
        """Return the changes (m,) of the day where ``beta`` (b,) is common to all."""
        return self.weight @ (self.B.T @ (self.target - self.A @ beta))


@dataclass(frozen=True)
class Trend:
    """
    What a series does over time.

    size : change over the whole time; error : its standard error
    p_value : of so large a size without a change
    since : number of the day from which on it differs, None of a change that grows evenly
    """

    size: float
    error: float
    p_value: float
    since: int | None = None


def change_over(days: np.ndarray, values: np.ndarray, errors: np.ndarray) -> Trend | None:
    """
    Return the surer of trend and step, its p-value for all that were tried; None of one day.

    days : (n,) increasing; values, errors : (n,)
    """
    tried = [step_of(values, errors, since) for since in range(1, len(values))]
    trend = trend_of(days, values, errors)
    if trend:
        tried.append(trend)
    if not tried:
        return None
    surest = min(tried, key=lambda found: (found.p_value, -abs(found.size) / found.error))
    return replace(surest, p_value=min(1.0, len(tried) * surest.p_value))


def step_of(values: np.ndarray, errors: np.ndarray, since: int) -> Trend:
    """Return the step of ``values`` (n,) with ``errors`` between days, the later is ``since``."""
    before, after = slice(None, since), slice(since, None)
    precision = errors**-2.0
    means = [np.average(values[part], weights=precision[part]) for part in (before, after)]
    variance = sum(1.0 / precision[part].sum() for part in (before, after))
    level = np.repeat(means, [since, len(values) - since])
    scatter, free = 1.0, len(values) - 2
    if free:
        scatter = max(1.0, np.sum(precision * (values - level) ** 2) / free)
    size, error = means[1] - means[0], np.sqrt(scatter * variance)
    return Trend(float(size), float(error), _p_value(size / error, free), since)


def _p_value(score: float, free: int) -> float:
    """Return the two-sided p-value of a ``score``, by Student's t of ``free`` degrees or none."""
    from scipy.special import ndtr, stdtr  # takes long to import: when needed

    if free < TREND_DAYS - 2:
        return float(2.0 * ndtr(-abs(score)))
    return float(2.0 * stdtr(free, -abs(score)))


def trend_of(days: np.ndarray, values: np.ndarray, errors: np.ndarray) -> Trend | None:
    """
    Return the Trend of a series, None of too few days.

    days : (n,) increasing; values, errors : (n,)
    """
    if len(days) < TREND_DAYS or not np.ptp(days):
        return None
    time = (days - days[0]) / (days[-1] - days[0])
    A = np.column_stack([np.ones(len(days)), time]) / errors[:, None]
    covariance = np.linalg.inv(A.T @ A)
    line = covariance @ (A.T @ (values / errors))
    residual, free = values / errors - A @ line, len(days) - 2
    scatter = max(1.0, residual @ residual / free)
    size, error = line[1], np.sqrt(scatter * covariance[1, 1])
    return Trend(float(size), float(error), _p_value(size / error, free))
