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

STEP = 0.1      # cell size: [rad], or this share of the mechanism's reach [m]
ROUNDS = 12     # Newton steps; quadratic convergence needs four
JUMP = 0.2      # largest departure from the motion along R, per unit of the motion


class Continuation:
    """
    Follows one motion of a Mechanism; the memory of its cells lasts from piece to piece.

    One life: made at the start of a recording, ``follow`` in order of time.
    """

    def __init__(self, mechanism):
        self._mechanism = mechanism
        robot = mechanism.robot
        index = list(mechanism.independent)
        slide = np.asarray(robot.prismatic)[index]
        self._size = STEP * np.where(slide, robot.reach(), 1.0)
        # A turn of the crank brings back the same figure, unless a coupling counts the turns.
        period = np.where(slide | coupled(mechanism), np.inf, 2 * np.pi)
        self._period = period
        self._cells = {}
        self._last = (mechanism.start[index], np.array(mechanism.start))
        self._remember(mechanism.start[index][None], mechanism.start[None])

    def follow(self, z, t=None):
        """
        Return the closed configurations q (N, n) of a motion z (N, k) [rad, m].

        t : (N,) [s], for what errors say.  Raises RobotModelError where the mechanism cannot be
        closed, is singular or jumps to another branch.
        """
        mechanism = self._mechanism
        t = np.arange(len(z), dtype=float) if t is None else t
        if not mechanism.dependent:
            q = np.zeros((len(z), len(mechanism.robot)))
            q[:, list(mechanism.independent)] = z
            return q
        keys = self._keys(z)
        self._explore(z, keys, t)
        known = [self._cells[key] for key in keys]
        q, closed = _newton(mechanism, np.array([c[1] for c in known]),
                            self._near(z, np.array([c[0] for c in known])), z)
        _check(mechanism, closed, q, t, z)
        q = self._unwind(q)
        self._guard(q, z, t)
        self._last = (z[-1].copy(), q[-1].copy())
        return q

    def _keys(self, z):
        wrapped = self._wrap(z)
        return list(map(tuple, np.floor(wrapped / self._size).astype(int).tolist()))

    def _wrap(self, z):
        finite = np.isfinite(self._period)
        return np.where(finite, np.mod(z, np.where(finite, self._period, 1.0)), z)

    def _near(self, z, around):
        """Return z moved by whole turns next to ``around``."""
        finite = np.isfinite(self._period)
        turn = np.where(finite, self._period, 1.0)
        return np.where(finite, z - turn * np.round((z - around) / turn), z)

    def _remember(self, z, q):
        for key, one, full in zip(self._keys(z), z, q):
            self._cells.setdefault(key, (one.copy(), full.copy()))

    def _explore(self, z, keys, t):
        """Solve the cells met for the first time, each from the one the motion came from."""
        first = {}
        for k, key in enumerate(keys):
            if key not in self._cells and key not in first:
                first[key] = k
        before = self._keys(self._last[0][None])[0]
        links = dict.fromkeys(zip([before, *keys[:-1]], keys))
        neighbours = {}
        for a, b in links:
            neighbours.setdefault(a, []).append(b)
            neighbours.setdefault(b, []).append(a)
        frontier = [key for key in neighbours if key in self._cells]
        while frontier:
            pairs = {}
            for key in frontier:
                for other in neighbours[key]:
                    if other in first and other not in self._cells:
                        pairs.setdefault(other, key)
            frontier = list(pairs)
            if frontier:
                self._solve_cells(frontier, [pairs[key] for key in frontier],
                                  z[[first[key] for key in frontier]],
                                  t[[first[key] for key in frontier]])

    def _solve_cells(self, keys, origins, z, t):
        known = [self._cells[key] for key in origins]
        here, q = np.array([c[0] for c in known]), np.array([c[1] for c in known])
        target = self._near(z, here)
        pieces = int(np.ceil(np.max(np.abs(target - here) / self._size)))
        for part in range(1, max(1, pieces) + 1):
            goal = here + (target - here) * (part / max(1, pieces))
            q, closed = _newton(self._mechanism, q, goal, goal)
            _check(self._mechanism, closed, q, t, z)
        for key, one, full in zip(keys, target, q):
            self._cells[key] = (one, full)

    def _unwind(self, q):
        """Return q with dependent angles continued from the last sample, no jumps by turns."""
        robot = self._mechanism.robot
        turning = [j for j in self._mechanism.dependent if not robot.prismatic[j]]
        whole = np.vstack([self._last[1], q])
        whole[:, turning] = np.unwrap(whole[:, turning], axis=0)
        return whole[1:]

    def _guard(self, q, z, t):
        """Raise where two successive samples are not joined by the motion along R."""
        mechanism = self._mechanism
        bad = mechanism.dexterity(q) < SINGULAR
        if bad.any():
            _singular(mechanism, q, t, bad)
        dz = np.diff(z, axis=0)
        if not len(dz):
            return
        R = mechanism.transformation(q)
        along = 0.5 * np.einsum('bnk,bk->bn', R[1:] + R[:-1], dz)
        step = np.diff(q, axis=0)
        scale = mechanism.lengths
        off = (np.abs(step - along) * scale).max(1)
        allowed = JUMP * (np.abs(step) * scale).max(1) + 0.02 * scale.max()
        jump = np.flatnonzero(off > allowed)
        if jump.size:
            k = int(jump[0]) + 1
            raise RobotModelError(
                f'the mechanism jumps to another branch at {t[k]:.4f} s',
                found=f'{describe(mechanism.robot, q[k - 1])} then '
                f'{describe(mechanism.robot, q[k])}',
                do='record faster or move slower there: the independent coordinates skip too far')


