"""
Estimators: from R factors to numbers with their uncertainty.

An estimator is one function of ``Problem`` and one line of ``ESTIMATORS``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from .base_parameters import BaseParameters
from .least_squares import ROUNDING, smallest_solution
from .r_factors import RFactors, triangle
from ..errors import EstimationError
from ..lapack import lapack, solve_triangular

WELL_CONDITIONED = 1e-9  # reciprocal condition number above which a triangle is solved as it is
MOTION, DESCRIPTION = 'motion noise', 'description'  # what errors may be by, beside noise
RIDGE_ROUNDS = 10  # of the ridge, at most
WEIGHTS_SETTLED = 0.02  # relative change of them that is no reason for another round


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
    by_source : {MOTION or DESCRIPTION: (b, b) what of cov_params it is that makes}, where known
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
    by_source: Mapping[str, np.ndarray] = field(default_factory=dict)

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
        by_rows = self.by_rows
        if by_rows is not None:
            by_rows = by_rows[:count, :count]
        return replace(
            self,
            params=self.params[:count],
            bse=self.bse[:count],
            limit=np.broadcast_to(self.limit, self.bse.shape)[:count],
            cov_params=self.cov_params[:count, :count],
            by_rows=by_rows,
            by_source={s: part[:count, :count] for s, part in self.by_source.items()},
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
    parameters_per_group = len(beta) / len(groups)
    deviations, rounding = {}, 0.0
    for name, group in groups.items():
        freedom = group.rows - parameters_per_group
        if freedom <= 0.0:
            raise EstimationError(
                f'the recording is too short: {name}',
                expected=f'more than {parameters_per_group:.0f} samples',
                found=group.rows,
            )
        deviations[name] = group.residual(beta) / np.sqrt(freedom)
        rounding = max(rounding, 1e-12 * group.target() / np.sqrt(group.rows))
    # Exact rows (simulations, an axis at rest) must not outweigh all others beyond reason.
    floor = max(rounding, 1e-6 * max(deviations.values()), 1e-300)
    return {name: float(max(deviation, floor)) for name, deviation in deviations.items()}


def effective_standard_deviation(
    problem: Problem, standard_deviation: Mapping[str, float]
) -> dict[str, float]:
    """Return the ``standard_deviation`` of groups, larger where rows are not independent."""
    return {
        name: d * np.sqrt(problem.correlation.get(name, 1.0))
        for name, d in standard_deviation.items()
    }


def _whitened(problem, standard_deviation):
    """
    Return axes (b, f) and s (f,): a direction of prior size is known to 1/s of it.

    f : of the base parameters that are not known; beside these those are fixed
    """
    A, _, _ = problem.factors.system(standard_deviation)
    known = problem.base.known
    if known.all():
        known = np.zeros_like(known)
    factor = problem.base.prior_factor()
    if known.any():
        factor = triangle(np.asfortranarray(factor[~known].T)).T
    _, s, Vt = np.linalg.svd(A[:, ~known] @ factor)
    axes = np.zeros((len(known), len(factor)))
    axes[~known] = factor @ Vt.T
    return axes, s[: len(factor)]


def solve(system: tuple[np.ndarray, np.ndarray, float], base: BaseParameters) -> np.ndarray:
    """Return the solution of a ``RFactors.system``, near nominal where it is free."""
    A, b, _ = system
    scale = base.prior_sd
    nominal = base.nominal()
    if lapack.dtrcon(A * scale, norm='1', uplo='U')[0] > WELL_CONDITIONED:
        return solve_triangular(A, b)
    return nominal + smallest_solution(A, b - A @ nominal, scale)


def prior_rows(base: BaseParameters) -> tuple[np.ndarray, np.ndarray]:
    """Return (A, b) of the rows L^-1 (beta - nominal) = 0, with L L' the prior covariance."""
    factor = base.prior_factor()
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
    data_errors = np.where(shown, 1.0 / np.where(shown, s, 1.0), 1.0 / ROUNDING)  # along axes
    data_bse = _data_bse(axes, s, shown)
    fixed = ~axes.any(axis=1)
    data_bse[fixed] = np.inf
    errors = data_errors
    if leaning:
        errors = 1.0 / np.sqrt(s**2 + 1.0)
    root = axes * errors
    covariance = root @ root.T + np.diag(np.where(fixed, problem.base.prior_sd, 0.0) ** 2)
    weighted_rows = problem.factors.system(standard_deviation)[0]
    # Priors are as wide as motors are strong: an error of more torque than there was is no number.
    torque = np.linalg.norm(
        [g.target() / standard_deviation[name] for name, g in problem.factors.groups.items()]
    )
    torque_per_unit = np.maximum(np.linalg.norm(weighted_rows, axis=0), 1e-200)
    limit = np.minimum(problem.base.prior_sd, torque / torque_per_unit)
    return Estimate(
        params=beta,
        cov_params=covariance,
        bse=np.sqrt(np.diag(covariance)),
        data_bse=data_bse,
        determined=data_bse < limit,
        standard_deviation=dict(standard_deviation),
        correlation=dict(problem.correlation),
        condition_number=float(np.linalg.cond(weighted_rows)),
        rank=int((s > 1.0).sum()),
        leaning=leaning,
        limit=limit,
    )


