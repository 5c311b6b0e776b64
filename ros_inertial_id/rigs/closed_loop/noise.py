"""
The noise of z that the filter lets through, in the rows of a mechanism.

White noise of the size that the data show is drawn, filtered and differentiated like z, and
changes the rows by their slopes with z, zdot and zddot.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from .state import MechanismState, Observation
from ..dynamics.continuation import newton
from ..dynamics.mechanism import Mechanism
from ..estimation.motion_noise import DRAWS, NoisyRows, windows
from ...dynamics.regressor import RegressorBlock
from ...measurement import signals
from ...measurement.sampling import convolve_inside

LOOKED = 16384  # samples of a stretch that tell its noise
DIFFERENCE_STEPS = 1e-6, 1e-4, 1e-2  # of z [rad, m], zdot, zddot for slopes


def noisy_rows(
    observation: Observation,
    robot: Mechanism,
    regress: Callable[[MechanismState], Iterable[RegressorBlock]],
    rng: np.random.Generator,
) -> Iterator[NoisyRows]:
    """
    Yield NoisyRows of an Observation; none where its velocities are measured.

    regress : gives the rows of a state; rng : that the noise is drawn from
    """
    joints = observation.joints
    if joints.measured_velocity or len(joints.kernel) < 3:
        return
    deviation = signals.white_noise(_positions(joints), joints.kernel)
    for state, times in windows(observation):
        noise = _drawn(joints, len(state.t), deviation, rng)
        moved = [regress(x) for x in _moved(robot, state)]
        for block, *others in zip(regress(state), *moved):
            count = len(block.t)
            slopes = [_slope(block, other) for other in others]
            for draw in range(DRAWS):
                change = noise[:, :count, :, draw].transpose(0, 2, 1).reshape(-1, count)
                yield NoisyRows(block, _changed(block, slopes, change), draw, times)
            noise = noise[:, count:]


def _positions(joints):
    """Yield z (N, k) as recorded on each stretch, LOOKED samples of it at most."""
    for start, size in joints.clock.segments:
        t = start + np.arange(min(size, LOOKED)) * joints.clock.period
        columns = [np.interp(t, *joints.position[name]) for name in joints.joints]
        yield np.stack(columns, axis=1)


def _drawn(joints, count, deviation, rng):
    """Return noise (3, N, k, DRAWS) of z, zdot, zddot in steps, at ``count`` training samples."""
    period, every = joints.clock.period, joints.decimate
    size = (count * every + len(joints.kernel) - 1, len(deviation) * DRAWS)
    z = convolve_inside(rng.standard_normal(size), joints.kernel)
    rate = signals.differentiate(z, period)
    x = np.stack([z, rate, signals.differentiate(rate, period)])[:, ::every]
    in_steps = x.T / DIFFERENCE_STEPS
    return in_steps.T.reshape(3, count, len(deviation), DRAWS) * deviation[:, None]


def _moved(robot, state):
    """Yield the MechanismState a step further along z, zdot, zddot of every coordinate."""
    index = list(robot.independent)
    z, rate, second = state.q[:, index], state.v[:, index], state.a[:, index]
    for order, step in enumerate(DIFFERENCE_STEPS):
        for unit in np.eye(len(index)):
            steps = np.zeros((3, len(index)))
            steps[order] = step * unit
            goal = z + steps[0]
            q, _ = newton(robot, state.q, state.R, goal, goal)
            R, _ = robot.transformation(q)
            v, a = robot.motion(q, R, rate + steps[1], second + steps[2])
            yield replace(state, q=q, v=v, a=a, R=R)


def _slope(block, moved):
    """Return [(change of W, change of y)] of the groups of a block by a step."""
    return [(m.W - g.W, m.y - g.y) for g, m in zip(block.groups, moved.groups)]


def _changed(block, slopes, change):
    """Return a ``block`` with ``change`` (3 k, N) times ``slopes`` of its groups added."""
    groups = []
    for number, group in enumerate(block.groups):
        W, y = group.W.copy(), group.y.copy()
        for of_groups, share in zip(slopes, change):
            dW, dy = of_groups[number]
            W += share[:, None] * dW
            y += share * dy
        groups.append(replace(group, W=W, y=y))
    return RegressorBlock(block.t, block.segment, tuple(groups))
