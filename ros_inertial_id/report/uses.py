"""
Uses: what a model may be used for, joint by joint, with the numbers that decide it.

Page, terminal and JSON say these numbers, computed here once.  The rules:

- gravity compensation: the torque that holds the robot at rest is known (two standard errors,
  over postures within the training range) to a tenth of itself, or better than the joint's dry
  friction, which then holds what is missing;
- feedforward: the joint moved, and less than half of the measured torque remains as residual;
- contact: a torque that errors of the model reach once an hour, with the band of the prediction at
  its widest within the training range (as the observer of contact decides; noise adds to it);
- simulation: the links are physically consistent, and feedforward holds;
- payload: the mass on the last link whose torque is two standard errors in one posture.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .curves import friction_columns, top_speed
from .knowledge import best_fit, percent, posterior, significant
from ..checks.finding import DO_NOT_USE, WRONG
from ..checks.thresholds import HALF, TENTH
from ..dynamics.description import HEAVIEST
from ..dynamics.robot_model import RobotModel
from ..identification.identified_model import IdentifiedModel
from ..identification.judge.prediction import alarm_ratios
from ..identification.settings import robot_of_model
from ..measurement.joints.kinematic_state import AT_REST
from ..methods import METHODS
from ..methods.capabilities import JointTorques

GRAVITY, FEEDFORWARD, CONTACT, SIMULATION, PAYLOAD = (
    'gravity compensation', 'feedforward', 'contact', 'simulation', 'payload')
TWO = 2.0  # standard errors
POSTURES = 200  # at random within the training range
SLOW = 0.05  # of the largest speed, where friction is dry
LEAST_SHARE = 0.05  # of what is learned of a payload, for a joint to count
PER_HOUR = 1.0  # false alarms of contact, as the node's default
NAMED = 4  # joints in a sentence


@dataclass(frozen=True)
class JointUse:
    """
    One joint (or row of a sensor): numbers in its ``unit``, None where they are not known.

    residual, torque : RMS of residual and measured torque; percent : their ratio [%]
    holding, holding_error : RMS over postures of the torque at rest, and of two standard errors
    dry_friction; contact : smallest torque that is called contact; moved : in the training
    uses : {use: yes or no} of those that this kind of row has; a row of a sensor has none
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
    uses: dict[str, bool]
    moved: bool = True
    wrong: bool = False


@dataclass(frozen=True)
class Uses:
    """
    What a model is good for, joint by joint.

    where : what the residuals are of; payload [kg]; consistent : the links are
    stopped : whether the verdict is "do not use", and nothing else is said
    """

    joints: tuple[JointUse, ...]
    where: str
    payload: float | None
    consistent: bool
    stopped: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    def sentences(self) -> list[str]:
        """Return one sentence per use that this kind of model can have, five at the most."""
        shares = {j.name: f'{percent(j.percent)} %' for j in self.joints if j.percent is not None}
        if not any(j.uses for j in self.joints):  # what a sensor measures is no torque of a drive
            return [f'The residual {self.where} is {_span(shares, shares)} of what is measured.']
        if self.stopped:
            return [f'Uses: none, the verdict is "{DO_NOT_USE}"; correct what it names, then '
                    'identify again.']
        held = {j.name: f'{significant(j.holding_error, 2)} {j.unit}' for j in self.joints
                if j.holding_error is not None}
        contacts = sorted((j.contact, j.name, j.unit) for j in self.joints
                          if j.contact is not None and j.uses.get(CONTACT))
        out = []
        if held:
            out.append(self._sentence(GRAVITY, held, 'error of the holding torque',
                                      ' (two standard errors)'))
        out.append(self._sentence(FEEDFORWARD, shares, f'residual {self.where}',
                                  ' of the torque'))
        if contacts:
            words = [f'{significant(x, 2)} {unit} ({name})' for x, name, unit in
                     (contacts[0], contacts[-1])]
            out.append(f"Contact: smallest detectable torque {' to '.join(dict.fromkeys(words))}, "
                       f'at {PER_HOUR:g} false alarm per hour; noise of the live signals adds to '
                       'it.')
        if not self.consistent:
            out.append('Simulation: no, the links are not physically consistent; identify with '
                       '--consistent.')
        else:
            able = any(j.uses.get(SIMULATION) for j in self.joints)
            out.append(self._sentence(SIMULATION, {}, 'the links are physically consistent'
                                      + ', the residual is too large' * (not able), ''))
        if self.payload is not None and any(j.uses.get(PAYLOAD) for j in self.joints):
            out.append(f'Payload: smallest detectable mass {significant(self.payload, 2)} kg in '
                       'one posture (two standard errors); several postures detect less.')
        return out

    def _sentence(self, use: str, numbers: Mapping[str, str], words: str, more: str) -> str:
        """Return yes or no with the joints that differ, and the numbers (each with its unit)."""
        no = [j.name for j in self.joints if not j.uses[use]]
        yes = [j.name for j in self.joints if j.uses[use]]
        stood = {j.name: 'stood still' for j in self.joints if not j.moved}
        wrong = {j.name: 'its data are found wrong' for j in self.joints if j.wrong}
        answer = ('no' if not yes else
                  f'yes, except {_listed(no, {**stood, **numbers, **wrong})}' if no else 'yes')
        of = yes or [name for name in no if name not in wrong]
        shown = (f'{words} {_span(numbers, of)}'.rstrip() + more if of else
                 'the checks find the data of all joints wrong')
        return f'{use.capitalize()}: {answer}; {shown}.'