def _newton(mechanism, q, predict, z):
    """
    Return (q (N, n) closed at the independent coordinates z, closed (N,) bool).

    q : (N, n) solutions nearby; predict : (N, k) where z is, turns as in q; z : as wanted
    """
    independent, dependent = list(mechanism.independent), list(mechanism.dependent)
    q = np.array(q)
    R = mechanism.transformation(q)
    q += np.einsum('bnk,bk->bn', R, predict - q[:, independent])
    q[:, independent] = z
    active = np.arange(len(q))
    settled = np.zeros(len(q), dtype=bool)
    for _ in range(ROUNDS):
        C, J, _ = mechanism.constraint(q[active])
        step = mechanism.solve_dependent(J, C[:, :, None])[:, :, 0]
        error = np.abs(C).max(1)
        good = error < CLOSED
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


def _singular(mechanism, q, t, bad):
    k = int(np.flatnonzero(bad)[0])
    raise RobotModelError(
        f'the mechanism is at a dead centre at {t[k]:.4f} s ({int(bad.sum())} samples)',
        found=describe(mechanism.robot, q[k]),
        expected='dependent coordinates that follow from '
        + ', '.join(mechanism.coordinates), do='choose other independent: coordinates')


def random_walk(mechanism, samples, rng, steps=12):
    """
    Return closed configurations (samples, n): random walkers from the start (paper, Sec. 2.1).

    Steps that do not close or come near a dead centre are not taken.
    """
    q = np.tile(mechanism.start, (samples, 1))
    if not mechanism.dependent:
        spread = np.where(mechanism.robot.prismatic, 1.0, np.pi)
        return q + rng.uniform(-spread, spread, q.shape)
    slide = np.asarray(mechanism.robot.prismatic)[list(mechanism.independent)]
    size = np.where(slide, STEP * mechanism.robot.reach(), 5.0 * STEP)
    for _ in range(steps):
        goal = q[:, list(mechanism.independent)] + rng.uniform(-size, size,
                                                               (samples, len(mechanism)))
        moved, closed = _newton(mechanism, q, goal, goal)
        near = (np.abs(moved - q) * mechanism.lengths).max(1) < 1.0 * mechanism.lengths.max()
        good = closed & near
        good[good] &= mechanism.dexterity(moved[good]) > 5 * SINGULAR
        q[good] = moved[good]
    return q
