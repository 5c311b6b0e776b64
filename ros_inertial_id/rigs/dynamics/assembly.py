"""Assembly: from options to a Mechanism that is closed, regular, and knows its best postures."""

from dataclasses import fields, replace
from functools import lru_cache

import numpy as np
from scipy.linalg import qr
from scipy.optimize import least_squares

from .closure import (constraint, Coupling, FULL_RANK, moment_arms, parse_closure, separate_loops,
                      turned_welds)
from .continuation import random_walk
from .couplings import gearing, guessed, members
from .mechanism import describe, Mechanism, MechanismOptions, SINGULAR
from .motors import with_motors
from ...dynamics.robot_model import robot_from_options
from ...errors import ConfigError, RobotModelError

WALKERS, STEPS = 48, 6  # of the walk that looks for the best postures
HOPELESS = 1e-6         # smallest singular value of a loop in its own units: no start at all
CLOSED = 1e-8           # largest gap [m, -] of an assembled mechanism
SMALL_STEP = 1e-6       # [rad, m] of difference quotients
ROUNDING = 1e-8         # of these quotients


def mechanism_from_options(urdf: str, options: MechanismOptions,
                           gravity_base: np.ndarray) -> Mechanism:
    """
    Return the Mechanism of a URDF text, assembled, under ``gravity_base`` (3,) [m/s^2].

    ConfigError, RobotModelError where it cannot be assembled or is singular there.
    """
    own = MechanismOptions(**{f.name: getattr(options, f.name) for f in fields(MechanismOptions)})
    robot = robot_from_options(urdf, own, gravity_base)
    return replace(_assembled(urdf, own), robot=with_motors(robot, own))


@lru_cache(maxsize=8)  # under any gravity it is assembled alike
def _assembled(urdf: str, options: MechanismOptions) -> Mechanism:
    robot = with_motors(robot_from_options(urdf, options, np.zeros(3)), options)
    closures = tuple(parse_closure(text, robot) for text in options.closures)
    guess, given = _start(robot, options.start)
    guess, known = guessed(robot, closures, guess, given)
    wanted = _indices(robot, options.independent, 'independent')
    q = _assemble(robot, closures, guess, sorted(set(wanted) & known))
    lengths, row_lengths, size = moment_arms(robot, closures, q)
    rank = _rank(constraint(robot, closures, q[None])[1][0] / lengths)
    independent = wanted or _choose(robot, closures, q, lengths, rank)
    if len(independent) != len(robot) - rank:
        raise ConfigError(
            'option independent', found=[robot.joint_names[i] for i in independent],
            expected=f'{len(robot) - rank} joints: {len(robot)} joints less {rank} '
            'independent closure equations', exists=robot.joint_names,
            do=_loose(robot, constraint(robot, closures, q[None])[1][0] / lengths, independent))
    dependent = tuple(i for i in range(len(robot)) if i not in independent)
    q.setflags(write=False)
    mechanism = Mechanism(robot, closures, tuple(independent), dependent, q, lengths,
                          row_lengths, size, np.ones(len(independent)))
    gears = gearing(robot, closures, independent, mechanism.transformation(q[None])[0][0], size)
    lengths[list(independent)] /= gears
    mechanism = replace(mechanism, gearing=gears)
    if dependent:
        A = mechanism.scaled(mechanism.constraint(q[None])[1])[0]
        mechanism = _with_best(replace(mechanism, loops=separate_loops(closures, A)))
    best = min((loop.best for loop in mechanism.loops), default=1.0)
    if best < HOPELESS or mechanism.transformation(q[None])[1][0] < SINGULAR:
        raise RobotModelError(
            f'the mechanism is singular where it is assembled, in {_worst(mechanism)}',
            expected='another start: or other independent: coordinates', found=describe(robot, q))
    return mechanism


def _worst(mechanism):
    """Return words on the closures of the loop that is nearest to singular at the start."""
    A = mechanism.scaled(mechanism.constraint(mechanism.start[None])[1])
    worst = min(mechanism.loops, key=lambda loop: loop.smallest(A)[0] / max(loop.best, HOPELESS))
    texts = [c.text for c in mechanism.closures for _ in range(c.rows())]
    return ', '.join(dict.fromkeys(f'"{texts[row]}"' for row in worst.rows))


