"""
design: a robot in, a motion out that reveals its parameters and keeps every limit.

Base columns of the mounting -> search -> check on a grid ten times finer -> Design.
Sources: Swevers et al. 1997; Troebinger et al., section II-B.2.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
import os
import time
from typing import Any

import numpy as np

from .assessment import assess, torque_errors, Use
from .criteria import reported_value
from .feedforward import feedforward_error, FeedforwardError
from .fourier import FourierMotion
from .limits import Limits
from .objective import MotionProblem
from .problem import (
    check_postures,
    design_parameters,
    DesignOptions,
    information_of,
    motion_problem,
    RATE,
    refuse_loops,
)
from .search import HANDING_OVER, search
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError
from ..identification.files import read_text
from ..identification.identified_model import IdentifiedModel
from ..methods import METHODS
from ..options import check_ranges, described_blocks, DESIGN, options_from, read_blocks

SAMPLES = 50  # of a period that the search looks at; the result is checked on more
PROCESSES = 4  # that search, at most

__all__ = ['design', 'design_parameters', 'Design', 'DesignOptions', 'load_design', 'Progress']


def load_design(path: str = '', changes: Mapping[str, Any] | None = None) -> DesignOptions:
    """
    Return the DesignOptions of the block design of a YAML file ``path``, '' for none, changed.

    MotionError for a file that closes loops.
    """
    blocks = read_blocks(path, METHODS)
    refuse_loops(blocks)
    values = {**(blocks.get(DESIGN) or {}), **(changes or {})}
    return options_from(DesignOptions, values, path or 'the options')


@dataclass(frozen=True)
class Progress:
    """seconds so far, of budget; best value so far or None; motions found, rejected."""

    seconds: float
    budget: float
    best: float | None
    found: int
    rejected: int


@dataclass(frozen=True)
class Design:
    """
    A motion that keeps its limits, and how good it is.

    criterion, value : what was made small
    condition_number, singular_values (b,), base_names : of the weighted base regressor at the
        motion's own samples, with what was known before
    torque_errors : (n,) standard errors of predicted torques, mean square over the workspace, with
        the sigma of the options [N m]
    tool : (body, offset (3,) [m]) of the end effector
    seconds, cpu_parts : it took, CPU time by what it went into; notices : what was not checked
    found : times a better motion was met; rejected : how many of them the last check refused
    feedforward : error of the model of the options on this motion, None without one
    """

    robot: RobotModel
    options: DesignOptions
    motion: FourierMotion
    criterion: str
    value: float
    condition_number: float
    singular_values: np.ndarray
    base_names: tuple[str, ...]
    torque_errors: np.ndarray
    use: Use
    limits: Limits
    tool: tuple[int, np.ndarray]
    seconds: float
    cpu_parts: Mapping[str, float]
    found: int
    rejected: int
    notices: tuple[str, ...]
    feedforward: FeedforwardError | None = None

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time of all processes."""
        return sum(self.cpu_parts.values())

    def words(self) -> tuple[str, ...]:
        """Return the design in words, line by line."""
        return (
            *([self.feedforward.words()] if self.feedforward else []),
            'predicted standard error of torque: '
            + ', '.join(
                f'{name} {error}' for name, error in zip(self.motion.joint_names, self.errors())
            ),
            f'{self.criterion} {self.value:.4g}, condition number {self.condition_number:.4g} '
            f'of {len(self.base_names)} base parameters, in {self.seconds:.0f} s',
            f'CPU time {self.cpu_seconds:.1f} s: '
            + ', '.join(f'{part} {seconds:.1f}' for part, seconds in self.cpu_parts.items()),
        )

    def errors(self) -> list[str]:
        """Return the standard errors of predicted torques, joint by joint, with their units."""
        return [
            f'{error:.2g} {"N" if slides else "N m"}'
            for error, slides in zip(self.torque_errors, self.robot.prismatic)
        ]

    def summary(self) -> dict[str, Any]:
        """Return the design in plain Python values; use of the limits in percent."""
        names = self.motion.joint_names
        return {
            'torque_standard_error': {
                n: float(f'{e:.4g}') for n, e in zip(names, self.torque_errors)
            },  # [N m]
            'condition_number': self.condition_number,
            'criterion': self.criterion,
            'value': self.value,
            'seconds': round(self.seconds, 3),
            'cpu_seconds': round(self.cpu_seconds, 3),
            'cpu_parts': {part: round(spent, 3) for part, spent in self.cpu_parts.items()},
            'base_parameters': len(self.base_names),
            **self.use.plain(names, self.limits.margins, self.options.distance),
            **({'feedforward_error': self.feedforward.plain()} if self.feedforward else {}),
            'motions_found': self.found,
            'motions_rejected': self.rejected,
            'notices': list(self.notices),
        }


