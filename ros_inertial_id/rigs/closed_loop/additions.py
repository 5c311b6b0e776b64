"""
What a mechanism may have besides its description: gains, friction, springs; what no body can be.

Every addition is one or two columns beside those of the model: the torque of a motor (its gain),
speed and its sign (friction) or position (a spring) of a joint that has none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from .state import equations, MechanismState
from ..dynamics.force_elements import SPRING
from ..dynamics.mechanism import Mechanism
from ...dynamics.friction import LAWS, of_slide
from ...dynamics.inertial_parameters import Parameter
from ...methods.capabilities import Addition, Limit

SIGN_WIDTH = 0.05  # of a joint's RMS speed: the sign of the speed changes over it
THINNED = 10  # samples of which one counts in a mean inertia


def gains(robot: Mechanism) -> Iterator[Addition]:
    """Yield the gain of every motor."""
    for number, j in enumerate(robot.actuated):
        name = robot.joint_names[j]

        def columns(state, robot, values, number=number, j=j):
            return (state.R[:, j] * state.tau[:, [number]])[:, :, None]

        def words(numbers, errors, name=name):
            gain = 1.0 / (1.0 - numbers[0])
            return (
                f'the torque of {name} is measured {gain:.3f} +- '
                f'{gain**2 * errors[0]:.3f} times too large'
            )

        yield Addition(
            'gain of a motor',
            columns,
            words,
            'check the gain, the gear ratio or the torque constant of that motor',
            measured=True,
        )


def frictions(robot: Mechanism) -> Iterator[Addition]:
    """Yield the friction of every joint that has none in the description."""
    for j in _without(robot, [name for name, law in LAWS.items() if law.brakes]):
        name, units = robot.joint_names[j], _units(robot, j, 'N m s/rad', 'N m')

        def columns(state, robot, values, j=j):
            v = state.v[:, j]
            width = SIGN_WIDTH * float(np.sqrt(np.mean(v**2))) + 1e-12
            return state.R[:, j][:, :, None] * np.stack([v, np.tanh(v / width)], 1)[:, None]

        def words(numbers, errors, name=name, units=units):
            listed = ', '.join(
                f'{x:.3g} +- {e:.1g} {unit}' for x, e, unit in zip(numbers, errors, units)
            )
            return f'{name} has friction that is not described (viscous, Coulomb: {listed})'

        yield Addition(
            'friction left out',
            columns,
            words,
            f"add '{name} viscous coulomb' to friction:",
            unnoticed=(0.0, 0.0),
            brakes=True,
        )


def springs(robot: Mechanism) -> Iterator[Addition]:
    """Yield a spring in every joint that has none in the description."""
    for j in _without(robot, (SPRING, 'preload')):
        name, (unit,) = robot.joint_names[j], _units(robot, j, 'N m/rad')

        def columns(state, robot, values, j=j):
            q = state.q[:, j] - robot.start[j]
            return state.R[:, j][:, :, None] * np.stack([q, np.ones_like(q)], 1)[:, None]

        def words(numbers, errors, name=name, unit=unit):
            return (
                f'a spring that is not described acts on {name} ({numbers[0]:.3g} +- '
                f'{errors[0]:.1g} {unit})'
            )

        yield Addition(
            'spring left out',
            columns,
            words,
            f"add 'joint {name} REST' to springs:",
            unnoticed=(0.0, 0.0),
        )


def inertia_limits(
    state: MechanismState, robot: Mechanism, parameters: Sequence[Parameter]
) -> Iterator[Limit]:
    """Yield that the mean inertia about no coordinate is below zero: the diagonal of R' M R."""
    state = state.rows(slice(None, None, THINNED))
    still = replace(state, v=np.zeros_like(state.v), a=np.zeros_like(state.a))
    at_rest, _, known_at_rest = equations(robot, still, parameters)
    for i, name in enumerate(robot.coordinates):
        moved = replace(still, a=state.R[:, :, i])
        W, _, known = equations(robot, moved, parameters)

        def words(value, error, name=name):
            return (
                f'the torque of {name} has the wrong sign: its inertia would be '
                f'{value:.4g} +- {error:.2g} on average'
            )

        yield Limit(
            'torque negated',
            (W[i] - at_rest[i]).mean(-1),
            'kg m^2',
            words,
            'reverse the torque sensor (effort_kind: link_negated) or the axis of the joint',
            least=0.0,
            known=float((known - known_at_rest)[:, i].mean()),
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
