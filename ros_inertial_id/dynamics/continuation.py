"""
Position solve along a motion: dependent coordinates from the independent ones, sample by sample.

Newton-Raphson starts from the last solution moved along R (paper, Sec. 2.1), but samples need not
wait for one another: the space of z falls into cells; a cell met for the first time is solved
from the cell the motion came from, and every sample from its own cell, all samples at once.
What was solved is remembered, so a mechanism that goes round and round solves its circle once.
Guards: a sample must meet its neighbour along R (no jump to another branch), and the dependent
Jacobian must be regular; errors say where and at what time.
"""

import numpy as np

from ..errors import RobotModelError
from .mechanism import CLOSED, SINGULAR, coupled, describe

STEP = 0.2      # cell size: [rad], or this share of the mechanism's reach [m]
ROUNDS = 12     # Newton steps; quadratic convergence needs four
JUMP = 0.2      # largest departure from the motion along R, per unit of the motion


class Continuation:
    """
    Follows motions of a Mechanism, in order of time; ``restart`` begins another one.

    The memory of its cells lasts: for z, on the branch of ``start``, there is one configuration.
    """

    def __init__(self, mechanism):
        self._mechanism = mechanism
        robot, index = mechanism.robot, list(mechanism.independent)
        slide = np.asarray(robot.prismatic)[index]
        self._size = STEP * np.where(slide, robot.reach(), 1.0)
        # A turn of the crank brings back the same figure, unless a coupling counts the turns.
        self._turn = np.where(slide | coupled(mechanism), np.inf, 2 * np.pi)
        self._cells = {}
        start = np.array(mechanism.start)[None]
        R, _ = mechanism.transformation(start)
        self._cells[self._keys(start[:, index])[0]] = (start[0, index], start[0], R[0])
        self.restart()

    def restart(self):
        """Begin another motion, near ``start``."""
        start = np.array(self._mechanism.start)
        self._last = (start[list(self._mechanism.independent)], start)

    def follow(self, z, t=None):
        """
        Return the closed configurations q (N, n) of a motion z (N, k) [rad, m], and R (N, n, k).

        t : (N,) [s], for what errors say.  Raises RobotModelError where the mechanism cannot be
        closed, is singular or jumps to another branch.
        """
        mechanism = self._mechanism
        t = np.arange(len(z), dtype=float) if t is None else t
        if not mechanism.dependent:
            q = np.empty((len(z), len(mechanism.robot)))
            q[:, list(mechanism.independent)] = z
            return q, mechanism.transformation(q)[0]
        keys = self._keys(z)
        self._explore(z, keys, t)
        near = [self._cells[key] for key in keys]
        here, q, R = (np.array(column) for column in zip(*near))
        q, closed = newton(mechanism, q, R, self._near(z, here), z)
        _check(mechanism, closed, q, t, z)
        q = self._unwind(q)
        R, dexterity = mechanism.transformation(q)
        guard(mechanism, q, R, dexterity, t)
        self._last = (z[-1].copy(), q[-1].copy())
        return q, R

    def _keys(self, z):
        finite = np.isfinite(self._turn)
        wrapped = np.where(finite, np.mod(z, np.where(finite, self._turn, 1.0)), z)
        return list(map(tuple, np.floor(wrapped / self._size).astype(int).tolist()))

    def _near(self, z, around):
        """Return z moved by whole turns next to ``around``."""
        finite = np.isfinite(self._turn)
        turn = np.where(finite, self._turn, 1.0)
        return np.where(finite, z - turn * np.round((z - around) / turn), z)

    def _explore(self, z, keys, t):
        """Solve the cells met for the first time, each from the one the motion came from."""
        first = {}
        for k, key in enumerate(keys):
            if key not in self._cells:
                first.setdefault(key, k)
        if not first:
            return
        before = self._keys(self._last[0][None])[0]
        neighbours = {}
        for a, b in dict.fromkeys(zip([before, *keys[:-1]], keys)):
            neighbours.setdefault(a, []).append(b)
            neighbours.setdefault(b, []).append(a)
        frontier = [key for key in neighbours if key in self._cells]
        while frontier:
            origin = {}
            for key in frontier:
                for other in neighbours[key]:
                    if other in first and other not in self._cells:
                        origin.setdefault(other, key)
            frontier = list(origin)
            if frontier:
                samples = [first[key] for key in frontier]
                self._solve_cells(frontier, origin.values(), z[samples], t[samples])

    def _solve_cells(self, keys, origins, z, t):
        here, q, R = (np.array(column) for column in zip(*[self._cells[k] for k in origins]))
        target = self._near(z, here)
        pieces = max(1, int(np.ceil(np.max(np.abs(target - here) / self._size))))
        for part in range(1, pieces + 1):
            goal = here + (target - here) * (part / pieces)
            q, closed = newton(self._mechanism, q, R, goal, goal)
            _check(self._mechanism, closed, q, t, z)
            R, dexterity = self._mechanism.transformation(q)
            _check_regular(self._mechanism, q, dexterity, t)
        self._cells.update(zip(keys, zip(target, q, R)))

    def _unwind(self, q):
        """Return q with dependent angles continued from the last sample, no jumps by turns."""
        robot = self._mechanism.robot
        turning = [j for j in self._mechanism.dependent if not robot.prismatic[j]]
        whole = np.vstack([self._last[1], q])
        whole[:, turning] = np.unwrap(whole[:, turning], axis=0)
        return whole[1:]


