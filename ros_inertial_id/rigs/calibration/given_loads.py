"""
Given loads: whether the other recordings show the load that one of them is said to carry.

A load that is given wrong by a share is one unknown more, a column that is the load's wrench in
that recording alone; everything else stays free, so that the other recordings say what it should
be.  A factor that all loads share moves platform and springs alike: no vibration shows it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..estimation.rows_less_noise import RowsLessNoise
from ...dynamics.regressor import RegressorBlock
from ...estimation.residuals import residuals_of

SURE = 4.0  # standard errors
LEAST_SHARE = 0.01  # of a load: less is what scales and the linearity of springs do
COMMON_FACTOR = (
    'masses that are all given wrong by one factor would leave the same residual and make '
    'stiffness and platform wrong by it: check the scale that weighed them'
)


@dataclass(frozen=True)
class GivenLoad:
    """
    A load as given, and as the other recordings show it.

    number : of the recording, from 1; mass : as given [kg]
    share : by which it is more than given, relative to it; error : standard error of that
    explains : whether no other load is surely wrong once this one is corrected
    excess : residual then, see Calibration
    """

    number: int
    mass: float
    share: float
    error: float
    explains: bool
    excess: float

    @property
    def is_wrong(self) -> bool:
        """Return whether the other recordings surely show another load."""
        return _is_sure(self.share, self.error)

    def sentence(self) -> str:
        """Return in words what was given, and what the others show."""
        shown, error = self.mass * (1.0 + self.share), self.mass * self.error
        return (
            f'recording {self.number} is said to carry {self.mass:.4g} kg, the others show '
            f'{shown:.4g} +- {error:.2g} kg'
        )


def given_loads(
    rows: RowsLessNoise,
    blocks: Sequence[RegressorBlock],
    added: Sequence[np.ndarray],
    count: int,
    excess_of: Callable[[Mapping[str, float]], float],
) -> list[GivenLoad]:
    """
    Return the GivenLoads of recordings that carry one.

    rows : of all ``blocks``, of which each ``with_load``
    added : (10,) of each recording as given; count : of the unknowns beside loads
    excess_of : {group: rms of its residual} -> excess of a Calibration
    """
    loaded = loaded_recordings(added)
    system = _LoadSystem(rows, blocks, len(loaded), count)
    out = []
    for place, number in enumerate(loaded):
        share, error = system.share(place)
        others = [system.share(k, beside=place) for k in range(len(loaded)) if k != place]
        explains = not any(_is_sure(*beside) for beside in others)
        excess = excess_of(system.rms([place]))
        out.append(GivenLoad(number + 1, float(added[number][0]), share, error, explains, excess))
    return out


def loaded_recordings(added: Sequence[np.ndarray]) -> list[int]:
    """Return the numbers of recordings with a load, of what was ``added`` (10,) in each."""
    return [number for number, load in enumerate(added) if np.any(load)]


def odd_loads(loads: Sequence[GivenLoad], excess: float, noise: float) -> list[GivenLoad]:
    """
    Return those of ``loads`` of which each alone explains what is wrong.

    excess : of the Calibration; noise : excess below which a residual is noise: where it is, and
        none explains it alone, all wrong ones
    """
    wrong = [load for load in loads if load.is_wrong]
    odd = [load for load in wrong if load.explains and load.excess < noise]
    if odd or excess > noise:
        return odd
    return wrong


def _is_sure(share, error):
    return abs(share) > max(SURE * error, LEAST_SHARE)


class _LoadSystem:
    """
    Rows less noise with the share of each of ``loads`` loads as one unknown more.

    Arguments : see ``given_loads``
    """

    def __init__(self, rows, blocks, loads, count):
        self._rows, self._blocks, self._count = rows, blocks, count
        # Shares of all loads but one: what they are wrong by is no noise.
        self._scores = rows.scores(self._residuals(range(1, loads)))

    def rms(self, loads):
        """Return {group: rms of the residual} once the shares of some ``loads`` are corrected."""
        return self._residuals(loads).filtered.summary()['rms']

    def share(self, place, beside=None):
        """Return the share of a load and its error, ``beside`` that of another or none."""
        loads = [place]
        if beside is not None:
            loads = [beside, place]
        columns = self._columns(loads)
        solution, inverse = self._rows.solved(columns)
        row = inverse[-1]
        variance = row @ self._scores[np.ix_(columns, columns)] @ row
        if not variance > 0.0:  # nothing else says what it should be
            return 0.0, np.inf
        return float(solution[columns[-1]]), float(np.sqrt(variance))

    def _residuals(self, loads):
        """Return the Residuals once the shares of some ``loads`` are corrected."""
        solution, _ = self._rows.solved(self._columns(loads))
        return residuals_of(self._blocks, solution)

    def _columns(self, loads):
        """Return the columns of platform and springs, and of the shares of ``loads``."""
        return np.append(np.arange(self._count), self._count + np.array(loads, dtype=int))


def with_load(block: RegressorBlock, place: int | None) -> RegressorBlock:
    """Return a ``block`` with the wrench of its load in column ``place``, None: it has none."""
    if place is None:
        return block
    groups = []
    for group in block.groups:
        columns = np.append(group.columns, place)
        groups.append(replace(group, columns=columns, W=np.column_stack([group.W, -group.y])))
    return RegressorBlock(block.t, block.segment, tuple(groups))
