"""
Time offset: by how much efforts are stamped later than the motion they belong to.

Another bus, or a filter in the drive, lets torques arrive late; a model fitted to both explains
less, and wrongly.  To first order a late torque lacks its rate times the offset: one more column
of the wide factor, beside friction of all widths and a tilt of gravity, which is chosen later and
without which an offset would explain a share of it.  Commands act late as if friction pushed: of
them the column is the rate of what is commanded, and no friction is below zero.

That of measured efforts is estimated under a prior of what sensors do, and applied in any case:
a large one by reading the efforts at other times, in rounds, the rest by algebra.  Its error comes
from leaving out stretches of the motion (jackknife, Efron 1982): residuals that are not white, or
a model that is not whole, do not make it look sure.  Noise of the rate makes an offset too small;
the rounds find what is left of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..prepare.dataset import Dataset
from ..reduce.model_columns import ModelColumns, resting_columns
from ..reduce.structure import Structure
from ..reduce.wide_factor import WideFactor
from ...dynamics.friction import LAWS, never_negative
from ...estimation.least_squares import nonnegative_solution, standard_errors
from ...measurement.joints.observation import with_cutoff
from ...methods.capabilities import LateEfforts

DELAY_PRIOR = 0.001  # [s], scale of Student's t: a cycle of a driver at 1 kHz
LARGEST_DELAY = 0.05  # [s] that is looked for on both sides
BELIEVED = 0.95  # of it: an offset at the end of what is looked for may be any
READING_ROUNDS = 3  # of efforts read at other times
SIGNIFICANT_OFFSET = 2.0  # standard errors, from which an offset is sought in rounds
SETTLED_OFFSET = 0.05  # of the offset, that another round may still change
LINEAR = 0.02  # of a period of the cutoff: so little late is a torque less its rate
COMMAND_CUTOFF = 1.5  # times where the motion ends: cutoff at which the delay of commands shows


@dataclass(frozen=True)
class TimeOffset:
    """An offset [s] and its standard error [s]."""

    value: float
    standard_error: float


def aligned(
    data: Dataset,
    model_columns: ModelColumns,
    reduced: Callable[[Dataset, Structure], WideFactor],
) -> tuple[Dataset, ModelColumns]:
    """
    Return Dataset and ModelColumns with efforts read where the motion is.

    model_columns : of ``data``; reduced : gives the WideFactor of other data
    The summary of every observation says what was found, with
    its error.
    """
    method = data.method
    if not isinstance(method, LateEfforts) or not method.finds_time_offset(data.options):
        return data, model_columns
    if model_columns.count < 2:
        return data, model_columns
    if data.first.effort_source.is_commanded:
        return _aligned_commands(data, model_columns, reduced)
    return _aligned_efforts(data, model_columns, reduced)


def _aligned_efforts(data, model_columns, reduced):
    """Return the result of ``aligned`` for measured efforts."""
    linear = LINEAR / data.first.summary.cutoff
    applied, rest = 0.0, find_time_offset(data, model_columns)
    least = SIGNIFICANT_OFFSET * rest.standard_error
    for _ in range(READING_ROUNDS):
        far = abs(applied + rest.value) > LARGEST_DELAY
        if far or abs(rest.value) < max(linear, least):
            break
        data, model_columns = _read_later(data, rest.value, model_columns, reduced)
        applied += rest.value
        rest = find_time_offset(data, model_columns)
        least = rest.standard_error  # noise of the rate made it too small
    offset = under_prior(TimeOffset(applied + rest.value, rest.standard_error))
    remaining = offset.value - applied
    if abs(remaining) > max(linear, offset.standard_error):
        data, model_columns = _read_later(data, remaining, model_columns, reduced)
        remaining = 0.0
    wide = model_columns.wide.with_earlier_efforts(remaining)
    model_columns = model_columns.of_rows(wide, model_columns.weights)
    return _noted(_with_offset(data, remaining), offset.standard_error), model_columns


def under_prior(offset: TimeOffset) -> TimeOffset:
    """
    Return mean and standard deviation of an ``offset`` by the data alone under the prior.

    Student's t with three degrees of freedom: most drivers stamp both alike, few are far off, and
    these are not drawn towards zero.
    """
    width = max(offset.standard_error, 1e-9)
    grid = np.linspace(-LARGEST_DELAY, LARGEST_DELAY, 1001)
    near = offset.value + width * np.linspace(-6.0, 6.0, 241)
    delay = np.unique(np.concatenate([grid, near[np.abs(near) < LARGEST_DELAY]]))
    log_likelihood = -0.5 * ((delay - offset.value) / width) ** 2
    log_prior = -2.0 * np.log1p((delay / DELAY_PRIOR) ** 2 / 3.0)
    density = log_likelihood + log_prior
    weight = np.exp(density - density.max()) * np.gradient(delay)
    weight /= weight.sum()
    mean = float(weight @ delay)
    error = float(np.sqrt(weight @ (delay - mean) ** 2))
    if abs(mean) > BELIEVED * LARGEST_DELAY:  # nothing is applied, and its size is not known
        return TimeOffset(0.0, LARGEST_DELAY)
    return TimeOffset(mean, error)


def _aligned_commands(data, model_columns, reduced):
    """
    Return the result of ``aligned`` for commands: their delay is sought behind its own filter.

    Friction explains all of a delay but its jerk, which noise of the positions hides.
    """
    asked = data
    motion_ends_at = data.first.summary.motion_ends_at
    if motion_ends_at:
        cutoff = COMMAND_CUTOFF * motion_ends_at
        data = data.observed([with_cutoff(o, cutoff) for o in data.observations])
        model_columns = model_columns.of_rows(reduced(data, model_columns.wide.structure))
    total, rest = 0.0, find_time_offset(data, model_columns)
    for _ in range(READING_ROUNDS):
        if abs(rest.value) < rest.standard_error or abs(total + rest.value) > LARGEST_DELAY:
            break
        total += rest.value
        data, model_columns = _read_later(data, rest.value, model_columns, reduced)
        if abs(rest.value) < SETTLED_OFFSET * abs(total):
            break
        rest = find_time_offset(data, model_columns)
    data, model_columns = _read_later(asked, total, model_columns, reduced)
    return _noted(data, rest.standard_error), model_columns


def aligned_by_laws(model_columns: ModelColumns) -> tuple[TimeOffset, ModelColumns]:
    """
    Return how much later commands act than was found, and the ModelColumns read so much later.

    model_columns : of the laws of a model alone.  Beside friction of all widths a delay is a
    compromise: stiction explains a share of it that a model without stiction has to leave to it.
    """
    at_rest = resting_columns(model_columns.wide)
    moving = np.flatnonzero([p.name not in at_rest for p in model_columns.parameters])
    brakes = np.array([_brakes(model_columns, column) for column in moving])
    total = error = 0.0
    for _ in range(READING_ROUNDS):
        offsets = [
            _least_squares_offset(model_columns, stacked, moving, brakes)
            for stacked in (model_columns.whole, *model_columns.without_each)
        ]
        error = float(standard_errors(np.array(offsets[1:])[:, None])[0])
        total += offsets[0]
        wide = model_columns.wide.with_earlier_efforts(offsets[0])
        model_columns = ModelColumns(wide, model_columns.given)  # with weights of its own
        if abs(offsets[0]) < SETTLED_OFFSET * abs(total):
            break
    return TimeOffset(total, error), model_columns


def _read_later(data, offset, model_columns, reduced):
    """Return Dataset and ModelColumns of efforts read an ``offset`` [s] later."""
    data = _with_offset(data, offset)
    return data, model_columns.of_rows(reduced(data, model_columns.wide.structure))


def _with_offset(data, offset):
    later: Any = data.method
    return data.observed([later.with_time_offset(o, offset) for o in data.observations])


def _noted(data, standard_error):
    """Return the Dataset whose summaries say what offset was found, beyond the one given."""
    observations = []
    for observation in data.observations:
        found = observation.summary.time_offset - data.options.time_offset
        summary = replace(
            observation.summary, time_offset_found=found, time_offset_error=standard_error
        )
        observations.append(replace(observation, summary=summary))
    return replace(data, observations=tuple(observations))


def find_time_offset(data: Dataset, model_columns: ModelColumns) -> TimeOffset:
    """Return the TimeOffset by the data alone, beside friction of all widths and a tilt."""
    effort = data.first.effort_source
    column_indices = moving_columns(data, model_columns)
    brakes = np.zeros(len(column_indices), dtype=bool)
    if effort.brakes_only:  # unknown damping passes for friction, and is large
        brakes = np.array([_brakes(model_columns, column) for column in column_indices])
    offsets = [
        _least_squares_offset(model_columns, stacked, column_indices, brakes)
        for stacked in (model_columns.whole, *model_columns.without_each)
    ]
    error = standard_errors(np.array(offsets[1:])[:, None])[0]
    return TimeOffset(offsets[0], float(error))


def moving_columns(data: Dataset, model_columns: ModelColumns) -> np.ndarray:
    """
    Return the columns (k,) of all that moved, and the tilts where the mounting is not given.

    Without harmonics of a turn: that many columns of the position take what a zero of it is.
    """
    absent = resting_columns(model_columns.wide)
    absent.update(
        p.name for p in model_columns.parameters if p.law in LAWS and LAWS[p.law].harmonic
    )
    moving = [p.name not in absent for p in model_columns.parameters]
    tilt_free = not data.options.mounting
    return np.flatnonzero([*moving, tilt_free, tilt_free])


def _brakes(model_columns, column):
    """Return whether what a ``column`` stands for cannot be negative."""
    if column >= model_columns.size:
        return False
    parameter = model_columns.parameters[column]
    return bool(parameter.law) and never_negative(parameter)


def _least_squares_offset(model_columns, stacked, column_indices, brakes):
    """
    Return the offset [s] of least residual of ``stacked`` rows.

    column_indices : (k,) of what is beside it; brakes : (k,) bool which are not below zero
    """
    unknowns, free = len(model_columns.prior.unit), int((~brakes).sum())
    order = np.concatenate([column_indices[~brakes], column_indices[brakes]])
    R = stacked.triangle_of(np.append(order, unknowns + np.arange(3)))
    braking, rate = R[free:, free:-3], R[free:, -3]
    target = R[free:, -2:].sum(1)
    if not brakes.any():
        if not rate[0]:
            return 0.0
        return float(target[0] / rate[0])
    solution = nonnegative_solution(np.column_stack([braking, rate, -rate]), target)
    return float(solution[-2] - solution[-1])
