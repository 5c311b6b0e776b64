"""The page of a designed motion: the moving arm, curves against limits, the use of each limit."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .drawings import Drawings
from .sheet import Card, Section, Sheet, Table
from .viewer import arm_view, joint_styles
from ..dynamics.regressor import nominal_torques
from ..excitation.regressor_adjoint import Chain, TreePass

if TYPE_CHECKING:  # the optimiser behind it takes long to start
    from ..excitation.design import Design

FRAMES = 401  # of one period
MILLIMETRES = 1000.0  # in a metre


def head(design: 'Design', _: Drawings) -> Sheet:
    """Return title, criterion and distances of a ``design``."""
    motion = design.motion
    return Sheet(
        f'Excitation of {design.robot.name}',
        f'Period {motion.period:g} s, {motion.harmonics} harmonics',
        list(_cards(design)),
        design.notices,
        numbers=design.summary(),
    )


def _cards(design: 'Design') -> Iterator[Card]:
    use = design.use
    condition = f'{design.condition_number:.4g}'
    yield Card(condition, 'condition number of the weighted base regressor')
    if design.criterion != 'condition_number':
        yield Card(f'{design.value:.4g}', design.criterion.replace('_', '-'))
    yield Card(str(len(design.base_names)), 'base parameters')
    if np.isfinite(use.tool_outside):
        inside = -MILLIMETRES * use.tool_outside
        yield Card(f'{inside:.1f} mm', 'is the end effector inside its bounds')
    if np.isfinite(use.gap):
        distance = MILLIMETRES * (use.gap + design.options.distance)
        yield Card(f'{distance:.1f} mm', 'smallest distance between links that are not neighbours')


def moving_arm(design: 'Design', drawings: Drawings) -> Iterator[Section]:
    """Yield the arm in motion with position, velocity, acceleration and torque over time."""
    motion, limits, robot = design.motion, design.limits, design.robot
    t = np.linspace(0.0, motion.period, FRAMES)
    q, v, a = motion.at(t)
    torque = nominal_torques(robot, q, v, a)
    plots = [
        ('position', '[rad, m]', q, limits.lower, limits.upper),
        ('velocity', '[rad/s, m/s]', v, -limits.velocity, limits.velocity),
        ('acceleration', '[rad/s², m/s²]', a, -limits.acceleration, limits.acceleration),
        (
            'torque of the nominal model without friction',
            '[N m, N]',
            torque,
            -limits.effort,
            limits.effort,
        ),
    ]
    styles = joint_styles(robot)
    charts = [
        drawings.limited((title, unit), t, styles, values, np.stack([low, high]))
        for title, unit, values, low, high in plots
    ]
    box = None
    if np.isfinite(limits.box).all():
        box = limits.box.tolist()
    view = arm_view(
        drawings,
        robot,
        TreePass(Chain.of(robot), q.T, v.T, a.T, robot.gravity_base),
        design.tool,
        period=motion.period,
        charts=charts,
        sphere=limits.sphere,
        box=box,
    )
    yield Section(
        'The moving arm',
        view=view,
        note='Links in the colours of their curves. Limits are dashed, where they are near.',
    )


def limits_used(design: 'Design', _: Drawings) -> Iterator[Section]:
    """Yield the share of each limit that the motion uses, joint by joint."""
    usable = {kind: 1.0 - margin for kind, margin in design.limits.margins.items()}
    shares = {  # of the limit itself, of which the margin was taken off
        kind: 100.0 * usable.get(kind, 1.0) * values for kind, values in design.use.joints.items()
    }
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
