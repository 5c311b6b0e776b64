"""
Position solve along a motion: dependent coordinates from the independent ones, sample by sample.

Newton-Raphson starts from the last solution moved along R (paper, Sec. 2.1), but samples need not
wait for one another: the space of z falls into cells; a cell met for the first time is solved
from the cell the motion came from, and every sample from its own cell, all samples at once.
What was solved is remembered, so a mechanism that goes round and round solves its circle once.
Guards: a sample must meet its neighbour along R (no jump to another branch), the dependent
Jacobian must be regular, on the way too (short steps where it comes near to singular), and between
coarse samples it must not head for zero: beyond a dead centre the mechanism may go on or turn
back, the independent coordinates alone do not say which.  Errors say where and at what time.
"""

import numpy as np

from .couplings import followers
from .mechanism import describe, Mechanism, NEARLY, SINGULAR
from ...errors import RobotModelError

CELL = 0.2  # cell size: [rad], or this share of the loops' size [m]
CLOSING_STEPS = 12  # Newton steps; quadratic convergence needs four
NEAR_SINGULAR = 0.15  # dexterity below which steps are short
STEPS_SHORTER = 10  # times shorter: a dead centre is not stepped over
MEET = 1.3  # share of a sample interval in which dexterity falls to zero from both ends
REGULAR = 0.1  # dexterity that random walks keep
SAMPLES_PER_WALKER = 4  # samples of one random walker
BOLD = 6  # Newton steps of random walks: what takes more leads astray
JUMP = 0.2  # largest departure from the motion along R, per unit of the motion


