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
from .motion_noise import motion_noise, MotionNoise, without_noise
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import RegressorBlock
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import Estimate, ESTIMATORS, Problem
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
        free = _estimated(data, problem)
        noise = self.torque_noise(data, problem.base, draft, residuals)
        inherited = self.inherited(data, problem.base, free)
        under_prior = None
        if noise is not None:
            free, under_prior = noise.with_errors(problem, free), noise.under_prior
        if inherited is not None:
            free = free.widened(inherited @ inherited.T)
        return EstimateOfRows(without_noise(data, problem, free), inherited, under_prior)

    def torque_noise(
        self, data: Any, base: BaseParameters, draft: np.ndarray, residuals: Residuals
    ) -> MotionNoise | None:
        """
        Return the MotionNoise in a torque; None where the torque is filtered like the motion.

        draft : (p,) of the parameters; residuals : by it
        """
        return None

    def inherited(self, data: Any, base: BaseParameters, estimate: Estimate) -> np.ndarray | None:
        """Return H (b, k) of ``inherited_errors``; None where the rows rest on no calibration."""
        return None


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

    def torque_noise(
        self, data: Any, base: BaseParameters, draft: np.ndarray, residuals: Residuals
    ) -> MotionNoise | None:
        """Return the MotionNoise in the torque; ``draft`` : (p,) of the parameters."""
        return motion_noise(self._draws(data, base.parameters, draft), base, residuals)

    def _draws(self, data, parameters, draft):
        """Yield the draws of ``noise`` of all recordings of a Dataset."""
        for robot, observation in zip(data.robots, data.observations):
            yield from self.noise(observation, robot, parameters, draft)


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

    def inherited(self, data: Any, base: BaseParameters, estimate: Estimate) -> np.ndarray | None:
        """Return H (b, k) of ``inherited_errors``; None where nothing has an error."""
        return inherited_errors(data, base, estimate)


def _estimated(data, problem):
    """Return the Estimate that the options of a Dataset ask for, by its rows as they are."""
    name = data.options.estimator
    if name == 'instrumental':
        return instrumental(problem, data.blocks, partial(_instruments, data))
    return ESTIMATORS[name](problem)


def _instruments(data, parameters):
    """Yield (block, block of the same samples whose motion is free of noise) of a Dataset."""
    for robot, observation in zip(data.robots, data.observations):
        # The cutoff is three times where the motion ends: a third of it leaves motion, no noise.
        followed = observation.low_passed(observation.summary.cutoff / 3.0)
        for state, quiet in zip(observation.states(training=True), followed.states(training=True)):
            yield from zip(
                data.method.regress(state, robot, parameters),
                data.method.regress(quiet, robot, parameters),
            )
