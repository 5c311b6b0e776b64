"""
The payload: ten parameters of what the last link carries, the arm as it was identified.

A load fixed to a link adds its parameters to the link's own, so its columns are the link's
columns and its torque is what the model of the bare arm leaves over.  The arm's parameters are
free within their covariance, which is so in the errors of the load.

Where the empty arm made the same motion, what the model leaves over of it is taken off: friction
and whatever else the model lacks cancel, and with it the uncertainty of the arm.  Recorded loaded,
empty, empty, loaded, a drift that is linear in time cancels as well.

A base that stands otherwise than for the model tilts the weight of all links.  Where much of what
the load adds is left over, two angles of gravity are free as well: if they surely are not zero
and explain it, the load is the one beside them, and its errors hold theirs.

The load is physically consistent (estimation/consistency.py).  Before any data it is a ball of
its mass, as loose as a gripper, about its centre of mass.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from .same_motion import without_the_arm
from ..checks.admission import usable
from ..checks.finding import beside_errors, DO_NOT_USE, forced_lines
from ..dynamics.description import HEAVIEST
from ..dynamics.inertial_parameters import (
    about_center,
    about_origin,
    carrying_body,
    SCALES,
    ten_of_body,
)
from ..dynamics.regressor import RegressorBlock, RowGroup
from ..dynamics.robot_model import link_placements
from ..errors import EstimationError, RobotModelError
from ..estimation.base_parameters import BaseParameters
from ..estimation.consistency import consistent, ConsistentEstimate
from ..estimation.estimators import Estimate, finish, Problem, solve, weighted
from ..estimation.r_factors import GroupFactor, one_thread, RFactors, triangle
from ..estimation.residuals import residuals_of
from ..identification.identified_model import IdentifiedModel
from ..identification.prepare.dataset import Dataset, read_dataset
from ..identification.prepare.mounting import across_gravity, check_robot, structural_base, turned
from ..identification.settings import prediction_options
from ..measurement.recording import nothing_left, Recording
from ..methods import METHODS
from ..methods.capabilities import Tiltable

NO_PAYLOAD = 'no payload is seen'
SIZE = 0.3  # m: a load is sought within about this of its link's frame
DENSITY = 300.0  # kg/m^3, of the load before any data
PARTS = {'mass': slice(0, 1), 'center_of_mass': slice(1, 4), 'inertia': slice(4, 13)}
ASKS_FOR_TILT = 5.0  # % of what the load adds: less is left where the arm is as it was
NOT_EXPLAINED = 20.0  # % of what the load adds, that is left: the arm is not the model's
TILT_PRIOR = 0.05  # [rad], as where a model is identified
TILT_ROUNDS = 3  # from the last gravity: the torque is not quite linear in angles
SURE_OF_TILT = 4.0  # standard errors
TILT_EXPLAINS = 0.7  # of the residual is left at most beside a tilt that is there


@dataclass(frozen=True, repr=False)
class Payload:
    """
    What a link carries, in the frame it is asked for.

    link : that carries it; frame : of the numbers
    mass [kg]; center_of_mass (3,) [m]; inertia (3, 3) about the centre of mass [kg m^2]
    mass_error, center_of_mass_error, inertia_error : standard errors of the same shapes
    parameters (10,) : about the link's joint frame
    from_data : {mass, center_of_mass, inertia: share of the variance before any data that they
        took away}; what lacks to 1 is the ball's
    relative_percent : residual relative (RMS) to the torque that the load adds [%]
    forced : {recording: why checks refuse it} of those used by force
    tilt, tilt_error : [deg] by which gravity is off the model's in these recordings, beside which
        all numbers are, with standard error; 0 where the residual shows none
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
    from_data: dict[str, float]
    relative_percent: float
    tilt: float = 0.0
    tilt_error: float = 0.0
    forced: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Return the numbers with standard errors in words."""
        center = ', '.join(
            f'{x:.4f} +- {e:.4f}' for x, e in zip(self.center_of_mass, self.center_of_mass_error)
        )
        moments = ', '.join(
            f'{x:.3g} +- {e:.1g}'
            for x, e in zip(np.diag(self.inertia), np.diag(self.inertia_error))
        )
        text = (
            f'{self.link} carries {self.mass:.4f} +- {self.mass_error:.4f} kg, centre of mass '
            f'{center} m in {self.frame}; relative residual {self.relative_percent:.1f} % of '
            f'what the load adds to the torque\nmoments of inertia {moments} kg m^2 about it, '
            f'{100.0 * self.from_data["inertia"]:.0f} % measured, the rest assumed: a '
            f'sphere of density 0.3 kg/l{self._doubt()}'
        )
        return '\n'.join([*forced_lines(self.forced), text])

    def _doubt(self):
        """Return in words what says that the arm is not as it was identified, '' if nothing."""
        if self.tilt:
            return (
                f'\ngravity is {self.tilt:.2g} +- {self.tilt_error:.1g} degrees off that of the '
                'model, which these numbers allow for: level the base, or give its mounting'
            )
        if self.relative_percent > NOT_EXPLAINED:
            return (
                '\nthat much is left: the bare arm, its mounting or its friction is other than '
                'in the model; identify it again, or weigh by difference: --empty BAG'
            )
        return ''

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with their units, for JSON and YAML."""
        forced = {}
        if self.forced:
            forced['forced'] = self.forced
        return {
            **forced,
            'link': self.link,
            'frame': self.frame,
            'mass': {'value': self.mass, 'standard_error': self.mass_error, 'unit': 'kg'},
            'center_of_mass': {
                'value': self.center_of_mass.tolist(),
                'unit': 'm',
                'standard_error': self.center_of_mass_error.tolist(),
            },
            'inertia': {
                'value': self.inertia.tolist(),
                'unit': 'kg m^2',
                'standard_error': self.inertia_error.tolist(),
            },
            'from_data': self.from_data,
            'relative_percent': self.relative_percent,
            'tilt': {'value': self.tilt, 'standard_error': self.tilt_error, 'unit': 'deg'},
        }


