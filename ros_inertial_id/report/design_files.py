"""A Design as files: YAML to keep, CSV and a JointTrajectory to run, a page to look at."""

import csv
from dataclasses import asdict, dataclass
import json
from pathlib import Path

import numpy as np
import yaml

from ..errors import MotionError
from ..excitation.design import Design
from ..excitation.limits import GIVEN
from ..excitation.motion_files import Motion
from ..excitation.sweep_design import SweepDesign

FILES = ('motion.yaml', 'motion.csv', 'joint_trajectory.json', 'motion.html')


@dataclass(frozen=True)
class Sampled:
    """A motion as samples: t (N,) [s]; q, v, a (N, n) [rad or m and their derivatives]."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


def write_design(design: Design | SweepDesign, out_dir: str | Path) -> tuple[Path, ...]:
    """
    Write ``design`` into the directory ``out_dir`` (made when missing); return the paths.

    motion.yaml holds the motion (``motion_files.read_motion``), how it was designed and how close
    each limit is; motion.csv and joint_trajectory.json are sampled at ``rate`` for ``periods``;
    motion.html, of all but friction sweeps, needs no network.
    """
    out = Path(out_dir)
    samples = sampled(design.motion, design.options.rate, design.options.periods)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with open(out / FILES[0], 'w', encoding='utf-8') as file:
            yaml.safe_dump(_content(design), file, sort_keys=False, allow_unicode=True)
        _write_csv(out / FILES[1], design.motion.joint_names, samples)
        with open(out / FILES[2], 'w', encoding='utf-8') as file:
            json.dump(_trajectory(design.motion.joint_names, samples), file)
        if isinstance(design, Design):
            from .motion import motion_page  # jinja2 behind it takes time to start
            (out / FILES[3]).write_text(motion_page(design), encoding='utf-8')
    except OSError as error:
        raise MotionError(f'the design cannot be written to {out}', found=error.strerror) from None
    return tuple(out / name for name in FILES[:4 if isinstance(design, Design) else 3])


def sampled(motion: Motion, rate: float, periods: int = 1) -> Sampled:
    """Return ``periods`` of a ``motion`` Sampled at ``rate`` [1/s], both ends included."""
    steps = max(int(round(motion.period * rate)), 1)
    t = np.linspace(0.0, periods * motion.period, periods * steps + 1)
    return Sampled(t, *motion.at(t))


def _content(design):
    """Return what motion.yaml of ``design`` holds, as plain Python values."""
    limits, names = design.limits, design.motion.joint_names
    by_joint = {kind: {n: _number(x) for n, x in zip(names, getattr(limits, kind))}
                for kind in GIVEN}
    return {
        'robot': design.robot.name,
        'kinematics_sha256': design.robot.kinematics_sha256(),
        'motion': design.motion.to_dict(),
        'start': {n: float(x) for n, x in zip(names, design.motion.start)},
        'result': design.summary(),
        **_columns(design),
        'limits': by_joint,
        'options': {key: _plain(value) for key, value in asdict(design.options).items()}}


def _columns(design):
    """Return what a Design says of the columns it was made for; a sweep is made for none."""
    if not isinstance(design, Design):
        return {}
    return {'singular_values': [float(s) for s in design.singular_values],
            'base_parameters': list(design.base_names),
            'gravities_base': design.gravities.tolist()}


def _plain(value):
    """Return a value of the options as YAML knows it: callers give NumPy's numbers, too."""
    if isinstance(value, (tuple, list, np.ndarray)):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _number(value):
    """Return a float, or None where there is no limit."""
    return float(value) if np.isfinite(value) else None


def _trajectory(joint_names, samples):
    """Return the fields of a trajectory_msgs/JointTrajectory."""
    points = []
    for t, q, v, a in zip(samples.t, samples.q, samples.v, samples.a):
        nanoseconds = int(round(t * 1e9))
        points.append({
            'positions': q.tolist(), 'velocities': v.tolist(), 'accelerations': a.tolist(),
            'effort': [], 'time_from_start': {'sec': nanoseconds // 10 ** 9,
                                              'nanosec': nanoseconds % 10 ** 9}})
    return {'header': {'stamp': {'sec': 0, 'nanosec': 0}, 'frame_id': ''},
            'joint_names': list(joint_names), 'points': points}


def _write_csv(path, joint_names, samples):
    with open(path, 'w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(['time'] + [f'{symbol}_{n}' for symbol in 'qva' for n in joint_names])
        rows = np.column_stack([samples.t, samples.q, samples.v, samples.a])
        writer.writerows([f'{x:.9g}' for x in row] for row in rows)
