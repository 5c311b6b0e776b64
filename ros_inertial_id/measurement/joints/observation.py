"""
Observing joints: from the channels of a Recording to a JointSpaceObservation.

The clock, the kind of velocity, the cutoff: each is chosen from the recording, unless the options
say it.
"""

from dataclasses import dataclass, replace
from typing import Sequence

import numpy as np

from .channels import (
    BROKEN,
    carries,
    check_effort,
    common_clock,
    Series,
    series_of,
    SHORTEST,
    without_incomplete,
)
from .commands import efforts_at, position_control, PositionControl
from .drives import joint_side
from .effort_source import EffortSource
from .kinematic_state import AT_REST, JointSpaceObservation, SignalOptions
from .sources import joint_sources, JointSources
from .wrapping import Unwrapper
from .. import signals
from ..recording import Channel, page_out, Recording
from ..summary import Summary
from ...errors import InertialIdError, RecordingError

ENOUGH_MOTION = 30.0  # [s], to choose the cutoff and the kind of velocity by
LEAST_SPEED = 0.05  # of the fastest joint's: a slower one shows the noise of its velocity
FILTER_EDGE = 1.0  # periods of the cutoff at the ends of a segment that the filter guessed most
JERK_EDGE = 3.0  # the same of the jerk, on which the delay of commands hangs
AGREEMENT = 0.1  # relative difference of measured and differentiated velocities
LEAST_MOTION = 1e-3  # [rad or m]: a recording in which no joint moves more excites nothing


def observe_joints(
    recording: Recording,
    joints: Sequence[str],
    options: SignalOptions | None = None,
    actuated: Sequence[str] | None = None,
    limit: np.ndarray | None = None,
) -> JointSpaceObservation:
    """
    Return the JointSpaceObservation of n ``joints`` in a Recording.

    actuated : joints whose effort counts, where they are not ``joints`` themselves; empty: none
    limit : (n,) of the efforts of joints that may be commanded, 0 where it is unknown

    Raises RecordingError: joints or efforts that are missing, NaN, efforts of zero, time running
    backwards, two clocks, a recording that is too short or at rest.
    """
    options, joints = options or SignalOptions(), tuple(joints)
    if options.drive_gain and recording.effort_kind and options.effort_kind == 'link':
        options = replace(options, effort_kind=recording.effort_kind)
    if actuated is None:
        actuated = joints
    probe = _unfiltered(recording, joints, options, tuple(actuated), limit)
    check_moving(probe)
    probe, cutoff = _with_velocity(probe, options)
    summary = replace(
        probe.summary, effort_kind=options.effort_kind, position_kind=options.position_kind
    )
    window = recording.provenance
    cut = window.get('start_s') is not None, window.get('end_s') is not None
    return with_cutoff(replace(probe, summary=summary, cut=cut), cutoff, options.decimate)


def _with_velocity(
    probe: JointSpaceObservation, options: SignalOptions
) -> tuple[JointSpaceObservation, float]:
    """Return the unfiltered ``probe`` with the velocity to use, and the cutoff for it [Hz]."""
    clock = probe.clock
    by_sensor: list[np.ndarray] = []
    if probe.velocity:
        by_sensor = _velocities(probe, measured=True)
    by_position = _velocities(probe, measured=False)
    measured, disagreement = choose_velocity(probe, options.velocity, by_sensor, by_position)
    cutoff, motion_ends_at = options.cutoff, None
    if not cutoff:
        velocities, differences = by_position, list[np.ndarray]()
        if measured:
            velocities, differences = by_sensor, by_position
        cutoff, motion_ends_at = signals.choose_cutoff(velocities, clock.period, differences)
    velocity_of = max(disagreement, key=disagreement.__getitem__, default=None)
    summary = replace(
        probe.summary,
        rate=1.0 / clock.period,
        samples=clock.samples,
        missing=clock.missing,
        gaps=clock.gaps,
        cutoff_chosen=not options.cutoff,
        motion_ends_at=motion_ends_at,
        velocity=_velocity_kind(measured),
        velocity_disagreement=max(disagreement.values(), default=None),
        velocity_of=velocity_of,
    )
    return replace(probe, measured_velocity=measured, summary=summary), cutoff


