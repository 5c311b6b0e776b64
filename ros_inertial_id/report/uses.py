"""
Uses: what a model may be used for, joint by joint, in three grades with the numbers that decide.

Page, terminal and JSON say these numbers, computed here once.  What is graded, see LIMITS:

- gravity compensation: two standard errors of the torque that holds the robot at rest, over
  postures within the training range; good as well below the joint's dry friction, which holds
  what is missing;
- feedforward: the residual of a joint that moved, relative to its measured torque;
- contact: the torque that errors of the model reach once an hour, with the band of the prediction
  at its widest within the training range (as the observer of contact decides; noise adds to it);
- simulation: the residual of feedforward, where the links are physically consistent;
- payload, of the whole arm: the mass whose torque is two standard errors in one posture.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .curves import friction_columns, top_speed, trained_range
from .knowledge import best_fit, posterior, significant
from ..checks.finding import DO_NOT_USE, WRONG
from ..dynamics.description import HEAVIEST
from ..dynamics.inertial_parameters import bodies
from ..dynamics.robot_model import RobotModel
from ..identification.identified_model import IdentifiedModel
from ..identification.judge.prediction import alarm_ratios
from ..identification.settings import robot_of_model
from ..measurement.joints.kinematic_state import AT_REST
from ..methods import METHODS
from ..methods.capabilities import JointTorques

GRADES = GOOD, WITH_CARE, NO = 'good', 'with care', 'no'
GRAVITY, FEEDFORWARD, CONTACT, SIMULATION, PAYLOAD = (
    'gravity compensation',
    'feedforward',
    'contact',
    'simulation',
    'payload',
)
WELL, NEVER = 0.1, 0.5  # ratios up to which a use is good, and beyond which it is none
# Largest ratio that is good, largest that is not "no", and what it is the ratio of.
LIMITS = {
    GRAVITY: (WELL, NEVER, 'two standard errors to holding torque, or dry friction'),
    FEEDFORWARD: (WELL, NEVER, 'residual {where} to measured torque'),
    CONTACT: (WELL, NEVER, 'detected torque, 1 false alarm an hour, to largest torque'),
    SIMULATION: (WELL, NEVER, 'residual of consistent links to torque'),
    PAYLOAD: (WELL**2, WELL, 'mass detected in one posture to mass of all links'),
}
TWO = 2.0  # standard errors
POSTURES = 200  # at random within the training range
SLOW = 0.05  # of the largest speed, where friction is dry
PER_HOUR = 1.0  # false alarms of contact, as the node's default
NAMED = 3  # joints in a sentence


@dataclass(frozen=True)
class JointUse:
    """
    One joint (or row of a sensor): numbers in its ``unit``, None where they are not known.

    residual, torque : RMS of residual and measured torque; percent : their ratio [%]
    holding, holding_error : RMS over postures of the torque at rest, and of two standard errors
    dry_friction; contact : smallest torque that is called contact; moved : in the training
    uses : {use: grade} of those that this kind of row has; a row of a sensor has none
    wrong : whether a finding says that its data are, so that none of its numbers holds
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

    def number(self, use: str) -> str:
        """Return the number that decides a ``use``, with its unit, '' where there is none."""
        if self.wrong:
            return 'data found wrong'
        if not self.moved and use != GRAVITY:
            return 'stood still'
        value, unit = {
            GRAVITY: (self.holding_error, self.unit),
            CONTACT: (self.contact, self.unit),
        }.get(use, (self.percent, '%'))
        return '' if value is None else f'{significant(value, 2)} {unit}'


