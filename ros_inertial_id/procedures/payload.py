"""
The payload: ten parameters of what the last link carries, the identified arm held fixed.

A load fixed to a link adds its parameters to the link's own, so its columns are the link's
columns and its torque is what the model of the bare arm leaves over.  The uncertainty of the arm
is not forgotten: cov = (A'A)^-1 + H cov_arm H', with H = (A'A)^-1 A'B, B the arm's rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics.description import HEAVIEST
from ..dynamics.inertial_parameters import about_center, bodies, SYMBOLS
from ..dynamics.regressor import RegressorBlock, RowGroup
from ..dynamics.robot_model import link_placements
from ..errors import EstimationError, RobotModelError
from ..estimation.r_factors import one_thread, RFactors
from ..estimation.residuals import residuals_of
from ..identification.identified_model import IdentifiedModel
from ..identification.prepare.dataset import read_dataset
from ..identification.prepare.mounting import check_robot, structural_base
from ..identification.settings import prediction_options
from ..measurement.recording import Recording

# A load is taken to be within this of its link's frame: more uncertainty than m x SIZE (first
# moments) or m x SIZE^2 (inertia) is no knowledge.
SIZE = 0.3  # m


@dataclass(frozen=True, repr=False)
class Payload:
    """
    What a link carries, in the frame it is asked for.

    link : that carries it; frame : of the numbers
    mass [kg]; center_of_mass (3,) [m]; inertia (3, 3) about the centre of mass [kg m^2]
    mass_error, center_of_mass_error, inertia_error : standard errors of the same shapes
    parameters (10,), cov_params (10, 10) : about the link's joint frame
    determined : symbol -> whether the data bound the parameter at all
    standard_deviation : group -> of the residual; relative_percent : relative residual (RMS) of
        the torque that the bare arm's model leaves [%]
    """

    link: str
    frame: str
    mass: float
    center_of_mass: np.ndarray
    inertia: np.ndarray
    mass_error: float
    center_of_mass_error: np.ndarray
    inertia_error: np.ndarray
    parameters: np.ndarray
    cov_params: np.ndarray
    determined: dict[str, bool]
    standard_deviation: dict[str, float]
    relative_percent: float

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Return mass and centre with standard errors in words."""
        center = ', '.join(f'{x:.4f} +- {e:.4f}' for x, e in
                           zip(self.center_of_mass, self.center_of_mass_error))
        return (f'{self.link} carries {self.mass:.4f} +- {self.mass_error:.4f} kg, centre of mass '
                f'{center} m in {self.frame}; relative residual {self.relative_percent:.1f} % of '
                'what the load adds to the torque')

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with their units, for JSON and YAML."""
        return {'link': self.link, 'frame': self.frame,
                'mass': {'value': self.mass, 'standard_error': self.mass_error, 'unit': 'kg'},
                'center_of_mass': {'value': self.center_of_mass.tolist(), 'unit': 'm',
                                   'standard_error': self.center_of_mass_error.tolist()},
                'inertia': {'value': self.inertia.tolist(), 'unit': 'kg m^2',
                            'standard_error': self.inertia_error.tolist()},
                'determined': self.determined, 'relative_percent': self.relative_percent}


def solve_payload(factors: RFactors, cov_arm: np.ndarray, correlation: Mapping[str, float]
                  ) -> tuple[np.ndarray, np.ndarray, dict[str, float], float]:
    """
    Return parameters (10,), covariance (10, 10), standard deviations and relative residual [%].

    factors : RFactors about [10 load columns, b arm columns], y what the bare arm's model leaves
    cov_arm : (b, b) of the arm's base parameters; correlation : group -> autocorrelation time
    """
    standard_deviation = dict.fromkeys(factors.groups, 1.0)
    scale = np.array([1.0] + [0.1] * 3 + [0.01] * 6)
    for _ in range(4):  # two-step weights, settled
        rows, target, _ = factors.system(standard_deviation)
        U, s, Vt = np.linalg.svd(rows[:, :10] * scale, full_matrices=False)
        good = s > 1e-10 * s[0]
        inverse = np.where(good, 1.0 / np.where(good, s, 1.0), 0.0)
        pi = scale * ((Vt.T * inverse) @ (U.T @ target))
        padded = np.concatenate([pi, np.zeros(factors.size - 10)])
        standard_deviation = {n: max(g.residual(padded) / np.sqrt(max(g.rows - 10 / len(
            factors.groups), 1.0)), 1e-12 * g.target(), 1e-300)
            for n, g in factors.groups.items()}
    rows, _, _ = factors.system({name: d * np.sqrt(correlation.get(name, 1.0))
                                 for name, d in standard_deviation.items()})
    U, s, Vt = np.linalg.svd(rows[:, :10] * scale, full_matrices=False)
    inverse = np.where(s > 1e-10 * s[0], 1.0 / np.maximum(s, 1e-300), 1e6)
    half = scale[:, None] * (Vt.T * inverse)
    H = half @ (U.T @ rows[:, 10:])
    groups = factors.groups.values()
    relative = np.sqrt(sum(g.residual(padded) ** 2 for g in groups)
                       / max(sum(g.target() ** 2 for g in groups), 1e-300))
    return pi, half @ half.T + H @ cov_arm @ H.T, standard_deviation, float(100.0 * relative)


def describe_payload(names: tuple[str, str], placement: np.ndarray, pi: np.ndarray,
                     covariance: np.ndarray, standard_deviation: dict[str, float],
                     relative: float) -> Payload:
    """
    Return the Payload of ten parameters about a link's joint frame.

    names : the link and the frame of the result; placement : (4, 4) of that frame in the joint
        frame [m]
    pi (10,), covariance (10, 10), standard_deviation, relative [%] : of ``solve_payload``
    EstimationError where no mass is significant.
    """
    if covariance[0, 0] > HEAVIEST:
        raise EstimationError('the motion does not show the mass of what is carried',
                              found='torques that do not depend on it',
                              do='move joints that lift it, or give another link by --link')
    if pi[0] <= 0.0 or pi[0] < 2.0 * np.sqrt(covariance[0, 0]):
        raise EstimationError('no payload is seen',
                              found=f'{pi[0]:.3f} +- {np.sqrt(covariance[0, 0]):.3f} kg',
                              do='check that the model is of the bare arm, and the effort units')

    def physical(parameters):
        mass, c, inertia = about_center(parameters)
        R, p = placement[:3, :3], placement[:3, 3]
        return np.concatenate([[mass], R.T @ (c - p), (R.T @ inertia @ R).ravel()])

    value = physical(pi)
    steps = 1e-6 * np.maximum(np.abs(pi), pi[0] * np.array([1.0] + [0.1] * 3 + [0.01] * 6))
    J = np.array([(physical(pi + d) - physical(pi - d)) / (2 * s)
                  for d, s in zip(np.diag(steps), steps)]).T
    error = np.sqrt(np.diag(J @ covariance @ J.T))
    limits = pi[0] * np.array([1.0] + [SIZE] * 3 + [SIZE ** 2] * 6)
    bounded = np.sqrt(np.diag(covariance)) < limits
    return Payload(*names, float(value[0]), value[1:4], value[4:].reshape(3, 3),
                   float(error[0]), error[1:4], error[4:].reshape(3, 3), pi, covariance,
                   dict(zip(SYMBOLS, bounded.tolist())), standard_deviation, relative)


def identify_payload(model: IdentifiedModel, recordings: Sequence[Recording], *,
                     link: str = '', frame: str = '') -> Payload:
    """
    Return the Payload that a link of an identified arm carries in ``recordings``.

    model : of the bare arm; best with a recording of the same motion
    link : that carries it, the last one by default; frame : link of the URDF in whose frame the
        centre and inertia are given, the carrying link by default
    RobotModelError for another robot, link or frame; EstimationError for a model file whose base
    parameters are of another version.
    """
    options = prediction_options(model)
    data = read_dataset(recordings, options, model.method, model.robot['urdf'])
    for robot in data.robots:
        check_robot(model, robot)
    links = bodies(model.parameters)
    link = link or list(links)[-1]
    if link not in links:
        raise RobotModelError(f'{link!r} carries nothing', exists=tuple(links),
                              expected='a moving link of the model')
    frame, placement = frame or link, _placement(data.robot, link, frame or link)
    load = np.arange(links[link], links[link] + 10)
    with one_thread():
        base = structural_base(data.method, [
            data.method.build(model.robot['urdf'], options, np.array(g))
            for g in model.mounting['gravity_base']], model.parameters)
        if base.names() != [entry['name'] for entry in model.base]:
            raise EstimationError('the base parameters of the model file are of another version',
                                  do='identify the bare arm again')
        factors = _accumulate(data, model, load, base)
        pi = solve_payload(factors, model.covariance, {})[0]
        values = model.values.copy()
        values[load] += pi
        correlation = residuals_of(data.blocks(model.parameters), values).correlation()
        solution = solve_payload(factors, model.covariance, correlation)
    return describe_payload((link, frame), placement, *solution)


def _placement(robot, link, frame):
    """Return the (4, 4) placement of a frame in the joint frame of the body of ``link``."""
    places = link_placements(robot)
    if frame not in places or places[frame][0] != places[link][0]:
        fixed = [name for name, (body, _) in places.items() if body == places[link][0]]
        raise RobotModelError(f'frame {frame!r} is not fixed to {link}', exists=fixed)
    return np.eye(4) if frame == link else places[frame][1]


def _accumulate(data, model, load, base):
    """Return the RFactors of [load, arm base columns] of the residual of the bare arm."""
    size = 10 + len(base)
    factors, identity = RFactors(size), np.arange(size)
    arm = base.places() + np.where(base.places() < 0, 0, 10)
    own = np.full(len(model.parameters), -1)
    own[load] = np.arange(10)
    for block in data.blocks(model.parameters):
        groups, predicted = [], model.predict(block)
        for g in block.groups:
            first, second = own[g.columns] >= 0, arm[g.columns] >= 0
            W = np.hstack([g.W[:, first], g.W[:, second]])
            columns = np.concatenate([own[g.columns][first], arm[g.columns][second]])
            groups.append(RowGroup(g.name, g.unit, columns, np.ascontiguousarray(W.T).T,
                                   g.y - predicted[g.name], g.y_raw - predicted[g.name]))
        factors.accumulate(RegressorBlock(block.t, block.segment, tuple(groups)), identity)
    if not factors.groups:
        raise EstimationError('the recording is too short', do='record longer',
                              found='no samples after filtering')
    return factors
