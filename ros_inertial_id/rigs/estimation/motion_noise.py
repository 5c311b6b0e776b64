"""
Noise of the motion: what it makes of an estimate and of its errors.

The rows are computed from a motion that the filter left noisy.  Where the torque is as recorded
that noise is not white: it ends at the cutoff and grows towards it, which is where the regressors
are.  Drawn and sent through the same filter it becomes torque errors e, whose scores W' e have the
covariance that belongs between the bread of the sandwich (White 1980).  Rows are weighted by all
that is left of them: those of a passive joint, whose torque is known to be zero, have no other
noise than the motion's, and would outweigh all others without it.

Noisy rows W have E[W'W] = W0'W0 + G, with G the contribution of the noise alone.  Where G is most
of it the true rows show nothing, yet least squares finds a small number with a small error;
elsewhere it finds too little, by the share of the noise (attenuation).  G comes from the same rows
with the noise drawn once more, and W'W - G in the place of W'W is consistent (Fuller 1987, 2.2).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh

from ...dynamics.regressor import RegressorBlock
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import (
    DESCRIPTION,
    effective_standard_deviation,
    Estimate,
    finish,
    MOTION,
    prior_rows,
    Problem,
)
from ...estimation.residuals import add_lags, autocovariances, correlation_time, Residuals

LEAST_TORQUE_SHARE = 0.02  # share of the residual's variance that is left to the torque at least
LOST = 0.5  # of the prior standard deviation
NOISE_SHARE = 0.5  # of the information in a direction: with more noise than that it has no number


@dataclass(frozen=True)
class MotionNoise:
    """
    What R draws of the motion's noise do.

    scores : group -> (b, R) of sum W' e; shares : group -> share of what its residuals, correlated
        as they are, weigh without this noise
    """

    scores: dict[str, np.ndarray]
    shares: dict[str, float]

    def with_errors(self, problem: Problem, estimate: Estimate) -> Estimate:
        """Return the ``estimate`` of a problem with errors of this noise and of all other."""
        uncorrelated = problem
        if not estimate.leaning:
            uncorrelated = replace(problem, correlation={})
        inverse = finish(
            uncorrelated, estimate.params, estimate.standard_deviation, estimate.leaning
        ).cov_params
        prior, _ = prior_rows(problem.base)
        moved, others = self._meat(problem, estimate, solved_weights(problem, estimate))
        by_source = {
            MOTION: inverse @ moved @ inverse,
            DESCRIPTION: inverse @ (prior.T @ prior * estimate.leaning) @ inverse,
        }
        return _with_covariance(estimate, by_source, inverse @ others @ inverse)

    def under_prior(self, problem: Problem, estimate: Estimate, prior: np.ndarray) -> Estimate:
        """
        Return the ``estimate`` with errors of all noise, where its rows joined a ``prior`` (b, b).

        Rows are weighted by all of their residual, this noise included, as if it were another in
        every row: what it does to all of them together is known better.
        """
        weights = effective_standard_deviation(problem, estimate.standard_deviation)
        A, _, _ = problem.factors.system(weights)
        scale = problem.base.prior_sd
        rows = A * scale
        if estimate.system:
            rows = estimate.system[0] * scale
        excited = np.linalg.lstsq(A * scale, rows, rcond=1e-12)[
            0
        ]  # without what only noise excites
        prior = prior / np.outer(scale, scale)
        still = np.linalg.inv(np.eye(len(prior)) + prior @ rows.T @ rows)
        move = scale[:, None] * (still @ prior @ excited.T) * scale  # from scores to params
        moved, others = self._meat(problem, estimate, weights)
        by_source = {
            MOTION: move @ moved @ move.T,
            DESCRIPTION: still @ prior @ still.T * np.outer(scale, scale),
        }
        return _with_covariance(estimate, by_source, move @ others @ move.T)

    def _meat(self, problem, estimate, weights):
        """Return covariances (b, b) of the weighted rows' scores, by this noise and all other."""
        sd = effective_standard_deviation(problem, estimate.standard_deviation)
        scores = np.sum([s / weights[name] ** 2 for name, s in self.scores.items()], 0)
        others = np.zeros((len(scores), len(scores)))
        for name, share in self.shares.items():
            rows = problem.factors.groups[name].equations(len(others)) * sd[name]
            others += share * rows.T @ rows / weights[name] ** 4
        return scores @ scores.T / scores.shape[1], others


def _with_covariance(estimate, by_source, others):
    """Return the Estimate with covariances {source: (b, b)} and that by all ``others`` (b, b)."""
    covariance = sum(by_source.values(), others)
    error = np.sqrt(np.diag(covariance))
    return replace(
        estimate,
        cov_params=covariance,
        bse=error,
        data_bse=estimate.data_bse * error / estimate.bse,
        by_source=by_source,
    )


def motion_noise(
    pairs: Iterable[tuple[RegressorBlock, dict[str, np.ndarray], float]],
    base: BaseParameters,
    residuals: Residuals,
) -> MotionNoise | None:
    """
    Return the MotionNoise of (RegressorBlock, group -> errors (B, R), times each counts).

    base : BaseParameters of the columns of the blocks.  None where there are no pairs.
    pairs : such triples, in order of time; residuals : of the same data
    """
    places = base.places()
    scores: dict[str, np.ndarray] = {}
    sums: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for block, errors, times in pairs:
        for group in block.groups:
            e = errors[group.name]
            estimated = places[group.columns] >= 0
            score = scores.setdefault(group.name, np.zeros((len(base), e.shape[1])))
            score[places[group.columns][estimated]] += np.sqrt(times) * group.W.T[estimated] @ e
            add_lags(sums, group.name, autocovariances(e.T).mean(0), np.arange(len(e), 0, -1))
    if not scores:
        return None
    return MotionNoise(
        scores, _shares(residuals, {name: total / count for name, (total, count) in sums.items()})
    )


