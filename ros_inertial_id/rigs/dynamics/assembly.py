"""Assembly: from options to a Mechanism that is closed, regular, and knows its best posture."""

from dataclasses import fields, replace
from functools import lru_cache

import numpy as np
from scipy.linalg import qr

from .closure import constraint, moment_arms, parse_closure, STRUCTURAL_RANK
from .continuation import random_walk
from .couplings import couplings_of, gearing, members
from .joint_names import finite_number, joint_index
from .mechanism import describe, Mechanism, MechanismOptions, SINGULAR
from .motors import with_motors
from ...dynamics.robot_model import robot_from_options
from ...errors import ConfigError, RobotModelError

WALKERS, WALK_STEPS = 48, 6  # of the walk that looks for the best posture
CLOSED = 1e-8  # largest gap [m, -] of an assembled mechanism
NO_GAP = 1e-12  # gap at which steps end
STUCK = 1e6  # damping at which they end
ASSEMBLY_GUESSES = 64  # random postures from which assemblies are looked for
NEARBY = 0.3  # [rad], share of the loops' size: how far postures are compared
CLEAR = 1e-3  # relative singular values there that count
ANOTHER_ASSEMBLY = 0.1  # [rad, m]: assemblies further apart are two


def mechanism_from_options(
    urdf: str, options: MechanismOptions, gravity_base: np.ndarray
) -> Mechanism:
    """
    Return the Mechanism of a URDF text, assembled, under ``gravity_base`` (3,) [m/s^2].

    ConfigError, RobotModelError where it cannot be assembled, could be in several ways, or is
    singular there.
    """
    of_mechanism = MechanismOptions(
        **{f.name: getattr(options, f.name) for f in fields(MechanismOptions)}
    )
    robot = robot_from_options(urdf, of_mechanism, gravity_base)
    return replace(_assembled(urdf, of_mechanism), robot=with_motors(robot, of_mechanism))


@lru_cache(maxsize=8)  # under any gravity it is assembled alike
def _assembled(urdf: str, options: MechanismOptions) -> Mechanism:
    robot = with_motors(robot_from_options(urdf, options, np.zeros(3)), options)
    closures = tuple(parse_closure(text, robot) for text in options.closures)
    start = _start(robot, options.start)
    wanted = tuple(
        joint_index(robot.joint_names, name, 'option independent') for name in options.independent
    )
    assembler = _Assembler(robot, closures, start)
    if start:
        q = assembler.beside_start(start, wanted)
    else:
        q = assembler.nearest()
    lengths, row_lengths, size = moment_arms(robot, closures, q)
    postures = np.vstack([q, assembler.nearby(q, size)])
    independent = _independent(robot, constraint(robot, closures, postures)[1] / lengths, wanted)
    dependent = tuple(i for i in range(len(robot)) if i not in independent)
    q.setflags(write=False)
    ungeared = np.ones(len(independent))
    mechanism = _geared(
        Mechanism(robot, closures, independent, dependent, q, lengths, row_lengths, size, ungeared)
    )
    if not dependent:
        return mechanism
    if not start and assembler.apart(q, assembler.drawing) > ANOTHER_ASSEMBLY:
        _refuse_several(mechanism)
    return _with_best(mechanism, postures)


def _independent(robot, J, wanted):
    """Return independent joints by J (B, m, n) of postures, the assembled first: ``wanted``."""
    ranks = [_rank(J[0]), *(_rank(nearby, CLEAR) for nearby in J[1:])]
    rank, regular = max(ranks), int(np.argmax(ranks))
    independent = wanted or _choose(J[regular], rank)
    freedoms = len(robot) - rank
    if len(independent) != freedoms:
        raise ConfigError(
            'option independent',
            found=[robot.joint_names[i] for i in independent],
            expected=f'{freedoms} joints: {len(robot)} joints less {rank} '
            'independent closure equations',
            exists=robot.joint_names,
            do=_loose(robot, J[regular], independent),
        )
    return tuple(independent)


def _geared(mechanism):
    """Return the mechanism with its ``gearing``, by which its independent joints are shorter."""
    R = mechanism.transformation(mechanism.start[None])[0][0]
    gears = gearing(mechanism.robot, mechanism.closures, mechanism.independent, R, mechanism.size)
    lengths = mechanism.lengths.copy()
    lengths[list(mechanism.independent)] /= gears
    return replace(mechanism, lengths=lengths, gearing=gears)


