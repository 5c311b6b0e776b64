"""The problem every estimator is given, the estimate it returns, and what they all share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Callable

import numpy as np
from scipy.linalg import lapack, solve_triangular

from .base_parameters import BaseParameters
from .r_factors import RFactors, triangle
from ..dynamics.regressor import RegressorBlock
from ..errors import EstimationError

FULL_RANK = 1e-9  # reciprocal condition number above which a triangle is solved as it is


@dataclass(frozen=True)
class Problem:
    """
    What every estimator gets.

    factors : RFactors about the b base columns; base : BaseParameters
    correlation : group -> how many successive rows carry one independent row's worth (>= 1)
    read : read(parameters) -> the RegressorBlocks of the training data once more, their columns
        ``parameters``; for estimators that reweigh samples
    grid : nonlinear_parameters.Grid, the columns for all nonlinear parameters tried
    instruments : instruments(parameters) -> pairs of such a block and one of the same samples
        whose motion is free of the noise of the first
    """

    factors: RFactors
    base: BaseParameters
    correlation: Mapping[str, float]
    read: Callable[..., Iterable[RegressorBlock]] | None = None
    instruments: Callable[..., Iterable[tuple[RegressorBlock, RegressorBlock]]] | None = None
    grid: Any = None


@dataclass(frozen=True)
class Estimate:
    """
    Base parameters as determined.

    params : (b,); bse : (b,) standard errors
    cov_params : (b, b) covariance; bse may be more
    data_bse : (b,) standard errors of the data alone, inf where they are uninformative
    determined : (b,) bool, whether the data alone say more than the prior before them
    standard_deviation : group -> of its residual [unit of the group]
    correlation : as used; condition_number : of the weighted base regressor (unscaled columns)
    rank : number of directions in which the data alone say more than the prior before them
    system : (A (b, b), target (b,)) of whitened rows that say what the data do, None where those
        of the R factors are the ones that were solved
    by_rows : (b, b) covariance by independent rows, None where cov_params is that
    leaning : whether the prior took part, and rows were weighted as if independent
    """

    params: np.ndarray
    cov_params: np.ndarray
    bse: np.ndarray
    data_bse: np.ndarray
    determined: np.ndarray
    standard_deviation: dict[str, float]
    correlation: dict[str, float]
    condition_number: float
    rank: int
    system: tuple[np.ndarray, np.ndarray] | None = None
    by_rows: np.ndarray | None = None
    leaning: bool = False

    def widened(self, covariance: np.ndarray) -> 'Estimate':
        """Return the Estimate with a further ``covariance`` (b, b) in its errors."""
        added = np.diag(covariance)
        return replace(self, cov_params=self.cov_params + covariance,
                       bse=np.sqrt(self.bse ** 2 + added),
                       data_bse=np.sqrt(self.data_bse ** 2 + added))

    def first(self, count: int) -> 'Estimate':
        """Return the Estimate of the first ``count`` parameters, the others as uncertain."""
        by_rows = None if self.by_rows is None else self.by_rows[:count, :count]
        return replace(self, params=self.params[:count], bse=self.bse[:count],
                       cov_params=self.cov_params[:count, :count], by_rows=by_rows, system=None,
                       data_bse=self.data_bse[:count], determined=self.determined[:count])


def two_step(problem: Problem) -> tuple[np.ndarray, dict[str, float]]:
    """Return (params (b,), standard deviations) of least squares weighted by its own residuals."""
    beta = solve(problem.factors.system(), problem.base)
    standard_deviation = group_standard_deviation(problem, beta)
    for _ in range(2):
        beta = solve(problem.factors.system(standard_deviation), problem.base)
        standard_deviation = group_standard_deviation(problem, beta)
    return beta, standard_deviation


def group_standard_deviation(problem: Problem, beta: np.ndarray) -> dict[str, float]:
    """
    Return the residual standard deviation per group; parameters shared out evenly.

    beta : (b,) base parameters
    EstimationError where a group has fewer rows than parameters.
    """
    groups = problem.factors.groups
    share = len(beta) / len(groups)
    out, exact = {}, 0.0
    for name, group in groups.items():
        if group.rows <= share:
            raise EstimationError(f'the recording is too short: {name}',
                                  expected=f'more than {share:.0f} samples', found=group.rows)
        out[name] = group.residual(beta) / np.sqrt(group.rows - share)
        exact = max(exact, 1e-12 * group.target() / np.sqrt(group.rows))
    # Exact rows (simulations, an axis at rest) must not outweigh all others beyond reason.
    floor = max(exact, 1e-6 * max(out.values()), 1e-300)
    return {name: float(max(own, floor)) for name, own in out.items()}


def effective_standard_deviation(problem: Problem,
                                 standard_deviation: Mapping[str, float]) -> dict[str, float]:
    """
    Return group -> standard deviation of its rows as if they were independent: fewer, or noisier.

    standard_deviation : group -> of its rows
    """
    return {name: d * np.sqrt(problem.correlation.get(name, 1.0))
            for name, d in standard_deviation.items()}


def solved_weights(problem: Problem, estimate: Estimate) -> dict[str, float]:
    """Return group -> standard deviation by which rows were weighted for an ``estimate``."""
    if estimate.leaning:
        return effective_standard_deviation(problem, estimate.standard_deviation)
    return estimate.standard_deviation


def bread(problem: Problem, estimate: Estimate) -> np.ndarray:
    """Return the inverse (b, b) of the information that an ``estimate`` solved with."""
    axes, s = _whitened(problem, solved_weights(problem, estimate))
    half = axes / np.sqrt(s ** 2 + 1.0) if estimate.leaning else axes * _inverse(s)
    return half @ half.T


def _whitened(problem, standard_deviation):
    """Return axes (b, b) and s (b,): a direction of prior size is known to 1/s of it."""
    A, _, _ = problem.factors.system(standard_deviation)
    factor = np.linalg.cholesky(problem.base.prior_covariance())
    _, s, Vt = np.linalg.svd(A @ factor)
    return factor @ Vt.T, s


def _inverse(s):
    floor = s > 1e-12 * s[0]
    return np.where(floor, 1.0 / np.where(floor, s, 1.0), 1e12)


def solve(system: tuple[np.ndarray, np.ndarray, float], base: BaseParameters) -> np.ndarray:
    """
    Return the least squares solution, of minimum change from nominal where it is free.

    system : of ``RFactors.system``
    """
    A, b, _ = system
    scale = base.prior_sd
    nominal = base.nominal()
    if reciprocal_condition(A * scale) > FULL_RANK:
        return solve_triangular(A, b)
    change, *_ = np.linalg.lstsq(A * scale, b - A @ nominal, rcond=1e-13)
    return nominal + scale * change


def reciprocal_condition(R: np.ndarray) -> float:
    """Return an estimate of 1 / the condition number (1-norm) of an upper triangular R (p, p)."""
    return float(lapack.dtrcon(R, norm='1', uplo='U')[0])


def least_squares(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """
    Return the least squares solution of rows of full rank.

    A : (m, p) of rank p; b : (m,)
    """
    R = triangle(np.asfortranarray(np.column_stack([A, b])))
    return solve_triangular(R[:-1, :-1], R[:-1, -1])


def prior_rows(base: BaseParameters) -> tuple[np.ndarray, np.ndarray]:
    """Return (A, b) of the rows L^-1 (beta - nominal) = 0, with L L' the prior covariance."""
    factor = np.linalg.cholesky(base.prior_covariance())
    inverse = solve_triangular(factor, np.eye(len(base)), lower=True)
    return inverse, inverse @ base.nominal()


def finish(problem: Problem, beta: np.ndarray, standard_deviation: Mapping[str, float],
           prior: tuple[np.ndarray, np.ndarray] | None) -> Estimate:
    """
    Return the Estimate of params found with these weights, ``prior`` rows or None.

    beta : (b,); standard_deviation : group -> of its rows
    """
    axes, s = _whitened(problem, effective_standard_deviation(problem, standard_deviation))
    inverse = _inverse(s)
    data_bse = np.sqrt(((axes * inverse) ** 2).sum(1))
    half = axes * (inverse if prior is None else 1.0 / np.sqrt(s ** 2 + 1.0))
    covariance = half @ half.T
    prior_sd = problem.base.prior_sd
    weighted_rows = problem.factors.system(standard_deviation)[0]
    return Estimate(beta, covariance, np.sqrt(np.diag(covariance)), data_bse,
                    data_bse < prior_sd, dict(standard_deviation), dict(problem.correlation),
                    float(np.linalg.cond(weighted_rows)), int((s > 1.0).sum()),
                    leaning=prior is not None)