def design(
    robot: RobotModel,
    options: DesignOptions,
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Design:
    """
    Return the best Design found.

    progress : called a few times per second; stop : called as often, true ends the search, as
    Ctrl-C does.  The best feasible motion so far is kept.
    Raises MotionError when a limit is missing, no motion keeps all of them, or loops are closed.
    """
    check_ranges(options)
    refuse_loops(described_blocks(robot.urdf))
    model = (
        IdentifiedModel.from_yaml(read_text(options.model), options.model)
        if options.model
        else None
    )
    if model:
        refuse_loops({model.method: model.options})
    known = information_of(model, design_parameters(robot, options)) if model else None
    found = _searched(robot, options, progress, stop, known)
    if not model:
        return found
    t = np.linspace(0.0, found.motion.period, round(found.motion.period * RATE) + 1)
    return replace(
        found,
        feedforward=feedforward_error(model, found.motion.joint_names, t, found.motion.at(t)),
    )


def _searched(
    robot: RobotModel,
    options: DesignOptions,
    progress: Callable[[Progress], None] | None,
    stop: Callable[[], bool] | None,
    known: np.ndarray | None,
) -> Design:
    """Return the best Design that the search finds; see ``design``."""
    began, cpu_began = time.monotonic(), sum(os.times()[:4])
    problem, base = motion_problem(robot, options, known)
    check_postures(problem, options)
    processes = min(os.cpu_count() or 1, PROCESSES, options.restarts)
    left = max(options.seconds - (time.monotonic() - began), 0.1)
    candidates = search(problem, SAMPLES, options.restarts, options.seed, left, processes)
    best, result, found, rejected, last, refusal = None, None, 0, 0, None, []
    limits_cpu = checks_cpu = 0.0
    try:
        for candidate in candidates:
            last = candidate or last
            limits_cpu += candidate.limits_cpu if candidate else 0.0
            if candidate and candidate.value < (best.value if best else np.inf):
                check_began = time.process_time()
                checked = assess(problem, candidate.x)
                refusal = checked.use.broken(robot.joint_names)
                checks_cpu += time.process_time() - check_began
                found, rejected = found + 1, rejected + bool(refusal)
                best, result = (best, result) if refusal else (candidate, checked)
            if progress is not None:
                progress(
                    Progress(
                        time.monotonic() - began,
                        options.seconds,
                        best.value if best else None,
                        found,
                        rejected,
                    )
                )
            late = time.monotonic() - began > options.seconds + HANDING_OVER
            if late and best or stop is not None and stop():
                break
    except KeyboardInterrupt:
        pass
    finally:
        candidates.close()
    if best is None:
        raise _nothing_found(robot, problem, last, refusal)
    cpu, seconds = sum(os.times()[:4]) - cpu_began, time.monotonic() - began
    cut = (
        (
            f'the search was cut after {seconds:.0f} s, before all restarts had ended: give more '
            'seconds: for the motion that any computer finds',
        )
        if seconds > options.seconds
        else ()
    )
    parts = {
        'criterion and start': cpu - limits_cpu - checks_cpu,
        'limits and collisions': limits_cpu,
        'checks on the finest grid': checks_cpu,
    }
    return _finished(
        robot, options, (problem, base, best.x, result), (seconds, parts, found, rejected), cut
    )


def _nothing_found(robot, problem, last, refusal):
    """Return the MotionError that says which limits were in the way."""
    broken = assess(problem, last.x).use.broken(robot.joint_names) if last else []
    return MotionError(
        'no motion that keeps all limits was found',
        found=broken or refusal or 'nothing yet: it was stopped early',
        do='widen the limits named, or give more seconds: or restarts:',
    )


def _finished(robot, options, stated, spent, cut):
    """Return the Design at x; ``spent``: see Design, ``cut``: notices of a search cut short."""
    (problem, base, x, result), (seconds, parts, found, rejected) = stated, spent
    motion = motion_at(robot, problem, x)
    singular = np.sqrt(np.maximum(np.linalg.eigvalsh(result.factors)[::-1], 0.0))
    return Design(
        robot,
        options,
        motion,
        options.criterion,
        reported_value(options.criterion, result.factors, problem.root, result.widths.sum()),
        float(singular[0] / singular[-1]),
        singular,
        tuple(base.names()),
        torque_errors(problem, result),
        result.use,
        problem.limits,
        problem.tool,
        seconds,
        parts,
        found,
        rejected,
        (*problem.limits.notices, *problem.shapes.notices, *cut),
    )


def motion_at(robot: RobotModel, problem: MotionProblem, x: np.ndarray) -> FourierMotion:
    """Return the motion of a RobotModel ``robot`` at coordinates x (n m,) of its ``problem``."""
    c, K = problem.coefficients(x), problem.harmonics
    return FourierMotion(
        robot.joint_names, problem.period, c[:, 0], c[:, 1 : K + 1], c[:, K + 1 :]
    )