def _shares(residuals, covariances):
    """Return group -> share of its residuals without noise of ``covariances`` (L,)."""
    times, out = residuals.correlation(), {}
    for name, of_noise in covariances.items():
        total, pairs = residuals.covariances[name]
        of_residual = total / pairs
        padded = np.pad(of_noise, (0, max(0, len(of_residual) - len(of_noise))))
        remaining = of_residual - padded[: len(of_residual)]
        share = float(remaining[0] / of_residual[0])
        if share > LEAST_TORQUE_SHARE:
            share *= correlation_time(remaining)
        out[name] = min(1.0, max(share, LEAST_TORQUE_SHARE) / times[name])
    return out


def without_noise(data: Any, problem: Problem, estimate: Estimate) -> Estimate:
    """
    Return the estimate as it is without noise in the rows, and no number for what only it excites.

    problem, estimate : of it.  Of least squares a direction of noise alone may be
    off by all that the prior allows: so much is added to the covariance; instruments do not
    shrink it, and their covariance says how little is known of it.  A base parameter of which
    less than LOST of the prior is ruled out by least squares is not determined.
    """
    base, weights = problem.base, solved_weights(problem, estimate)
    gram = noise_gram(data, base, weights)
    if gram is None:
        return estimate
    A = problem.factors.system(weights)[0]
    scales = base.scales()
    information = (A.T @ A) * np.outer(scales, scales)
    tiny = 1e-12 * np.trace(information) / len(scales) * np.eye(len(scales))
    shares, directions = eigh(gram * np.outer(scales, scales), information + tiny)
    unbiased = data.options.estimator == 'instrumental'  # which noise does not shrink
    if not unbiased:
        prior = np.zeros((0, len(scales)))
        if estimate.leaning:
            prior = prior_rows(base)[0] * scales
        estimate = _made_good(
            problem, estimate, scales, (information + tiny, prior), (shares, directions)
        )
    noisy = directions[:, shares > NOISE_SHARE] * scales[:, None]
    if not noisy.size:
        return estimate
    prior_sd = base.prior_sd
    lost_errors = noisy / np.max(np.abs(noisy) / prior_sd[:, None], axis=0)
    wider = estimate.widened(lost_errors @ lost_errors.T)
    lost = wider.data_bse > LOST * prior_sd
    determined = estimate.determined & ~lost
    rank = max(0, estimate.rank - noisy.shape[1])
    if not unbiased:
        estimate = wider
    data_bse = np.where(lost, np.inf, estimate.data_bse)
    return replace(estimate, determined=determined, data_bse=data_bse, rank=rank)


def _made_good(problem, estimate, scales, rows, noise):
    """
    Return the Estimate by the information less that of the noise, where that is not most of it.

    scales : (b,) of the base parameters; rows : (information (b, b), prior rows (k, b)) about
    scaled ones; noise : (shares (b,), directions (b, b)) of that information
    """
    information, prior = rows
    shares, directions = noise
    part = np.where(shares > NOISE_SHARE, 0.0, shares)
    dual = information @ directions  # inverse of the directions, transposed
    total = information + prior.T @ prior
    move = scales[:, None] * np.linalg.solve(total - (dual * part) @ dual.T, total) / scales
    covariance = move @ estimate.cov_params @ move.T
    error = np.sqrt(np.diag(covariance))
    independent = effective_standard_deviation(problem, estimate.standard_deviation)
    A, b, _ = problem.factors.system(independent)
    # What noise alone excites says nothing to those who solve the rows anew under a prior.
    keep = scales[:, None] * directions * (1.0 - np.minimum(shares, 1.0)) @ dual.T / scales
    return replace(
        estimate,
        params=move @ estimate.params,
        cov_params=covariance,
        bse=error,
        data_bse=estimate.data_bse * error / estimate.bse,
        by_source={s: move @ part @ move.T for s, part in estimate.by_source.items()},
        system=(A @ keep, b),
    )


def noise_gram(
    data: Any, base: BaseParameters, standard_deviation: Mapping[str, float]
) -> np.ndarray | None:
    """
    Return the expected contribution G (b, b) of the motion's noise to W'W of the base columns.

    base : BaseParameters of its columns; None where the method draws no noise
    standard_deviation : group -> of its residual, by which the rows are weighted
    """
    method = data.method
    places = base.places()
    gram, drawn = np.zeros((len(base), len(base))), False
    for robot, observation in zip(data.robots, data.observations):
        for rows, noisy, times in method.noisy_rows(observation, robot, base.parameters):
            drawn = True
            for group, moved in zip(rows.groups, noisy.groups):
                weight = times / standard_deviation[group.name] ** 2
                _add_gram(gram, places[group.columns], moved.W - group.W, weight)
    if not drawn:
        return None
    return gram


def _add_gram(gram, places, columns, weight):
    """Add to a Gram matrix (b, b) that of columns (N, k) at ``places`` (k,), -1: nowhere."""
    change, where = columns[:, places >= 0], places[places >= 0]
    gram[np.ix_(where, where)] += weight * (change.T @ change)


def solved_weights(problem: Problem, estimate: Estimate) -> dict[str, float]:
    """Return group -> standard deviation by which rows were weighted for an ``estimate``."""
    if estimate.leaning:
        return effective_standard_deviation(problem, estimate.standard_deviation)
    return estimate.standard_deviation
