"""
Samples of an arm as equations, with gravity and targets left open, and their products by fold.

The rows are those of the method (``Method.regress``), and their folds those of cross-validation.
Joint j has the columns ``[W(no gravity), Gx, Gy, Gz of masses and first moments]`` and as targets
the efforts of all joints and its own at some delays: another sign, order, gain, delay or gravity
is a combination of columns in their products, and costs no look at the samples.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..dynamics.inertial_parameters import Parameter
from ..estimation.cross_validation import fold_of, FOLDS
from ..estimation.residuals import autocovariance, correlation_time
from ..identification.prepare.dataset import Dataset
from ..measurement.joints.kinematic_state import AT_REST
from ..methods.serial_arm import SerialArm

ENOUGH = 1000       # samples: they are spread over the recording
SPACING = 0.05      # [s] between them at most, so that a contact is not missed
MOST = 4000
LAWS = ('viscous', 'coulomb', 'offset', 'armature')
FRICTION = len(LAWS)
WIDTH = 0.03        # [rad/s] of Coulomb's step
RESTS = 0.1         # share of the samples in which an arm moves that is no motion
LATER = np.array([0.008, 0.015, 0.025, 0.04, 0.06, 0.1])
DELAYS = np.concatenate([-LATER[::-1], LATER])  # [s]
LAGS = np.array([0.03, 0.1, 0.3])  # [s] by which friction may follow its velocity
METHOD = SerialArm()


@dataclass(frozen=True)
class Motion:
    """
    The motion and efforts of all samples.

    t : (N,) [s]; q, v, a, tau : (N, n)
    late : (N, n, delays) the efforts at other times; before : (N, n, LAGS) the earlier velocities
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    late: np.ndarray
    before: np.ndarray

    def rows(self, chosen: np.ndarray | slice) -> 'Motion':
        """Return the Motion of the ``chosen`` samples (mask or indices)."""
        return Motion(*(x[chosen] for x in (
            self.t, self.q, self.v, self.a, self.tau, self.late, self.before)))

    def in_radians(self) -> 'Motion':
        """Return the Motion whose angles here are degrees."""
        return replace(self, q=np.radians(self.q), v=np.radians(self.v), a=np.radians(self.a),
                       before=np.radians(self.before))


