"""
Residuals: measured minus predicted torque, how they are correlated, and the errors that follow.

Rows of a filtered signal are not independent, so they carry less than their number (integrated
autocorrelation time; Geyer 1992, initial positive sequence).

What differs between blocks of the motion more than white noise lets one expect is model error,
which belongs into the standard errors (cov_type: segments): they are clusters of residuals (Bell
and McCaffrey 2002).  What a model lacks for seconds (friction of a slow motion) outlasts a
block, and its neighbours share it: joined until they are several times longer (Kuensch 1989).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy import fft

from .distributions import digamma, normal_quantile, student_quantile, trigamma
from .estimators import effective_standard_deviation, Estimate, Problem
from .r_factors import RFactors
from ..dynamics.regressor import RegressorBlock

FEWEST_BLOCKS = 8  # that tell errors
LARGEST_SHARE = 0.99  # of the information on a direction: no other block tells how wrong one is
CORRELATION_TIMES = 5.0  # correlation times of a residual: a block so long knows its error to 5 %
LEVEL = 0.975  # of the one-sided interval at which Student's t and the normal agree
PRIOR_FREEDOMS = np.geomspace(1e3, 0.1, 2000)  # degrees: the answer is right to 1e-5


@dataclass
class Fit:
    """Sums of squares of residual and target per row group, against one target."""

    samples: float = 0
    residual: dict[str, float] = field(default_factory=dict)
    target: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, error: np.ndarray, y: np.ndarray) -> None:
        """Add the residuals ``error`` and targets ``y`` (N,) of one group."""
        self.residual[name] = self.residual.get(name, 0.0) + float(error @ error)
        self.target[name] = self.target.get(name, 0.0) + float(y @ y)

    @property
    def relative_percent(self) -> float | None:
        """Return the residual of all groups relative to their targets [%], None without any."""
        target = sum(self.target.values())
        if not target:
            return None
        return float(100.0 * np.sqrt(sum(self.residual.values()) / target))

    def summary(self) -> dict[str, Any]:
        """Return samples, RMS of residual and of target per joint, over all, and relative [%]."""
        count, groups = max(1, self.samples), max(1, len(self.residual))
        total = sum(self.residual.values())
        return {
            'samples': self.samples,
            'rms': {n: float(np.sqrt(x / count)) for n, x in self.residual.items()},
            'measured_rms': {n: float(np.sqrt(x / count)) for n, x in self.target.items()},
            'rms_all': float(np.sqrt(total / (count * groups))),
            'relative_percent': self.relative_percent,
        }

    def merge(self, other: 'Fit') -> None:
        """Add the sums of the ``other`` Fit, of further data."""
        self.samples += other.samples
        for name, square in other.residual.items():
            self.residual[name] = self.residual.get(name, 0.0) + square
        for name, square in other.target.items():
            self.target[name] = self.target.get(name, 0.0) + square

    def fade(self, share: float) -> None:
        """Let what was added so far count only a ``share`` of what will be."""
        self.samples *= share
        for sums in (self.residual, self.target):
            for name in sums:
                sums[name] *= share


@dataclass
class Residuals:
    """Running statistics of predicted against measured: filtered and raw, and correlation."""

    filtered: Fit = field(default_factory=Fit)
    raw: Fit = field(default_factory=Fit)
    covariances: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def add(self, block: RegressorBlock, predicted: Mapping[str, np.ndarray]) -> None:
        """Add a RegressorBlock and its prediction (group name -> (B,))."""
        self.filtered.samples += len(block.t)
        self.raw.samples += len(block.t)
        errors = np.array([group.y - predicted[group.name] for group in block.groups])
        for group, error, lags in zip(block.groups, errors, autocovariances(errors)):
            self.filtered.add(group.name, error, group.y)
            self.raw.add(group.name, group.y_raw - predicted[group.name], group.y_raw)
            add_lags(self.covariances, group.name, lags, np.arange(len(lags), 0, -1))

    def merge(self, other: 'Residuals') -> None:
        """Add what the ``other`` Residuals, of further data, have summed."""
        self.filtered.merge(other.filtered)
        self.raw.merge(other.raw)
        for name, (total, pairs) in other.covariances.items():
            add_lags(self.covariances, name, total, pairs)

    def fade(self, share: float) -> None:
        """Let what was added so far count only a ``share`` of what will be."""
        self.filtered.fade(share)
        self.raw.fade(share)
        for name, (total, pairs) in self.covariances.items():
            self.covariances[name] = share * total, share * pairs

    def correlation(self) -> dict[str, float]:
        """Return group -> integrated autocorrelation time of its residual [samples], >= 1."""
        return {
            name: correlation_time(total / pairs)
            for name, (total, pairs) in self.covariances.items()
        }

    def summary(self) -> dict[str, Any]:
        """Return both fits as the command line and the model file give them."""
        return {'filtered': self.filtered.summary(), 'raw': self.raw.summary()}


def residuals_of(blocks: Iterable[RegressorBlock], values: np.ndarray) -> Residuals:
    """Return the Residuals of ``blocks`` in order of time by ``values`` (p,) of all columns."""
    out = Residuals()
    for block in blocks:
        out.add(block, block.predicted(values))
    return out


def merged(parts: Iterable[Residuals]) -> Residuals:
    """Return the Residuals of all ``parts`` together."""
    total = Residuals()
    for part in parts:
        total.merge(part)
    return total


def add_lags(
    sums: dict[str, tuple[np.ndarray, np.ndarray]], name: str, lags: np.ndarray, pairs: np.ndarray
) -> None:
    """Add products at ``lags`` (N,), of so many ``pairs`` (N,), to the ``sums`` of a group."""
    before = np.zeros((2, 0))
    if name in sums:
        before = np.array(sums[name])
    total = np.zeros((2, max(before.shape[1], len(lags))))
    total[:, : before.shape[1]] = before
    total[:, : len(lags)] += lags, pairs
    sums[name] = total[0], total[1]


def autocovariances(errors: np.ndarray) -> np.ndarray:
    """Return sums (R, N) of products at lags 0 to N - 1 of series ``errors`` (R, N)."""
    samples = errors.shape[-1]
    padded = 1 << (2 * samples - 1).bit_length()
    spectrum = fft.rfft(errors, padded)
    return fft.irfft((spectrum * spectrum.conj()).real, padded)[..., :samples]


def correlation_time(covariance: np.ndarray) -> float:
    """Return the integrated correlation time [samples], >= 1, of ``covariance`` (N,) by lag."""
    if covariance[0] <= 0.0:
        return 1.0
    even = len(covariance) // 2 * 2
    pair_sums = covariance[0:even:2] + covariance[1:even:2]
    not_positive = np.flatnonzero(pair_sums <= 0.0)
    if not_positive.size:
        pair_sums = pair_sums[: not_positive[0]]
    return float(max(1.0, 2.0 * pair_sums.sum() / covariance[0] - 1.0))


def robust_errors(
    problem: Problem,
    estimate: Estimate,
    folds: Sequence[RFactors],
    prior: np.ndarray,
    least: float = 1.0,
) -> Estimate:
    """
    Return the Estimate with errors no smaller than what differs between blocks of the motion.

    folds : RFactors of each block
    prior : (b, b) covariance of what is known without data
    least : of the covariance by rows, that remains where blocks differ by less
    Errors are the scores of blocks, at the estimate, each larger by the share of the information
    that is that block's alone, which the fit took out of its residual (Bell and McCaffrey 2002;
    leaving it out, as a jackknife does, overdoes that where blocks show different things).
    Nothing changes with fewer than FEWEST_BLOCKS.  So few know each error to a quarter: see
    ``shrunk_covariance``.
    """
    if len(folds) < FEWEST_BLOCKS:
        return estimate
    systems = joined(problem, normal_equations(problem, estimate, folds))
    scale = problem.base.prior_sd
    systems *= np.outer(np.append(scale, 1.0), np.append(scale, 1.0))
    prior, information = prior / np.outer(scale, scale), systems[:, :-1, :-1]
    scores = systems[:, :-1, -1] - information @ (estimate.params / scale)
    root = _root(np.linalg.solve(np.eye(len(prior)) + prior @ information.sum(0), prior))
    shares, axes = np.linalg.eigh(root.T @ information @ root)
    leverage_factors = 1.0 / np.sqrt(1.0 - np.clip(shares, 0.0, LARGEST_SHARE))
    changes = scale * np.einsum(
        'ab,gbk,gk,gck,dc,gd->ga', root, axes, leverage_factors, axes, root, scores, optimize=True
    )
    covariance = shrunk_covariance(estimate.cov_params, changes - changes.mean(0), least)
    bse = np.sqrt(estimate.bse**2 + np.diag(covariance - estimate.cov_params))
    data_bse = bse / np.maximum(estimate.bse, 1e-300) * estimate.data_bse
    return replace(
        estimate,
        bse=bse,
        cov_params=covariance,
        by_rows=estimate.cov_params,
        data_bse=data_bse,
        determined=estimate.determined & (data_bse < estimate.limit),
    )


def _root(covariance):
    """Return F (b, b), F F' = ``covariance``, which may be singular."""
    variances, turn = np.linalg.eigh((covariance + covariance.T) / 2)
    return turn * np.sqrt(np.maximum(variances, 0.0))


