"""
Observing joints: from the channels of a Recording to a JointSpaceObservation.

The clock, the kind of velocity, the cutoff: each is chosen from the recording, unless the options
say it.
"""

from dataclasses import replace
from typing import Sequence

import numpy as np

from .channels import (
    BROKEN,
    carries,
    check_effort,
    common_clock,
    find_channel,
    series_of,
    SHORTEST,
    Unwrapper,
    whole,
)
from .commands import (
    check_followed,
    commanded,
    efforts_at,
    position_control,
    PositionControl,
    separated,
)
from .drives import joint_side
from .effort_source import EffortSource
from .kinematic_state import AT_REST, JointSpaceObservation, SignalOptions
from .. import signals
from ..recording import Channel, Recording
from ..summary import Summary
from ...errors import InertialIdError, RecordingError

ENOUGH = 30.0  # [s] of motion, to choose the cutoff and the kind of velocity by
LEAST_SPEED = 0.05  # of the fastest joint's: a slower one shows the noise of its velocity
GUESSED = 1.0  # periods of the cutoff at the ends of a segment that the filter guessed most
GUESSED_OF_JERK = 3.0  # the same of the jerk, on which the delay of commands hangs
AGREEMENT = 0.1  # relative difference of measured and differentiated velocities
STILL = 1e-3  # [rad or m]: a recording in which no joint moves more excites nothing


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
    actuated = joints if actuated is None else tuple(actuated)
    probe = _probe(recording, joints, options, actuated, limit)
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
    if not cutoff and measured:
        cutoff, motion_ends_at = signals.choose_cutoff(by_sensor, clock.period, by_position)
    elif not cutoff:
        cutoff, motion_ends_at = signals.choose_cutoff(by_position, clock.period, ())
    velocity_of = max(disagreement, key=lambda joint: disagreement[joint], default=None)
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


