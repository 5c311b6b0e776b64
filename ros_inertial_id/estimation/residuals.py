"""
Residuals: measured minus predicted torque, collected block by block, and how they are correlated.

Rows of a filtered signal are not independent, so they carry less than their number (integrated
autocorrelation time; Geyer 1992, initial positive sequence).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import fft

from ..dynamics.regressor import RegressorBlock


@dataclass
class Fit:
    """Sums of squares of residual and target per row group, against one target."""

    samples: float = 0
    residual: dict[str, float] = field(default_factory=dict)
    target: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, error: np.ndarray, y: np.ndarray) -> None:
        """
        Add the residuals and targets (N,) of one group.

        error, y : [unit of the group]
        """
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
        return {'samples': self.samples,
                'rms': {n: float(np.sqrt(self.residual[n] / count)) for n in names},
                'measured_rms': {n: float(np.sqrt(self.target[n] / count)) for n in names},
                'rms_all': float(np.sqrt(error / (count * max(1, len(names))))),
                'relative_percent': self.relative_percent}


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
        self.covariances = {name: (share * total, share * pairs)
                            for name, (total, pairs) in self.covariances.items()}

    def correlation(self) -> dict[str, float]:
        """Return group -> integrated autocorrelation time of its residual [samples], >= 1."""
        out = {}
        for name, (total, pairs) in self.covariances.items():
            covariance = total / pairs
            if covariance[0] <= 0.0:
                out[name] = 1.0
                continue
            out[name] = correlation_time(covariance / covariance[0])
        return out

    def summary(self) -> dict[str, Any]:
        """Return both fits as the command line and the model file give them."""
        return {'filtered': self.filtered.summary(), 'raw': self.raw.summary()}


def residuals_of(blocks: Iterable[RegressorBlock], values: np.ndarray) -> Residuals:
    """
    Return the Residuals of ``blocks`` in order of time.

    values : (p,) of all columns
    """
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


def add_lags(sums: dict[str, tuple[np.ndarray, np.ndarray]], name: str, lags: np.ndarray,
             pairs: np.ndarray) -> None:
    """
    Add products at lags (N,), and their numbers of ``pairs`` (N,), to the ``sums`` of a group.

    lags : [square of its unit]
    """
    before = sums.get(name, (np.zeros(0), np.zeros(0)))
    total, count = np.zeros((2, max(len(before[0]), len(lags))))
    for sum_, old, new in zip((total, count), before, (lags, pairs)):
        sum_[:len(old)] = old
        sum_[:len(new)] += new
    sums[name] = total, count


def autocovariances(errors: np.ndarray) -> np.ndarray:
    """Return sums (R, N) of products at lags 0 to N - 1 of series ``errors`` (R, N)."""
    size = errors.shape[-1]
    whole = fft.next_fast_len(2 * size, real=True)
    spectrum = fft.rfft(errors, whole)
    return fft.irfft((spectrum * spectrum.conj()).real, whole)[..., :size]


def correlation_time(rho: np.ndarray) -> float:
    """
    Return the integrated autocorrelation time [samples], >= 1, of correlations (N,).

    rho : (N,) from lag zero, where it is one
    """
    even = len(rho) // 2 * 2
    sums = rho[0:even:2] + rho[1:even:2]
    stop = np.flatnonzero(sums <= 0.0)
    sums = sums[:stop[0]] if stop.size else sums
    return float(max(1.0, 2.0 * sums.sum() - 1.0))
