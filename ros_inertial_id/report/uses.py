"""
Uses: what a model may be used for, joint by joint, in three grades with the numbers that decide.

Page, terminal and JSON say these numbers, computed here once.  What is graded, see LIMITS:

- gravity compensation: two standard errors of the torque that holds the robot at rest, over
  postures within the training range; good as well below the joint's dry friction, which holds
  what is missing;
- feedforward: the residual of a joint that moved, with the error of its torque that no recording
  shows (gains, zeros, tilt), relative to its measured torque;
- contact: the torque that errors of the model reach once an hour, with the band of the prediction
  at its widest within the training range (as the observer of contact decides; noise adds to it),
  with two of the errors that no recording shows;
- simulation: where the links are physically consistent the error of a replay of the commands
  relative to the motion; without one the residual of feedforward, as much larger as it is by the
  laws that a simulator holds;
- payload, of the whole arm: the mass whose torque is two standard errors in one posture, of the
  residual and of the torque at rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .curves import friction_columns, top_speed, trained_range
from .knowledge import best_fit, lead_columns, posterior, shortened, significant
from .model_statistics import ModelStatistics
from .replay_facts import replay_shares
from ..checks.finding import DO_NOT_USE
from ..dynamics.description import HEAVIEST
from ..dynamics.inertial_parameters import bodies
from ..dynamics.robot_model import RobotModel
from ..errors import ConfigError
from ..identification.identified_model import IdentifiedModel
from ..identification.judge.prediction import alarm_ratios
from ..identification.settings import robot_of_model
from ..measurement.joints.kinematic_state import AT_REST
from ..methods import METHODS
from ..methods.capabilities import JointTorques

FROM_BEST = GOOD, WITH_CARE, NO = 'good', 'with care', 'no'
GRAVITY, FEEDFORWARD, CONTACT, SIMULATION, PAYLOAD = (
    'gravity compensation',
    'feedforward',
    'contact',
    'simulation',
    'payload',
)
GOOD_UP_TO, NO_ABOVE = 0.1, 0.5  # ratios up to which a use is good, and beyond which it is none
# Largest ratio that is good, largest that is not "no", and what it is the ratio of.
LIMITS = {
    GRAVITY: (GOOD_UP_TO, NO_ABOVE, 'two standard errors to holding torque, or dry friction'),
    FEEDFORWARD: (GOOD_UP_TO, NO_ABOVE, 'combined residual {where} to torque'),
    CONTACT: (GOOD_UP_TO, NO_ABOVE, 'detected torque, 1 false alarm an hour, to largest torque'),
    SIMULATION: (GOOD_UP_TO, NO_ABOVE, '{simulated}'),
    PAYLOAD: (GOOD_UP_TO**2, GOOD_UP_TO, 'mass detected in one posture to mass of all links'),
}
# What simulation is graded by, if a replay was made.
SIMULATED = {
    False: 'residual by laws that MuJoCo holds to torque',
    True: 'replay error to motion',
}
TWO = 2.0  # standard errors
HOLDING_POSTURES = 200  # at random, within the training range
SLOW_SHARE = 0.05  # of the largest speed, where friction is dry
PER_HOUR = 1.0  # false alarms of contact, as the node's default
NAMED_JOINTS = 3  # in a sentence


@dataclass(frozen=True)
class JointUse:
    """
    One joint (or row of a sensor): numbers in its ``unit``, None where they are not known.

    residual, torque : RMS of residual and measured torque; percent : their ratio [%]
    systematic_percent : error of the torque that no recording shows, RMS over motions, of it [%]
    holding, holding_error : RMS over postures of the torque at rest, and of two standard errors
    dry_friction; contact : smallest torque that is called contact; moved : in the training
    uses : {use: grade} of those that this kind of row has; a row of a sensor has none
    wrong : whether a finding says that its data are, so that none of its numbers holds
    replay_percent : error of a replay of the commands, of the motion [%]
    simulator_ratio : of the residual by the laws that a simulator holds to that by all
    """

    name: str
    unit: str
    residual: float
    torque: float | None
    percent: float | None
    holding: float | None
    holding_error: float | None
    dry_friction: float
    contact: float | None
    uses: dict[str, str]
    moved: bool = True
    wrong: bool = False
    systematic_percent: float = 0.0
    replay_percent: float | None = None
    simulator_ratio: float = 1.0

    @property
    def simulated_percent(self) -> float | None:
        """Return the error of a replay, or ``combined_percent`` by a simulator's laws [%]."""
        if self.replay_percent is not None or self.percent is None:
            return self.replay_percent
        return float(np.hypot(self.percent * self.simulator_ratio, self.systematic_percent))

    @property
    def combined_percent(self) -> float | None:
        """Return the residual with the error that no recording shows, of the torque [%]."""
        if self.percent is None:
            return None
        return float(np.hypot(self.percent, self.systematic_percent))

    def number(self, use: str) -> str:
        """Return the number that decides a ``use``, with its unit, '' where there is none."""
        if self.wrong:
            return 'data found wrong'
        if not self.moved and use != GRAVITY:
            return 'stood still'
        numbers = {
            GRAVITY: (self.holding_error, self.unit),
            FEEDFORWARD: (self.combined_percent, '%'),
            CONTACT: (self.contact, self.unit),
            SIMULATION: (self.simulated_percent, '%'),
        }
        value, unit = numbers[use]
        if value is None:
            return ''
        return f'{significant(value, 2)} {unit}'


