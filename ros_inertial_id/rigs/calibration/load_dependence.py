"""
Whether the loads of a platform's calibration agree: on its springs, and with what they should be.

Coil springs stiffen, tilt and buckle as they are pressed together.  With platform and masses
known, what each load shows of the springs by itself is linear least squares on displacements and
velocities; how it changes without one stretch of the recordings says how well it is known
(jackknife; Efron 1982).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..suspended_platform.calibration import (calibration_blocks, NAMES, predicted_state,
                                              stiffness_of)
from ..suspended_platform.rig import Rest
from ...dynamics.regressor import COLUMN, ROW
from ...errors import EstimationError
from ...jackknife import left_out, standard_errors

STRETCHES = 6   # of every recording
FEWEST = 4      # of a load
SURE = 5.0      # standard errors of its slope beyond which it is no chance ...
MATTERS = 1.0   # [% of the stiffness] ... and so much that it matters
NONSENSE = 100.0  # [% of the stiffness] as an axis shows that hardly moved under a load
PLATFORM, SPRINGS = 10, 33  # columns
ALIKE = 0.7  # of the evidence of the likeliest: it may be this one as well
# By how much a load may be wrong unnoticed, [-] or [m], and what is said beyond.
ERRORS = (
    (1e-3, 'the load of {0:g} kg at {1} m weighs {2:+.2%} +- {3:.2%} against what was given'),
    *((2e-4, f'the load of {{0:g}} kg at {{1}} m sits {{2:+.4f}} +- {{3:.4f}} m along {axis} from '
       'where it was given') for axis in 'xyz'))


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


def contradictions(states: Sequence[tuple[Any, np.ndarray]], rest: Rest, value: np.ndarray,
                   rms: Mapping[str, float]) -> tuple[str, ...]:
    """
    Return which loads are not what was given, in words, the likeliest first.

    states, rest, value : see ``stiffness_by_load``; rms : of the residual of every row [N, N m]
    Each load may weigh more or sit elsewhere while the others are as given.  What is wrong with
    all of them in proportion makes the springs wrong in proportion, and no vibration shows it.
    """
    parts = [(tuple(added), _instrumented(part, rest, value, added, rms))
             for state, added in states for part in _stretches(state)]
    found, loads = [], dict.fromkeys(key for key, _ in parts if any(key))
    for load in loads:
        D = np.column_stack([load, *_shifts(np.array(load))])  # (10, 4)
        E = np.vstack([D, np.zeros((len(value) - 10, D.shape[1]))])
        for k, (least, words) in enumerate(ERRORS):
            if not k and len(loads) == 1:
                continue  # alone it sets the scale
            T = np.hstack([np.eye(len(value)), E[:, [k]]])
            sums = [np.column_stack([own.T @ (M[:, :-1] @ own), own.T @ M[:, -1]])
                    for key, M in parts
                    for own in [T if key == load else T * (np.arange(T.shape[1]) < len(value))]]
            x, without = left_out(sums, _last)
            error = float(standard_errors(without)[0])
            size = abs(float(x[0]))
            if size > SURE * np.hypot(error, least):
                found.append((size / np.hypot(error, least), words.format(
                    load[0], np.array(load[1:4]) / load[0], float(x[0]), error)))
    found.sort(reverse=True)
    return tuple(words for sure, words in found if sure > ALIKE * found[0][0])


def _last(sums):
    """Return the last unknown (1,) of normal equations (k, k + 1)."""
    size = np.sqrt(np.abs(np.diag(sums))) + 1e-300
    inverse = np.linalg.pinv(sums[:, :-1] / size / size[:, None], 1e-12)
    return (inverse @ (sums[:, -1] / size) / size)[-1:]


def _shifts(ten):
    """Return how the ten parameters (10,) of a load change with its place, per metre: 3 (10,)."""
    c = ten[1:4] / ten[0]
    for e in np.eye(3):
        moved = 2.0 * (c @ e) * np.eye(3) - np.outer(c, e) - np.outer(e, c)
        yield ten[0] * np.concatenate([[0.0], e, moved[ROW, COLUMN]])


def _instrumented(state, rest, value, added, rms):
    """Return [Z'W, Z'y] (43, 44) of a BodiesState by accelerations that ``value`` predicts."""
    out = np.zeros((len(value), len(value) + 1))
    for block, other in zip(calibration_blocks(state, rest, added), calibration_blocks(
            predicted_state(state, rest, value, added), rest, added)):
        for group, quiet in zip(block.groups, other.groups):
            Z = quiet.W / max(rms[group.name], 1e-9) ** 2
            out += Z.T @ np.column_stack([group.W, group.y])
    return out


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
