"""
A closed mechanism in motion: from independent coordinates to joints and projected rows.

A known parameter leaves the columns, its share of the torque moves to the other side.  A known sum
``a + c b = s`` ties its first parameter to the others: a = s - c b, so the column of b becomes
W_b - c W_a and s W_a moves to the other side.  All other base parameters stay what they are.
"""

from dataclasses import dataclass, field, replace
import re
from typing import Iterator, Mapping, Sequence

import numpy as np

from ..dynamics.continuation import Continuation
from ..dynamics.force_elements import JointForce, LineForce
from ..dynamics.mechanism import Mechanism
from ...dynamics.body_motion import energy_rows
from ...dynamics.inertial_parameters import body_parameters, Parameter, SYMBOLS
from ...dynamics.regressor import tree_rows
from ...errors import ConfigError
from ...measurement.joints.kinematic_state import JointSpaceObservation, JointSpaceState
from ...measurement.summary import Summary

TERM = re.compile(r'\s*([+-]?)\s*(\d[\d.]*(?:e[+-]?\d+)?)?\s*\*?\s*([A-Za-z]\w*)')
Sum = dict[str, float]  # parameter name -> coefficient
SHORT = 32768  # samples of a motion that is closed once: 50 MB of a hexapod


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
        return replace(
            self, **{name: getattr(self, name)[part] for name in ('t', 'q', 'v', 'a', 'R', 'tau')}
        )

    def force(self, actuated: Sequence[int], tau: np.ndarray | None = None) -> np.ndarray:
        """Return R' tau (N, k) of torques (N, m) of the joints ``actuated``, its own if None."""
        return np.einsum('bmk,bm->bk', self.R[:, list(actuated)], self.tau if tau is None else tau)


@dataclass(frozen=True)
class Observation:
    """
    The motion of one recording, closed piece by piece; ``joints`` observes z and tau.

    closed : the MechanismStates of a short recording, which every pass asks for again
    """

    robot: Mechanism
    joints: JointSpaceObservation
    continuation: Continuation
    summary: Summary
    closed: dict[bool, list[MechanismState]] = field(default_factory=dict, compare=False)

    def samples(self, training: bool = False) -> int:
        """Return about how many samples ``states`` will yield."""
        return self.joints.samples(training)

    def states(self, training: bool = False) -> Iterator[MechanismState]:
        """Yield MechanismStates in order of time."""
        if self.samples(training) > SHORT:
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
    q, R = (continuation or Continuation(robot)).follow(state.q, state.t)
    v, a = robot.motion(q, R, state.v, state.a)
    return MechanismState(state.t, state.segment, q, v, a, R, state.tau_raw)


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
    bodies = _of_bodies(robot)
    number = iter(range(len(bodies), W.shape[1]))
    chosen = [next(number) if p.law else bodies.index(p.name) for p in parameters]
    fixed = [next(number) if name in elements else bodies.index(name) for name in robot.known]
    known = np.einsum('kpb,p->bk', W[:, fixed], np.array(list(robot.known.values())))
    return W[:, chosen], state.force(robot.actuated), known


def projected_rows(
    robot: Mechanism, state: MechanismState, forces: Sequence[JointForce | LineForce] | None = None
) -> np.ndarray:
    """
    Return R' Y (k, p, B) of all parameters, known ones too, for a MechanismState.

    forces : force elements of the columns after those of the bodies; None: the mechanism's own
    """
    bodies, forces = 10 * len(robot.robot), robot.forces if forces is None else forces
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
        own = np.concatenate([pi[10 * b : 10 * b + 10] for b in robot.robot.subtree(j)])
        out += state.R[:, j] * (own @ rows)[:, None]
    return out


def projected_energy_rows(
    robot: Mechanism, state: MechanismState, parameters: Sequence[Parameter]
) -> np.ndarray:
    """Return dH/d(parameters) (B, p) of the bodies at a MechanismState."""
    names = [p.name for p in all_parameters(robot)]
    rows = _without_tied(energy_rows(robot.robot, state.q, state.v).T, names, robot.tied)
    return rows.T[:, [names.index(p.name) for p in parameters]]


def read_known(
    lines: Sequence[str], parameters: Sequence[Parameter]
) -> tuple[dict[str, float], dict[str, Sum]]:
    """
    Return ({name: known value}, {name: the sum of others that is taken off it}).

    lines : NAME, NAME VALUE or SUM = VALUE, about the ``parameters`` of all columns
    ConfigError where a line cannot be read, names nothing, or ties what is tied or known already.
    """
    names = {p.name: p for p in parameters}
    values: dict[str, float] = {}
    tied: dict[str, Sum] = {}
    for line in lines:
        total, value = _read(line)
        lead, *others = total
        for name in total:
            if name not in names:
                raise ConfigError('option known', found=name, exists=list(names))
            if others and names[name].law:
                raise ConfigError(
                    'option known', found=f'{name} in a sum', expected='parameters of bodies'
                )
        clash = [lead for name in total if name in tied] + [
            lead for terms in tied.values() if lead in terms
        ]
        if lead in values or clash:
            raise ConfigError(
                'option known',
                found=f'{lead} in two lines',
                expected='the first parameter of a line in no other',
            )
        values[lead] = value / total[lead]
        if others:
            tied[lead] = {name: total[name] / total[lead] for name in others}
    return values, tied


def links_as_described(
    lines: Sequence[str], links: Sequence[str], inertias: np.ndarray
) -> tuple[str, ...]:
    """Return ``lines``, those of a link replaced by its ten of the URDF's inertias (n, 10)."""
    out: list[str] = []
    for line in lines:
        body = links.index(line.strip()) if line.strip() in links else None
        out += (
            [line]
            if body is None
            else [
                f'{symbol}{body + 1} {float(value)!r}'
                for symbol, value in zip(SYMBOLS, inertias[body])
            ]
        )
    return tuple(out)


def _read(line):
    """Return ({name: coefficient}, value) of a line."""
    left, equals, right = str(line).partition('=')
    words = left.split()
    if not equals:
        left, right = (words or [''])[0], ' '.join(words[1:]) or '0'
    total, place = {}, 0
    for match in TERM.finditer(left):
        if match.start() != place or (place and not match[1]) or match[3] in total:
            break
        total[match[3]] = float(match[2] or 1.0) * (-1.0 if match[1] == '-' else 1.0)
        place = match.end()
    try:
        if not total or left[place:].strip() or 0.0 in total.values():
            raise ValueError
        return total, float(right)
    except ValueError:
        raise ConfigError(
            'option known',
            expected='NAME, NAME VALUE or SUM = VALUE, for example "mcx2 + 0.25 m3 = 0.09"',
            found=repr(line),
        ) from None


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
