"""
Passes over the data: all that the spine asks of recordings, each time of one after the other.

Rows as R factors, the residuals of an estimate, stretches of distinct motion.  Here recordings are
read in this process; procedures/many_recordings.py does the same in others, by the same functions.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .identified_model import IdentifiedModel
from .judge.prediction import left_out
from .judge.validation import evaluate, extend
from .prepare.dataset import Dataset
from .reduce.stretches import (motion_of, rows_of_stretches, shares_of, Stretches, stretches_of,
                               thinning)
from .reduce.structure import Structure
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import RegressorBlock
from ..estimation.base_parameters import BaseParameters
from ..estimation.cross_validation import fold_of, FOLDS
from ..estimation.r_factors import RFactors
from ..estimation.residuals import merged, Residuals
from ..measurement.recording import nothing_left
from ..methods.capabilities import JointTorques

Pairs = Iterator[tuple[RegressorBlock, RegressorBlock]]
Read = Callable[[Sequence[Parameter]], Iterator[RegressorBlock]]
Instruments = Callable[[Sequence[Parameter]], Pairs]

SOME = 32  # recordings, evenly spread, that show correlation and model error of any number


@dataclass(frozen=True)
class Accumulated:
    """
    What recordings say about the columns of a Structure.

    folds : RFactors of FOLDS parts of the time of every recording, about the places
    ranges : joint -> {q, v, a: [smallest, largest]}
    """

    folds: Sequence[RFactors]
    ranges: dict[str, Any]


class Passes:
    """The passes over a Dataset, in this process."""

    def accumulated(self, data: Dataset, structure: Structure) -> Accumulated:
        """
        Return the Accumulated rows of all recordings.

        RecordingError where no sample is left after filtering.
        """
        folds = [RFactors(int(structure.keep.max()) + 1) for _ in range(FOLDS)]
        ranges: dict[str, Any] = {}
        whole, before = data.samples(training=True), 0
        for one in data.each():
            blocks = blocks_of(one, lambda state, robot: data.method.regress(
                state, robot, structure.columns, structure.keep >= 0), ranges)
            for done in accumulate(folds, blocks, structure.keep, one):
                data.report('identify', before + done, whole)
            before += one.samples(training=True)
        folds = [f for f in folds if f.groups]
        if not folds:
            raise nothing_left()
        return Accumulated(folds, ranges)

    def residuals(self, data: Dataset, parameters: Sequence[Parameter],
                  values: np.ndarray) -> Residuals:
        """
        Return the Residuals of parameters, for their correlation.

        parameters, values : (p,) standard parameters that predict
        """
        whole = data.samples(training=True)
        return merged(evaluate(one, parameters, values, True, whole=whole)[0]
                      for one in some(list(data.each())))

    def stretches(self, data: Dataset, base: BaseParameters, values: np.ndarray,
                  across: np.ndarray) -> Stretches:
        """
        Return the Stretches of distinct motion.

        values : (p,) standard parameters that gravity
        pulls; across : (3, k) unit vectors across gravity in the base frame, of k tilts [rad]
        """
        recordings = some(list(data.each()))
        # Torques that no filter went over have noise of their own in every sample.
        filtered = isinstance(data.method, JointTorques)
        thin = thinning(data.samples(training=True)) if filtered else 1
        motions = [motion_of(one, thin) for one in recordings]
        shares = shares_of(motions, thin, data.samples(training=True) / sum(
            one.samples(training=True) for one in recordings))
        return stretches_of((rows_of_stretches(one, base, values, across, share)
                             for one, share in zip(recordings, shares)), motions, shares)

    def left_out(self, data: Dataset, parameters: Sequence[Parameter],
                 values: np.ndarray) -> list[dict[str, np.ndarray]]:
        """
        Return what ``judge.prediction.left_out`` gives of every recording, of some of many.

        data, parameters, values : see there
        """
        recordings = some(list(data.each()))
        whole = sum(one.samples(training=True) for one in recordings)
        return [left_out(one, parameters, values, whole) for one in recordings]

    def curves(self, data: Dataset, model: IdentifiedModel) -> tuple[RegressorBlock, ...]:
        """
        Return rows thinned out for the report's curves.

        data : the Dataset that the ``model`` was identified from
        """
        return evaluate(data, model.parameters, model.values, True)[1]

    def readers(self, data: Dataset) -> tuple[Read | None, Instruments | None]:
        """Return ``read`` and ``instruments`` of Problem: the training ``data`` once more."""
        def instruments(parameters: Sequence[Parameter]) -> Pairs:
            for robot, observation in data.pairs():
                # The cutoff is three times where the motion ends: a third of it leaves motion, no
                # noise.
                cutoff = observation.summary['cutoff']
                assert isinstance(cutoff, (int, float))
                followed = observation.low_passed(cutoff / 3.0)
                for state, other in zip(observation.states(training=True),
                                        followed.states(training=True)):
                    yield from zip(data.method.regress(state, robot, parameters),
                                   data.method.regress(other, robot, parameters))

        return data.blocks, instruments


def some(items: Sequence[Any]) -> list[Any]:
    """Return SOME of the ``items``, evenly spread, or all of fewer."""
    count = min(SOME, len(items))
    return [items[k] for k in np.unique(np.linspace(0, len(items) - 1, count).astype(int))]


def blocks_of(data: Dataset, regress: Callable[[Any, Any], Iterable[RegressorBlock]],
              ranges: dict[str, Any]) -> Iterator[RegressorBlock]:
    """
    Yield the RegressorBlocks of the training data, in order of time.

    regress : (state, robot) -> blocks; ranges : extended by what is seen
    """
    for robot, state in data.states(training=True):
        extend(ranges, data.method.validity_range(state, robot))
        yield from regress(state, robot)


def accumulate(folds: Sequence[RFactors], blocks: Iterable[RegressorBlock], keep: np.ndarray,
               data: Dataset) -> Iterator[int]:
    """
    Accumulate successive blocks of one recording, by ``fold_of``; yield samples done.

    folds : that take them; blocks : RegressorBlocks of ``data``
    keep : (p,) column -> place in the R factors, -1: none
    """
    samples, seconds = data.samples(training=True), data.seconds()
    done = 0
    for block in blocks:
        fold = fold_of(done + np.arange(len(block.t)), samples, seconds)
        for number in np.unique(fold):
            folds[number].accumulate(block.rows(np.flatnonzero(fold == number)), keep)
        done += len(block.t)
        yield done
