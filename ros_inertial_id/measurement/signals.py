"""
Signals on one uniform clock: resample, filter, differentiate, choose the cutoff.

Real stamps jitter and drop, so everything is first put on a uniform clock (the median period) by
linear interpolation; where samples are missing for longer than a few periods the recording falls
into segments.  The filter is one symmetric kernel, the impulse response of a Butterworth filter
run forwards and backwards: offline it is long (nothing of the response is lost), live it is cut
at the lag that the user accepts.  So live and offline are the same code, and a long recording can
be filtered piece by piece with the same result as in one.
"""

from dataclasses import dataclass, replace
from typing import Sequence

import numpy as np
from scipy import signal

from ..errors import RecordingError

LONGEST_GAP = 0.05  # [s]: a motion at 5 Hz is still followed by a straight line in between
FILTER_ORDER = 4
FORGOTTEN = 1e-4  # the kernel ends where its envelope falls below this share of its peak


@dataclass(frozen=True)
class Clock:
    """
    A uniform clock laid under jittering stamps.

    period : [s]; origin_ns : zero of all times
    segments : ((start [s], samples), ...) stretches without a gap
    samples : number of stamps; missing : samples lost in stretches; gaps : number of gaps
    """

    period: float
    origin_ns: int
    segments: tuple
    samples: int
    missing: int
    gaps: int


def uniform_clock(stamp_ns: np.ndarray, origin_ns: int, topic: str) -> Clock:
    """
    Return the Clock under increasing stamps.

    stamp_ns : (n,) int64 [ns]; origin_ns : zero of all times; topic : for the messages

    Raises RecordingError for time running backwards, or standing still.
    """
    steps = np.diff(stamp_ns)
    if len(steps) < 2:
        raise RecordingError(f'{topic} is too short', expected='at least 3 samples',
                             found=len(stamp_ns))
    back = np.flatnonzero(steps < 0)
    if back.size:
        k = int(back[0])
        raise RecordingError(
            f'stamps of {topic} run backwards {back.size} times',
            found=f'first by {-steps[k] * 1e-9:.6f} s at {(stamp_ns[k] - origin_ns) * 1e-9:.3f} s'
                  f' (sample {k})',
            do='two publishers or two clocks share the topic, or the clock was reset: '
               'cut the recording there with @START:END')
    if not np.any(steps > 0):
        raise RecordingError(f'all stamps of {topic} are equal', expected='increasing stamps')
    period = float(np.median(steps[steps > 0], overwrite_input=True)) * 1e-9
    longest = max(LONGEST_GAP, 10 * period) * 1e9
    cuts = np.flatnonzero(steps > longest)
    bounds = np.concatenate([[0], cuts + 1, [len(stamp_ns)]])
    segments = []
    for first, last in zip(bounds[:-1], bounds[1:] - 1):
        start = (stamp_ns[first] - origin_ns) * 1e-9
        # The last stamp jitters too: half a period of tolerance keeps it.
        count = int((stamp_ns[last] - stamp_ns[first]) * 1e-9 / period + 0.5) + 1
        segments.append((float(start), count))
    missing = sum(c for _, c in segments) - len(stamp_ns)
    return Clock(period, int(origin_ns), tuple(segments), len(stamp_ns), max(0, missing),
                 len(cuts))


def covered(clock: Clock, stamps: np.ndarray) -> Clock:
    """
    Return the Clock without the stretches in which a series with ``stamps`` (n,) [s] is silent.

    clock : Clock of another series
    A series at a rate of its own is silent for longer than a few of its own periods.
    """
    steps, period = np.diff(stamps), clock.period
    longest = max(LONGEST_GAP, 10 * float(np.median(steps))) if len(steps) else 0.0
    cuts = np.flatnonzero(steps > longest)
    segments = []
    for start, count in clock.segments:
        for low, high in zip(stamps[np.r_[0, cuts + 1]], stamps[np.r_[cuts, len(stamps) - 1]]):
            # As above, half a period of tolerance.
            first = max(0, int(np.ceil((low - start) / period - 0.5)))
            last = min(count - 1, int(np.floor((high - start) / period + 0.5)))
            if last > first:
                segments.append((start + first * period, last - first + 1))
    more = len(segments) - len(clock.segments)
    return replace(clock, segments=tuple(segments), gaps=clock.gaps + max(0, more))


