"""
One motion recorded with and without a load, sample by sample: what the load alone adds.

Recordings begin at moments of their own, so each is shifted by the lag at which the torques of
the bare arm, as its model has them, are those of the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import fft

from ..dynamics.regressor import RegressorBlock, RowGroup
from ..errors import RecordingError
from ..measurement.recording import nothing_left
from ..measurement.sampling import interpolate

OTHER_MOTION = 0.2  # of the bare arm's torque: more differs between motions that are not one


@dataclass(frozen=True)
class _Series:
    """
    A motion as one recording has it.

    t : (N,) [s]; rows : (N, joints, 12) ten columns of the load, what the model of the bare arm
    leaves over, and the torque of that model
    """

    t: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, blocks: Sequence[RegressorBlock], beta: np.ndarray) -> '_Series':
        """Return the _Series of ``blocks`` about the load and base parameters ``beta`` (b,)."""
        if not blocks:
            raise nothing_left()
        rows = [np.stack([_columns(group, beta) for group in b.groups], axis=1) for b in blocks]
        return cls(np.concatenate([block.t for block in blocks]), np.concatenate(rows))

    @property
    def torque(self) -> np.ndarray:
        """Return what the bare arm takes (N, joints) [N m, N]."""
        return self.rows[..., -1]

    def at(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows at times ``t`` (M,), NaN where there are none, and where there are."""
        first, last = self.t[[0, -1]]
        flat = self.rows.reshape(len(self.t), -1)
        rows = interpolate(self.t, flat, np.clip(t, first, last))
        rows = rows.reshape(len(t), *self.rows.shape[1:])
        steps = np.diff(self.t)
        in_gap = steps[np.searchsorted(self.t[1:-1], t)] > 1.5 * np.median(steps)
        there = (t >= first) & (t <= last) & ~in_gap
        rows[~there] = np.nan
        return rows, there


def _columns(group: RowGroup, beta: np.ndarray) -> np.ndarray:
    """Return the rows (B, 12) of a joint, see _Series."""
    return np.column_stack([group.W[:, :10], group.y, group.W[:, 10:] @ beta])


def without_the_arm(
    loaded: Sequence[Sequence[RegressorBlock]],
    empty: Sequence[Sequence[RegressorBlock]],
    beta: np.ndarray,
) -> RegressorBlock:
    """
    Return one block of the load alone: ``loaded`` less ``empty`` ones in the mean.

    loaded, empty : blocks of each recording, about the ten parameters of the load and the base
        parameters of the arm, whose values are ``beta`` (b,)
    RecordingError where they are not of one motion.
    """
    series = [_Series.of(blocks, beta) for blocks in (*loaded, *empty)]
    first = series[0]
    rows = []
    for number, each in enumerate(series, 1):
        rows.append(_aligned(each, first, f'recording {number} of {len(series)}'))
    mean = np.mean(rows[: len(loaded)], axis=0)
    difference = mean - np.mean(rows[len(loaded) :], axis=0)
    both = np.isfinite(difference).all((1, 2))
    groups = []
    for k, group in enumerate(loaded[0][0].groups):
        W, y = mean[both, k, :10], difference[both, k, 10]
        groups.append(RowGroup(group.name, group.unit, np.arange(10), W, y, y))
    return RegressorBlock(first.t[both], 0, tuple(groups))


def _aligned(series: _Series, first: _Series, name: str) -> np.ndarray:
    """
    Return the rows (N, joints, 12) of a ``series`` at the times of the ``first`` of its motion.

    RecordingError calls it ``name`` where it is of another motion.
    """
    rows, there = series.at(first.t + _lag(first, series))
    torque = first.torque - first.torque.mean(0)
    away = (rows - first.rows)[there, :, -1]
    other = np.linalg.norm(away) > OTHER_MOTION * np.linalg.norm(torque[there])
    if other or not there.any():
        raise RecordingError(
            'recordings with and without the load are not of one motion',
            found=f'other torques in {name}, loaded ones first',
            do='play the same motion each time, or leave --empty out',
        )
    return rows


def _lag(first: _Series, series: _Series) -> float:
    """Return what to add to times of the ``first`` for those of a ``series`` of one motion."""
    step = float(np.median(np.diff(first.t)))
    x, z = _standardized(first, step), _standardized(series, step)
    size = len(x) + len(z)
    spectrum_x, spectrum_z = (fft.rfft(np.nan_to_num(y), size, axis=0) for y in (x, z))
    products = fft.irfft((spectrum_x.conj() * spectrum_z).sum(1), size)
    best = int(products.argmax())
    if best >= len(z):  # the products are those of a circle
        best -= size
    # Sums of products lean towards no shift, which leaves most of both: differences do not.
    before, least, after = (_mean_square_apart(x, z, best + k) for k in (-1, 0, 1))
    lowest = best + 0.5 * (before - after) / (before - 2.0 * least + after)  # of a parabola
    return float(series.t[0] - first.t[0] + step * lowest)


def _standardized(series: _Series, step: float) -> np.ndarray:
    """Return torques (M, joints) every ``step`` [s], of mean 0 and deviation 1, NaN in gaps."""
    rows, _ = series.at(np.arange(series.t[0], series.t[-1], step))
    torque = rows[..., -1]
    return (torque - np.nanmean(torque, axis=0)) / np.maximum(np.nanstd(torque, axis=0), 1e-12)


def _mean_square_apart(x: np.ndarray, z: np.ndarray, shift: int) -> float:
    """Return the mean square of x (N, k) less z (M, k), whose sample i + ``shift`` is i of x."""
    count = min(len(x) - max(0, -shift), len(z) - max(0, shift))
    x, z = x[max(0, -shift) :][:count], z[max(0, shift) :][:count]
    return float(np.nanmean((x - z) ** 2))