@dataclass(frozen=True)
class Uses:
    """
    What a model is good for.

    where : what the residuals are of; payload [kg]; consistent : the links are
    stopped : whether the verdict is "do not use"
    grades : {use: grade} of the whole: that of all joints, "with care" where they differ
    """

    joints: tuple[JointUse, ...]
    where: str
    payload: float | None
    consistent: bool
    stopped: bool
    grades: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    def rows(self) -> list[tuple[str, ...]]:
        """Return (use, grade, numbers, ratio that is graded, good up to, no above) of each."""
        return [
            (
                use,
                grade,
                self._numbers(use),
                LIMITS[use][2].format(where=self.where),
                *(f'{100 * limit:g} %' for limit in LIMITS[use][:2]),
            )
            for use, grade in self.grades.items()
        ]

    def sentences(self) -> list[str]:
        """Return one sentence per use that this kind of model can have, five at the most."""
        if self.stopped and self.grades:
            return [
                f'Uses: none, the verdict is "{DO_NOT_USE}"; correct what it names, then '
                'identify again.'
            ]
        return [
            f'{use.capitalize()}: '
            + (numbers if numbers.startswith(grade) else f'{grade}, {numbers}')
            + f' ({ratio}: good up to {good}, no above {most}).'
            for use, grade, numbers, ratio, good, most in self.rows()
        ]

    def _numbers(self, use: str) -> str:
        """Return the numbers that decide a ``use``: of the joints that are not good, or all."""
        if use == PAYLOAD:
            return f'{significant(self.payload, 2)} kg'
        if use == SIMULATION:
            return (
                'as feedforward'
                if self.consistent
                else ('identify with --consistent: the links may be physically impossible')
            )
        of = [joint for joint in self.joints if use in joint.uses]
        worse = [
            f'{grade} for '
            + _listed([f'{j.name} ({j.number(use)})' for j in of if j.uses[use] == grade])
            for grade in (WITH_CARE, NO)
            if any(j.uses[use] == grade for j in of)
        ]
        return '; '.join(worse) or 'at most ' + max(
            (joint.number(use) for joint in of), key=lambda x: float(x.split()[0])
        )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ', '.join(names[:NAMED]) + (f' and {more} more' if more > 0 else '')


def _grade(use: str, value: float | None, whole: float | None, least: float = 0.0) -> str:
    """Return the grade of a ``value`` relative to a ``whole``; below ``least`` it is good."""
    good, most, *_ = LIMITS[use]
    if value is None or whole is None or value > max(most * whole, least):
        return NO
    return GOOD if value <= max(good * whole, least) else WITH_CARE


def uses_of(model: IdentifiedModel) -> Uses:
    """Return the Uses of a ``model``."""
    (where, fit), consistent = best_fit(model), 'consistent' in model.statistics
    stopped = model.statistics.get('verdict', {}).get('word') == DO_NOT_USE
    wrong = {
        joint
        for finding in model.statistics.get('checks') or ()
        if finding['severity'] == WRONG
        for joint in finding['joints']
    }
    wrong |= set(fit['rms']) if stopped else set()
    robot, method = robot_of_model(model), METHODS[model.method]
    at_rest = _at_rest(model, method, robot) if isinstance(method, JointTorques) else {}
    units, joints = _units(model, robot), []
    ratios = dict(
        zip(
            fit['rms'],
            alarm_ratios(
                model.statistics.get('prediction_band') or {}, list(fit['rms']), PER_HOUR
            ),
        )
    )
    largest = max(fit.get('measured_rms', {}).values(), default=0.0)
    for name, residual in fit['rms'].items():
        torque = fit.get('measured_rms', {}).get(name) or None
        moved = bool(np.ptp(model.validity_range.get(name, {}).get('q', (0.0, np.inf))) >= AT_REST)
        holding, error, _ = at_rest.get(name, (None, None, 0.0))
        dry, contact = _dry_friction(model, name), _contact(model, name, ratios[name])
        contact, measured = (contact, torque) if moved else (None, None)
        uses = {GRAVITY: _grade(GRAVITY, error, holding, dry)} if name in at_rest else {}
        if name in robot.joint_names:
            uses |= {
                FEEDFORWARD: _grade(FEEDFORWARD, residual, measured),
                CONTACT: _grade(CONTACT, contact, largest),
                SIMULATION: _grade(SIMULATION, residual, measured) if consistent else NO,
            }
        uses = dict.fromkeys(uses, NO) if name in wrong else uses
        joints.append(
            JointUse(
                name,
                units[name],
                residual,
                torque,
                100.0 * residual / measured if measured else None,
                holding,
                error,
                dry,
                contact,
                uses,
                moved,
                name in wrong,
            )
        )
    grades = {
        use: _of_all([joint.uses[use] for joint in joints if use in joint.uses])
        for use in LIMITS
        if any(use in joint.uses for joint in joints)
    }
    payload = _payload(at_rest, fit['rms'])
    if payload is not None:
        mass = sum(model.values[k] for k in bodies(model.parameters).values())
        grades[PAYLOAD] = NO if stopped else _grade(PAYLOAD, payload, mass)
    return Uses(tuple(joints), where, payload, consistent, stopped, grades)