def shrunk_covariance(
    covariance: np.ndarray, changes: np.ndarray, least: float = 1.0
) -> np.ndarray:
    """
    Return the covariance (b, b) of parameters with what differs between blocks in it.

    covariance : (b, b) by independent rows; changes : (count, b) of parameters by each block
    least : see ``robust_errors``
    That of the blocks is shrunk towards a multiple of the former, as a matrix (Ledoit and Wolf
    2004), by the weights of ``shrinkage``; nothing gets known better, parameters or sums of them.
    """
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    ratios = np.linalg.norm(changes, axis=0) / np.maximum(errors, 1e-300)
    common, weight = shrinkage(ratios, len(changes) - 1)
    root = _root(covariance)
    whitened = changes @ np.linalg.pinv(root).T
    variances, axes = np.linalg.eigh(weight * whitened.T @ whitened)
    axes = root @ axes
    return (axes * np.maximum(least, common + variances)) @ axes.T


def shrinkage(ratios: np.ndarray, freedom: int) -> tuple[float, float]:
    """
    Return the common variance, and the weight of each estimated one, that errors shrink to.

    ratios : (b,) of estimated to expected standard errors; freedom : degrees of each
    Empirical Bayes with an inverse chi-square prior, whose degrees of freedom come from the spread
    of the logarithms beyond chance (Smyth 2004).  Widened by Student's t, at 95 %.
    """
    logs = 2.0 * np.log(np.maximum(ratios, 1e-6)) - digamma(freedom / 2) + np.log(freedom / 2)
    spread = np.inf
    if len(logs) > 1:
        spread = float(np.var(logs, ddof=1))
    excess = spread - float(trigamma(freedom / 2))
    prior = 1.0 / np.interp(excess, trigamma(PRIOR_FREEDOMS / 2), 1.0 / PRIOR_FREEDOMS)
    common = np.exp(logs.mean() + digamma(prior / 2) - np.log(prior / 2))
    per_degree = student_factor(prior + freedom) ** 2 / (prior + freedom)
    return per_degree * prior * common, per_degree * freedom


