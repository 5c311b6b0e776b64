"""
Averaging over whole periods, exact: the player marks in the bag where its periods begin.

A periodic motion seen N times is one period with noise smaller by sqrt(N) and the same signal,
without a filter's bias (Swevers et al. 1997, section IV).  The clock of the average divides the
period into a whole number of samples, so it closes on itself: filters run across its ends.
"""

from dataclasses import dataclass

import numpy as np
import yaml

from ..interpolation import interpolate
from ..recording import Recording
from ..signals import Clock
from ...errors import RecordingError


@dataclass(frozen=True)
class Periods:
    """period : [s]; starts_ns : (k,) int64, where those begin that were played in this time."""

    period: float
    starts_ns: np.ndarray


def read_periods(recording: Recording) -> Periods:
    """
    Return the Periods that the player marked in a ``recording``.

    Raises RecordingError without any, and for text that cannot be read or periods not whole.
    """
    if not recording.periods:
        raise RecordingError(
            'average_periods: true is asked for', found='no periods marked in the recording',
            do='record excitation/periods while the player plays, or leave average_periods: false')
    try:
        content = yaml.safe_load(recording.periods)
        period, bounds = float(content['period_s']), np.array(content['bounds_ns'], dtype=np.int64)
    except (yaml.YAMLError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise RecordingError('the periods in the recording cannot be read',
                             expected='period_s: SECONDS, bounds_ns: [NANOSECONDS, ...]',
                             found=f'{type(error).__name__}: {error}') from None
    steps = np.diff(bounds) * 1e-9 if bounds.ndim == 1 else np.zeros(0)
    # The player rounds to nanoseconds; a period that a busy computer stretched is none.
    whole = np.abs(steps - period) < 1e-8
    if not period > 0 or not whole.any():
        raise RecordingError('the periods in the recording are not whole',
                             expected=f'bounds_ns {period:g} s apart, at least two',
                             found=steps.tolist())
    return Periods(period, bounds[:-1][whole])


def average(periods: Periods, clock: Clock, groups: tuple) -> tuple[Clock, tuple, int]:
    """
    Return (Clock of one period, groups averaged over the periods that have no gap, their number).

    periods : Periods marked; clock : Clock of the recording
    groups : tuple of {joint: (stamps [s], values)}
    Every series is put on the clock as everywhere in this package, see interpolation.py.

    Raises RecordingError when no period is without a gap.
    """
    starts = (periods.starts_ns - clock.origin_ns) * 1e-9
    count = max(int(round(periods.period / clock.period)), 1)
    step = periods.period / count
    whole = [s for s in starts if _inside(s, periods.period, clock)]
    if not whole:
        raise RecordingError(
            'no marked period is wholly in the recording',
            expected=f'{periods.period:g} s without a gap from one of '
                     + ', '.join(f'{s:.3f}' for s in starts) + ' s',
            exists=[f'{s:.3f} to {s + (n - 1) * clock.period:.3f} s' for s, n in clock.segments],
            do='record the whole motion, or leave average_periods: false')
    t = whole[0] + np.arange(count) * step
    averaged = tuple({joint: (t, _mean(series, whole, count, step))
                      for joint, series in group.items()} for group in groups)
    samples = sum(n for _, n in clock.segments)
    return (Clock(step, clock.origin_ns, ((whole[0], count),), samples, clock.missing,
                  clock.gaps), averaged, len(whole))


def _inside(start, period, clock):
    """Return whether a segment holds the period; the last sample may be a step before its end."""
    return any(first <= start + clock.period
               and start + period <= first + count * clock.period + clock.period
               for first, count in clock.segments)


def _mean(series, starts, count, step):
    stamps, values = series
    return np.mean([interpolate(stamps, values[:, None], start + np.arange(count) * step)[:, 0]
                    for start in starts], axis=0)
