"""
A closed mechanism in motion: from independent coordinates to all joints, and its projected rows.
"""

from dataclasses import dataclass, replace
from typing import Mapping

import numpy as np

from ...dynamics.continuation import Continuation
from ...dynamics.inertial_parameters import body_parameters
from ...dynamics.regressor import tree_rows
from ...errors import ConfigError


@dataclass(frozen=True)
class MechanismState:
    """
    Consecutive samples of a closed mechanism of n joints and k independent coordinates.

    t : (N,) [s]; segment : number of the stretch
    q, v, a : (N, n) all joints [rad, m, s]; R : (N, n, k) with v = R zdot
    tau : (N, m) of the actuated joints [N m] ([N]) as recorded
    """

    t: np.ndarray
    segment: int
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    R: np.ndarray
    tau: np.ndarray

    def rows(self, part):
        """Return the MechanismState of the samples chosen by a slice."""
        return replace(self, **{name: getattr(self, name)[part]
                                for name in ('t', 'q', 'v', 'a', 'R', 'tau')})

    def force(self, actuated, tau=None):
        """Return R' tau (N, k) of torques (N, m) of the joints ``actuated``, its own if None."""
        return np.einsum('bmk,bm->bk', self.R[:, list(actuated)],
                         self.tau if tau is None else tau)


@dataclass(frozen=True)
class Observation:
    """The motion of one recording, closed piece by piece; ``joints`` observes z and tau."""

    robot: object
    joints: object
    continuation: Continuation
    summary: Mapping

    def samples(self, training=False):
        """Return about how many samples ``states`` will yield."""
        return self.joints.samples(training)

    def states(self, training=False):
        """Yield MechanismStates in order of time."""
        self.continuation.restart()
        for state in self.joints.states(training):
            yield close(self.robot, state, self.continuation)

    def low_passed(self, cutoff: float) -> 'Observation':
        """Raise ConfigError: dependent coordinates follow from what the filter left."""
        raise ConfigError('estimator instrumental', expected='a motion of joints or markers',
                          found='one without a low-pass to lower', do='use another estimator')


def close(robot, state, continuation=None):
    """
    Return the MechanismState of a JointSpaceState of the independent coordinates.

    continuation : of the samples before; None: the motion begins near ``start:``
    """
    q, R = (continuation or Continuation(robot)).follow(state.q, state.t)
    v, a = robot.motion(q, R, state.v, state.a)
    return MechanismState(state.t, state.segment, q, v, a, R, state.tau_raw)


def all_parameters(robot):
    """Return the Parameters of all columns, known ones too: ten per body, then the forces."""
    out = []
    for i, link in enumerate(robot.link_names):
        out += body_parameters(i + 1, link, robot.inertias[i], robot.reach())
    return out + [element.parameter for element in robot.forces]


def split(robot):
    """Return (free, known) column indices and the values of the known ones."""
    names = [p.name for p in all_parameters(robot)]
    known = [names.index(name) for name in robot.known]
    free = [k for k in range(len(names)) if k not in known]
    return np.array(free), np.array(known, dtype=int), np.array(list(robot.known.values()))


def projected_rows(robot, state, forces=None):
    """
    Return R' Y (k, p, B) of all parameters, known ones too, for a MechanismState.

    forces : force elements of the columns after those of the bodies; None: the mechanism's own
    """
    bodies, forces = 10 * len(robot.robot), robot.forces if forces is None else forces
    W = np.zeros((len(robot), bodies + len(forces), len(state.q)))
    for j, rows in enumerate(tree_rows(robot.robot, state.q, state.v, state.a)):
        columns = np.concatenate([np.arange(10 * b, 10 * b + 10)
                                  for b in robot.robot.subtree(j)])
        for i in range(len(robot)):
            lever = state.R[:, j, i]
            if np.any(lever):
                W[i, columns] += rows * lever
    for k, element in enumerate(forces, bodies):
        W[:, k] = element.column(robot.robot, state).T
    return W


def inertia_rows(robot, state):
    """Return the rows (k, p, B) of the diagonal of the projected inertia matrix R' M R."""
    still = replace(state, v=np.zeros_like(state.v), a=np.zeros_like(state.a))
    rest = projected_rows(robot, still)
    return np.stack([projected_rows(robot, replace(still, a=state.R[:, :, i]))[i] - rest[i]
                     for i in range(len(robot))])