class GradedUse(NamedTuple):
    """A use with its grade, in words; ratio : that is graded; good_up_to, no_above : percent."""

    use: str
    grade: str
    numbers: str
    ratio: str
    good_up_to: str
    no_above: str


@dataclass(frozen=True, repr=False)
class Uses:
    """
    What a model is good for.

    where : what the residuals are of; payload [kg]; consistent : the links are
    stopped : whether the verdict is "do not use"
    grades : {use: grade} of the whole: the worst of all joints
    """

    joints: tuple[JointUse, ...]
    where: str
    payload: float | None
    consistent: bool
    stopped: bool
    grades: dict[str, str]

    def __getitem__(self, name: str) -> 'GradedUse | JointUse':
        """Return a use by its name (``'feedforward'``), or a joint (``'joint1'``)."""
        named: dict[str, GradedUse | JointUse] = {joint.name: joint for joint in self.joints}
        named.update({row.use: row for row in self.rows()})
        if name not in named:
            raise ConfigError(f'no use or joint {name!r}', exists=tuple(named))
        return named[name]

    def __repr__(self) -> str:
        return '\n'.join(self.sentences())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    def rows(self) -> list[GradedUse]:
        """Return every use with its grade and the numbers that decide it."""
        rows = []
        for use, grade in self.grades.items():
            good, most, ratio = LIMITS[use]
            rows.append(
                GradedUse(
                    use,
                    grade,
                    self._numbers(use),
                    ratio.format(where=self.where, simulated=SIMULATED[self.replayed]),
                    f'{100 * good:g} %',
                    f'{100 * most:g} %',
                )
            )
        return rows

    @property
    def replayed(self) -> bool:
        """Return whether commands were replayed."""
        return any(joint.replay_percent is not None for joint in self.joints)

    def sentences(self) -> list[str]:
        """Return one sentence per use that this kind of model can have, five at the most."""
        if self.stopped and self.grades:
            return [
                f'Uses: none, the verdict is "{DO_NOT_USE}"; correct what it names, then '
                'identify again.'
            ]
        sentences = []
        for row in self.rows():
            graded = row.numbers
            if not graded.startswith(row.grade):
                graded = f'{row.grade}, {graded}'
            sentences.append(
                f'{row.use.capitalize()}: {graded} ({row.ratio}: good up to {row.good_up_to}, '
                f'no above {row.no_above}).'
            )
        return sentences

    def _numbers(self, use: str) -> str:
        """Return the numbers that decide a ``use``: of the joints that are not good, or all."""
        if use == PAYLOAD:
            return f'{significant(self.payload, 2)} kg'
        if use == SIMULATION and not self.consistent:
            return 'identify with --consistent: the links may be physically impossible'
        not_good = [self._graded(use, grade) for grade in (WITH_CARE, NO)]
        return '; '.join(filter(None, not_good)) or self._largest_number(use)

    def _graded(self, use: str, grade: str) -> str:
        """Return the joints whose ``use`` has a ``grade``, with their numbers, '' for none."""
        names = [
            f'{joint.name} ({joint.number(use)})'
            for joint in self.joints
            if joint.uses.get(use) == grade
        ]
        if not names:
            return ''
        return f'{grade} for {shortened(names, NAMED_JOINTS)}'

    def _largest_number(self, use: str) -> str:
        numbers = [joint.number(use) for joint in self.joints if use in joint.uses]
        return 'at most ' + max(numbers, key=lambda number: float(number.split()[0]))