def _with_best(mechanism, postures):
    """Return the mechanism that knows the best of ``postures`` (B, n), its own first, or walks."""
    q = mechanism.start
    values = mechanism.smallest(mechanism.constraint(postures)[1])
    names = ', '.join(mechanism.coordinates)
    if values.max() < STRUCTURAL_RANK:
        raise ConfigError(
            'option independent',
            found=names,
            expected=f'joints that together determine all others, not {mechanism.loose(q)}',
            do='name one of these instead of one that follows from the rest',
        )
    mechanism = replace(mechanism, best=values.max())
    if values[0] > SINGULAR * values.max():
        walk = random_walk(mechanism, WALKERS, np.random.default_rng(0), WALK_STEPS)
        values = np.append(values, mechanism.smallest(mechanism.constraint(walk)[1]))
    if values[0] < SINGULAR * values.max():
        raise RobotModelError(
            f'the mechanism is assembled at a dead centre: {mechanism.loose(q)} may go either way '
            f'with {names} at rest',
            found=describe(mechanism.robot, q),
            do='give start: off it, as the robot stands, such as '
            + _lines(mechanism.robot, postures[int(values[: len(postures)].argmax())])
            + ', or other independent: joints',
        )
    return replace(mechanism, best=values.max())


def _lines(robot, q):
    """Return the option ``start`` that says a posture q (n,)."""
    moved = [f'{name} {x:.3g}' for name, x in zip(robot.joint_names, q) if abs(x) > 5e-4]
    return f'start: {moved}'


def _refuse_several(mechanism):
    """Raise ConfigError where the same independent coordinates have another assembly."""
    q, robot, z = mechanism.start, mechanism.robot, mechanism.independent
    solver = _Assembler(robot, mechanism.closures, z)
    tries = solver.random()
    tries[:, list(z)] = q[list(z)]
    others = solver.closed(tries, z)
    others = others[solver.allowed(others) & (solver.apart(others, q) > ANOTHER_ASSEMBLY)]
    if len(others):
        raise ConfigError(
            'the mechanism can be assembled in several ways',
            found=' or '.join(_lines(robot, x) for x in (q, others[0])),
            do='copy the one that is like the robot into the configuration',
        )


