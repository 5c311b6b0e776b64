"""
Kinematic states: what the joints did, on a uniform clock, ready for the equations of motion.

A JointSpaceObservation turns a recording's joint channels into JointSpaceStates, piece by piece:
memory stays that of one piece however long the recording is.
"""

from dataclasses import dataclass, field, replace
from typing import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from .commands import PositionControl
from .drives import DriveOptions
from .. import signals
from ..recording import page_out
from ..sampling import held, interpolate, REACH
from ...options import option, topic_option

AT_REST = 0.01  # [rad or m] that a joint goes in all where it stands still
PIECE = 8192  # samples of one state
MOST = 256  # rows of a History; of more the smallest reversals go: noise at rest moves no friction


@dataclass(frozen=True)
class SignalOptions(DriveOptions):
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
    velocity: str = option(
        'auto',
        'use measured velocities, differentiated positions, or decide by agreement',
        choices=('auto', 'measured', 'differentiated'),
    )
    cutoff: float = option(
        0.0, 'low-pass cutoff; 0: chosen from the data', unit='Hz', at_least=0.0
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
        while len(q) > MOST:
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
            kept = range(*around.keep.indices(len(around.q)))[chosen]
            around = replace(around, keep=slice(kept.start, kept.stop, kept.step))
        # Copies: a view of few samples would keep the whole piece alive.
        t, q, v, a, tau, tau_raw = (
            x[chosen].copy() for x in (self.t, self.q, self.v, self.a, self.tau, self.tau_raw)
        )
        late = None if self.late is None else self.late[chosen].copy()
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
        return [
            signals.smooth(x[len(before.q) :], around.kernel, around.keep)
            for x in columns(
                *(
                    np.concatenate(pair)
                    for pair in (
                        (before.q, around.q),
                        (before.v, around.v),
                        (np.zeros_like(before.q), around.a),
                    )
                )
            )
        ]


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


@dataclass(frozen=True)
class JointSpaceObservation:
    """
    The joint motion of one recording; ``states()`` computes it piece by piece, each time anew.

    joints : n names; position, velocity, effort : {joint: (stamps [s], values)}; velocity may
        be empty; effort as recorded, turned into joint torques by effort_map (n, m)
    control : of drives that are commanded; then effort is what they were commanded, held
    clock : uniform; kernel : of the filter; measured_velocity : whether it is used
    trim : [s] left out of training at both ends of a segment; decimate : training stride
    cut : whether begin and end are left out always: of a window of what was recorded
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
    cut: tuple[bool, bool] = (False, False)
    control: PositionControl | None = None

    @property
    def effort_source(self):
        """TEMPORARY until EffortSource."""
        from types import SimpleNamespace
        c = self.control
        return SimpleNamespace(is_commanded=c is not None, may_be_late=c is None,
                               brakes_only=c is not None and not c.damping.any(), scale_error=0.01)

    def samples(self, training: bool = False) -> int:
        """Return about how many samples ``states`` will yield."""
        count = sum(count for _, count in self.clock.segments)
        return -(-count // self.decimate) if training else count

    def states(self, training: bool = False) -> Iterator[JointSpaceState]:
        """
        Yield JointSpaceStates in order of time, all samples of the clock.

        training : leave out the ends of every segment, where the filter had to guess (``trim``
        [s]), and keep only every ``decimate``-th sample; otherwise only ends are left out that
        are ``cut``
        """
        decimate = self.decimate if training else 1
        # Half a kernel and its stencils to filter the signals, half a kernel to filter columns.
        period, reach = self.clock.period, len(self.kernel) + 2 * signals.STENCIL + 1
        exact = len(self.kernel) // 2 + 2 * signals.STENCIL  # of a piece, this far from its ends
        for number, (start, count) in enumerate(self.clock.segments):
            begin, end = self._trimmed(number, count, training)
            if end - begin <= 2:
                continue
            around = None
            for low in range(begin, end, PIECE):
                page_out()
                high = min(low + PIECE, end)
                first = max(0, low - reach) if low - reach > reach else 0
                last = min(count, high + reach) if count - high > 2 * reach else count
                times = start + np.arange(first, last) * period
                keep = slice(low - first + (begin - low) % decimate, high - first, decimate)
                lead = exact if first else 0
                motion = self._motion(times)
                before = around.until(times[lead]) if around else History.none(len(self.joints))
                t, q, v, a = (x[lead:] for x in (times, *motion))
                around = FilterContext(
                    t,
                    q,
                    v,
                    a,
                    self.kernel,
                    slice(keep.start - lead, keep.stop - lead, decimate),
                    before,
                )
                q, v, a = (x[keep] for x in motion)
                raw, late = self._efforts(times)
                yield JointSpaceState(
                    times[keep],
                    number,
                    q,
                    v,
                    a,
                    signals.smooth(raw, self.kernel, keep),
                    raw[keep],
                    around,
                    None if late is None else signals.smooth(late, self.kernel, keep),
                )

    def _efforts(self, t):
        """Return torques (N, n) at times t (N,) [s], and the part of them by commands, or None."""
        if self.control is None:
            return self.on_clock(self.effort, t) @ self.effort_map.T, None
        period = self.clock.period
        stamps = next(iter(self.effort.values()))[0]
        near = slice(*(np.searchsorted(stamps, t[[0, -1]]) + [-2, 2]).clip(0))
        commanded = held(
            stamps[near], np.stack([x[near] for _, x in self.effort.values()], axis=1), t, period
        )
        q = self.on_clock(self.position, t)
        v = self.on_clock(self.velocity, t) if self.velocity else signals.differentiate(q, period)
        return self.control.torques(commanded, q, v), commanded

    def _trimmed(self, number, count, training):
        """Return where in a segment of ``count`` samples the first and the last one count."""
        edge = int(round(self.trim / self.clock.period))
        last = number == len(self.clock.segments) - 1
        return (
            edge if training or number == 0 and self.cut[0] else 0,
            count - edge if training or last and self.cut[1] else count,
        )

    def on_clock(self, series: Mapping, t: np.ndarray) -> np.ndarray:
        """Return (N, n) values of series {joint: (stamps, values)} at times t (N,) [s]."""
        together: dict[int, list] = {}
        for k, (stamps, _) in enumerate(series.values()):
            together.setdefault(id(stamps), []).append(k)
        columns, out = list(series.values()), np.empty((len(t), len(series)))
        for ks in together.values():
            stamps = columns[ks[0]][0]
            near = slice(*np.searchsorted(stamps, t[[0, -1]]) + [-2 * REACH, 2 * REACH])
            near = slice(max(0, near.start), near.stop)
            out[:, ks] = interpolate(
                stamps[near], np.stack([columns[k][1][near] for k in ks], axis=1), t
            )
        return out

    def _motion(self, t):
        """Return q, v, a (N, n) at times t (N,) [s], filtered."""
        period, kernel = self.clock.period, self.kernel
        q = self.on_clock(self.position, t)
        if not self.measured_velocity:
            return signals.smoothed_derivatives(q, kernel, period)
        v = self.on_clock(self.velocity, t)
        return signals.smooth(q, kernel), *signals.smoothed_derivatives(v, kernel, period, 1)