def zero_phase_kernel(period: float, cutoff: float, half_width: float | None = None
                      ) -> np.ndarray:
    """
    Return the symmetric kernel (2 h + 1,) of a zero-phase Butterworth low-pass, sum 1.

    period : [s] between samples
    cutoff : [Hz], where the forward and backward pass together leave one half
    half_width : [s], cut the kernel there (live: its lag) with a smooth taper; default: where
        less than FORGOTTEN of the response remains
    """
    if cutoff * period >= 0.45:  # nothing left to remove
        return np.ones(1)
    sos = signal.butter(FILTER_ORDER, 2.0 * cutoff * period, output='sos')
    # The slowest pole of the Butterworth circle decays with w_c sin(pi / 2 n).
    decay = 2.0 * np.pi * cutoff * np.sin(np.pi / (2 * FILTER_ORDER))
    natural = -np.log(FORGOTTEN) / decay
    half = int(np.ceil((half_width or natural) / period))
    impulse = np.zeros(2 * max(half, int(np.ceil(1.5 * natural / period))) + 1)
    middle = len(impulse) // 2
    impulse[middle] = 1.0
    kernel = signal.sosfiltfilt(sos, impulse, padlen=0)[middle - half:middle + half + 1]
    kernel = 0.5 * (kernel + kernel[::-1])  # the ends of the impulse leave a little asymmetry
    if half_width is not None and half_width < natural:
        kernel = kernel * signal.windows.hann(2 * half + 3)[1:-1] ** 0.5
    return kernel / kernel.sum()


def smooth(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Return x (N, k) filtered by a symmetric kernel; ends are continued by odd reflection."""
    half = len(kernel) // 2
    if half == 0:
        return x
    extended = np.concatenate([2 * x[0] - x[half:0:-1], x, 2 * x[-1] - x[-2:-half - 2:-1]])
    return smooth_inside(extended, kernel)


def smooth_inside(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Return x (N, k) filtered where the kernel (2 h + 1,) lies wholly inside: (N - 2 h, k)."""
    return signal.oaconvolve(x, kernel[:, None], mode='valid', axes=0)


def differentiate(x: np.ndarray, period: float) -> np.ndarray:
    """Return the central differences of x (N, k) over ``period`` [s]; one-sided at the ends."""
    return np.gradient(x, period, axis=0)


def choose_cutoff(pieces: Sequence[np.ndarray], period: float) -> tuple[float, float]:
    """
    Return (cutoff [Hz], valley [Hz]) for velocities.

    pieces : arrays (N_i, n) on a uniform clock; period : [s]
    The spectrum of the acceleration falls with the motion and rises again with the noise (white
    noise in v grows with f^2).  The motion ends where the valley between them begins (median over
    the joints).  The torque goes on: centrifugal terms double the motion's frequencies, friction
    at reversals trebles them; so the cutoff is three times that, never above a quarter of the
    sampling rate.
    """
    length = max(len(piece) for piece in pieces)
    window = int(min(length, max(64, 4.0 / period)))
    total, weight = np.zeros(1), 0
    power = np.empty((window // 2 + 1, pieces[0].shape[1]))
    for piece in pieces:
        if len(piece) < window:
            continue
        for k, column in enumerate(piece.T):  # one by one: welch takes ten times their memory
            frequency, power[:, k] = signal.welch(column, 1.0 / period, nperseg=window,
                                                  detrend='linear')
        total, weight = total + len(piece) * power, weight + len(piece)
    acceleration = total / weight * (2 * np.pi * frequency[:, None]) ** 2
    top = 0.25 / period
    valleys = []
    for column in acceleration.T:
        if column.max() <= 0.0:
            continue  # a joint that stands still says nothing
        centres, levels = _octave_levels(frequency, column, top)
        # The lowest band that is nearly as quiet as the quietest: a valley may be wide.
        quiet = np.flatnonzero(np.array(levels) <= 3.0 * min(levels))
        valleys.append(centres[int(quiet[0])])
    valley = float(np.median(valleys)) if valleys else top / 2
    return float(np.clip(3.0 * valley, 1.0, top)), valley


def _octave_levels(frequency, power, top):
    """Return third-octave band centres [Hz] and mean powers from the lowest line to ``top``."""
    low = frequency[1]
    edges = low * 2.0 ** (np.arange(int(3 * np.log2(top / low)) + 2) / 3.0)
    centres, levels = [], []
    for left, right in zip(edges[:-1], edges[1:]):
        inside = (frequency >= left) & (frequency < right)
        if inside.any():
            centres.append(np.sqrt(left * right))
            levels.append(power[inside].mean())
    return centres, levels
