"""
Time offset: by how much efforts are stamped later than the motion they belong to.

Another bus, or a filter in the drive, lets torques arrive late; a model fitted to both explains
less, and wrongly.  To first order a late torque lacks its rate times the offset: one more column
of the wide factor, beside friction of all widths and a tilt of gravity, which is chosen later and
without which an offset would explain a share of it.  Commands act late as if friction pushed: of
them the column is the rate of what is commanded, and no friction is below zero.

That of measured efforts is always estimated, under a prior of what sensors do, and always applied:
a large one by reading the efforts at other times, in rounds, the rest by algebra.  Its error comes
from leaving out stretches of the motion (jackknife, Efron 1982): residuals that are not white, or
a model that is not whole, do not make it look sure.  Noise of the rate makes an offset too small;
the rounds find what is left of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..prepare.dataset import Dataset
from ..reduce.model_columns import ModelColumns, resting_columns
from ..reduce.structure import Structure
from ..reduce.wide_factor import WideFactor
from ...dynamics.friction import never_negative
from ...estimation.least_squares import nonnegative_solution, standard_errors
from ...estimation.r_factors import of_columns
from ...measurement.joints.observation import with_cutoff, with_time_offset
from ...methods.capabilities import JointTorques

DELAY_PRIOR = 0.005  # [s], standard deviation: some cycles of a bus, a filter in a drive
LARGEST_DELAY = 0.05  # [s] that is looked for on both sides
READING_ROUNDS = 3  # of efforts read at other times
SETTLED = 0.05  # of the offset, that another round may still change
LINEAR = 0.02  # of a period of the cutoff: so little late is a torque less its rate
COMMAND_CUTOFF = 1.5  # times where the motion ends: cutoff at which the delay of commands shows


@dataclass(frozen=True)
class TimeOffset:
    """An offset [s] and its standard error [s]."""

    value: float
    standard_error: float


def aligned(
    data: Dataset,
    systems: ModelColumns,
    reduced: Callable[[Dataset, Structure], WideFactor],
) -> tuple[Dataset, ModelColumns]:
    """
    Return Dataset and ModelColumns with efforts read where the motion is.

    systems : of ``data``; reduced : gives the WideFactor of other data.  Only joints' efforts are
    aligned.  The summary of every observation says what was found, with its error.
    """
    if not isinstance(data.method, JointTorques) or not data.options.find_time_offset:
        return data, systems
    if systems.count < 2:
        return data, systems
    if data.first.effort_source.is_commanded:
        return _aligned_commands(data, systems, reduced)
    return _aligned_efforts(data, systems, reduced)


def _aligned_efforts(data, systems, reduced):
    """Return what ``aligned`` does of measured efforts."""
    linear = LINEAR / data.first.summary.cutoff
    applied, offset = 0.0, _posterior(data, systems, 0.0)
    for _ in range(READING_ROUNDS):
        if abs(offset.value - applied) < linear:
            break
        data, systems = _read_later(data, offset.value - applied, systems, reduced)
        applied = offset.value
        offset = _posterior(data, systems, applied)
    rest = offset.value - applied
    systems = systems.of_rows(systems.wide.with_earlier_efforts(rest), systems.weights)
    return _noted(_with_offset(data, rest), offset), systems


def _posterior(data, systems, applied):
    """Return the TimeOffset under the prior of data that are read ``applied`` [s] later."""
    rest = find_time_offset(data, systems)
    share = DELAY_PRIOR**2 / (DELAY_PRIOR**2 + rest.standard_error**2)
    value, error = share * (applied + rest.value), np.sqrt(share) * rest.standard_error
    if abs(value) > LARGEST_DELAY:
        value = 0.0
    return TimeOffset(value, float(error))


def _aligned_commands(data, systems, reduced):
    """
    Return what ``aligned`` does of commands, whose delay is sought behind a filter of its own.

    Friction explains all of a delay but its jerk, which noise of the positions hides.
    """
    asked = data
    motion_ends_at = data.first.summary.motion_ends_at
    if motion_ends_at:
        cutoff = COMMAND_CUTOFF * motion_ends_at
        data = data.observed([with_cutoff(o, cutoff) for o in data.observations])
        systems = systems.of_rows(reduced(data, systems.wide.structure))
    total, rest = 0.0, find_time_offset(data, systems)
    for _ in range(READING_ROUNDS):
        if abs(rest.value) < rest.standard_error or abs(total + rest.value) > LARGEST_DELAY:
            break
        total += rest.value
        data, systems = _read_later(data, rest.value, systems, reduced)
        if abs(rest.value) < SETTLED * abs(total):
            break
        rest = find_time_offset(data, systems)
    data, systems = _read_later(asked, total, systems, reduced)
    return _noted(data, TimeOffset(total, rest.standard_error)), systems


def _read_later(data, offset, systems, reduced):
    """Return Dataset and ModelColumns of efforts read an ``offset`` [s] later."""
    data = _with_offset(data, offset)
    return data, systems.of_rows(reduced(data, systems.wide.structure))


def _with_offset(data, offset):
    return data.observed([with_time_offset(o, offset) for o in data.observations])


def _noted(data, offset):
    """Return the Dataset whose summaries say what ``offset`` was found."""
    notes = {
        'time_offset_found': offset.value,
        'time_offset_error': offset.standard_error,
    }
    observations = [replace(o, summary=replace(o.summary, **notes)) for o in data.observations]
    return replace(data, observations=tuple(observations))


def find_time_offset(data: Dataset, systems: ModelColumns) -> TimeOffset:
    """Return the TimeOffset by the data alone, beside friction of all widths and a tilt."""
    effort = data.first.effort_source
    column_indices = moving_columns(data, systems)
    brakes = np.zeros(len(column_indices), dtype=bool)
    if effort.brakes_only:  # unknown damping passes for friction, and is large
        brakes = np.array([_brakes(systems, column) for column in column_indices])
    offsets = [
        _least_squares_offset(systems, stacked, column_indices, brakes)
        for stacked in (systems.whole, *systems.without_each)
    ]
    error = standard_errors(np.array(offsets[1:])[:, None])[0]
    return TimeOffset(offsets[0], float(error))


def moving_columns(data: Dataset, systems: ModelColumns) -> np.ndarray:
    """Return the columns (k,) of all that moved, and the tilts where the mounting is not given."""
    resting = resting_columns(systems.wide)
    moving = [k for k, p in enumerate(systems.parameters) if p.name not in resting]
    tilts = [] if data.options.mounting else [systems.size, systems.size + 1]
    return np.array(moving + tilts)


def _brakes(systems, column):
    """Return whether what a ``column`` stands for cannot be negative."""
    if column >= systems.size:
        return False
    parameter = systems.parameters[column]
    return bool(parameter.law) and never_negative(parameter)


def _least_squares_offset(systems, stacked, column_indices, brakes):
    """
    Return the offset [s] of least residual of a ``stacked`` triangle.

    column_indices : (k,) of what is beside it; brakes : (k,) bool which are not below zero
    """
    size, free = len(systems.prior.unit), int((~brakes).sum())
    order = np.concatenate([column_indices[~brakes], column_indices[brakes]])
    R = of_columns(stacked, np.append(order, size + np.arange(3)))
    braking, rate = R[free:, free:-3], R[free:, -3]
    target = R[free:, -2:].sum(1)
    if not brakes.any():
        return float(target[0] / rate[0]) if rate[0] else 0.0
    solution = nonnegative_solution(np.column_stack([braking, rate, -rate]), target)
    return float(solution[-2] - solution[-1])
