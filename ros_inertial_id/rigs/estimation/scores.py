"""
Scores: how large the noise of W'r is where the residual r is coloured.

Noise of a differentiated motion grows with frequency: where the motion is there is far less of it
than the residual's size and correlation time let one expect, and the spectrum of the residual
itself says how much.  The covariance of the scores is the sum over t, s of W_t gamma(t - s) W_s'
with its autocovariance gamma, tapered (Newey and West 1987; Priestley 1981, ch. 6).
"""

from collections.abc import Iterable, Mapping

import numpy as np

from ...dynamics.regressor import RegressorBlock
from ...estimation.residuals import Residuals
from ...measurement.sampling import convolve_inside

FLOOR = 1e-9  # of the eigenvalues of a correlation: below it there is rounding
# Times the correlation time: where the autocovariance is taken to have ended.  Longer tells the
# spectrum finer, so that errors beside the noise (a filter's on a fast foot) come to stand alone.
REACH = 8.0


def tapered_autocovariances(residuals: Residuals) -> dict[str, np.ndarray]:
    """Return group -> (2 L + 1,) tapered autocovariance of Residuals at lags -L to L."""
    times, out = residuals.correlation(), {}
    for name, (total, pairs) in residuals.covariances.items():
        L = int(min(REACH * times[name], len(total) - 1))
        # Over all pairs at lag zero, and with this window, it is one of a spectrum >= 0.
        u = np.arange(L + 1) / (L + 1.5)
        window = np.where(u <= 0.5, 1.0 - 6.0 * u ** 2 * (1.0 - u), 2.0 * (1.0 - u) ** 3)  # Parzen
        half = total[:L + 1] / pairs[0] * window
        out[name] = np.concatenate([half[:0:-1], half])
    return out


def score_covariance(blocks: Iterable[RegressorBlock], gamma: Mapping[str, np.ndarray],
                     standard_deviation: Mapping[str, float], place: np.ndarray) -> np.ndarray:
    """
    Return sum over t, s of W_t gamma(t - s) W_s' (p, p), rows weighted by standard deviation.

    blocks : in order of time; gamma : of ``tapered_autocovariances``
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
