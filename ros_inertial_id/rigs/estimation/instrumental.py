"""
Instrumental variables: an estimator for regressors that are noisy themselves.

Accelerations are differentiated positions; their noise biases least squares towards zero, by the
share of noise in the column and however long the recording is (Soederstroem and Stoica 1989).
Their noise grows with frequency: where the motion is there is far less of it than the residual's
size and correlation time let one expect, and the spectrum of the residual itself says how much,
cov = B^-1 (sum over t, s of Z_t gamma(t - s) Z_s') B^-T with its autocovariance gamma, tapered
(Newey and West 1987; Priestley 1981, ch. 6).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import RegressorBlock
from ...errors import EstimationError
from ...estimation.estimators import Estimate, finish, group_standard_deviation, Problem, two_step
from ...estimation.least_squares import pseudo_inverse
from ...estimation.residuals import Residuals, residuals_of

EIGENVALUE_FLOOR = 1e-9  # of the eigenvalues of a correlation: below it there is rounding
# Times the correlation time: where the autocovariance is taken to have ended.  Longer tells the
# spectrum finer, so that errors beside the noise (a filter's on a fast foot) come to stand alone.
INSTRUMENT_TIMES = 8.0
Pairs = Iterable[tuple[RegressorBlock, RegressorBlock]]  # of the data, and of the instruments


def instrumental(
    problem: Problem,
    read: Callable[[Sequence[Parameter]], Iterable[RegressorBlock]],
    instruments: Callable[[Sequence[Parameter]], Pairs],
) -> Estimate:
    """
    Return the instrumental variables Estimate, weighted per joint.

    Instruments are the regressor of a motion that follows the measured one without its noise, so
    they are independent of the errors in the columns: the estimate is consistent where least
    squares is biased (Reiersol 1941; for robots Janot, Vandanjon and Gautier 2014, who simulate
    that motion).
    read : parameters -> blocks of the data in order of time, their columns these parameters
    instruments : parameters -> pairs of such a block and one of the same samples whose motion is
        free of the noise of the first
    """
    beta, standard_deviation = two_step(problem)
    moments = moments_of(instruments(problem.base.parameters), problem.base.places())
    scale = problem.base.prior_sd
    for _ in range(3):
        ZW, Zy = weighted(moments, standard_deviation)
        beta = pseudo_inverse(scale[:, None] * ZW, scale) @ (scale * Zy)
        standard_deviation = group_standard_deviation(problem, beta)
    ZW, _ = weighted(moments, standard_deviation)
    rows = whiten(_scores(problem, read, instruments, (beta, standard_deviation)), ZW)
    plain = finish(problem, beta, standard_deviation)
    # What no row shows has no error by the pseudo-inverse; least squares knows that it is large.
    half = pseudo_inverse(rows, scale)
    covariance = half @ half.T
    error = np.where(plain.determined, np.sqrt(np.diag(covariance)), plain.bse)
    covariance += np.diag(error**2 - np.diag(covariance))
    return replace(
        plain,
        cov_params=covariance,
        bse=error,
        data_bse=error,
        determined=plain.determined & (error < scale),
        system=(rows, rows @ beta),
    )


class InstrumentalRows:
    """
    Normal equations of rows and their instruments, any columns of which are solved alone.

    pairs : see ``score_covariance``; deviation : row group -> standard deviation of its rows
    count : p columns
    """

    def __init__(
        self,
        pairs: Sequence[tuple[RegressorBlock, RegressorBlock]],
        deviation: Mapping[str, float],
        count: int,
    ) -> None:
        self._pairs, self._deviation, self._places = pairs, deviation, np.arange(count)
        self._ZW, self._Zy = weighted(moments_of(pairs, self._places), deviation)

    def solved(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return the solution (p,) of ``columns`` (k,), the others zero, and the inverse (k, k).

        NaN where nothing moved one of them: no number is determined.
        """
        ZW = self._ZW[np.ix_(columns, columns)]
        size = np.maximum(np.sqrt(np.abs(np.diag(ZW))), 1e-300)  # columns have several units
        try:
            inverse = np.linalg.inv(ZW / size / size[:, None]) / size / size[:, None]
        except np.linalg.LinAlgError:
            inverse = np.full(ZW.shape, np.nan)
        solution = np.zeros(len(self._Zy))
        solution[columns] = inverse @ self._Zy[columns]
        return solution, inverse

    def scores(self, residuals: Residuals) -> np.ndarray:
        """Return the covariance (p, p) of the sums Z'r by the spectrum of ``residuals``."""
        gamma = tapered_autocovariances(residuals)
        return score_covariance(self._pairs, gamma, self._deviation, self._places)


