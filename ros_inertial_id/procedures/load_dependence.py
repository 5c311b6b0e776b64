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

from ..errors import EstimationError
from ..methods.suspended_platform.calibration import (calibration_blocks, NAMES, Rest,
                                                      stiffness_of)

STRETCHES = 6   # of every recording
FEWEST = 4      # of a load
SURE = 5.0      # standard errors between two loads beyond which it is no chance ...
MATTERS = 0.01  # ... and so much of the stiffness that it matters
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
        count, whole = len(parts), sum(parts)
        if count < FEWEST:
            continue
        without = np.array([_stiffness(whole - part, value) for part in parts])
        spread = (without - without.mean(0)) ** 2
        out.append(LoadedStiffness(mass, _stiffness(whole, value),
                                   np.sqrt((count - 1) / count * spread.sum(0))))
    return tuple(out)


def check_stiffness(loads: Sequence[LoadedStiffness], fitted: np.ndarray) -> None:
    """
    Raise EstimationError where the stiffness depends on the load.

    loads : of the same platform; fitted : (6, 6) stiffness that was fitted to all of them
    """
    size = np.diag(fitted)
    for heavy in loads[1:]:
        light = loads[0]
        change = heavy.stiffness - light.stiffness
        sure = np.abs(change) > SURE * np.hypot(heavy.error, light.error)
        sure &= np.abs(change) > MATTERS * size
        if sure.any():
            # The axis that is known best: one that hardly moved under a load says little.
            errors = np.hypot(heavy.error, light.error)
            k = int(np.argmin(np.where(sure, errors / size, np.inf)))
            error = errors[k]
            raise EstimationError(
                'the stiffness of the springs depends on the load',
                expected='springs that are the same under every mass',
                found=f'along {NAMES[k]} {100 * change[k] / size[k]:+.1f} +- '
                f'{100 * error / size[k]:.1f} % from {light.mass:g} to {heavy.mass:g} kg added',
                do='use springs that keep their stiffness; with the lighter loads left out the '
                   'standard errors are several times too small')


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
