"""
The noise of z that the filter lets through, and the error of the torque's clock.

White noise of the size that the data show beyond the filter moves z, zdot and zddot together, as
their responses to one impulse say.  A clock of the torque that was aligned is off in all samples
alike: it turns inertia into gravity and back.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .state import MechanismState, Observation
from ..dynamics.mechanism import Mechanism
from ...estimation.least_squares import pseudo_inverse
from ...measurement import signals

LOOKED = 16384   # samples that show the noise; more only repeat it
MOVED = 3000     # samples that are moved by noise, for its share of the excitation ...
LEAST = 200      # ... along every axis at least


def noisy_states(observation: Observation, robot: Mechanism
                 ) -> Iterator[tuple[MechanismState, MechanismState, float]]:
    """
    Yield (state, the same moved by noise of the motion, times it counts).

    Moved one after the other along the principal axes of that noise at one sample, so that the
    squares of all changes of a row add up to what its noise makes.  Nothing is yielded where
    velocities are measured.
    """
    joints, index = observation.joints, list(robot.independent)
    if joints.measured_velocity or len(joints.kernel) < 3:
        return
    each = np.diag(_deviation(joints))
    moves = np.concatenate([np.multiply.outer(axis, each) for axis in _axes(joints).T], axis=1)
    wanted = max(LEAST, MOVED // moves.shape[1])
    thin = slice(None, None, max(1, observation.samples(training=True) // wanted))
    for whole in observation.states(training=True):
        state = whole.rows(thin)
        for z, rate, second in np.moveaxis(moves, 1, 0):
            q = state.q + state.R @ z  # far less than what its square opens
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
    pieces = (start + np.arange(min(size, LOOKED)) * joints.clock.period
              for start, size in joints.clock.segments)
    return signals.white_noise((np.stack([np.interp(t, *joints.position[name])
                                          for name in joints.joints], axis=1) for t in pieces),
                               joints.kernel)


def torque_clock_errors(data: Any, problem: Any, estimate: Any) -> np.ndarray | None:
    """
    Return (b, recordings) by how much aligned clocks of torques may have moved base parameters.

    data : Dataset of closed loops; estimate : Estimate of the Problem ``problem``
    None where none was aligned.
    """
    late = [o.summary.get('torque_clock_offset_error', 0.0) for o in data.observations]
    if not any(late):
        return None
    place, columns = problem.base.places(), []
    for robot, observation, error in zip(data.robots, data.observations, late):
        pull = np.zeros(len(problem.base))
        for state in observation.states(training=True) if error else ():
            rates, low = error * _force_rate(robot, observation.joints, state), 0
            for block in data.method.regress(state, robot, problem.base.parameters):
                part = slice(low, low + len(block.t))
                for group, rate in zip(block.groups, rates[part].T):
                    seen = place[group.columns] >= 0
                    pull[place[group.columns][seen]] += (
                        group.W.T[seen] @ rate / estimate.standard_deviation[group.name] ** 2)
                low = part.stop
        columns.append(pull)
    inverse = pseudo_inverse(problem.factors.system(estimate.standard_deviation)[0],
                             problem.base.prior_sd)
    return inverse @ inverse.T @ np.array(columns).T


def _force_rate(robot, joints, state):
    """Return R' dtau/dt (N, k) of a MechanismState."""
    step = joints.clock.period
    before, after = (joints.on_clock(joints.effort, state.t + x) for x in (-step, step))
    return state.force(robot.actuated, (after - before) @ joints.effort_map.T / (2.0 * step))
