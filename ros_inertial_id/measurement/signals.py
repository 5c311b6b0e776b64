"""
Signals on one uniform clock: resample, filter, differentiate, choose the cutoff.

Real stamps jitter and drop, so everything is first put on a uniform clock (the median period);
where samples are missing for longer than a few periods the recording falls into segments.  The
filter is one symmetric kernel, the impulse response of a Butterworth filter run forwards and
backwards; live it is cut at the lag that the user accepts.  Derivatives are central differences
of high order convolved with that kernel: signal and derivatives are one band of one signal.
"""

from dataclasses import dataclass, replace
from typing import Iterable, Sequence

import numpy as np

from .sampling import butterworth_kernel, convolve_at, convolve_inside, longest_gap, power_spectra
from ..errors import ConfigError, RecordingError

FILTER_ORDER = 4
ANEW = 10.0  # periods between the first stamps of two episodes, each with a clock of its own
FEWEST_MESSAGES = 10  # of an episode
EPISODES = (
    'episodes one after the other; make a recording of each (several are identified together), '
    'or give all one clock'
)
STENCIL = 6  # half width of the difference stencil: order 12, exact far above any cutoff
SHORT_KERNEL = 400  # samples per row wanted, below which sums of products cost less than FFT
WIDEST = 1_000_000  # samples on each side of a kernel: more than any recording shows
FORGOTTEN = 1e-6  # the kernel ends where its envelope falls below this share of its peak: what is
# cut off bends the passband by as much, and a turn of a joint by that is below any encoder's noise
HIGHEST = 0.25  # cutoff that is chosen, as a share of the sampling rate
SHOWN = 1e-4  # of the power of velocities: a hundredth of the speed is motion and no noise
NOTICED = 1e-2  # of the power of a joint's velocities: a tenth of its speed
NEIGHBOURS = 5  # windows: a moment is in two of them, and so no median
SAME_POWER = 3.0  # times: measured velocities and differences of positions of one motion
SHORTEST_PART = 1.0  # [s] between two steps back of the stamps that is worth to be cut out
FALLEN = 10.0  # in power: chance alone differs less between bands of a few lines


@dataclass(frozen=True)
class Clock:
    """
    A uniform clock laid under jittering stamps.

    period : [s]; origin_ns : zero of all times
    segments : ((start [s], samples), ...) without a gap inside
    samples : number of stamps; missing : samples lost in segments; gaps : number of gaps
    """

    period: float
    origin_ns: int
    segments: tuple
    samples: int
    missing: int
    gaps: int

    @property
    def ticks(self) -> int:
        """Return the number of samples in the segments."""
        return sum(count for _, count in self.segments)

    @property
    def seconds(self) -> float:
        """Return the duration of the segments [s]."""
        return self.ticks * self.period

    @property
    def end(self) -> float:
        """Return when the last segment ends [s]."""
        start, count = self.segments[-1]
        return start + count * self.period

    def without_short(self, least: int, topic: str) -> 'Clock':
        """Return it without segments below ``least`` samples; RecordingError if none is left."""
        long_enough = tuple(s for s in self.segments if s[1] >= least)
        if not long_enough:
            longest = max(count for _, count in self.segments) * self.period
            raise RecordingError(
                f'{topic} is too short',
                found=f'longest stretch without a gap {longest:.3f} s',
                expected=f'at least {least * self.period:.3f} s to filter it',
                do='record longer, or raise cutoff:',
            )
        return replace(self, segments=long_enough)


def longest_run(stamps: np.ndarray) -> slice:
    """
    Return the rows of the longest part of ``stamps`` (N,) that runs forwards and shares no time.

    Of parts that share time only what no other part has counts.
    """
    part = np.cumsum(np.diff(stamps, prepend=stamps[:1]) < 0)
    order = np.argsort(stamps, kind='stable')
    bounds = np.r_[0, np.flatnonzero(np.diff(part[order])) + 1, len(order)]
    longest = int(np.argmax(np.diff(bounds)))
    rows = order[bounds[longest] : bounds[longest + 1]]
    return slice(int(rows[0]), int(rows[-1]) + 1)


