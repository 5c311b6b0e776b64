"""
A closed mechanism in motion: from independent coordinates to joints and projected rows.

A known parameter leaves the columns, its share of the torque moves to the other side.  A known sum
``a + c b = s`` ties its first parameter to the others: a = s - c b, so the column of b becomes
W_b - c W_a and s W_a moves to the other side.  All other base parameters stay what they are.
"""

from dataclasses import dataclass, field, replace
from itertools import count
from typing import Iterator, Mapping, Sequence

import numpy as np

from .imu import FusedCoordinates
from ..dynamics.continuation import Continuation
from ..dynamics.force_elements import JointForce, LineForce
from ..dynamics.mechanism import Mechanism
from ...dynamics.body_motion import energy_rows
from ...dynamics.inertial_parameters import body_parameters, Parameter, SYMBOLS
from ...dynamics.regressor import tree_rows
from ...measurement.joints.effort_source import EffortSource
from ...measurement.joints.kinematic_state import JointSpaceObservation, JointSpaceState
from ...measurement.summary import Summary

CLOSED_ONCE = 32768  # samples at most of a motion that is kept closed: 50 MB of a hexapod


@dataclass(frozen=True)
class MechanismState:
    """
    Consecutive samples of a closed mechanism of n joints and k independent coordinates.

    t : (N,) [s]; segment : number of the stretch
    q, v, a : (N, n) all joints [rad, m, s]; R : (N, n, k) with v = R zdot
    tau : (N, m) of the actuated joints [N m] ([N]) as recorded
    late : (N, m) the same filtered like the motion, whose rate tells a delay
    alone : no sample follows another, so that friction with a memory is as developed
    """

    t: np.ndarray
    segment: int
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    R: np.ndarray
    tau: np.ndarray
    late: np.ndarray | None = None
    alone: bool = False

    def rows(self, part: slice) -> 'MechanismState':
        """Return the MechanismState of the samples chosen by a slice."""
        late = self.late
        if late is not None:
            late = late[part]
        return replace(
            self,
            t=self.t[part],
            q=self.q[part],
            v=self.v[part],
            a=self.a[part],
            R=self.R[part],
            tau=self.tau[part],
            late=late,
        )

    def force(self, actuated: Sequence[int], tau: np.ndarray | None = None) -> np.ndarray:
        """Return R' tau (N, k) of torques (N, m) of the joints ``actuated``, its own if None."""
        if tau is None:
            tau = self.tau
        return np.einsum('bmk,bm->bk', self.R[:, list(actuated)], tau)


@dataclass(frozen=True)
class Observation:
    """
    The motion of one recording, closed piece by piece; ``joints`` observes z and tau.

    fused : z by markers and IMUs, whose errors are known, where it is
    closed : the MechanismStates of a short recording, which every pass asks for again
    """

    robot: Mechanism
    joints: JointSpaceObservation
    continuation: Continuation
    summary: Summary
    fused: FusedCoordinates | None = None
    closed: dict[bool, list[MechanismState]] = field(default_factory=dict, compare=False)

    @property
    def effort_source(self) -> EffortSource:
        """Return what the efforts of the motors are."""
        return self.joints.effort_source

    def samples(self, training: bool = False) -> int:
        """Return about how many samples ``states`` will yield."""
        return self.joints.samples(training)

    def states(self, training: bool = False) -> Iterator[MechanismState]:
        """Yield MechanismStates in order of time."""
        if self.samples(training) > CLOSED_ONCE:
            yield from self._states(training)
            return
        if training not in self.closed:
            self.closed[training] = list(self._states(training))
        yield from self.closed[training]

    def _states(self, training):
        self.continuation.restart()
        for state in self.joints.states(training):
            yield close(self.robot, state, self.continuation)


def close(
    robot: Mechanism, state: JointSpaceState, continuation: Continuation | None = None
) -> MechanismState:
    """
    Return the MechanismState of a JointSpaceState of the independent coordinates.

    continuation : of the samples before; None: the motion begins near ``start:``
    """
    if continuation is None:
        continuation = Continuation(robot)
    q, R = continuation.follow(state.q, state.t)
    v, a = robot.motion(q, R, state.v, state.a)
    return MechanismState(state.t, state.segment, q, v, a, R, state.tau_raw, state.tau)


