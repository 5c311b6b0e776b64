"""Recordings as arrays, and the motion that every entry is asked for."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.signal import butter, sosfiltfilt

EDGE_S = 0.5  # [s] at both ends of a test that are not judged: the filter's
Limit = int | float | str | None


@dataclass(frozen=True)
class Recording:
    """
    N samples of n joints as they were published.

    t : (N,) [s] since the first one; q : (N, n) [rad]; v : (N, n) [rad/s] or None
    tau : (N, n) [N m, or A of currents], None where commands are all there is
    command : (N, n) [rad] commanded positions or None; servo : its (stiffness, damping)
    """

    joints: tuple[str, ...]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray | None
    tau: np.ndarray | None
    command: np.ndarray | None = None
    servo: tuple[float, float] = (np.nan, np.nan)

    def part(self, begin: Limit, end: Limit) -> 'Recording':
        """Return samples from ``begin`` to ``end``: a number of samples, a share, or '14 s'."""
        rows = slice(self._index(begin, 0), self._index(end, len(self.t)))
        changes = {
            name: None if array is None else array[rows]
            for name, array in (
                ('t', self.t),
                ('q', self.q),
                ('v', self.v),
                ('tau', self.tau),
                ('command', self.command),
            )
        }
        return replace(self, **changes)

    def _index(self, limit: Limit, otherwise: int) -> int:
        if limit is None:
            return otherwise
        if isinstance(limit, str):
            return int(np.searchsorted(self.t, float(limit.removesuffix('s')), side='left'))
        if isinstance(limit, float):
            return int(limit * len(self.t))
        return limit


@dataclass(frozen=True)
class Motion:
    """What is asked and judged: t (N,), q, v, a filtered, tau and tau_raw (N, n), uniform."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    tau_raw: np.ndarray
    cutoff_hz: float

    def low_passed(self, signal: np.ndarray) -> np.ndarray:
        """Return a signal (N, n) behind the filter of all signals here."""
        return low_passed(signal, self.t, self.cutoff_hz)

    @property
    def judged(self) -> slice:
        """Return the samples away from both ends."""
        edge = int(EDGE_S / (self.t[1] - self.t[0]))
        return slice(edge, len(self.t) - edge)


def motion(recording: Recording, cutoff_hz: float) -> Motion:
    """
    Return the Motion of a Recording on a uniform clock, behind a zero-phase filter.

    Butterworth of fourth order both ways at ``cutoff_hz``; velocities as measured where they are,
    else central differences of positions; accelerations central differences of velocities.
    """
    t = recording.t
    kept = np.concatenate([[True], np.diff(t) > 0.0])
    clock = np.arange(t[0], t[-1], np.median(np.diff(t[kept])))
    tau_raw = _on(clock, t[kept], recording.tau[kept])
    q = low_passed(_on(clock, t[kept], recording.q[kept]), clock, cutoff_hz)
    v = np.gradient(q, clock, axis=0)
    if recording.v is not None:
        v = low_passed(_on(clock, t[kept], recording.v[kept]), clock, cutoff_hz)
    a = np.gradient(v, clock, axis=0)
    tau = low_passed(tau_raw, clock, cutoff_hz)
    return Motion(clock - clock[0], q, v, a, tau, tau_raw, cutoff_hz)


def low_passed(signal: np.ndarray, t: np.ndarray, cutoff_hz: float) -> np.ndarray:
    """Return a signal (N, n) of a uniform clock ``t`` behind the zero-phase filter."""
    rate = 1.0 / (t[1] - t[0])
    return sosfiltfilt(butter(4, cutoff_hz, fs=rate, output='sos'), signal, axis=0)


def _on(clock: np.ndarray, t: np.ndarray, signal: np.ndarray) -> np.ndarray:
    return np.column_stack([np.interp(clock, t, column) for column in signal.T])
