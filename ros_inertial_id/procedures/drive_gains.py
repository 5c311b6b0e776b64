"""
Drive gains: what effort is worth in torque, found together with the robot's parameters.

    effort_j = (W_j beta + L_j) / K_j       (L: torque of a load that is known, or zero)

Scaling all parameters and all gains alike leaves every effort as it was: without a known load or
one known gain no torque, mass or gain can be known, only their ratios (Gautier and Briot 2014).
With either, all are, where the motion couples the joints.  The noise is in the effort, so it is
the target here; the problem is bilinear and solved by Gauss-Newton.  With neither the gains are
those that make the described bodies right, friction free.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear

from .gain_problem import GainProblem, GainSolution, JointRows
from ..checks.admission import admission, BY_DAMPING, BY_GAINS, BY_MASSES, unusable
from ..checks.finding import beside_errors
from ..checks.thresholds import GOOD_RESIDUAL, UNUSABLE_RESIDUAL
from ..dynamics.friction import LAWS, never_negative
from ..dynamics.inertial_parameters import about_origin, bodies, carrying_body, Parameter
from ..dynamics.regressor import RegressorBlock, RowGroup
from ..errors import ConfigError, EstimationError
from ..estimation.base_parameters import BaseParameters
from ..estimation.least_squares import pseudo_inverse
from ..estimation.r_factors import one_thread, RFactors
from ..estimation.residuals import Residuals
from ..identification.choose.time_offset import aligned
from ..identification.prepare.dataset import Dataset, name_of, read_dataset
from ..identification.prepare.mounting import structural_base
from ..identification.reduce.model_columns import ModelColumns
from ..identification.reduce.structure import one_alternative
from ..identification.reduce.wide_factor import wide_factor, wide_structure
from ..measurement.joints.drives import is_commanded
from ..measurement.joints.effort_source import DESCRIBED_SCALE
from ..measurement.recording import Recording
from ..methods import DEFAULT_METHOD
from ..options import nearest

SIGNIFICANT_SCALE = 3.0  # standard errors of the load's share in the efforts, or of the bodies'
NO_INERTIA = np.zeros((3, 3))  # [kg m^2] of a compact load
NONE_GIVEN: Mapping[str, float] = MappingProxyType({})  # {joint: gain}
INDEPENDENT_ROWS: Mapping[str, float] = MappingProxyType({})  # {joint: correlation time}, 1 each
REWEIGHTED = 3  # times that gains are solved: weights are by the residuals of the solution before


@dataclass(frozen=True)
class KnownLoad:
    """
    What a link carries, in its joint frame.

    parameters : (10,) standard ones; to_find : numbers of those that are not known, 0 there
    """

    parameters: np.ndarray
    to_find: tuple[int, ...] = ()

    @classmethod
    def of_mass(cls, mass: float) -> 'KnownLoad':
        """Return the load of which the ``mass`` [kg] alone is known; ConfigError: not above 0."""
        return cls(load_parameters(mass, (0.0, 0.0, 0.0)), tuple(range(1, 10)))


NO_LOAD = KnownLoad(np.zeros(10))


@dataclass(frozen=True)
class DriveGains:
    """
    Torque per unit of effort of every joint.

    gains, gain_errors : joint -> joint torque per unit of effort, e.g. N m/A on the link side
        (a motor's own gain is this over its gear ratio); error 0 where it was given; without
        joints whose efforts do not show described bodies
    params, cov_params : (b,), (b, b) of the columns: base parameters, then loads' unknown ones
    standard_deviation : joint -> standard deviation of the effort's residual [unit of effort]
    relative_percent : of the effort that is not explained [%]
    described : whether the scale is that of the described masses
    forced : {recording: why checks refuse it} of those used by force
    """

    gains: dict[str, float]
    gain_errors: dict[str, float]
    params: np.ndarray
    cov_params: np.ndarray
    standard_deviation: dict[str, float]
    relative_percent: float
    described: bool = False
    forced: dict[str, str] = field(default_factory=dict)


def solve_drive_gains(
    factors: RFactors,
    nominal: np.ndarray,
    scale: np.ndarray,
    given: Mapping[str, float] = NONE_GIVEN,
    correlation: Mapping[str, float] = INDEPENDENT_ROWS,
) -> DriveGains:
    """
    Return the DriveGains.

    factors : RFactors about b columns and last the torque of the known load, 0 without; the
        target is the effort as recorded
    nominal, scale : (b,) what the description says of the columns' parameters, and their sizes
    given : {joint: gain} of the datasheet
    correlation : group -> see Problem; none by default
    EstimationError when neither a load nor a gain is given, or the efforts do not show it.
    """
    to_find = [joint for joint in factors.groups if joint not in given]
    problem = GainProblem.of(factors, scale, to_find)
    _check_given(problem, given)
    inverse = _first_inverse_gains(problem, nominal, given)
    deviation = dict.fromkeys(problem.joints, 1.0)
    for _ in range(REWEIGHTED):
        solution = problem.solution(inverse, deviation)
        inverse, deviation = solution.inverse, problem.deviation(solution)
    effective = {n: sd * np.sqrt(correlation.get(n, 1.0)) for n, sd in deviation.items()}
    covariance = problem.covariance(solution, effective)
    if not given:
        _check_load(problem, solution, effective)
    count = len(solution.beta)
    gains, errors = dict[str, float](), dict.fromkeys(problem.joints, 0.0)
    errors.update(zip(to_find, np.sqrt(np.diag(covariance)[count:])))  # of the inverse gains
    for joint, x in inverse.items():
        gains[joint] = float(1.0 / x)
        errors[joint] = float(errors[joint] / x**2)
    return DriveGains(
        gains,
        errors,
        solution.beta,
        covariance[:count, :count],
        deviation,
        problem.relative_percent(solution),
    )


def _check_joints(given: Iterable[str], joints: Iterable[str]) -> None:
    """Raise EstimationError for gains ``given`` of others than ``joints``."""
    strange, exists = sorted(set(given) - set(joints)), tuple(joints)
    if strange:
        raise EstimationError(
            'known gains of joints that are not there',
            found=strange,
            exists=exists,
            do=nearest(strange[0], exists),
        )


def _check_given(problem: GainProblem, given: Mapping[str, float]) -> None:
    """Raise EstimationError for gains of other joints, or where nothing gives the scale."""
    _check_joints(given, problem.joints)
    if not np.all(np.isfinite(list(given.values()))) or 0.0 in given.values():
        raise EstimationError(
            'known gains', found=dict(given), expected='torque per unit of effort, not zero'
        )
    if not given and not problem.has_load:
        raise EstimationError(
            'gains cannot be known without a known load, one known gain or described masses',
            found='recordings without a load: they fix the ratios of parameters and gains only',
            do='record the same motion with a known load, or give a gain of the datasheet',
        )


def _first_inverse_gains(
    problem: GainProblem, nominal: np.ndarray, given: Mapping[str, float]
) -> dict[str, float]:
    """Return joint -> 1 / gain to start from: those given, others of every joint by itself."""
    return {
        joint: 1.0 / given[joint] if joint in given else _first_inverse(rows, nominal, problem)
        for joint, rows in problem.joints.items()
    }


def _first_inverse(rows: JointRows, nominal: np.ndarray, problem: GainProblem) -> float:
    """Return the inverse gain of a joint by its load, by the nominal robot where none shows."""
    columns = np.column_stack([rows.W * problem.scale, rows.load])
    by_load = float((pseudo_inverse(columns) @ rows.effort)[-1])
    torque = rows.torque(nominal)
    by_nominal = abs(torque @ rows.effort) / max(torque @ torque, 1e-300)
    if by_load > 0.1 * by_nominal:
        return by_load
    return float(max(by_nominal, 1e-9))


def _check_load(
    problem: GainProblem, solution: GainSolution, effective: Mapping[str, float]
) -> None:
    """
    Raise EstimationError where the efforts are as well explained without the load.

    Without it all gains are free to grow together: 1 / gain of the load is zero.  One scale less
    is fitted, so that by what the squares of the residuals grow is chi-squared of one degree.
    effective : joint -> standard deviation of an independent row
    """
    bare = problem.without_load()
    without = bare.squares(bare.solution(solution.inverse, effective))
    loaded = problem.squares(solution)
    grown = sum((without[joint] - loaded[joint]) / sd**2 for joint, sd in effective.items())
    if grown < SIGNIFICANT_SCALE**2:
        raise EstimationError(
            'the efforts do not show the known load',
            expected=f'an effect of {SIGNIFICANT_SCALE:g} standard errors',
            found=f'{max(grown, 0.0) ** 0.5:.2g}',
            do='check that the robot '
            'carried it in the recording named so, and the link that carries it',
        )


class _DescribedBodies:
    """Bodies as described, which give the scale, and the friction of joints, which is free."""

    def __init__(self, base: BaseParameters) -> None:
        independent = [base.parameters[k] for k in base.independent]
        self.friction = np.array([bool(p.law) for p in independent])
        dissipates = self.friction & [never_negative(p) for p in independent]
        self.lower = np.where(dissipates, 0.0, -np.inf)
        self.beta = np.where(self.friction, 0.0, base.nominal())
        spread = [self._body(base, link) for link in bodies(base.parameters)]
        self.spread = DESCRIBED_SCALE * np.column_stack([*spread, self.beta])

    @staticmethod
    def _body(base: BaseParameters, link: str) -> np.ndarray:
        """Return the described base parameters (b,) of one link alone."""
        return base.reduce([p.nominal * (p.owner == link) for p in base.parameters])

    def joint(self, rows: JointRows, correlation: float) -> '_DescribedJoint':
        """Return what the efforts of a joint say beside its friction."""
        columns = np.flatnonzero(rows.W.any(axis=0) & self.friction)
        A = np.column_stack([rows.W @ self.beta, rows.W[:, columns]])
        bounds = np.append(0.0, self.lower[columns]), np.inf
        mounted = lsq_linear(A, rows.effort, bounds)
        turned = lsq_linear(A, -rows.effort, bounds)  # a drive that is mounted the other way
        x = mounted.x
        if turned.cost < mounted.cost:
            x = -turned.x
        row = pseudo_inverse(A)[0]  # as if all were free: an armature of 0 may be one that hides
        residual = float(np.linalg.norm(rows.effort - A @ x))
        deviation = max(residual / np.sqrt(max(rows.samples - len(x), 1.0)), 1e-300)
        error = np.hypot(
            np.linalg.norm(row) * deviation * np.sqrt(correlation),
            abs(x[0]) * np.linalg.norm(row @ rows.W @ self.spread),
        )
        return _DescribedJoint(
            float(x[0]), float(error), columns, x[1:], float(deviation), residual
        )


@dataclass(frozen=True)
class _DescribedJoint:
    """
    One joint beside described bodies.

    inverse, error : 1 / gain with standard error
    columns, friction : of its friction in the base parameters, and its values as efforts
    deviation, residual : standard deviation and norm of the effort's residual
    """

    inverse: float
    error: float
    columns: np.ndarray
    friction: np.ndarray
    deviation: float
    residual: float


def described_drive_gains(
    factors: RFactors, base: BaseParameters, correlation: Mapping[str, float] = INDEPENDENT_ROWS
) -> DriveGains:
    """
    Return the DriveGains that make the described bodies right, friction as it fits, not below 0.

    factors, correlation : as ``solve_drive_gains`` has them, about ``base`` without a load
    EstimationError where the efforts of no joint show the bodies.
    """
    described = _DescribedBodies(base)
    beta = described.beta.copy()
    gains, errors, deviation = {}, {}, {}
    squares = efforts = 0.0
    for name, rows in GainProblem.of(factors, base.prior_sd, ()).joints.items():
        joint = described.joint(rows, correlation.get(name, 1.0))
        deviation[name] = joint.deviation
        squares += joint.residual**2
        efforts += rows.effort @ rows.effort
        if abs(joint.inverse) > SIGNIFICANT_SCALE * joint.error:
            gains[name] = 1.0 / joint.inverse
            errors[name] = joint.error / joint.inverse**2
            beta[joint.columns] = joint.friction / joint.inverse
    if not gains:
        raise EstimationError(
            'the efforts do not show the described bodies',
            do='move faster and against gravity, look for a wrong sign, or give gains',
        )
    return DriveGains(
        gains,
        errors,
        beta,
        np.full((len(beta), len(beta)), np.nan),
        deviation,
        float(100.0 * np.sqrt(squares / efforts)),
        True,
    )


def load_parameters(
    mass: float, center_of_mass: Sequence[float], inertia: np.ndarray = NO_INERTIA
) -> np.ndarray:
    """
    Return the ten parameters (10,) of a load in its link's joint frame.

    mass : [kg], above 0, else ConfigError; center_of_mass : (3,) [m] in the joint frame
    inertia : (3, 3) about the centre of mass [kg m^2], none by default (a compact load)
    """
    if not mass > 0.0:
        raise ConfigError('mass of the load', expected='above 0 kg', found=mass)
    return about_origin(mass, np.array(center_of_mass, dtype=float), inertia)


def identify_drive_gains(
    loaded: Sequence[tuple[Recording, KnownLoad]],
    options: Any,
    *,
    method: str = DEFAULT_METHOD,
    urdf: str = '',
    link: str = '',
    known: Mapping[str, float] = NONE_GIVEN,
) -> DriveGains:
    """
    Return the DriveGains of a robot whose efforts are no torques.

    loaded : [(Recording, KnownLoad), ...] of what ``link`` (the last by default) carries
    options : of the method, by its name; effort is taken as recorded, whatever they say of it, or
        as the difference of commanded and measured positions, whose gain is the stiffness
    urdf : text of the description, '' for the recordings' own
    known : {joint: torque per effort} of gains that are known, e.g. from the datasheet
    RobotModelError where ``link`` does not move; RecordingError where checks refuse a recording
    for more than its unit, see ``forced_drive_gains``.
    """
    return _drive_gains(loaded, options, (method, urdf), (link, known), force=False)


def forced_drive_gains(
    loaded: Sequence[tuple[Recording, KnownLoad]],
    options: Any,
    *,
    method: str = DEFAULT_METHOD,
    urdf: str = '',
    link: str = '',
    known: Mapping[str, float] = NONE_GIVEN,
) -> DriveGains:
    """
    Return the DriveGains also from recordings that checks refuse, which they say.

    loaded, options, method, urdf, link, known : see ``identify_drive_gains``
    """
    return _drive_gains(loaded, options, (method, urdf), (link, known), force=True)


def _drive_gains(
    loaded: Sequence[tuple[Recording, KnownLoad]],
    options: Any,
    robot: tuple[str, str],
    scale: tuple[str, Mapping[str, float]],
    force: bool,
) -> DriveGains:
    """
    Return the DriveGains.

    robot : name of the method, text of the description; scale : what gives it, the link that
        carries loads and known gains; force : also from what checks refuse
    """
    method, urdf = robot
    link, known = scale
    commanded = is_commanded(options.effort_kind)
    options = _as_recorded(options, commanded)
    recordings = [recording for recording, _ in loaded]
    if known:  # before checks, which take their time
        _check_joints(known, read_dataset(recordings[:1], options, method, urdf).robot.joint_names)
    admitted = admission(recordings, options, but=BY_GAINS, method=method, urdf=urdf)
    refused = admitted.refused
    if refused and not force:  # without one of them the gains are others
        raise unusable(refused)
    recordings = admitted.of_all().cleaned()
    loads = [load for _, load in loaded]
    with beside_errors(refused):
        data = read_dataset(recordings, options, method, urdf)
        gains = _gains_of(data, loads, link, known)
        if commanded and options.find_time_offset:
            # Damping of a command that comes late looks like inertia.
            later = options.time_offset + _offset(data, gains)
            options = replace(options, find_time_offset=False, time_offset=later)
            data = read_dataset(recordings, options, method, urdf)
            gains = _gains_of(data, loads, link, known)
    refused |= _refused_by(gains, data)
    if refused and not force:
        raise unusable(refused)
    return replace(gains, forced=refused)


def _refused_by(gains: DriveGains, data: Dataset) -> dict[str, str]:
    """
    Return {recording: why} of those that contradict the ``gains`` found from a Dataset.

    Efforts of other joints look like currents until they have their gains.
    """
    options, joints = data.options, data.robot.joint_names
    names = [name_of(recording) for recording in data.recordings]
    most = GOOD_RESIDUAL
    if gains.described:
        most = UNUSABLE_RESIDUAL
    if gains.relative_percent > 100.0 * most:
        reason = f'gains and free bodies leave {gains.relative_percent:.0f} % of the efforts'
        return dict.fromkeys(names, reason)
    if not set(joints) <= set(gains.gains) or options.gear_ratio or options.coupling:
        return {}
    values = tuple(gains.gains[joint] for joint in joints)
    in_torques = replace(options, effort_kind='current', drive_gain=values)
    but: tuple[str, ...] = BY_MASSES
    if is_commanded(options.effort_kind):
        in_torques = replace(options, stiffness=values)
        but = (*BY_MASSES, *BY_DAMPING)
    return admission(
        data.recordings, in_torques, but=but, method=data.method.name, urdf=data.robot.urdf
    ).refused


def _gains_of(
    data: Dataset, loads: Sequence[KnownLoad], link: str, given: Mapping[str, float]
) -> DriveGains:
    """Return the DriveGains of a Dataset: first as if residuals were white, then as they are."""
    with one_thread():
        rows = _LoadedRows(data, loads, link)
        factors = rows.factors()
        loaded = any(load.parameters.any() for load in loads)

        def solved(correlation: Mapping[str, float]) -> DriveGains:
            if given or loaded or not rows.nominal.any():
                return solve_drive_gains(factors, rows.nominal, rows.scale, given, correlation)
            return described_drive_gains(factors, rows.base, correlation)

        return solved(rows.correlation(solved(INDEPENDENT_ROWS)))


def _as_recorded(options: Any, commanded: bool) -> Any:
    """Return ``options`` under which efforts, ``commanded`` ones or measured, have no scale."""
    if not commanded:
        options = replace(options, effort_kind='link')
    options = replace(options, drive_gain=(), stiffness=(1.0,), damping=())
    if options.position_kind == 'link':
        options = replace(options, gear_ratio=(), coupling=())
    return options


def _without_optional_laws(data: Dataset) -> tuple[Parameter, ...]:
    """Return the Parameters without laws that only some joints have: springs carry as weights."""
    every = data.method.parameters(data.robot, data.options)
    return one_alternative([p for p in every if not (p.law and LAWS[p.law].by_need)])


class _LoadedRows:
    """
    Rows about base parameters (b), unknown parameters of loads (f), and known loads' torque.

    base : BaseParameters; nominal, scale : (b + f,) described values and sizes of the columns
    """

    def __init__(self, data: Dataset, loads: Sequence[KnownLoad], link: str) -> None:
        parameters = _without_optional_laws(data)
        _, first = carrying_body(parameters, link)
        self.data = data
        self.base = structural_base(data.method, data.robots, parameters)
        self._places = self.base.places()
        self.known = np.zeros((len(loads), len(parameters)))  # of every recording
        self.known[:, first : first + 10] = [load.parameters for load in loads]
        # Of which recording, and which parameter of the load's link, has a column of its own.
        self.to_find = [
            (number, first + k) for number, load in enumerate(loads) for k in load.to_find
        ]
        found = [parameters[k] for _, k in self.to_find]
        self.nominal = np.append(self.base.nominal(), np.zeros(len(found)))
        self.scale = np.append(self.base.prior_sd, [p.scale for p in found])

    def factors(self) -> RFactors:
        """Return the RFactors of all rows, about b + f columns and the known torque."""
        size = len(self.scale) + 1
        factors = RFactors(size)
        for block in self.blocks():
            factors.accumulate(block, np.arange(size))
        return factors

    def correlation(self, draft: DriveGains) -> dict[str, float]:
        """Return joint -> correlation time of its residual [samples] by gains of a ``draft``."""
        residuals, x = Residuals(), np.append(draft.params, 1.0)
        for block in self.blocks():
            predicted = {
                group.name: group.W @ x[group.columns] / draft.gains.get(group.name, np.inf)
                for group in block.groups
            }
            residuals.add(block, predicted)
        return residuals.correlation()

    def blocks(self) -> Iterator[RegressorBlock]:
        """Yield the blocks of rows, recording by recording."""
        data = self.data
        for number, (robot, observation) in enumerate(zip(data.robots, data.observations)):
            for state in observation.states(training=True):
                for block in data.method.regress(state, robot, self.base.parameters):
                    groups = tuple(self._group(group, number) for group in block.groups)
                    yield RegressorBlock(block.t, block.segment, groups)

    def _group(self, group: RowGroup, number: int) -> RowGroup:
        """Return the rows of a joint in the recording of a ``number``, about these columns."""
        places = self._places[group.columns]
        independent = places >= 0
        column_of = dict(zip(group.columns, group.W.T))
        zero = np.zeros(len(group.y))
        rows = [*group.W.T[independent]]
        for recording, parameter in self.to_find:
            rows.append(column_of.get(parameter, zero) if recording == number else zero)
        rows.append(group.W @ self.known[number, group.columns])
        behind = np.arange(len(self.base), len(self.scale) + 1)
        columns = np.append(places[independent], behind)
        return RowGroup(group.name, group.unit, columns, np.array(rows).T, group.y, group.y_raw)


def _offset(data: Dataset, drives: DriveGains) -> float:
    """Return the time offset [s] of commands whose stiffness is the gain of ``drives``."""
    usual = float(np.median(list(drives.gains.values())))
    stiffness = tuple(drives.gains.get(joint, usual) for joint in data.robot.joint_names)
    options = replace(data.options, stiffness=stiffness)
    observations = [
        data.method.observe(recording, robot, options)
        for recording, robot in zip(data.recordings, data.robots)
    ]
    data = replace(data, options=options, training=()).observed(observations)
    with one_thread():
        wide = wide_factor(data, wide_structure(data, data.method.parameters(data.robot, options)))
        data, _ = aligned(data, ModelColumns(wide, data.robot.gravity_base), wide_factor)
    return float(data.first.summary.time_offset - options.time_offset)
