"""
Noise in rows: what that of encoders, poses and fused states makes of an estimate and its errors.

Rows W beta = y are computed from a motion that the filter left noisy.  Drawn and sent through the
same filter, that noise changes them by dW and dy, and their misfit by e = dW beta - dy, which is
not white: it ends at the cutoff and grows towards it, which is where the regressors are.  The
scores W'e have the covariance that belongs between the bread of the sandwich (White 1980).  Rows
are weighted by all that is left of them: those of a passive joint, whose torque is known to be
zero, have no other noise than the motion's, and would outweigh all others without it.

Least squares finds too little, by the share of the noise in W'W (attenuation): W'W - E[dW'dW] and
W'y - E[dW'dy] in their places are consistent (Fuller 1987, 2.2).  Where noise is most of W'W the
true rows show nothing, yet least squares finds a small number with a small error: it has none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from ...dynamics.regressor import RegressorBlock
from ...estimation.estimators import (
    DESCRIPTION,
    effective_standard_deviation,
    Estimate,
    MOTION,
    prior_rows,
    Problem,
    shown_and_hidden,
)
from ...estimation.residuals import add_lags, autocovariances, correlation_time, Residuals

WINDOW, LOOKED = 1024, 1024  # samples, and those at most whose noise is drawn: more repeat it
DRAWS = 24  # an error is known to a seventh
LEAST_TORQUE_SHARE = 0.02  # share of the residual's variance that is left to the torque at least
LOST = 0.5  # of the prior standard deviation
NOISE_SHARE = 0.5  # of the information in a direction: with more noise than that it has no number


class NoisyRows(NamedTuple):
    """
    Some rows, and the same with all noise of the motion once more.

    draw : number of the noise, 0 to DRAWS - 1, which is one motion's from row to row
    times : for how many such rows they stand
    """

    rows: RegressorBlock
    noisy: RegressorBlock
    draw: int
    times: float


class NoisySlopes(NamedTuple):
    """
    Some rows, and how k errors that are noise change them, to first order.

    slopes : (groups, k, N, p) of every group of the rows
    noise : (DRAWS, N, k) of the errors
    times : see NoisyRows
    """

    rows: RegressorBlock
    slopes: np.ndarray
    noise: np.ndarray
    times: float


def windows(
    observation: Any, length: int = WINDOW, looked: int = LOOKED
) -> Iterator[tuple[Any, float]]:
    """
    Yield (state, times it counts) of windows of the training samples of an ``observation``.

    They are spread evenly over it, each of a ``length`` at most [samples], about as many samples
    as are ``looked`` at; all of it where it has no more.
    """
    every = max(1, observation.samples(training=True) // looked)
    for state in observation.states(training=True):
        count = len(state.t)
        for low in range(0, count, every * length):
            part = state.rows(slice(low, low + length))
            yield part, min(every * length, count - low) / len(part.t)


def rows_of_noise(
    states: Iterable[tuple[Any, Iterable[Any], float]],
    regress: Callable[[Any], Iterable[RegressorBlock]],
) -> Iterator[NoisyRows]:
    """
    Yield NoisyRows.

    states : (state, the same by every draw, times it counts); regress : gives its rows
    """
    for state, noisy, times in states:
        rows = list(regress(state))
        for draw, moved in enumerate(noisy):
            for block, again in zip(rows, regress(moved)):
                yield NoisyRows(block, again, draw, times)


@dataclass(frozen=True)
class MotionNoise:
    """
    What the noise of the motion makes of the rows of b base parameters, group by group.

    scores : (b, DRAWS) of sum W'e
    squares, products : (b, b) of E[dW'dW], (b,) of E[dW'dy]
    covariances : (L,) of e by lag
    shares : of what its residuals, correlated as they are, weigh without this noise
    """

    scores: dict[str, np.ndarray]
    squares: dict[str, np.ndarray]
    products: dict[str, np.ndarray]
    covariances: dict[str, np.ndarray]
    shares: dict[str, float]

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
        # Without what only noise excites.
        excited = np.linalg.lstsq(A * scale, rows, rcond=1e-12)[0]
        prior = prior / np.outer(scale, scale)
        still = np.linalg.inv(np.eye(len(prior)) + prior @ rows.T @ rows)
        move = scale[:, None] * (still @ prior @ excited.T) * scale  # from scores to params
        moved, others = self._meat(problem, estimate, weights)
        by_source = {
            MOTION: _squared(move @ moved),
            DESCRIPTION: still @ prior @ still.T * np.outer(scale, scale),
        }
        return _with_covariance(estimate, by_source, _squared(move @ others))

    def made_good(
        self, problem: Problem, estimate: Estimate, inherited: np.ndarray | None
    ) -> Estimate:
        """
        Return the ``estimate`` as it is without noise in the rows, and no number for noise alone.

        inherited : (b, k) errors of unit size that all rows share, or None
        Its errors are of this noise and of all other.  A direction of noise may be off by all that
        the prior allows: so much is added to the covariance.  A base parameter of which less than
        LOST of the prior is ruled out is not determined.
        """
        weights, scales = _solved_weights(problem, estimate), problem.base.scales()
        A = problem.factors.system(weights)[0]
        information = (A.T @ A) * np.outer(scales, scales)
        information += 1e-12 * np.trace(information) / len(scales) * np.eye(len(scales))
        squares = weighted_sum(self.squares, weights) * np.outer(scales, scales)
        shares, directions = eigh(squares, information)
        products = weighted_sum(self.products, weights) * scales
        less = _LessNoise(information, directions, shares, products)
        by_source, others = self._roots(problem, estimate, weights)
        if inherited is not None:
            others = np.hstack([others, inherited])
        # Who solves them anew under a prior asks how much they say: correlated rows say less.
        independent = effective_standard_deviation(problem, estimate.standard_deviation)
        system = problem.factors.system(independent)[:2]
        estimate = less.estimate(problem, estimate, system, by_source, others)
        _, hidden = shown_and_hidden(problem, estimate, weights)
        estimate = estimate.widened(hidden)
        noisy = directions[:, shares > NOISE_SHARE] * scales[:, None]
        if not noisy.size:
            return estimate
        prior_sd = problem.base.prior_sd
        lost_errors = noisy / np.max(np.abs(noisy) / prior_sd[:, None], axis=0)
        wider = estimate.widened(lost_errors @ lost_errors.T)
        lost = wider.data_bse > LOST * prior_sd
        return replace(
            wider,
            determined=estimate.determined & ~lost,
            data_bse=np.where(lost, np.inf, estimate.data_bse),
            rank=max(0, estimate.rank - noisy.shape[1]),
        )

    def _roots(self, problem, estimate, weights):
        """Return {source: (b, m)} of errors of unit size of what rows show, (b, n) of others."""
        F, _ = shown_and_hidden(problem, estimate, weights)
        prior, _ = prior_rows(problem.base)
        moved, others = self._meat(problem, estimate, weights)
        by_source = {
            MOTION: F @ (F.T @ moved),
            DESCRIPTION: F @ (prior @ F).T * estimate.leaning,
        }
        return by_source, F @ (F.T @ others)

    def _meat(self, problem, estimate, weights):
        """Return roots (b, m) of the covariances of the scores, by this noise and all other."""
        sd = effective_standard_deviation(problem, estimate.standard_deviation)
        scores, others = weighted_sum(self.scores, weights), []
        for name, share in self.shares.items():
            rows = problem.factors.groups[name].equations(len(scores))
            others.append(np.sqrt(share) * sd[name] / weights[name] ** 2 * rows)
        return scores / np.sqrt(scores.shape[1]), np.vstack(others).T


class _LessNoise(NamedTuple):
    """
    Normal equations of scaled base parameters less the noise in them, where it is not most.

    information : (b, b) W'W; directions : (b, b) along which it is 1
    shares : (b,) of noise in them; products : (b,) E[dW'dy]
    """

    information: np.ndarray
    directions: np.ndarray
    shares: np.ndarray
    products: np.ndarray

    def estimate(self, problem, estimate, system, by_source, others):
        """
        Return the Estimate without the noise.

        system : (A (b, b), target (b,)) of its rows
        by_source, others : {source: (b, m)}, (b, n) errors of unit size before
        """
        scales, eye = problem.base.scales(), np.eye(len(self.shares))
        dual = self.information @ self.directions  # inverse of the directions, transposed
        most = self.shares > NOISE_SHARE
        squares = (dual * np.where(most, 0.0, self.shares)) @ dual.T
        followed = self.directions[:, ~most]
        products = self.information @ followed @ (followed.T @ self.products)
        prior = np.zeros((0, len(scales)))
        if estimate.leaning:
            prior = prior_rows(problem.base)[0] * scales
        left = self.information + prior.T @ prior - squares
        move = eye + np.linalg.solve(left, squares)
        shrunk = squares @ (estimate.params / scales) - products  # E[dW'e], which shrinks
        move = scales[:, None] * move / scales
        # What noise alone excites says nothing to those who solve the rows anew under a prior.
        lost = (self.directions * np.minimum(self.shares, 1.0)) @ dual.T
        keep = scales[:, None] * (eye - lost) / scales
        rows = system[0] @ keep
        off = scales * np.linalg.solve(self.information - squares, products)
        estimate = replace(
            estimate,
            params=estimate.params + scales * np.linalg.solve(left, shrunk),
            system=(rows, system[1] - rows @ off),
        )
        by_source = {source: _squared(move @ root) for source, root in by_source.items()}
        return _with_covariance(estimate, by_source, _squared(move @ others))


def _with_covariance(estimate, by_source, others):
    """Return the Estimate with covariances {source: (b, b)} and that by all ``others`` (b, b)."""
    covariance = sum(by_source.values(), others)
    error = np.sqrt(np.diag(covariance))
    ratio = np.where(error > 0.0, error / np.maximum(estimate.bse, 1e-300), 1.0)
    return replace(
        estimate,
        cov_params=covariance,
        bse=error,
        data_bse=estimate.data_bse * ratio,
        by_source=by_source,
    )


def _squared(root):
    """Return the covariance (b, b) that a ``root`` (b, m) is of."""
    return root @ root.T


def motion_noise(
    pairs: Iterable[NoisyRows | NoisySlopes],
    places: np.ndarray,
    values: np.ndarray,
    residuals: Residuals,
) -> MotionNoise | None:
    """
    Return the MotionNoise in rows, None where there are none.

    pairs : of every draw in order of time; places : (p,) of their columns among the b parameters
    that are estimated, -1: none
    values : (p,) of all columns; residuals : of the same data by them
    """
    sums = _Sums(places, values)
    for pair in pairs:
        if isinstance(pair, NoisySlopes):
            sums.add_slopes(pair)
        else:
            sums.add(pair)
    if not sums.scores:
        return None
    covariances = {name: total / count for name, (total, count) in sums.lags.items()}
    shares = shares_without(covariances, residuals)
    return MotionNoise(sums.scores, sums.squares, sums.products, covariances, shares)


class _Sums:
    """Sums over NoisyRows; places : (p,) of columns among the base parameters; values : (p,)."""

    def __init__(self, places, values):
        self.places, self.values, self.size = places, values, int(places.max()) + 1
        self.scores: dict[str, np.ndarray] = {}
        self.squares: dict[str, np.ndarray] = {}
        self.products: dict[str, np.ndarray] = {}
        self.lags: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def add(self, pair: NoisyRows) -> None:
        """Add the rows of one draw."""
        for group, noisy in zip(pair.rows.groups, pair.noisy.groups):
            self._begin(group.name)
            places = self.places[group.columns]
            estimated = places >= 0
            dW, dy = noisy.W - group.W, noisy.y - group.y
            e = dW @ self.values[group.columns] - dy
            at, dW, W = places[estimated], dW[:, estimated], group.W[:, estimated]
            share = pair.times / DRAWS
            self.scores[group.name][at, pair.draw] += np.sqrt(pair.times) * W.T @ e
            self.squares[group.name][np.ix_(at, at)] += share * dW.T @ dW
            self.products[group.name][at] += share * dW.T @ dy
            add_lags(self.lags, group.name, autocovariances(e), np.arange(len(e), 0, -1))

    def add_slopes(self, some: NoisySlopes) -> None:
        """Add the rows of all draws; their mean square is that by the covariance of the noise."""
        count, errors = some.noise.shape[1:]
        noise = some.noise.reshape(-1, errors)
        root = np.linalg.qr(noise / len(noise) ** 0.5, 'r')  # root' root : its covariance
        for group, slopes in zip(some.rows.groups, some.slopes):
            self._begin(group.name)
            places = self.places[group.columns]
            estimated = places >= 0
            at, W = places[estimated], group.W[:, estimated]
            drawn = np.einsum('dnk,kn->dn', some.noise, slopes @ self.values[group.columns])
            self.scores[group.name][at] += np.sqrt(some.times) * (drawn @ W).T
            dW = np.tensordot(root, slopes[:, :, estimated], 1).reshape(errors * count, -1)
            self.squares[group.name][np.ix_(at, at)] += some.times * dW.T @ dW
            pairs = DRAWS * np.arange(count, 0, -1)
            add_lags(self.lags, group.name, autocovariances(drawn).sum(0), pairs)

    def _begin(self, name):
        """Begin the sums of the group of a ``name``, where there are none."""
        if name not in self.scores:
            self.scores[name] = np.zeros((self.size, DRAWS))
            self.squares[name] = np.zeros((self.size, self.size))
            self.products[name] = np.zeros(self.size)


def weighted_sum(sums: Mapping[str, np.ndarray], deviation: Mapping[str, float]) -> np.ndarray:
    """Return ``sums`` over rows of all groups weighted by the standard ``deviation`` of each."""
    return np.sum([x / deviation[name] ** 2 for name, x in sums.items()], axis=0)


def shares_without(
    covariances: Mapping[str, np.ndarray], residuals: Residuals
) -> dict[str, float]:
    """Return group -> share of its ``residuals`` without noise of ``covariances`` (L,) by lag."""
    times, out = residuals.correlation(), {}
    for name, of_noise in covariances.items():
        total, pairs = residuals.covariances[name]
        of_residual = total / pairs
        padded = np.pad(of_noise, (0, max(0, len(of_residual) - len(of_noise))))
        remaining = of_residual - padded[: len(of_residual)]
        share = float(remaining[0] / max(of_residual[0], 1e-300))
        if share > LEAST_TORQUE_SHARE:
            share *= correlation_time(remaining)
        out[name] = min(1.0, max(share, LEAST_TORQUE_SHARE) / times[name])
    return out


def _solved_weights(problem: Problem, estimate: Estimate) -> dict[str, float]:
    """Return group -> standard deviation by which rows were weighted for an ``estimate``."""
    if estimate.leaning:
        return effective_standard_deviation(problem, estimate.standard_deviation)
    return estimate.standard_deviation
