"""
Methods whose rows have errors of their own: what the motion's noise and calibrations do to them.

A rig is of those classes that say what it can, and has its estimate by all of them.
"""

from abc import abstractmethod
from typing import Any, Iterator, Sequence

import numpy as np

from .inherited_errors import ErringRows, inherited_errors
from .motion_noise import motion_noise, NoisyRows, NoisySlopes
from ...dynamics.inertial_parameters import Parameter
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import Estimate, ESTIMATORS, Problem
from ...estimation.residuals import Residuals
from ...methods.capabilities import EstimateOfRows, OwnErrors


class NoisyMotion(OwnErrors):
    """The noise of the motion is known, and with it what it does to the rows."""

    @abstractmethod
    def noisy_rows(
        self,
        observation: Any,
        robot: Any,
        parameters: Sequence[Parameter],
        rng: np.random.Generator,
    ) -> Iterator[NoisyRows | NoisySlopes]:
        """
        Yield NoisyRows of every draw, or NoisySlopes; none where no noise is known.

        observation, robot, parameters : see ``Method.observe`` and ``Method.regress``
        rng : that the noise is drawn from
        """

    def estimate(
        self, data: Any, problem: Problem, draft: np.ndarray, residuals: Residuals
    ) -> EstimateOfRows:
        """Return the EstimateOfRows of a ``problem``; see OwnErrors."""
        free = ESTIMATORS[data.options.estimator](problem)
        pairs = self._drawn(data, problem.base.parameters)
        noise = motion_noise(pairs, problem.base.places(), draft, residuals)
        inherited = self.inherited(data, problem.base, free)
        if noise is not None:
            free = noise.made_good(problem, free, inherited)
            return EstimateOfRows(free, inherited, noise.under_prior)
        if inherited is not None:
            free = free.widened(inherited @ inherited.T)
        return EstimateOfRows(free, inherited)

    def _drawn(self, data, parameters):
        """Yield the NoisyRows of all recordings of a Dataset."""
        rng = np.random.default_rng(0)
        for robot, observation in zip(data.robots, data.observations):
            yield from self.noisy_rows(observation, robot, parameters, rng)

    def inherited(self, data: Any, base: BaseParameters, estimate: Estimate) -> np.ndarray | None:
        """Return H (b, k) of ``inherited_errors``, None where nothing that rows share errs."""
        return None


class InheritsErrors(NoisyMotion):
    """The rows of a recording share errors: of what was calibrated, of how IMUs sit."""

    @abstractmethod
    def erring_rows(
        self, observation: Any, robot: Any, parameters: Sequence[Parameter]
    ) -> ErringRows:
        """Return the ErringRows of an ``observation``; see ``noisy_rows``."""

    def calibration_covariance(self, robot: Any) -> np.ndarray:
        """Return the covariance (c, c) of what was calibrated, (0, 0) of nothing."""
        return np.zeros((0, 0))

    def inherited(self, data: Any, base: BaseParameters, estimate: Estimate) -> np.ndarray | None:
        """Return H (b, k) of ``inherited_errors``, None where nothing that rows share errs."""
        recordings = [
            self.erring_rows(observation, robot, base.parameters)
            for robot, observation in zip(data.robots, data.observations)
        ]
        covariance = self.calibration_covariance(data.robot)
        return inherited_errors(recordings, covariance, base, estimate)
