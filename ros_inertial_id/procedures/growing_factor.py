"""
A wide factor that grows while samples come: its stretches are equal pieces of time.

Where sixteen of them are full, neighbours are merged and the pieces are twice as long from then
on; where old samples are to be forgotten they fade, and pieces stay short beside that time.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..dynamics.regressor import RegressorBlock
from ..estimation.r_factors import RFactors
from ..identification.reduce.stretches import STRETCHES
from ..identification.reduce.structure import Structure
from ..identification.reduce.wide_factor import empty_factor, extend, wide_rows, WideFactor
from ..measurement.joints.kinematic_state import AT_REST
from ..methods.capabilities import JointMotion
from ..methods.contract import Method

FIRST = 0.5  # [s] of a piece at first: what lasts in residuals lasts about as long
SHORT = 0.25  # of the time constant of forgetting, that a piece takes at most: 16 are 4 of these


@dataclass
class _Piece:
    """rows : RFactors; seconds : [s]; moments : (3, m) of 1, x and x^2 of the motion."""

    rows: RFactors
    moments: np.ndarray
    seconds: float = 0.0

    def merged(self, other: '_Piece') -> '_Piece':
        return _Piece(
            self.rows.merge(other.rows), self.moments + other.moments, self.seconds + other.seconds
        )

    def fade(self, share: float) -> None:
        self.rows.fade(share)
        self.moments = share * self.moments
        self.seconds *= share


@dataclass
class GrowingFactor:
    """
    The rows of a stream.

    method, structure : of ``wide_structure``; robot : whose rows they are
    forget : time constant with which old samples count less [s]; 0: they never do
    """

    method: Method
    robot: Any
    structure: Structure
    forget: float = 0.0
    _pieces: list[_Piece] = field(default_factory=list)
    _ranges: dict[str, Any] = field(default_factory=dict)
    _length: float = FIRST
    _filled: float = np.inf  # [s] of the last piece, whatever has faded of it

    def __post_init__(self) -> None:
        self._empty = empty_factor(self.method, self.robot, self.structure)

    @property
    def seconds(self) -> float:
        """Return what was accumulated, as far as it still counts [s]."""
        return sum(piece.seconds for piece in self._pieces)

    @property
    def moves(self) -> bool:
        """Return whether rows have come, and of joints one has moved."""
        ways = [np.ptp(own['q']) for own in self._ranges.values() if 'q' in own]
        return bool(self.seconds and (not ways or max(ways) > AT_REST))

    def add(self, state: Any, period: float) -> None:
        """Accumulate a ``state`` whose samples are a ``period`` [s] apart; nan is no data."""
        if self.forget:
            for piece in self._pieces:
                piece.fade(float(np.exp(-len(state.t) * period / self.forget)))
        seen, low = self.method.validity_range(state, self.robot), 0
        extend(self._ranges, seen)
        motion = np.zeros((len(state.t), 0))
        if isinstance(self.method, JointMotion):
            motion = np.stack([own[x] for x in 'qv' for own in seen.values()], axis=1)
        for block in wide_rows(self._empty, self.method, self.robot, state):
            own = motion[low : low + len(block.t)]
            low += len(block.t)
            received = np.flatnonzero(
                np.all(
                    [
                        np.isfinite(g.W).all(1) & np.isfinite(g.y) & np.isfinite(g.y_raw)
                        for g in block.groups
                    ],
                    axis=0,
                )
            )
            while received.size:
                piece, room = self._piece(), round((self._length - self._filled) / period)
                now, received = np.split(received, [max(room, 1)])
                self._filled += len(now) * period
                self._take(piece, block.rows(now), own[now], len(now) * period)

    def wide(self) -> WideFactor:
        """Return the WideFactor of what has come so far."""
        pieces = list(self._pieces)
        if len(pieces) > 1 and self._filled < 0.5 * self._length:  # too short to judge by
            pieces[-2:] = [pieces[-2].merged(pieces[-1])]
        rest = self._empty.by_number[len(pieces) :]
        moments = np.array([piece.moments for piece in pieces])
        total = moments.sum(0)
        mean, size = total[1] / total[0], moments[:, 0]
        variance = np.maximum(total[2] / total[0] - mean**2, 1e-24)
        squares = (
            np.array([moments[:, 2] - 2.0 * mean * moments[:, 1] + mean**2 * size, moments[:, 2]])
            / size
            / variance
        )
        joints = len(mean) // 2
        speed, distance = np.zeros((2, STRETCHES))
        if joints:
            distance[: len(pieces)] = squares[0, :, :joints].mean(1)
            speed[: len(pieces)] = squares[1, :, joints:].mean(1)
        rows = tuple(piece.rows.merge(RFactors(piece.rows.size)) for piece in pieces)
        return replace(
            self._empty, by_number=rows + rest, speed=speed, distance=distance, ranges=self._ranges
        )

    def _piece(self) -> _Piece:
        """Return the piece that is being filled, a new one where the last is full."""
        if self._filled < self._length - 1e-9:
            return self._pieces[-1]
        if len(self._pieces) == STRETCHES:
            if self.forget and 2.0 * self._length > SHORT * self.forget:
                self._pieces[:2] = [self._pieces[0].merged(self._pieces[1])]
            else:
                self._length *= 2.0
                self._pieces = [
                    one.merged(other) for one, other in zip(self._pieces[::2], self._pieces[1::2])
                ]
        self._filled = 0.0
        self._pieces.append(_Piece(RFactors(self._empty.by_number[0].size), np.zeros((3, 1))))
        return self._pieces[-1]

    @staticmethod
    def _take(piece: _Piece, block: RegressorBlock, motion: np.ndarray, seconds: float) -> None:
        """Take in the rows of a ``block``, whose motion is (B, m)."""
        piece.rows.accumulate(block, np.arange(piece.rows.size))
        piece.moments = piece.moments + np.array(
            [np.ones(motion.shape[1]) * len(motion), motion.sum(0), (motion**2).sum(0)]
        )
        piece.seconds += seconds
