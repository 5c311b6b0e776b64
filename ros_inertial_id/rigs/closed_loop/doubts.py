"""
What may be wrong with a mechanism's description or its motors, by what the residual shows.

Every hypothesis is one or two columns beside those of the model: the torque of a motor (its gain),
speed and its sign (friction) or position (a spring) of a joint that has none.  What the model's
own columns explain of them is taken off (Frisch and Waugh 1933); how their numbers change without
one stretch of the recording says how sure they are.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .state import MechanismState
from ..bodies.method import Hypothesis, HYPOTHESIS_SURE, JACKKNIFE_STRETCHES, likeliest, Tested
from ..dynamics.force_elements import SPRING
from ..dynamics.mechanism import Mechanism
from ...dynamics.friction import LAWS, of_slide
from ...estimation.least_squares import left_out, solved_sums, standard_errors

UNNOTICED = 0.004  # of a torque: five times as much is the least that is said
SIGN_WIDTH = 0.05  # of a joint's RMS speed: the sign of the speed changes over it
OFF, FRICTION = 'gain of a motor', 'friction left out'


def doubts_of(
    robot: Mechanism,
    state: MechanismState,
    explained: np.ndarray,
    force: np.ndarray,
    weights: np.ndarray,
) -> list[dict[str, Any]]:
    """
    Return the likeliest doubt about a Mechanism as the fields of a Finding, in a list, or none.

    state : N samples; explained : (k N, r) orthonormal basis of what its parameters can explain of
    forces times weights; force : (k N,) by the motors; weights : (k N,) one over their deviation
    """
    force, tested = force * weights, []
    residual = force - explained @ (explained.T @ force)
    total = float(residual @ residual)
    for hypothesis in (*_gains(robot), *_frictions(robot, state), *_springs(robot, state)):
        columns = hypothesis.columns(state, force, np.zeros(0))
        columns = columns.transpose(1, 0, 2).reshape(len(force), -1) * weights[:, None]
        size = np.linalg.norm(columns, axis=0)
        if not size.all():
            continue
        beside = columns - explained @ (explained.T @ columns)
        rows = np.column_stack([beside / size, residual]).reshape(len(robot), len(state.t), -1)
        grams = [
            np.einsum('kni,knj->ij', part, part)
            for part in np.array_split(rows, JACKKNIFE_STRETCHES, axis=1)
        ]
        numbers, without = left_out(grams, lambda sums: solved_sums(sums[:-1]))
        share = 1.0 - float(np.sum((residual - beside / size @ numbers) ** 2)) / total
        numbers, errors = numbers / size, standard_errors(without) / size
        # A motor's column has the noise of its torque: numbers up to ``noise`` by that alone.
        noise = total / max(float(np.sum(beside**2)), 1e-300)
        if hypothesis.name == OFF and _noise_alone(numbers, share, noise):
            continue
        # As shares of the torque of a coordinate; a gain is one of its own motor's.
        shares = np.abs(numbers)
        if hypothesis.name != OFF:
            shares = shares * (_rms(columns, robot).T / _rms(force, robot)).max(1)
        sure = np.abs(numbers) > HYPOTHESIS_SURE * errors
        sure &= shares > HYPOTHESIS_SURE * hypothesis.known
        drives = hypothesis.name == FRICTION and (numbers < 0.0)[sure].any()  # which it never does
        if not drives:
            tested.append(Tested(hypothesis, numbers, errors, sure, share))
    return likeliest(tested, 'the residual with and without it')


def _noise_alone(numbers, share, noise):
    """Return whether a gain (1,) that takes a ``share`` of the residual may be ``noise``."""
    if noise > 0.5:
        return True
    return share < 0.5 and abs(float(numbers[0])) < 2.0 * noise


def _rms(x: np.ndarray, robot: Mechanism) -> np.ndarray:
    """Return the RMS (k, ...) of each coordinate's rows x (k N, ...), not zero."""
    parts = x.reshape(len(robot), -1, *x.shape[1:])
    return np.sqrt((parts**2).mean(axis=1)) + 1e-300


def _gains(robot: Mechanism) -> Iterator[Hypothesis[MechanismState]]:
    for number, j in enumerate(robot.actuated):
        name = robot.joint_names[j]

        def columns(state, y, values, number=number, j=j):
            return (state.R[:, j] * state.tau[:, [number]])[:, :, None]

        def words(numbers, errors, sure, name=name):
            gain = 1.0 / (1.0 - numbers[0])
            return (
                f'the torque of {name} is measured {gain:.3f} +- '
                f'{gain**2 * errors[0]:.3f} times too large'
            )

        yield Hypothesis(
            OFF,
            columns,
            np.array([UNNOTICED]),
            words,
            'check the gain, the gear ratio or the torque constant of that motor',
        )


def _frictions(robot: Mechanism, state: MechanismState) -> Iterator[Hypothesis[MechanismState]]:
    for j in _without(robot, [name for name, law in LAWS.items() if law.brakes]):
        name, units = robot.joint_names[j], _units(robot, j, 'N m s/rad', 'N m')
        width = SIGN_WIDTH * float(np.sqrt(np.mean(state.v[:, j] ** 2))) + 1e-12

        def columns(state, y, values, j=j, width=width):
            v = state.v[:, j]
            return state.R[:, j][:, :, None] * np.stack([v, np.tanh(v / width)], 1)[:, None]

        def words(numbers, errors, sure, name=name, units=units):
            listed = ', '.join(
                f'{x:.3g} +- {e:.1g} {unit}' for x, e, unit in zip(numbers, errors, units)
            )
            return f'{name} has friction that is not described (viscous, Coulomb: {listed})'

        yield Hypothesis(
            FRICTION,
            columns,
            np.full(2, UNNOTICED),
            words,
            f"add '{name} viscous coulomb' to friction:",
        )


def _springs(robot: Mechanism, state: MechanismState) -> Iterator[Hypothesis[MechanismState]]:
    for j in _without(robot, (SPRING, 'preload')):
        name, (unit,) = robot.joint_names[j], _units(robot, j, 'N m/rad')
        middle = float(state.q[:, j].mean())

        def columns(state, y, values, j=j, middle=middle):
            q = state.q[:, j] - middle
            return state.R[:, j][:, :, None] * np.stack([q, np.ones_like(q)], 1)[:, None]

        def words(numbers, errors, sure, name=name, unit=unit):
            return (
                f'a spring that is not described acts on {name} ({numbers[0]:.3g} +- '
                f'{errors[0]:.1g} {unit})'
            )

        yield Hypothesis(
            'spring left out',
            columns,
            np.array([UNNOTICED, np.inf]),
            words,
            f"add 'joint {name} REST' to springs:",
        )


def _units(robot: Mechanism, joint: int, *units: str) -> tuple[str, ...]:
    """Return units of a turning joint's laws as they are, of a slide's in metres."""
    if robot.prismatic[joint]:
        return tuple(map(of_slide, units))
    return units


def _without(robot: Mechanism, laws: Sequence[str]) -> list[int]:
    """Return the joints of a Mechanism with mass to move that have no force by these ``laws``."""
    names = {e.parameter.owner for e in robot.forces if e.parameter.law in laws}
    return [j for j, name in enumerate(robot.joint_names) if name not in names]