def _scores(problem, read, instruments, estimated):
    """Return the covariance (b, b) of Z'r weighted, r the residual of (params, deviations)."""
    base, (beta, standard_deviation) = problem.base, estimated
    values = base.expand(beta, np.zeros(len(base.parameters)))
    residuals = residuals_of(read(base.parameters), values)
    return score_covariance(
        instruments(base.parameters),
        tapered_autocovariances(residuals),
        standard_deviation,
        base.places(),
    )


def moments_of(pairs: Pairs, places: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return group -> (Z'W (b, b), Z'y (b,)); pairs, places : see ``score_covariance``."""
    b, out = int(places.max()) + 1, dict[str, tuple[np.ndarray, np.ndarray]]()
    for block, instruments in pairs:
        if not np.array_equal(block.t, instruments.t):
            raise EstimationError('the instruments are of other samples than the data')
        for g, h in zip(block.groups, instruments.groups):
            estimated = np.flatnonzero(places[g.columns] >= 0)
            where, W, Z = places[g.columns][estimated], g.W[:, estimated], h.W[:, estimated]
            ZW, Zy = out.setdefault(g.name, (np.zeros((b, b)), np.zeros(b)))
            ZW[np.ix_(where, where)] += Z.T @ W
            Zy[where] += Z.T @ g.y
    return out


def weighted(
    moments: Mapping[str, tuple[np.ndarray, np.ndarray]], standard_deviation: Mapping[str, float]
) -> list[Any]:
    """Return both ``moments`` summed over groups, weighted by ``standard_deviation`` of each."""
    ZW: Any = 0.0
    Zy: Any = 0.0
    for name, (ZW_of_group, Zy_of_group) in moments.items():
        variance = standard_deviation[name] ** 2
        ZW, Zy = ZW + ZW_of_group / variance, Zy + Zy_of_group / variance
    return [ZW, Zy]


def tapered_autocovariances(residuals: Residuals) -> dict[str, np.ndarray]:
    """Return group -> (2 L + 1,) tapered autocovariance of Residuals at lags -L to L."""
    from scipy.signal.windows import parzen  # costs more than most identifications: when needed

    times, out = residuals.correlation(), {}
    for name, (total, pairs) in residuals.covariances.items():
        L = int(min(INSTRUMENT_TIMES * times[name], len(total) - 1))
        # Over all pairs at lag zero, and with this window, it is one of a spectrum >= 0.
        half = total[: L + 1] / pairs[0] * parzen(2 * L + 3)[L + 1 : -1]
        out[name] = np.concatenate([half[:0:-1], half])
    return out


def score_covariance(
    pairs: Pairs,
    gamma: Mapping[str, np.ndarray],
    standard_deviation: Mapping[str, float],
    places: np.ndarray,
) -> np.ndarray:
    """
    Return sum over t, s of Z_t gamma(t - s) Z_s' (p, p), rows weighted by standard deviation.

    pairs : (block, block of the instruments Z) in order of time; for least squares both are the
        same; gamma : of ``tapered_autocovariances``
    places : column -> row of the result, -1: none
    standard_deviation : group -> of its rows [unit of the group]
    """
    from scipy.signal import oaconvolve

    size = int(places.max()) + 1
    out = np.zeros((size, size))
    for block, instruments in pairs:
        for g, h in zip(block.groups, instruments.groups):
            where = places[g.columns]
            estimated = np.flatnonzero(where >= 0)
            Z = h.W[:, estimated] / standard_deviation[g.name] ** 2
            L = len(gamma[g.name]) // 2
            smooth = oaconvolve(Z, gamma[g.name][:, None], axes=0)[L : L + len(Z)]
            out[np.ix_(where[estimated], where[estimated])] += Z.T @ smooth
    return (out + out.T) / 2


def whiten(covariance: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """
    Return covariance^-1/2 @ rows, for a covariance that may be singular but for rounding.

    covariance : (m, m); rows : (m, k)
    """
    size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    w, V = np.linalg.eigh(covariance / size / size[:, None])
    return (V / np.sqrt(np.maximum(w, EIGENVALUE_FLOOR * w[-1]))).T @ (rows / size[:, None])
