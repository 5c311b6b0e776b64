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

from .assessment import assess, Assessment, torque_errors, Use
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
    RECORDED_RATE,
    refuse_loops,
)
from .search import Candidate, HANDING_OVER, search
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError
from ..identification.files import read_model_text
from ..identification.identified_model import IdentifiedModel
from ..methods import METHODS
from ..options import check_ranges, described_blocks, DESIGN, options_from, read_blocks
from ..share import config_file

SEARCH_SAMPLES = 50  # of a period that the search looks at; the result is checked on more
PROCESSES = 4  # that search, at most

__all__ = ['design', 'design_parameters', 'Design', 'DesignOptions', 'load_design', 'Progress']


def load_design(path: str = '', changes: Mapping[str, Any] | None = None) -> DesignOptions:
    """
    Return the DesignOptions of the block design of a YAML file ``path``, '' for none, changed.

    MotionError for a file that closes loops.
    """
    blocks = read_blocks(config_file(path), METHODS)
    refuse_loops(blocks)
    values = {**(blocks.get(DESIGN) or {}), **(changes or {})}
    return options_from(DesignOptions, values, path)


@dataclass(frozen=True)
class Progress:
    """seconds so far, of budget; best value so far or None; motions found, rejected."""

    seconds: float
    budget: float
    best: float | None
    found: int
    rejected: int


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        return f'Motion of {self.robot.name}, {self.motion.period:g} s\n' + '\n'.join(self.words())

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time of all processes."""
        return sum(self.cpu_parts.values())

    def words(self) -> tuple[str, ...]:
        """Return the design in words, line by line."""
        errors = zip(self.motion.joint_names, self.errors())
        parts = ', '.join(f'{part} {seconds:.1f}' for part, seconds in self.cpu_parts.items())
        lines = [
            'predicted standard error of torque: '
            + ', '.join(f'{name} {error}' for name, error in errors),
            f'condition number {self.condition_number:.4g} of {len(self.base_names)} base '
            f'parameters; minimised {self.criterion}: {self.value:.4g}, in {self.seconds:.0f} s',
            f'CPU time {self.cpu_seconds:.1f} s: {parts}',
        ]
        if self.feedforward is not None:
            lines.insert(0, self.feedforward.words())
        return tuple(lines)

    def errors(self) -> list[str]:
        """Return the standard errors of predicted torques, joint by joint, with their units."""
        units = {False: 'N m', True: 'N'}  # by whether a joint slides
        return [
            f'{error:.2g} {units[slides]}'
            for error, slides in zip(self.torque_errors, self.robot.prismatic)
        ]

    def summary(self) -> dict[str, Any]:
        """Return the design in plain Python values; use of the limits in percent."""
        names = self.motion.joint_names
        errors = {name: float(f'{e:.4g}') for name, e in zip(names, self.torque_errors)}
        feedforward = {}
        if self.feedforward is not None:
            feedforward['feedforward_error'] = self.feedforward.plain()
        return {
            'torque_standard_error': errors,  # [N m]
            'condition_number': self.condition_number,
            'criterion': self.criterion,
            'value': self.value,
            'seconds': round(self.seconds, 3),
            'cpu_seconds': round(self.cpu_seconds, 3),
            'cpu_parts': {part: round(spent, 3) for part, spent in self.cpu_parts.items()},
            'base_parameters': len(self.base_names),
            **self.use.plain(names, self.limits.margins, self.options.distance),
            **feedforward,
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
    if not options.model:
        return _Search(robot, options, None).run(progress, stop)
    model = IdentifiedModel.from_yaml(read_model_text(options.model), options.model)
    refuse_loops({model.method: model.options})
    information = information_of(model, design_parameters(robot, options))
    best = _Search(robot, options, information).run(progress, stop)
    motion = best.motion
    t = np.linspace(0.0, motion.period, round(motion.period * RECORDED_RATE) + 1)
    error = feedforward_error(model, motion.joint_names, t, motion.at(t))
    return replace(best, feedforward=error)


class _Search:
    """
    A search for the best Design, and what it has come to so far.

    best, checked : the best Candidate that keeps all limits and its Assessment, None before
    last : Candidate; refusal : limits that the last one broke that would have been the best
    found, rejected, limits_cpu, checks_cpu : see Design; CPU seconds
    """

    def __init__(
        self, robot: RobotModel, options: DesignOptions, information: np.ndarray | None
    ) -> None:
        self._began, self._cpu_began = time.monotonic(), sum(os.times()[:4])
        self.robot, self.options = robot, options
        self.problem, self.base = motion_problem(robot, options, information)
        check_postures(self.problem, options)
        self.best: Candidate | None = None
        self.checked: Assessment | None = None
        self.last: Candidate | None = None
        self.refusal: list[str] = []
        self.found = self.rejected = 0
        self.limits_cpu = self.checks_cpu = 0.0

    @property
    def seconds(self) -> float:
        """Return the time since the search began [s]."""
        return time.monotonic() - self._began

    def run(
        self, progress: Callable[[Progress], None] | None, stop: Callable[[], bool] | None
    ) -> Design:
        """Return the best Design; progress, stop : see ``design``."""
        options = self.options
        processes = min(os.cpu_count() or 1, PROCESSES, options.restarts)
        seconds = max(options.seconds - self.seconds, 0.1)
        candidates = search(
            self.problem, SEARCH_SAMPLES, options.restarts, options.seed, seconds, processes
        )
        try:
            for candidate in candidates:
                if candidate is not None:
                    self._look_at(candidate)
                if progress is not None:
                    progress(self._progress())
                if self._is_overdue() or (stop is not None and stop()):
                    break
        except KeyboardInterrupt:
            if self.best is None:
                raise
        finally:
            candidates.close()
        return self._design()

    def _look_at(self, candidate: Candidate) -> None:
        """Keep a ``candidate`` that is better than the best and passes the last check."""
        self.last = candidate
        self.limits_cpu += candidate.limits_cpu
        if not candidate.value < self._best_value(np.inf):  # nor where it is not a number
            return
        began = time.process_time()
        checked = assess(self.problem, candidate.x)
        self.refusal = checked.use.broken(self.robot.joint_names)
        self.checks_cpu += time.process_time() - began
        self.found += 1
        if self.refusal:
            self.rejected += 1
        else:
            self.best, self.checked = candidate, checked

    def _best_value(self, none: Any) -> Any:
        """Return the value of the best motion, ``none`` before there is one."""
        if self.best is None:
            return none
        return self.best.value

    def _progress(self) -> Progress:
        budget, value = self.options.seconds, self._best_value(None)
        return Progress(self.seconds, budget, value, self.found, self.rejected)

    def _is_overdue(self) -> bool:
        overdue = self.seconds > self.options.seconds + HANDING_OVER
        return overdue and self.best is not None

    def _design(self) -> Design:
        """Return the best Design; MotionError that says which limits were in the way."""
        if self.best is None or self.checked is None:
            raise MotionError(
                'no motion that keeps all limits was found',
                found=self._broken(),
                do='widen the limits named, or give more seconds: or restarts:',
            )
        cpu, seconds = sum(os.times()[:4]) - self._cpu_began, self.seconds
        problem, options, checked = self.problem, self.options, self.checked
        notices = [*problem.limits.notices, *problem.shapes.notices]
        if seconds > options.seconds:
            notices.append(
                f'the search was cut after {seconds:.0f} s, before all restarts had ended: give '
                'more seconds: for the motion that any computer finds'
            )
        singular = np.sqrt(np.maximum(np.linalg.eigvalsh(checked.factors)[::-1], 0.0))
        return Design(
            robot=self.robot,
            options=options,
            motion=motion_at(self.robot, problem, self.best.x),
            criterion=options.criterion,
            value=reported_value(
                options.criterion, checked.factors, problem.root, checked.widths.sum()
            ),
            condition_number=float(singular[0] / singular[-1]),
            singular_values=singular,
            base_names=tuple(self.base.names()),
            torque_errors=torque_errors(problem, checked),
            use=checked.use,
            limits=problem.limits,
            tool=problem.tool,
            seconds=seconds,
            cpu_parts={
                'criterion and start': cpu - self.limits_cpu - self.checks_cpu,
                'limits and collisions': self.limits_cpu,
                'checks on the finest grid': self.checks_cpu,
            },
            found=self.found,
            rejected=self.rejected,
            notices=tuple(notices),
        )

    def _broken(self) -> Any:
        """Return the limits that the last motion breaks, or the last that was refused."""
        broken: list[str] = []
        if self.last is not None:
            broken = assess(self.problem, self.last.x).use.broken(self.robot.joint_names)
        return broken or self.refusal or 'nothing yet: it was stopped early'


def motion_at(robot: RobotModel, problem: MotionProblem, x: np.ndarray) -> FourierMotion:
    """Return the motion of a RobotModel ``robot`` at coordinates x (n m,) of its ``problem``."""
    c, K = problem.coefficients(x), problem.harmonics
    return FourierMotion(
        robot.joint_names, problem.period, c[:, 0], c[:, 1 : K + 1], c[:, K + 1 :]
    )
