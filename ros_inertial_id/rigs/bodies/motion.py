"""Motion of several bodies: what noise does to it, and what errors that all samples share do."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np

from ..measurement.body_motion import BodyMotion
from ..measurement.body_state import BodyState
from ...measurement.recording import Recording


class BodiesMotion(ABC):
    """What moves bodies in one recording, as sensors show it."""

    @abstractmethod
    def __call__(self, t: np.ndarray) -> tuple[BodyState, ...]:
        """Return a BodyState per body at uniform times t (N,) [s]."""

    @abstractmethod
    def noisy(self, count: int, rng: np.random.Generator) -> Iterator['BodiesMotion']:
        """Yield the motion ``count`` times with noise of all sensors drawn by ``rng``."""

    def erring(self, shared: bool) -> Iterator['BodiesMotion']:
        """
        Yield the motion under each independent error of unit size of how sensors are mounted.

        shared : those of a calibration, which are the same in all recordings, or the others
        """
        return iter(())


class PosedBodies(BodiesMotion):
    """Bodies by their poses and the IMUs on them; None for one without sensors of its own."""

    def __init__(self, bodies: Sequence[BodyMotion | None]) -> None:
        self.bodies = tuple(bodies)

    def __call__(self, t):
        return tuple(body.at(t) for body in self.bodies if body is not None)

    def noisy(self, count: int, rng: np.random.Generator) -> Iterator['PosedBodies']:
        """Yield the motion ``count`` times with noise of all sensors drawn by ``rng``."""
        sensed = {k: body.noisy(count, rng) for k, body in self._sensed()}
        for _ in range(count):
            yield self._with({k: next(motions) for k, motions in sensed.items()})

    def erring(self, shared: bool) -> Iterator['PosedBodies']:
        """Yield the motion under errors of how IMUs are mounted; see BodiesMotion."""
        for k, body in self._sensed():
            for motion in body.erring(shared):
                yield self._with({k: motion})

    def fused(
        self,
        recording: Recording,
        robot: Any,
        stretches: Callable[[int], Sequence[np.ndarray]],
        limit: float,
    ) -> tuple['PosedBodies', dict[str, dict[str, Any]]]:
        """
        Return the motion with the IMUs that are on bodies of a ``robot``, and {body: notes on it}.

        stretches : body -> uniform times [(N,), ...] [s] on which its IMU adds to its pose
        limit : largest clock offset [s]
        """
        bodies, notes = {}, {}
        for k, body in self._sensed():
            imu, times = robot.sources[k].imu, stretches(k)
            if imu is not None and times:
                bodies[k], notes[robot.body_names[k]] = body.fused(recording, imu, times, limit)
        return self._with(bodies), notes

    def _sensed(self):
        """Return [(index, BodyMotion), ...] of bodies with sensors."""
        return [(k, body) for k, body in enumerate(self.bodies) if body is not None]

    def _with(self, others):
        """Return the motion with ``others`` {index: BodyMotion} in the places of its bodies."""
        out = copy(self)
        out.bodies = tuple(others.get(k, body) for k, body in enumerate(self.bodies))
        return out
