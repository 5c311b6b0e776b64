"""
A tilt of gravity: two angles beside the base parameters, linear where they are small.

They pull at all links alike.  Free inertias would explain much of a tilt; consistent ones cannot.
Their errors are those of all parameters together, over stretches of the motion.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..fit.fitting import consistent_links, Fitted
from ..prepare.dataset import Dataset
from ..reduce.stretches import robust_errors, Stretches
from ...dynamics.inertial_parameters import Parameter
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import Problem, ridge
from ...estimation.gravity_search import across_gravity, turned

GRAVITY = 'gravity'  # stands among the laws for the two angles of its direction
TILT = 0.05  # [rad] by how much a base is tilted that is called upright: prior deviation


@dataclass(frozen=True)
class Tilt:
    """
    How far gravity is from where it was assumed, with errors that hold over stretches of motion.

    angles : (2,) about ``across_gravity`` [rad]; covariance : (2, 2)
    consistent, free : (b, 2) change of the base parameters by the angles [1/rad]
    """

    angles: np.ndarray
    covariance: np.ndarray
    consistent: np.ndarray
    free: np.ndarray


def with_angles(base: BaseParameters) -> BaseParameters:
    """Return the BaseParameters with two angles of gravity behind them, each by itself."""
    count = len(base.parameters)
    angles = tuple(Parameter(f'{GRAVITY}{k}', 'rad', TILT, 0.0, TILT, GRAVITY, GRAVITY)
                   for k in (1, 2))
    return replace(base, parameters=base.parameters + angles,
                   independent=np.append(base.independent, [count, count + 1]),
                   X=np.vstack([base.X, np.zeros((2, base.X.shape[1]))]))


def tilt_of(data: Dataset, problem: Problem, fitted: Fitted, stretches: Stretches,
            columns: np.ndarray) -> Tilt:
    """
    Return the Tilt of gravity.

    problem : about base parameters and the angles; columns : (b + 2,) theirs in the stretches
    """
    sd = fitted.estimate.standard_deviation
    free = ridge(replace(problem, correlation=fitted.problem.correlation))
    links = consistent_links(data, problem, replace(free, standard_deviation=sd))
    robust = robust_errors(problem, links.estimate,
                           [f.select(columns) for f in stretches.factors], links.found.prior)
    moves = [cov[:-2, -2:] @ np.linalg.inv(cov[-2:, -2:])
             for cov in (links.found.cov_params, free.cov_params)]
    return Tilt(links.found.params[-2:], robust.cov_params[-2:, -2:], *moves)


def tilted(data: Dataset, angles: np.ndarray) -> Dataset:
    """Return the Dataset with gravity turned by angles (2,) about ``across_gravity`` [rad]."""
    gravity = data.robot.gravity_base
    size = np.linalg.norm(gravity)
    gravity = size * turned(gravity / size, across_gravity(gravity), angles)
    options = replace(data.options,
                      mounting='gravity ' + ' '.join(repr(float(g)) for g in gravity))
    robots = tuple(replace(robot, gravity_base=gravity) for robot in data.robots)
    return replace(data, options=options, robots=robots)
