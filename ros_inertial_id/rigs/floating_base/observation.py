"""Observation of a robot on a base that moves: joints, the base and its feet on one clock."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from .base_motion import BaseMotion
from .contacts import Contacts
from ..estimation.motion_noise import windows
from ...measurement import signals
from ...measurement.joints.kinematic_state import JointSpaceObservation, JointSpaceState
from ...measurement.joints.observation import with_time_offset
from ...measurement.summary import Summary

NOISE_WINDOW = 128  # samples, four a period of the cutoff: longer than noise remembers
NOISE_LOOKED = 512  # samples about whose noise is looked at: a gait or a sway repeats
FOURTH = 1.0, -4.0, 6.0, -4.0, 1.0  # differences, in which a motion is nothing
NORMAL_MEDIAN = 0.6745  # of the size of what is normal, in standard deviations
TOUCH_PERIODS = 1.5  # periods of the cutoff, within which a touch is in the filtered signals


def _nothing() -> np.ndarray:
    return np.zeros((0, 9))


@dataclass(frozen=True)
class FloatingState(JointSpaceState):
    """
    A JointSpaceState of the joints, with what the base does.

    base, base_rate (N, 9), up (N, 3) : see ``BaseMotion.at``
    standing : (N, feet) which may touch the ground
    ground : [m] by which feet touch further up than described
    """

    base: np.ndarray = field(default_factory=_nothing)
    base_rate: np.ndarray = field(default_factory=_nothing)
    up: np.ndarray = field(default_factory=_nothing)
    standing: np.ndarray = field(default_factory=_nothing)
    ground: float = 0.0

    @classmethod
    def of(cls, joints: JointSpaceState, **of_base: Any) -> 'FloatingState':
        """Return the state of ``joints`` on a base; of_base : the fields of this class."""
        of_joints: dict[str, Any] = {}
        for f in fields(JointSpaceState):
            of_joints[f.name] = getattr(joints, f.name)
        return cls(**{**of_joints, **of_base})

    def rows(self, chosen: slice) -> 'FloatingState':
        """Return the state of the samples ``chosen`` by a slice."""
        return FloatingState.of(
            super().rows(chosen),
            base=self.base[chosen],
            base_rate=self.base_rate[chosen],
            up=self.up[chosen],
            standing=self.standing[chosen],
            ground=self.ground,
        )


class Noise(NamedTuple):
    """
    Covariance (9, 9) of the noise of the base's motion, variances (n,) of that of torques.

    times : what it may be multiplied by at most: mean over median square, of the burstiest signal
    """

    base: np.ndarray
    torque: np.ndarray
    times: float


@dataclass(frozen=True)
class FloatingObservation:
    """
    The motion of one recording, as the spine wants it.

    joints : its JointSpaceObservation; feet : how many the robot has
    ground : see FloatingState
    """

    joints: JointSpaceObservation
    base: BaseMotion
    contacts: Contacts
    feet: int
    summary: Summary
    ground: float = 0.0

    @classmethod
    def over(
        cls, joints: JointSpaceObservation, base: BaseMotion, contacts: Contacts, feet: int
    ) -> 'FloatingObservation':
        """Return the observation where ``joints`` and ``base`` are both measured."""
        clock = signals.covered(joints.clock, base.stamps)
        topic = joints.summary.topic
        least = signals.least_samples(len(joints.kernel) // 2 + 2 * signals.STENCIL)
        clock = clock.without_short(least, f'{topic} with {base.topic}')
        joints = replace(joints, clock=clock)
        return cls(joints, base, contacts, feet, joints.summary)

    def with_clocks(self, base_late: float, efforts_late: float) -> 'FloatingObservation':
        """Return it with clocks set right by ``base_late`` and ``efforts_late`` [s]."""
        joints = with_time_offset(self.joints, efforts_late)
        moved = self.over(joints, self.base.with_late(base_late), self.contacts, self.feet)
        return replace(moved, ground=self.ground)

    def on_ground(self, height: float, error: float) -> 'FloatingObservation':
        """Return it with feet that touch a ``height`` +- ``error`` [m] higher than described."""
        moved = replace(self, ground=height)
        return moved.with_details(ground=height, ground_error=error)

    @property
    def clock_errors(self) -> tuple[float, float] | None:
        """Return standard errors [s] of how late base and efforts are, None if not looked for."""
        of_base, of_efforts = self.base.late_error, self.summary.time_offset_error
        if of_base is None or of_efforts is None:
            return None
        return of_base, of_efforts

    def with_details(self, **details: object) -> 'FloatingObservation':
        """Return it with more ``details`` in its summary."""
        return replace(self, summary=self.summary.with_details(**details))

    def samples(self, training: bool = False) -> int:
        """Return about how many samples ``states`` will yield."""
        return self.joints.samples(training)

    def states(self, training: bool = False) -> Iterator[FloatingState]:
        """Yield FloatingStates in order of time; see JointSpaceObservation."""
        kernel, period = self.joints.kernel, self.joints.clock.period
        memory = TOUCH_PERIODS / self.summary.cutoff
        for state in self.joints.states(training):
            base, base_rate, up = self.base.at(state.t, kernel, period)
            standing = self.contacts.standing(state.t, self.feet, memory)
            yield FloatingState.of(
                state,
                base=base,
                base_rate=base_rate,
                up=up,
                standing=standing,
                ground=self.ground,
            )

    def noise(self) -> Noise:
        """
        Return the Noise that the filter leaves, by medians.

        Steps of the feet's forces are no noise, and beyond the filter as well: in squares they
        and vibrations are together.
        """
        values = self.base.values
        rng = np.random.default_rng(0)
        beyond = np.diff(values, n=len(FOURTH) - 1, axis=0) / np.linalg.norm(FOURTH)
        deviation = _deviation(beyond)
        noisier = values + deviation * rng.standard_normal(values.shape)
        redrawn = replace(self.base, values=noisier)
        drawn, taken = [], []
        for state, _ in windows(self, NOISE_WINDOW, NOISE_LOOKED):
            again = redrawn.at(state.t, self.joints.kernel, self.joints.clock.period)[0]
            drawn.append(again - state.base)
            taken.append(state.tau_raw - state.tau)
        noise, taken_away = np.concatenate(drawn), np.concatenate(taken)
        kernel = self.joints.kernel
        passed = kernel @ kernel  # of the variance of white noise
        share = passed / max(1.0 - 2.0 * kernel[len(kernel) // 2] + passed, 1e-9)
        torque = share * _deviation(taken_away) ** 2
        times = max(_times_in_square(beyond), _times_in_square(taken_away))
        return Noise(noise.T @ noise / len(noise), torque, times)

    def noisy_states(
        self, draws: int, rng: np.random.Generator
    ) -> Iterator[tuple[FloatingState, np.ndarray, float]]:
        """Yield (training state, noise (draws, N, 9) of its base, times it counts)."""
        kernel, period = self.joints.kernel, self.joints.clock.period
        redrawn = [self.base.with_more_noise(rng) for _ in range(draws)]
        for state, times in windows(self, NOISE_WINDOW, NOISE_LOOKED):
            noise = [base.at(state.t, kernel, period)[0] - state.base for base in redrawn]
            yield state, np.array(noise), times


def _deviation(noise: np.ndarray) -> np.ndarray:
    """Return the standard deviations (k,) of ``noise`` (N, k) by medians."""
    return np.asarray(np.median(np.abs(noise), axis=0) / NORMAL_MEDIAN)


def _times_in_square(noise: np.ndarray) -> float:
    """Return how many times larger the variance of a signal in ``noise`` (N, k) is, at most."""
    by_squares = (noise**2).mean(0)
    return float(np.max(by_squares / np.maximum(_deviation(noise) ** 2, 1e-30)))