class Continuation:
    """
    Follows motions of a Mechanism, in order of time; ``restart`` begins another one.

    The memory of its cells lasts: for z, on the branch of ``start``, there is one configuration.
    """

    def __init__(self, mechanism):
        self._mechanism = mechanism
        robot, index = mechanism.robot, list(mechanism.independent)
        slide = np.asarray(robot.prismatic)[index]
        self._size = CELL * np.where(slide, mechanism.size, 1.0) * mechanism.gearing
        self._followers, counted = followers(robot, mechanism.closures, mechanism.dependent)
        # A turn of the crank brings back the same figure, unless a coupling counts the turns.
        self._turn = np.where(slide | bool(counted), np.inf, 2 * np.pi)
        self._turning = [
            j for j in mechanism.dependent if not robot.prismatic[j] and j not in counted
        ]
        self._cells = {}
        start = np.array(mechanism.start)[None]
        R, dexterity = mechanism.transformation(start)
        self._cells[self._key(start[0, index])] = (start[0, index], start[0], R[0], dexterity[0])
        self.restart()

    def restart(self) -> None:
        """Begin another motion, near ``start``."""
        start = np.array(self._mechanism.start)
        self._last = (start[list(self._mechanism.independent)], start)

    def follow(self, z: np.ndarray, t: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """
        Return the closed configurations q (N, n) of a motion z (N, k) [rad, m], and R (N, n, k).

        t : (N,) [s], for errors: RobotModelError where the mechanism cannot be closed, is
        singular or jumps to another branch.
        """
        mechanism = self._mechanism
        if t is None:
            t = np.arange(len(z), dtype=float)
        if not mechanism.dependent:
            q = np.empty((len(z), len(mechanism.robot)))
            q[:, list(mechanism.independent)] = z
            return q, mechanism.transformation(q)[0]
        keys = list(map(tuple, self._floor(z).tolist()))
        self._explore(keys, z, t)
        met = {key: k for k, key in enumerate(dict.fromkeys(keys))}
        number = [met[key] for key in keys]
        columns = zip(*map(self._cells.get, met))
        here, q, R, dexterity = (np.array(column)[number] for column in columns)
        q, R, dexterity = self._walk(q, R, dexterity, here, self._near(z, here), t)
        q[:, list(mechanism.independent)] = z
        q = self._unwind(q)
        guard(mechanism, q, R, dexterity, t)
        self._last = (z[-1].copy(), q[-1].copy())
        return q, R

    def _floor(self, z):
        """Return the integers (N, k) that name the cells of z (N, k)."""
        finite = np.isfinite(self._turn)
        wrapped = np.where(finite, np.mod(z, np.where(finite, self._turn, 1.0)), z)
        return np.floor(wrapped / self._size).astype(int)

    def _key(self, z):
        return tuple(self._floor(z).tolist())

    def _near(self, z, around):
        """Return z moved by whole turns next to ``around``."""
        finite = np.isfinite(self._turn)
        turn = np.where(finite, self._turn, 1.0)
        return np.where(finite, z - turn * np.round((z - around) / turn), z)

    def _explore(self, keys, z, t):
        """Solve the cells met for the first time, each from the one the motion came from."""
        before = self._key(self._last[0])
        for key, goal, when in zip(keys, z, t):
            if key not in self._cells:
                here, q, R, dexterity = (x[None] for x in self._cells[before])
                target = self._near(goal[None], here)
                solved = self._walk(q, R, dexterity, here, target, np.array([when]))
                self._cells[key] = (target[0], *(x[0] for x in solved))
            before = key

    def _walk(self, q, R, dexterity, here, target, t):
        """Return q, R and dexterity at ``target`` (N, k) from ``here``, in small steps."""
        mechanism = self._mechanism
        pieces = max(1, int(np.ceil(np.max(np.abs(target - here) / self._size))))
        *out, lowest, closed = self._steps(q, R, here, target, pieces)
        near = np.flatnonzero(~closed | (np.minimum(lowest, dexterity) < NEAR_SINGULAR))
        if near.size:
            slow = self._steps(q[near], R[near], here[near], target[near], STEPS_SHORTER * pieces)
            _check(mechanism, slow[4], slow[0], t[near], target[near])
            _check_regular(mechanism, slow[0], slow[3], t[near])
            for samples, slower in zip(out, slow):
                samples[near] = slower
        return out

    def _steps(self, q, R, here, target, pieces):
        """Return q, R, dexterity after equal steps, the lowest on the way, whether all closed."""
        lowest, closed_all = np.full(len(q), np.inf), np.ones(len(q), dtype=bool)
        for part in range(1, pieces + 1):
            goal = here + (target - here) * (part / pieces)
            q, closed = newton(self._mechanism, q, R, goal, goal)
            R, dexterity = self._mechanism.transformation(q)
            lowest, closed_all = np.minimum(lowest, dexterity), closed_all & closed
        return q, R, dexterity, lowest, closed_all

    def _unwind(self, q):
        """Return q with dependent angles continued from the last sample, no jumps by turns."""
        turns = np.vstack([self._last[1], q])
        turns[:, self._turning] = np.unwrap(turns[:, self._turning], axis=0)
        for follower in self._followers:  # as far as they turn
            turns[:, follower.joint] = follower.at(turns)
        return turns[1:]


def newton(
    mechanism: Mechanism,
    q: np.ndarray,
    R: np.ndarray,
    predict: np.ndarray,
    z: np.ndarray,
    rounds: int = CLOSING_STEPS,
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return (q (N, n) closed at the independent coordinates z (N, k), closed (N,) bool).

    q (N, n), R (N, n, k) : solutions nearby; predict : (N, k) z with the turns of q
    """
    independent, dependent = list(mechanism.independent), list(mechanism.dependent)
    q = q + np.einsum('bnk,bk->bn', R, predict - q[:, independent])
    q[:, independent] = z
    active = np.arange(len(q))
    settled = np.zeros(len(q), dtype=bool)
    for _ in range(rounds):
        C, J, _ = mechanism.constraint(q[active])
        step = mechanism.solve_dependent(J, C[:, :, None], refined=False)[:, :, 0]
        good = np.abs(C).max(1, initial=0.0) < NEARLY
        # The last step of a good one brings full precision.
        q[np.ix_(active, np.array(dependent, dtype=int))] -= step
        settled[active[good]] = True
        active = active[~good & np.isfinite(step).all(1)]
        if not active.size:
            break
    return q, settled


def _check(mechanism, closed, q, t, z):
    if not closed.all():
        k = int(np.flatnonzero(~closed)[0])
        raise RobotModelError(
            f'the mechanism cannot be closed at {t[k]:.4f} s',
            expected='a position it can reach',
            found=', '.join(
                f'{name} {value:.4g}' for name, value in zip(mechanism.coordinates, z[k])
            ),
            do='check the zero of the encoder, the lengths in the URDF and start:; near a dead '
            'centre choose other independent: coordinates',
        )


def _check_regular(mechanism, q, dexterity, t):
    bad = np.flatnonzero(dexterity < SINGULAR)
    if bad.size:
        _refuse(
            mechanism, q[bad[0]], f'is at a dead centre at {t[bad[0]]:.4f} s ({bad.size} samples)'
        )


def _refuse(mechanism, q, what):
    raise RobotModelError(
        f'the mechanism {what}',
        found=describe(mechanism.robot, q),
        expected=f'{mechanism.loose(q)} to follow from {", ".join(mechanism.coordinates)}',
        do='choose other independent: coordinates',
    )


def guard(
    mechanism: Mechanism, q: np.ndarray, R: np.ndarray, dexterity: np.ndarray, t: np.ndarray
) -> None:
    """
    Raise RobotModelError where samples are singular or two successive ones are not joined by R.

    q : (N, n), R : (N, n, k), dexterity : (N,) of closed configurations; t : (N,) [s]
    """
    _check_regular(mechanism, q, dexterity, t)
    # It falls to zero between two samples, from before and from after, within a sample interval.
    fall = -np.diff(dexterity)
    with np.errstate(divide='ignore', invalid='ignore'):
        time_to_zero = dexterity[1:-2] / fall[:-2] - dexterity[2:-1] / fall[2:]
    passed = np.flatnonzero((fall[:-2] > 0.0) & (fall[2:] < 0.0) & (time_to_zero < MEET)) + 1
    if passed.size:
        k = int(passed[0])
        _refuse(
            mechanism,
            q[k],
            'passes a dead centre, unseen which way it goes on, between '
            f'{t[k]:.4f} and {t[k + 1]:.4f} s',
        )
    step = np.diff(q, axis=0)
    along = 0.5 * np.einsum('bnk,bk->bn', R[1:] + R[:-1], step[:, list(mechanism.independent)])
    scale = mechanism.lengths
    off = np.abs((step - along) * scale)
    allowed = JUMP * np.abs(step * scale).max(1, initial=0.0) + 0.02 * scale.max()
    jump = np.flatnonzero(off.max(1, initial=0.0) > allowed)
    if jump.size:
        k = int(jump[0]) + 1
        raise RobotModelError(
            f'the mechanism jumps to another branch at {t[k]:.4f} s',
            found=f'{describe(mechanism.robot, q[k - 1])} then {describe(mechanism.robot, q[k])}',
            do='record faster or move slower there: the independent coordinates skip too far',
        )


def random_walk(
    mechanism: Mechanism, samples: int, rng: np.random.Generator, steps: int = 8
) -> np.ndarray:
    """
    Return closed configurations (samples, n): random walkers from the start (paper, Sec. 2.1).

    A step that does not close, leaves its branch or comes near a dead centre is not taken; the
    walker's next one is a third as long, so none stays where it is for want of a short step.

    steps : of every walker before its first sample; SAMPLES_PER_WALKER samples are of one walker
    """
    slide = np.asarray(mechanism.robot.prismatic)
    if not mechanism.dependent:
        half = np.where(slide, 1.0, np.pi)
        return mechanism.start + rng.uniform(-half, half, (samples, len(slide)))
    walkers = -(-samples // SAMPLES_PER_WALKER)
    q, stride, out = np.tile(mechanism.start, (walkers, 1)), np.ones((walkers, 1)), []
    size = (
        CELL
        * np.where(slide[list(mechanism.independent)], mechanism.size, 4.0)
        * mechanism.gearing
    )
    R, _ = mechanism.transformation(q)
    for _ in range(steps + SAMPLES_PER_WALKER - 1):
        change = stride * rng.uniform(-size, size, (walkers, len(mechanism)))
        moved, moved_R, good = _stride(mechanism, q, R, change)
        q[good], R[good] = moved[good], moved_R[good]
        stride = np.where(good[:, None], np.minimum(1.0, 2.0 * stride), stride / 3.0)
        out.append(q.copy())
    return np.concatenate(out[-SAMPLES_PER_WALKER:])[:samples]


def _stride(mechanism, q, R, change):
    """Return q and R (N, ...) after a change (N, k) of z, and where that is regular and joined."""
    goal = q[:, list(mechanism.independent)] + change
    moved, closed = newton(mechanism, q, R, goal, goal, BOLD)
    moved_R, dexterity = mechanism.transformation(moved)
    along = 0.5 * np.einsum('bnk,bk->bn', R + moved_R, change)
    off = (np.abs(moved - q - along) * mechanism.lengths).max(1)
    way = (np.abs(moved - q) * mechanism.lengths).max(1)
    return moved, moved_R, closed & (dexterity > REGULAR) & (off < JUMP * way)
