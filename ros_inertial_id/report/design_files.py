"""
A Design as files: YAML to keep and to run, CSV for other programs, a page to look at.

The page shows the use of the limits, curves against them and the moving arm.
"""

from collections.abc import Mapping
import csv
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from .drawings import Drawings
from .sheet import Card, Section, Sheet, sheet_text, Table
from .viewer import arm_view, joint_styles
from ..dynamics.regressor import nominal_torques
from ..errors import file_errors
from ..excitation.design import Design
from ..excitation.fourier import FourierMotion
from ..excitation.limits import GIVEN
from ..excitation.problem import RECORDED_RATE
from ..excitation.regressor_adjoint import Chain, TreePass
from ..identification.identified_model import plain

FILES = ('motion.yaml', 'motion.csv', 'motion.html')
FRAMES = 401  # of one period


def write_design(design: Design, out_dir: str | Path) -> tuple[Path, ...]:
    """
    Write ``design`` into the directory ``out_dir`` (made when missing); return the paths.

    motion.yaml holds the motion (``motion_files.read_motion``), how it was designed and how close
    each limit is; motion.csv is one period at 100 Hz; motion.html needs no network.
    """
    out, page = Path(out_dir), motion_page(design)
    samples = sampled(design.motion, RECORDED_RATE)
    with file_errors(f'the design {out}', 'written'):
        out.mkdir(parents=True, exist_ok=True)
        with open(out / FILES[0], 'w', encoding='utf-8') as file:
            yaml.safe_dump(_content(design), file, sort_keys=False, allow_unicode=True)
        _write_csv(out / FILES[1], design.motion.joint_names, samples)
        (out / FILES[2]).write_text(page, encoding='utf-8')
    return tuple(out / name for name in FILES)


def sampled(motion: FourierMotion, rate: float) -> tuple[np.ndarray, ...]:
    """Return t (N,) [s], q, v, a (N, n) of one period of ``motion`` at ``rate`` [Hz]."""
    t = np.linspace(0.0, motion.period, round(motion.period * rate) + 1)
    return (t, *motion.at(t))


def _content(design):
    """Return what motion.yaml of ``design`` holds, as plain Python values."""
    limits, names = design.limits, design.motion.joint_names
    return plain(
        {
            'robot': design.robot.name,
            'kinematics_sha256': design.robot.kinematics_sha256(),
            'motion': design.motion.to_dict(),
            'start': dict(zip(names, design.motion.start)),
            'result': design.summary(),
            'singular_values': design.singular_values,
            'base_parameters': design.base_names,
            'gravity_base': design.robot.gravity_base,
            'limits': {kind: dict(zip(names, getattr(limits, kind))) for kind in GIVEN},
            'options': asdict(design.options),
        }
    )


def _write_csv(path, joint_names, samples):
    with open(path, 'w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(['time'] + [f'{symbol}_{n}' for symbol in 'qva' for n in joint_names])
        rows = np.column_stack(samples)
        writer.writerows([f'{x:.9g}' for x in row] for row in rows)


def motion_page(design: Design) -> str:
    """Return a self-contained HTML document about a ``design``."""
    motion, limits, robot = design.motion, design.limits, design.robot
    drawings, t = Drawings(), np.linspace(0.0, motion.period, FRAMES)
    q, v, a = motion.at(t)
    tree = TreePass(Chain.of(robot), q.T, v.T, a.T, robot.gravity_base)
    plots = [
        ('position', '[rad, m]', q, limits.lower, limits.upper),
        ('velocity', '[rad/s, m/s]', v, -limits.velocity, limits.velocity),
        ('acceleration', '[rad/s², m/s²]', a, -limits.acceleration, limits.acceleration),
        (
            'torque of the nominal model without friction',
            '[N m, N]',
            nominal_torques(robot, q, v, a),
            -limits.effort,
            limits.effort,
        ),
    ]
    over_time = [
        drawings.limited((title, unit), t, joint_styles(robot), values, np.stack([low, high]))
        for title, unit, values, low, high in plots
    ]
    view = arm_view(
        drawings,
        robot,
        tree,
        design.tool,
        period=motion.period,
        charts=over_time,
        gravity=robot.gravity_base.tolist(),
        sphere=limits.sphere,
        box=limits.box.tolist() if np.isfinite(limits.box).all() else None,
    )
    return sheet_text(_sheet(design, drawings, view))


def _sheet(design: Design, drawings: Drawings, view: Mapping[str, Any]) -> Sheet:
    """Return what the page says; ``view`` : the moving arm and its curves over time."""
    use, names, motion = design.use, design.motion.joint_names, design.motion
    left = {kind: 1.0 - share for kind, share in design.limits.margins.items()}
    heads = ['joint', *(kind.replace('_', ' ') for kind in use.joints), 'standard error of torque']
    rows = [
        [
            name,
            *(
                f'{100.0 * left.get(kind, 1.0) * values[j]:.1f} %'
                for kind, values in use.joints.items()
            ),
            error,
        ]
        for j, (name, error) in enumerate(zip(names, design.errors()))
    ]
    cards = [
        Card(f'{design.condition_number:.4g}', 'condition number of the weighted base regressor')
    ]
    if design.criterion != 'condition_number':
        cards.append(Card(f'{design.value:.4g}', design.criterion.replace('_', '-')))
    cards.append(Card(str(len(design.base_names)), 'base parameters'))
    if np.isfinite(use.tool_outside):
        cards.append(
            Card(f'{-1000.0 * use.tool_outside:.1f} mm', 'is the end effector inside its bounds')
        )
    if np.isfinite(use.gap):
        between = 1000.0 * (use.gap + design.options.distance)  # [mm]
        cards.append(
            Card(f'{between:.1f} mm', 'smallest distance between links that are not neighbours')
        )
    return Sheet(
        f'Excitation of {design.robot.name}',
        f'Period {motion.period:g} s, {motion.harmonics} harmonics',
        cards,
        design.notices,
        (
            Section(
                'The moving arm',
                view=view,
                note='Links in the colours of their curves. '
                'Limits are dashed, where they are near.',
            ),
            Section(
                'Share of each limit used',
                tables=[
                    Table(
                        heads,
                        rows,
                        note='Standard errors of torque: predicted, root mean square over '
                        'the workspace.',
                    )
                ],
            ),
        ),
        numbers=design.summary(),
        drawings=drawings,
    )
