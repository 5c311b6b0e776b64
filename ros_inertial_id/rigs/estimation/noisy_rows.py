"""
Methods whose rows have errors of their own: what the motion's noise and calibrations do to them.

A rig is of those classes that say what it can, and has its estimate by all of them.
"""

from abc import abstractmethod
from typing import Any, Iterator, Sequence

import numpy as np

from .inherited_errors import inherited_errors
from .motion_noise import motion_noise, NoisyRows, NoisySlopes
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
        """Return H (b, k) of ``inherited_errors``; None where the rows rest on no calibration."""
        return None


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