def _data_bse(axes: np.ndarray, s: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """
    Return the standard errors (b,) of the data alone; see ``_whitened``.

    shown : (f,) bool, which axes are more than rounding
    Axes that are ``shown`` to 1/s turn by rounding of s[0] / s into those that are not.  What a
    parameter has of the latter by that is nothing of its own.
    """
    errors = np.linalg.norm(axes[:, shown] / s[shown], axis=1)
    hidden = np.linalg.norm(axes[:, ~shown], axis=1)
    hidden = np.where(hidden > ROUNDING * s[0] * errors, hidden, 0.0)
    return np.hypot(errors, hidden / ROUNDING)


def shown_and_hidden(
    problem: Problem, estimate: Estimate, weights: Mapping[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return F (b, r), F F' the inverse of what rows of such ``weights`` show, and (b, b) of no rows.

    The latter is the covariance of what they leave as it was: apart, as it is 1e24 times the
    other's where no prior took part, and its rounding would be all that is left of the other.
    """
    axes, s = _whitened(problem, weights)
    fixed = ~axes.any(axis=1)
    apart = np.diag(np.where(fixed, problem.base.prior_sd, 0.0) ** 2)
    if estimate.leaning:
        return axes / np.sqrt(s**2 + 1.0), apart
    shown = s > ROUNDING * s[0]
    hidden = axes[:, ~shown] / ROUNDING
    return axes[:, shown] / s[shown], apart + hidden @ hidden.T


def ordinary(problem: Problem) -> Estimate:
    """
    Return the ordinary least squares Estimate.

    Assumes errors of equal variance in all rows, regressors without error (Gauss).
    """
    groups = problem.factors.groups
    beta = solve(problem.factors.system(), problem.base)
    sum_of_squares = sum(g.residual(beta) ** 2 for g in groups.values())
    freedom = max(1, problem.factors.rows() - len(beta))
    common = float(np.sqrt(sum_of_squares / freedom))
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
    prior = triangle(np.asfortranarray(np.column_stack(prior_rows(problem.base))))
    beta = problem.base.nominal()
    for number in range(RIDGE_ROUNDS):  # the weights from the residuals of the final kind
        effective = effective_standard_deviation(problem, standard_deviation)
        A, b, _ = problem.factors.system(effective, prior)
        beta = solve_triangular(A, b)
        before, standard_deviation = standard_deviation, group_standard_deviation(problem, beta)
        if number and _settled(standard_deviation, before):
            break
    return beta, standard_deviation


def _settled(standard_deviation, before):
    """Return whether no group's standard deviation changed by more than WEIGHTS_SETTLED."""
    return all(abs(x - before[k]) < WEIGHTS_SETTLED * x for k, x in standard_deviation.items())


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
