"""
Whether the springs of a platform are the same under every load that it was calibrated with.

Coil springs stiffen, tilt and buckle as they are pressed together.  With platform and masses
known, what each load shows of the springs by itself is linear least squares on displacements and
velocities; how it changes without one stretch of the recordings says how well it is known
(jackknife; Efron 1982).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..suspended_platform.calibration import calibration_blocks, NAMES, stiffness_of
from ..suspended_platform.rig import Rest
from ...errors import EstimationError
from ...jackknife import left_out, standard_errors

STRETCHES = 6   # of every recording
FEWEST = 4      # of a load
SURE = 5.0      # standard errors of its slope beyond which it is no chance ...
MATTERS = 1.0   # [% of the stiffness] ... and so much that it matters
NONSENSE = 100.0  # [% of the stiffness] as an axis shows that hardly moved under a load
PLATFORM, SPRINGS = 10, 33  # columns


@dataclass(frozen=True)
class LoadedStiffness:
    """What one load shows: mass [kg], stiffness (6,) along the axes, standard errors (6,)."""

    mass: float
    stiffness: np.ndarray
    error: np.ndarray


def stiffness_by_load(states: Sequence[tuple[Any, np.ndarray]], rest: Rest,
                      value: np.ndarray) -> tuple[LoadedStiffness, ...]:
    """
    Return the LoadedStiffness of every load, the lightest first.

    states : [(BodiesState of the platform, added (10,)), ...]; rest : pose without displacement
    value : (43,) the calibration of all of them, see calibration_parameters
    """
    out = []
    for mass in sorted({float(added[0]) for _, added in states}):
        parts = [_equations(part, rest, value, added) for state, added in states
                 if added[0] == mass for part in _stretches(state)]
        if len(parts) < FEWEST:
            continue
        found, without = left_out(parts, lambda sums: _stiffness(sums, value))
        out.append(LoadedStiffness(mass, found, standard_errors(without)))
    return tuple(out)


def check_stiffness(loads: Sequence[LoadedStiffness]) -> None:
    """Raise EstimationError where the stiffness depends on the load, of two masses or more."""
    mass = np.array([load.mass for load in loads])
    slope, error = _line(mass, *(np.array([getattr(load, x) / loads[-1].stiffness
                                           for load in loads]) for x in ('stiffness', 'error')))
    span = np.ptp(mass)
    change, error = 100.0 * span * slope, 100.0 * span * error  # [%]
    sure = (np.abs(change) > SURE * error) & (np.abs(change) > MATTERS)
    sure &= np.abs(change) < NONSENSE
    if sure.any():
        # The axis that is known best: one that hardly moved under a load says little.
        k = int(np.argmin(np.where(sure, error, np.inf)))
        raise EstimationError(
            'the stiffness of the springs depends on the load',
            expected='springs that are the same under every mass',
            found=f'along {NAMES[k]} {change[k]:+.1f} +- {error[k]:.1f} % from {mass.min():g} to '
            f'{mass.max():g} kg added, {change[k] / span:+.2g} % per kg',
            do='use springs that keep their stiffness; with the lighter loads left out the '
               'standard errors are several times too small')


def _line(mass, stiffness, error):
    """Return slopes (6,) of straight lines k(m) through values (n, 6) at masses, and errors."""
    weight = np.maximum(np.abs(error), 1e-9 * np.abs(stiffness)) ** -2.0
    away = mass[:, None] - (weight * mass[:, None]).sum(0) / weight.sum(0)
    square = (weight * away ** 2).sum(0)
    return (weight * away * stiffness).sum(0) / square, square ** -0.5


def _stretches(state):
    """Return BodiesStates, equal parts of one in time."""
    ends = np.linspace(0, len(state.t), STRETCHES + 1).astype(int)
    return [state.rows(slice(a, b)) for a, b in zip(ends, ends[1:])]


def _equations(state, rest, value, added):
    """Return the normal equations (33, 34) of the springs in a BodiesState."""
    out = np.zeros((SPRINGS, SPRINGS + 1))
    for block in calibration_blocks(state, rest, added):
        for group in block.groups:
            left = group.y - group.W[:, :PLATFORM] @ value[:PLATFORM]
            W = group.W[:, PLATFORM:]
            out += W.T @ np.column_stack([W, left]) / max((left - W @ value[PLATFORM:]).var(),
                                                          1e-18)
    return out


def _stiffness(equations, value):
    """Return the stiffness (6,) along the axes that normal equations (33, 34) determine."""
    size = np.sqrt(np.diag(equations)) + 1e-300
    inverse = np.linalg.pinv(equations[:, :-1] / size / size[:, None], 1e-12, hermitian=True)
    springs = inverse @ (equations[:, -1] / size) / size
    return np.diag(stiffness_of(np.concatenate([value[:PLATFORM], springs])))