@dataclass(frozen=True)
class Samples:
    """
    The equations of all samples.

    robot : RobotModel; motion : Motion; parameters : all p, 10 per body, then LAWS per joint
    matrices : per joint (N, k) columns, see above
    places : per joint the parameters (c,) of its columns; heavy : those that gravity acts on
    fold : (N,) of each sample; gravity : (3,) as declared [m/s^2]
    """

    robot: Any
    motion: Motion
    parameters: tuple[Parameter, ...]
    matrices: tuple[np.ndarray, ...]
    places: tuple[np.ndarray, ...]
    heavy: tuple[np.ndarray, ...]
    fold: np.ndarray
    gravity: np.ndarray

    @cached_property
    def mean(self) -> np.ndarray:
        """Return the (p,) parameters of the description."""
        return np.array([p.nominal for p in self.parameters])

    @cached_property
    def sd(self) -> np.ndarray:
        """Return the (p,) standard deviations of the description."""
        return np.array([p.prior_sd for p in self.parameters])

    @property
    def described(self) -> bool:
        """Return whether the description gives every body a mass."""
        return bool(np.all(self.robot.inertias[:, 0] > 0.0))

    @cached_property
    def still(self) -> np.ndarray:
        """Return (n,) bool which joints stand still: friction takes whatever their efforts are."""
        return np.asarray(np.ptp(self.motion.q, axis=0) < AT_REST)

    @cached_property
    def _declared(self) -> list[np.ndarray]:
        return [self._columns(j, self.gravity) for j in range(len(self.places))]

    def columns(self, j: int, gravity: np.ndarray | None = None) -> np.ndarray:
        """Return (N, c) of joint ``j`` under a ``gravity`` (3,) [m/s^2], as declared: None."""
        if gravity is None or np.array_equal(gravity, self.gravity):
            return self._declared[j]
        return self._columns(j, gravity)

    def _columns(self, j: int, gravity: np.ndarray) -> np.ndarray:
        M, heavy, count = self.matrices[j], self.heavy[j], len(self.places[j])
        out = M[:, :count].copy()
        for k in np.flatnonzero(gravity):
            out[:, heavy] += gravity[k] * M[:, count + k * len(heavy):][:, :len(heavy)]
        return out

    def torque(self, j: int, values: np.ndarray, gravity: np.ndarray | None = None) -> np.ndarray:
        """Return (N,) of joint ``j`` by bodies with ``values`` (p,) under ``gravity`` (3,)."""
        return self.columns(j, gravity)[:, :-FRICTION] @ values[self.places[j][:-FRICTION]]

    def load(self, j: int) -> np.ndarray:
        """Return the columns (N, 10) of the last body in joint ``j``, zero where it has none."""
        last = np.flatnonzero(self.places[j] // 10 == len(self.robot) - 1)
        return (self.columns(j)[:, last] if last.size else np.zeros((len(self.fold), 10)))

    def targets(self, j: int) -> np.ndarray:
        """Return the (N, n + delays) efforts that could be the torque of joint ``j``."""
        return np.hstack([self.motion.tau, self.motion.late[:, j]])

    @cached_property
    def products(self) -> tuple[np.ndarray, ...]:
        """Return per joint (FOLDS, m, m) the products of its columns and targets."""
        folds = [self.fold == k for k in range(FOLDS)]
        wide = (np.hstack([M, self.targets(j)]) for j, M in enumerate(self.matrices))
        return tuple(np.array([X[f].T @ X[f] for f in folds]) for X in wide)

    @property
    def as_declared(self) -> 'Samples':
        """Return the samples with gravity as declared and no delays: fewer columns to reduce."""
        none = tuple(h[:0] for h in self.heavy)
        return replace(self, matrices=tuple(self._declared), heavy=none,
                       motion=replace(self.motion, late=self.motion.late[:, :, :0]))

    def chosen(self, keep: np.ndarray) -> 'Samples':
        """Return those in ``keep`` (N,) bool alone."""
        return replace(self, motion=self.motion.rows(keep), fold=self.fold[keep],
                       matrices=tuple(M[keep] for M in self.matrices))


def samples_of(data: Dataset, values: np.ndarray | None = None) -> Samples:
    """
    Return the Samples of a Dataset ``data`` of one recording of an arm, thinned out evenly.

    Where the arm moves, those of its motion alone.

    values : (10 n,) of its bodies, those of the description by default
    """
    plain = replace(data.options, friction=LAWS, coulomb_width=WIDTH)
    own = METHOD.parameters(data.robot, plain)[:(10 + FRICTION) * len(data.robot)]
    if values is not None:
        own = (*(replace(p, nominal=float(x)) for p, x in zip(own, values)), *own[len(values):])
    wanted = min(MOST, max(ENOUGH, data.seconds() / SPACING))
    stride = max(1, int(np.ceil(data.samples(training=True) / wanted)))
    chosen, parts = slice(stride // 2, None, stride), []
    state: Any  # of joints
    for _, state in data.states(training=True):
        t = state.t[chosen]
        late = _shifted(t, state.t, state.tau, DELAYS)
        before = _shifted(t, state.t, state.v, -LAGS)
        # Copies: a view of few samples would keep the whole piece alive.
        parts.append((*(x[chosen].copy() for x in (
            state.t, state.q, state.v, state.a, state.tau)), late, before))
    motion = Motion(*(np.concatenate(x) for x in zip(*parts)))
    count = len(motion.t)
    fold = fold_of(np.arange(count), count, data.seconds())
    moving = (np.abs(motion.v) > WIDTH).any(axis=1)
    if moving.mean() > RESTS:  # at rest friction takes any torque: that tells nothing of bodies
        motion, fold = motion.rows(moving), fold[moving]
    return equations(data.robot, motion, own, fold)


def _shifted(t: np.ndarray, stamps: np.ndarray, values: np.ndarray,
             shifts: np.ndarray) -> np.ndarray:
    """Return (M, n, shifts) of values (N, n) at ``stamps`` (N,), at times ``t`` (M,) + shifts."""
    return np.stack([np.stack([np.interp(t + d, stamps, column) for d in shifts], axis=1)
                     for column in values.T], axis=1)


def equations(robot: Any, motion: Motion, parameters: tuple[Parameter, ...],
              fold: np.ndarray) -> Samples:
    """Return the Samples of a ``motion`` in folds ``fold`` (N,), see there for the others."""
    count, state = len(robot), METHOD.state_of(robot, motion.q, motion.v, motion.a)
    bare = _rows(METHOD.regress(state, replace(robot, gravity_base=np.zeros(3)), parameters))
    pulled = [_rows(blocks) for blocks in zip(*METHOD.gravity_rows(
        state, robot, parameters[:10 * count], np.eye(3)))]
    matrices, places, heavies = [], [], []
    for j, (at, W) in enumerate(bare):
        heavy = np.flatnonzero((at < 10 * count) & (at % 10 < 4))
        matrices.append(np.hstack([W, *(g[j][1][:, heavy] for g in pulled)]))
        places.append(at)
        heavies.append(heavy)
    return Samples(robot, motion, tuple(parameters), tuple(matrices), tuple(places),
                   tuple(heavies), fold, robot.gravity_base)


def _rows(blocks):
    """Return per joint the columns (c,) and rows (N, c) of successive ``blocks``."""
    return [(own[0].columns, np.concatenate([g.W for g in own]))
            for own in zip(*(block.groups for block in blocks))]


def correlation_of(series: np.ndarray) -> float:
    """Return the integrated autocorrelation time of a ``series`` (N,) [samples]."""
    lags, pairs = autocovariance(series[:, None])
    rho = lags / pairs
    return correlation_time(rho / rho[0]) if rho[0] > 0 else 1.0
