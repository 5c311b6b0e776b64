"""
Methods whose rows have errors of their own: what the motion's noise and calibrations do to them.

A rig is of those classes that say what it can, and has its estimate by all of them.
"""

from abc import abstractmethod
from functools import partial
from typing import Any, Iterator, Sequence

import numpy as np

from .inherited_errors import inherited_errors
from .instrumental import instrumental
from .motion_noise import motion_noise, without_noise
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import RegressorBlock
from ...estimation.estimators import ESTIMATORS, Problem
from ...estimation.residuals import Residuals
from ...methods.capabilities import EstimateOfRows, OwnErrors


class NoisyMotion(OwnErrors):
    """The noise of the motion is known, and with it what it does to the rows."""

    @abstractmethod
    def noisy_rows(
        self, observation: Any, robot: Any, parameters: Sequence[Parameter]
    ) -> Iterator[tuple[RegressorBlock, RegressorBlock, float]]:
        """
        Yield (rows, the same rows with the motion's noise once more, how many they stand for).

        observation, robot, parameters : see ``Method.observe`` and ``Method.regress``
        """

    def estimate(
        self, data: Any, problem: Problem, draft: np.ndarray, residuals: Residuals
    ) -> EstimateOfRows:
        """Return the EstimateOfRows of a ``problem``; see OwnErrors."""
        base, name = problem.base, data.options.estimator
        free = (
            instrumental(problem, data.blocks, partial(_instruments, data))
            if name == 'instrumental'
            else ESTIMATORS[name](problem)
        )
        inherited = inherited_errors(data, base, free) if isinstance(self, Calibrated) else None
        noise = (
            motion_noise(
                (
                    draw
                    for robot, observation in zip(data.robots, data.observations)
                    for draw in self.noise(observation, robot, base.parameters, draft)
                ),
                base,
                residuals,
            )
            if isinstance(self, UnfilteredTorque)
            else None
        )
        if noise:
            free = noise.with_errors(problem, free)
        if inherited is not None:
            free = free.widened(inherited @ inherited.T)
        return EstimateOfRows(
            without_noise(data, problem, free), inherited, noise.under_prior if noise else None
        )


class UnfilteredTorque(NoisyMotion):
    """The motion is filtered and y is as recorded: the motion's noise stands in the residual."""

    @abstractmethod
    def noise(
        self, observation: Any, robot: Any, parameters: Sequence[Parameter], values: np.ndarray
    ) -> Iterator[tuple[RegressorBlock, dict[str, np.ndarray], float]]:
        """
        Yield (block, {group: errors (B, R)}, how many times it counts) of R draws of noise.

        values : (p,) of the parameters
        """


class Calibrated(NoisyMotion):
    """
    The rows rest on calibrated numbers, of which robots have the ``covariance`` (k, k) or None.

    Observations have a ``motion`` with ``erring(shared)``: it under errors of what sees it.
    """

    @abstractmethod
    def calibrated_rows(self, state: Any, robot: Any) -> Iterator[RegressorBlock]:
        """
        Yield blocks about the calibrated numbers, beside those of ``regress`` for the same state.

        Both together are zero.
        """


def _instruments(data, parameters):
    """Yield (block, block of the same samples whose motion is free of noise) of a Dataset."""
    for robot, observation in zip(data.robots, data.observations):
        # The cutoff is three times where the motion ends: a third of it leaves motion, no noise.
        followed = observation.low_passed(observation.summary.cutoff / 3.0)
        for state, other in zip(observation.states(training=True), followed.states(training=True)):
            yield from zip(
                data.method.regress(state, robot, parameters),
                data.method.regress(other, robot, parameters),
            )
