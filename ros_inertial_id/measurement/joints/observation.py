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
from .commands import check_followed, commanded, position_control, PositionControl, separated
from .drives import COMMAND, effort_map, joint_side
from .kinematic_state import AT_REST, JointSpaceObservation, SignalOptions
from .. import signals
from ..recording import Channel, Recording
from ...errors import ConfigError, RecordingError

ENOUGH = 30.0  # [s] of motion, to choose the cutoff and the kind of velocity by
LEAST_SPEED = 0.05  # of the fastest joint's: a slower one shows the noise of its velocity
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
    if options.effort_kind == COMMAND and actuated and limit is None:
        raise ConfigError(
            'effort_kind: command',
            found='a mechanism with loops',
            expected='an arm: measure the torques of its motors',
        )
    control = None if limit is None else position_control(options, limit)
    probe = _probe(recording, joints, options, actuated, control)
    clock = probe.clock
    check_moving(probe)
    by_sensor, by_position = (
        _velocities(probe, kind) if not kind or probe.velocity else () for kind in (True, False)
    )
    measured, differ = choose_velocity(probe, options.velocity, by_sensor, by_position)
    cutoff, valley = options.cutoff, None
    if not cutoff:
        cutoff, valley = signals.choose_cutoff(
            by_sensor if measured else by_position, clock.period, by_position if measured else ()
        )
    summary = {
        **probe.summary,
        'rate': 1.0 / clock.period,
        'samples': clock.samples,
        'missing': clock.missing,
        'gaps': clock.gaps,
        'cutoff_chosen': not options.cutoff,
        'motion_ends_at': valley,
        'velocity': 'measured' if measured else 'differentiated',
        'velocity_disagreement': max(differ.values(), default=None),
        'velocity_of': max(differ, key=lambda joint: differ[joint], default=None),
        'effort_kind': options.effort_kind,
        'position_kind': options.position_kind,
    }
    return with_cutoff(
        replace(
            probe,
            measured_velocity=measured,
            summary=summary,
            cut=(
                recording.provenance.get('start_s') is not None,
                recording.provenance.get('end_s') is not None,
            ),
        ),
        cutoff,
        options.decimate,
    )


def _probe(recording, joints, options, actuated, control):
    """Return the JointSpaceObservation of what was recorded, before any filter is chosen."""
    origin = recording.origin_ns()
    motion, force = sources(recording, joints, options, actuated, control)
    both, unwrap, messages = force is motion, Unwrapper(joints), len(motion)
    motion = whole(motion, tuple({*joints, *actuated} & {*motion.names}), BROKEN)
    if not control:
        force = motion if both else whole(force, actuated, BROKEN)
    left_out = messages - len(motion)
    motion = joint_side(unwrap(motion), joints, options)
    force = motion if both else force
    t = (motion.stamp_ns - origin) * 1e-9
    position = series_of(motion, 'position', joints, origin, t)
    velocity = (
        series_of(motion, 'velocity', joints, origin, t)
        if carries(motion, 'velocity', joints)
        else {}
    )
    effort = (
        series_of(force, 'effort', actuated, origin, t if force is motion else None)
        if actuated
        else {}
    )
    if not control:
        check_effort(
            effort, force.topic, [j for j, (_, q) in position.items() if np.ptp(q) > AT_REST]
        )
    clock = common_clock(motion, motion if control else force, joints, origin)
    series = (*position.values(), *velocity.values(), *(() if control else effort.values()))
    summary = {
        'topic': motion.topic,
        'effort_topic': force.topic,
        **({'not_finite': left_out} if left_out else {}),
        **({'unwrapped': unwrap.counts} if unwrap.counts else {}),
    }
    return _commanded_from(
        JointSpaceObservation(
            joints,
            position,
            velocity,
            effort,
            _together(clock, series, position),
            np.ones(1),
            False,
            effort_map(options, len(actuated)),
            summary=summary,
            control=control,
        )
    )