def student_factor(freedom: float) -> float:
    """Return the factor by which errors of ``freedom`` degrees widen to hold 95 %."""
    return student_quantile(LEVEL, freedom) / normal_quantile(LEVEL)


def joined(problem: Problem, systems: np.ndarray) -> np.ndarray:
    """
    Return sums (count, m, m) of successive ``systems`` that what the model lacks does not outlast.

    problem : whose correlation of rows says how long that is; systems : (k, m, m) of blocks
    They are no fewer than FEWEST_BLOCKS, of which the errors are known.
    """
    count = len(systems)
    correlated_share = max(
        problem.correlation.get(name, 1.0) / group.rows
        for name, group in problem.factors.groups.items()
    )  # of all the time
    needed = int(np.ceil(CORRELATION_TIMES * correlated_share * count))
    together = max(1, min(needed, count // FEWEST_BLOCKS))
    return np.add.reduceat(systems, np.arange(0, count, together))


def normal_equations(
    problem: Problem, estimate: Estimate, folds: Sequence[RFactors]
) -> np.ndarray:
    """Return [W, y]'[W, y] of ``folds``, (count, b + 1, b + 1), weighted as the ``estimate``."""
    size = len(problem.base)
    sigma = effective_standard_deviation(problem, estimate.standard_deviation)
    out = np.zeros((len(folds), size + 1, size + 1))
    for sums, factors in zip(out, folds):
        for name, group in factors.groups.items():
            own = group.columns < size
            columns = np.append(group.columns[own], size)
            rows = np.column_stack([group.R[:, :-2][:, own], group.R[:, -2]])
            sums[columns[:, None], columns] += rows.T @ rows / sigma[name] ** 2
    return out
