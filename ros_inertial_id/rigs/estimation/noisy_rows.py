"""
Methods whose rows have errors of their own: what the motion's noise and calibrations do to them.

Rows are computed from a motion that the filter left noisy: they are W + D, and E[(W + D)'(W + D)]
is W'W + G, with G = E[D'D] the contribution of the noise alone.  Least squares finds too little,
by the share of the noise (attenuation), and where G is nearly all of it a small number with a
small error where the true rows show nothing.  G comes from the same rows with the noise once more,
and normal equations less G are consistent (Fuller 1987, Sec. 2.2); where the noise is in y, too,
c = E[D'dy] goes likewise.  Their errors are those of the scores, see scores.py.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import eigh

from .inherited_errors import inherited_errors
from .scores import autocovariances, MotionFilter, score_covariance, whiten
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import RegressorBlock
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import (effective_standard_deviation, Estimate, ESTIMATORS,
                                      Problem)
from ...estimation.residuals import Residuals
from ...methods.capabilities import EstimateOfRows, OwnErrors

Moments = Mapping[str, tuple[np.ndarray, np.ndarray]]  # group -> (G (b, b), c (b,))
KNOWN = 0.1  # relative error of G: of a few hundred independent samples, or a level of the noise


class NoisyMotion(OwnErrors):
    """The noise of the motion is known, and with it what it does to the rows."""

    @abstractmethod
    def noisy_rows(self, observation: Any, robot: Any, parameters: Sequence[Parameter]
                   ) -> Iterator[tuple[RegressorBlock, RegressorBlock, float]]:
        """
        Yield (rows, the same rows with the motion's noise once more, how many they stand for).

        observation, robot, parameters : see ``Method.observe`` and ``Method.regress``
        """

    @abstractmethod
    def motion_filter(self, observation: Any) -> MotionFilter:
        """Return the MotionFilter of an observation, which shapes its noise."""

    def inherited(self, data: Any, problem: Problem, estimate: Estimate) -> np.ndarray | None:
        """Return H (b, k): errors of unit size that all rows share, or None."""
        return None

    def estimate(self, data: Any, problem: Problem, residuals: Residuals) -> EstimateOfRows:
        """Return the EstimateOfRows of a ``problem``; see OwnErrors."""
        if not data.observations:  # as online, where only R factors are kept
            return EstimateOfRows(ESTIMATORS[data.options.estimator](problem))
        gamma = autocovariances(residuals, self.motion_filter(data.observations[0]))
        free = without_noise(problem, data.options.estimator, noise_moments(data, problem.base),
                             gamma, data.blocks(problem.base.parameters))
        inherited = self.inherited(data, problem, free)
        if inherited is not None:
            free = free.widened(inherited @ inherited.T)
        return EstimateOfRows(free, inherited)


class Calibrated(NoisyMotion):
    """
    The rows rest on calibrated numbers, of which robots have the ``covariance`` (k, k) or None.

    Observations have a ``motion`` with ``erring(shared)``: it under errors of what sees it.
    """

    @abstractmethod
    def calibrated_rows(self, state: Any, robot: Any) -> Iterator[RegressorBlock]:
        """
        Yield blocks about the calibrated numbers, beside those of ``regress`` for the same state.

        Both together are zero.
        """

    def inherited(self, data: Any, problem: Problem, estimate: Estimate) -> np.ndarray | None:
        """Return what the calibrated numbers leave, see inherited_errors.py."""
        return inherited_errors(data, problem.base, estimate)


def noise_moments(data: Any, base: BaseParameters) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """
    Return group -> (G (b, b), c (b,)): what noise of the motion adds to W'W and W'y.

    data : Dataset of a NoisyMotion; base : BaseParameters of its columns
    """
    place, size = base.places(), len(base)
    out: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for robot, observation in zip(data.robots, data.observations):
        for rows, noisy, times in data.method.noisy_rows(observation, robot, base.parameters):
            for one, other in zip(rows.groups, noisy.groups):
                where = place[one.columns]
                change = (other.W - one.W)[:, where >= 0]
                where = where[where >= 0]
                G, c = out.setdefault(one.name, (np.zeros((size, size)), np.zeros(size)))
                G[np.ix_(where, where)] += times * (change.T @ change)
                c[where] += times * (change.T @ (other.y - one.y))
    return out


def without_noise(problem: Problem, estimator: str, moments: Moments,
                  gamma: Mapping[str, np.ndarray], blocks: Iterable[RegressorBlock]) -> Estimate:
    """
    Return the Estimate as it is without noise in the rows, with errors by the scores.

    estimator : one of ESTIMATORS; moments : of ``noise_moments``
    gamma : of ``autocovariances``, of a residual; blocks : all rows, in order of time
    """
    base, plain = problem.base, ESTIMATORS[estimator](problem)
    sd = plain.standard_deviation
    if plain.leaning:
        sd = effective_standard_deviation(problem, sd)
    scores = score_covariance(blocks, gamma, sd, base.places())
    sides = whiten(scores, _normal_equations(problem, moments, sd))
    rows, target = sides[:, :-1], sides[:, -1]
    # In directions of which the prior knows one standard deviation.
    factor = np.linalg.cholesky(base.prior_covariance())
    U, s, Vt = np.linalg.svd(rows @ factor)
    axes, shown = factor @ Vt.T, s > 1.0
    if plain.leaning:
        gain, variance = s / (s ** 2 + 1.0), 1.0 / (s ** 2 + 1.0)
    else:  # what the data do not show stays as described
        gain, variance = shown / np.maximum(s, 1.0), 1.0 / np.maximum(s, 1.0) ** 2
    nominal = base.nominal()
    params = nominal + axes @ (gain * (U.T @ (target - rows @ nominal)))
    covariance = (axes * variance) @ axes.T
    square, prior = np.diag(covariance), base.prior_sd ** 2
    alone = 1.0 / square - plain.leaning / prior
    determined = alone * prior > 1.01  # the data alone say more than the prior
    return replace(plain, params=params, cov_params=covariance, bse=np.sqrt(square),
                   data_bse=np.where(determined, 1.0 / np.sqrt(np.where(determined, alone, 1.0)),
                                     np.inf),
                   determined=determined, rank=int(shown.sum()), system=(rows, target))


def _normal_equations(problem, moments, standard_deviation):
    """
    Return [M, v] (b, b + 1) of M beta = v, the normal equations less what the noise adds.

    Of a direction in which G is nearly all of W'W little or nothing is left: G is known to KNOWN.
    """
    A, b, _ = problem.factors.system(standard_deviation)
    scales = problem.base.scales()
    information = (A.T @ A) * np.outer(scales, scales)
    information += 1e-12 * np.trace(information) / len(scales) * np.eye(len(scales))
    noise, cross = np.zeros((len(scales), len(scales))), np.zeros(len(scales))
    for name, (G, c) in moments.items():
        noise += G / standard_deviation[name] ** 2
        cross += c / standard_deviation[name] ** 2
    shares, directions = eigh(noise * np.outer(scales, scales), information)
    left = np.maximum(1.0 - shares, 1e-12)
    sure = np.sqrt(np.maximum(0.0, 1.0 - (KNOWN * shares / left) ** 2))
    dual = information @ directions  # inverse of the directions, transposed
    M = (dual * (sure * left)) @ dual.T / scales
    v = (dual * sure) @ (directions.T @ (scales * (A.T @ b - cross)))
    return np.column_stack([M, v]) / scales[:, None]
