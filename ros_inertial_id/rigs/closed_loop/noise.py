"""
Errors of z in the rows of a mechanism: noise that the filter lets through, and how IMUs sit.

Markers and encoders alone: white noise of the size that the data show is drawn, filtered and
differentiated like z.  With IMUs the errors are those of the smoother, filtered alike.  Either
changes the rows by their slopes with z, zdot and zddot.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from .imu import FusedCoordinates
from .state import MechanismState, Observation
from ..dynamics.continuation import newton
from ..dynamics.mechanism import Mechanism
from ..estimation.inherited_errors import ErringRows
from ..estimation.motion_noise import DRAWS, NoisyRows, windows
from ...dynamics.regressor import RegressorBlock
from ...measurement import signals
from ...measurement.joints.kinematic_state import JointSpaceObservation
from ...measurement.sampling import convolve_inside

Regress = Callable[[MechanismState], Iterable[RegressorBlock]]
LOOKED = 16384  # samples of a stretch that tell its noise
DIFFERENCE_STEPS = 1e-6, 1e-4, 1e-2  # of z [rad, m], zdot, zddot for slopes


def noisy_rows(
    observation: Observation, robot: Mechanism, regress: Regress, rng: np.random.Generator
) -> Iterator[NoisyRows]:
    """
    Yield NoisyRows of an Observation; none where its velocities are measured by encoders.

    regress : gives the rows of a state; rng : that the noise is drawn from
    """
    joints = observation.joints
    if observation.fused is not None:
        errors = FilteredErrors(joints, observation.fused, observation.fused.drawn(DRAWS, rng)).at
    elif joints.measured_velocity or len(joints.kernel) < 3:
        return
    else:
        errors = _white_noise(joints, rng)
    for state, times in windows(observation):
        for block, moved in _under_errors(robot, state, errors(state.t), regress):
            for draw, again in enumerate(moved):
                yield NoisyRows(block, again, draw, times)


def erring_rows(observation: Observation, robot: Mechanism, regress: Regress) -> ErringRows:
    """Return the ErringRows of an Observation: errors of how IMUs sit, on what is looked at."""
    fused = observation.fused
    if fused is None:
        return ErringRows(0, 0, iter(()))
    errors = FilteredErrors(observation.joints, fused, fused.erring())

    def blocks():
        for state, _ in windows(observation):
            for block, moved in _under_errors(robot, state, errors.at(state.t), regress):
                yield None, [block, *moved]

    return ErringRows(0, len(fused.erring()), blocks())


class FilteredErrors:
    """
    Errors of fused coordinates behind the filter of ``joints``.

    errors : (e, M, 2 k) of z and zdot on the clock of ``fused``
    """

    def __init__(
        self, joints: JointSpaceObservation, fused: FusedCoordinates, errors: np.ndarray
    ) -> None:
        self._first, self._period = fused.t[0], joints.clock.period
        count, samples, size = errors.shape
        flat = errors.transpose(1, 2, 0).reshape(samples, -1)
        z, rate = np.split(signals.smooth(flat, joints.kernel), 2, axis=1)
        if not joints.measured_velocity:
            rate = signals.differentiate(z, self._period)
        motion = np.stack([z, rate, signals.differentiate(rate, self._period)])
        self._errors = _in_steps(motion.reshape(3, samples, size // 2, count))

    def at(self, t: np.ndarray) -> np.ndarray:
        """Return the errors (N, e, 3 k) of z, zdot, zddot in steps at times t (N,) [s]."""
        rows = np.round((t - self._first) / self._period).astype(int)
        return self._errors[np.clip(rows, 0, len(self._errors) - 1)]


def _white_noise(joints, rng):
    """Return the function of training times (N,) that draws noise (N, DRAWS, 3 k), in steps."""
    deviation = signals.white_noise(_positions(joints), joints.kernel)

    def drawn(t):
        period, every = joints.clock.period, joints.decimate
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


def _under_errors(robot, state, errors, regress):
    """Yield each RegressorBlock of a ``state``, and it under each of ``errors`` (N, e, 3 k)."""
    moved = [regress(x) for x in _moved(robot, state)]
    for block, *others in zip(regress(state), *moved):
        here, errors = np.split(errors, [len(block.t)])
        changes = [here @ slopes for slopes in _slopes(block, others)]
        yield (
            block,
            [
                _changed(block, [change[:, number] for change in changes])
                for number in range(here.shape[1])
            ],
        )


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
