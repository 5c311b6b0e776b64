"""Observation of bodies: their motion and the wrenches on them, on one clock."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .motion import BodiesMotion
from ..estimation.motion_noise import windows
from ..measurement.body_state import on_clock
from ..measurement.sources import gaps_between, guessed, half_width, NoisySeries
from ...measurement import signals
from ...measurement.joints.effort_source import EffortSource
from ...measurement.summary import Summary


@dataclass(frozen=True)
class BodiesState:
    """
    Consecutive samples of several bodies on one clock.

    t : (N,) [s]; segment : number of the stretch; bodies : tuple of BodyState
    wrench, wrench_raw : (N, 6 s) measured forces [N] and torques [N m], filtered and not
    sign : 1 where sensors show the wrench on a body, -1 where they show its reaction
    """

    t: np.ndarray
    segment: int
    bodies: tuple
    wrench: np.ndarray
    wrench_raw: np.ndarray
    sign: float = 1.0

    def rows(self, chosen: slice) -> 'BodiesState':
        """Return the BodiesState of the samples ``chosen`` by a slice."""
        return BodiesState(
            self.t[chosen],
            self.segment,
            tuple(body.rows(chosen) for body in self.bodies),
            self.wrench[chosen],
            self.wrench_raw[chosen],
            self.sign,
        )


@dataclass(frozen=True)
class BodiesObservation:
    """
    The motion of bodies in one recording, as the spine wants it.

    wrenches : Series of every measured wrench (6 columns); sign : see BodiesState
    """

    clock: signals.Clock
    kernel: np.ndarray
    motion: BodiesMotion
    wrenches: tuple
    summary: Summary
    sign: float = 1.0

    @property
    def effort_source(self) -> EffortSource:
        """Return what takes the place of efforts: wrenches, measured as they act."""
        return EffortSource('link', np.eye(6 * len(self.wrenches)))

    @property
    def decimate(self) -> int:
        """Return of how many samples one trains."""
        return self.summary.decimate

    def samples(self, training: bool = False) -> int:
        """Return about how many samples ``states`` will yield."""
        count = sum(count for _, count in self.clock.segments)
        if training:
            return -(-count // self.decimate)
        return count

    def states(self, training: bool = False) -> Iterator[BodiesState]:
        """
        Yield BodiesStates in order of time; with ``training`` decimated.

        Always without the ends of every stretch: bodies swing when a recording of them begins, so
        what the filter guesses there is no motion of theirs, and no residual of the model.
        """
        period, every = self.clock.period, 1
        if training:
            every = self.decimate
        edge = int(round(guessed(self.clock, self.kernel, 1.0 / self.summary.cutoff) / period))
        for number, (start, count) in enumerate(self.clock.segments):
            if count <= max(half_width(self.kernel) + 2, 2 * edge + 2):
                continue
            state = self._stretch(start + np.arange(count) * period, number)
            yield state.rows(slice(edge, count - edge, every))

    def noisy_states(
        self, draws: int, rng: np.random.Generator
    ) -> Iterator[tuple[BodiesState, list[BodiesState], float]]:
        """Yield (training state, it with all noise once more in ``draws``, times it counts)."""
        wrenches = [NoisySeries(s, self.clock, self.kernel) for s in self.wrenches]
        redrawn = [
            replace(self, motion=motion, wrenches=tuple(s.again(rng) for s in wrenches))
            for motion in self.motion.noisy(draws, rng)
        ]
        for (state, times), *others in zip(windows(self), *map(windows, redrawn)):
            yield state, [moved for moved, _ in others], times

    def _stretch(self, t, number):
        raw = smooth = np.zeros((len(t), 0))
        if self.wrenches:
            parts = [on_clock(series.t, series.values, t) for series in self.wrenches]
            raw = np.concatenate(parts, axis=1)
            smooth = signals.smooth(raw, self.kernel)
        return BodiesState(t, number, self.motion(t), smooth, raw, self.sign)


def with_earlier_wrenches(observation: BodiesObservation, offset: float) -> BodiesObservation:
    """Return the ``observation``, its wrenches ``offset`` [s] earlier than they are stamped."""
    if not offset:
        return observation
    clock = observation.clock
    earlier = tuple(replace(series, t=series.t - offset) for series in observation.wrenches)
    for series in earlier:
        clock = signals.covered(clock, series.t)
    before = observation.summary
    summary = replace(before, time_offset=before.time_offset + offset)
    return replace(observation, wrenches=earlier, clock=clock, summary=summary)


def clock_and_filter(
    clock: signals.Clock,
    topic: str,
    options: Any,
    choose: Callable[[], tuple[float, float | None]],
) -> tuple[signals.Clock, np.ndarray, Summary]:
    """
    Return (the usable Clock, kernel of the low-pass (odd,), Summary of both).

    topic : of the motion; options : with the cutoff that is asked for
    choose : -> the cutoff where none is [Hz], and where the motion ends [Hz]
    """
    cutoff, ends_at = options.cutoff, None
    if not cutoff:
        cutoff, ends_at = choose()
    kernel = signals.zero_phase_kernel(clock.period, cutoff)
    clock = clock.without_short(signals.least_samples(half_width(kernel)) + 1, topic)
    return (
        clock,
        kernel,
        Summary(
            topic=topic,
            rate=1.0 / clock.period,
            samples=clock.samples,
            missing=clock.missing,
            gaps=clock.gaps,
            segments=len(clock.segments),
            duration=sum(count for _, count in clock.segments) * clock.period,
            cutoff=cutoff,
            cutoff_chosen=not options.cutoff,
            motion_ends_at=ends_at,
            # Twenty samples per period of the cutoff: more add no information.
            decimate=max(1, int(1.0 / (20.0 * cutoff * clock.period))),
            details={'gaps_at': gaps_between(clock)},
        ),
    )


def doubt(
    name: str, says: str, tests: str, evidence: tuple[float, str], do: str, severity: str = 'wrong'
) -> dict[str, Any]:
    """Return the fields of a Finding of a summary; evidence : a float and its unit."""
    return {
        'name': name,
        'says': says,
        'tests': tests,
        'evidence': float(evidence[0]),
        'unit': evidence[1],
        'severity': severity,
        'do': do,
    }


def marker_doubts(sources: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return where clusters of markers contradict their layout, as the fields of Findings."""
    out = []
    for name, note in sources.items():
        if not note.get('layout_off'):
            continue
        off = {label: 1e3 * np.array(x) for label, x in note['layout_off'].items()}
        distances = {label: float(np.linalg.norm(x)) for label, x in off.items()}
        listed = ', '.join(
            f'{label} {distances[label]:.1f} mm {np.round(x, 1).tolist()}'
            for label, x in off.items()
        )
        out.append(
            doubt(
                'marker off its place',
                f'markers of {name} do not sit where the layout says: {listed}',
                f'mean residuals of {name}',
                (max(distances.values()), 'mm'),
                'correct the layout, or fasten them',
            )
        )
    return out