def _unfiltered(
    recording: Recording,
    joints: tuple[str, ...],
    options: SignalOptions,
    actuated: tuple[str, ...],
    limit: np.ndarray | None,
) -> JointSpaceObservation:
    """Return the JointSpaceObservation of what was recorded, before any filter is chosen."""
    control = None
    if actuated:
        control = position_control(options, limit)
    sources = joint_sources(recording, joints, options, actuated)
    recorded = sources.motion_of(recording)
    if control is None:
        force = sources.efforts_of(recording, recorded)
    else:
        force = _commanded_efforts(recording, sources, recorded, options, control)
    motion = _motion_of(recording, recorded, sources, joints, options)
    if control is None:
        force, efforts, clock = _with_measured_efforts(motion, force, actuated)
    else:
        efforts = series_of(force, 'effort', actuated, motion.seconds(force))
        clock = common_clock(motion.channel, motion.channel, joints, motion.origin)
        clock = _where_all_lie(clock, motion.series(), motion.position)
    summary = Summary(
        topic=motion.channel.topic,
        effort_topic=force.topic,
        not_finite=len(recorded) - len(motion.channel),
        unwrapped=motion.wrapped,
    )
    observation = JointSpaceObservation(
        joints,
        motion.position,
        motion.velocity,
        efforts,
        clock,
        kernel=np.ones(1),
        measured_velocity=False,
        effort_source=EffortSource.of(options, len(actuated), limit),
        summary=summary,
    )
    return _commanded_from(observation)