def with_cutoff(
    observation: JointSpaceObservation, cutoff: float, decimate: int = 0
) -> JointSpaceObservation:
    """
    Return the ``observation`` filtered at another ``cutoff`` [Hz]; ``decimate`` 0: by it.

    Raises RecordingError where no segment is as long as the filter.
    """
    clock, period = observation.clock, observation.clock.period
    half = signals.half_kernel(period, cutoff) + 2 * signals.STENCIL
    clock = _usable(clock, half, observation.summary['topic'])
    kernel = signals.zero_phase_kernel(period, cutoff)
    # Where the filter guessed most; the stencil reaches further than that near Nyquist.  The delay
    # of commands hangs on the jerk, which is guessed worst.
    trim = max((3.0 if observation.control else 1.0) / cutoff, signals.STENCIL * period)
    decimate = decimate or max(1, int(1.0 / (10.0 * cutoff * period)))
    summary = {
        **observation.summary,
        'cutoff': cutoff,
        'decimate': decimate,
        'segments': len(clock.segments),
        'duration': sum(count for _, count in clock.segments) * period,
    }
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
    cutoff = max(o.summary['cutoff'] for o in observations)
    measured = all(o.measured_velocity for o in observations)
    kind = {'velocity': 'measured' if measured else 'differentiated'}
    chosen = all(o.summary['cutoff_chosen'] for o in observations)
    one = tuple(
        with_cutoff(
            replace(o, measured_velocity=measured, summary={**o.summary, **kind}), cutoff, decimate
        )
        for o in observations
    )
    return tuple(within_rate(o, decimate) for o in one) if chosen else one


def within_rate(observation: JointSpaceObservation, decimate: int = 0) -> JointSpaceObservation:
    """Return the ``observation`` filtered at a quarter of its rate at most, as if alone."""
    top = signals.HIGHEST / observation.clock.period
    return (
        with_cutoff(observation, top, decimate)
        if observation.summary['cutoff'] > top
        else observation
    )


def with_time_offset(observation: JointSpaceObservation, offset: float) -> JointSpaceObservation:
    """Return the ``observation``, its efforts ``offset`` [s] earlier than they are stamped."""
    if not offset:
        return observation
    earlier = {id(t): t - offset for t, _ in observation.effort.values()}
    effort = {joint: (earlier[id(t)], x) for joint, (t, x) in observation.effort.items()}
    clock = observation.clock
    for t in () if observation.control else earlier.values():
        clock = signals.covered(clock, t)
    summary = dict(observation.summary)
    summary['time_offset'] = summary.get('time_offset', 0.0) + offset
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
    if control is not None:
        check_followed(motion, commands, actuated)
        return motion, commanded(commands, actuated, options, control)
    if actuated and (options.effort_topic or not carries(motion, 'effort', actuated)):
        return motion, find_channel(
            recording, actuated, options.effort_topic or motion.topic, 'effort'
        )
    return motion, motion


def _commanded_from(observation):
    """Return the ``observation`` from when on its joints are commanded, where they are."""
    if observation.control is None:
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


def _velocities(probe, measured):
    """Return the unfiltered velocities of the stretches that move most: list of (N, n)."""
    source, period = probe.velocity if measured else probe.position, probe.clock.period
    out = []
    for start, count in _most_moving(probe):
        values = probe.on_clock(source, start + np.arange(count) * period)
        out.append(values if measured else signals.differentiate(values, period))
    return out


def _most_moving(probe):
    """Return (start [s], samples) of stretches enough to choose by: those that move."""
    segments, period = probe.clock.segments, probe.clock.period
    if sum(count for _, count in segments) * period <= ENOUGH:
        return segments
    length = int(ENOUGH / 3.0 / period)
    parts = [
        (start + first * period, min(length, count - first))
        for start, count in segments
        for first in range(0, count, length)
    ]
    parts = [part for part in parts if part[1] > 2]  # one sample has no velocity

    def way(part):
        t = part[0] + np.linspace(0.0, part[1] * period, 20)
        return sum(
            np.ptp(x[np.searchsorted(stamps, t).clip(max=len(x) - 1)])
            for stamps, x in probe.position.values()
        )

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
    square, differ = np.zeros((2, len(probe.joints)))
    for measured, derived in zip(by_sensor, by_position):
        if len(measured) > len(kernel):
            square += (signals.smooth(derived, kernel) ** 2).sum(axis=0)
            differ += (signals.smooth(measured - derived, kernel) ** 2).sum(axis=0)
    out = {
        joint: float(np.sqrt(differ[k] / square[k]))
        for k, joint in enumerate(probe.joints)
        if np.ptp(probe.position[joint][1]) > AT_REST and square[k] > LEAST_SPEED**2 * square.max()
    }
    agrees = bool(out) and max(out.values()) < 0.1
    return (agrees if wish == 'auto' else wish == 'measured'), out


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
