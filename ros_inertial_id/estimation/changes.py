"""
Changes from one recording of a robot to the next, all else held, and their trends over time.

    target_d = A_d (beta + S delta_d) + noise of unit variance      for every day d

beta is common to all days, delta_d a few changes of each day (friction, a payload, a tilt of
gravity) with zero mean over the days, S their columns.  Alternating least squares: beta from all
days without their changes, the changes of each day without beta, until neither moves.

Trends: each alternative (drift, a jump at one of the days, temperature) adds one column to a
constant and is fitted by weighted least squares, with standard errors that are widened to the
scatter that it leaves where that is more than they say.  Its two-sided p-value is that of
Student's t, times the number of columns that were tried (Bonferroni): valid for scatter that is
normal and independent from day to day, of whatever size, and for all correlations among columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import stdtr

from .r_factors import triangle

ROUNDS = 20
SETTLED = 1e-3  # of a standard error
FEWEST = 5  # days that a trend needs
BESIDE = 3  # days at least before and after a jump: fewer may be outliers
ALIKE = 1e-8  # share of a column squared that others leave: no longer separable


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
    rows = np.vstack([prior[0], *(A[:, :size] for A, _ in systems)])
    R = triangle(np.array(rows, order='F'))
    for _ in range(ROUNDS):
        left = np.concatenate([prior[1], *(t - B @ d for (_, t), B, d in zip(
            systems, maps, delta))]) - rows @ beta
        # Semi-normal equations, which every round refines (Bjorck 1987).
        beta = beta + solve_triangular(R, solve_triangular(R, rows.T @ left, trans='T'))
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

    kind : drift, jump or temperature; size : change over the whole time, at the jump, or per
        degree; error : its standard error; at : day of the jump, else None
    p_value : of so large a size without a change
    before : value at the first day, before the jump, or at the mean temperature
    """

    kind: str
    size: float
    error: float
    at: float | None
    p_value: float
    before: float = 0.0

    @property
    def sigmas(self) -> float:
        """Return the size in standard errors."""
        return abs(self.size) / self.error if self.error else 0.0


def trends_of(days: np.ndarray, values: np.ndarray, errors: np.ndarray,
              temperature: np.ndarray | None = None) -> tuple[Trend, ...]:
    """
    Return how a series changes with time and how with temperature, each as far as it is separable.

    days : (n,) increasing; values, errors : (n,); temperature : (n,) [deg C] or None
    The change with time is the most significant one of drift and jumps, beside the temperature.
    """
    count, found = len(days), []
    if count < FEWEST:
        return ()
    y, ground = values / errors, (1.0 / errors)[:, None]
    columns: list[tuple[str, float | None, np.ndarray]] = [
        ('drift', None, (days - days[0]) / (days[-1] - days[0]))]
    columns += [('jump', float(days[k]), (days >= days[k]).astype(float))
                for k in range(BESIDE, count - BESIDE + 1)]
    if temperature is not None and np.ptp(temperature) > 0.0:
        warm = temperature - temperature.mean()
        found.append(_best([('temperature', None, warm)], ground, y, errors))
        ground = np.column_stack([ground, warm / errors])
    return tuple(t for t in (_best(columns, ground, y, errors), *found) if t)


def _best(columns: Sequence[tuple[str, float | None, np.ndarray]], ground: np.ndarray,
          y: np.ndarray, errors: np.ndarray) -> Trend | None:
    """
    Return the Trend by the most significant of ``columns``, None where none is separable.

    columns : (kind, day, (n,)); ground : (n, g) what is fitted beside them; y : (n,); both in
    standard errors, ``errors`` (n,)
    """
    Q = np.linalg.qr(ground)[0]
    C = np.stack([column for _, _, column in columns], axis=1) / errors[:, None]
    apart, rest = C - Q @ (Q.T @ C), y - Q @ (Q.T @ y)
    squares, free = np.sum(apart ** 2, axis=0), len(y) - ground.shape[1] - 1
    usable = squares > ALIKE * np.sum(C ** 2, axis=0)
    if not usable.any() or free < 1:
        return None
    sizes = np.where(usable, apart.T @ rest, 0.0) / np.where(usable, squares, 1.0)
    left = np.maximum(rest @ rest - sizes ** 2 * squares, 0.0)
    widening = np.sqrt(np.maximum(1.0, left / free))
    sigmas = np.abs(sizes) * np.sqrt(squares) / widening
    k = int(np.argmax(sigmas))
    kind, at, _ = columns[k]
    before = np.linalg.lstsq(ground, y - sizes[k] * C[:, k], rcond=None)[0][0]
    return Trend(kind, float(sizes[k]), float(widening[k] / np.sqrt(squares[k])), at,
                 float(min(1.0, 2.0 * usable.sum() * stdtr(free, -sigmas[k]))),
                 float(before))
