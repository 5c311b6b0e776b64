"""
Live signals: the same as offline, at a fixed small lag.

Out come the stamps of those samples for which as much of the future is known as the filter needs
(twice: once for the signals, once for columns with corners, which are filtered as the torque
was), and a JointSpaceState on a uniform clock around them.
"""

from typing import Any, Callable, Sequence

import numpy as np

from . import signals
from .joints.channels import columns_of
from .joints.drives import DriveOptions, joint_side
from .joints.kinematic_state import JointSpaceState
from .joints.live_clock import endpoint_kernels, joined_rows, Kernels, LiveClock
from .joints.wrapping import Unwrapper
from .recording import Channel
from .sampling import LONGEST_GAP, NEAR_STAMPS, PERIODS
from ..errors import RecordingError

FIRST_SAMPLES = 50  # from which the period of the clock is read
CUBIC = 4  # samples by which it is interpolated
OTHERS = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])  # of the samples of a cubic
SPARE_TICKS = 3  # around what a filter needs: stamps fall between ticks
FITTED = 1.0  # periods of the cutoff that the causal cubic is fitted to
REFERENCE = 0.1  # [s] lag with which its noise is compared
QUANTITIES = 'position', 'velocity', 'effort'


class Window:
    """The newest samples of one topic: t (N,) [s], rows (N, k)."""

    def __init__(self):
        self.t, self.rows = np.empty(0), np.empty((0, 0))

    def add(self, t: np.ndarray, rows: np.ndarray, longest: float) -> bool:
        """
        Append ``rows`` (N, k) at times t (N,) [s]; those stamped twice are left out.

        Return False when time ran backwards or stood for longer than the ``longest`` pause [s]:
        the window was begun anew.
        """
        last = np.nextafter(t[0], -np.inf)
        if len(self.t):
            last = self.t[-1]
        steps = np.diff(np.concatenate([[last], t]))
        if not steps.all():
            new = steps != 0.0
            t, rows, steps = t[new], rows[new], steps[new]
        jumps = np.flatnonzero((steps < 0.0) | (steps > longest))
        if jumps.size:
            t, rows = t[jumps[-1] :], rows[jumps[-1] :]
            self.t, self.rows = np.empty(0), rows[:0]
        self.t = np.concatenate([self.t, t])
        self.rows = joined_rows(self.rows, rows)
        return not jumps.size

    def covers(self, t: np.ndarray) -> bool:
        """Return whether there are samples from the first to the last of times t (M,) [s]."""
        return bool(len(self.t)) and self.t[0] <= t[0] <= t[-1] <= self.t[-1]

    def forget(self, before: float) -> None:
        """Drop the samples ``before`` a time [s]."""
        old = int(np.searchsorted(self.t, before))
        self.t, self.rows = self.t[old:], self.rows[old:]

    def at(self, t: np.ndarray) -> np.ndarray:
        """Return rows (M, k) at times t (M,) [s], not-a-number outside of the window."""
        if len(self.t) < CUBIC:
            return np.full((len(t), self.rows.shape[1]), np.nan)
        after = np.searchsorted(self.t, t)
        first = np.minimum(np.maximum(after - CUBIC // 2, 0), len(self.t) - CUBIC)  # fast clip
        first = first[:, None] + np.arange(CUBIC)
        stamps = self.t[first]
        away = t[:, None] - stamps
        weights = np.prod(away[:, OTHERS] / (stamps[:, :, None] - stamps[:, OTHERS]), axis=2)
        out = np.einsum('mi,mik->mk', weights, self.rows[first])
        steps = stamps[:, 1:] - stamps[:, :-1]
        least = steps.min(axis=1)
        middle = steps.sum(axis=1) - least - steps.max(axis=1)  # of three, faster than median
        lone = (least < NEAR_STAMPS * middle) | ~np.isfinite(out).all(axis=1)
        if lone.any():  # beside one that is not there, or stamped as another
            out[lone] = self._between_two(t[lone], after[lone])
        out[(t < self.t[0]) | (t > self.t[-1])] = np.nan
        return out

    def _between_two(self, t: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return rows (M, k) at times t (M,) [s] by the samples before and ``after`` (M,)."""
        after = np.clip(after, 1, len(self.t) - 1)
        low, high = self.t[after - 1], self.t[after]
        share = ((t - low) / (high - low))[:, None]
        return (1.0 - share) * self.rows[after - 1] + share * self.rows[after]


class LiveMotion:
    """
    Motion and loads of a machine while it runs.

    cutoff [Hz], measured_velocity : as identified; lag : [s], how far in the past the newest
    state lies; 0: a causal fit to the past alone; shift : [s] that loads are stamped late
    turn : (n, m) from loads as recorded to those of the rows
    acceleration_noise_factor : noise of the acceleration over that at a lag of 0.1 s, where
        causal
    """

    def __init__(
        self,
        cutoff: float,
        measured_velocity: bool,
        lag: float,
        turn: np.ndarray,
        shift: float = 0.0,
    ):
        self._cutoff, self.measured_velocity, self.lag = cutoff, measured_velocity, lag
        self._turn, self._shift = turn, shift
        self._takers: dict[str, list] = {}
        self._begun: set[str] = set()  # topics of which something came
        self._loads: dict[int, Window] = {}
        self._awaited: list[Window] = []
        self.gaps, self.acceleration_noise_factor = 0, 1.0
        self.origin_ns: int | None = None
        self._motion = Window()
        self._stop_clock()

    def _stop_clock(self):
        """Let a clock begin anew under the samples of the motion from here on."""
        self._period = 0.0  # [s]
        self._clock: LiveClock | None = None
        self._done = -np.inf  # [s] the newest stamp that was handed out

    @property
    def topics(self) -> tuple[str, ...]:
        """Return the topics whose samples are needed."""
        return tuple(self._takers)

    def listen(self, topic: str, take: Callable[[Channel], None]) -> None:
        """Hand the Channels of a ``topic`` to ``take``, which calls ``move`` or ``load``."""
        self._takers.setdefault(topic, []).append(take)

    def add(self, channel: Channel) -> None:
        """Take a ``channel`` of new samples; RecordingError says which of them cannot be used."""
        # One may be the begin of a log whose time begins at 0; a driver that does not stamp sends
        # nothing else.
        first = channel.topic not in self._begun
        self._begun.add(channel.topic)
        if np.count_nonzero(channel.stamp_ns) < len(channel.stamp_ns) - first:
            raise RecordingError(
                f'{channel.topic.lstrip("/")} carry no stamps', do='let the driver stamp them'
            )
        if self.origin_ns is None:
            self.origin_ns = int(channel.stamp_ns[0])
        for take in self._takers[channel.topic]:
            take(channel)

    def seconds(self, stamp_ns: np.ndarray) -> np.ndarray:
        """Return stamps ``stamp_ns`` (N,) [ns] as seconds after the first of all."""
        return (stamp_ns - self.origin_ns) * 1e-9

    def move(self, t: np.ndarray, q: np.ndarray, v: np.ndarray | None = None) -> None:
        """Add samples of the motion: q, v (N, n) at t (N,) [s]; v only where it is measured."""
        rows = np.asarray(q)
        if v is not None and self.measured_velocity:
            rows = np.hstack([q, v])
        longest = max(LONGEST_GAP, PERIODS * self._period)
        if len(t) and not self._motion.add(t, rows, longest):
            self.gaps += 1
            self._stop_clock()

    def load(self, sensor: int, t: np.ndarray, values: np.ndarray) -> None:
        """Add the loads ``values`` (N, k) at t (N,) [s] of a ``sensor``, by its number."""
        if len(t):
            self._loads.setdefault(sensor, Window()).add(t, values, LONGEST_GAP)

    def wait_for(self, window: Window) -> None:
        """Hand out no sample before the ``window`` of another sensor reaches as far."""
        self._awaited.append(window)

    def take(self) -> tuple[np.ndarray, Any] | None:
        """
        Return (stamps (m,) [s] of the samples that can be filtered now, JointSpaceState), or None.

        Every sample comes once.  The state's clock covers the stamps with the samples' own
        period.  Its tau are the loads, not-a-number where they were not received.
        """
        t = self._motion.t
        clock = self._clock or self._begin(t)
        if clock is None:
            return None
        until = self._received_until(float(t[-1]))
        # The last tick lies before a sample, so that no motion is continued beyond what is known.
        ticks = clock.times(clock.moved, clock.ticks(until - self._period))
        if len(ticks):
            clock.move(self._motion.at(ticks))
        margin = (clock.ahead + clock.half + SPARE_TICKS) * self._period
        stamps = t[(t > self._done) & (t <= until - margin)]
        if not len(stamps):
            return None
        first, last = clock.ticks(stamps[0]) - 1, clock.ticks(stamps[-1] + self._period) - 1
        ticks = clock.times(clock.loaded, last + clock.half + 1)
        clock.load(self._torques(ticks))
        self._done = stamps[-1]
        before = self._done - CUBIC * self._period
        self._motion.forget(before)
        for window in self._loads.values():
            window.forget(before + self._shift - LONGEST_GAP)
        return stamps, self._state(stamps, clock.state(first, last))

    def _received_until(self, newest: float) -> float:
        """Return until when [s] motion and loads are there; ``newest`` : stamp of the motion."""
        received = [w.t[-1] - self._shift for w in self._loads.values() if len(w.t)]
        received += [window.t[-1] for window in self._awaited if len(window.t)]
        # Those late by a gap are not waited for.
        return min([newest, *(t for t in received if newest - LONGEST_GAP < t)])

    def _state(self, stamps: np.ndarray, state: JointSpaceState) -> Any:
        """Return the State of the method around ``stamps``, by the ``state`` of the joints."""
        return state

    def _torques(self, t):
        """Return the loads on the rows (M, n) at ticks t (M,) [s]."""
        loads = [window.at(t + self._shift) for _, window in sorted(self._loads.items())]
        none = np.full((len(t), self._turn.shape[1]), np.nan)
        return np.concatenate(loads or [none], axis=1) @ self._turn.T

    def _begin(self, t):
        """Return a clock under the first samples, with a filter that the lag allows, or None."""
        if len(t) < FIRST_SAMPLES:
            return None
        if t[-1] - t[0] < LONGEST_GAP:  # a burst of a late driver is no rate
            return None
        steps = np.diff(t)
        self._period = float(np.median(steps[steps > NEAR_STAMPS * steps.mean()]))
        causal = self.lag == 0.0
        if causal:
            kernels, kernel = self._causal_kernels(), np.ones(1)
        else:
            kernels = self._kernels(self.lag)
            kernel = kernels[0]
        clock = LiveClock(t[0], self._period, kernels, kernel, self.measured_velocity, causal)
        self._clock = clock
        self._done = t[0] + (clock.past + clock.half + SPARE_TICKS) * self._period
        return clock

    def _causal_kernels(self):
        """Return the kernels of motion and derivatives by the past alone; note their noise."""
        kernels = past_kernels(self._period, self._cutoff)
        symmetric = self._kernels(REFERENCE)
        acceleration = 2
        if self.measured_velocity:
            acceleration = 1
        noise, reference = kernels[acceleration], symmetric[acceleration]
        self.acceleration_noise_factor = float(np.linalg.norm(noise) / np.linalg.norm(reference))
        return kernels

    def _kernels(self, lag):
        """Return the kernels of motion and derivatives that a lag [s] allows."""
        samples = int(lag / self._period - SPARE_TICKS - 1)
        stencil = min(max(samples // 12, 1), signals.STENCIL)
        half = max((samples - 2 * stencil) // 2, 1)
        kernel = signals.zero_phase_kernel(self._period, self._cutoff, (half - 0.5) * self._period)
        return kernel, *signals.derivative_kernels(kernel, self._period, stencil)


def past_kernels(period: float, cutoff: float) -> Kernels:
    """Return the Kernels by the past alone of a motion below a ``cutoff`` [Hz]; period : [s]."""
    return endpoint_kernels(period, 2 * max(int(FITTED / cutoff / period / 2), 3) + 1)


def listen_to_joints(
    live: LiveMotion, topic: str, joints: Sequence[str], drives: DriveOptions
) -> None:
    """Let ``live`` take the motion of ``joints``, behind ``drives``, from a ``topic``."""
    unwrap, driver = Unwrapper(joints), DriverMessages(joints)
    needed: tuple[str, ...] = ('position',)
    if live.measured_velocity:
        needed = ('position', 'velocity')

    def take(channel: Channel) -> None:
        rows, values = driver(joint_side(unwrap(channel), joints, drives))
        live.move(live.seconds(channel.stamp_ns[rows]), values['position'], values['velocity'])
        driver.refuse_without(needed, topic)

    live.listen(topic, take)


def listen_to_efforts(live: LiveMotion, topic: str, joints: Sequence[str]) -> None:
    """Let ``live`` take the efforts of ``joints`` from the joint states on a ``topic``."""
    driver = DriverMessages(joints)

    def take(channel: Channel) -> None:
        rows, values = driver(channel)
        if 'effort' in driver.fields:
            live.load(0, live.seconds(channel.stamp_ns[rows]), values['effort'])
        driver.refuse_without(('effort',), topic)

    live.listen(topic, take)


class DriverMessages:
    """
    The messages of the driver of ``joints`` on its topic: those that carry all its ``fields``.

    Others may repeat its positions there, without velocity and effort and at stamps of their own.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints, self.fields, self._any = tuple(joints), set[str](), False

    def __call__(self, channel: Channel) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return (rows (M,), {name: (M, n)}) of the driver's messages in a JointState Channel."""
        if self._is_complete(channel):  # as most are: nothing to pick
            self._any, self.fields = True, set(QUANTITIES)
            return np.arange(len(channel)), dict(channel.fields)
        rows, values = carried(channel, self._joints, QUANTITIES)
        complete = {name: np.isfinite(x).all(1) for name, x in values.items()}
        self._any |= len(rows) > 0
        self.fields |= {name for name, x in complete.items() if x.any()}
        good = np.full(len(rows), bool(self.fields))
        for name in self.fields:
            good &= complete[name]
        return rows[good], {name: x[good] for name, x in values.items()}

    def _is_complete(self, channel: Channel) -> bool:
        """Return whether all messages carry all quantities of the joints and of no others."""
        if not len(channel) or channel.names != self._joints:
            return False
        if len(channel.fields) != len(QUANTITIES):
            return False
        return all(np.isfinite(x).all() for x in channel.fields.values())

    def refuse_without(self, needed: Sequence[str], topic: str) -> None:
        """Raise RecordingError where messages came, and none carried what is ``needed``."""
        missing = [name for name in needed if name not in self.fields]
        if self._any and missing:
            raise RecordingError(
                f'{topic.lstrip("/")} carry no {" or ".join(missing)} of all joints'
            )


def carried(
    channel: Channel, joints: Sequence[str], names: Sequence[str]
) -> tuple[np.ndarray, dict]:
    """
    Return (rows (M,), {name: (M, n)}) of the messages of a Channel that carry n ``joints``.

    names : of fields wanted; RecordingError when the topic has some of the joints, not all
    """
    missing = [joint for joint in joints if joint not in channel.names]
    if len(missing) == len(joints):
        return np.empty(0, int), {name: np.empty((0, len(joints))) for name in names}
    if missing:
        raise RecordingError(
            f'{channel.topic.lstrip("/")} lack joints', expected=missing, exists=channel.names
        )
    columns = columns_of(channel, joints)
    values = {name: x[:, columns] for name, x in channel.fields.items()}
    some = np.any([np.isfinite(x).any(1) for x in values.values()], axis=0)
    rows = np.flatnonzero(some)
    lacking = np.full((len(rows), len(joints)), np.nan)
    wanted = {name: lacking for name in names}
    for name in values.keys() & wanted.keys():
        wanted[name] = values[name][rows]
    return rows, wanted
