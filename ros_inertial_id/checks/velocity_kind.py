"""
Kind of velocity: measured ones, or differentiated positions, whichever predicts best.

Measured velocities have less noise than differences of positions, and lag where a driver filters
them.  Which of both matters more is asked of the efforts: those of left-out stretches, behind one
filter.  The answer is a Finding, which the identification follows.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .finding import Finding, NOTE
from .thresholds import VELOCITY_BETTER, VELOCITY_FOREIGN, VELOCITY_SEEN
from ..dynamics.friction import LAWS
from ..errors import RecordingError
from ..identification.choose.choice import log_ratio
from ..identification.prepare.dataset import Dataset
from ..identification.reduce.structure import structure_of
from ..identification.reduce.systems import Systems
from ..identification.reduce.wide_factor import wide_factor
from ..measurement.joints.observation import with_cutoff

ENOUGH = 800  # samples that tell which kind is better
PLAIN = {
    'friction': tuple(
        name for name, law in LAWS.items() if law.always or law.has_width and law.tried
    ),
    'coulomb_width': 0.03,
}
NOT_USED, USED = 'velocity not used', 'velocity used'
CONTRADICT = 'velocity in another unit', 'velocity or position negated', 'wrong rate or stamps'


def by_best_velocity(
    data: Dataset, findings: Sequence[Finding]
) -> tuple[Dataset, Dataset | None, list[Finding]]:
    """
    Return the Dataset with the velocities that predict best, the other one, and Findings.

    data : of one recording, as ``velocity: auto`` or the user chose; findings : of the signals
    The other Dataset is None where it was not asked.
    """
    summary, measured = data.observations[0].summary, data.observations[0].measured_velocity
    seen = summary['velocity_disagreement']
    if data.options.velocity != 'auto' or seen is None or seen < VELOCITY_SEEN:
        return data, None, []

    def said(name: str, what: str) -> list[Finding]:
        return [
            Finding(
                name,
                f'the measured velocities {what}',
                'left-out residual with either',
                100 * seen,
                '% of the velocities',
                data.robot.joint_names,
                NOTE,
                'look for a filter of the velocities, or coarse positions, in the driver',
            )
        ]

    differ = f'differ by {100 * seen:.2g} % from the positions'
    usual = (
        []
        if measured
        else said(NOT_USED, f'are not used: those of {summary["velocity_of"]} {differ}')
    )
    if seen > VELOCITY_FOREIGN or any(f.name in CONTRADICT for f in findings):
        return data, None, usual
    other = _with_velocity(data, 'differentiated' if measured else 'measured')
    try:
        more, error = _residual_beside(data, other)
    except RecordingError:  # too short for the filter of the other
        return data, other, usual
    if more < max(np.log(VELOCITY_BETTER), error):
        return data, other, usual
    better = (
        f'predict the efforts better in cross-validation ({100 * np.exp(-more):.2g} % of '
        'the residual that the others leave)'
    )
    return (
        other,
        data,
        (
            said(NOT_USED, 'are not used: differentiated positions ' + better)
            if measured
            else said(USED, f'{differ}, and are used all the same: they {better}')
        ),
    )


def _residual_beside(data: Dataset, other: Dataset) -> tuple[float, float]:
    """
    Return the logarithm of left-out residuals of ``data`` over those of the ``other``, its error.

    Both behind one filter, in the same stretches, with the same weights of rows.
    """
    cutoff = min(one.observations[0].summary['cutoff'] for one in (data, other))
    here, there = (
        one.observed((with_cutoff(one.observations[0], cutoff),)) for one in (data, other)
    )
    columns = data.method.parameters(data.robot, replace(data.options, **PLAIN))
    structure = structure_of(data.method, data.robots, columns)
    every, places = -(-data.samples(training=True) // ENOUGH), np.arange(len(structure.base))
    mine = wide_factor(here, structure, every, gravity=False)
    one = Systems(mine, data.robot.gravity_base, places)
    two = Systems(
        wide_factor(there, structure, every, mine, gravity=False),
        data.robot.gravity_base,
        places,
        weights=one.weights,
    )
    ratio, error = log_ratio(one.left_out([places])[0], two.left_out([places])[0])
    return 0.5 * ratio, 0.5 * error


def differentiated(data: Dataset, other: Dataset | None) -> Dataset:
    """Return ``data`` with differentiated positions, the ``other`` one where that has them."""
    for one in (data, other):
        if one is not None and not one.observations[0].measured_velocity:
            return one
    return _with_velocity(data, 'differentiated')


def _with_velocity(data: Dataset, kind: str) -> Dataset:
    """Return the Dataset of one recording with velocities of another kind."""
    return data.observed(
        [data.method.observe(data.recordings[0], data.robot, replace(data.options, velocity=kind))]
    )


def saying_what_is_used(findings: Sequence[Finding], data: Dataset | None) -> list[Finding]:
    """Return the ``findings`` with what was done in reading ``data`` about velocities that lag."""
    if data is None:
        return list(findings)
    do = (
        f'velocity: {data.options.velocity} is set'
        if data.options.velocity != 'auto'
        else 'they are used: differentiated positions predict the efforts no better'
        if data.observations[0].measured_velocity
        else 'positions are differentiated instead'
    )
    return [replace(f, do=do) if f.name == 'velocity delayed' else f for f in findings]


def followed(options: Any, findings: Sequence[Finding]) -> Any:
    """Return ``options`` of a method that read velocities as the ``findings`` of a check say."""
    names = {f.name for f in findings}
    kind = (
        'differentiated'
        if NOT_USED in names
        else 'measured'
        if USED in names
        else options.velocity
    )
    return replace(options, velocity=kind)
