"""
Scores: how large the noise of W'r is where the residual r is coloured.

Noise of a differentiated motion grows with frequency up to the filter's cutoff: where the motion
is there is far less of it than the residual's size and correlation time let one expect.  Its
spectrum has a known shape, |H|^2 times powers of the frequency; white noise of the torque stands
beside it.  What these make of the residual's spectrum is whitened, smoothed and coloured again
(Andrews and Monahan 1992).  The covariance of the scores is the sum over t, s of
W_t gamma(t - s) W_s' with its autocovariance gamma (Newey and West 1987).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from ...dynamics.regressor import RegressorBlock
from ...estimation.residuals import correlation_time, Residuals
from ...measurement.sampling import convolve_inside

FLOOR = 1e-9  # of the eigenvalues of a correlation: below it there is rounding
REACH = 8.0  # times the correlation time: where the whitened autocovariance is taken to have ended
LEAST = 16   # lags of it: a spectrum that is smoothed less follows what the fit took from it
ROUNDS = 8   # of weights by the spectrum that was found (Whittle)
QUIET = 1e-9  # of the largest power: less is rounding


@dataclass(frozen=True)
class MotionFilter:
    """kernel (2 h + 1,) of the motion's low-pass; stride : of training samples."""

    kernel: np.ndarray
    stride: int = 1

    def powers(self, count: int) -> np.ndarray:
        """Return (4, count) spectra from zero to half the training rate: white, z, zdot, zddot."""
        phase = np.linspace(0.0, np.pi, count) / self.stride
        half = len(self.kernel) // 2
        H = self.kernel[half] + 2.0 * np.cos(
            np.multiply.outer(phase, np.arange(1, half + 1))) @ self.kernel[half + 1:]
        out = np.stack([np.ones(count), *(H ** 2 * phase ** (2 * k) for k in range(3))])
        return out / out.max(1, keepdims=True)


def autocovariances(residuals: Residuals, motion: MotionFilter | None = None
                    ) -> dict[str, np.ndarray]:
    """
    Return group -> (2 L + 1,) autocovariance of Residuals at lags -L to L.

    motion : whose noise stands in the residual; None: in a shape that is not known
    """
    return {name: _autocovariance(total / pairs[0], pairs / pairs[0], motion)
            for name, (total, pairs) in residuals.covariances.items()}


def _autocovariance(raw, share, motion):
    """Return gamma (2 L + 1,) by sums ``raw`` (L + 1,) of a ``share`` of products at each lag."""
    L = len(raw) - 1
    if not raw[0] > 0.0:  # rows that are zero
        return np.zeros(2 * L + 1)
    seen = _spectrum(raw * _parzen(L, L))
    seen = np.maximum(seen, QUIET * seen.max())
    if motion is None:
        whole = np.full(L + 1, seen.mean())
    else:
        # Smeared by the window as what is seen of the residual.
        powers = motion.powers(L + 1)
        smeared = np.array([_spectrum(_lags(x) * share * _parzen(L, L)) for x in powers])
        fitted, coefficients = seen, np.zeros(len(powers))
        for _ in range(ROUNDS):
            coefficients = nnls((smeared / fitted).T, seen / fitted)[0]
            fitted = np.maximum(coefficients @ smeared, QUIET * seen.max())
        whole = np.maximum(coefficients @ powers, QUIET * seen.max())
        seen = seen / fitted * whole
    rest = _lags(seen / whole)
    end = int(min(max(LEAST, REACH * correlation_time(rest)), L))
    # With this window it is the autocovariance of a spectrum that is nowhere negative.
    half = _lags(whole * _spectrum(rest * _parzen(end, L)))
    return np.concatenate([half[:0:-1], half])


def _parzen(end, L):
    """Return Parzen's window (L + 1,), zero beyond the lag ``end``."""
    u = np.minimum(np.arange(L + 1) / (end + 1.5), 1.0)
    return np.where(u <= 0.5, 1.0 - 6.0 * u ** 2 * (1.0 - u), 2.0 * (1.0 - u) ** 3)


def _spectrum(lags):
    """Return the spectrum (L + 1,) from zero to Nyquist of an autocovariance (L + 1,)."""
    return np.fft.rfft(np.concatenate([lags, lags[-2:0:-1]])).real


def _lags(spectrum):
    """Return the autocovariance (L + 1,) of a spectrum (L + 1,); see ``_spectrum``."""
    return np.fft.irfft(spectrum)[:len(spectrum)]


def score_covariance(blocks: Iterable[RegressorBlock], gamma: Mapping[str, np.ndarray],
                     standard_deviation: Mapping[str, float], place: np.ndarray) -> np.ndarray:
    """
    Return sum over t, s of W_t gamma(t - s) W_s' (p, p), rows weighted by standard deviation.

    blocks : in order of time; gamma : of ``autocovariances``
    place : column -> row of the result, -1: none
    standard_deviation : group -> of its rows [unit of the group]
    """
    size = int(place.max()) + 1
    out = np.zeros((size, size))
    for block in blocks:
        for group in block.groups:
            where = place[group.columns]
            seen = np.flatnonzero(where >= 0)
            W = group.W[:, seen] / standard_deviation[group.name] ** 2
            L = len(gamma[group.name]) // 2
            smooth = convolve_inside(np.pad(W, ((L, L), (0, 0))), gamma[group.name])
            out[np.ix_(where[seen], where[seen])] += W.T @ smooth
    return (out + out.T) / 2


def whiten(covariance: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """
    Return covariance^-1/2 @ rows, for a covariance that may be singular but for rounding.

    covariance : (m, m); rows : (m, k)
    """
    size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    w, V = np.linalg.eigh(covariance / size / size[:, None])
    return (V / np.sqrt(np.maximum(w, FLOOR * w[-1]))).T @ (rows / size[:, None])