def identify_payload(
    model: IdentifiedModel,
    recordings: Sequence[Recording],
    *,
    empty: Sequence[Recording] = (),
    link: str = '',
    frame: str = '',
    force: bool = False,
) -> Payload:
    """
    Return the Payload that a link of an identified arm carries in ``recordings``.

    model : of the bare arm; empty : recordings of the same motion without the load, which are
        taken off; none: the model alone stands for the bare arm
    link : that carries it, the last one by default; frame : link of the URDF in whose frame the
        centre and inertia are given, the carrying link by default
    force : also from what checks refuse, which the Payload says
    RobotModelError for another robot, link or frame; EstimationError for a model file whose base
    parameters are of another version; RecordingError where the motions differ, or where checks
    refuse all recordings, with the load or without: see ``admission``.  Without ``empty``
    EstimationError where the verdict on the model is "do not use": its errors would be the load's.
    """
    forced: dict[str, str] = {}
    if not empty:
        forced |= _forced_model(model, force)
    options, urdf = prediction_options(model), model.robot['urdf']
    admitted = [
        usable(some, options, force=force, method=model.method, urdf=urdf, model=model)
        for some in (recordings, empty)
    ]
    loaded, bare = (each.recordings for each in admitted)
    for each in admitted:
        forced |= each.forced
    with beside_errors(forced):
        return replace(_weighed(model, (loaded, bare), link, frame), forced=forced)


def _weighed(
    model: IdentifiedModel,
    recordings: tuple[Sequence[Recording], Sequence[Recording]],
    link: str,
    frame: str,
) -> Payload:
    """Return the Payload of ``recordings`` with the load, and without it; see above."""
    loaded, bare = recordings
    options, urdf = prediction_options(model), model.robot['urdf']
    link, first = carrying_body(model.parameters, link)
    data = read_dataset([*loaded, *bare], options, model.method, urdf)
    for robot in data.robots:
        check_robot(model, robot)
    frame = frame or link
    placement = _placement(data.robot, link, frame)
    with one_thread():
        base = _base_of(model, options)
        columns = np.concatenate([first + np.arange(10), base.independent])
        if bare:
            parts = [list(_left_over(part, model, columns)) for part in data.each()]
            with_load, without = parts[: len(loaded)], parts[len(loaded) :]
            rows = without_the_arm(with_load, without, base.reduce(model.values))
            load, relative = _solved(lambda: [rows], link, np.zeros((0, 0)))
        else:
            turn, variances, _ = np.linalg.svd(model.covariance, hermitian=True)
            root = turn * np.sqrt(variances)
            load, relative = _solved(lambda: _left_over(data, model, columns), link, root)
            if relative > ASKS_FOR_TILT and isinstance(data.method, Tiltable):
                tilted = _tilted(_TiltedRows(data, model, columns), link, root)
                if tilted.explains(relative):
                    found = _described((link, frame), placement, tilted.load, tilted.relative)
                    return replace(found, tilt=tilted.degrees, tilt_error=tilted.error)
    return _described((link, frame), placement, load, relative)


