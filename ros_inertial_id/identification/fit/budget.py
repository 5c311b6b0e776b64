"""
Budget: by how much each source of error moves the base parameters (GUM, JCGM 100, Sec. 5).

The estimate is linear in the rows that it solves.  A quantity that is taken as exact, the gain of
a joint for example, adds its error times a column of torque to the rows, and moves the estimate by
the same combination of them.  So a contribution is the size of that move, for an error of one
standard deviation; contributions of independent sources add in squares.

An error that the recording shows and that nothing takes off (``choose/nuisances.py``) counts with
its value: the estimate is off by that much.  The scale of a joint's efforts is what its
calibration says, as long as the recording does not contradict it.

What residuals show already, statistics, laws and the delay of all efforts, is in the covariance
of the estimate; the rest, which no recording shows, is in the combined standard error alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .fitting import Solution
from .model_errors import DELAY, LAWS, STATISTICS
from ..choose.nuisances import DELAY_OF_JOINT, ENCODER_ZERO, SensorErrors
from ..choose.time_offset import DELAY_PRIOR
from ..prepare.described_links import described_link_errors, described_links
from ..prepare.mounting import across_gravity
from ...dynamics.inertial_parameters import bodies
from ...estimation.estimators import DESCRIPTION, MOTION
from ...measurement.joints.effort_source import shared_scale_error
from ...methods.capabilities import OwnErrors

GAINS, SCALE, ZEROS, TILT = 'gains', 'scale', 'encoder zeros', 'tilt'
LINKS = 'described links'
FORCES = 'scale of forces'
SOURCES = (
    STATISTICS,
    MOTION,
    DESCRIPTION,
    LAWS,
    DELAY,
    GAINS,
    SCALE,
    ZEROS,
    TILT,
    LINKS,
    FORCES,
)
TILT_ERROR = 0.0035  # [rad], .2 degrees: a base that was levelled, of each of two angles


@dataclass(frozen=True)
class Budget:
    """
    Errors of b base parameters by source.

    contributions : {source: (b,)} standard errors, see SOURCES; of every source that is known
    systematic : (b, k) errors of unit size that are not in the covariance of the estimate
    """

    contributions: dict[str, np.ndarray]
    systematic: np.ndarray

    @property
    def combined(self) -> np.ndarray:
        """Return the combined standard errors (b,): of all sources."""
        return np.sqrt(sum(errors**2 for errors in self.contributions.values()))


def budget_of(solution: Solution, sensors: SensorErrors | None) -> Budget:
    """
    Return the Budget of a ``solution``.

    sensors : SensorErrors of its joints, None of a method without rows of joints, whose budget is
    that of statistics and laws
    """
    inside, outside = dict(solution.errors), dict[str, np.ndarray]()
    if not solution.errors_in_covariance:
        outside = {source: inside.pop(source) for source in (LAWS, DELAY)}
    if sensors is not None:
        _add(outside, _by_sensors(solution, sensors))
    if isinstance(solution.data.method, OwnErrors):
        outside[FORCES] = _by_scale_of_forces(solution, solution.data.method)
    links = described_links(solution.data.options, solution.data.robot)
    if links:
        outside[LINKS] = _by_links(solution, links)
    contributions = {}
    for source in SOURCES:
        parts = [errors[source] for errors in (inside, outside) if source in errors]
        if parts:
            contributions[source] = np.linalg.norm(np.hstack(parts), axis=1)
    none = np.zeros((len(solution.problem.base), 0))
    return Budget(contributions, np.hstack([none, *outside.values()]))


def _add(errors: dict[str, np.ndarray], more: Mapping[str, np.ndarray]) -> None:
    """Add ``more`` {source: H (b, k)} to ``errors``, beside what a source has already."""
    for source, columns in more.items():
        if source in errors:
            columns = np.hstack([errors[source], columns])
        errors[source] = columns


def _by_sensors(solution: Solution, sensors: SensorErrors) -> dict[str, np.ndarray]:
    """Return {source: H (b, k)}: errors by what sensors and mounting were taken to be."""
    data = solution.data
    moves = _moves(solution)
    out = {
        GAINS: moves.gains * sensors.scale_errors,
        ZEROS: _errors_of(sensors, ENCODER_ZERO, moves.zeros),
        # The delay that all joints share is an error of its own.
        DELAY: _errors_of(sensors, DELAY_OF_JOINT, _less_mean(moves.delays)),
    }
    shared = shared_scale_error(data.options, data.first.summary.effort_kind)
    if shared:
        out[SCALE] = shared * moves.gains.sum(axis=1, keepdims=True)
    if data.first.summary.time_offset_error is None:  # it was taken to be as given
        of_all = DELAY_PRIOR * moves.delays.sum(axis=1, keepdims=True)
        out[DELAY] = np.hstack([out[DELAY], of_all])
    if solution.tilt is None:
        out[TILT] = moves.tilts @ _tilt_errors(solution)
    return out


def _by_scale_of_forces(solution: Solution, method: OwnErrors) -> np.ndarray:
    """Return H (b, 1): errors in proportion, of all that is not taken as exact."""
    estimated = np.where(solution.problem.base.known, 0.0, solution.estimate.params)
    return method.scale_error(solution.data.robot) * estimated[:, None]


def _by_links(solution: Solution, links: Sequence[str]) -> np.ndarray:
    """
    Return H (b, k): errors of base parameters as the described ``links`` are not the true ones.

    Those of the links are off by what the description is off, and the drives make up for it.
    """
    base, influence = solution.problem.base, solution.influence
    first, K = bodies(base.parameters), base.matrix()
    off = []
    for link in links:
        ten = slice(first[link], first[link] + 10)
        nominal = np.array([parameter.nominal for parameter in base.parameters[ten]])
        off.append(K[:, ten] @ described_link_errors(nominal))
    errors = np.hstack(off)
    wide, made_up = solution.choice.model_columns.wide, np.zeros_like(errors)
    for name, group in wide.total.groups.items():
        fitted = group.equations(wide.size) @ influence.columns
        into = influence.covariance @ fitted.T / influence.standard_deviation[name] ** 2
        made_up += into @ (fitted[:, : len(base)] @ errors)
    return np.asarray(made_up - errors)


def _tilt_errors(solution: Solution) -> np.ndarray:
    """
    Return H (2, k): errors [rad] of gravity's direction that is taken as given.

    Under the prior of TILT_ERROR, where the torques show a tilt that was not applied.
    """
    prior = np.eye(2) / TILT_ERROR**2
    shown = solution.choice.estimated_tilt
    if shown is None:
        return TILT_ERROR * np.eye(2)
    angles, covariance = shown
    information = np.linalg.pinv(covariance)
    posterior = np.linalg.inv(information + prior)
    return np.column_stack([np.linalg.cholesky(posterior), posterior @ information @ angles])


def _errors_of(sensors: SensorErrors, what: str, moves: np.ndarray) -> np.ndarray:
    """
    Return H (b, n + 1) of ``what`` may be wrong with n joints, which is not taken off.

    moves : (b, n) of base parameters per unit of it
    """
    root = np.linalg.cholesky(sensors.covariance_of(what))
    return moves @ np.column_stack([root, sensors.values_of(what)])


def _less_mean(moves: np.ndarray) -> np.ndarray:
    """Return ``moves`` (b, n) of joints by what they differ in from the mean of all."""
    return moves - moves.mean(axis=1, keepdims=True)


@dataclass(frozen=True)
class Moves:
    """
    By how much base parameters move per unit of what is wrong.

    gains, delays [s], zeros [rad or m] : (b, n) of each joint
    tilts : (b, 2) of gravity [rad], about ``across_gravity``
    """

    gains: np.ndarray
    delays: np.ndarray
    zeros: np.ndarray
    tilts: np.ndarray


def _moves(solution: Solution) -> Moves:
    """Return the Moves of a ``solution`` by joints' rows."""
    wide, influence = solution.choice.model_columns.wide, solution.influence
    count, rate = wide.joints, wide.rate
    slopes = np.arange(rate + 1, rate + 1 + count)
    gravity = solution.data.robot.gravity_base
    across = across_gravity(gravity) * np.linalg.norm(gravity)
    tilt = wide.tilts(wide.at_places(solution.problem.base.parameters, solution.values), across)
    size = len(influence.covariance)
    gains, delays = np.zeros((size, count)), np.zeros((size, count))
    zeros, tilts = np.zeros((size, count)), np.zeros((size, 2))
    for j, (name, group) in enumerate(wide.total.groups.items()):
        rows = group.equations(wide.size)
        fitted = rows @ influence.columns
        into = influence.covariance @ fitted.T / influence.standard_deviation[name] ** 2
        gains[:, j] = into @ (fitted @ influence.params)
        delays[:, j] = into @ rows[:, rate]
        zeros += into @ rows[:, slopes]
        tilts += into @ (rows @ tilt)
    return Moves(gains, delays, zeros, tilts)
