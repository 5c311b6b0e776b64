"""
Kind of velocity: measured ones, or differentiated positions, whichever predicts best.

Measured velocities have less noise than differences of positions, and lag where a driver filters
them.  Which of both matters more is asked of the efforts: those of left-out stretches, behind one
filter.  The answer is a Finding, which the identification follows.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .evidence import Evidence
from .finding import Finding, NOTE
from ..errors import RecordingError
from ..identification.prepare.dataset import Dataset, read_dataset
from ..measurement.joints.observation import with_cutoff

SEEN = 0.005      # relative disagreement of velocities and positions: less changes no torque
FOREIGN = 0.5     # beyond which velocities are no worse copy of the motion, but another thing
BETTER = 1.05     # times the residual that the usual kind leaves: noise that differs makes less
NOT_USED, USED = 'velocity not used', 'velocity used'
CONTRADICT = 'velocity in another unit', 'velocity or position negated', 'wrong rate or stamps'
WORDS = 'predict left-out efforts better ({:.2g} against {:.2g} % relative residual)'


def by_best_velocity(data: Dataset, urdf: str, findings: Sequence[Finding],
                     evidence_of: Callable[[Dataset], Evidence]
                     ) -> tuple[Dataset, list[Finding]]:
    """
    Return the Dataset with the velocities that predict best, and Findings where it says so.

    data : as ``velocity: auto`` or the user chose; urdf : text of the description, '' for the
    recordings' own; findings : of the signals; evidence_of : the Evidence of a Dataset
    """
    seen = [o.summary['velocity_disagreement'] for o in data.observations
            if o.summary['velocity_disagreement'] is not None]
    if data.options.velocity != 'auto' or not seen or max(seen) < SEEN:
        return data, []
    measured = all(o.measured_velocity for o in data.observations)
    differ = f'differ by {100 * max(seen):.2g} % from the positions'
    usual = [] if measured else [_chosen(data, NOT_USED, 'are not used: they ' + differ, seen)]
    if max(seen) > FOREIGN or any(f.name in CONTRADICT for f in findings):
        return data, usual
    kind = 'differentiated' if measured else 'measured'
    other = replace(read_dataset(data.recordings, replace(data.options, velocity=kind),
                                 data.method.name, urdf, data.progress), options=data.options)
    try:
        here, there = _residuals((data, other), evidence_of)
    except RecordingError:  # too short for the filter of the other
        return data, usual
    if here < BETTER * there:
        return data, usual
    better = WORDS.format(100 * there, 100 * here)
    return other, [
        _chosen(data, NOT_USED, 'are not used: differentiated positions ' + better, seen)
        if measured else
        _chosen(data, USED, f'{differ}, and are used all the same: they {better}', seen)]


def _residuals(kinds: Sequence[Dataset], evidence_of: Callable[[Dataset], Evidence]
               ) -> list[float]:
    """Return the relative left-out residuals of Datasets of two ``kinds``, behind one filter."""
    cutoff = min(data.observations[0].summary['cutoff'] for data in kinds)
    return [evidence_of(data.observed(tuple(
        with_cutoff(o, cutoff) for o in data.observations))).base.relative for data in kinds]


def _chosen(data: Dataset, name: str, what: str, seen: Sequence[float]) -> Finding:
    return Finding(name, f'the measured velocities {what}', 'left-out residual with either',
                   100 * max(seen), '% of the velocities', data.robot.joint_names, NOTE,
                   'look for a filter of the velocities, or coarse positions, in the driver')


def saying_what_is_used(findings: Sequence[Finding], data: Dataset | None) -> list[Finding]:
    """Return the ``findings`` with what was done in reading ``data`` about velocities that lag."""
    if data is None:
        return list(findings)
    if data.options.velocity != 'auto':
        do = f'velocity: {data.options.velocity} is set'
    elif all(o.measured_velocity for o in data.observations):
        do = 'they are used: differentiated positions predict the efforts no better'
    else:
        do = 'positions are differentiated instead'
    return [replace(f, do=do) if f.name == 'velocity delayed' else f for f in findings]


def followed(options: Any, findings: Sequence[Finding]) -> Any:
    """Return ``options`` of a method that read velocities as the ``findings`` of a check say."""
    names = {f.name for f in findings}
    kind = ('differentiated' if NOT_USED in names else 'measured' if USED in names else
            options.velocity)
    return replace(options, velocity=kind)
