"""
Rows: samples of an arm as equations, with gravity and targets left open, and their Gram matrices.

Joint j has columns ``[W(no gravity), Gx, Gy, Gz of masses and first moments, friction]`` and as
targets the torques of all joints and its own at some delays.  The Gram matrices of five folds are
all that the alternatives ask of the data: another sign, order, gain, delay or gravity is a choice
of columns, so each costs a few small solutions and no look at the samples.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .grams import grams_of, stacked
from .raw_signals import AT_REST
from ..dynamics.regressor import tree_rows
from ..estimation.cross_validation import FOLDS
from ..identification.prepare.dataset import Dataset
from ..methods.serial_arm import SerialArm

SAMPLES = 1000      # enough: they are spread over the recording
SPACING = 0.05      # [s] between them at most, so that a contact is not missed
MOST = 4000
BLOCKS = 25         # stretches, of which every fifth is left out at once
LAWS = ('viscous', 'coulomb', 'offset', 'armature')
WIDTH = 0.03        # [rad/s] of Coulomb's step
LATER = np.array([0.008, 0.015, 0.025, 0.04, 0.06, 0.1])
DELAYS = np.concatenate([-LATER[::-1], LATER])  # [s]


@dataclass(frozen=True)
class Motion:
    """t, number : (N,) stamps [s] and recording; q, v, a, tau : (N, n); late : (N, n, delays)."""

    t: np.ndarray
    number: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    late: np.ndarray

    def rows(self, chosen: np.ndarray) -> 'Motion':
        """Return the Motion of the ``chosen`` samples (mask or indices)."""
        return Motion(*(getattr(self, name)[chosen] for name in (
            't', 'number', 'q', 'v', 'a', 'tau', 'late')))


@dataclass(frozen=True)
class Prior:
    """mean, sd : (p,) of all parameters, 10 per body, then LAWS per joint; nominal : any mass."""

    mean: np.ndarray
    sd: np.ndarray
    nominal: bool


@dataclass(frozen=True)
class Rows:
    """
    The equations of all samples.

    robot : RobotModel; motion : Motion; prior : Prior
    matrices : per joint (N, k) columns, see above; targets : per joint (N, n + delays)
    places : per joint the parameters (c,) of its columns; heavy : those that gravity acts on
    fold : (N,) of each sample; grams : per joint those of [columns, targets], folds first
    gravity : (3,) as declared [m/s^2]
    """

    robot: Any
    motion: Motion
    prior: Prior
    matrices: tuple[np.ndarray, ...]
    targets: tuple[np.ndarray, ...]
    places: tuple[np.ndarray, ...]
    heavy: tuple[np.ndarray, ...]
    fold: np.ndarray
    grams: tuple[np.ndarray, ...]
    gravity: np.ndarray

    def columns(self, j: int, gravity: np.ndarray) -> np.ndarray:
        """Return the columns, (N, c), of joint ``j`` under a ``gravity`` (3,)."""
        if np.array_equal(gravity, self.gravity):
            return self._declared[j]
        return self._columns(j, gravity)

    @cached_property
    def still(self) -> np.ndarray:
        """Return (n,) bool which joints stand still: friction takes whatever their efforts are."""
        q, number = self.motion.q, self.motion.number
        spans = [np.ptp(q[number == k], axis=0) for k in np.unique(number)]
        return np.asarray(np.max(spans, axis=0) < AT_REST)

    @cached_property
    def _declared(self) -> list[np.ndarray]:
        """Return the columns of all joints under the gravity that was declared."""
        return [self._columns(j, self.gravity) for j in range(len(self.places))]

    def _columns(self, j: int, gravity: np.ndarray) -> np.ndarray:
        count, heavy = len(self.places[j]), self.heavy[j]
        out = self.matrices[j][:, :count].copy()
        if np.any(gravity):
            out[:, heavy] += sum(g * self.matrices[j][:, count + k * len(heavy):][:, :len(heavy)]
                                 for k, g in enumerate(gravity) if g)
        return out

    def target(self, j: int, k: int) -> int:
        """Return the place in the Gram matrix of joint ``j`` of its target ``k``."""
        return int(self.grams[j].shape[1] - self.targets[j].shape[1] + k)

    def combined(self, j: int, values: np.ndarray,
                 gravity: np.ndarray | None = None) -> np.ndarray:
        """
        Return, as combinations (k, m) for the Gram matrix, torques of joint ``j``.

        values : (c, m) of its parameters; gravity : (3,), the declared one by default
        """
        return stacked(values, self.heavy[j], self.gravity if gravity is None else gravity,
                       self.grams[j].shape[1])

    def pulled(self, j: int, product: np.ndarray) -> np.ndarray:
        """
        Return what the declared gravity adds to products with the columns of joint ``j``.

        product : (k, m) of all stacked columns; the result is (c, m)
        """
        heavy, count = self.heavy[j], len(self.places[j])
        out = np.zeros((count, product.shape[1]))
        for k, g in enumerate(self.gravity):
            out[heavy] += g * product[count + k * len(heavy):][:len(heavy)]
        return out


def motion_of(data: Dataset) -> Motion:
    """Return the Motion of a Dataset ``data`` of serial_arm, thinned out evenly."""
    whole = sum(o.samples(True) for o in data.observations)
    seconds = sum(o.summary['duration'] for o in data.observations)
    wanted = min(MOST, max(SAMPLES, seconds / SPACING))
    stride = max(1, int(np.ceil(whole / wanted)))
    parts = []
    for number, observation in enumerate(data.observations):
        for state in data.states_of(observation):
            chosen = slice(stride // 2, None, stride)
            t = state.t[chosen]
            late = np.stack([np.stack([np.interp(t + d, state.t, column) for d in DELAYS], axis=1)
                             for column in state.tau.T], axis=1)
            # Copies: a view of few samples would keep the whole piece alive.
            q, v, a, tau = (x[chosen].copy() for x in (state.q, state.v, state.a, state.tau))
            parts.append((t.copy(), np.full(len(t), number), q, v, a, tau, late))
    return Motion(*(np.concatenate(x) for x in zip(*parts)))


def prior_of(robot: Any, options: Any, values: np.ndarray | None = None) -> Prior:
    """
    Return the Prior that a description gives.

    robot : RobotModel; options : of serial_arm; values : (10 n,) instead of the nominal ones
    """
    plain = replace(options, friction=LAWS, coulomb_width=WIDTH)
    columns = SerialArm().parameters(robot, plain)[:14 * len(robot)]
    mean = np.array([p.nominal for p in columns])
    if values is not None:
        mean[:10 * len(robot)] = values
    return Prior(mean, np.array([p.prior_sd for p in columns]),
                 bool(np.all(robot.inertias[:, 0] > 0.0)))


def rows_of(robot: Any, motion: Motion, prior: Prior) -> Rows:
    """Return the Rows of the ``motion`` of a ``robot`` with a ``prior`` for its parameters."""
    count = len(robot)
    still = np.zeros_like(motion.v)
    bare = tree_rows(robot, motion.q, motion.v, motion.a, np.zeros(3))
    pulled = [tree_rows(robot, motion.q, still, still, g) for g in np.eye(3)]
    matrices, places, heavies = [], [], []
    for j in range(count):
        bodies = robot.subtree(j)
        own = np.concatenate([np.arange(10 * b, 10 * b + 10) for b in bodies])
        heavy = np.flatnonzero(own % 10 < 4)
        v = motion.v[:, j]
        friction = np.stack([v, np.tanh(v / WIDTH), np.ones_like(v), motion.a[:, j]], axis=1)
        matrices.append(np.hstack([bare[j].T, friction] + [g[j][heavy].T for g in pulled]))
        places.append(np.concatenate([own, 10 * count + 4 * j + np.arange(4)]))
        heavies.append(heavy)
    targets = tuple(np.hstack([motion.tau, motion.late[:, j]]) for j in range(count))
    fold = (np.arange(len(motion.t)) * BLOCKS // len(motion.t)) % FOLDS
    rows = Rows(robot, motion, prior, tuple(matrices), targets, tuple(places), tuple(heavies),
                fold, (), robot.gravity_base)
    return replace(rows, grams=grams_of(matrices, targets, fold))


def chosen_rows(rows: Rows, keep: np.ndarray) -> Rows:
    """Return ``rows`` of the samples in ``keep`` (N,) bool alone."""
    matrices = tuple(M[keep] for M in rows.matrices)
    targets = tuple(Y[keep] for Y in rows.targets)
    fold = rows.fold[keep]
    if keep.mean() > 0.5:  # what is left out is less to multiply
        gone = grams_of([M[~keep] for M in rows.matrices], [Y[~keep] for Y in rows.targets],
                        rows.fold[~keep])
        grams = tuple(all_ - some for all_, some in zip(rows.grams, gone))
    else:
        grams = grams_of(matrices, targets, fold)
    return replace(rows, motion=rows.motion.rows(keep), matrices=matrices, targets=targets,
                   fold=fold, grams=grams)
