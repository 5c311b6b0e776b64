"""
Estimators: from R factors to numbers with their uncertainty.

An estimator is one function of ``Problem`` and one line of ``ESTIMATORS``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from .base_parameters import BaseParameters
from .least_squares import full_rank_solution, pseudo_inverse, ROUNDING
from .r_factors import RFactors
from ..errors import EstimationError
from ..lapack import lapack, solve_triangular

FULL_RANK = 1e-9  # reciprocal condition number above which a triangle is solved as it is
ROUNDS = 10  # of the ridge's weights
SETTLED = 0.02  # relative change of them that is no reason for another round


@dataclass(frozen=True)
class Problem:
    """
    What every estimator gets.

    factors : RFactors about the b base columns; base : BaseParameters
    correlation : group -> how many successive rows carry one independent row's worth (>= 1)
    """

    factors: RFactors
    base: BaseParameters
    correlation: Mapping[str, float]


@dataclass(frozen=True)
class Estimate:
    """
    Base parameters as determined.

    params : (b,); bse : (b,) standard errors
    cov_params : (b, b) covariance; bse may be more
    data_bse : (b,) standard errors of the data alone, inf where they are uninformative
    determined : (b,) bool, whether the data alone say more than the prior before them, and more
        than the size of all torque does
    standard_deviation : group -> of its residual [unit of the group]
    correlation : as used; condition_number : of the weighted base regressor (unscaled columns)
    rank : number of directions in which the data alone say more than the prior before them
    system : (A (b, b), target (b,)) of whitened rows that say what the data do, None where those
        of the R factors are the ones that were solved
    by_rows : (b, b) covariance by independent rows, None where cov_params is that
    leaning : whether the prior took part, and rows were weighted as if independent
    limit : (b,) data_bse from which a parameter is not determined
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
    limit: np.ndarray | float = np.inf

    def widened(self, covariance: np.ndarray) -> 'Estimate':
        """Return the Estimate with a further ``covariance`` (b, b) in its errors."""
        added = np.diag(covariance)
        data_bse = np.sqrt(self.data_bse**2 + added)
        return replace(
            self,
            cov_params=self.cov_params + covariance,
            data_bse=data_bse,
            bse=np.sqrt(self.bse**2 + added),
            determined=self.determined & (data_bse < self.limit),
        )

    def first(self, count: int) -> 'Estimate':
        """Return the Estimate of the first ``count`` parameters, the others as uncertain."""
        by_rows = None if self.by_rows is None else self.by_rows[:count, :count]
        return replace(
            self,
            params=self.params[:count],
            bse=self.bse[:count],
            limit=np.broadcast_to(self.limit, self.bse.shape)[:count],
            cov_params=self.cov_params[:count, :count],
            by_rows=by_rows,
            system=None,
            data_bse=self.data_bse[:count],
            determined=self.determined[:count],
        )


def two_step(problem: Problem) -> tuple[np.ndarray, dict[str, float]]:
    """Return (params (b,), standard deviations) of least squares weighted by its own residuals."""
    standard_deviation = None
    for _ in range(3):
        beta = solve(problem.factors.system(standard_deviation), problem.base)
        standard_deviation = group_standard_deviation(problem, beta)
    assert standard_deviation is not None
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
            raise EstimationError(
                f'the recording is too short: {name}',
                expected=f'more than {share:.0f} samples',
                found=group.rows,
            )
        out[name] = group.residual(beta) / np.sqrt(group.rows - share)
        exact = max(exact, 1e-12 * group.target() / np.sqrt(group.rows))
    # Exact rows (simulations, an axis at rest) must not outweigh all others beyond reason.
    floor = max(exact, 1e-6 * max(out.values()), 1e-300)
    return {name: float(max(own, floor)) for name, own in out.items()}


def effective_standard_deviation(
    problem: Problem, standard_deviation: Mapping[str, float]
) -> dict[str, float]:
    """Return the ``standard_deviation`` of groups, larger where rows are not independent."""
    return {
        name: d * np.sqrt(problem.correlation.get(name, 1.0))
        for name, d in standard_deviation.items()
    }


def _whitened(problem, standard_deviation):
    """Return axes (b, b) and s (b,): a direction of prior size is known to 1/s of it."""
    A, _, _ = problem.factors.system(standard_deviation)
    factor = np.linalg.cholesky(problem.base.prior_covariance())
    _, s, Vt = np.linalg.svd(A @ factor)
    return factor @ Vt.T, s


def solve(system: tuple[np.ndarray, np.ndarray, float], base: BaseParameters) -> np.ndarray:
    """Return the solution of a ``RFactors.system``, near nominal where it is free."""
    A, b, _ = system
    scale = base.prior_sd
    nominal = base.nominal()
    if lapack.dtrcon(A * scale, norm='1', uplo='U')[0] > FULL_RANK:
        return solve_triangular(A, b)
    return nominal + pseudo_inverse(A, scale) @ (b - A @ nominal)


