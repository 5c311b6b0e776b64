"""Reading the training data again, for estimators that reweigh samples or need instruments."""

from collections.abc import Callable, Iterator, Sequence

from .dataset import Dataset
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import RegressorBlock

Blocks = Iterator[RegressorBlock]
Pairs = Iterator[tuple[RegressorBlock, RegressorBlock]]


def readers(data: Dataset) -> tuple[Callable[[Sequence[Parameter]], Blocks],
                                    Callable[[Sequence[Parameter]], Pairs]]:
    """Return ``read`` and ``instruments`` of Problem: the training data once more."""
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
