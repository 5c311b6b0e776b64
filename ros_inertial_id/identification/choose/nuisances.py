"""
Nuisances: what sensors do to the data, each estimated under a prior, always, with its error.

A delay of each joint, a gain of each and the zero of each encoder are columns beside all that a
model may have: friction of all laws and widths, without which they would explain a share of it.
Their priors are what such sensors do, so that nothing is all or nothing: what the data do not
show stays near zero, with the error of the prior. Their tails are heavy (Student's t): most
sensors are as their makers say, few are far off, and these are not drawn towards zero. Linear
solutions give all of them, with weights by what is left beside them: a wrong gain would hide in
residuals of its own making. The delay of all efforts, which is applied, has rounds of its own
(``time_offset``). A gain is one of what the other joints say of the same bodies, so its column is
the torque that the model predicts. Of a load the description decides: free bodies carry it
without a trace.
"""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .time_offset import DELAY_PRIOR, moving_columns
from ..prepare.dataset import Dataset
from ..reduce.described import described_bodies, less_described, measured_targets, USUAL_LOAD
from ..reduce.left_out import LeftOut, Weights
from ..reduce.model_columns import common_columns, ModelColumns
from ...measurement.joints.effort_source import scale_errors

DELAY_OF_ALL, DELAY_OF_JOINT, GAIN_OF_JOINT, ENCODER_ZERO, FLANGE_LOAD = (
    'delay of the efforts',
    'delay of a joint',
    'gain of a joint',
    'zero of an encoder',
    'load at the last link',
)
OF_JOINTS = DELAY_OF_JOINT, GAIN_OF_JOINT, ENCODER_ZERO
JOINT_DELAY_PRIOR = 0.001  # [s]: joints of one driver are filtered alike
ZERO_PRIOR = 0.00175  # [rad or m], a tenth of a degree: how encoders are referenced
HIDDEN_GAIN = 0.05  # standard error of a gain by which one of 1.1 is not seen (95 %)
UNKNOWN_SCALE = 0.2  # of efforts whose drive gain is of a catalogue, or of another unit
CONTRADICTED = 3.0  # standard errors of a calibration: farther off, it is not what it says
UNITS_OF_JOINTS = 's', '1', 'rad'
TAIL_FREEDOM = 3.0  # of Student's t, as of the delay of all efforts
TAIL_ROUNDS = 12  # until values far off are no longer drawn towards zero
REWEIGHTED = 2  # times: weights are by the residuals of the solution before
UNSHOWN = 1e-12  # of the precision of a prior: nothing is known
LEAST_WEIGHT = 1e-3  # of the standard deviation before: exact rows outweigh no others


@dataclass(frozen=True)
class Nuisance:
    """
    One thing that a sensor may do, as the recording shows it.

    what : of the names above; joint : '' for all; unit : of the numbers
    value, standard_error : under the prior; prior : standard deviation before the data
    score : by how many standard errors the data ask for it, other nuisances none
    applied : whether the model has it taken off
    """

    what: str
    joint: str
    unit: str
    value: float
    standard_error: float
    prior: float
    score: float
    applied: bool = False

    def entry(self) -> dict[str, Any]:
        """Return plain values for the model file."""
        return asdict(self)