def all_parameters(robot: Mechanism) -> list[Parameter]:
    """Return the Parameters of all columns, known ones too: ten per body, then the forces."""
    out = []
    for i, link in enumerate(robot.link_names):
        out += body_parameters(i + 1, link, robot.inertias[i], robot.reach())
    return out + [element.parameter for element in robot.forces]


def _of_bodies(robot):
    """Return the names of the Parameters of the bodies; of each batch that runs: none is made."""
    return [f'{symbol}{i + 1}' for i in range(len(robot.link_names)) for symbol in SYMBOLS]


def equations(
    robot: Mechanism, state: MechanismState, parameters: Sequence[Parameter]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return rows W (k, p, B) of parameters that are not known, torques (B, k), known shares (B, k).

    A Parameter may have another nonlinear constant than the mechanism's own: it is what counts.
    Torques are R' tau as measured; less the known shares they are W times the parameters.
    """
    elements = {e.parameter.name: e for e in robot.forces}
    forces = [replace(elements[p.name], parameter=p) for p in parameters if p.law]
    forces += [elements[name] for name in robot.known if name in elements]
    W = projected_rows(robot, state, forces)
    columns = _column_indices([*(p.name for p in parameters), *robot.known], _of_bodies(robot))
    estimated, given = columns[: len(parameters)], columns[len(parameters) :]
    known = np.einsum('kpb,p->bk', W[:, given], np.array(list(robot.known.values())))
    return W[:, estimated], state.force(robot.actuated), known


def _column_indices(names, bodies):
    """Return the columns of named parameters: of ``bodies`` by name, then forces as they come."""
    by_name = {name: k for k, name in enumerate(bodies)}
    of_forces = count(len(bodies))
    return [by_name[name] if name in by_name else next(of_forces) for name in names]


def projected_rows(
    robot: Mechanism, state: MechanismState, forces: Sequence[JointForce | LineForce] | None = None
) -> np.ndarray:
    """
    Return R' Y (k, p, B) of all parameters, known ones too, for a MechanismState.

    forces : force elements of the columns after those of the bodies; None: the mechanism's own
    """
    bodies = 10 * len(robot.robot)
    if forces is None:
        forces = robot.forces
    W = np.zeros((len(robot), bodies + len(forces), len(state.q)))
    for j, rows in enumerate(tree_rows(robot.robot, state.q, state.v, state.a)):
        columns = np.concatenate([np.arange(10 * b, 10 * b + 10) for b in robot.robot.subtree(j)])
        for i in range(len(robot)):
            row = state.R[:, j, i]
            if np.any(row):
                W[i, columns] += rows * row
    for k, element in enumerate(forces, bodies):
        W[:, k] = element.column(robot.robot, state).T
    return _without_tied(W, _of_bodies(robot), robot.tied)


def projected_torque(robot: Mechanism, state: MechanismState, pi: np.ndarray) -> np.ndarray:
    """Return R' tau (B, k) of bodies with parameters pi (10 n,): ``projected_rows`` times pi."""
    out = np.zeros((len(state.q), len(robot)))
    for j, rows in enumerate(tree_rows(robot.robot, state.q, state.v, state.a)):
        moved = np.concatenate([pi[10 * b : 10 * b + 10] for b in robot.robot.subtree(j)])
        out += state.R[:, j] * (moved @ rows)[:, None]
    return out


def projected_energy_rows(
    robot: Mechanism, state: MechanismState, parameters: Sequence[Parameter]
) -> np.ndarray:
    """Return dH/d(parameters) (B, p) of the bodies at a MechanismState."""
    names = [p.name for p in all_parameters(robot)]
    rows = _without_tied(energy_rows(robot.robot, state.q, state.v).T, names, robot.tied)
    return rows.T[:, [names.index(p.name) for p in parameters]]


def _without_tied(W, names, tied):
    """Return columns W (..., p, B), changed, with those tied to others taken off these."""
    for lead, others in tied.items():
        column = W[..., names.index(lead), :]
        for name, coefficient in others.items():
            W[..., names.index(name), :] -= coefficient * column
    return W


def with_tied(robot: Mechanism, values: Mapping[str, float]) -> dict[str, float]:
    """Return {name: value} of all parameters from ``values`` of those that are estimated."""
    out = {**values, **robot.known}
    for lead, others in robot.tied.items():
        out[lead] -= sum(c * out[name] for name, c in others.items())
    return out