def _forced_model(model: IdentifiedModel, force: bool) -> dict[str, str]:
    """Return ``_refused_model``; EstimationError where it is used without ``force``."""
    if not force:
        _check_verdict(model)
    return _refused_model(model)


def _refused_model(model: IdentifiedModel) -> dict[str, str]:
    """Return {what: why} of a ``model`` that its own checks refused, {} of others."""
    verdict = model.statistics.get('verdict', {})
    if verdict.get('word') != DO_NOT_USE:
        return {}
    return {'the model of the bare arm': '; '.join(verdict['reasons'])}


def _check_verdict(model: IdentifiedModel) -> None:
    """Raise EstimationError for a ``model`` that its own checks refused."""
    for name, reasons in _refused_model(model).items():
        raise EstimationError(
            f'the verdict on {name} is "{DO_NOT_USE}"',
            found=reasons,
            do='correct what it names and identify the bare arm again, or weigh by difference: '
            '--empty BAG --loaded BAG',
        )


def _base_of(model: IdentifiedModel, options: Any) -> BaseParameters:
    """Return the base parameters of a ``model``; EstimationError where its file has others."""
    method, urdf = METHODS[model.method], model.robot['urdf']
    mountings = model.mounting['gravity_base']
    robots = [method.build(urdf, options, np.array(gravity)) for gravity in mountings]
    base = structural_base(method, robots, model.parameters)
    if base.names() != [entry['name'] for entry in model.base]:
        raise EstimationError(
            'the base parameters of the model file are of another version',
            do='identify the bare arm again',
        )
    return base


def _placement(robot: Any, link: str, frame: str) -> np.ndarray:
    """Return the (4, 4) placement of a frame in the joint frame of the body of ``link``."""
    placements = link_placements(robot)
    body, _ = placements[link]
    fixed = {name: where for name, (owner, where) in placements.items() if owner == body}
    if frame not in fixed:
        raise RobotModelError(f'frame {frame!r} is not fixed to {link}', exists=list(fixed))
    if frame == link:
        return np.eye(4)
    return fixed[frame]


def _left_over(
    data: Dataset, model: IdentifiedModel, columns: np.ndarray
) -> Iterator[RegressorBlock]:
    """Yield blocks about ``columns`` of the model's parameters of what it leaves over."""
    for block in data.blocks(model.parameters):
        groups, predicted = [], model.predict(block)
        for g in block.groups:
            W = np.zeros((len(g.y), len(model.parameters)))
            W[:, g.columns] = g.W
            groups.append(
                RowGroup(
                    g.name,
                    g.unit,
                    np.arange(len(columns)),
                    W[:, columns],
                    g.y - predicted[g.name],
                    g.y_raw - predicted[g.name],
                )
            )
        yield RegressorBlock(block.t, block.segment, tuple(groups))


@dataclass(frozen=True)
class _TiltedRows:
    """What a ``model`` leaves over of ``data``; columns : of its parameters, see _left_over."""

    data: Dataset
    model: IdentifiedModel
    columns: np.ndarray

    def under(self, angles: np.ndarray) -> Iterator[RegressorBlock]:
        """Yield the blocks under gravity turned by ``angles`` (2,) [rad], two columns more."""
        robot: Any
        for robot, state in self.data.states(training=True):
            gravities = _turned_gravities(robot.gravity_base, angles)
            robots = [replace(robot, gravity_base=gravity) for gravity in gravities]
            of_each = (
                self.data.method.regress(state, mounted, self.model.parameters)
                for mounted in robots
            )
            for block, *further in zip(*of_each):
                yield self._block(block, further)

    def _block(self, block, further):
        """Return a ``block``; further : under gravity one radian further by each angle."""
        predicted, *turned_further = map(self.model.predict, (block, *further))
        groups = []
        for g in block.groups:
            W = np.zeros((len(g.y), len(self.model.parameters)))
            W[:, g.columns] = g.W
            slopes = [torques[g.name] - predicted[g.name] for torques in turned_further]
            wide = np.column_stack([W[:, self.columns], *slopes])
            y, y_raw = g.y - predicted[g.name], g.y_raw - predicted[g.name]
            groups.append(RowGroup(g.name, g.unit, np.arange(wide.shape[1]), wide, y, y_raw))
        return RegressorBlock(block.t, block.segment, tuple(groups))


