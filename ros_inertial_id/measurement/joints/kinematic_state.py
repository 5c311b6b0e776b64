"""
Kinematic states: what the joints did, on a uniform clock, ready for the equations of motion.

A JointSpaceObservation holds a recording's joint channels and knows how to turn them into
JointSpaceStates, piece by piece: memory stays that of one piece however long the recording is.
"""

from dataclasses import dataclass, field, replace
from typing import Callable, Iterator, Mapping, Sequence

import numpy as np

from .channels import carries, check_effort, common_clock, find_channel, series_of
from .drives import DriveOptions, effort_map, joint_side
from .periods import average, read_periods
from .. import signals
from ..recording import Recording
from ...errors import RecordingError
from ...options import option

PIECE = 8192  # samples of one state
ENOUGH = 30.0  # [s] of motion, to choose the cutoff and the kind of velocity by
SHORTEST = 1.0  # [s]: no arm shows its inertia in less
STILL = 1e-3  # [rad or m]: a recording in which no joint moves more excites nothing


@dataclass(frozen=True)
class SignalOptions(DriveOptions):
    """How joint signals are read and prepared."""

    joint_states_topic: str = option(
        '', 'topic of the joint states; empty: the one that carries the joints')
    effort_topic: str = option(
        '', 'JointState topic of the efforts, where they are not in the joint states')
    velocity: str = option(
        'auto', 'use measured velocities, differentiated positions, or decide by agreement',
        choices=('auto', 'measured', 'differentiated'))
    cutoff: float = option(0.0, 'low-pass cutoff; 0: chosen from the data', unit='Hz',
                           at_least=0.0)
    average_periods: bool = option(False, 'average the whole periods that the player marked: '
                                   'noise shrinks by the square root of their number')
    decimate: int = option(0, 'learn from every that many sample; 0: twenty per period of the '
                           'cutoff, more add no information', at_least=0)


@dataclass(frozen=True)
class JointSpaceState:
    """
    Consecutive samples of n joints on a uniform clock.

    t : (N,) [s] after the first stamp of the recording; segment : number of the stretch
    q, v, a : (N, n) position, velocity, acceleration [rad, m, s]
    tau, tau_raw : (N, n) joint torque [N m] (force [N]) filtered like q, and as recorded
    around : what lies around these samples, so that a column can be filtered as tau was
    """

    t: np.ndarray
    segment: int
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    tau_raw: np.ndarray
    around: 'Surroundings | None' = None

    def rows(self, chosen: slice) -> 'JointSpaceState':
        """Return the state of the samples ``chosen`` by a slice."""
        around = self.around
        if around is not None:
            kept = range(*around.keep.indices(len(around.q)))[chosen]
            around = replace(around, keep=slice(kept.start, kept.stop, kept.step))
        # Copies: a view of few samples would keep the whole piece alive.
        q, v, a, tau, tau_raw = (x[chosen].copy() for x in self.signals())
        return JointSpaceState(self.t[chosen].copy(), self.segment, q, v, a, tau, tau_raw, around)

    def signals(self) -> tuple[np.ndarray, ...]:
        """Return q, v, a, tau, tau_raw."""
        return self.q, self.v, self.a, self.tau, self.tau_raw

    def filtered(self, columns: Callable) -> np.ndarray:
        """
        Return columns(q, v, a) -> (N, k), filtered by the filter that tau went through.

        columns : function of (M, n) q, v, a [rad, rad/s, rad/s^2; m] to (M, k)
        A function with corners (friction at reversals) of filtered velocities is sharper than
        the filtered torque it explains; filtered alike, they match (parallel filtering, Gautier
        1997).  Where the surroundings are unknown (live) the columns come as they are.
        """
        if self.around is None:
            return columns(self.q, self.v, self.a)
        wide = columns(self.around.q, self.around.v, self.around.a)
        return signals.smooth(wide, self.around.kernel)[self.around.keep]


