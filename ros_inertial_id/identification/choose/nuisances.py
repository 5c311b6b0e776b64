"""
Nuisances: what sensors do to the data, each estimated under a prior, always, with its error.

A delay of each joint, a gain of each and the zero of each encoder are columns beside all that a
model may have: friction of all laws and widths, without which they would explain a share of it.
Their priors are what such sensors do, so that nothing is all or nothing: what the data do not show
stays near zero, with the error of the prior.  One linear solution gives all of them; the delay of
all efforts, which is applied, has rounds of its own (``time_offset``).  A gain is one of what the
other joints say of the same bodies, so its column is the torque that the model predicts.  Of a
load the description decides: free bodies carry it without a trace.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .time_offset import DELAY_PRIOR, moving_columns
from ..prepare.dataset import Dataset
from ..reduce.described import described_bodies, less_described, measured_targets, USUAL_LOAD
from ..reduce.model_columns import common_columns, ModelColumns
from ...estimation.r_factors import of_columns
from ...measurement.joints.effort_source import SCALE_ERRORS

DELAY_OF_ALL, DELAY_OF_JOINT, GAIN_OF_JOINT, ENCODER_ZERO, FLANGE_LOAD = (
    'delay of the efforts',
    'delay of a joint',
    'gain of a joint',
    'zero of an encoder',
    'load at the last link',
)
OF_JOINTS = DELAY_OF_JOINT, GAIN_OF_JOINT, ENCODER_ZERO
JOINT_DELAY_PRIOR = 0.001  # [s]: joints of one driver are filtered alike
ZERO_PRIOR = 0.005  # [rad or m], a third of a degree: homing switches and marks


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


def nuisances(data: Dataset, model_columns: ModelColumns) -> tuple[Nuisance, ...]:
    """
    Return the Nuisances of efforts and positions, by data whose efforts are aligned.

    model_columns : of the rows of ``data``, all columns that a model may have
    """
    if not model_columns.elements.joints:
        return ()
    out = [*_of_all(data), *_of_joints(data, model_columns)]
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


def _of_joints(data, model_columns):
    """Return the Nuisances of each joint by one linear solution."""
    names, elements = model_columns.names, model_columns.elements
    column_indices = moving_columns(data, model_columns)
    params = model_columns.solution(model_columns.whole, column_indices)
    fitted = model_columns.with_fitted_torque(params)
    scale_error = SCALE_ERRORS[data.first.summary.effort_kind]
    kinds = (
        (DELAY_OF_JOINT, 's', JOINT_DELAY_PRIOR),
        (GAIN_OF_JOINT, '1', scale_error),
        (ENCODER_ZERO, 'rad', ZERO_PRIOR),
    )
    count = len(names)
    targets = np.zeros((count, elements.count + 1, 3 * count + 1))
    for j in range(count):
        targets[j, elements.rate, j] = -1.0
        targets[j, elements.count, count + j] = 1.0
        targets[:, elements.slope(j), 2 * count + j] = -1.0
    targets[:, elements.measured, -1] = 1.0
    priors = np.repeat([prior for *_, prior in kinds], count)
    values, errors, scores = _solved(fitted, column_indices, targets, priors)
    out = []
    for k, (what, unit, prior) in enumerate(kinds):
        for j, joint in enumerate(names):
            number = k * count + j
            numbers = values[number], errors[number], prior, scores[number]
            out.append(Nuisance(what, joint, unit, *numbers))
    return out


def _solved(model_columns, column_indices, targets, priors):
    """
    Return values, errors and scores (m,) of what the first m ``targets`` stand for.

    targets : (groups, e, m + 1), what was measured last; priors : (m,) standard deviations
    """
    unknowns, k = len(model_columns.prior.unit), len(column_indices)
    stacked = model_columns.stacked(range(model_columns.count), targets)
    R = of_columns(stacked, np.append(column_indices, np.arange(unknowns, stacked.shape[1])))
    beyond = R[k:, k:]
    columns, measured = beyond[:, :-2] * priors, beyond[:, -2:].sum(1)
    rows = np.vstack([columns, np.eye(len(priors))])
    solution = np.linalg.lstsq(rows, np.append(measured, np.zeros(len(priors))), rcond=None)[0]
    covariance = np.linalg.inv(rows.T @ rows)
    errors = np.sqrt(np.diag(covariance))
    scores = np.abs(measured @ columns) / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    return (priors * solution).tolist(), (priors * errors).tolist(), scores.tolist()


def _load(data, model_columns):
    """Return the Nuisance that is the mass of a load, bodies but the last as described."""
    plain = common_columns(model_columns.wide)
    judge = described_bodies(model_columns, plain, load=True)
    targets = measured_targets(model_columns.elements, len(model_columns.names))
    targets = less_described(model_columns.elements, targets, model_columns.gravity)
    stacked = judge.stacked(range(judge.count), targets)
    unknowns = len(judge.prior.unit)
    solution = judge.solved_targets(stacked)[:, 0]
    inverse = np.linalg.inv(stacked[:unknowns, :unknowns])
    mass = unknowns - len(USUAL_LOAD)
    error = float(judge.prior.unit[mass] * np.linalg.norm(inverse[mass]))
    prior, value = float(USUAL_LOAD[0]), float(solution[mass])
    score = abs(value) / max(error, 1e-300)
    return Nuisance(FLANGE_LOAD, data.robot.link_names[-1], 'kg', value, error, prior, score)