def longest_part(t: np.ndarray) -> str:
    """Return advice to cut out the longest part of stamps t (N,) [s] that run forwards."""
    run = longest_run(t)
    first, last = t[run][[0, -1]]
    if last - first < SHORTEST_PART:
        return ''  # others share its time
    start = end = ''
    # Not the stamps at the ends, which another part may have, too.
    if first > t.min():
        start = f'{np.ceil(1e3 * t[run][1]) / 1e3:.3f}'
    if last < t.max():
        end = f'{np.floor(1e3 * t[run][-2]) / 1e3:.3f}'
    return f': BAG@{start}:{end} takes the longest part that runs forwards'


def begins_anew(stamps: np.ndarray) -> bool:
    """Return whether ``stamps`` (N,) go back to where they began, each time: episodes."""
    steps = np.diff(stamps)
    begins = np.flatnonzero(steps < 0) + 1
    if not 0 < begins.size < len(steps) / FEWEST_MESSAGES:
        return False
    near = ANEW * np.median(np.abs(steps))
    return bool((np.abs(stamps[begins] - stamps[0]) <= near).all())


def uniform_clock(stamp_ns: np.ndarray, origin_ns: int, topic: str) -> Clock:
    """
    Return the Clock under stamps ``stamp_ns`` (n,) [ns] of a ``topic``, its zero ``origin_ns``.

    Raises RecordingError for time running backwards, or standing still.
    """
    steps = np.diff(stamp_ns)
    if len(steps) < 2:
        raise RecordingError(
            f'{topic} is too short', expected='at least 3 samples', found=len(stamp_ns)
        )
    back = np.flatnonzero(steps < 0)
    if back.size:
        k = int(back[0])
        advice = 'two publishers or two clocks share the topic, or the clock was reset'
        if begins_anew(stamp_ns):
            advice = f'they begin anew each time: {EPISODES}'
        raise RecordingError(
            f'stamps of {topic} run backwards {back.size} times',
            found=f'first by {-steps[k] * 1e-9:.6f} s at {(stamp_ns[k] - origin_ns) * 1e-9:.3f} s'
            f' (sample {k})',
            do=advice + longest_part((stamp_ns - origin_ns) * 1e-9),
        )
    if not np.any(steps > 0):
        raise RecordingError(f'all stamps of {topic} are equal', expected='increasing stamps')
    period = float(np.median(steps[steps > 0], overwrite_input=True)) * 1e-9
    cuts = np.flatnonzero(steps * 1e-9 > longest_gap(np.array([period])))
    bounds = np.concatenate([[0], cuts + 1, [len(stamp_ns)]])
    segments = []
    for first, last in zip(bounds[:-1], bounds[1:] - 1):
        start = (stamp_ns[first] - origin_ns) * 1e-9
        # The last stamp jitters too: half a period of tolerance keeps it.
        count = int((stamp_ns[last] - stamp_ns[first]) * 1e-9 / period + 0.5) + 1
        segments.append((float(start), count))
    missing = sum(c for _, c in segments) - len(stamp_ns)
    return Clock(
        period, int(origin_ns), tuple(segments), len(stamp_ns), max(0, missing), len(cuts)
    )


def covered(clock: Clock, stamps: np.ndarray) -> Clock:
    """Return the Clock without the parts in which ``stamps`` (n,) [s] of a series lack."""
    steps, period = np.diff(stamps), clock.period
    cuts = np.flatnonzero(steps > longest_gap(steps))
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