class Holding(NamedTuple):
    """
    Torques of a joint that hold the robot at rest, over postures (N,) within the training range.

    torque, error : RMS over postures, of it and of two combined standard errors [N m or N], None
        of a row that no joint has
    per_kg : (N,) of a mass on the last link [N m/kg or N/kg]
    """

    torque: float | None
    error: float | None
    per_kg: np.ndarray


NOT_HELD = Holding(None, None, np.zeros(HOLDING_POSTURES))


def uses_of(model: IdentifiedModel) -> Uses:
    """Return the Uses of a ``model``."""
    assessment = _Assessment(model)
    joints = tuple(assessment.joint(name) for name in assessment.fit['rms'])
    payload = _payload(assessment.holding, assessment.fit['rms'])
    grades = _of_all_joints(joints)
    if payload is not None:
        grades[PAYLOAD] = assessment.grade_of_payload(payload)
    return Uses(
        joints,
        assessment.where,
        payload,
        assessment.consistent,
        assessment.stopped,
        grades,
    )


class _Assessment:
    """What the uses of all joints of a model are graded by; ``joint`` grades one."""

    def __init__(self, model: IdentifiedModel) -> None:
        self.model = model
        self.where, self.fit = best_fit(model)
        self._statistics = ModelStatistics(model)
        self.consistent = 'consistent' in model.statistics
        self.stopped = self._statistics.refused
        self.robot, self.method = robot_of_model(model), METHODS[model.method]
        self.holding: Mapping[str, Holding] = {}
        self.systematic: Mapping[str, float] = {}
        if isinstance(self.method, JointTorques):
            self.holding = _holding(model, self.method, self.robot)
            self.systematic = _systematic_shares(model, self.method, self.robot)
        self.replay = _replay_percents(model)
        self.measured = self.fit.get('measured_rms', {})
        self.largest_torque = max(self.measured.values(), default=0.0)
        self._units = _units(model, self.robot)
        self._wrong = self._joints_found_wrong()
        names = list(self.fit['rms'])
        ratios = alarm_ratios(self._statistics.band, names, PER_HOUR)
        self._alarm_ratios = dict(zip(names, ratios))

    def _joints_found_wrong(self) -> set[str]:
        """Return the joints whose data a finding calls wrong: all of a model that is refused."""
        if self.stopped:
            return set(self.fit['rms'])
        return {joint for finding in self._statistics.wrong for joint in finding.joints}

    def joint(self, name: str) -> JointUse:
        """Return the numbers and grades of one joint or row, by its name."""
        residual, torque = self.fit['rms'][name], self.measured.get(name) or None
        moved = self._moved(name)
        systematic = self.systematic.get(name, 0.0)
        percent = contact = None
        if moved:
            contact = _contact(self.model, name, self._alarm_ratios[name])
        if contact is not None:
            contact = float(np.hypot(contact, TWO * systematic * (torque or 0.0)))
        if moved and torque:
            percent = 100.0 * residual / torque
        held = self.holding.get(name, NOT_HELD)
        use = JointUse(
            name=name,
            unit=self._units[name],
            residual=residual,
            torque=torque,
            percent=percent,
            holding=held.torque,
            holding_error=held.error,
            dry_friction=_dry_friction(self.model, name),
            contact=contact,
            uses={},
            moved=moved,
            wrong=name in self._wrong,
            systematic_percent=100.0 * systematic,
            replay_percent=self.replay.get(name),
            simulator_ratio=self.model.statistics.get('ratios_in_simulators', {}).get(name, 1.0),
        )
        return replace(use, uses=self._grades(use))

    def _moved(self, name: str) -> bool:
        """Whether a joint moved in the training; a row without a joint is taken to."""
        positions = self.model.validity_range.get(name, {}).get('q')
        return positions is None or bool(np.ptp(positions) >= AT_REST)

    def _grades(self, joint: JointUse) -> dict[str, str]:
        """Return {use: grade} of a ``joint``; a row of a sensor has no uses."""
        grades = {}
        if joint.name in self.holding:
            grades[GRAVITY] = _grade(
                GRAVITY, joint.holding_error, joint.holding, joint.dry_friction
            )
        if joint.name in self.robot.joint_names:
            # Of a joint that stood still nothing is known.
            grades[FEEDFORWARD] = _grade(FEEDFORWARD, joint.combined_percent, 100.0)
            grades[CONTACT] = _grade(CONTACT, joint.contact, self.largest_torque)
            grades[SIMULATION] = NO
            if self.consistent:
                grades[SIMULATION] = _grade(SIMULATION, joint.simulated_percent, 100.0)
        if joint.wrong:
            return dict.fromkeys(grades, NO)
        return grades

    def grade_of_payload(self, mass: float) -> str:
        """Return the grade of the ``mass`` [kg] that is detected in one posture."""
        if self.stopped:
            return NO
        columns = bodies(self.model.parameters).values()
        return _grade(PAYLOAD, mass, sum(self.model.values[k] for k in columns))