def _of_all(grades: Sequence[str]) -> str:
    return grades[0] if len(set(grades)) == 1 else WITH_CARE


def _units(model: IdentifiedModel, robot: Any) -> dict[str, str]:
    """Return row group -> unit of its numbers, of all rows that the method has."""
    method = METHODS[model.method]
    state = method.random_state(robot, 1, np.random.default_rng(0))
    return {
        group.name: group.unit
        for block in method.regress(state, robot, model.parameters)
        for group in block.groups
    }


def _at_rest(
    model: IdentifiedModel, method: JointTorques[RobotModel, Any], robot: RobotModel
) -> dict[str, tuple[float, float, np.ndarray]]:
    """Return {joint: torque at rest (RMS), its two standard errors (RMS), torque of 1 kg (N,)}."""
    low, high = trained_range(model)
    q = np.random.default_rng(0).uniform(low, high, (POSTURES, len(robot)))
    covariance = posterior(model)
    state = method.state_of(robot, q, np.zeros_like(q), np.zeros_like(q))
    blocks = list(method.regress(state, robot, model.parameters))
    mass = next(
        (
            k
            for k, p in enumerate(model.parameters)
            if p.owner == robot.link_names[-1] and p.unit == 'kg'
        ),
        None,
    )
    out = {}
    for k, group in enumerate(blocks[0].groups):
        W = np.zeros((POSTURES, len(model.parameters)))
        W[:, group.columns] = np.concatenate([block.groups[k].W for block in blocks])
        variance = ((W @ covariance) * W).sum(1)
        out[group.name] = (
            float(np.sqrt(np.mean((W @ model.values) ** 2))),
            TWO * float(np.sqrt(max(np.mean(variance), 0.0))),
            W[:, mass] if mass is not None else np.zeros(POSTURES),
        )
    return out


def _payload(
    at_rest: Mapping[str, tuple[float, float, np.ndarray]], residual: Mapping[str, float]
) -> float | None:
    """Return the mass [kg] on the last link of two standard errors of torque in one posture."""
    information = sum(
        float(np.mean((per_kg / residual[name]) ** 2))
        for name, (_, _, per_kg) in at_rest.items()
        if residual.get(name)
    )
    # Less is rounding: no torque depends on it.
    return TWO / information**0.5 if information > (TWO / HEAVIEST) ** 2 else None


def _dry_friction(model: IdentifiedModel, joint: str) -> float:
    """Return the friction of a joint that does not depend on speed [N m or N]."""
    columns = friction_columns(model, joint, SLOW * top_speed(model, joint))
    ends = sum(model.values[k] * (x[-1] - x[0]) / 2.0 for k, (_, x) in columns.items())
    return max(0.0, float(ends))


def _contact(model: IdentifiedModel, joint: str, ratio: float) -> float | None:
    """
    Return the torque of a joint that is called contact, None where the band is not known.

    ratio : to half the width of the band, here at its widest within the training range
    """
    terms = model.statistics.get('prediction_band', {}).get('joints', {}).get(joint)
    if not terms or not np.isfinite(ratio):
        return None
    seen = model.validity_range.get(joint, {})
    speed, acceleration = (max(map(abs, seen.get(name, (0.0,)))) for name in 'va')
    return float(
        ratio
        * (
            terms['constant']
            + terms['per_acceleration'] * acceleration
            + max(terms['near_reversal'], terms['per_speed'] * speed)
        )
    )