@dataclass(frozen=True)
class SensorErrors:
    """
    Delay, gain and zero of each of n joints, none of which is taken off.

    joints : n names
    values, priors, scores : (3, n) of the three in this order, see Nuisance
    by_data : (3, n) standard errors without the prior of their own, inf where nothing shows them
    covariance : (3 n, 3 n) of the values in this order
    calibrated : whether the scales of the efforts are given, not usual ones
    """

    joints: tuple[str, ...]
    values: np.ndarray
    priors: np.ndarray
    scores: np.ndarray
    by_data: np.ndarray
    covariance: np.ndarray
    calibrated: bool

    def covariance_of(self, what: str) -> np.ndarray:
        """Return the covariance (n, n) of ``what`` is wrong with the joints, see OF_JOINTS."""
        count = len(self.joints)
        first = OF_JOINTS.index(what) * count
        return self.covariance[first : first + count, first : first + count]

    def values_of(self, what: str) -> np.ndarray:
        """Return the values (n,) of ``what`` is wrong with the joints, see OF_JOINTS."""
        return self.values[OF_JOINTS.index(what)]

    @property
    def scale_errors(self) -> np.ndarray:
        """
        Return the relative standard errors (n,) of the scale of each joint's efforts.

        That of its calibration, or what the recording shows, where that is CONTRADICTED.  A
        usual calibration is believed where the recording would show that it is none: of a joint
        that it does not show, beside others that it does, the scale is as good as unknown.
        """
        value, calibration = self.values_of(GAIN_OF_JOINT), self.priors[1]
        variance = np.diag(self.covariance_of(GAIN_OF_JOINT))
        shown = np.sqrt(value**2 + variance)
        errors = np.where(abs(value) > CONTRADICTED * calibration, shown, calibration)
        # By the data, and a scale that nobody knows.
        unknown = 1.0 / np.hypot(1.0 / self.by_data[1], 1.0 / UNKNOWN_SCALE)
        return np.where(self.untested, np.maximum(errors, unknown), errors)

    @property
    def untested(self) -> np.ndarray:
        """Return whether (n,) the recording shows no usual gain, beside those that it does."""
        hidden = self.by_data[1] > HIDDEN_GAIN
        if self.calibrated or hidden.all():
            return np.zeros_like(hidden)
        return hidden

    @cached_property
    def entries(self) -> list[Nuisance]:
        """Return the Nuisances, joint by joint of each kind."""
        errors = np.sqrt(np.diag(self.covariance)).reshape(self.values.shape)
        errors[1] = np.where(self.untested, self.scale_errors, errors[1])
        out = []
        for k, (what, unit) in enumerate(zip(OF_JOINTS, UNITS_OF_JOINTS)):
            numbers = (self.values[k], errors[k], self.priors[k], self.scores[k])
            for joint, *of_joint in zip(self.joints, *np.array(numbers).tolist()):
                out.append(Nuisance(what, joint, unit, *of_joint))
        return out


def nuisances(
    data: Dataset, model_columns: ModelColumns, errors: SensorErrors | None = None
) -> tuple[Nuisance, ...]:
    """
    Return the Nuisances of efforts and positions, by data whose efforts are aligned.

    model_columns : of the rows of ``data``, all columns that a model may have
    errors : of ``sensor_errors`` of the same, found if not given
    """
    if errors is None:
        errors = sensor_errors(data, model_columns)
    if errors is None:
        return ()
    out = [*_of_all(data), *errors.entries]
    if data.robot.inertias.any():
        out.append(_load(data, model_columns))
    return tuple(out)


def _of_all(data):
    """Return the Nuisance that is the delay of all efforts, if it was looked for."""
    summary = data.first.summary
    value, error = summary.time_offset_found, summary.time_offset_error
    if value is None or error is None:
        return []
    score = abs(value) / max(error, 1e-300)
    return [Nuisance(DELAY_OF_ALL, '', 's', value, error, DELAY_PRIOR, score, applied=True)]


def sensor_errors(data: Dataset, model_columns: ModelColumns) -> SensorErrors | None:
    """Return the SensorErrors of joints, see ``nuisances``, None without rows of joints."""
    if not model_columns.elements.joints:
        return None
    names, elements = model_columns.names, model_columns.elements
    column_indices = moving_columns(data, model_columns)
    params = model_columns.solution(model_columns.whole, column_indices)
    fitted = model_columns.with_fitted_torque(params)
    count = len(names)
    targets = np.zeros((count, elements.count + 1, 3 * count + 1))
    for j in range(count):
        targets[j, elements.rate, j] = -1.0
        targets[j, elements.count, count + j] = 1.0
        targets[:, elements.slope(j), 2 * count + j] = -1.0
    targets[:, elements.measured, -1] = 1.0
    priors = np.repeat([[JOINT_DELAY_PRIOR], [1.0], [ZERO_PRIOR]], count, axis=1)
    priors[1] = scale_errors(data.options, data.first.summary.effort_kind, count)
    found = _solved(fitted, column_indices, targets, priors.ravel())
    values, covariance, scores, by_data = found
    shape = priors.shape
    return SensorErrors(
        tuple(names),
        values.reshape(shape),
        priors,
        scores.reshape(shape),
        by_data.reshape(shape),
        covariance,
        bool(data.options.calibration),
    )