def _replay_percents(model: IdentifiedModel) -> dict[str, float]:
    """Return {joint: error of a replay of the commands, of the motion [%]}, {} without one."""
    entry = model.statistics.get('replay')
    if not entry or entry['of'] != 'commands':
        return {}
    return {joint: 100.0 * share for joint, share in replay_shares(entry).items()}


def _grade(use: str, value: float | None, reference: float | None, least: float = 0.0) -> str:
    """Return the grade of a ``value`` relative to a ``reference``; below ``least`` it is good."""
    good, most, _ = LIMITS[use]
    if value is None or reference is None:
        return NO
    if value <= max(good * reference, least):
        return GOOD
    if value <= max(most * reference, least):
        return WITH_CARE
    return NO


def _of_all_joints(joints: Sequence[JointUse]) -> dict[str, str]:
    """Return {use: grade} of all ``joints`` together: the worst of them."""
    grades = {}
    for use in LIMITS:
        of_joints = [joint.uses[use] for joint in joints if use in joint.uses]
        if of_joints:
            grades[use] = max(of_joints, key=FROM_BEST.index)
    return grades


def _units(model: IdentifiedModel, robot: Any) -> dict[str, str]:
    """Return row group -> unit of its numbers, of all rows that the method has."""
    method = METHODS[model.method]
    state = method.random_state(robot, 1, np.random.default_rng(0))
    units = {}
    for block in method.regress(state, robot, model.parameters):
        for group in block.groups:
            units[group.name] = group.unit
    return units


def _holding(
    model: IdentifiedModel, method: JointTorques[RobotModel, Any], robot: RobotModel
) -> dict[str, Holding]:
    """Return {joint: Holding} of a ``model`` in postures at random."""
    low, high = trained_range(model)
    q = np.random.default_rng(0).uniform(low, high, (HOLDING_POSTURES, len(robot)))
    covariance, leads = posterior(model), lead_columns(model)
    systematic = model.systematic_errors
    mass = _mass_of_last_link(model, robot)
    holding = {}
    for name, W in _rows(model, method, robot, (q, np.zeros_like(q), np.zeros_like(q))).items():
        variance = ((W @ covariance) * W).sum(1)
        variance += ((W[:, leads] @ systematic) ** 2).sum(1)
        per_kg = np.zeros(HOLDING_POSTURES)
        if mass is not None:
            per_kg = W[:, mass]
        holding[name] = Holding(
            float(np.sqrt(np.mean((W @ model.values) ** 2))),
            TWO * float(np.sqrt(max(np.mean(variance), 0.0))),
            per_kg,
        )
    return holding