def newton(mechanism, q, R, predict, z):
    """
    Return (q (N, n) closed at the independent coordinates z, closed (N,) bool).

    q (N, n), R (N, n, k) : solutions nearby; predict : (N, k) z with the turns of q; z : as wanted
    """
    independent, dependent = list(mechanism.independent), list(mechanism.dependent)
    q = q + np.einsum('bnk,bk->bn', R, predict - q[:, independent])
    q[:, independent] = z
    active = np.arange(len(q))
    settled = np.zeros(len(q), dtype=bool)
    for _ in range(ROUNDS):
        C, J, _ = mechanism.constraint(q[active])
        step = mechanism.solve_dependent(J, C[:, :, None])[:, :, 0]
        good = np.abs(C).max(1) < CLOSED
        q[np.ix_(active, dependent)] -= step  # the last step of a good one brings full precision
        settled[active[good]] = True
        active = active[~good & np.isfinite(step).all(1)]
        if not active.size:
            break
    return q, settled


def _check(mechanism, closed, q, t, z):
    if not closed.all():
        k = int(np.flatnonzero(~closed)[0])
        raise RobotModelError(
            f'the mechanism cannot be closed at {t[k]:.4f} s', expected='a position it can reach',
            found=', '.join(f'{name} {value:.4g}'
                            for name, value in zip(mechanism.coordinates, z[k])),
            do='check the zero of the encoder, the lengths in the URDF and start:; near a dead '
               'centre choose other independent: coordinates')


def _check_regular(mechanism, q, dexterity, t):
    bad = np.flatnonzero(dexterity < SINGULAR)
    if bad.size:
        k = int(bad[0])
        raise RobotModelError(
            f'the mechanism is at a dead centre at {t[k]:.4f} s ({bad.size} samples)',
            found=describe(mechanism.robot, q[k]), expected='dependent joints that follow from '
            + ', '.join(mechanism.coordinates), do='choose other independent: coordinates')


def guard(mechanism, q, R, dexterity, t):
    """Raise where samples are singular or two successive ones are not joined by R."""
    _check_regular(mechanism, q, dexterity, t)
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
            found=f'{describe(mechanism.robot, q[k - 1])} then '
            f'{describe(mechanism.robot, q[k])}',
            do='record faster or move slower there: the independent coordinates skip too far')


def random_walk(mechanism, samples, rng, steps=8):
    """
    Return closed configurations (samples, n): random walkers from the start (paper, Sec. 2.1).

    Steps that do not close or come near a dead centre are not taken.
    """
    q = np.tile(mechanism.start, (samples, 1))
    if not mechanism.dependent:
        spread = np.where(mechanism.robot.prismatic, 1.0, np.pi)
        return q + rng.uniform(-spread, spread, q.shape)
    slide = np.asarray(mechanism.robot.prismatic)[list(mechanism.independent)]
    size = np.where(slide, STEP * mechanism.robot.reach(), 4.0 * STEP)
    R, _ = mechanism.transformation(q)
    for _ in range(steps):
        goal = q[:, list(mechanism.independent)] + rng.uniform(-size, size,
                                                               (samples, len(mechanism)))
        moved, closed = newton(mechanism, q, R, goal, goal)
        moved_R, dexterity = mechanism.transformation(moved)
        along = 0.5 * np.einsum('bnk,bk->bn', R + moved_R,
                                goal - q[:, list(mechanism.independent)])
        off = (np.abs(moved - q - along) * mechanism.lengths).max(1)
        good = closed & (dexterity > 5 * SINGULAR) & (off < JUMP * mechanism.lengths.max())
        q[good], R[good] = moved[good], moved_R[good]
    return q
