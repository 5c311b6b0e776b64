"""
Time offset: by how much efforts are stamped later than the motion they belong to.

Another bus, or a filter in the drive, lets torques arrive late; a model fitted to both explains
less, and wrongly.  To first order a late torque lacks its rate times the offset: one more column
of the wide factor, beside friction of all widths and a tilt of gravity, which is chosen later and
without which an offset would explain a share of it.  Noise of the rate makes the offset too small,
never a false one.  Commands act late as if
friction pushed: of them the column is the rate of what is commanded, and no friction is below
zero.  A large one is found in rounds, with the efforts read at other times.  The
error comes from leaving out stretches of the motion (jackknife, Efron 1982): residuals that are
not white, or a model that is not whole, do not make it look sure.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..prepare.dataset import Dataset
from ..reduce.structure import Structure
from ..reduce.systems import resting_columns, Systems
from ..reduce.wide_factor import WideFactor
from ...dynamics.friction import never_negative
from ...estimation.least_squares import nonnegative_solution, standard_errors
from ...estimation.r_factors import of_columns
from ...lapack import solve_triangular
from ...measurement.joints.observation import with_cutoff, with_time_offset
from ...methods.capabilities import JointTorques

LIMIT = 0.05  # [s] searched on both sides
SIGNIFICANT = 4.0  # standard errors
ROUNDS = 3  # of efforts read at other times
SETTLED = 0.05  # of the offset, that another round may still change
SLOW = 1.5  # times where the motion ends: cutoff at which the delay of commands is sought


@dataclass(frozen=True)
class TimeOffset:
    """
    An offset [s] and its standard error [s].

    ratio : residual rms at the offset over that at zero, both on stretches left out
    """

    value: float
    standard_error: float
    ratio: float

    @property
    def significant(self) -> bool:
        """Return whether the offset is beyond chance, and serves data that it was not found by."""
        return bool(
            SIGNIFICANT * self.standard_error < abs(self.value) < LIMIT and self.ratio < 1.0
        )


def aligned(
    data: Dataset, systems: Systems, reduced: Callable[[Dataset, Structure], WideFactor]
) -> tuple[Dataset, Systems]:
    """
    Return Dataset and Systems with efforts read where the motion is, if they are late.

    systems : of ``data``; reduced : gives the WideFactor of other data.  Only joints' efforts are
    aligned.  The summary of every observation says what was found, also when it was not applied.
    """
    if not (
        isinstance(data.method, JointTorques)
        and data.options.find_time_offset
        and systems.count > 1
    ):
        return data, systems
    asked = data
    first_observation = data.observations[0]
    if first_observation.effort_source.is_commanded and first_observation.summary.motion_ends_at:
        # Friction explains all of a delay but its jerk, which noise of the positions hides.
        data = asked.observed(
            [with_cutoff(o, SLOW * o.summary.motion_ends_at) for o in asked.observations]
        )
        systems = Systems(reduced(data, systems.wide.structure), systems.given)
    first, total = find_time_offset(data, systems), 0.0
    found = first
    for _ in range(ROUNDS):
        beyond = abs(found.value) > found.standard_error if total else found.significant
        if not beyond or abs(total + found.value) > LIMIT:
            break
        total += found.value
        data = data.observed([with_time_offset(o, found.value) for o in data.observations])
        systems = Systems(reduced(data, systems.wide.structure), systems.given)
        if abs(found.value) < SETTLED * abs(total):
            break
        found = find_time_offset(data, systems)
    notes = {
        'time_offset_found': total or first.value,
        'time_offset_error': found.standard_error,
        'time_offset_residual_ratio': first.ratio,
    }
    if asked.observations[0].effort_source.is_commanded:
        data = asked.observed([with_time_offset(o, total) for o in asked.observations])
        systems = Systems(reduced(data, systems.wide.structure), systems.given)
    return replace(
        data,
        observations=tuple(
            replace(o, summary=replace(o.summary, **notes)) for o in data.observations
        ),
    ), systems


def find_time_offset(data: Dataset, systems: Systems) -> TimeOffset:
    """Return the TimeOffset of the efforts, beside friction of all widths and a tilt."""
    resting, count = resting_columns(systems.wide), len(systems.parameters)
    tilts = [] if data.options.mounting else [count, count + 1]
    places = np.array(
        [k for k, p in enumerate(systems.parameters) if p.name not in resting] + tilts
    )
    brakes_only = data.observations[0].effort_source.brakes_only
    brakes = np.array(
        [
            brakes_only
            and place < count
            and bool(systems.parameters[place].law)
            and never_negative(systems.parameters[place])
            for place in places
        ]
    )
    value = _offset(systems, systems.whole, places, brakes)[0]
    values, left = [], np.zeros(2)
    for one, stacked in enumerate(systems.without_each):
        own, solution = _offset(systems, stacked, places, brakes)
        values.append(own)
        for k, offset in enumerate((value, 0.0)):
            errors = systems.errors(solution(offset)[:, None], np.array([one]), None, offset)
            left[k] += (errors[0, :, 0] / systems.sd**2).sum()
    return TimeOffset(
        value,
        float(standard_errors(np.array(values)[:, None])[0]),
        float(np.sqrt(left[0] / left[1])),
    )


def _offset(
    systems: Systems, stacked: np.ndarray, places: np.ndarray, brakes: np.ndarray
) -> tuple[float, Callable[[float], np.ndarray]]:
    """
    Return the offset [s] of least residual, and a function of an offset: its solution (size + 2,).

    places : (k,) of the columns; brakes : (k,) bool which are not below zero
    """
    size, f = systems.size + 2, int((~brakes).sum())
    order = np.concatenate([places[~brakes], places[brakes]])
    R = of_columns(stacked, np.append(order, size + np.arange(3)))
    R = np.column_stack([R[:, :-2], R[:, -2:].sum(1)])
    braking, rate, target = R[f:, f:-2], R[f:, -2], R[f:, -1]

    def friction(A: np.ndarray, b: np.ndarray) -> np.ndarray:
        if not brakes.any():
            return np.zeros(A.shape[1])
        return nonnegative_solution(A, b)

    def solution(offset: float) -> np.ndarray:
        x = friction(braking, target - offset * rate)
        rest = R[:f, -1] - offset * R[:f, -2] - R[:f, f:-2] @ x
        out = np.zeros(size)
        out[order] = np.concatenate([solve_triangular(R[:f, :f], rest), x])
        return out * systems.prior_sd

    if not brakes.any():
        return float(target[0] / rate[0]) if rate[0] else 0.0, solution
    both = friction(np.column_stack([braking, rate, -rate]), target)
    return float(both[-2] - both[-1]), solution