def _listed(names: Iterable[str], numbers: Mapping[str, str]) -> str:
    texts = [f'{name} ({numbers[name]})' if name in numbers else name for name in names]
    more = len(texts) - NAMED
    return ', '.join(texts[:NAMED]) + (f' and {more} more' if more > 0 else '')


def _span(numbers: Mapping[str, str], names: Iterable[str]) -> str:
    texts = sorted((numbers[n] for n in names if n in numbers), key=lambda x: float(x.split()[0]))
    if not texts or texts[0] == texts[-1]:
        return ''.join(texts[:1])
    low, high = texts[0].partition(' '), texts[-1]
    return f"{low[0] if high.endswith(f' {low[2]}') else texts[0]} to {high}"


def uses_of(model: IdentifiedModel) -> Uses:
    """Return the Uses of a ``model``."""
    (where, fit), consistent = best_fit(model), 'consistent' in model.statistics
    stopped = model.statistics.get('verdict', {}).get('word') == DO_NOT_USE
    wrong = {joint for finding in model.statistics.get('checks') or ()
             if finding['severity'] == WRONG for joint in finding['joints']}
    wrong |= set(fit['rms']) if stopped else set()
    robot = robot_of_model(model)
    method = METHODS[model.method]
    at_rest = _at_rest(model, method, robot) if isinstance(method, JointTorques) else {}
    payload, information = _payload(at_rest, fit['rms'])
    units = _units(model, robot)
    joints, ratios = [], dict(zip(fit['rms'], alarm_ratios(
        model.statistics.get('prediction_band') or {}, list(fit['rms']), PER_HOUR)))
    for name, residual in fit['rms'].items():
        torque = fit.get('measured_rms', {}).get(name)
        moved = np.ptp(model.validity_range.get(name, {}).get('q', (0.0, np.inf))) >= AT_REST
        share = residual / torque if torque and moved else None
        holding, error, _ = at_rest.get(name, (None, None, 0.0))
        dry, contact = _dry_friction(model, name), _contact(model, name, ratios[name])
        contact = contact if moved else None
        good = name not in wrong and share is not None and share < HALF
        known = error is not None and holding is not None and error <= max(TENTH * holding, dry)
        uses = {FEEDFORWARD: good, CONTACT: name not in wrong and contact is not None,
                SIMULATION: good and consistent} if name in robot.joint_names else {}
        if name in at_rest:
            uses |= {GRAVITY: name not in wrong and known,
                     PAYLOAD: name not in wrong and information.get(name, 0.0) > LEAST_SHARE}
        joints.append(JointUse(
            name, units[name], residual, torque,
            None if share is None else 100.0 * share, holding, error, dry, contact, uses,
            bool(moved), name in wrong))
    return Uses(tuple(joints), where, payload, consistent, stopped)


def _units(model: IdentifiedModel, robot: Any) -> dict[str, str]:
    """Return row group -> unit of its numbers, of all rows that the method has."""
    method = METHODS[model.method]
    state = method.random_state(robot, 1, np.random.default_rng(0))
    return {group.name: group.unit for block in method.regress(state, robot, model.parameters)
            for group in block.groups}


def _at_rest(model: IdentifiedModel, method: JointTorques[RobotModel, Any], robot: RobotModel
             ) -> dict[str, tuple[float, float, np.ndarray]]:
    """Return {joint: torque at rest (RMS), its two standard errors (RMS), torque of 1 kg (N,)}."""
    ranges = [model.validity_range.get(joint, {}).get('q', (0.0, 0.0))
              for joint in robot.joint_names]
    low, high = np.transpose(ranges)
    q = np.random.default_rng(0).uniform(low, high, (POSTURES, len(robot)))
    covariance = posterior(model)
    state = method.state_of(robot, q, np.zeros_like(q), np.zeros_like(q))
    blocks = list(method.regress(state, robot, model.parameters))
    mass = next((k for k, p in enumerate(model.parameters)
                 if p.owner == robot.link_names[-1] and p.unit == 'kg'), None)
    out = {}
    for k, group in enumerate(blocks[0].groups):
        W = np.zeros((POSTURES, len(model.parameters)))
        W[:, group.columns] = np.concatenate([block.groups[k].W for block in blocks])
        variance = ((W @ covariance) * W).sum(1)
        out[group.name] = (float(np.sqrt(np.mean((W @ model.values) ** 2))),
                           TWO * float(np.sqrt(max(np.mean(variance), 0.0))),
                           W[:, mass] if mass is not None else np.zeros(POSTURES))
    return out


def _payload(at_rest: Mapping[str, tuple[float, float, np.ndarray]], residual: Mapping[str, float]
             ) -> tuple[float | None, dict[str, float]]:
    """Return the mass [kg] of two standard errors in one posture, and each joint's share in it."""
    known = {name: float(np.mean((per_kg / residual[name]) ** 2))
             for name, (_, _, per_kg) in at_rest.items() if residual.get(name)}
    whole = sum(known.values())
    if whole < (TWO / HEAVIEST) ** 2:  # rounding: no torque depends on it
        return None, {}
    return TWO / whole ** 0.5, {name: own / whole for name, own in known.items()}


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
    return float(ratio * (terms['constant'] + terms['per_acceleration'] * acceleration
                          + max(terms['near_reversal'], terms['per_speed'] * speed)))
