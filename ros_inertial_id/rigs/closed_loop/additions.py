"""
What a mechanism may have besides its description: gains, friction, springs; what no body can be.

Every addition is one or two columns beside those of the model: the torque of a motor (its gain),
speed and its sign (friction) or position (a spring) of a joint that has none, what the torque
changes by where the link is behind its encoder (an elastic joint).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .state import all_parameters, equations, MechanismState, projected_torque, with_tied
from ..dynamics.force_elements import PRELOAD, SPRING
from ..dynamics.mechanism import Mechanism
from ...dynamics.friction import LAWS, of_slide
from ...dynamics.inertial_parameters import Parameter
from ...measurement.signals import smooth, zero_phase_kernel
from ...methods.capabilities import Addition, Limit

SIGN_WIDTH = 0.05  # of a joint's RMS speed: the sign of the speed changes over it
SMALL_ANGLE = 1e-5  # [rad, m] by which a link is moved for a difference
MOST_OF_POWER = 0.99  # of a torque's course: beyond is little but noise
FAR_FROM_ONE = 3.0  # factor of a lead that a first order does not tell
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
    for j in _without(robot, (SPRING, PRELOAD)):
        name, (unit,) = robot.joint_names[j], _units(robot, j, 'N m/rad')

        def columns(state, robot, values, j=j):
            q = state.q[:, j] - robot.start[j]
            return state.R[:, j][:, :, None] * np.stack([q, np.ones_like(q)], 1)[:, None]

        def words(numbers, errors, name=name, unit=unit):
            if abs(numbers[0]) < 2.0 * errors[0]:
                return (
                    f'a constant load that is not described acts on {name} '
                    f'({numbers[1]:.3g} +- {errors[1]:.1g} {unit.partition("/")[0]})'
                )
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


def elasticities(robot: Mechanism) -> Iterator[Addition]:
    """
    Yield a spring between what every encoder of a motor shows and what the motor moves.

    The link is behind by the torque of bodies and springs over the stiffness (Spong 1987), to
    first order: the column is the slope of that torque along its own course in time.
    """
    for number, j in enumerate(robot.independent):
        if j not in robot.actuated or j in _of_elastic_joints(robot):
            continue
        name, (unit,) = robot.joint_names[j], _units(robot, j, 'N m/rad')

        def columns(state, robot, values, number=number):
            return _slope_along_torque(state, robot, values, number)[:, :, None]

        def words(numbers, errors, name=name, unit=unit):
            stiffness = 1.0 / numbers[0]
            return (
                f'{name} is not rigid between its encoder and what it moves: as behind a spring '
                f'of {stiffness:.3g} +- {stiffness**2 * errors[0]:.1g} {unit}'
            )

        yield Addition(
            'elastic joint',
            columns,
            words,
            'measure the link as well and name joint and motor in elastic_joints:, or move '
            'more slowly',
            brakes=True,
        )


def leads(robot: Mechanism) -> Iterator[Addition]:
    """
    Yield the lead of every slide with an encoder and a motor: positions in another unit of length.

    To first order the column is the slope of the torque along the slide's own course.
    """
    for number, j in enumerate(robot.independent):
        if j not in robot.actuated or not robot.prismatic[j]:
            continue
        name = robot.joint_names[j]

        def columns(state, robot, values, number=number, j=j):
            value_of = _values_by_name(robot, values)
            course = state.q[:, j] - robot.start[j]
            along = _Course(course, state.v[:, j], state.a[:, j])
            torque = _torque_of_links(robot, state, value_of)
            return _slope_along(state, robot, value_of, number, along, torque)[:, :, None]

        def words(numbers, errors, name=name):
            if not 1.0 / FAR_FROM_ONE < 1.0 - numbers[0] < FAR_FROM_ONE:
                return f'positions of {name} are in another unit than m'
            times = 1.0 / (1.0 - numbers[0])
            return (
                f'positions of {name} are {times:.3g} +- {times**2 * errors[0]:.1g} times what '
                'they are in m'
            )

        yield Addition(
            'lead of a slide',
            columns,
            words,
            'check the lead of its screw, its unit and its axis in the URDF; or of a constant '
            f"load add 'joint {name}' to springs:",
        )


@dataclass(frozen=True)
class _Course:
    """Positions, rates and accelerations (N,) along one coordinate."""

    positions: np.ndarray
    rates: np.ndarray
    accelerations: np.ndarray


def _of_elastic_joints(robot):
    """Return the joints and motors of a Mechanism between which a spring is described."""
    against = [e for e in robot.forces if getattr(e, 'against', None) is not None]
    return {e.joint for e in against} | {e.against for e in against}


def _slope_along_torque(state, robot, values, number):
    """
    Return by how much torques (N, k) change per compliance [rad/(N m)] of a coordinate.

    values : (p,) of the model; number : of the coordinate
    """
    period = float(np.median(np.diff(state.t)))
    value_of = _values_by_name(robot, values)
    torque = _torque_of_links(robot, state, value_of)
    behind = _without_noise(torque[:, number], period)
    rates = np.gradient(behind, period)
    course = _Course(behind, rates, np.gradient(rates, period))
    return _slope_along(state, robot, value_of, number, course, torque)


def _slope_along(state, robot, value_of, number, course, torque):
    """
    Return by how much the ``torque`` (N, k) of links changes per unit of a ``course``.

    number : of the coordinate that lacks it; value_of : {name: value} of the model
    """
    share = SMALL_ANGLE / max(float(np.abs(course.positions).max()), 1e-300)
    index, unit = list(robot.independent), share * np.eye(len(robot))[number]
    q = state.q - state.R[:, :, number] * (share * course.positions)[:, None]
    R, _ = robot.transformation(q)
    rate = state.v[:, index] - np.outer(course.rates, unit)
    second = state.a[:, index] - np.outer(course.accelerations, unit)
    v, a = robot.motion(q, R, rate, second)
    moved = replace(state, q=q, v=v, a=a, R=R)
    return (_torque_of_links(robot, moved, value_of) - torque) / share


def _values_by_name(robot, values):
    """Return {name: value} of all parameters by the ``values`` (p,) of those not known."""
    names = dict.fromkeys(p.name for p in all_parameters(robot) if p.name not in robot.known)
    return with_tied(robot, dict(zip(names, values, strict=True)))


def _torque_of_links(robot, state, value_of):
    """Return the torques (N, k) of bodies and springs: what is behind a motor's friction."""
    bodies = [value_of[p.name] for p in all_parameters(robot) if not p.law]
    torque = projected_torque(robot, state, np.array(bodies))
    for element in robot.forces:
        if element.parameter.law in (SPRING, PRELOAD):
            torque += value_of[element.parameter.name] * element.column(robot.robot, state)
    return torque


def _without_noise(course, period):
    """Return a ``course`` (N,) without what is twice as fast as nearly all of its power."""
    power = np.abs(np.fft.rfft(course - course.mean())) ** 2
    share = np.cumsum(power) / max(power.sum(), 1e-300)
    highest = (1 + np.searchsorted(share, MOST_OF_POWER)) / (len(course) * period)
    kernel = zero_phase_kernel(period, 2.0 * highest)
    if len(course) < len(kernel):
        return course
    return smooth(course[:, None], kernel)[:, 0]


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
