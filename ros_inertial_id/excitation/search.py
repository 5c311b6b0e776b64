"""
The search for a good motion: restarts from random motions, each a chain of L-BFGS runs.

The criterion is smoothed first and sharpened run by run, while broken limits cost more and more.
After each run the motion is shrunk until no limit is exceeded on a fine grid, and reported: the
search can be stopped at any time.  Restarts are spread over processes.
"""

from dataclasses import dataclass
import multiprocessing
from multiprocessing.connection import wait
import signal
import time

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from .criteria import reported_value
from .fourier import basis, random_motion
from .objective import Objective

MARGIN = 0.998  # share of the limits the search may use: peaks lie between its samples
DENSER = 4  # times as many samples for position, velocity, acceleration: they cost little
# (sharpness of the p-norms, price of broken limits, iterations): the first runs shape the
# motion, the later ones settle on the true criterion and the limits
RUNS = ((2.0, 10.0, 150), (4.0, 30.0, 150), (8.0, 100.0, 300), (16.0, 300.0, 300),
        (32.0, 1e3, 300), (100.0, 3e3, 300), (400.0, 1e4, 300))
REPEATS = 5  # of the last run while no motion keeps all limits
TIGHTEN = 100.0  # price from which on broken bounds are blamed on the coarse grid
FINER = 10  # times the coarse grid
RATE = 1000.0  # [1/s] of the finest grid
RESERVE = 1e-5  # relative; peaks between samples of the finest grid
PLACE_RESERVE = 0.002  # [m] and, relative, of torques: they are checked on a coarser grid
SHRINKINGS = (1.0, 0.99, 0.98, 0.95, 0.9, 0.8, 0.65, 0.5)
POLL = 0.1  # [s]


@dataclass(frozen=True)
class Candidate:
    """A feasible motion: restart it comes from, coordinates x, value of the criterion."""

    restart: int
    x: np.ndarray
    value: float


class _OutOfTime(Exception):
    pass


def keep_pages():
    """
    Make glibc keep freed memory: its limit for that follows the largest block ever freed.

    Without it every temporary array is mapped and cleared by the kernel anew, which doubles the
    CPU time of an evaluation at 300 samples.  Harmless elsewhere.
    """
    np.empty(3_000_000)


def restart(problem, samples, number, seed, deadline):
    """Yield the Candidates of restart ``number`` until ``deadline`` (time.time())."""
    coarse = Objective(problem, _grid(problem, samples), _grid(problem, DENSER * samples), MARGIN)
    fine = Objective(problem, _grid(problem, FINER * samples))
    dense = [phase.T for phase in
             basis(problem.harmonics, problem.period, finest_grid(problem))]
    x = _random_start(problem, np.random.default_rng([seed, number]))
    for run, (sharpness, strength, iterations) in enumerate(RUNS + REPEATS * RUNS[-1:]):
        x = _descend(coarse, x, sharpness, strength, iterations, deadline)
        feasible = shrink(problem, fine, dense, x)
        if feasible is not None:
            G = fine.information(fine.evaluate(*fine.motion(feasible))[2])
            yield Candidate(number, feasible, reported_value(problem.criterion, G))
        done = run >= len(RUNS) - 1 and feasible is not None
        if done or time.time() > deadline:
            return
        if strength >= TIGHTEN:
            coarse.spare += _missing(fine, x)


def _missing(fine, x):
    """Return how much room the motion lacks between the samples of the coarse grid [m]."""
    outside, closest = clearances(fine, fine.evaluate(*fine.motion(x))[0])
    lacking = max(outside.max(), -closest.min()) + PLACE_RESERVE
    return max(float(lacking), 0.0)


def _grid(problem, samples):
    return np.arange(samples) * (problem.period / samples)


def finest_grid(problem):
    """Return the times (N,) of one period at which the limits of the joints are kept [s]."""
    return _grid(problem, max(int(round(RATE * problem.period)), 1000))


def _descend(objective, x, sharpness, strength, iterations, deadline):
    """Return the best coordinates of one L-BFGS run."""
    best = [np.inf, x]

    def value(x):
        if time.time() > deadline:
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
    motion = random_motion(range(len(limits.lower)), limits.lower, limits.upper, limits.velocity,
                           rng, period=problem.period, harmonics=problem.harmonics,
                           acceleration=limits.acceleration, effort=0.7)
    coefficients = np.column_stack([motion.offset, motion.sine, motion.cosine])
    if limits.bounds_tool or problem.capsules is not None:
        coefficients[:, 1:] *= 0.4
        coefficients[:, 0] = _good_posture(problem, rng, coefficients[:, 0])
    fixed = np.outer(problem.start, problem.direction)
    return ((coefficients - fixed) @ problem.space).ravel()


def _good_posture(problem, rng, default):
    q = random_postures(problem, rng, 2000)
    good = np.flatnonzero(postures_allowed(problem, q))
    return q[good[0]] if len(good) else default


