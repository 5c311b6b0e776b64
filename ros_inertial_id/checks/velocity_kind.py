"""
Kind of velocity: measured ones, or differentiated positions, whichever predicts best.

Measured velocities have less noise than differences of positions, and lag where a driver filters
them.  Which of both matters more is asked of the efforts: those of left-out stretches, behind one
filter.  The answer is a Finding, which the identification follows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .finding import Finding, names_of
from .finding_kinds import found
from .thresholds import VELOCITY_BETTER, VELOCITY_DISAGREES, VELOCITY_FOREIGN
from ..dynamics.friction import LAWS
from ..errors import RecordingError
from ..identification.choose.choice import log_ratio
from ..identification.prepare.dataset import Dataset
from ..identification.reduce.model_columns import ModelColumns
from ..identification.reduce.structure import structure_of
from ..identification.reduce.wide_factor import wide_factor
from ..measurement.joints.observation import with_cutoff

COMPARED_SAMPLES = 800  # that tell which kind is better
PLAIN = {
    'friction': tuple(
        name for name, law in LAWS.items() if law.always or law.has_width and law.tried
    ),
    'coulomb_width': 0.03,
}
NOT_USED, USED = 'velocity not used', 'velocity used'
# Velocities of which a signal check has said that they are wrong.
CONTRADICTED = {
    'velocity in another unit',
    'velocity or position negated',
    'wrong rate or stamps',
}


@dataclass(frozen=True)
class VelocityChoice:
    """
    Which velocities are used.

    data : with those that predict best; other : with the other ones, None where it was not asked
    findings : what is said of it
    """

    data: Dataset
    other: Dataset | None
    findings: tuple[Finding, ...]


def by_best_velocity(data: Dataset, signals: Sequence[Finding]) -> VelocityChoice:
    """
    Return the VelocityChoice of a Dataset.

    data : of one recording, as ``velocity: auto`` or the user chose; signals : their Findings
    """
    as_read = VelocityChoice(data, None, ())
    disagreement = data.first.summary.velocity_disagreement
    if data.options.velocity != 'auto' or disagreement is None:
        return as_read
    if disagreement < VELOCITY_DISAGREES:
        return as_read
    usual = _said_of_usual(data)
    contradicted = CONTRADICTED & names_of(signals)
    if disagreement > VELOCITY_FOREIGN or contradicted:
        return VelocityChoice(data, None, usual)
    alternative = _with_velocity(data, _other_kind(data))
    try:
        more, error = _residual_beside(data, alternative)
    except RecordingError:  # too short for the filter of the other
        return VelocityChoice(data, alternative, usual)
    if more < max(np.log(VELOCITY_BETTER), error):
        return VelocityChoice(data, alternative, usual)
    return VelocityChoice(alternative, data, _said_of_other(data, more))


def _other_kind(data):
    if data.first.measured_velocity:
        return 'differentiated'
    return 'measured'


def _differ(data):
    return f'differ by {100 * data.first.summary.velocity_disagreement:.2g} % from the positions'


def _said(data, name, why):
    amount = 100 * data.first.summary.velocity_disagreement
    return (found(name, data.robot.joint_names, amount, why=why),)


def _said_of_usual(data):
    """Return the Findings where measured velocities disagree and are not used."""
    if data.first.measured_velocity:
        return ()
    worst = data.first.summary.velocity_of
    return _said(data, NOT_USED, f'those of {worst} {_differ(data)}')


def _said_of_other(data, more):
    """Return the Findings where the velocities that are not usual predict better."""
    percent = 100 * np.exp(-more)
    better = (
        f'predict the efforts better in cross-validation ({percent:.2g} % of the residual that '
        'the others leave)'
    )
    if data.first.measured_velocity:
        return _said(data, NOT_USED, f'differentiated positions {better}')
    return _said(data, USED, f'{_differ(data)}, and are used all the same: they {better}')


def _residual_beside(data: Dataset, other: Dataset) -> tuple[float, float]:
    """
    Return the logarithm of left-out residuals of ``data`` over those of the ``other``, its error.

    Both behind one filter, in the same stretches, with the same weights of rows.
    """
    cutoff = min(data.first.summary.cutoff, other.first.summary.cutoff)
    here = data.observed((with_cutoff(data.first, cutoff),))
    there = other.observed((with_cutoff(other.first, cutoff),))
    columns = data.method.parameters(data.robot, replace(data.options, **PLAIN))
    structure = structure_of(data.method, data.robots, columns)
    every = -(-data.samples(training=True) // COMPARED_SAMPLES)
    plain = np.arange(len(structure.base))
    gravity = data.robot.gravity_base
    rows = wide_factor(here, structure, every, elements=False)
    model = ModelColumns(rows, gravity, plain)
    rows_of_other = wide_factor(there, structure, every, rows, elements=False)
    model_of_other = ModelColumns(rows_of_other, gravity, plain, weights=model.weights)
    (errors,) = model.left_out([plain])
    (errors_of_other,) = model_of_other.left_out([plain])
    ratio, error = log_ratio(errors, errors_of_other)
    return 0.5 * ratio, 0.5 * error


def differentiated(choice: VelocityChoice) -> Dataset:
    """Return the Dataset of a ``choice`` with differentiated positions."""
    if not choice.data.first.measured_velocity:
        return choice.data
    if choice.other is not None:  # of the other kind
        return choice.other
    return _with_velocity(choice.data, 'differentiated')


def _with_velocity(data: Dataset, kind: str) -> Dataset:
    """Return the Dataset of one recording with velocities of another kind."""
    options: Any = replace(data.options, velocity=kind)
    return data.observed([data.method.observe(data.recordings[0], data.robot, options)])


def saying_what_is_used(findings: Sequence[Finding], data: Dataset | None) -> list[Finding]:
    """Return the ``findings`` with what was done in reading ``data`` about velocities that lag."""
    if data is None:
        return list(findings)
    out = []
    for finding in findings:
        if finding.name == 'velocity delayed':
            finding = replace(finding, do=_what_is_used(data))
        out.append(finding)
    return out


def _what_is_used(data: Dataset) -> str:
    if data.options.velocity != 'auto':
        return f'velocity: {data.options.velocity} is set'
    if data.first.measured_velocity:
        return 'they are used: differentiated positions predict the efforts no better'
    return 'positions are differentiated instead'


def followed(options: Any, findings: Sequence[Finding]) -> Any:
    """Return ``options`` of a method that read velocities as the ``findings`` of a check say."""
    names = names_of(findings)
    if NOT_USED in names:
        return replace(options, velocity='differentiated')
    if USED in names:
        return replace(options, velocity='measured')
    return options
