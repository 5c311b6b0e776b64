"""
Errors of z in the rows of a mechanism: noise that the filter lets through, and how IMUs sit.

Markers and encoders alone: white noise of the size that the data show is drawn, filtered and
differentiated like z.  With IMUs the errors are those of the smoother, filtered alike.  Either
changes the rows by their slopes with z, zdot and zddot.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from .state import MechanismState, Observation
from ..dynamics.continuation import newton
from ..dynamics.mechanism import Mechanism
from ..estimation.inherited_errors import ErringRows
from ..estimation.motion_noise import DRAWS, NoisyRows, windows
from ...dynamics.regressor import RegressorBlock
from ...measurement import signals
from ...measurement.sampling import convolve_inside

LOOKED = 16384  # samples of a stretch that tell its noise
DIFFERENCE_STEPS = 1e-6, 1e-4, 1e-2  # of z [rad, m], zdot, zddot for slopes


class RowsUnderErrors:
    """
    Rows of a mechanism as its motion errs.

    regress : gives the rows of a MechanismState
    steps : columns of friction that switches, whose size no error of the motion changes
    """

    def __init__(
        self,
        observation: Observation,
        robot: Mechanism,
        regress: Callable[[MechanismState], Iterable[RegressorBlock]],
        steps: Sequence[int],
    ) -> None:
        self._observation, self._robot = observation, robot
        self._regress, self._steps = regress, list(steps)

    def noisy(self, rng: np.random.Generator) -> Iterator[NoisyRows]:
        """Yield NoisyRows by ``rng``; none where encoders measure the velocities."""
        joints, fused = self._observation.joints, self._observation.fused
        if fused is not None:
            errors = _filtered(joints, fused, fused.drawn(DRAWS, rng))
        elif joints.measured_velocity or len(joints.kernel) < 3:
            return
        else:
            errors = _white_noise(joints, rng)
        for block, moved, times in self._moved(errors):
            for draw, again in enumerate(moved):
                yield NoisyRows(block, again, draw, times)

    def erring(self) -> ErringRows:
        """Return the ErringRows of the samples that are looked at: by how IMUs sit."""
        fused = self._observation.fused
        if fused is None:
            return ErringRows(0, 0, iter(()))
        under_errors = fused.erring()
        errors = _filtered(self._observation.joints, fused, under_errors)
        blocks = ((None, [block, *moved]) for block, moved, _ in self._moved(errors))
        return ErringRows(0, len(under_errors), blocks)

    def _moved(self, errors):
        """
        Yield (RegressorBlock, the same under each error, times it counts).

        errors : times t (N,) [s] -> (N, e, 3 k) of z, zdot, zddot in steps
        """
        for state, times in windows(self._observation):
            of_state = errors(state.t)
            stepped = [self._regress(x) for x in _stepped(self._robot, state)]
            for block, *others in zip(self._regress(state), *stepped):
                here, of_state = np.split(of_state, [len(block.t)])
                changes = [here @ slopes for slopes in _slopes(block, others)]
                for change in changes:
                    change[:, :, self._steps] = 0.0
                moved = [_changed(block, parts) for parts in zip(*map(_by_error, changes))]
                yield block, moved, times


def _by_error(change):
    """Return the changes [(N, p + 1), ...] of one group by each error; change : (N, e, p + 1)."""
    return np.swapaxes(change, 0, 1)


def _filtered(joints, fused, errors):
    """
    Return the function of times (N,) that gives errors (N, e, 3 k) behind the filter, in steps.

    errors : (e, M, 2 k) of z and zdot on the clock of FusedCoordinates
    """
    count, samples, size = errors.shape
    period = joints.clock.period
    flat = errors.transpose(1, 2, 0).reshape(samples, -1)
    z, rate = np.split(signals.smooth(flat, joints.kernel), 2, axis=1)
    if not joints.measured_velocity:
        rate = signals.differentiate(z, period)
    motion = np.stack([z, rate, signals.differentiate(rate, period)])
    in_steps = _in_steps(motion.reshape(3, samples, size // 2, count))

    def at(t):
        rows = np.round((t - fused.t[0]) / period).astype(int)
        return in_steps[np.clip(rows, 0, samples - 1)]

    return at


def _white_noise(joints, rng):
    """Return the function of training times (N,) that draws noise (N, DRAWS, 3 k), in steps."""
    deviation = signals.white_noise(_positions(joints), joints.kernel)
    period, every = joints.clock.period, joints.decimate

    def drawn(t):
        size = (len(t) * every + len(joints.kernel) - 1, len(deviation) * DRAWS)
        z = convolve_inside(rng.standard_normal(size), joints.kernel)
        rate = signals.differentiate(z, period)
        motion = np.stack([z, rate, signals.differentiate(rate, period)])[:, ::every]
        return _in_steps(motion.reshape(3, len(t), len(deviation), DRAWS) * deviation[:, None])

    return drawn


def _in_steps(motion):
    """Return errors (3, N, k, e) of z, zdot and zddot as (N, e, 3 k) in DIFFERENCE_STEPS."""
    in_steps = (motion.T / DIFFERENCE_STEPS).T
    return in_steps.transpose(1, 3, 0, 2).reshape(motion.shape[1], motion.shape[3], -1)


def _positions(joints):
    """Yield z (N, k) as recorded on each stretch, LOOKED samples of it at most."""
    for start, size in joints.clock.segments:
        t = start + np.arange(min(size, LOOKED)) * joints.clock.period
        columns = [np.interp(t, *joints.position[name]) for name in joints.joints]
        yield np.stack(columns, axis=1)


def _stepped(robot, state):
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
