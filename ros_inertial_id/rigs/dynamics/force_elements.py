"""
Springs and friction of a mechanism as columns of its projected rows.

Any joint can have them, dependent ones too (the slider): by virtual work a force on joint j acts
on coordinate i as R_ji times itself.  Lines of the options:

    friction: JOINT LAW ...        laws of dynamics/friction.py; JOINT may be "all"
    springs:  joint JOINT [REST]   k (q - rest); without REST a constant force is estimated too
              between A B [LENGTH] k (l - length) along the line between two links
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Callable

import numpy as np

from ...dynamics.body_motion import body_motions, Frame, frame_of, twists
from ...dynamics.friction import (
    check_laws,
    COULOMB_WIDTHS,
    friction_column,
    friction_parameters,
    given_widths,
    law_of,
    LAWS,
    of_slide,
)
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.robot_model import RobotModel
from ...errors import ConfigError
from ...options import option

# Of COULOMB_WIDTHS, in sizes of the loops per second.  A cylinder that moves by centimetres is
# slow all the time: a step as wide as a joint's in rad/s would be a line to it.
SLIDE_WIDTHS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)

STIFFEST = 1e6  # [N m/rad] of a joint, before data
SPRING = law_of('stiffness')
# Laws without a corner.
SMOOTH = (
    'preload',
    'damper',
    *(name for name, law in LAWS.items() if not (law.nonlinear or law.dry)),
)


@dataclass(frozen=True)
class ForceOptions:
    """Which springs and friction the mechanism has."""

    friction: tuple[str, ...] = option(
        (), 'friction of joints, dependent ones too: "JOINT LAW ..." or "all LAW ..."'
    )
    coulomb_width: float = option(
        -1.0,
        'speed over which Coulomb friction changes sign; 0: a step, below 0: found from the '
        'data for every joint',
        unit='rad/s or m/s',
    )
    springs: tuple[str, ...] = option(
        (), 'springs: "joint JOINT [REST]", "between LINK LINK [LENGTH]"'
    )


@dataclass(frozen=True)
class JointForce:
    """
    One column: a force on joint ``joint`` that is ``column(q, v, a)`` of it.

    against : joint that it reacts on, and whose motion is taken off; None: the base
    """

    parameter: Parameter
    joint: int
    rest: float = 0.0
    against: int | None = None

    def column(self, robot: RobotModel, state: Any) -> np.ndarray:
        """Return the column, (B, k), of a state with q, v, a (B, n) and R (B, n, k)."""
        q, v, a, R = (
            x[:, self.joint] if self.against is None else x[:, self.joint] - x[:, self.against]
            for x in (state.q, state.v, state.a, state.R)
        )
        if self.parameter.law == 'preload':
            force = np.ones(len(q))
        elif self.parameter.law == 'damper':
            force = v
        else:
            developed = state.alone and LAWS[self.parameter.law].memory
            force = friction_column(self.parameter, 0.0 * q if developed else q - self.rest, v, a)
        return R * force[:, None]


@dataclass(frozen=True)
class LineForce:
    """One column: a force along the line between two Frames."""

    parameter: Parameter
    first: Frame
    second: Frame
    rest: float = 0.0

    def column(self, robot: RobotModel, state: Any) -> np.ndarray:
        """Return the column, (B, k), of a state with q (B, n) and R (B, n, k)."""
        motions = body_motions(robot, state.q)
        A, B = (motions[f.body + 1].at(f).p for f in (self.first, self.second))
        length = np.sqrt(((B - A) ** 2).sum(0))
        along = (B - A) / length
        slope = np.zeros(state.q.shape)
        for sign, frame, point in ((-1.0, self.first, A), (1.0, self.second, B)):
            for j, u, _ in twists(robot, motions, frame.body, point):
                slope[:, j] += sign * (along * u).sum(0)
        force = np.ones(len(length)) if self.parameter.law == 'preload' else length - self.rest
        return np.einsum('bn,bnk->bk', slope * force[:, None], state.R)


def elastic_elements(robot: RobotModel, pairs: Mapping[str, str]) -> list[JointForce]:
    """Return spring and damper between every joint and its motor, ``pairs`` of their names."""
    out = []
    for joint, motor in pairs.items():
        k = robot.joint_names.index(joint)
        for symbol, law, unit, size in (
            ('ke', SPRING, 'N m/rad', STIFFEST),
            ('de', 'damper', 'N m s/rad', 1e4),
        ):
            parameter = Parameter(
                f'{symbol}{k + 1}',
                of_slide(unit) if robot.prismatic[k] else unit,
                1.0,
                0.0,
                size,
                joint,
                law,
            )
            out.append(JointForce(parameter, robot.joint_names.index(motor), against=k))
    return out


def force_elements(
    robot: RobotModel, options: ForceOptions, size: float
) -> tuple[JointForce | LineForce, ...]:
    """
    Return the force elements, one per column, that ForceOptions ask for.

    size : [m] of the loops: what a slide moves where a joint turns by one radian
    ConfigError where a line cannot be read or names a column twice.
    """
    out = []
    for line in options.friction:
        words = line.split()
        check_laws(words[1:])
        for name in robot.joint_names if words[:1] == ['all'] else words[:1] or ['']:
            joint = _joint(robot, name, line)
            given = given_widths(options.coulomb_width)
            columns = friction_parameters(
                joint + 1, name, words[1:], _limit(robot, joint), given, robot.prismatic[joint]
            )
            if robot.prismatic[joint]:
                columns = [_of_slide(p, size, given) for p in columns]
            out += [JointForce(p, joint) for p in columns]
    named = [(e.parameter.name, e.parameter.nonlinear) for e in out]
    for element, one in zip(out, named):
        if named.count(one) > 1:
            p = element.parameter
            raise ConfigError('option friction', found=f'{p.law} of {p.owner} twice')
    for number, line in enumerate(options.springs, 1):
        out += _spring(robot, line, number)
    return tuple(out)


def _of_slide(parameter, size, given):
    """Return a friction Parameter with, where not ``given``, the constants of a slide."""
    constant, law = parameter.nonlinear, LAWS[parameter.law]
    if constant and law.has_width and not given:
        constant = float(np.interp(constant, COULOMB_WIDTHS, SLIDE_WIDTHS)) * size
    elif constant and parameter.law not in given:
        constant *= {'rad/s': size, 'rad': size, 's/rad': 1.0 / size}.get(law.nonlinear_unit, 1.0)
    return replace(parameter, nonlinear=constant)


def _spring(robot, line, number):
    """Return the columns of one spring."""
    words = line.split()
    kind, count = (words[0] if words else ''), len(words)
    make: Callable[..., JointForce | LineForce]
    try:
        if kind == 'joint' and count in (2, 3):
            joint = _joint(robot, words[1], line)
            unit, per = ('N', '/m') if robot.prismatic[joint] else ('N m', '/rad')
            make = partial(JointForce, joint=joint)
        elif kind == 'between' and count in (3, 4):
            first, second = (frame_of(robot, name) for name in words[1:3])
            unit, per = 'N', '/m'
            make = partial(LineForce, first=first, second=second)
        else:
            raise ValueError
        rest = [float(word) for word in words[2 if kind == 'joint' else 3 :]]
    except ValueError:
        raise ConfigError(
            f'spring {line!r}', exists=('joint JOINT [REST]', 'between LINK LINK [LENGTH]')
        ) from None
    owner = ' '.join(words[1 : count - len(rest)])
    stiffness = Parameter(f'k{number}', unit + per, 1.0, 0.0, 1e5, owner, SPRING)
    if rest:
        return [make(stiffness, rest=rest[0])]
    constant = Parameter(f'f0{number}', unit, 1.0, 0.0, 1e4, owner, 'preload')
    return [make(stiffness), make(constant)]


def _joint(robot, name, line):
    if name not in robot.joint_names:
        raise ConfigError(f'{line!r}', found=f'joint {name!r}', exists=robot.joint_names)
    return robot.joint_names.index(name)


def _limit(robot, joint):
    return robot.effort[joint] if robot.effort[joint] > 0 else 100.0