def _with_best(mechanism):
    """Return the mechanism whose loops know the best postures that random walks reach."""
    def measured(q):
        A = mechanism.scaled(mechanism.constraint(q)[1])
        return tuple(replace(loop, best=float(loop.smallest(A).max())) for loop in mechanism.loops)

    mechanism = replace(mechanism, loops=measured(mechanism.start[None]))
    if min(loop.best for loop in mechanism.loops) < HOPELESS:
        return mechanism
    walk = random_walk(mechanism, WALKERS, np.random.default_rng(0), STEPS)
    return replace(mechanism, loops=measured(np.vstack([mechanism.start, walk])))


def _start(robot, lines):
    """Return the guess (n,) and the joints it gives."""
    q, given = np.zeros(len(robot)), []
    for line in lines:
        words = str(line).split()
        try:
            index, value = robot.joint_names.index(words[0]), float(words[1])
        except (ValueError, IndexError):
            raise ConfigError('option start', expected='"JOINT POSITION"', found=repr(line),
                              exists=robot.joint_names) from None
        q[index] = value
        given.append(index)
    return q, given


def _indices(robot, names, what):
    for name in names:
        if name not in robot.joint_names:
            raise ConfigError(f'option {what}', found=repr(name), exists=robot.joint_names)
    return tuple(robot.joint_names.index(name) for name in names)


def _assemble(robot, closures, guess, held):
    """Return the closed configuration (n,) next to a guess, joints ``held`` kept if possible."""
    if not closures:
        return guess
    for kept in (held, ()):
        free = [i for i in range(len(robot)) if i not in kept]
        if not free:
            continue
        q, gaps = _closest(robot, closures, guess, free)
        worst = np.abs(gaps)
        if worst.max() < CLOSED:
            return q
    names = [c.text for c in closures for _ in range(c.rows())]
    names += [c.text for c in closures if c.text.startswith('weld') for _ in range(9)]
    raise RobotModelError('the mechanism cannot be assembled', expected='all closures met',
                          found=f'{worst.max():.3g} m left in "{names[int(worst.argmax())]}" at '
                          + describe(robot, q), do='give start: with positions near assembled')


def _closest(robot, closures, guess, free):
    """Return q (n,) next to a guess, joints ``free`` moved, and what closures leave open there."""
    def gaps(x):
        q = np.tile(guess, (len(x), 1))
        q[:, free] = x
        return np.hstack([constraint(robot, closures, q)[0], turned_welds(robot, closures, q)])

    def slopes(x):
        ways = SMALL_STEP * np.eye(len(x))
        out = (gaps(x + ways) - gaps(x - ways)).T / (2 * SMALL_STEP)
        return np.where(np.abs(out) > ROUNDING, out, 0.0)  # joints in no loop stay

    result = least_squares(lambda x: gaps(x[None])[0], guess[free], slopes, xtol=1e-15,
                           ftol=1e-15, gtol=1e-15, max_nfev=200)
    counted = [j for c in closures if isinstance(c, Coupling) for j in members(c)]
    turning = ~np.asarray(robot.prismatic)[free] & ~np.isin(free, counted)
    turns = np.round((result.x - guess[free]) / (2 * np.pi))
    result.x[turning] -= 2 * np.pi * turns[turning]
    q = guess.copy()
    q[free] = result.x
    return q, result.fun


def _rank(J):
    singular = np.linalg.svd(J, compute_uv=False) if J.size else np.zeros(1)
    return int((singular > FULL_RANK * max(singular[0], 1e-300)).sum())


def _choose(robot, closures, q, lengths, rank):
    """Return the independent joints: what pivoting leaves when dependent ones are taken first."""
    if not rank:
        return tuple(range(len(robot)))
    J = constraint(robot, closures, q[None])[1][0] / lengths
    _, _, pivots = qr(J, pivoting=True, mode='economic')
    return tuple(sorted(int(i) for i in pivots[rank:]))


def _loose(robot, J, independent):
    """Return words on what still moves while the independent joints stand, by J (m, n)."""
    others = np.array([i for i in range(len(robot)) if i not in independent], dtype=int)
    A = J[:, others]
    pivots, rank = qr(A, pivoting=True, mode='r')[1], _rank(A)
    taken, free = pivots[:rank], pivots[rank:]
    if not free.size:
        return 'leave out those that follow from the others'
    ways = np.linalg.lstsq(A[:, taken], -A[:, free], rcond=None)[0]
    groups = [', '.join(robot.joint_names[others[k]] for k in (
        one, *taken[np.abs(way) > FULL_RANK * np.abs(way).max(initial=1.0)]))
        for one, way in zip(free, ways.T)]
    return (f'with these at rest there still move: {"; ".join(groups)}: add one joint of each '
            'that has an encoder; a rod that spins between two ball joints needs one of them '
            'made "fixed" in the URDF')
