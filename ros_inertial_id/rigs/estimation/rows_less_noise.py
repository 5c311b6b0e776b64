"""Normal equations of rows less the noise in them, any columns of which are solved alone."""

from collections.abc import Iterable, Mapping

import numpy as np
from scipy.linalg import eigh

from .motion_noise import motion_noise, NOISE_SHARE, NoisyRows, shares_without, weighted_sum
from ...dynamics.regressor import RegressorBlock
from ...estimation.residuals import Residuals


class RowsLessNoise:
    """
    The normal equations of p columns less their noise, with the errors of what they are solved to.

    blocks : rows about all columns; pairs : the same with noise in draws
    values : (p,) near the solution; residuals : of the blocks by these
    deviation : row group -> standard deviation of its rows
    """

    def __init__(
        self,
        blocks: Iterable[RegressorBlock],
        pairs: Iterable[NoisyRows],
        values: np.ndarray,
        residuals: Residuals,
        deviation: Mapping[str, float],
    ) -> None:
        noise = motion_noise(pairs, np.arange(len(values)), values, residuals)
        assert noise is not None  # poses have some
        self._drawn, self._deviation = noise, deviation
        self._squares, products = _moments(blocks, len(values))
        self._information = weighted_sum(self._squares, deviation)
        self._noise = weighted_sum(noise.squares, deviation)
        self._right = weighted_sum(products, deviation) - weighted_sum(noise.products, deviation)

    def solved(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return the solution (p,) of ``columns`` (k,), the others zero, and the inverse (k, k).

        NaN where nothing moved one of them, or noise alone: no number is determined.
        """
        chosen = np.ix_(columns, columns)
        information, noise = self._information[chosen], self._noise[chosen]
        size = np.maximum(np.sqrt(np.diag(information)), 1e-300)  # columns have several units
        information, noise = (x / size / size[:, None] for x in (information, noise))
        tiny = 1e-15 * np.eye(len(columns))
        inverse = np.full(information.shape, np.nan)
        if eigh(noise, information + tiny, eigvals_only=True)[-1] < NOISE_SHARE:
            inverse = np.linalg.inv(information - noise) / size / size[:, None]
        solution = np.zeros(len(self._right))
        solution[columns] = inverse @ self._right[columns]
        return solution, inverse

    def scores(self, residuals: Residuals) -> np.ndarray:
        """Return the covariance (p, p) of the sums W'r, by the noise and all else in residuals."""
        drawn = weighted_sum(self._drawn.scores, self._deviation)
        shares = shares_without(self._drawn.covariances, residuals)
        times, samples = residuals.correlation(), residuals.filtered.samples
        others = {}
        for name, square in self._squares.items():
            variance = residuals.filtered.residual[name] / samples
            others[name] = shares[name] * times[name] * variance * square
        squared = {name: x**2 for name, x in self._deviation.items()}
        return np.asarray(drawn @ drawn.T / drawn.shape[1] + weighted_sum(others, squared))


def _moments(blocks, count):
    """Return {group: W'W (p, p)} and {group: W'y (p,)} of blocks about ``count`` columns."""
    squares: dict[str, np.ndarray] = {}
    products: dict[str, np.ndarray] = {}
    for block in blocks:
        for group in block.groups:
            W = np.zeros((len(group.y), count))
            W[:, group.columns] = group.W
            squares[group.name] = squares.get(group.name, 0.0) + W.T @ W
            products[group.name] = products.get(group.name, 0.0) + W.T @ group.y
    return squares, products
