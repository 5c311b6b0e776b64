"""
A Design as files: YAML to keep and to run, CSV for other programs, a page to look at.

The page shows the use of the limits, curves against them and the moving arm.
"""

from collections.abc import Sequence
import csv
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from .next_steps import motion_steps
from .sheet import sheet_text
from ..errors import file_errors
from ..excitation.design import Design
from ..excitation.fourier import FourierMotion
from ..excitation.limits import GIVEN
from ..excitation.problem import RECORDED_RATE
from ..identification.identified_model import plain

FILES = ('motion.yaml', 'motion.csv', 'motion.html')


def write_design(design: Design, out_dir: str | Path) -> tuple[Path, ...]:
    """
    Write ``design`` into the directory ``out_dir`` (made when missing); return the paths.

    motion.yaml holds the motion (``motion_files.read_motion``), how it was designed and how close
    each limit is; motion.csv is one period at 100 Hz; motion.html needs no network.
    """
    out = Path(out_dir)
    page = motion_page(design, str(out / FILES[0]))
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


def _content(design: Design) -> Any:
    """Return the content of motion.yaml of a ``design``, as plain Python values."""
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


def _write_csv(path: Path, joint_names: Sequence[str], samples: Sequence[np.ndarray]) -> None:
    """Write the ``samples``: t (N,), q, v, a (N, n), a column per joint."""
    heads = ['time']
    for symbol in 'qva':
        heads += [f'{symbol}_{name}' for name in joint_names]
    with open(path, 'w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(heads)
        for row in np.column_stack(samples):
            writer.writerow([f'{x:.9g}' for x in row])


def motion_page(design: Design, file: str = FILES[0]) -> str:
    """Return a self-contained HTML document about a ``design``; ``file`` : with its motion."""
    from .sections import DESIGN  # and those of all pages: when one is made

    return sheet_text(replace(DESIGN.sheet(design), commands=motion_steps(file)))
