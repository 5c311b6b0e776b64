"""
The search for a good motion: restarts from random motions, each a chain of L-BFGS runs.

The criterion is smoothed first and sharpened run by run, while broken limits cost more and more.
After each run the motion is shrunk until no limit is exceeded on a fine grid, and reported: the
search can be stopped at any time.  Only the best restarts go on after the first runs (successive
halving, Jamieson and Talwalkar 2016), and the best of all on twice as many samples in the end:
friction changes sign between those of a coarse grid.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
import logging
import time
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .criteria import reported_value
from .feasible import (
    finest_grid,
    grid,
    least_gap,
    limit_steps,
    PLACE_RESERVE,
    postures_allowed,
    random_postures,
    shrink,
    tool_outside,
)
from .fourier import basis, random_motion
from .objective import MotionProblem, Objective
from ..errors import MotionError
from ..estimation.r_factors import one_thread
from ..processes import in_processes, Lost

SEARCH_MARGIN = 0.998  # share of the limits the search may use: peaks lie between its samples
DENSER = 4  # times as many samples for position, velocity, acceleration: they cost little
# (sharpness of the p-norms, price of broken limits, iterations): the first runs shape the
# motion, the later ones settle on the true criterion and the limits
RUNS = ((4.0, 100.0, 100), (16.0, 500.0, 100), (64.0, 2e3, 100), (400.0, 1e4, 150))
# (restarts that go on after the first run, times as many samples, up to which run)
HALVING = ((5, 1, 2), (1, 2, 4))
REPEATS = 5  # of the last run while no motion keeps all limits
TIGHTEN = 100.0  # price from which on broken bounds are blamed on the coarse grid
FINER = 10  # times the coarse grid
LONGER = 5.0  # times as long goes on who has found no motion at all: computers differ
HANDING_OVER = 1.0  # [s] in which what restarts have found when the time is over has come
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, order=True)
class Candidate:
    """
    A motion: value of the criterion, restart it comes from, coordinates x.

    The value is inf for the last motion of a restart that kept not all limits.
    limits_cpu : seconds that penalties of limits and collisions took since the Candidate before
    """

    value: float
    restart: int
    x: np.ndarray = field(compare=False)
    limits_cpu: float = field(default=0.0, compare=False)


class _OutOfTime(Exception):
    pass


def search(
    problem: MotionProblem, samples: int, restarts: int, seed: int, seconds: float, processes: int
) -> Generator[Candidate | None, None, None]:
    """
    Yield Candidates as they are found, and None several times per second; ends by itself.

    problem, samples, seed : see restart; restarts : how many
    seconds : for all of them at most, ``LONGER`` times as many while there is no motion at all;
        what is found does not depend on them otherwise
    processes : 1 searches in this process, more in new ones, whose Candidates come when their
        restart has ended, the best first.  Closing the generator stops them.
    MotionError where no restart came to an end.
    """
    best: dict[int, Candidate] = {}  # of each restart
    deadline, first = time.monotonic() + seconds, 1
    shared = problem, samples, seed, (deadline + (LONGER - 1.0) * seconds, deadline)

    def noted(candidates):
        for candidate in candidates:
            if candidate and candidate.value < np.inf:
                best[candidate.restart] = min(candidate, best.get(candidate.restart, candidate))
            yield candidate
            if best and time.monotonic() > deadline + HANDING_OVER:
                break

    with closing(_all_restarts(shared, restarts, processes)) as candidates:
        yield from noted(candidates)
    for count, finer, last in HALVING:
        for start in sorted(best.values())[:count]:
            with one_thread():
                yield from noted(
                    _chain(
                        problem,
                        (finer * samples, samples),
                        start,
                        (first, last),
                        (deadline, deadline),
                    )
                )
        first = last


def _all_restarts(shared, restarts, processes):
    """Yield Candidates of all ``restarts`` as they are found, and None."""
    if processes == 1:
        yield from _restarts(shared, range(restarts))
        return
    lost = []
    with closing(in_processes(_one_restart, shared, range(restarts), processes)) as events:
        for event in events:
            if event is None:
                yield None
                continue
            _, result = event
            if isinstance(result, Lost):
                lost.append(result.reason)
            else:
                yield from result
    if len(lost) == restarts:
        raise MotionError(
            'all processes that search failed',
            found=lost[0],
            do='give restarts: 1, which needs none',
        )
    if lost:
        _logger.warning('%d of %d restarts of the search failed: %s', len(lost), restarts, lost[0])


def _one_restart(shared: Any, number: int) -> list[Candidate]:
    """Return the Candidates of restart ``number``, the best first."""
    return sorted(_restarts(shared, [number]))


def _restarts(
    shared: tuple[MotionProblem, int, int, tuple[float, float]], numbers: Iterable[int]
) -> Iterator[Candidate]:
    """Yield the Candidates of the restarts ``numbers``, one after the other."""
    problem, samples, seed, deadlines = shared
    met = False
    with one_thread():
        for number in numbers:
            if time.monotonic() >= deadlines[met]:
                continue
            for candidate in restart(problem, samples, number, seed, deadlines[met:]):
                met = met or bool(np.isfinite(candidate.value))
                yield candidate


def restart(
    problem: MotionProblem, samples: int, number: int, seed: int, deadlines: Sequence[float]
) -> Iterator[Candidate]:
    """
    Yield the Candidates of restart ``number``.

    deadlines : when it ends (time.monotonic()) [s]: the first while it has found no motion, the
        last afterwards
    problem : MotionProblem; samples : per period that the search looks at; seed : of all restarts
    """
    x = _random_start(problem, np.random.default_rng([seed, number]))
    yield from _chain(problem, (samples, samples), Candidate(np.inf, number, x), (0, 1), deadlines)


def _chain(problem, samples, start, runs, deadlines):
    """
    Yield the Candidates from ``start`` on, beyond the last run while limits are broken.

    samples : of the search, of what it is judged by; runs : of RUNS, the first and the end
    """
    coarse = Objective(
        problem, grid(problem, samples[0]), grid(problem, DENSER * samples[0]), SEARCH_MARGIN
    )
    fine = Objective(problem, grid(problem, FINER * samples[1]))
    dense = [phase.T for phase in basis(problem.harmonics, problem.period, finest_grid(problem))]
    number, x = start.restart, start.x
    candidates = [start]
    if start.value == np.inf:
        candidates = _candidates(coarse, fine, dense, number, x)
        yield from candidates
    for run, (sharpness, strength, iterations) in enumerate(
        RUNS[runs[0] :] + REPEATS * RUNS[-1:], runs[0]
    ):
        deadline = deadlines[0]
        if candidates:
            deadline = deadlines[-1]
        if time.monotonic() > deadline or (candidates and run >= runs[1]):
            break
        x = _descend(coarse, x, sharpness, strength, iterations, deadline)
        candidates = _candidates(coarse, fine, dense, number, x)
        yield from candidates
        if strength >= TIGHTEN:
            _tighten(coarse, fine, x)
    if not candidates:
        yield Candidate(np.inf, number, x, coarse.limits_cpu)


def _candidates(coarse, fine, dense, number, x):
    """Return the Candidate at x, made small enough, in a list; empty when it cannot be."""
    problem = fine.problem
    x = shrink(problem, fine, dense, x)
    if x is None:
        return []
    spent, coarse.limits_cpu = coarse.limits_cpu, 0.0
    G = fine.factors(fine.evaluate(*fine.motion(x))[2])
    widths = fine.width_variances(problem.coefficients(x))[0].sum()
    value = reported_value(problem.criterion, G, problem.root, widths)
    return [Candidate(value, number, x, spent)]


def _tighten(coarse, fine, x):
    """Make the search keep the room that torques and places lack between its samples."""
    q, v, a = fine.motion(x)
    tree, _, _, tau = fine.evaluate(q, v, a)
    use = fine.problem.limits.use_of_joints(q, v, a, tau)['effort']
    coarse.effort = coarse.effort * np.minimum(
        (1.0 - 2.0 * PLACE_RESERVE) / np.maximum(use, 1e-9), 1.0
    )
    coarse.spare += max(
        tool_outside(fine, tree).max() + PLACE_RESERVE,
        0.0,
        PLACE_RESERVE - least_gap(fine.problem, q.T, PLACE_RESERVE),
    )


def _descend(objective, x, sharpness, strength, iterations, deadline):
    """Return the best coordinates of one L-BFGS run."""
    best, steps = [np.inf, x], limit_steps(objective.problem)

    def value(y):
        if time.monotonic() > deadline:
            raise _OutOfTime
        here = x + steps @ y
        number, gradient = objective(here, sharpness, strength)
        if number < best[0]:
            best[:] = number, here
        return number, gradient @ steps

    try:
        minimize(
            value,
            np.zeros(len(x)),
            jac=True,
            method='L-BFGS-B',
            options={
                'maxiter': iterations,
                'maxfun': 2 * iterations,
                'maxcor': iterations,
                'ftol': 1e-8,
            },
        )
    except _OutOfTime:
        pass
    return best[1]


def _random_start(problem, rng):
    """Return coordinates of a random motion; smaller and about a good posture among bounds."""
    limits = problem.limits
    motion = random_motion(
        range(len(limits.lower)),
        (limits.lower, limits.upper, limits.velocity, limits.acceleration),
        rng,
        period=problem.period,
        harmonics=problem.harmonics,
        share=0.7,
    )
    coefficients = np.column_stack([motion.offset, motion.sine, motion.cosine])
    if limits.bounds_tool or problem.shapes.pairs:
        coefficients[:, 1:] *= 0.4
        q = random_postures(problem, rng, 2000)
        coefficients[:, 0] = next(
            (posture for posture in q if postures_allowed(problem, posture[None]).all()),
            coefficients[:, 0],
        )
    fixed = np.outer(problem.start, problem.direction)
    return ((coefficients - fixed) @ problem.space).ravel()
