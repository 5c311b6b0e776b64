"""
A wide factor that grows while samples come: its stretches are equal pieces of time.

Where sixteen of them are full, neighbours are merged and the pieces are twice as long from then
on; where old samples are to be forgotten they fade, and pieces stay short beside that time.
"""

from collections.abc import Mapping
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

FIRST_PIECE = 0.5  # [s] of a piece at first: what lasts in residuals lasts about as long
PIECE_OF_FORGETTING = 0.25  # of that time constant, the longest piece: 16 pieces are 4 of these


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
    _length: float = FIRST_PIECE
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
        ranges = [np.ptp(of_joint['q']) for of_joint in self._ranges.values() if 'q' in of_joint]
        return bool(self.seconds) and max(ranges, default=np.inf) > AT_REST

    def add(self, state: Any, period: float) -> None:
        """Accumulate a ``state`` whose samples are a ``period`` [s] apart; nan is no data."""
        self._fade(len(state.t) * period)
        ranges = self.method.validity_range(state, self.robot)
        extend(self._ranges, ranges)
        motion = self._motion(state, ranges)
        begin = 0
        for block in wide_rows(self._empty, self.method, self.robot, state):
            end = begin + len(block.t)
            self._add_block(block, motion[begin:end], period)
            begin = end

    def _fade(self, seconds: float) -> None:
        """Let what came before count less after so many ``seconds`` [s], if it is to be so."""
        if not self.forget:
            return
        share = float(np.exp(-seconds / self.forget))
        for piece in self._pieces:
            piece.fade(share)

    def _motion(self, state: Any, ranges: Mapping[str, Any]) -> np.ndarray:
        """Return positions and velocities (N, m) of a ``state``, m = 0 of what is no joint."""
        if not isinstance(self.method, JointMotion):
            return np.zeros((len(state.t), 0))
        joints = ranges.values()
        positions, velocities = [x['q'] for x in joints], [x['v'] for x in joints]
        return np.stack([*positions, *velocities], axis=1)

    def _add_block(self, block: RegressorBlock, motion: np.ndarray, period: float) -> None:
        """Add the rows of a ``block`` without nan, whose motion is (B, m), to pieces with room."""
        rows = with_torques(block)
        for group in block.groups:
            rows = rows[np.isfinite(group.W[rows]).all(1)]
        while rows.size:
            piece, room = self._piece(), round((self._length - self._filled) / period)
            now, rows = np.split(rows, [max(room, 1)])
            self._filled += len(now) * period
            self._take(piece, block.rows(now), motion[now], len(now) * period)

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
        about_mean = moments[:, 2] - 2.0 * mean * moments[:, 1] + mean**2 * size
        squares = np.array([about_mean, moments[:, 2]]) / size / variance
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
            self._make_room()
        self._filled = 0.0
        self._pieces.append(_Piece(RFactors(self._empty.by_number[0].size), np.zeros((3, 1))))
        return self._pieces[-1]

    def _make_room(self) -> None:
        """Merge all pieces by twos; where old samples fade and pieces are long, the oldest two."""
        if self.forget and 2.0 * self._length > PIECE_OF_FORGETTING * self.forget:
            self._pieces[:2] = [self._pieces[0].merged(self._pieces[1])]
            return
        self._length *= 2.0
        pairs = zip(self._pieces[::2], self._pieces[1::2])
        self._pieces = [earlier.merged(later) for earlier, later in pairs]

    @staticmethod
    def _take(piece: _Piece, block: RegressorBlock, motion: np.ndarray, seconds: float) -> None:
        """Take in the rows of a ``block``, whose motion is (B, m)."""
        piece.rows.accumulate(block, np.arange(piece.rows.size))
        piece.moments = piece.moments + np.array(
            [np.ones(motion.shape[1]) * len(motion), motion.sum(0), (motion**2).sum(0)]
        )
        piece.seconds += seconds


def with_torques(block: RegressorBlock) -> np.ndarray:
    """Return the numbers (k,) of the samples of a ``block`` whose torques are numbers."""
    finite = np.ones(len(block.t), bool)
    for group in block.groups:
        finite &= np.isfinite(group.y) & np.isfinite(group.y_raw)
    return np.flatnonzero(finite)
