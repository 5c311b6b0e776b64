"""
Gravity in a fit: as it was given, or with the two angles of its direction as parameters.

A tilt of gravity is two angles beside the base parameters, linear where they are small: rows
under the direction that was found are algebra on the wide factor, so no tilt reads a row again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .predicting import ConsistentLinks, Predicting
from ..choose.choice import Choice, GRAVITY
from ..prepare.dataset import Dataset
from ..prepare.mounting import across_gravity, turned
from ..reduce.model_columns import ModelColumns, TILT_PRIOR
from ...dynamics.inertial_parameters import Parameter
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import Estimate, Problem
from ...estimation.r_factors import RFactors

GRAVITY_ROUNDS = 4  # of its direction, and the tilt that is left
GRAVITY_SETTLED = 0.25  # of the error of the direction: a smaller tilt ends the rounds


@dataclass(frozen=True)
class Tilt:
    """angles : (2,) [rad] about ``across_gravity`` of the gravity given; covariance : (2, 2)."""

    gravity: np.ndarray
    angles: np.ndarray
    covariance: np.ndarray


class GivenGravity:
    """Gravity is as it was given: no parameter stands for its direction."""

    settled = True

    def parameters(self, base: BaseParameters) -> BaseParameters:
        """Return the base parameters of the fit: those of bodies and joints, ``base``."""
        return base

    def columns(self, base_columns: np.ndarray, gravity: np.ndarray) -> np.ndarray:
        """Return ``base_columns`` (size, b), under any ``gravity`` (3,)."""
        return base_columns

    def corrected(self, data: Dataset, base: BaseParameters, predicts: Predicting) -> Dataset:
        """Return the Dataset as it is."""
        return data

    def tilt(self, gravity: np.ndarray, estimate: Estimate) -> None:
        """Return no Tilt from ``gravity`` (3,) to itself."""

    def without_angles(
        self, problem: Problem, stretches: Sequence[RFactors], predicts: Predicting
    ) -> tuple[Problem, Sequence[RFactors], Predicting]:
        """Return all as it is."""
        return problem, stretches, predicts


class FreeGravity:
    """
    The direction of gravity is found: two angles are the last base parameters, linearised.

    model_columns : about the gravity given; settled : whether the last angles are within errors
    """

    def __init__(self, model_columns: ModelColumns) -> None:
        self.given, self._wide = model_columns.given, model_columns.wide
        self._beta = model_columns.beta  # base parameters (places,) that a tilt turns gravity of
        self.settled = False

    def parameters(self, base: BaseParameters) -> BaseParameters:
        """Return the base parameters of the fit: ``base`` with the angles."""
        return with_angles(base)

    def columns(self, base_columns: np.ndarray, gravity: np.ndarray) -> np.ndarray:
        """
        Return the columns of the fit, (size, b + 2) in those of the wide factor.

        base_columns : (size, b); gravity : (3,) from which angles are counted
        """
        across = across_gravity(gravity) * np.linalg.norm(gravity)
        return np.hstack([base_columns, self._wide.tilts(self._beta, across)])

    def corrected(self, data: Dataset, base: BaseParameters, predicts: Predicting) -> Dataset:
        """
        Return the Dataset under gravity turned by the angles of consistent links.

        The next round takes its columns of angles at the parameters of these links.

        base : with the angles, as ``predicts`` has them
        """
        assert isinstance(predicts, ConsistentLinks)  # no other model has a tilt
        angles = predicts.constrained.params[-2:]
        covariance = predicts.constrained.cov_params[-2:, -2:]
        self._beta = self._wide.at_places(base.parameters, predicts.constrained.values)
        self.settled = bool(angles @ np.linalg.solve(covariance, angles) < GRAVITY_SETTLED**2)
        gravity = data.robot.gravity_base
        magnitude = np.linalg.norm(gravity)
        direction = turned(gravity / magnitude, across_gravity(gravity), angles)
        return under_gravity(data, magnitude * direction)

    def tilt(self, gravity: np.ndarray, estimate: Estimate) -> Tilt:
        """Return the Tilt from the gravity given to ``gravity`` (3,), errors by ``estimate``."""
        angles = across_gravity(self.given).T @ gravity / np.linalg.norm(self.given)
        return Tilt(self.given, angles, estimate.cov_params[-2:, -2:])

    def without_angles(
        self, problem: Problem, stretches: Sequence[RFactors], predicts: Predicting
    ) -> tuple[Problem, Sequence[RFactors], Predicting]:
        """Return the Problem, stretches and what predicts about parameters of bodies alone."""
        count = len(problem.base) - 2
        columns = np.arange(count)
        problem = replace(
            problem,
            base=problem.base.without([count, count + 1]),
            factors=problem.factors.select(columns),
        )
        stretches = [stretch.select(columns) for stretch in stretches]
        return problem, stretches, predicts.first(count)


def gravity_of(choice: Choice) -> GivenGravity | FreeGravity:
    """Return the gravity, given or free, of the model that was chosen."""
    if choice.tilted:
        return FreeGravity(choice.model_columns)
    return GivenGravity()


def with_angles(base: BaseParameters) -> BaseParameters:
    """Return the BaseParameters with two angles of gravity behind them, each by itself."""
    count = len(base.parameters)
    angles = tuple(
        Parameter(f'{GRAVITY}{k}', 'rad', TILT_PRIOR, 0.0, TILT_PRIOR, GRAVITY, GRAVITY)
        for k in (1, 2)
    )
    return replace(
        base,
        parameters=base.parameters + angles,
        independent=np.append(base.independent, [count, count + 1]),
        X=np.vstack([base.X, np.zeros((2, base.X.shape[1]))]),
    )


def under_gravity(data: Dataset, gravity: np.ndarray) -> Dataset:
    """Return the Dataset with its robots mounted so that ``gravity`` (3,) is in the base frame."""
    mounting = ' '.join(['gravity', *map(repr, gravity.tolist())])
    options = replace(data.options, mounting=mounting)
    robots = tuple(replace(robot, gravity_base=gravity) for robot in data.robots)
    return replace(data, options=options, robots=robots)