def _turned_gravities(gravity: np.ndarray, angles: np.ndarray) -> list[np.ndarray]:
    """Return ``gravity`` (3,) turned by ``angles`` (2,) [rad], and that with each one more."""
    size, across = np.linalg.norm(gravity), across_gravity(gravity)
    here = size * turned(gravity / size, across, angles)
    return [here, *(here + size * axis for axis in across.T)]


@dataclass(frozen=True)
class _Tilted:
    """A ``load`` beside a tilt of gravity [deg] with its ``error``; relative : residual [%]."""

    load: ConsistentEstimate
    relative: float
    degrees: float
    error: float

    def explains(self, relative: float) -> bool:
        """Return whether the tilt is there, and leaves less than the ``relative`` residual [%]."""
        sure = self.degrees > SURE_OF_TILT * self.error
        return sure and self.relative < TILT_EXPLAINS * relative


def _tilted(rows: _TiltedRows, link: str, root: np.ndarray) -> _Tilted:
    """Return the load beside a tilt of gravity; root : of the arm, see ``_solved``."""
    arm = len(root)
    with_tilt = np.zeros((arm + 2, arm + 2))
    with_tilt[:arm, :arm] = root
    with_tilt[arm:, arm:] = TILT_PRIOR * np.eye(2)
    angles = np.zeros(2)
    for _ in range(TILT_ROUNDS):
        system = _system(partial(rows.under, angles), link, 10 + len(with_tilt))
        step, covariance = _last_two(system, with_tilt)
        angles = angles + step
    load, relative = _solved(partial(rows.under, angles), link, with_tilt)
    size = float(np.linalg.norm(angles))
    direction = angles / max(size, 1e-300)
    error = float(np.sqrt(direction @ covariance @ direction))
    return _Tilted(load, relative, float(np.degrees(size)), float(np.degrees(error)))


def _last_two(system, root):
    """Return the last two unknowns (2,) of a ``system``, and their covariance (2, 2)."""
    W, b, _ = system
    arm = len(root)
    unit = np.append([1.0], np.repeat([SIZE, SIZE**2], [3, 6])) * HEAVIEST
    rows = np.column_stack([W[:, :10] * unit, W[:, 10:] @ root, b])
    prior = np.eye(arm + 10, arm + 11)
    R = triangle(np.asfortranarray(np.vstack([rows, prior])))
    last = R[-3:-1, -3:-1]
    inverse = np.linalg.inv(last) * TILT_PRIOR
    return inverse @ R[-3:-1, -1], inverse @ inverse.T


def _problem(factors, link, nominal, mass):
    """Return the Problem of a load of ten parameters ``nominal``, known about to its ``mass``."""
    parameters = tuple(ten_of_body(1, link, nominal, (mass, SIZE)))
    return Problem(
        factors,
        BaseParameters(parameters, np.arange(10), np.arange(0), np.zeros((10, 0)), np.inf),
        {},
    )


def _solved(
    rows: Callable[[], Iterable[RegressorBlock]], link: str, root: np.ndarray
) -> tuple[ConsistentEstimate, float]:
    """
    Return the ConsistentEstimate of the ten parameters, and the relative residual [%].

    rows : blocks of the load's ten columns and the arm's b; root : (b, b), whose square is the
        covariance of the arm's
    EstimationError where no mass is significant.
    """
    system = _system(rows, link, 10 + len(root))
    held = np.zeros(len(root))  # the arm as it was identified
    problem = _problem(_apart(system, root), link, np.zeros(10), HEAVIEST)
    estimate = finish(problem, solve(problem.factors.system(), problem.base), {'load': 1.0})
    mass, error = estimate.params[0], estimate.bse[0]
    if mass < 2.0 * error:
        do = 'check that the model is of the bare arm, and the effort units'
        if mass < -2.0 * error:
            do = 'give as loaded what was recorded with the load: the two look exchanged'
        raise EstimationError(NO_PAYLOAD, found=f'{mass:.3f} +- {error:.3f} kg', do=do)
    load = consistent(_problem(problem.factors, link, _ball(estimate), mass), estimate)
    residuals = residuals_of(rows(), np.append(load.values, held))
    return load, residuals.filtered.relative_percent or 0.0