def prior_rows(base: BaseParameters) -> tuple[np.ndarray, np.ndarray]:
    """Return (A, b) of the rows L^-1 (beta - nominal) = 0, with L L' the prior covariance."""
    factor = np.linalg.cholesky(base.prior_covariance())
    inverse = solve_triangular(factor, np.eye(len(base)), lower=True)
    return inverse, inverse @ base.nominal()


def finish(
    problem: Problem,
    beta: np.ndarray,
    standard_deviation: Mapping[str, float],
    leaning: bool = False,
) -> Estimate:
    """
    Return the Estimate of params found with these weights; ``leaning`` : see there.

    beta : (b,); standard_deviation : group -> of its rows
    """
    axes, s = _whitened(problem, effective_standard_deviation(problem, standard_deviation))
    shown = s > ROUNDING * s[0]
    inverse = np.where(shown, 1.0 / np.where(shown, s, 1.0), 1.0 / ROUNDING)
    data_bse = np.sqrt(((axes * inverse) ** 2).sum(1))
    half = axes * (1.0 / np.sqrt(s**2 + 1.0) if leaning else inverse)
    covariance = half @ half.T
    prior_sd = problem.base.prior_sd
    weighted_rows = problem.factors.system(standard_deviation)[0]
    # Priors are as wide as motors are strong: an error of more torque than there was is no number.
    torque = np.linalg.norm(
        [g.target() / standard_deviation[name] for name, g in problem.factors.groups.items()]
    )
    limit = np.minimum(
        prior_sd, torque / np.maximum(np.linalg.norm(weighted_rows, axis=0), 1e-300)
    )
    return Estimate(
        beta,
        covariance,
        np.sqrt(np.diag(covariance)),
        data_bse,
        data_bse < limit,
        dict(standard_deviation),
        dict(problem.correlation),
        float(np.linalg.cond(weighted_rows)),
        int((s > 1.0).sum()),
        leaning=leaning,
        limit=limit,
    )


def ordinary(problem: Problem) -> Estimate:
    """
    Return the ordinary least squares Estimate.

    Assumes errors of equal variance in all rows, regressors without error (Gauss).
    """
    groups = problem.factors.groups
    beta = solve(problem.factors.system(), problem.base)
    square = sum(g.residual(beta) ** 2 for g in groups.values())
    free = max(1, problem.factors.rows() - len(beta))
    common = float(np.sqrt(square / free))
    standard_deviation = {name: common for name in groups}
    return finish(problem, beta, standard_deviation)


def weighted(problem: Problem) -> Estimate:
    """
    Return the two-step weighted least squares Estimate: each joint by its own residual.

    Assumes errors independent between joints, of one variance per joint (Aitken; Gautier 1997).
    """
    beta, standard_deviation = two_step(problem)
    return finish(problem, beta, standard_deviation)


def ridge(problem: Problem) -> Estimate:
    """
    Return the weighted Estimate that leans towards the nominal parameters.

    The prior of the robot description (nominal value, standard deviation of a body's own mass
    over a third of the reach) joins the data as further rows (Bayesian least squares; Hoerl and
    Kennard 1970): it yields where the data are informative and decides where they are not.
    problem : with the prior of its base parameters
    """
    beta, standard_deviation = ridge_and_weights(problem)
    return finish(problem, beta, standard_deviation, leaning=True)


def ridge_and_weights(problem: Problem) -> tuple[np.ndarray, dict[str, float]]:
    """Return params (b,) and standard deviations by group of ``ridge``, without errors."""
    _, standard_deviation = two_step(problem)
    prior = prior_rows(problem.base)
    beta = problem.base.nominal()
    for number in range(ROUNDS):  # the weights from the residuals of the final kind
        A, b, _ = problem.factors.system(effective_standard_deviation(problem, standard_deviation))
        beta = full_rank_solution(np.vstack([A, prior[0]]), np.concatenate([b, prior[1]]))
        before, standard_deviation = standard_deviation, group_standard_deviation(problem, beta)
        if number and all(abs(x - before[k]) < SETTLED * x for k, x in standard_deviation.items()):
            break
    return beta, standard_deviation


def params_of(estimator: Callable[[Problem], Estimate]) -> Callable[[Problem], np.ndarray]:
    """Return the function of a Problem that gives the params (b,) of an ``estimator`` alone."""
    if estimator is ridge:
        return lambda problem: ridge_and_weights(problem)[0]
    return lambda problem: estimator(problem).params


ESTIMATORS = {
    'ordinary': ordinary,
    'weighted': weighted,
    'ridge': ridge,
}
