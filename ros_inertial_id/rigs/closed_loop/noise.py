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
            here, noise = np.split(noise, [len(block.t)])
            changes = [here @ slopes for slopes in _slopes(block, others)]
            for draw in range(DRAWS):
                changed = _changed(block, [change[:, draw] for change in changes])
                yield NoisyRows(block, changed, draw, times)


def _positions(joints):
    """Yield z (N, k) as recorded on each stretch, LOOKED samples of it at most."""
    for start, size in joints.clock.segments:
        t = start + np.arange(min(size, LOOKED)) * joints.clock.period
        columns = [np.interp(t, *joints.position[name]) for name in joints.joints]
        yield np.stack(columns, axis=1)


def _drawn(joints, count, deviation, rng):
    """Return noise (N, DRAWS, 3 k) of z, zdot, zddot in steps, at ``count`` training samples."""
    period, every = joints.clock.period, joints.decimate
    size = (count * every + len(joints.kernel) - 1, len(deviation) * DRAWS)
    z = convolve_inside(rng.standard_normal(size), joints.kernel)
    rate = signals.differentiate(z, period)
    x = np.stack([z, rate, signals.differentiate(rate, period)])[:, ::every]
    in_steps = (x.T / DIFFERENCE_STEPS).T.reshape(3, count, len(deviation), DRAWS)
    noise = in_steps * deviation[:, None]
    return noise.transpose(1, 3, 0, 2).reshape(count, DRAWS, -1)


def _moved(robot, state):
    """Yield the MechanismState a step further along z, zdot, zddot of every coordinate."""
    index, (small, of_rate, of_second) = list(robot.independent), DIFFERENCE_STEPS
    z, rate, second = state.q[:, index], state.v[:, index], state.a[:, index]
    units = np.eye(len(index))
    for unit in units:
        goal = z + small * unit
        q, _ = newton(robot, state.q, state.R, goal, goal)
        R, _ = robot.transformation(q)
        v, a = robot.motion(q, R, rate, second)
        yield replace(state, q=q, v=v, a=a, R=R)
    for unit in units:
        v, a = robot.motion(state.q, state.R, rate + of_rate * unit, second)
        yield replace(state, v=v, a=a)
    for unit in units:
        yield replace(state, a=state.a + of_second * state.R @ unit)


def _slopes(block, others):
    """Yield changes (N, len(others), p + 1) of W and y of each group, in each of ``others``."""
    for group, *moved in zip(block.groups, *(other.groups for other in others)):
        changes = [np.column_stack([m.W - group.W, m.y - group.y]) for m in moved]
        yield np.stack(changes, axis=1)


def _changed(block, changes):
    """Return a ``block`` with ``changes`` (N, p + 1) of W and y of its groups added."""
    groups = []
    for group, change in zip(block.groups, changes):
        W, y = group.W + change[:, :-1], group.y + change[:, -1]
        groups.append(replace(group, W=W, y=y))
    return RegressorBlock(block.t, block.segment, tuple(groups))
