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

from .joint_names import finite_number, joint_index
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
    WidthOptions,
)
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.robot_model import RobotModel
from ...errors import ConfigError
from ...options import option

# Of COULOMB_WIDTHS, in sizes of the loops per second.  A cylinder that moves by centimetres is
# slow all the time: a step as wide as a joint's in rad/s would be a line to it.
SLIDE_WIDTHS = (0.0, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)

STIFFEST = 1e6  # [N m/rad] of a joint, before data
SPRING = law_of('stiffness')
PRELOAD = 'preload'  # law of a constant force
# What is between a joint and its motor: symbol, law, unit and prior standard deviation.
ELASTIC = (('ke', SPRING, 'N m/rad', STIFFEST), ('de', 'damper', 'N m s/rad', 1e4))
SPRING_ENDS = {'joint': 1, 'between': 2}  # how many names follow
# Laws without a corner.
SMOOTH_LAWS = (
    PRELOAD,
    'damper',
    *(name for name, law in LAWS.items() if not (law.nonlinear or law.dry)),
)


@dataclass(frozen=True)
class ForceOptions(WidthOptions):
    """Which springs and friction the mechanism has."""

    friction: tuple[str, ...] = option(
        (), 'friction of joints, dependent ones too: "JOINT LAW ..." or "all LAW ..."'
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
        q, v, a = (self._relative(x) for x in (state.q, state.v, state.a))
        return self._relative(state.R) * self._force(q, v, a, state.alone)[:, None]

    def _relative(self, x):
        """Return the joint's part (B, ...) of x (B, n, ...), less that of what it reacts on."""
        if self.against is None:
            return x[:, self.joint]
        return x[:, self.joint] - x[:, self.against]

    def _force(self, q, v, a, alone):
        """Return the force (B,) of a unit of the parameter; alone : no sample follows another."""
        law = self.parameter.law
        if law == PRELOAD:
            return np.ones(len(q))
        if law == 'damper':
            return v
        if alone and LAWS[law].memory:
            return friction_column(self.parameter, 0.0 * q, v, a)
        return friction_column(self.parameter, q - self.rest, v, a)


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
        force = length - self.rest
        if self.parameter.law == PRELOAD:
            force = np.ones(len(length))
        return np.einsum('bn,bnk->bk', slope * force[:, None], state.R)


def elastic_elements(robot: RobotModel, pairs: Mapping[str, str]) -> list[JointForce]:
    """Return spring and damper between every joint and its motor, ``pairs`` of their names."""
    out = []
    for joint, motor in pairs.items():
        k = robot.joint_names.index(joint)
        for symbol, law, unit, prior_sd in ELASTIC:
            if robot.prismatic[k]:
                unit = of_slide(unit)
            parameter = Parameter(f'{symbol}{k + 1}', unit, 1.0, 0.0, prior_sd, joint, law)
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
    out: list[JointForce | LineForce] = []
    for line in options.friction:
        out += _friction(robot, line, given_widths(options.coulomb_width), size)
    _refuse_repeated([element.parameter for element in out])
    for number, line in enumerate(options.springs, 1):
        out += _spring(robot, line, number)
    return tuple(out)


def _friction(robot, line, widths, size):
    """Return the columns of a line "JOINT LAW ..." or "all LAW ..."."""
    name, *laws = line.split() or ['']
    check_laws(laws)
    names = [name]
    if name == 'all':
        names = robot.joint_names
    out = []
    for name in names:
        joint = joint_index(robot.joint_names, name, repr(line))
        slides = robot.prismatic[joint]
        for parameter in friction_parameters(
            joint + 1, name, laws, _limit(robot, joint), widths, slides
        ):
            if slides:
                parameter = _of_slide(parameter, size, widths)
            out.append(JointForce(parameter, joint))
    return out


def _refuse_repeated(parameters):
    """Raise ConfigError where a joint has one law twice."""
    columns = set()
    for p in parameters:
        if (p.name, p.nonlinear) in columns:
            raise ConfigError('option friction', found=f'{p.law} of {p.owner} twice')
        columns.add((p.name, p.nonlinear))


def _of_slide(parameter, size, widths):
    """Return a friction Parameter with the constants of a slide but where ``widths`` are given."""
    constant, law = parameter.nonlinear, LAWS[parameter.law]
    if not constant:
        return parameter
    if law.has_width and not widths:
        constant = float(np.interp(constant, COULOMB_WIDTHS, SLIDE_WIDTHS)) * size
    elif parameter.law not in widths:
        metres_per_radian = {'rad/s': size, 'rad': size, 's/rad': 1.0 / size}
        constant *= metres_per_radian.get(law.nonlinear_unit, 1.0)
    return replace(parameter, nonlinear=constant)


def _spring(robot, line, number):
    """Return the columns of one spring."""
    kind, names, rest = _spring_words(line)
    make: Callable[..., JointForce | LineForce]
    if kind == 'joint':
        joint = joint_index(robot.joint_names, names[0], repr(line))
        slides = robot.prismatic[joint]
        make = partial(JointForce, joint=joint)
    else:
        first, second = (frame_of(robot, name) for name in names)
        slides = True
        make = partial(LineForce, first=first, second=second)
    unit, per = 'N m', '/rad'
    if slides:
        unit, per = 'N', '/m'
    owner = ' '.join(names)
    stiffness = Parameter(f'k{number}', unit + per, 1.0, 0.0, 1e5, owner, SPRING)
    if rest is not None:
        return [make(stiffness, rest=rest)]
    constant = Parameter(f'f0{number}', unit, 1.0, 0.0, 1e4, owner, PRELOAD)
    return [make(stiffness), make(constant)]


def _spring_words(line):
    """Return (kind, names, rest [rad, m] or None) of a line of the option ``springs``."""
    kind, *words = line.split() or ['']
    ends = SPRING_ENDS.get(kind, len(words) + 1)  # of an unknown kind there are too few
    names, rest = words[:ends], words[ends:]
    try:
        if len(words) == ends:
            return kind, names, None
        (length,) = rest
        return kind, names, finite_number(length)
    except ValueError:
        raise ConfigError(
            f'spring {line!r}', exists=('joint JOINT [REST]', 'between LINK LINK [LENGTH]')
        ) from None


def _limit(robot, joint):
    if robot.effort[joint] > 0:
        return robot.effort[joint]
    return 100.0