def _rows(
    model: IdentifiedModel,
    method: JointTorques[RobotModel, Any],
    robot: RobotModel,
    motion: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> dict[str, np.ndarray]:
    """Return {joint: rows (N, p) of the parameters} at states ``motion``: q, v, a (N, n)."""
    blocks = list(method.regress(method.state_of(robot, *motion), robot, model.parameters))
    rows = {}
    for k, group in enumerate(blocks[0].groups):
        W = np.zeros((len(motion[0]), len(model.parameters)))
        W[:, group.columns] = np.concatenate([block.groups[k].W for block in blocks])
        rows[group.name] = W
    return rows


def _systematic_shares(
    model: IdentifiedModel, method: JointTorques[RobotModel, Any], robot: RobotModel
) -> dict[str, float]:
    """Return {joint: RMS error of its torque that no recording shows, of that torque's RMS}."""
    systematic = model.systematic_errors
    if not systematic.size:
        return {}
    random = np.random.default_rng(0)
    size = (HOLDING_POSTURES, len(robot))
    low, high = trained_range(model)
    q = random.uniform(low, high, size)
    # RMS of speeds and accelerations of motions within a range are about a third of its ends.
    v, a = (
        random.normal(0.0, [_largest_size(model, j, rate) / 3.0 for j in robot.joint_names], size)
        for rate in ('v', 'a')
    )
    leads, shares = lead_columns(model), {}
    for name, W in _rows(model, method, robot, (q, v, a)).items():
        error = np.linalg.norm(W[:, leads] @ systematic)
        shares[name] = float(error / max(np.linalg.norm(W @ model.values), 1e-300))
    return shares


def _mass_of_last_link(model: IdentifiedModel, robot: RobotModel) -> int | None:
    """Return the number of the parameter that is its mass, None where it has none."""
    for k, parameter in enumerate(model.parameters):
        if parameter.owner == robot.link_names[-1] and parameter.unit == 'kg':
            return k
    return None


def _payload(holding: Mapping[str, Holding], residuals: Mapping[str, float]) -> float | None:
    """
    Return the mass [kg] on the last link of two standard errors of torque in one posture.

    residuals : {joint: RMS}; None where no torque depends on a mass
    """
    information = 0.0
    for name, held in holding.items():
        residual = residuals.get(name)
        if residual:
            error = np.hypot(residual, (held.error or 0.0) / TWO)
            information += float(np.mean((held.per_kg / error) ** 2))
    rounding = (TWO / HEAVIEST) ** 2
    if information <= rounding:
        return None
    return TWO / information**0.5


def _dry_friction(model: IdentifiedModel, joint: str) -> float:
    """Return the friction of a joint that does not depend on speed [N m or N]."""
    columns = friction_columns(model, joint, SLOW_SHARE * top_speed(model, joint))
    ends = sum(model.values[k] * (x[-1] - x[0]) / 2.0 for k, (_, x) in columns.items())
    return max(0.0, float(ends))


def _contact(model: IdentifiedModel, joint: str, ratio: float) -> float | None:
    """
    Return the torque of a joint that is called contact, None where the band is not known.

    ratio : to half the width of the band, here at its widest within the training range
    """
    terms = ModelStatistics(model).band.get('joints', {}).get(joint)
    if not terms or not np.isfinite(ratio):
        return None
    acceleration = _largest_size(model, joint, 'a')
    of_speed = max(terms['near_reversal'], terms['per_speed'] * _largest_size(model, joint, 'v'))
    half = terms['constant'] + terms['per_acceleration'] * acceleration + of_speed
    return float(ratio * half)


def _largest_size(model: IdentifiedModel, joint: str, quantity: str) -> float:
    """Return the largest size of a ``quantity`` (v or a) of a joint in the training."""
    ends = model.validity_range.get(joint, {}).get(quantity, (0.0,))
    return max(map(abs, ends))