def random_postures(problem, rng, count):
    """Return random postures (count, n) in the inner part of the position ranges."""
    limits = problem.limits
    return limits.middle + 0.8 * limits.half * rng.uniform(-1.0, 1.0, (count, len(limits.half)))


def postures_allowed(problem, q):
    """Return which postures (N, n) keep box, sphere and clearance (N,)."""
    still = Objective(problem, np.zeros(len(q)))
    zero = np.zeros_like(q.T)
    tree = still.evaluate(q.T, zero, zero)[0]
    outside, closest = clearances(still, tree)
    return ((outside <= 0.0) & (closest > 0.0)).reshape(still.tiles[1], -1).all(0)


def clearances(objective, tree):
    """Return how far the tool is outside its bounds and the least gap of capsules, (N,) [m]."""
    problem, size = objective.problem, tree.q.shape[1]
    outside, closest = np.full(size, -np.inf), np.full(size, np.inf)
    if problem.limits.bounds_tool:
        outside = problem.limits.tool_outside(objective.tool_position(tree))
    if problem.capsules is not None:
        closest = problem.capsules.gaps(tree)[0].min(0)
    return outside, closest


def shrink(problem, fine, dense, x):
    """
    Return coordinates of the motion made small enough to keep every limit, or None.

    dense : q, v, a of the harmonics, each (1 + 2 K, N), on the finest grid; fine : Objective
    Joint by joint for position, velocity and acceleration; then as a whole for the rest, about
    its start where that is given, else about its mean.
    """
    c = problem.coefficients(x)
    fixed = np.outer(problem.start, problem.direction)
    c = _shrink_joints(problem, dense, c, fixed)
    center = fixed if problem.direction.any() else c * (np.arange(c.shape[1]) == 0)
    for factor in SHRINKINGS:
        x = ((center + factor * (c - center) - fixed) @ problem.space).ravel()
        if _allowed(problem, fine, x):
            return x
    return None


def _shrink_joints(problem, dense, c, fixed):
    limits, room = problem.limits, 1.0 - RESERVE
    q, v, a = (c @ phase for phase in dense)
    scale = np.minimum(limits.velocity / np.abs(v).max(1), limits.acceleration / np.abs(a).max(1))
    if problem.direction.any():
        up = (limits.upper - problem.start) / np.maximum(q.max(1) - problem.start, 1e-12)
        down = (problem.start - limits.lower) / np.maximum(problem.start - q.min(1), 1e-12)
        scale = room * np.minimum(scale, np.minimum(up, down))
        return fixed + np.minimum(scale, 1.0)[:, None] * (c - fixed)
    scale = np.minimum(room * np.minimum(scale, 2.0 * limits.half / np.ptp(q, axis=1)), 1.0)
    c = np.column_stack([c[:, :1], scale[:, None] * c[:, 1:]])
    q = c @ dense[0]
    low, high = limits.middle - room * limits.half, limits.middle + room * limits.half
    c[:, 0] += np.maximum(low - q.min(1), 0.0) - np.maximum(q.max(1) - high, 0.0)
    return c


def _allowed(problem, fine, x):
    q, v, a = fine.motion(x)
    tree, _, _, tau = fine.evaluate(q, v, a)
    if (problem.limits.use_of_joints(q, v, a, tau)['effort'] > 1.0 - PLACE_RESERVE).any():
        return False
    outside, closest = clearances(fine, tree)
    return bool((outside <= -PLACE_RESERVE).all() and (closest >= PLACE_RESERVE).all())


def search(problem, samples, restarts, seed, seconds, processes):
    """
    Yield Candidates as they are found, and None about every ``POLL`` s; ends by itself.

    processes : 1 searches in this process, more in new ones.  Closing the generator stops them.
    """
    deadline = time.time() + seconds
    if processes == 1:
        with threadpool_limits(1, user_api='blas'):
            keep_pages()
            for number in range(restarts):
                if time.time() < deadline:
                    yield from restart(problem, samples, number, seed, deadline)
        return
    context = multiprocessing.get_context('spawn')  # a fork would copy the threads of a node
    workers, pipes = [], []
    try:
        for k in range(processes):
            ours, theirs = context.Pipe(duplex=False)
            worker = context.Process(target=_work, daemon=True, args=(
                theirs, problem, samples, range(k, restarts, processes), seed, deadline))
            worker.start()
            theirs.close()
            workers.append(worker)
            pipes.append(ours)
        yield from _collect(pipes)
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


def _collect(pipes):
    while pipes:
        ready = wait(pipes, timeout=POLL)
        for pipe in ready:
            try:
                yield pipe.recv()
            except EOFError:  # the worker has finished, or died
                pipes.remove(pipe)
        if not ready:
            yield None


def _work(pipe, problem, samples, numbers, seed, deadline):
    """Run restarts in a process of their own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    keep_pages()
    with threadpool_limits(1, user_api='blas'):
        for number in numbers:
            if time.time() >= deadline:
                break
            for candidate in restart(problem, samples, number, seed, deadline):
                pipe.send(candidate)
    pipe.close()
