"""The page of a designed motion: the moving arm, curves against limits, the use of each limit."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .drawings import Drawings
from .sheet import Card, Section, Sheet, Table
from .viewer import arm_view, joint_styles
from ..dynamics.regressor import nominal_torques
from ..dynamics.robot_model import RobotModel

if TYPE_CHECKING:  # the optimiser behind it takes long to start
    from ..excitation.design import Design

FRAMES = 401  # of one period
MILLIMETRES = 1000.0  # in a metre
UNITS = {  # of a joint that turns, and of one that slides
    'position': ('rad', 'm'),
    'velocity': ('rad/s', 'm/s'),
    'acceleration': ('rad/s²', 'm/s²'),
    'torque of the nominal model without friction': ('N m', 'N'),
}


def head(design: 'Design', _: Drawings) -> Sheet:
    """Return title, use of the limits, expected errors and distances of a ``design``."""
    motion = design.motion
    criterion = design.criterion.replace('_', '-')
    return Sheet(
        f'Excitation of {design.robot.name}',
        f'Period {motion.period:g} s, {motion.harmonics} harmonics; '
        f'minimised: {criterion}, {design.value:.4g}',
        list(_cards(design)),
        design.notices,
        numbers=design.summary(),
    )


def _cards(design: 'Design') -> Iterator[Card]:
    use = design.use
    yield _largest_use(design)
    lowest, highest = np.argmin(design.torque_errors), np.argmax(design.torque_errors)
    errors = design.errors()
    yield Card(
        f'{errors[lowest]} to {errors[highest]}',
        'expected standard errors of predicted torques over the workspace, joint by joint',
    )
    yield Card(f'{design.condition_number:.4g}', 'condition number of the weighted base regressor')
    yield Card(str(len(design.base_names)), 'base parameters')
    if np.isfinite(use.tool_outside):
        inside = -MILLIMETRES * use.tool_outside
        yield Card(f'{inside:.1f} mm', 'is the end effector inside its bounds')
    if np.isfinite(use.gap):
        distance = MILLIMETRES * (use.gap + design.options.distance)
        yield Card(f'{distance:.1f} mm', 'smallest distance between links that are not neighbours')


def _largest_use(design: 'Design') -> Card:
    """Return the largest use of any limit, and whose it is."""
    percent, kind, joint = max(
        (share, kind.replace('_', ' '), joint)
        for kind, shares in _shares(design).items()
        for joint, share in zip(design.motion.joint_names, shares)
    )
    return Card(f'{percent:.0f} %', f'largest use of a limit: {kind} of {joint}')


def _shares(design: 'Design') -> dict[str, np.ndarray]:
    """Return {kind: shares (n,) of the limits themselves, before the margins [%]}."""
    margins = design.limits.margins
    return {
        kind: 100.0 * (1.0 - margins.get(kind, 0.0)) * values
        for kind, values in design.use.joints.items()
    }


def moving_arm(design: 'Design', drawings: Drawings) -> Iterator[Section]:
    """Yield the arm in motion with position, velocity, acceleration and torque over time."""
    motion, limits, robot = design.motion, design.limits, design.robot
    t = np.linspace(0.0, motion.period, FRAMES)
    q, v, a = motion.at(t)
    torque = nominal_torques(robot, q, v, a)
    bounds = {
        'position': (q, limits.lower, limits.upper),
        'velocity': (v, -limits.velocity, limits.velocity),
        'acceleration': (a, -limits.acceleration, limits.acceleration),
        'torque of the nominal model without friction': (torque, -limits.effort, limits.effort),
    }
    styles = joint_styles(robot)
    charts = [
        drawings.limited((title, _units(title, robot)), t, styles, values, np.stack([low, high]))
        for title, (values, low, high) in bounds.items()
    ]
    box = None
    if np.isfinite(limits.box).all():
        box = limits.box.tolist()
    view = arm_view(
        drawings,
        robot,
        q,
        [design.tool],
        t=drawings.array(t),
        link='motion',
        charts=charts,
        sphere=limits.sphere,
        box=box,
    )
    yield Section(
        'The moving arm',
        view=view,
        note='Links in the colours of their curves. Limits are dashed, where they are near.',
    )


def _units(quantity: str, robot: RobotModel) -> str:
    """Return the units of a ``quantity`` of UNITS over the joints that a ``robot`` has."""
    kinds = sorted(set(robot.prismatic))
    return f'[{", ".join(UNITS[quantity][slides] for slides in kinds)}]'


def limits_used(design: 'Design', _: Drawings) -> Iterator[Section]:
    """Yield the share of each limit that the motion uses, joint by joint."""
    shares = _shares(design)
    rows = []
    for j, (name, error) in enumerate(zip(design.motion.joint_names, design.errors())):
        percents = [f'{values[j]:.1f} %' for values in shares.values()]
        rows.append([name, *percents, error])
    kinds = [kind.replace('_', ' ') for kind in shares]
    yield Section(
        'Share of each limit used',
        tables=[
            Table(
                ['joint', *kinds, 'standard error of torque'],
                rows,
                note='Standard errors of torque: predicted, root mean square over the workspace.',
            )
        ],
    )
