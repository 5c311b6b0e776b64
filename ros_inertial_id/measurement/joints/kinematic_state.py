"""
Kinematic states: what the joints did, on a uniform clock, ready for the equations of motion.

A JointSpaceObservation turns a recording's joint channels into JointSpaceStates, piece by piece:
memory stays that of one piece however long the recording is.
"""

from dataclasses import dataclass, replace
from typing import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from .drives import DriveOptions
from .effort_source import EffortSource
from .. import signals
from ..recording import page_out
from ..sampling import held, interpolate, SPLINE_REACH
from ..summary import Summary
from ...options import option, topic_option

AT_REST = 0.01  # [rad or m] that a joint goes in all where it stands still
SAMPLES_OF_STATE = 8192
LONGEST_HISTORY = 256  # rows; of more the smallest reversals go: noise at rest moves no friction


@dataclass(frozen=True)
class CutoffOptions:
    """What is cut off."""

    cutoff: float = option(
        0.0, 'low-pass cutoff; 0: chosen from the data', unit='Hz', at_least=0.0
    )


@dataclass(frozen=True)
class VelocityOptions:
    """Which joint velocities are used."""

    velocity: str = option(
        'auto',
        'use measured velocities, differentiated positions, or decide by agreement',
        choices=('auto', 'measured', 'differentiated'),
    )


@dataclass(frozen=True)
class SignalOptions(CutoffOptions, VelocityOptions, DriveOptions):
    """How joint signals are read and prepared."""

    joint_states_topic: str = topic_option(
        '',
        'topic of the joint states, or a list of several in recordings; empty: the one, or '
        'those, that carry the joints',
    )
    effort_topic: str = topic_option(
        '',
        'JointState topic of the efforts, where they are not in the joint states; of drives '
        'that are commanded the topic of the commands, and one of a feedforward beside it',
    )
    decimate: int = option(
        0,
        'learn from every that many sample; 0: ten per period of the '
        'cutoff, more add no information',
        at_least=0,
        at_most=10_000,
    )


@dataclass(frozen=True)
class History:
    """
    The way of n joints before the samples at hand, in order of time, where one of them turns.

    By it friction with a memory (Dahl 1968) is the same whether a motion is read at once or
    piece by piece.

    q, v : (m, n) positions [rad, m] and velocities, of which only the direction is kept
    """

    q: np.ndarray
    v: np.ndarray

    @classmethod
    def none(cls, joints: int) -> 'History':
        """Return the History of so many ``joints`` of which nothing is known."""
        return cls(np.empty((0, joints)), np.empty((0, joints)))

    def extended(self, q: np.ndarray, v: np.ndarray) -> 'History':
        """Return the History that goes on with samples q, v (N, n)."""
        q, v = np.concatenate([self.q, q]), np.concatenate([self.v, np.sign(v)])
        if len(q) > 2:
            step = np.sign(np.diff(q, axis=0))
            keep = np.ones(len(q), dtype=bool)
            ((step[1:] != step[:-1]) | (v[2:] != v[1:-1])).any(axis=1, out=keep[1:-1])
            q, v = q[keep], v[keep]
        while len(q) > LONGEST_HISTORY:
            q, v = _without_smallest(q, v)
        return History(q, v)


