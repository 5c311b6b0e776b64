"""
closed_loop: mechanisms with loops, identified through their independent coordinates.

Rows ``R' Y(q, v, a) [standard parameters, springs, dampers, friction] = R' tau``, one group per
independent coordinate: the equations of motion projected onto what the closures allow.  Source:
the closed-loop slider-crank paper (coordinate partitioning), Garcia de Jalon and Bayo 1994.
"""

from dataclasses import dataclass, replace
from typing import Mapping

import numpy as np

from ..dynamics.continuation import Continuation, random_walk
from ..dynamics.force_elements import ForceOptions, force_elements
from ..dynamics.inertial_parameters import body_parameters
from ..dynamics.mechanism import MechanismOptions, mechanism_from_options
from ..dynamics.regressor import BLOCK, RegressorBlock, RowGroup, tree_rows
from ..errors import ConfigError
from ..measurement.kinematic_state import SignalOptions, observe_joints
from ..options import option

NAME = 'closed_loop'


@dataclass(frozen=True)
class PriorOptions:
    """What is measured, and what is known before."""

    actuated: tuple = option((), 'joints with a measured torque or force; empty: the independent')
    known: tuple = option(
        (), 'parameters that are known or zero by symmetry: "NAME VALUE" or "NAME" for zero')


@dataclass(frozen=True)
class Options(MechanismOptions, SignalOptions, ForceOptions, PriorOptions):
    """All options of the method; the recorder and nodes declare them as parameters."""


@dataclass(frozen=True)
class MechanismState:
    """
    Consecutive samples of a closed mechanism of n joints and k independent coordinates.

    t : (N,) [s]; segment : number of the stretch
    q, v, a : (N, n) all joints [rad, m, s]; R : (N, n, k) with v = R zdot
    tau, tau_raw : (N, m) of the actuated joints [N m] ([N]), filtered and as recorded
    """

    t: np.ndarray
    segment: int
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    R: np.ndarray
    tau: np.ndarray
    tau_raw: np.ndarray


@dataclass(frozen=True)
class Observation:
    """The motion of one recording, closed piece by piece; ``joints`` observes z and tau."""

    robot: object
    joints: object
    continuation: object
    summary: Mapping

    def samples(self, training=False):
        """Return about how many samples ``states`` will yield."""
        return self.joints.samples(training)

    def states(self, training=False):
        """Yield MechanismStates in order of time."""
        self.continuation.restart()
        for state in self.joints.states(training):
            yield close(self.robot, state, self.continuation)


def build(urdf, options, gravity_base):
    """Return the Mechanism of a URDF text under gravity (3,) in the base frame [m/s^2]."""
    mechanism = mechanism_from_options(urdf, options, gravity_base)
    names = mechanism.joint_names
    for name in options.actuated:
        if name not in names:
            raise ConfigError('option actuated', found=repr(name), exists=names)
    actuated = tuple(names.index(n) for n in options.actuated) or mechanism.independent
    mechanism = replace(mechanism, forces=force_elements(mechanism.robot, options),
                        actuated=actuated)
    return replace(mechanism, known=_known(options.known, _all_parameters(mechanism)))


def parameters(robot, options):
    """Return the Parameters of all columns that are not known: bodies, then force elements."""
    return tuple(p for p in _all_parameters(robot) if p.name not in robot.known)


def observe(recording, robot, options):
    """Return the Observation of the independent coordinates and motor torques of a Recording."""
    joints = observe_joints(recording, robot.coordinates, options,
                            tuple(robot.joint_names[j] for j in robot.actuated))
    summary = dict(joints.summary, independent=list(robot.coordinates),
                   closures=[c.text for c in robot.closures])
    return Observation(robot, joints, Continuation(robot), summary)


def close(robot, state, continuation=None):
    """
    Return the MechanismState of a JointSpaceState of the independent coordinates.

    continuation : of the samples before; None: the motion begins near ``start:``
    """
    q, R = (continuation or Continuation(robot)).follow(state.q, state.t)
    v, a = robot.motion(q, R, state.v, state.a)
    return MechanismState(state.t, state.segment, q, v, a, R, state.tau, state.tau_raw)


def regress(state, robot, parameters):
    """Yield the RegressorBlocks of a MechanismState; columns as ``parameters``."""
    everything = [p.name for p in _all_parameters(robot)]
    chosen = np.array([everything.index(p.name) for p in parameters])
    fixed = [everything.index(name) for name in robot.known]
    values = np.array(list(robot.known.values()))
    for low in range(0, len(state.t), BLOCK):
        part = _rows(state, slice(low, low + BLOCK))
        W = projected_rows(robot, part)
        groups = []
        for i, name in enumerate(robot.coordinates):
            lever = part.R[:, list(robot.actuated), i]
            known = values @ W[i, fixed] if fixed else np.zeros(len(part.t))
            y, raw = ((lever * tau).sum(1) - known for tau in (part.tau, part.tau_raw))
            unit = 'N' if robot.prismatic[robot.independent[i]] else 'N m'
            groups.append(RowGroup(name, unit, np.arange(len(chosen)), W[i, chosen].T, y, raw,
                                   known))
        yield RegressorBlock(part.t, state.segment, tuple(groups))


def projected_rows(robot, state):
    """Return R' Y (k, p, B) of all parameters, known ones too, for a MechanismState."""
    bodies = 10 * len(robot.robot)
    W = np.zeros((len(robot), bodies + len(robot.forces), len(state.q)))
    for j, rows in enumerate(tree_rows(robot.robot, state.q, state.v, state.a)):
        columns = np.concatenate([np.arange(10 * b, 10 * b + 10)
                                  for b in robot.robot.subtree(j)])
        for i in range(len(robot)):
            lever = state.R[:, j, i]
            if np.any(lever):
                W[i, columns] += rows * lever
    for k, element in enumerate(robot.forces, bodies):
        W[:, k] = element.column(robot.robot, state).T
    return W


def random_state(robot, samples, rng):
    """Return a MechanismState of random closed configurations and rates."""
    q = random_walk(robot, samples, rng)
    size = (samples, len(robot))
    R, _ = robot.transformation(q)
    v, a = robot.motion(q, R, rng.uniform(-3.0, 3.0, size), rng.uniform(-10.0, 10.0, size))
    none = np.zeros((samples, len(robot.actuated)))
    return MechanismState(np.arange(samples, dtype=float), 0, q, v, a, R, none, none)


def region(state, robot):
    """Return joint -> {q, v, a: (N,)} of the independent joints: where a model holds."""
    return {robot.joint_names[j]: {name: getattr(state, name)[:, j] for name in ('q', 'v', 'a')}
            for j in robot.independent}


def _all_parameters(robot):
    out = []
    for i, link in enumerate(robot.link_names):
        out += body_parameters(i + 1, link, robot.inertias[i], robot.reach())
    return out + [element.parameter for element in robot.forces]


def _known(lines, parameters):
    names, out = [p.name for p in parameters], {}
    for line in lines:
        words = line.split()
        try:
            out[words[0]] = float(words[1]) if len(words) > 1 else 0.0
        except (ValueError, IndexError):
            raise ConfigError('option known', expected='"NAME VALUE" or "NAME"',
                              found=repr(line)) from None
        if words[0] not in names:
            raise ConfigError('option known', found=words[0], exists=names)
    return out


def _rows(state, part):
    return replace(state, **{name: getattr(state, name)[part]
                             for name in ('t', 'q', 'v', 'a', 'R', 'tau', 'tau_raw')})