@dataclass(frozen=True)
class _Motion:
    """
    The motion of joints as recorded, on the joints' side of their drives.

    recorded : Channel as it is in the recording; channel : without unusable messages and wraps
    origin : zero of time [ns]; t : (N,) [s] stamps of ``channel``
    position, velocity : series of each joint; no velocity where not all have one
    wrapped : {joint: how often its position wrapped}
    """

    recorded: Channel
    channel: Channel
    origin: int
    t: np.ndarray
    position: Series
    velocity: Series
    wrapped: dict[str, int]

    def seconds(self, channel: Channel) -> np.ndarray:
        """Return the stamps (N,) of a ``channel`` [s], the same array for that of the motion."""
        if channel is self.channel:
            return self.t
        return _seconds(channel, self.origin)

    def series(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return (stamps, values) of all that is known of the motion."""
        return [*self.position.values(), *self.velocity.values()]


def _seconds(channel: Channel, origin: int) -> np.ndarray:
    return (channel.stamp_ns - origin) * 1e-9


def _motion_of(
    recording: Recording,
    recorded: Channel,
    sources: JointSources,
    joints: tuple[str, ...],
    options: SignalOptions,
) -> _Motion:
    """Return the _Motion of ``joints`` in the Channel ``recorded``."""
    origin, unwrap = recording.origin_ns(), Unwrapper(joints)
    of_arm = tuple({*joints, *sources.actuated} & {*recorded.names})
    usable = without_incomplete(recorded, of_arm, BROKEN)
    channel = joint_side(unwrap(usable), joints, options)
    t = _seconds(channel, origin)
    position = series_of(channel, 'position', joints, t)
    velocity: Series = {}
    if carries(channel, 'velocity', joints):  # not where all that had one are masked
        velocity = series_of(channel, 'velocity', joints, t)
    return _Motion(recorded, channel, origin, t, position, velocity, unwrap.counts)


def _with_measured_efforts(
    motion: _Motion, force: Channel, actuated: Sequence[str]
) -> tuple[Channel, Series, signals.Clock]:
    """Return the Channel and series of measured efforts ``force``, and the Clock of both."""
    if force is motion.recorded:
        force = motion.channel
    else:
        force = without_incomplete(force, actuated, BROKEN)
    efforts: Series = {}
    if actuated:
        efforts = series_of(force, 'effort', actuated, motion.seconds(force))
    moving = [joint for joint, (_, q) in motion.position.items() if np.ptp(q) > AT_REST]
    page_out()
    check_effort(efforts, force.topic, moving)
    page_out()
    clock = common_clock(motion.channel, force, tuple(motion.position), motion.origin)
    series = [*motion.series(), *efforts.values()]
    return force, efforts, _where_all_lie(clock, series, motion.position)


def with_cutoff(
    observation: JointSpaceObservation, cutoff: float, decimate: int = 0
) -> JointSpaceObservation:
    """
    Return the ``observation`` filtered at another ``cutoff`` [Hz]; ``decimate`` 0: by it.

    Raises RecordingError where no segment is as long as the filter.
    """
    clock, period = observation.clock, observation.clock.period
    half = signals.half_kernel(period, cutoff) + 2 * signals.STENCIL
    clock = _long_enough(clock, half, observation.summary.topic)
    kernel = signals.zero_phase_kernel(period, cutoff)
    # Where the filter guessed most; the stencil reaches further than that near Nyquist.
    guessed = FILTER_EDGE
    if observation.effort_source.is_commanded:
        guessed = JERK_EDGE
    trim = max(guessed / cutoff, signals.STENCIL * period)
    decimate = decimate or max(1, int(1.0 / (10.0 * cutoff * period)))
    summary = replace(
        observation.summary,
        cutoff=cutoff,
        decimate=decimate,
        segments=len(clock.segments),
        duration=clock.seconds,
    )
    return replace(
        observation, clock=clock, kernel=kernel, trim=trim, decimate=decimate, summary=summary
    )


def at_one_cutoff(
    observations: Sequence[JointSpaceObservation], decimate: int = 0
) -> tuple[JointSpaceObservation, ...]:
    """
    Return the observations of one robot with one cutoff, and one kind of velocity.

    The cutoff is the highest, which loses nothing of any motion, but for one that was recorded
    too slowly for it; velocities are measured ones where they are in all; decimate : as
    ``with_cutoff`` has it
    """
    cutoff = max(o.summary.cutoff for o in observations)
    measured = all(o.measured_velocity for o in observations)
    chosen = all(o.summary.cutoff_chosen for o in observations)
    alike = []
    for observation in observations:
        summary = replace(observation.summary, velocity=_velocity_kind(measured))
        observation = replace(observation, measured_velocity=measured, summary=summary)
        observation = with_cutoff(observation, cutoff, decimate)
        if chosen:
            observation = within_rate(observation, decimate)
        alike.append(observation)
    return tuple(alike)


def _velocity_kind(measured: bool) -> str:
    """Return the name that a Summary has for velocities that are ``measured``, or not."""
    if measured:
        return 'measured'
    return 'differentiated'


def within_rate(observation: JointSpaceObservation, decimate: int = 0) -> JointSpaceObservation:
    """Return the ``observation`` filtered at a quarter of its rate at most, as if alone."""
    highest = signals.HIGHEST / observation.clock.period
    if observation.summary.cutoff <= highest:
        return observation
    return with_cutoff(observation, highest, decimate)


def with_time_offset(observation: JointSpaceObservation, offset: float) -> JointSpaceObservation:
    """Return the ``observation``, its efforts ``offset`` [s] earlier than they are stamped."""
    if not offset:
        return observation
    earlier = {id(t): t - offset for t, _ in observation.effort.values()}
    effort = {joint: (earlier[id(t)], x) for joint, (t, x) in observation.effort.items()}
    clock = observation.clock
    if not observation.effort_source.is_commanded:
        for t in earlier.values():
            clock = signals.covered(clock, t)
    before = observation.summary
    summary = replace(before, time_offset=before.time_offset + offset)
    return _commanded_from(replace(observation, effort=effort, clock=clock, summary=summary))


def motion_and_efforts(
    recording: Recording, joints: Sequence[str], options: SignalOptions, limit: np.ndarray
) -> tuple[Channel, Channel | None]:
    """
    Return the Channels of the motion and of the efforts of an arm's ``joints``.

    Efforts are as recorded, of commanded drives what they exert, at the stamps of the motion;
    None where there are none.
    limit : (n,) of the efforts, 0 where it is unknown
    RecordingError where no topic carries the positions.
    """
    control = position_control(options, limit)
    sources = joint_sources(recording, joints, options)
    motion = sources.motion_of(recording)
    try:
        if control is None:
            return motion, sources.efforts_of(recording, motion)
        force = _commanded_efforts(recording, sources, motion, options, control)
    except InertialIdError:
        return motion, None
    return motion, efforts_at(joint_side(motion, joints, options), force, control)


def _commanded_efforts(
    recording: Recording,
    sources: JointSources,
    motion: Channel,
    options: SignalOptions,
    control: PositionControl,
) -> Channel:
    """Return the Channel of what is commanded; ``motion``, as recorded, has to follow it."""
    commands = sources.commands_of(recording)
    commands.check_followed(motion)
    return commands.torques(options, control)


def _commanded_from(observation: JointSpaceObservation) -> JointSpaceObservation:
    """Return the ``observation`` from when on its joints are commanded, where they are."""
    if not observation.effort_source.is_commanded:
        return observation
    first = next(iter(observation.effort.values()))[0][0]
    last = observation.clock.end
    clock = signals.covered(observation.clock, np.array([first, max(first, last)]))
    if not clock.segments:
        raise RecordingError(
            'the joints are commanded when no motion is recorded',
            found=f'the first command at {first:.3f} s of {last:.3f} s',
            do='stamp both by one clock',
        )
    return replace(observation, clock=clock)


def _where_all_lie(
    clock: signals.Clock, series: Sequence[tuple[np.ndarray, np.ndarray]], position: Series
) -> signals.Clock:
    """Return the ``clock`` where all ``series`` of (t [s], values) have samples, or refuse."""
    for t in {id(t): t for t, _ in series}.values():
        clock = signals.covered(clock, t)
    if not clock.segments:
        raise RecordingError(
            'the joints are never recorded together',
            found=[
                f'{joint} from {t[0]:.3f} to {t[-1]:.3f} s' for joint, (t, _) in position.items()
            ],
        )
    return clock


def _velocities(probe: JointSpaceObservation, measured: bool) -> list[np.ndarray]:
    """Return the unfiltered velocities of the segments that move most: list of (N, n)."""
    period = probe.clock.period
    velocities = []
    for start, count in _most_moving(probe):
        t = start + np.arange(count) * period
        if measured:
            velocities.append(probe.on_clock(probe.velocity, t))
        else:
            velocities.append(signals.differentiate(probe.on_clock(probe.position, t), period))
    return velocities


def _most_moving(probe: JointSpaceObservation) -> Sequence[tuple[float, int]]:
    """Return (start [s], samples) of parts of segments, enough to choose by: those that move."""
    segments, period = probe.clock.segments, probe.clock.period
    if probe.clock.seconds <= ENOUGH_MOTION:
        return segments
    length = int(ENOUGH_MOTION / 3.0 / period)
    parts = []
    for start, count in segments:
        for first in range(0, count, length):
            samples = min(length, count - first)
            if samples > 2:  # one sample has no velocity
                parts.append((start + first * period, samples))

    def way(part: tuple[float, int]) -> float:
        t = part[0] + np.linspace(0.0, part[1] * period, 20)
        total = 0.0
        for stamps, q in probe.position.values():
            nearest = np.searchsorted(stamps, t).clip(max=len(q) - 1)
            total += np.ptp(q[nearest])
        return float(total)

    return sorted(sorted(parts, key=way)[-3:])


def choose_velocity(
    probe: JointSpaceObservation,
    wish: str,
    by_sensor: Sequence[np.ndarray],
    by_position: Sequence[np.ndarray],
) -> tuple[bool, dict[str, float]]:
    """
    Return (use the measured velocity?, {joint that moves: relative disagreement}).

    probe : unfiltered observation; wish : measured, differentiated, or auto: measured where it
    agrees with the derivative of the positions; without velocities they are differentiated
    by_sensor, by_position : both velocities of some stretches, (N, n) each
    """
    if not probe.velocity:
        return False, {}
    kernel = signals.zero_phase_kernel(probe.clock.period, min(5.0, 0.1 / probe.clock.period))
    speed, difference = np.zeros((2, len(probe.joints)))  # sums of squares
    for measured, derived in zip(by_sensor, by_position):
        if len(measured) > len(kernel):
            speed += (signals.smooth(derived, kernel) ** 2).sum(axis=0)
            difference += (signals.smooth(measured - derived, kernel) ** 2).sum(axis=0)
    least = LEAST_SPEED**2 * speed.max()
    disagreement = {}
    for k, joint in enumerate(probe.joints):
        if np.ptp(probe.position[joint][1]) > AT_REST and speed[k] > least:
            disagreement[joint] = float(np.sqrt(difference[k] / speed[k]))
    if wish != 'auto':
        return wish == 'measured', disagreement
    agrees = bool(disagreement) and max(disagreement.values()) < AGREEMENT
    return agrees, disagreement


def check_moving(probe: JointSpaceObservation) -> None:
    """Raise RecordingError when no joint of ``probe`` moves by more than LEAST_MOTION."""
    largest = max(float(np.ptp(values)) for _, values in probe.position.values())
    if largest < LEAST_MOTION:
        raise RecordingError(
            'the motion excites nothing',
            found=f'no joint moves more than {largest:.2g} rad',
            do='play a designed motion: inertial-id design',
        )


def _long_enough(clock, half, topic):
    """Return the ``clock`` without segments too short for ``half`` a kernel, or refuse."""
    if clock.seconds < SHORTEST:
        raise RecordingError(
            f'{topic} is too short',
            found=f'{clock.seconds:#.3g} s',
            expected=f'at least {SHORTEST:.0f} s',
            do='record longer',
        )
    return clock.without_short(signals.least_samples(half), topic)
