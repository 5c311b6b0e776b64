"""
The search for a good motion: restarts from random motions, each a chain of L-BFGS runs.

The criterion is smoothed first and sharpened run by run, while broken limits cost more and more.
After each run the motion is shrunk until no limit is exceeded on a fine grid, and reported: the
search can be stopped at any time.  The best of all is settled on twice as many samples in the end:
friction changes sign between those of a coarse grid.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
import logging
import time
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .criteria import reported_value
from .feasible import (finest_grid, grid, least_gap, PLACE_RESERVE, postures_allowed,
                       random_postures, shrink, tool_outside)
from .fourier import basis, random_motion
from .objective import MotionProblem, Objective
from ..errors import MotionError
from ..estimation.r_factors import one_thread
from ..processes import in_processes, Lost

MARGIN = 0.998  # share of the limits the search may use: peaks lie between its samples
DENSER = 4  # times as many samples for position, velocity, acceleration: they cost little
# (sharpness of the p-norms, price of broken limits, iterations): the first runs shape the
# motion, the later ones settle on the true criterion and the limits
RUNS = ((2.0, 10.0, 60), (4.0, 100.0, 100), (16.0, 300.0, 150), (64.0, 3e3, 200),
        (400.0, 1e4, 200))
SETTLING = 2  # times as many samples for the last two runs of the best motion
REPEATS = 5  # of the last run while no motion keeps all limits
TIGHTEN = 100.0  # price from which on broken bounds are blamed on the coarse grid
FINER = 10  # times the coarse grid
LONGER = 5.0  # times as long goes on who has found no motion at all: computers differ
HANDING_OVER = 1.0  # [s] in which what restarts have found when the time is over has come
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Candidate:
    """
    A motion: restart it comes from, coordinates x, value of the criterion.

    The value is inf for the last motion of a restart that kept not all limits.
    """

    restart: int
    x: np.ndarray
    value: float


class _OutOfTime(Exception):
    pass


def search(problem: MotionProblem, samples: int, restarts: int, seed: int, seconds: float,
           processes: int) -> Generator[Candidate | None, None, None]:
    """
    Yield Candidates as they are found, and None several times per second; ends by itself.

    The best of all restarts is settled on a finer grid then.

    problem, samples, seed : see restart; restarts : how many
    seconds : for all of them at most, ``LONGER`` times as many while there is no motion at all;
        what is found does not depend on them otherwise
    processes : 1 searches in this process, more in new ones, whose Candidates come when their
        restart has ended, the best first.  Closing the generator stops them.
    MotionError where no restart came to an end.
    """
    best, deadline = None, time.monotonic() + seconds
    shared = problem, samples, seed, (deadline + (LONGER - 1.0) * seconds, deadline)
    with closing(_all_restarts(shared, restarts, processes)) as candidates:
        for candidate in candidates:
            if candidate and candidate.value < (best.value if best else np.inf):
                best = candidate
            yield candidate
            if best and time.monotonic() > deadline + HANDING_OVER:
                break
    if best:
        with one_thread():
            yield from _chain(problem, (SETTLING * samples, samples), best, RUNS[-2:],
                              (deadline, deadline))


def _all_restarts(shared, restarts, processes):
    """Yield Candidates of all ``restarts`` as they are found, and None."""
    if processes == 1:
        yield from _restarts(shared, range(restarts))
        return
    lost = []
    with closing(in_processes(_one_restart, shared, range(restarts), processes)) as events:
        for event in events:
            found = event[1] if event else [None]
            if isinstance(found, Lost):
                lost.append(found.reason)
            else:
                yield from found
    if len(lost) == restarts:
        raise MotionError('all processes that search failed', found=lost[0],
                          do='give restarts: 1, which needs none')
    if lost:
        _logger.warning('%d of %d restarts of the search failed: %s', len(lost), restarts, lost[0])


def _one_restart(shared: Any, number: int) -> list[Candidate]:
    """Return the Candidates of restart ``number``, the best first."""
    return sorted(_restarts(shared, [number]), key=lambda candidate: candidate.value)


def _restarts(shared: tuple[MotionProblem, int, int, tuple[float, float]], numbers: Iterable[int]
              ) -> Iterator[Candidate]:
    """Yield the Candidates of the restarts ``numbers``, one after the other."""
    problem, samples, seed, deadlines = shared
    met = False
    with one_thread():
        for number in numbers:
            for candidate in restart(problem, samples, number, seed, deadlines[met:]) \
                    if time.monotonic() < deadlines[met] else ():
                met = met or bool(np.isfinite(candidate.value))
                yield candidate


def restart(problem: MotionProblem, samples: int, number: int, seed: int,
            deadlines: Sequence[float]) -> Iterator[Candidate]:
    """
    Yield the Candidates of restart ``number``.

    deadlines : when it ends (time.monotonic()) [s]: the first while it has found no motion, the
        last afterwards
    problem : MotionProblem; samples : per period that the search looks at; seed : of all restarts
    """
    x = _random_start(problem, np.random.default_rng([seed, number]))
    yield from _chain(problem, (samples, samples), Candidate(number, x, np.inf), RUNS, deadlines)


def _chain(problem, samples, start, runs, deadlines):
    """Yield the Candidates from ``start`` on; samples : of the search, of what it is judged by."""
    coarse = Objective(problem, grid(problem, samples[0]), grid(problem, DENSER * samples[0]),
                       MARGIN)
    fine = Objective(problem, grid(problem, FINER * samples[1]))
    dense = [phase.T for phase in
             basis(problem.harmonics, problem.period, finest_grid(problem))]
    number, x = start.restart, start.x
    found = _candidates(problem, fine, dense, number, x)
    yield from found
    for run, (sharpness, strength, iterations) in enumerate(runs + REPEATS * runs[-1:]):
        deadline = deadlines[-1 if found else 0]
        if time.monotonic() > deadline or (found and run >= len(runs)):
            break
        x = _descend(coarse, x, sharpness, strength, iterations, deadline)
        found = _candidates(problem, fine, dense, number, x)
        yield from found
        if strength >= TIGHTEN:
            _tighten(coarse, fine, x)
    if not found:
        yield Candidate(number, x, np.inf)


def _candidates(problem, fine, dense, number, x):
    """Return the Candidate at x, made small enough, in a list; empty when it cannot be."""
    x = shrink(problem, fine, dense, x)
    if x is None:
        return []
    G = fine.factors(fine.evaluate(*fine.motion(x))[2])
    widths = fine.width_variances(problem.coefficients(x))[0].sum()
    return [Candidate(number, x, reported_value(problem.criterion, G, problem.root, widths))]


def _tighten(coarse, fine, x):
    """Make the search keep the room that torques and places lack between its samples."""
    q, v, a = fine.motion(x)
    tree, _, _, tau = fine.evaluate(q, v, a)
    use = fine.problem.limits.use_of_joints(q, v, a, tau)['effort']
    coarse.effort = coarse.effort * np.minimum(
        (1.0 - 2.0 * PLACE_RESERVE) / np.maximum(use, 1e-9), 1.0)
    coarse.spare += max(tool_outside(fine, tree).max() + PLACE_RESERVE, 0.0,
                        PLACE_RESERVE - least_gap(fine.problem, q.T, PLACE_RESERVE))


def _descend(objective, x, sharpness, strength, iterations, deadline):
    """Return the best coordinates of one L-BFGS run."""
    best = [np.inf, x]

    def value(x):
        if time.monotonic() > deadline:
            raise _OutOfTime
        number, gradient = objective(x, sharpness, strength)
        if number < best[0]:
            best[:] = number, x.copy()
        return number, gradient

    try:
        minimize(value, x, jac=True, method='L-BFGS-B', options={
            'maxiter': iterations, 'maxfun': 2 * iterations, 'maxcor': 30, 'ftol': 1e-8})
    except _OutOfTime:
        pass
    return best[1]


def _random_start(problem, rng):
    """Return coordinates of a random motion; smaller and about a good posture among bounds."""
    limits = problem.limits
    motion = random_motion(range(len(limits.lower)), (limits.lower, limits.upper, limits.velocity,
                                                      limits.acceleration), rng,
                           period=problem.period, harmonics=problem.harmonics, share=0.7)
    coefficients = np.column_stack([motion.offset, motion.sine, motion.cosine])
    if limits.bounds_tool or problem.shapes.pairs:
        coefficients[:, 1:] *= 0.4
        coefficients[:, 0] = _good_posture(problem, rng, coefficients[:, 0])
    fixed = np.outer(problem.start, problem.direction)
    return ((coefficients - fixed) @ problem.space).ravel()


def _good_posture(problem, rng, default):
    q = random_postures(problem, rng, 2000)
    good = np.flatnonzero(postures_allowed(problem, q))
    return q[good[0]] if len(good) else default