def _system(rows: Callable[[], Iterable[RegressorBlock]], link: str, size: int) -> Any:
    """
    Return the weighted system of ``rows`` about ``size`` columns, of which a load's are first.

    EstimationError where the motion shows no mass.
    """
    factors = RFactors(size)
    for block in rows():
        factors.accumulate(block, np.arange(factors.size))
    if not factors.groups:
        raise nothing_left()
    if not any(map(GroupFactor.target, factors.groups.values())):
        raise EstimationError(
            NO_PAYLOAD,
            found='the same torques with and without it',
            do='give two recordings, of which one is without the load',
        )
    draft = weighted(_problem(factors.select(range(10)), link, np.zeros(10), HEAVIEST))
    if not draft.determined[0]:
        raise EstimationError(
            'the motion does not show the mass of what is carried',
            found='torques that do not depend on it',
            do='move joints that lift it, or give another link by --link',
        )
    held = np.zeros(size - 10)
    time = residuals_of(rows(), np.append(draft.params, held)).correlation()
    return factors.system(
        {name: d * np.sqrt(time[name]) for name, d in draft.standard_deviation.items()}
    )


def _ball(estimate: Estimate) -> np.ndarray:
    """Return the ten parameters of a ball of the mass of an ``estimate``, near its centre."""
    mass, first_moments = estimate.params[0], estimate.params[1:4]
    unsure = estimate.bse[1:4] / (mass * SIZE)
    radius = (mass / (4.0 / 3.0 * np.pi * DENSITY)) ** (1.0 / 3.0)
    center = first_moments / mass / (1.0 + unsure**2)
    return about_origin(mass, center, 0.4 * mass * radius**2 * np.eye(3))


def _apart(system, root):
    """
    Return RFactors of what a ``system`` says of mass and first moments, and of inertia, apart.

    The other ones are free, and the arm within its covariance, the square of ``root``.
    What a model lacks looks like inertia: tied to that of a body, it would bend the mass.
    """
    W, b, _ = system
    arm, R = len(root), np.zeros((12, 12))
    rows = np.vstack([np.column_stack([W[:, 10:] @ root, W[:, :10], b]), np.eye(arm, arm + 11)])
    for part in (np.arange(4), np.arange(4, 10)):
        last = np.append(np.delete(np.arange(10), part), part) + arm
        all_rows = triangle(np.asfortranarray(rows[:, [*range(arm), *last, arm + 10]]))
        size = len(part) + 1
        R[np.ix_(part, np.append(part, 10))] = all_rows[-size:-1, -size:]
    return RFactors(10, {'load': GroupFactor('', np.arange(10), R)})


def _described(
    names: tuple[str, str], placement: np.ndarray, load: ConsistentEstimate, relative: float
) -> Payload:
    """
    Return the Payload of a ``load`` about a link's joint frame.

    names : of link and frame; placement : (4, 4) of the frame in the joint frame [m]
    relative : residual [%]
    """
    pi = load.values

    def physical(parameters):
        mass, c, inertia = about_center(parameters)
        R, p = placement[:3, :3], placement[:3, 3]
        return np.concatenate([[mass], R.T @ (c - p), (R.T @ inertia @ R).ravel()])

    value = physical(pi)
    steps = 1e-6 * np.maximum(np.abs(pi), pi[0] * np.array(SCALES))
    slopes = []
    for step, size in zip(np.diag(steps), steps):
        slopes.append((physical(pi + step) - physical(pi - step)) / (2 * size))
    J = np.array(slopes).T
    error = np.sqrt(np.diag(J @ load.cov_params @ J.T))
    before = np.sqrt(np.diag(J @ load.prior @ J.T))
    from_data = {}
    for name, part in PARTS.items():
        remaining = (error[part] @ error[part]) / (before[part] @ before[part])
        from_data[name] = float(1.0 - remaining)
    return Payload(
        *names,
        float(value[0]),
        value[1:4],
        value[4:].reshape(3, 3),
        float(error[0]),
        error[1:4],
        error[4:].reshape(3, 3),
        pi,
        from_data,
        relative,
    )
