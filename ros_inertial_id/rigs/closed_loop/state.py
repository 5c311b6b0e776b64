"""A closed mechanism in motion: from independent coordinates to joints and projected rows."""

from dataclasses import dataclass, replace
from typing import Any, Iterator, Mapping, Sequence

import numpy as np

from .known import without_tied
from ..dynamics.continuation import Continuation
from ..dynamics.mechanism import Mechanism
from ...dynamics.inertial_parameters import body_parameters, Parameter
from ...dynamics.tree_rows import tree_rows
from ...errors import ConfigError
from ...measurement.joints.kinematic_state import JointSpaceObservation, JointSpaceState


@dataclass(frozen=True)
class MechanismState:
    """
    Consecutive samples of a closed mechanism of n joints and k independent coordinates.

    t : (N,) [s]; segment : number of the stretch
    q, v, a : (N, n) all joints [rad, m, s]; R : (N, n, k) with v = R zdot
    tau : (N, m) of the actuated joints [N m] ([N]) as recorded
    alone : no sample follows another, so that friction with a memory is as developed
    """

    t: np.ndarray
    segment: int
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    R: np.ndarray
    tau: np.ndarray
    alone: bool = False

    def rows(self, part: slice) -> 'MechanismState':
        """Return the MechanismState of the samples chosen by a slice."""
        return replace(self, **{name: getattr(self, name)[part]
                                for name in ('t', 'q', 'v', 'a', 'R', 'tau')})

    def force(self, actuated: Sequence[int], tau: np.ndarray | None = None) -> np.ndarray:
        """Return R' tau (N, k) of torques (N, m) of the joints ``actuated``, its own if None."""
        return np.einsum('bmk,bm->bk', self.R[:, list(actuated)],
                         self.tau if tau is None else tau)


@dataclass(frozen=True)
class Observation:
    """
    The motion of one recording, closed piece by piece; ``joints`` observes z and tau.

    common : times (L,) [s] and errors of z (L, k, d) by d independent ones of unit size that all
        samples share (poses and clocks of cameras); None: no such errors
    """

    robot: Mechanism
    joints: JointSpaceObservation
    continuation: Continuation
    summary: Mapping
    common: tuple[np.ndarray, np.ndarray] | None = None

    def samples(self, training: bool = False) -> int:
        """Return about how many samples ``states`` will yield."""
        return self.joints.samples(training)

    def states(self, training: bool = False) -> Iterator[MechanismState]:
        """Yield MechanismStates in order of time."""
        self.continuation.restart()
        for state in self.joints.states(training):
            yield close(self.robot, state, self.continuation)

    def low_passed(self, cutoff: float) -> 'Observation':
        """Raise ConfigError: dependent coordinates follow from what the filter left."""
        raise ConfigError('estimator instrumental', expected='a motion of joints or markers',
                          found='one without a low-pass to lower', do='use another estimator')


def close(robot: Mechanism, state: JointSpaceState,
          continuation: Continuation | None = None) -> MechanismState:
    """
    Return the MechanismState of a JointSpaceState of the independent coordinates.

    continuation : of the samples before; None: the motion begins near ``start:``
    robot : Mechanism; state : positions, rates, accelerations (N, k), torques as recorded (N, m)
    """
    q, R = (continuation or Continuation(robot)).follow(state.q, state.t)
    v, a = robot.motion(q, R, state.v, state.a)
    return MechanismState(state.t, state.segment, q, v, a, R, state.tau_raw)


def all_parameters(robot: Mechanism) -> list[Parameter]:
    """
    Return the Parameters of all columns of a Mechanism ``robot``: ten per body, then the forces.

    Those that are known are among them.
    """
    out = []
    for i, link in enumerate(robot.link_names):
        out += body_parameters(i + 1, link, robot.inertias[i], robot.reach())
    return out + [element.parameter for element in robot.forces]


def split(robot: Mechanism) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (free, known) column indices of a Mechanism ``robot``, and the known values."""
    names = [p.name for p in all_parameters(robot)]
    known = [names.index(name) for name in robot.known]
    free = [k for k in range(len(names)) if k not in known]
    return np.array(free), np.array(known, dtype=int), np.array(list(robot.known.values()))


def projected_rows(robot: Mechanism, state: MechanismState,
                   forces: Sequence[Any] | None = None) -> np.ndarray:
    """
    Return R' Y (k, p, B) of all parameters, known ones too, for a MechanismState.

    forces : force elements of the columns after those of the bodies; None: the mechanism's own
    robot : Mechanism; state : of it
    """
    bodies, forces = 10 * len(robot.robot), robot.forces if forces is None else forces
    W = np.zeros((len(robot), bodies + len(forces), len(state.q)))
    for j, rows in enumerate(tree_rows(robot.robot, state.q, state.v, state.a)):
        columns = np.concatenate([np.arange(10 * b, 10 * b + 10)
                                  for b in robot.robot.subtree(j)])
        for i in range(len(robot)):
            row = state.R[:, j, i]
            if np.any(row):
                W[i, columns] += rows * row
    for k, element in enumerate(forces, bodies):
        W[:, k] = element.column(robot.robot, state).T
    return without_tied(W, [p.name for p in all_parameters(robot)[:bodies]], robot.tied)


def projected_torque(robot: Mechanism, state: MechanismState, pi: np.ndarray) -> np.ndarray:
    """
    Return R' tau (B, k) of bodies with parameters pi (10 n,): ``projected_rows`` times pi.

    robot : Mechanism; state : of it
    """
    out = np.zeros((len(state.q), len(robot)))
    for j, rows in enumerate(tree_rows(robot.robot, state.q, state.v, state.a)):
        own = np.concatenate([pi[10 * b:10 * b + 10] for b in robot.robot.subtree(j)])
        out += state.R[:, j] * (own @ rows)[:, None]
    return out


def inertia_rows(robot: Mechanism, state: MechanismState) -> np.ndarray:
    """
    Return the rows (k, p, B) of the diagonal of the projected inertia matrix R' M R.

    robot : Mechanism; state : of it, whose configurations count
    """
    still = replace(state, v=np.zeros_like(state.v), a=np.zeros_like(state.a))
    at_rest = projected_rows(robot, still)
    return np.stack([projected_rows(robot, replace(still, a=state.R[:, :, i]))[i] - at_rest[i]
                     for i in range(len(robot))])