def _solved(model_columns, column_indices, targets, priors):
    """
    Return what the first m ``targets`` stand for, see SensorErrors.

    That is values (m,), covariance (m, m), scores (m,), errors (m,) by the data.
    targets : (groups, e, m + 1), what was measured last; priors : (m,) standard deviations
    """
    columns, measured = _beside(model_columns, column_indices, targets, priors)
    scores = np.abs(measured @ columns) / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    values, covariance, by_data = _under_heavy_tails(columns, measured)
    for _ in range(REWEIGHTED):
        taken_off = targets @ np.append(-priors * values, 1.0)[:, None]
        model_columns = _weighed(model_columns, column_indices, taken_off)
        columns, measured = _beside(model_columns, column_indices, targets, priors)
        values, covariance, by_data = _under_heavy_tails(columns, measured)
    return priors * values, covariance * np.outer(priors, priors), scores, priors * by_data


def _beside(model_columns, column_indices, targets, priors):
    """Return columns (r, m), in units of ``priors``, and what was measured (r,), others off."""
    unknowns, k = len(model_columns.prior.unit), len(column_indices)
    stacked = model_columns.stacked(range(model_columns.count), targets)
    targets_and_prior = np.arange(unknowns, len(stacked.products))
    R = stacked.triangle_of(np.append(column_indices, targets_and_prior))
    beyond = R[k:, k:]
    return beyond[:, :-2] * priors, beyond[:, -2:].sum(1)


def _under_heavy_tails(columns, measured):
    """
    Return the mode (m,) and covariance (m, m) of unknowns under priors of Student's t.

    columns : (r, m) in units of the priors' scales; measured : (r,)
    A t is a normal prior whose precision is not known: it follows from what was found (EM).
    Third are the errors (m,) of each without the prior of its own.
    """
    precision = np.ones(columns.shape[1])
    target = np.append(measured, np.zeros(len(precision)))
    for _ in range(TAIL_ROUNDS):
        rows = np.vstack([columns, np.diag(np.sqrt(precision))])
        values = np.linalg.lstsq(rows, target, rcond=None)[0]
        covariance = np.linalg.inv(rows.T @ rows)
        variance = np.diag(covariance)
        of_data = np.maximum(1.0 / variance - precision, UNSHOWN)
        precision = (TAIL_FREEDOM + 1.0) / (TAIL_FREEDOM + values**2 + variance)
    return values, covariance, 1.0 / np.sqrt(of_data)


def _weighed(model_columns: LeftOut, column_indices: np.ndarray, targets: np.ndarray) -> LeftOut:
    """Return the LeftOut with weights by what ``targets`` (groups, e, 1) leave of its rows."""
    stretches = np.arange(model_columns.count)
    stacked = model_columns.stacked(stretches, targets)
    x = model_columns.solution(stacked, column_indices)[:, None]
    squares = model_columns.errors(x, stretches, targets)[:, :, 0].sum(0)
    correlation = np.array([model_columns.correlation_rows[name] for name in model_columns.names])
    rows = np.maximum(model_columns.rows.sum(0), 1.0)
    sd = np.maximum(np.sqrt(squares / rows * correlation), LEAST_WEIGHT * model_columns.sd)
    return model_columns.with_weights(Weights(sd, model_columns.correlation_rows))


def _load(data, model_columns):
    """Return the Nuisance that is the mass of a load, bodies but the last as described."""
    plain = common_columns(model_columns.wide)
    judge = described_bodies(model_columns, plain, link=-1)
    targets = measured_targets(model_columns.elements, len(model_columns.names))
    targets = less_described(model_columns.elements, targets, model_columns.gravity)
    stacked = judge.stacked(range(judge.count), targets)
    unknowns = len(judge.prior.unit)
    solution = judge.solved_targets(stacked)[:, 0]
    inverse = np.linalg.inv(stacked.triangle[:unknowns, :unknowns])
    mass = unknowns - len(USUAL_LOAD)
    error = float(judge.prior.unit[mass] * np.linalg.norm(inverse[mass]))
    prior, value = float(USUAL_LOAD[0]), float(solution[mass])
    score = abs(value) / max(error, 1e-300)
    return Nuisance(FLANGE_LOAD, data.robot.link_names[-1], 'kg', value, error, prior, score)