def _without_smallest(q, v):
    """Return q, v without the quarter of the reversals on which the least way is lost."""
    step = np.diff(q, axis=0)
    lost = np.abs(step[:-1]) + np.abs(step[1:]) - np.abs(step[:-1] + step[1:])
    inner = np.arange(1, len(q) - 1, 2)  # no two that follow one another
    smallest = inner[np.argsort(lost.max(axis=1)[inner - 1], kind='stable')[: len(q) // 4]]
    v = v.copy()
    v[smallest + 1] = 0.0  # the direction there is that of the step
    return np.delete(q, smallest, axis=0), np.delete(v, smallest, axis=0)


@dataclass(frozen=True)
class JointSpaceState:
    """
    Consecutive samples of n joints on a uniform clock.

    t : (N,) [s] after the first stamp of the recording; segment : number of the stretch
    q, v, a : (N, n) position, velocity, acceleration [rad, m, s]
    tau, tau_raw : (N, n) joint torque [N m] (force [N]) filtered like q, and as recorded
    around : what lies around these samples, so that a column can be filtered as tau was
    late : (N, n) the part of tau that may be late, filtered; None: all of it
    """

    t: np.ndarray
    segment: int
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    tau_raw: np.ndarray
    around: 'FilterContext | None' = None
    late: np.ndarray | None = None

    def rows(self, chosen: slice) -> 'JointSpaceState':
        """Return the state of the samples ``chosen`` by a slice."""
        around = self.around
        if around is not None:
            rows = range(*around.keep.indices(len(around.q)))[chosen]
            around = replace(around, keep=slice(rows.start, rows.stop, rows.step))
        # Copies: a view of few samples would keep the whole piece alive.
        t, q, v, a, tau, tau_raw = (
            x[chosen].copy() for x in (self.t, self.q, self.v, self.a, self.tau, self.tau_raw)
        )
        late = self.late
        if late is not None:
            late = late[chosen].copy()
        return JointSpaceState(t, self.segment, q, v, a, tau, tau_raw, around, late)

    def filtered(self, columns: Callable[..., Iterable[np.ndarray]]) -> list[np.ndarray]:
        """
        Return each of columns(q, v, a) as (N, k), filtered by the filter that tau went through.

        columns : function of (M, n) q, v, a [rad, rad/s, rad/s^2; m] to arrays (M, k)
        A function with corners (friction at reversals) of filtered velocities is sharper than
        the filtered torque it explains; filtered alike, they match (parallel filtering, Gautier
        1997).  Of motions that are given the columns come as they are.
        """
        around = self.around
        if around is None:
            return list(columns(self.q, self.v, self.a))
        before = around.before
        q = np.concatenate([before.q, around.q])
        v = np.concatenate([before.v, around.v])
        a = np.concatenate([np.zeros_like(before.q), around.a])
        since = len(before.q)
        return [signals.smooth(x[since:], around.kernel, around.keep) for x in columns(q, v, a)]


@dataclass(frozen=True)
class FilterContext:
    """
    A wider stretch t (M,), q, v, a (M, n), the kernel, and which rows are the state's.

    before : History of the way to the first row
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    kernel: np.ndarray
    keep: slice
    before: History

    def until(self, t: float) -> History:
        """Return the History of the way to the rows from time ``t`` [s] on."""
        early = int(np.searchsorted(self.t, t - 1e-9))
        return self.before.extended(self.q[:early], self.v[:early])


def _piece_with_reach(low: int, high: int, count: int, reach: int) -> tuple[int, int]:
    """Return a piece [low, high) of ``count`` samples, ``reach`` wider; no short rest is left."""
    first, last = low - reach, high + reach
    if first <= reach:
        first = 0
    if count - last <= reach:
        last = count
    return first, last


@dataclass(frozen=True)
class JointSpaceObservation:
    """
    The joint motion of one recording; ``states()`` computes it piece by piece, each time anew.

    joints : n names; position, velocity, effort : {joint: (stamps [s], values)}; velocity may
        be empty; effort as recorded, of commanded drives what was commanded, held until the next
    effort_source : what these efforts are
    clock : uniform; kernel : of the filter; measured_velocity : whether it is used
    trim : [s] left out of training at both ends of a segment; decimate : training stride
    cut : whether begin and end are left out always: of a window of what was recorded
    summary : what was understood, for logs and the model file
    """

    joints: Sequence[str]
    position: Mapping
    velocity: Mapping
    effort: Mapping
    clock: signals.Clock
    kernel: np.ndarray
    measured_velocity: bool
    effort_source: EffortSource
    trim: float = 0.0
    decimate: int = 1
    summary: Summary = Summary()
    cut: tuple[bool, bool] = (False, False)

    def samples(self, training: bool = False) -> int:
        """Return about how many samples ``states`` will yield."""
        if training:
            return -(-self.clock.ticks // self.decimate)
        return self.clock.ticks

    def states(self, training: bool = False) -> Iterator[JointSpaceState]:
        """
        Yield JointSpaceStates in order of time, all samples of the clock.

        training : leave out the ends of every segment, where the filter had to guess (``trim``
        [s]), and keep only every ``decimate``-th sample; otherwise only ends are left out that
        are ``cut``
        """
        decimate = 1
        if training:
            decimate = self.decimate
        for number in range(len(self.clock.segments)):
            yield from self._segment_states(number, training, decimate)

    def _segment_states(
        self, number: int, training: bool, decimate: int
    ) -> Iterator[JointSpaceState]:
        """Yield the JointSpaceStates of a segment, by its ``number``, piece by piece."""
        start, count = self.clock.segments[number]
        period = self.clock.period
        # Half a kernel and its stencils to filter the signals, half a kernel to filter columns.
        reach = len(self.kernel) + 2 * signals.STENCIL + 1
        exact = len(self.kernel) // 2 + 2 * signals.STENCIL  # of a piece, this far from its ends
        begin, end = self._trimmed(number, count, training)
        if end - begin <= 2:
            return
        around = None
        for low in range(begin, end, SAMPLES_OF_STATE):
            page_out()
            high = min(low + SAMPLES_OF_STATE, end)
            first, last = _piece_with_reach(low, high, count, reach)
            times = start + np.arange(first, last) * period
            keep = slice(low - first + (begin - low) % decimate, high - first, decimate)
            lead = 0
            if first:
                lead = exact
            q, v, a = self._motion(times)
            before = History.none(len(self.joints))
            if around is not None:
                before = around.until(times[lead])
            around = FilterContext(
                times[lead:],
                q[lead:],
                v[lead:],
                a[lead:],
                self.kernel,
                slice(keep.start - lead, keep.stop - lead, decimate),
                before,
            )
            raw, commanded = self._efforts(times)
            late = None
            if commanded is not None:
                late = signals.smooth(commanded, self.kernel, keep)
            yield JointSpaceState(
                times[keep],
                number,
                q[keep],
                v[keep],
                a[keep],
                signals.smooth(raw, self.kernel, keep),
                raw[keep],
                around,
                late,
            )

    def _efforts(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return torques (N, n) at times t (N,) [s], and the part of them by commands, or None."""
        if not self.effort_source.is_commanded:
            return self.effort_source.torque(self.on_clock(self.effort, t)), None
        q = self.on_clock(self.position, t)
        if self.velocity:
            v = self.on_clock(self.velocity, t)
        else:
            v = signals.differentiate(q, self.clock.period)
        commanded = self._commanded(t)
        return self.effort_source.torque(commanded, q, v), commanded

    def _commanded(self, t: np.ndarray) -> np.ndarray:
        """Return commanded values (N, n) at times t (N,) [s]: means over a period."""
        stamps = next(iter(self.effort.values()))[0]
        near = slice(*(np.searchsorted(stamps, t[[0, -1]]) + [-2, 2]).clip(0))
        commands = np.stack([x[near] for _, x in self.effort.values()], axis=1)
        return held(stamps[near], commands, t, self.clock.period)

    def _trimmed(self, number, count, training):
        """Return the first sample of a segment of ``count`` that is given out, and the end."""
        edge = int(round(self.trim / self.clock.period))
        cut_begin, cut_end = self.cut
        begin, end = 0, count
        if training or (number == 0 and cut_begin):
            begin = edge
        if training or (number == len(self.clock.segments) - 1 and cut_end):
            end = count - edge
        return begin, end

    def on_clock(self, series: Mapping, t: np.ndarray) -> np.ndarray:
        """Return (N, n) values of series {joint: (stamps, values)} at times t (N,) [s]."""
        columns_of: dict[int, list[int]] = {}  # of series with the same stamps
        for k, (stamps, _) in enumerate(series.values()):
            columns_of.setdefault(id(stamps), []).append(k)
        each, out = list(series.values()), np.empty((len(t), len(series)))
        for columns in columns_of.values():
            stamps, _ = each[columns[0]]
            low, high = np.searchsorted(stamps, t[[0, -1]]).tolist()
            near = slice(max(0, low - 2 * SPLINE_REACH), high + 2 * SPLINE_REACH)
            values = np.stack([each[k][1][near] for k in columns], axis=1)
            out[:, columns] = interpolate(stamps[near], values, t)
        return out

    def _motion(self, t):
        """Return q, v, a (N, n) at times t (N,) [s], filtered."""
        period, kernel = self.clock.period, self.kernel
        q = self.on_clock(self.position, t)
        if not self.measured_velocity:
            return signals.smoothed_derivatives(q, kernel, period)
        v = self.on_clock(self.velocity, t)
        return signals.smooth(q, kernel), *signals.smoothed_derivatives(v, kernel, period, 1)