class _Assembler:
    """
    Closes the tree ``robot`` from guesses, all at once.

    given : joints that follow no others
    low, high : limits (n,), of a turn where there are none
    drawing : (n,) zero, or the limit next to it
    drawn : (n,) whether no coupling expresses a joint by others, which it follows
    So the motor of a winch needs no start, and does not pull at its slide with a ratio of 100.
    """

    def __init__(self, robot, closures, given):
        self._robot, self._closures = robot, closures
        limited = robot.lower < robot.upper
        self.low = np.where(limited, robot.lower, -np.pi)
        self.high = np.where(limited, robot.upper, np.pi)
        couplings = couplings_of(closures)
        counted = [j for c in couplings for j in members(c)]
        self._limited = limited
        self._turning = ~np.asarray(robot.prismatic) & ~np.isin(np.arange(len(robot)), counted)
        self.drawing = np.clip(0.0, self.low, self.high)
        self._map, self._offset = np.eye(len(robot)), np.zeros(len(robot))
        self.drawn, leading = np.ones(len(robot), dtype=bool), set(given)
        for c in couplings:
            if c.joint in leading or not self.drawn[list(members(c))].all():
                continue
            self._map[c.joint] = np.array(c.ratios) @ self._map[list(c.others)]
            self._offset[c.joint] = c.offset
            self.drawn[c.joint] = False
            leading.update(c.others)

    def random(self):
        """Return random postures (64, n) within the limits, within a turn where none are."""
        return np.random.default_rng(1).uniform(
            self.low, self.high, (ASSEMBLY_GUESSES, len(self.low))
        )

    def allowed(self, q):
        """Return whether postures q (B, n) are within the limits (B,)."""
        outside = (q < self.low - CLOSED) | (q > self.high + CLOSED)
        return ~(outside & self._limited & self.drawn).any(1)

    def apart(self, q, reference):
        """Return the largest distance (...) of postures (..., n) [rad, m], turns taken off."""
        way = np.abs(self._without_turns(q - reference, 0.0))
        return way[..., self.drawn].max(-1)

    def _without_turns(self, q, around):
        """Return postures q (..., n) with turning joints within half a turn of ``around``."""
        return q - self._turning * 2 * np.pi * np.round((q - around) / (2 * np.pi))

    def beside_start(self, start, wanted):
        """Return the closed configuration (n,) next to {joint: position}, ``wanted`` standing."""
        guess = np.array([start.get(i, 0.0) for i in range(len(self._robot))])
        return self.beside(guess, sorted(set(wanted) & set(start)))

    def beside(self, guess, held):
        """Return the closed configuration (n,) next to a guess, ``held`` standing if possible."""
        (q,), (gaps,) = self.closest(guess[None], held)
        if held and not np.abs(gaps).max(initial=0.0) < CLOSED:
            (q,), (gaps,) = self.closest(guess[None])
        if np.abs(gaps).max(initial=0.0) < CLOSED:
            return q
        names = np.repeat([c.text for c in self._closures], [c.rows() for c in self._closures])
        worst = int(np.abs(gaps).argmax())
        raise RobotModelError(
            'the mechanism cannot be assembled',
            expected='all closures met',
            found=f'{abs(gaps[worst]):.3g} m left in "{names[worst]}" at '
            + describe(self._robot, q),
            do='give start: with positions near assembled',
        )

    def nearest(self):
        """
        Return the closed configuration (n,) nearest to the drawing, where nobody gave one.

        Of those within the limits that are next to it or to random ones, and of the largest rank.
        """
        beside = self.closed(self.drawing[None])
        if len(beside) and self.apart(beside[0], self.drawing) < ANOTHER_ASSEMBLY:
            return beside[0]
        others = self.closed(self.random())
        postures = np.vstack([beside, others[np.argsort(self.apart(others, self.drawing))]])
        allowed = self.allowed(postures)
        if allowed.any():
            postures = postures[allowed]
        if not len(postures):
            return self.beside(self.drawing, ())  # which says what is left
        J = constraint(self._robot, self._closures, postures)[1]
        return postures[np.argmax([_rank(part, CLEAR) for part in J])]

    def nearby(self, q, size):
        """Return closed configurations (B, n) near q (n,); size : of the loops [m]."""
        away = np.random.default_rng(0).uniform(-NEARBY, NEARBY, (3, len(q)))
        return self.closed(q + away * np.where(self._robot.prismatic, size, 1.0))

    def closed(self, guesses, standing=()):
        """Return those of ``closest`` that close, in the turn of the limits."""
        q, gaps = self.closest(guesses, standing)
        q = q[np.abs(gaps).max(1, initial=0.0) < CLOSED]
        return self._without_turns(q, 0.5 * (self.low + self.high))

    def closest(self, guesses, standing=()):
        """
        Return q (B, n) next to guesses (B, n), and what closures leave open there (B, m).

        Joints ``standing`` do not move.  Levenberg 1944, Marquardt 1963.
        """
        free = [i for i in np.flatnonzero(self.drawn) if i not in standing]
        ways = self._map[:, free]
        q = (guesses * self.drawn) @ self._map.T + self._offset
        C, J, _ = constraint(self._robot, self._closures, q)
        cost, damping = (C**2).sum(1), np.full(len(q), 1e-3)
        for _ in range(100):
            A = J @ ways
            transposed = np.swapaxes(A, 1, 2)
            normal = transposed @ A + damping[:, None, None] * np.eye(len(free))
            step = np.linalg.solve(normal, transposed @ C[:, :, None])[:, :, 0]
            moved = q - step @ ways.T
            moved_C, moved_J, _ = constraint(self._robot, self._closures, moved)
            moved_cost = (moved_C**2).sum(1)
            better = moved_cost < cost
            going = np.where(better, moved_cost < 0.999 * cost, damping < STUCK)
            q[better], C[better], J[better] = moved[better], moved_C[better], moved_J[better]
            cost = np.where(better, moved_cost, cost)
            damping = np.clip(damping * np.where(better, 0.2, 4.0), 1e-12, STUCK)
            if not (going & (cost > NO_GAP**2)).any():
                break
        return self._without_turns(q, guesses), C


def _start(robot, lines):
    """Return {joint: position} of the option ``start``."""
    out = {}
    for line in lines:
        words = str(line).split()
        try:
            out[robot.joint_names.index(words[0])] = finite_number(words[1])
        except (ValueError, IndexError):
            raise ConfigError(
                'option start',
                expected='"JOINT POSITION"',
                found=repr(line),
                exists=robot.joint_names,
            ) from None
    return out


def _rank(J, least=STRUCTURAL_RANK):
    if not J.size:
        return 0
    singular = np.linalg.svd(J, compute_uv=False)
    return int((singular > least * max(singular[0], 1e-300)).sum())


def _choose(J, rank):
    """Return the independent joints: what pivoting leaves when dependent ones are taken first."""
    if not rank:
        return tuple(range(J.shape[1]))
    pivots = qr(J, pivoting=True, mode='economic')[2]
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
    groups = []
    for mover, way in zip(free, ways.T):
        along = taken[np.abs(way) > STRUCTURAL_RANK * np.abs(way).max(initial=1.0)]
        groups.append(', '.join(robot.joint_names[others[k]] for k in (mover, *along)))
    return (
        f'with these at rest there still move: {"; ".join(groups)}: add one joint of each '
        'that has an encoder; a rod that spins between two ball joints needs one of them '
        'made "fixed" in the URDF'
    )
