"""
Residuals: measured minus predicted torque, how they are correlated, and the errors that follow.

Rows of a filtered signal are not independent, so they carry less than their number (integrated
autocorrelation time; Geyer 1992, initial positive sequence).

What differs between stretches of the motion more than white noise lets one expect is model error,
which belongs into the standard errors (cov_type: segments): they are clusters of residuals (Bell
and McCaffrey 2002).  What a model lacks for seconds (friction of a slow motion) outlasts a
stretch, and its neighbours share it: joined until they are several times longer (Kuensch 1989).
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

FEWEST = 8
ALONE = 0.99  # of the information on a direction: no other stretch tells how wrong one is
CORRELATION_MARGIN = (
    5.0  # times what correlates a residual: a stretch so long knows its error to 5 %
)
LEVEL = 0.975  # of the one-sided interval at which Student's t and the normal agree
PRIORS = np.geomspace(1e3, 0.1, 2000)  # degrees of freedom: the answer is right to 1e-5


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
        return float(100.0 * np.sqrt(sum(self.residual.values()) / target)) if target else None

    def summary(self) -> dict[str, Any]:
        """Return samples, RMS of residual and of target per joint, over all, and relative [%]."""
        names = list(self.residual)
        count, error = max(1, self.samples), sum(self.residual.values())
        return {
            'samples': self.samples,
            'rms': {n: float(np.sqrt(self.residual[n] / count)) for n in names},
            'measured_rms': {n: float(np.sqrt(self.target[n] / count)) for n in names},
            'rms_all': float(np.sqrt(error / (count * max(1, len(names))))),
            'relative_percent': self.relative_percent,
        }


@dataclass
class Residuals:
    """Running statistics of predicted against measured: filtered and raw, and correlation."""

    filtered: Fit = field(default_factory=Fit)
    raw: Fit = field(default_factory=Fit)
    covariances: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def add(self, block: RegressorBlock, predicted: Mapping[str, np.ndarray]) -> None:
        """Add a RegressorBlock and its prediction (group name -> (B,))."""
        for fit in (self.filtered, self.raw):
            fit.samples += len(block.t)
        errors = np.array([group.y - predicted[group.name] for group in block.groups])
        for group, error, lags in zip(block.groups, errors, autocovariances(errors)):
            self.filtered.add(group.name, error, group.y)
            self.raw.add(group.name, group.y_raw - predicted[group.name], group.y_raw)
            add_lags(self.covariances, group.name, lags, np.arange(len(lags), 0, -1))

    def merge(self, other: 'Residuals') -> None:
        """Add what the ``other`` Residuals, of further data, have summed."""
        for ours, theirs in ((self.filtered, other.filtered), (self.raw, other.raw)):
            ours.samples += theirs.samples
            for sums, more in ((ours.residual, theirs.residual), (ours.target, theirs.target)):
                sums.update({name: sums.get(name, 0.0) + x for name, x in more.items()})
        for name, (total, pairs) in other.covariances.items():
            add_lags(self.covariances, name, total, pairs)

    def fade(self, share: float) -> None:
        """Let what was added so far count only a share of what will be."""
        for fit in (self.filtered, self.raw):
            fit.samples *= share
            for sums in (fit.residual, fit.target):
                sums.update({name: share * x for name, x in sums.items()})
        self.covariances = {
            name: (share * total, share * pairs)
            for name, (total, pairs) in self.covariances.items()
        }

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
    before = sums.get(name, (np.zeros(0), np.zeros(0)))
    total, count = np.zeros((2, max(len(before[0]), len(lags))))
    for sum_, old, new in zip((total, count), before, (lags, pairs)):
        sum_[: len(old)] = old
        sum_[: len(new)] += new
    sums[name] = total, count


def autocovariances(errors: np.ndarray) -> np.ndarray:
    """Return sums (R, N) of products at lags 0 to N - 1 of series ``errors`` (R, N)."""
    size = errors.shape[-1]
    whole = 1 << (2 * size - 1).bit_length()
    spectrum = fft.rfft(errors, whole)
    return fft.irfft((spectrum * spectrum.conj()).real, whole)[..., :size]


def correlation_time(covariance: np.ndarray) -> float:
    """Return the integrated correlation time [samples], >= 1, of ``covariance`` (N,) by lag."""
    even = len(covariance) // 2 * 2
    sums = covariance[0:even:2] + covariance[1:even:2]
    stop = np.flatnonzero(sums <= 0.0)
    sums = sums[: stop[0]] if stop.size else sums
    return float(max(1.0, 2.0 * sums.sum() / covariance[0] - 1.0)) if covariance[0] > 0.0 else 1.0


def robust_errors(
    problem: Problem,
    estimate: Estimate,
    folds: Sequence[RFactors],
    prior: np.ndarray,
    least: float = 1.0,
) -> Estimate:
    """
    Return the Estimate with errors no smaller than what differs between stretches of the motion.

    folds : RFactors of each stretch
    prior : (b, b) covariance of what is known without data
    least : of the covariance by rows, that remains where stretches differ by less
    Each stretch pulls the estimate by its residual; those pulls are the errors, each larger by
    the share of the information that is its own, which the fit took out of the residual (Bell and
    McCaffrey 2002; leaving it out, as a jackknife does, overdoes that where stretches show
    different things).  Nothing changes with fewer than FEWEST stretches.  The few know each error
    to a quarter: see ``moderated_covariance``.
    """
    count, size = len(folds), len(problem.base)
    if count < FEWEST:
        return estimate
    systems = joined(problem, normal_equations(problem, estimate, folds))
    scale = problem.base.prior_sd
    systems *= np.outer(np.append(scale, 1.0), np.append(scale, 1.0))
    prior, information = prior / np.outer(scale, scale), systems[:, :-1, :-1]
    pulls = systems[:, :-1, -1] - information @ (estimate.params / scale)
    root = _root(np.linalg.solve(np.eye(size) + prior @ information.sum(0), prior))
    shares, turns = np.linalg.eigh(root.T @ information @ root)
    lone = 1.0 / np.sqrt(1.0 - np.clip(shares, 0.0, ALONE))
    away = scale * np.einsum(
        'ab,gbk,gk,gck,dc,gd->ga', root, turns, lone, turns, root, pulls, optimize=True
    )
    covariance = moderated_covariance(estimate.cov_params, away - away.mean(0), least)
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


def moderated_covariance(
    covariance: np.ndarray, away: np.ndarray, least: float = 1.0
) -> np.ndarray:
    """
    Return the covariance (b, b) of parameters with what differs between stretches in it.

    covariance : (b, b) by independent rows; away : (count, b) what each stretch adds to them
    least : see ``robust_errors``
    That of the stretches is drawn towards a multiple of the former, as a matrix (Ledoit and Wolf
    2004), by the weights of ``moderation``; nothing gets known better, parameters or sums of them.
    """
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    ratios = np.linalg.norm(away, axis=0) / np.maximum(errors, 1e-300)
    common, own = moderation(ratios, len(away) - 1)
    root = _root(covariance)
    each = away @ np.linalg.pinv(root).T  # in standard errors of directions that are independent
    sizes, turns = np.linalg.eigh(own * each.T @ each)
    axes = root @ turns
    return (axes * np.maximum(least, common + sizes)) @ axes.T


def moderation(ratios: np.ndarray, freedom: int) -> tuple[float, float]:
    """
    Return the common variance, and the share of each one's own, of errors drawn to one size.

    ratios : (b,) of estimated to expected standard errors; freedom : degrees of each
    Empirical Bayes with an inverse chi-square prior, whose degrees of freedom come from the spread
    of the logarithms beyond chance (Smyth 2004).  As wide as Student's t asks for, at 95 %.
    """
    logs = 2.0 * np.log(np.maximum(ratios, 1e-6)) - digamma(freedom / 2) + np.log(freedom / 2)
    spread = float(np.var(logs, ddof=1)) if len(logs) > 1 else np.inf
    excess = spread - float(trigamma(freedom / 2))
    prior = 1.0 / np.interp(excess, trigamma(PRIORS / 2), 1.0 / PRIORS)
    common = np.exp(logs.mean() + digamma(prior / 2) - np.log(prior / 2))
    wide = student_factor(prior + freedom) ** 2 / (prior + freedom)
    return wide * prior * common, wide * freedom


def student_factor(freedom: float) -> float:
    """Return by how much errors of ``freedom`` degrees widen to hold 95 % (Student's t)."""
    return student_quantile(LEVEL, freedom) / normal_quantile(LEVEL)


def joined(problem: Problem, systems: np.ndarray) -> np.ndarray:
    """
    Return sums (count, m, m) of successive ``systems`` that what the model lacks does not outlast.

    problem : whose correlation of rows says how long that is; systems : (k, m, m) of stretches
    They are no fewer than FEWEST, of which the errors are known.
    """
    count = len(systems)
    lasting = max(
        problem.correlation.get(name, 1.0) / g.rows for name, g in problem.factors.groups.items()
    )  # of all the time
    together = max(1, min(int(np.ceil(CORRELATION_MARGIN * lasting * count)), count // FEWEST))
    return np.add.reduceat(systems, np.arange(0, count, together))


def normal_equations(
    problem: Problem, estimate: Estimate, folds: Sequence[RFactors]
) -> np.ndarray:
    """Return those of [W, y] of ``folds``, (count, b + 1, b + 1), weighted as the ``estimate``."""
    size = len(problem.base)
    sigma = effective_standard_deviation(problem, estimate.standard_deviation)
    out = np.zeros((len(folds), size + 1, size + 1))
    for sums, factors in zip(out, folds):
        for name, group in factors.groups.items():
            rows = np.column_stack([group.equations(factors.size)[:, :size], group.R[:, -2]])
            sums += rows.T @ rows / sigma[name] ** 2
    return out
