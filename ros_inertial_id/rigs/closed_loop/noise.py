"""
The noise of z that the filter lets through, as errors of the equations of motion.

White noise of the size that the data show is drawn, filtered and differentiated like z, and turned
into torque by the slopes of the misfit ``rows pi - R' tau`` with z, zdot and zddot.  Where the
clock of the torque was aligned its error is drawn, too: it turns inertia into gravity and back.
"""

from dataclasses import replace
from typing import Iterator, Sequence

import numpy as np

from .state import all_parameters, MechanismState, Observation, projected_torque, with_tied
from ..dynamics.continuation import newton
from ..dynamics.force_elements import SMOOTH_LAWS
from ..dynamics.mechanism import Mechanism
from ...dynamics.inertial_parameters import Parameter
from ...measurement import signals
from ...measurement.sampling import convolve_inside

DRAWS = 64  # the variance of an error is known to a fifth
LOOKED = 16384  # samples looked at; more only repeat it
MOVED_SAMPLES = 10000  # samples that are moved by noise, for its share of the excitation ...
MOVED_PER_AXIS = 500  # ... along every axis at least
DIFFERENCE_STEPS = 1e-6, 1e-4, 1e-2  # of z [rad, m], zdot, zddot for differences


def noise_errors(
    observation: Observation, robot: Mechanism, parameters: Sequence[Parameter], values: np.ndarray
) -> Iterator[tuple[MechanismState, np.ndarray, float]]:
    """
    Yield (MechanismState, errors (k, N, DRAWS) [N m, N], times it counts) of an Observation.

    values : (p,) of ``parameters``.  Nothing is yielded where no error is known.
    """
    joints, rng = observation.joints, np.random.default_rng(0)
    if not _has_noise(joints):
        return
    times = max(1.0, observation.samples(training=True) / LOOKED)
    standard_deviation = _deviation(joints)
    done = 0
    for state in observation.states(training=True):
        if done >= LOOKED:
            return
        done += len(state.t)
        noise = _drawn(joints, len(state.t), standard_deviation, rng)
        slopes = _slopes(robot, state, parameters, values)
        yield state, np.einsum('ojnk,onjr->knr', slopes, noise), times


def _has_noise(joints):
    """Return whether the motion is filtered and differentiated, and has white noise before."""
    return not joints.measured_velocity and len(joints.kernel) >= 3


def noisy_states(
    observation: Observation, robot: Mechanism
) -> Iterator[tuple[MechanismState, MechanismState, float]]:
    """
    Yield (state, the same moved by noise of the motion, times it counts).

    Moved one after the other along the principal axes of that noise at one sample, so that the
    squares of all changes of a row add up to what its noise makes.  Nothing is yielded where
    velocities are measured.
    """
    joints, index = observation.joints, list(robot.independent)
    if not _has_noise(joints):
        return
    each = np.diag(_deviation(joints))
    moves = np.concatenate([np.multiply.outer(axis, each) for axis in _axes(joints).T], axis=1)
    wanted = max(MOVED_PER_AXIS, MOVED_SAMPLES // moves.shape[1])
    thin = slice(None, None, max(1, observation.samples(training=True) // wanted))
    for every in observation.states(training=True):
        state = every.rows(thin)
        for z, rate, second in np.moveaxis(moves, 1, 0):
            goal = state.q[:, index] + z
            q, _ = newton(robot, state.q, state.R, goal, goal)
            R, _ = robot.transformation(q)
            v, a = robot.motion(q, R, state.v[:, index] + rate, state.a[:, index] + second)
            yield state, replace(state, q=q, v=v, a=a, R=R), thin.step


def _axes(joints):
    """Return A (3, 3) with A A' the covariance of unit noise in z, zdot, zddot at one sample."""
    period, half = joints.clock.period, len(joints.kernel) // 2 + 2 * signals.STENCIL
    impulse = np.zeros((2 * half + 1, 1))
    impulse[half] = 1.0
    z = signals.smooth(np.pad(impulse, ((half, half), (0, 0))), joints.kernel)
    rate = signals.differentiate(z, period)
    response = np.hstack([z, rate, signals.differentiate(rate, period)])
    size = np.linalg.norm(response, axis=0)
    values, axes = np.linalg.eigh(response.T @ response / np.outer(size, size))
    return size[:, None] * axes * np.sqrt(np.maximum(values, 0.0))


def _deviation(joints):
    """Return the standard deviations (k,) of white noise in z: what is beyond the cutoff."""
    return signals.white_noise(_positions(joints), joints.kernel)


def _positions(joints):
    """Yield z (N, k) as recorded on each stretch, LOOKED samples of it at most."""
    for start, size in joints.clock.segments:
        t = start + np.arange(min(size, LOOKED)) * joints.clock.period
        columns = [np.interp(t, *joints.position[name]) for name in joints.joints]
        yield np.stack(columns, axis=1)


def _drawn(joints, count, standard_deviation, rng, draws=DRAWS):
    """Return noise (3, N, k, draws) of z, zdot, zddot at ``count`` training samples."""
    period, step = joints.clock.period, joints.decimate
    size = (count * step + len(joints.kernel) - 1, len(standard_deviation) * draws)
    z = convolve_inside(rng.standard_normal(size), joints.kernel)
    rate = signals.differentiate(z, period)
    x = np.stack([z, rate, signals.differentiate(rate, period)])[:, ::step]
    return x.reshape(3, count, len(standard_deviation), draws) * standard_deviation[:, None]


def _slopes(robot, state, parameters, values):
    """Return slopes (3, k, N, k) of the misfit by z, zdot, zddot of every coordinate."""
    known = with_tied(robot, dict(zip([p.name for p in parameters], values)))
    # Friction turns on and off: it has no slope.
    smooth = [(e, known[e.parameter.name]) for e in robot.forces if e.parameter.law in SMOOTH_LAWS]
    pi = np.array([known[p.name] for p in all_parameters(robot) if not p.law])
    index = list(robot.independent)
    z, rate, second = state.q[:, index], state.v[:, index], state.a[:, index]

    def misfit(q, R, rate, second):
        v, a = robot.motion(q, R, rate, second)
        moved = replace(state, q=q, v=v, a=a, R=R)
        forces = sum(x * e.column(robot.robot, moved) for e, x in smooth)
        return projected_torque(robot, moved, pi) + forces - moved.force(robot.actuated)

    base = misfit(state.q, state.R, rate, second)
    out = np.empty((3, len(index)) + base.shape)
    for j, unit in enumerate(np.eye(len(index))):
        goal = z + DIFFERENCE_STEPS[0] * unit
        q, _ = newton(robot, state.q, state.R, goal, goal)
        moved = (
            misfit(q, robot.transformation(q)[0], rate, second),
            misfit(state.q, state.R, rate + DIFFERENCE_STEPS[1] * unit, second),
            misfit(state.q, state.R, rate, second + DIFFERENCE_STEPS[2] * unit),
        )
        out[:, j] = [(x - base) / step for x, step in zip(moved, DIFFERENCE_STEPS)]
    return out