@dataclass(frozen=True)
class Surroundings:
    """A wider stretch of q, v, a (M, n), the filter's kernel, and which rows are the state's."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    kernel: np.ndarray
    keep: slice


@dataclass(frozen=True)
class JointSpaceObservation:
    """
    The joint motion of one recording; ``states()`` computes it piece by piece, each time anew.

    joints : n names; position, velocity, effort : {joint: (stamps [s], values)}; velocity may
        be empty; effort as recorded, turned into joint torques by effort_map (n, m)
    clock : uniform; kernel : of the filter; measured_velocity : whether it is used
    trim : [s] left out of training at both ends of a segment; decimate : training stride
    period : [s] after which the signals repeat (averaged periods); 0: they do not
    summary : what was understood, in words and numbers, for logs and the model file
    """

    joints: Sequence[str]
    position: Mapping
    velocity: Mapping
    effort: Mapping
    clock: signals.Clock
    kernel: np.ndarray
    measured_velocity: bool
    effort_map: np.ndarray
    trim: float = 0.0
    decimate: int = 1
    summary: Mapping = field(default_factory=dict)
    period: float = 0.0

    def samples(self, training: bool = False) -> int:
        """Return about how many samples ``states`` will yield."""
        count = sum(count for _, count in self.clock.segments)
        return -(-count // self.decimate) if training else count

    def states(self, training: bool = False) -> Iterator[JointSpaceState]:
        """
        Yield JointSpaceStates in order of time, all samples of the clock.

        training : leave out the ends of every segment, where the filter had to guess (``trim``
        [s]), and keep only every ``decimate``-th sample.
        """
        trim, decimate = (self.trim, self.decimate) if training else (0.0, 1)
        # Half a kernel to filter the signals, half a kernel more to filter columns of them.
        period, half = self.clock.period, len(self.kernel) + 1
        for number, (start, count) in enumerate(self.clock.segments):
            edge = int(round(trim / period))
            if count <= 2 * edge + 2:
                continue
            for low in range(edge, count - edge, PIECE):
                high = min(low + PIECE, count - edge)
                first = max(0, low - half) if low - half > half else 0
                last = min(count, high + half) if count - high > 2 * half else count
                if self.period:  # what lies beyond the ends is known
                    first, last = low - half, high + half
                state = self._piece(start + np.arange(first, last) * period, number)
                keep = slice(low - first + (edge - low) % decimate, high - first, decimate)
                around = Surroundings(state.q, state.v, state.a, self.kernel, keep)
                q, v, a, tau, tau_raw = (x[keep] for x in state.signals())
                yield JointSpaceState(state.t[keep], number, q, v, a, tau, tau_raw, around)

    def low_passed(self, cutoff: float) -> 'JointSpaceObservation':
        """Return the observation of the same positions filtered at ``cutoff`` [Hz] instead."""
        kernel = signals.zero_phase_kernel(self.clock.period, cutoff)
        return replace(self, kernel=kernel, measured_velocity=False)

    def _piece(self, t, segment):
        period = self.clock.period
        q = signals.smooth(_on_clock(self.position, self.joints, t, self.period), self.kernel)
        if self.measured_velocity:
            v = signals.smooth(_on_clock(self.velocity, self.joints, t, self.period), self.kernel)
        else:
            v = signals.differentiate(q, period)
        tau_raw = _on_clock(self.effort, tuple(self.effort), t, self.period) @ self.effort_map.T
        tau = signals.smooth(tau_raw, self.kernel)
        return JointSpaceState(t, segment, q, v, signals.differentiate(v, period), tau, tau_raw)


def _on_clock(series, joints, t, period=0.0):
    """Return (N, n) values of the joints at times t by linear interpolation; period [s] or 0."""
    out = np.empty((len(t), len(joints)))
    for k, joint in enumerate(joints):
        stamps, values = series[joint]
        if period:
            out[:, k] = np.interp(t, stamps, values, period=period)
            continue
        first, last = np.searchsorted(stamps, t[[0, -1]])
        near = slice(max(0, first - 1), last + 1)  # interp would copy the whole column
        out[:, k] = np.interp(t, stamps[near], values[near])
    return out


def observe_joints(recording: Recording, joints: Sequence[str],
                   options: SignalOptions | None = None,
                   actuated: Sequence[str] | None = None) -> JointSpaceObservation:
    """
    Return the JointSpaceObservation of ``joints`` in a Recording.

    recording : Recording; joints : n names; options : SignalOptions, None for the defaults
    actuated : joints whose effort counts, where they are not ``joints`` themselves

    Raises RecordingError, each with its reason: joints or efforts that are missing, NaN, effort
    that is zero throughout, time running backwards, two clocks, a recording that is too short or
    at rest.
    """
    options, joints = options or SignalOptions(), tuple(joints)
    actuated = tuple(actuated or joints)
    origin = recording.origin_ns()
    motion = find_channel(recording, joints, options.joint_states_topic, 'position')
    force = find_channel(recording, actuated, options.effort_topic or motion.topic, 'effort')
    both, motion = force is motion, joint_side(motion, joints, options)
    force = motion if both else force
    t = (motion.stamp_ns - origin) * 1e-9
    position = series_of(motion, 'position', joints, origin, t)
    velocity = (series_of(motion, 'velocity', joints, origin, t)
                if carries(motion, 'velocity', joints) else {})
    effort = series_of(force, 'effort', actuated, origin, t if force is motion else None)
    check_effort(effort, force.topic)
    clock = common_clock(motion, force, joints, origin)
    series = (*position.values(), *velocity.values(), *effort.values())
    clock = _together(clock, series, position)
    repeats, count = 0.0, 0
    if options.average_periods:
        marks = read_periods(recording)
        clock, (position, velocity, effort), count = average(
            marks, clock, (position, velocity, effort))
        repeats = marks.period
    probe = JointSpaceObservation(joints, position, velocity, effort, clock, np.ones(1),
                                  False, effort_map(options, len(actuated)))
    check_moving(probe)
    measured, agreement = choose_velocity(probe, options.velocity)
    cutoff, valley = options.cutoff, None
    if not cutoff:
        cutoff, valley = signals.choose_cutoff(_velocities(probe, measured), clock.period)
    kernel = signals.zero_phase_kernel(clock.period, cutoff)
    clock = _usable(clock, 0 if repeats else len(kernel) // 2, motion.topic)
    summary = {
        'topic': motion.topic, 'effort_topic': force.topic, 'rate': 1.0 / clock.period,
        'samples': clock.samples, 'missing': clock.missing, 'gaps': clock.gaps,
        'segments': len(clock.segments), 'duration': sum(c for _, c in clock.segments)
        * clock.period, 'cutoff': cutoff, 'cutoff_chosen': not options.cutoff,
        'motion_ends_at': valley, 'velocity': 'measured' if measured else 'differentiated',
        'velocity_disagreement': agreement, 'effort_kind': options.effort_kind,
        'position_kind': options.position_kind}
    decimate = options.decimate or max(1, int(1.0 / (20.0 * cutoff * clock.period)))
    summary.update(decimate=decimate, **({'averaged_periods': count} if count else {}))
    return JointSpaceObservation(joints, position, velocity, effort, clock, kernel, measured,
                                 probe.effort_map, 0.0 if repeats else 1.0 / cutoff, decimate,
                                 summary, repeats)


def _together(clock, series, position):
    """Return the Clock where all series (t, values) have samples."""
    for t in {id(t): t for t, _ in series}.values():
        clock = signals.covered(clock, t)
    if not clock.segments:
        raise RecordingError('the joints are never recorded together', found=[
            f'{joint} from {t[0]:.3f} to {t[-1]:.3f} s' for joint, (t, _) in position.items()])
    return clock


def _velocities(probe, measured):
    """Return the unfiltered velocities of the stretches that move most: list of (N, n)."""
    source, period = probe.velocity if measured else probe.position, probe.clock.period
    out = []
    for start, count in _most_moving(probe):
        values = _on_clock(source, probe.joints, start + np.arange(count) * period)
        out.append(values if measured else signals.differentiate(values, period))
    return out


def _most_moving(probe):
    """Return (start [s], samples) of stretches enough to choose by: those that move."""
    segments, period = probe.clock.segments, probe.clock.period
    if sum(count for _, count in segments) * period <= ENOUGH:
        return segments
    length = int(ENOUGH / 3.0 / period)
    parts = [(start + first * period, min(length, count - first))
             for start, count in segments for first in range(0, count, length)]
    parts = [part for part in parts if part[1] > 2]  # one sample has no velocity

    def way(part):
        t = part[0] + np.linspace(0.0, part[1] * period, 20)
        return np.ptp(_on_clock(probe.position, probe.joints, t), axis=0).sum()

    return sorted(sorted(parts, key=way)[-3:])


def choose_velocity(probe: JointSpaceObservation, wish: str) -> tuple[bool, float | None]:
    """
    Return (use the measured velocity?, largest relative disagreement over the joints).

    probe : unfiltered observation; wish : measured, differentiated, or auto: measured where it
    agrees with the derivative of the positions

    Raises RecordingError when velocities are wished for and not there.
    """
    if not probe.velocity:
        if wish == 'measured':
            raise RecordingError('velocity: measured is asked for', found='no velocities')
        return False, None
    kernel = signals.zero_phase_kernel(probe.clock.period, min(5.0, 0.1 / probe.clock.period))
    square, differ = np.zeros((2, len(probe.joints)))
    for by_sensor, by_position in zip(_velocities(probe, True), _velocities(probe, False)):
        if len(by_sensor) <= len(kernel):
            continue
        for k in range(len(probe.joints)):  # one by one: filtering takes many times their memory
            one, two = (signals.smooth(x[:, k:k + 1], kernel) for x in (by_sensor, by_position))
            square[k] += (two ** 2).sum()
            differ[k] += ((one - two) ** 2).sum()
    with np.errstate(invalid='ignore', divide='ignore'):
        worst = float(np.nanmax(np.sqrt(differ / square))) if np.any(square) else np.inf
    return (worst < 0.1 if wish == 'auto' else wish == 'measured'), worst


def check_moving(probe: JointSpaceObservation) -> None:
    """Raise RecordingError when no joint of ``probe`` moves by more than STILL."""
    span = {joint: float(np.ptp(values)) for joint, (_, values) in probe.position.items()}
    if max(span.values()) < STILL:
        raise RecordingError('the motion excites nothing',
                             found=f'no joint moves more than {max(span.values()):.2g} rad',
                             do='play a designed motion: inertial-id design')


def _usable(clock, half, topic):
    """Return the clock without the segments too short to filter; refuse when none is left."""
    kept = tuple(s for s in clock.segments if s[1] > 2 * half + 3)
    duration = sum(count for _, count in clock.segments) * clock.period
    if duration < SHORTEST:
        raise RecordingError(f'{topic} is too short', found=f'{duration:.3f} s',
                             expected=f'at least {SHORTEST:.0f} s', do='record longer')
    if not kept:
        longest = max(count for _, count in clock.segments) * clock.period
        raise RecordingError(
            f'{topic} is too short', found=f'longest stretch without a gap {longest:.3f} s',
            expected=f'at least {(2 * half + 4) * clock.period:.3f} s to filter it',
            do='record longer, or raise cutoff:')
    return signals.Clock(clock.period, clock.origin_ns, kept, clock.samples, clock.missing,
                         clock.gaps)