def half_kernel(period: float, cutoff: float) -> int:
    """
    Return how many samples, every ``period`` [s], a kernel of ``cutoff`` [Hz] has on each side.

    Raises ConfigError where no recording is as long.
    """
    if cutoff * period >= 0.45:
        return 0
    # The slowest pole of the Butterworth circle, where the bilinear transform puts it: towards
    # Nyquist it decays more slowly than that of the analogue filter.
    pole = np.tan(np.pi * cutoff * period) * np.exp(0.5j * np.pi * (1.0 + 1.0 / FILTER_ORDER))
    half = int(np.ceil(np.log(FORGOTTEN) / np.log(abs((1.0 + pole) / (1.0 - pole)))))
    if half > WIDEST:
        raise ConfigError(
            'cutoff',
            expected=f'at least {cutoff * half / WIDEST:.2g} Hz for samples every {period:.2g} s',
            found=f'{cutoff:.2g} Hz',
        )
    return half


def least_samples(half: int) -> int:
    """Return the samples that a segment needs for a kernel of ``half`` on each side."""
    return 2 * (2 * half // 3) + 4  # in its middle 1e-4 of the kernel reaches beyond its ends


def zero_phase_kernel(period: float, cutoff: float, half_width: float | None = None) -> np.ndarray:
    """
    Return the symmetric kernel (2 h + 1,) of a zero-phase Butterworth low-pass, sum 1.

    period : [s] between samples; cutoff : [Hz], where both passes together leave one half
    half_width : [s], where it is cut with a smooth taper (live: its lag), not where FORGOTTEN
    """
    natural = half_kernel(period, cutoff)
    half = natural
    if half_width is not None:
        half = int(np.ceil(half_width / period))
    if not natural:  # nothing left to remove
        return np.ones(1)
    kernel = butterworth_kernel(period, cutoff, FILTER_ORDER, half)
    if half < natural:
        kernel = kernel * np.hanning(2 * half + 3)[1:-1] ** 0.5
    return kernel / kernel.sum()


def smooth(x: np.ndarray, kernel: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
    """
    Return x (N, k) convolved with a kernel (2 h + 1,); ends are continued by odd reflection.

    rows : of the result that are wanted, all by default; few of them cost less
    Raises RecordingError when x is shorter than the kernel reaches.
    """
    half = len(kernel) // 2
    if half == 0 or not x.shape[1]:
        return x[rows] * kernel[0]
    if len(x) < half + 2:
        raise RecordingError(
            'a segment is too short to filter',
            found=f'{len(x)} samples',
            expected=f'at least {half + 2}',
        )
    continued = _continued(x, half)
    if len(kernel) < SHORT_KERNEL * (rows.step or 1):
        return convolve_at(continued, kernel, rows)
    return convolve_inside(continued, kernel)[rows]


def white_noise(pieces: Iterable[np.ndarray], kernel: np.ndarray) -> np.ndarray:
    """
    Return the standard deviations (k,) of white noise in signals: what is beyond a low-pass.

    pieces : arrays (N_i, k) on a uniform clock; kernel : (2 h + 1,) low-pass of the motion
    """
    return np.sqrt(np.diag(white_covariance(pieces, kernel)))


def white_covariance(pieces: Iterable[np.ndarray], kernel: np.ndarray) -> np.ndarray:
    """Return the covariance (k, k) of white noise; pieces, kernel : see ``white_noise``."""
    half, square, count = len(kernel) // 2, np.zeros(()), 0
    for x in pieces:
        beyond = (x - smooth(x, kernel))[half : len(x) - half]
        square, count = square + beyond.T @ beyond, count + len(beyond)
    share = 1.0 - 2.0 * kernel[half] + (kernel**2).sum()  # of white noise beyond it
    return square / max(count, 1) / share


def smoothed_derivatives(
    x: np.ndarray, kernel: np.ndarray, period: float, order: int = 2
) -> tuple[np.ndarray, ...]:
    """
    Return x and its derivatives up to an ``order`` (N, k), smoothed by one symmetric kernel.

    x : (N, k); kernel : (2 h + 1,); period : [s] between samples; order : 1 or 2
    """
    kernels = derivative_kernels(kernel, period)[:order]
    away = x - x[:1]  # a large constant would only round off
    return smooth(x, kernel), *(smooth(away, longer) for longer in kernels)


def derivative_kernels(
    kernel: np.ndarray, period: float, half_width: int = STENCIL
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the kernels of the smoothed first and second derivative, longer by the stencil.

    kernel : (2 h + 1,) low-pass; period : [s]; half_width : p of the stencil [samples]
    They have 2 (h + p) + 1 and 2 (h + 2 p) + 1 values, in the order of a convolution.
    """
    stencil = _first_difference(half_width) / period
    first = np.convolve(kernel, stencil)
    return first, np.convolve(first, stencil)


def differentiate(x: np.ndarray, period: float) -> np.ndarray:
    """Return the derivative of x (N, k) over ``period`` [s], of order 12 but near the ends."""
    half = min(STENCIL, len(x) - 1)
    stencil = _first_difference(half) / period
    return np.stack(
        [np.convolve(column, stencil, 'valid') for column in _continued(x, half).T], axis=1
    )


def _continued(x, half):
    """Return x (N, k) continued by ``half`` samples at both ends, by odd reflection."""
    return np.concatenate([2 * x[0] - x[half:0:-1], x, 2 * x[-1] - x[-2 : -half - 2 : -1]])


def _first_difference(half_width):
    """Return the central first difference of order 2 p (convolution order) for period 1."""
    k = np.arange(1, half_width + 1)
    ratio = np.cumprod((half_width - k + 1) / (half_width + k))  # p!^2 / ((p - k)! (p + k)!)
    side = (-1.0) ** (k + 1) * ratio / k
    return np.concatenate([side[::-1], [0.0], -side])


def choose_cutoff(
    pieces: Sequence[np.ndarray], period: float, differences: Sequence[np.ndarray] = ()
) -> tuple[float, float]:
    """
    Return (cutoff [Hz], valley [Hz]) for velocities.

    pieces : arrays (N_i, n) on a uniform clock; period : [s]
    differences : the same of the positions, where velocities were measured: what they do not show
        as well is a fault of a velocity, and no motion
    The spectrum of the acceleration falls with the motion and rises again with the noise (white
    noise in v grows with f^2).  The motion ends where the valley between them begins (median over
    the joints); what is quiet below the motion of any joint is no valley.  The torque
    goes on: centrifugal terms double the motion's frequencies, friction at reversals trebles
    them; so the cutoff is three times that, never above a quarter of the sampling rate.
    """
    top = HIGHEST / period
    bands, velocity, levels = _band_powers(pieces, period)
    centres = np.array([np.sqrt(left * right) for left, right, _ in bands])
    usable = max(1, sum(left <= top for left, *_ in bands))
    if differences:
        velocity = np.where(
            SAME_POWER * _band_powers(differences, period)[1] < velocity, 0.0, velocity
        )
    moving = _bands_with_motion(bands, velocity, levels, usable)
    valleys = [
        _valley(level[:usable], count)
        for level, count in zip(levels.T, moving)
        if level.max() > 0.0
    ]  # a joint that stands still says nothing
    if not valleys:
        return top, top / 2
    valley = float(max(np.median(centres[valleys]), centres[min(max(moving), usable - 1)]))
    return float(np.clip(3.0 * valley, 1.0, top)), valley


def _band_powers(pieces, period):
    """Return third octaves (K), and of each the power of velocity and acceleration (K, n)."""
    window = int(min(max(len(piece) for piece in pieces), max(64, 4.0 / period)))
    spectra = [power_spectra(piece, period, window) for piece in pieces if len(piece) >= window]
    frequency, power = spectra[0][0], np.concatenate([p for _, p in spectra])  # (K, F, n)
    # Near half the rate differences of positions show neither motion nor noise.
    bands = _third_octaves(frequency[: max(2, np.searchsorted(frequency, 1.6 * HIGHEST / period))])
    speed = (power[:, 1:] / frequency[1:, None]).sum(axis=1)  # next to nothing of noise
    velocity = _mean_without_jumps([power[:, rows].sum(axis=1) for *_, rows in bands], speed)
    power *= (2.0 * np.pi * frequency[:, None]) ** 2
    return (
        bands,
        velocity,
        _mean_without_jumps([power[:, rows].mean(axis=1) for *_, rows in bands], speed),
    )


def _mean_without_jumps(power, speed):
    """
    Return the mean power (B, n) over windows, none counted FALLEN times above its NEIGHBOURS.

    power : B times (K, n) in windows; speed : (K, n) of all bands together
    A velocity that jumps for a moment is in all bands of the two windows that share it; a fast
    motion lasts for more.  Their median is that of the windows in which the joint moves.
    """
    power, count = np.stack(power, axis=1), len(speed)
    some = np.arange(min(NEIGHBOURS, count))
    near = np.clip(np.arange(count) - NEIGHBOURS // 2, 0, count - len(some))[:, None] + some
    speed = speed[near]  # (K, NEIGHBOURS, n)
    moving = speed >= NOTICED * speed.max(axis=1, keepdims=True)
    typical = np.nanmedian(np.where(moving[:, :, None], power[near], np.nan), axis=1)
    return np.minimum(power, FALLEN * typical).mean(axis=0)


def _third_octaves(frequency):
    """Return (low [Hz], high [Hz], rows) of the third octaves in which frequencies (F,) lie."""
    low, end = frequency[1], frequency[-1]
    edges = low * 2.0 ** (np.arange(int(3 * np.log2(end / low)) + 2) / 3.0)
    rows = np.searchsorted(frequency, edges)
    return [
        (left, right, slice(a, b))
        for left, right, a, b in zip(edges[:-1], edges[1:], rows[:-1], rows[1:])
        if b > a
    ]


def _bands_with_motion(bands, velocity, levels, usable):
    """
    Return how many bands there are up to the highest in which a joint moves, of each (n,).

    bands : K as above; velocity : (K, n) power in them; levels : (K, n) of acceleration
    usable : how many of them a cutoff may let through
    The band of most speed is motion, and those after it until the speed has FALLEN.  Above them
    a motion is SHOWN by its speed beside that of the fastest joint (noise may accelerate as
    much), and it ends: within an octave the acceleration has FALLEN, that of noise rises or stays.
    Where velocities jump, acceleration is flat up to the bandwidth of the joint: what is flat
    over the octave below has to be NOTICED in the speed of the joint.
    """
    low, high = np.array([band[:2] for band in bands]).T
    centres = np.sqrt(low * high)
    density = velocity / (high - low)[:, None]
    count = np.zeros(velocity.shape[1], int)
    for j, first in enumerate(np.argmax(density, axis=0)):
        fallen = FALLEN * density[first:, j] < density[first, j]
        if fallen.any() and density[first, j] > SHOWN * density.max():
            count[j] = first + np.argmax(fallen)
    up_to_band = np.cumsum(velocity, axis=0)  # noise beyond a band says nothing of it
    for k, centre in enumerate(centres[: min(usable, len(centres) - 1)]):
        below = levels[np.searchsorted(centres, centre / 2.1) : max(1, k)]
        above = levels[k + 1 : max(k + 2, np.searchsorted(centres, 2.1 * centre))]
        flat = (levels[k] < FALLEN * below.min(axis=0)) & (below.max(axis=0) < FALLEN * levels[k])
        moves = (
            (levels[k] > FALLEN * above.min(axis=0))
            & (velocity[k] > SHOWN * up_to_band[k].max())
            & (~flat | (velocity[k] > NOTICED * up_to_band[k]))
        )
        count[moves] = k + 1
    return count


def _valley(levels, first):
    """Return the lowest of levels (K,) from ``first`` on that is near to the quietest of them."""
    first = min(first, len(levels) - 1)
    # Not the quietest itself: a valley may be wide.
    return first + int(np.argmax(levels[first:] <= 3.0 * levels[first:].min()))