def _probe(
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
    origin = recording.origin_ns()
    motion, force = sources(recording, joints, options, actuated, control)
    same_topic, unwrap, messages = force is motion, Unwrapper(joints), len(motion)
    motion = whole(motion, tuple({*joints, *actuated} & {*motion.names}), BROKEN)
    not_finite = messages - len(motion)
    motion = joint_side(unwrap(motion), joints, options)
    if same_topic:
        force = motion
    elif control is None:
        force = whole(force, actuated, BROKEN)
    position, velocity, effort = _series(motion, force, joints, actuated, origin)
    if control is None:
        moving = [joint for joint, (_, q) in position.items() if np.ptp(q) > AT_REST]
        check_effort(effort, force.topic, moving)
        clock = common_clock(motion, force, joints, origin)
        series = (*position.values(), *velocity.values(), *effort.values())
    else:  # what is commanded holds until the next command
        clock = common_clock(motion, motion, joints, origin)
        series = (*position.values(), *velocity.values())
    return _commanded_from(
        JointSpaceObservation(
            joints,
            position,
            velocity,
            effort,
            _together(clock, series, position),
            np.ones(1),
            False,
            EffortSource.of(options, len(actuated), limit),
            summary=Summary(
                topic=motion.topic,
                effort_topic=force.topic,
                not_finite=not_finite,
                unwrapped=unwrap.counts,
            ),
        )
    )


def _series(
    motion: Channel,
    force: Channel,
    joints: Sequence[str],
    actuated: Sequence[str],
    origin: int,
) -> tuple[dict, dict, dict]:
    """Return position, velocity and effort as {joint: (stamps [s], values)}, {} for none."""
    t = (motion.stamp_ns - origin) * 1e-9
    position = series_of(motion, 'position', joints, origin, t)
    velocity: dict = {}
    if carries(motion, 'velocity', joints):
        velocity = series_of(motion, 'velocity', joints, origin, t)
    effort: dict = {}
    if actuated and force is motion:
        effort = series_of(force, 'effort', actuated, origin, t)
    elif actuated:
        effort = series_of(force, 'effort', actuated, origin)
    return position, velocity, effort


def with_cutoff(
    observation: JointSpaceObservation, cutoff: float, decimate: int = 0
) -> JointSpaceObservation:
    """
    Return the ``observation`` filtered at another ``cutoff`` [Hz]; ``decimate`` 0: by it.

    Raises RecordingError where no segment is as long as the filter.
    """
    clock, period = observation.clock, observation.clock.period
    half = signals.half_kernel(period, cutoff) + 2 * signals.STENCIL
    clock = _usable(clock, half, observation.summary.topic)
    kernel = signals.zero_phase_kernel(period, cutoff)
    # Where the filter guessed most; the stencil reaches further than that near Nyquist.
    guessed = GUESSED
    if observation.effort_source.is_commanded:
        guessed = GUESSED_OF_JERK
    trim = max(guessed / cutoff, signals.STENCIL * period)
    decimate = decimate or max(1, int(1.0 / (10.0 * cutoff * period)))
    summary = replace(
        observation.summary,
        cutoff=cutoff,
        decimate=decimate,
        segments=len(clock.segments),
        duration=sum(count for _, count in clock.segments) * period,
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
    """Return how a Summary names velocities that are ``measured``, or not."""
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


def sources(
    recording: Recording,
    joints: Sequence[str],
    options: SignalOptions,
    actuated: Sequence[str],
    control: PositionControl | None,
) -> tuple[Channel, Channel]:
    """
    Return the Channels of the motion of ``joints`` and of the efforts of ``actuated`` ones.

    control : of commanded drives, whose efforts are what is held from one command to the next
    """
    if control is not None:
        commands, recording = separated(recording, actuated, options.effort_topic)
        motion = find_channel(recording, joints, options.joint_states_topic, 'position')
        check_followed(motion, commands, actuated)
        return motion, commanded(commands, actuated, options, control)
    motion = find_channel(recording, joints, options.joint_states_topic, 'position')
    if not actuated or (not options.effort_topic and carries(motion, 'effort', actuated)):
        return motion, motion
    topic = options.effort_topic or motion.topic
    return motion, find_channel(recording, actuated, topic, 'effort')


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
    try:
        motion, force = sources(recording, joints, options, joints, control)
    except InertialIdError:
        return sources(recording, joints, options, (), None)[0], None
    if control is None:
        return motion, force
    return motion, efforts_at(joint_side(motion, joints, options), force, control)


def _commanded_from(observation: JointSpaceObservation) -> JointSpaceObservation:
    """Return the ``observation`` from when on its joints are commanded, where they are."""
    if not observation.effort_source.is_commanded:
        return observation
    first = next(iter(observation.effort.values()))[0][0]
    last = max(
        start + count * observation.clock.period for start, count in observation.clock.segments
    )
    clock = signals.covered(observation.clock, np.array([first, max(first, last)]))
    if not clock.segments:
        raise RecordingError(
            'the joints are commanded when no motion is recorded',
            found=f'the first command at {first:.3f} s of {last:.3f} s',
            do='stamp both by one clock',
        )
    return replace(observation, clock=clock)


def _together(clock, series, position):
    """Return the Clock where all series (t, values) have samples."""
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
    if sum(count for _, count in segments) * period <= ENOUGH:
        return segments
    length = int(ENOUGH / 3.0 / period)
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
    """Raise RecordingError when no joint of ``probe`` moves by more than STILL."""
    span = {joint: float(np.ptp(values)) for joint, (_, values) in probe.position.items()}
    if max(span.values()) < STILL:
        raise RecordingError(
            'the motion excites nothing',
            found=f'no joint moves more than {max(span.values()):.2g} rad',
            do='play a designed motion: inertial-id design',
        )


def _usable(clock, half, topic):
    """Return the clock without the segments too short to filter; refuse when none is left."""
    duration = sum(count for _, count in clock.segments) * clock.period
    if duration < SHORTEST:
        raise RecordingError(
            f'{topic} is too short',
            found=f'{duration:#.3g} s',
            expected=f'at least {SHORTEST:.0f} s',
            do='record longer',
        )
    return clock.without_short(signals.least_samples(half), topic)
