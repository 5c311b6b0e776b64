"""Delays of efforts that an identification takes off: which are worth a word, and the words."""

from .thresholds import LATE_OF_ALL
from ..measurement.summary import Summary

NOTED_DELAY = 2.0  # standard errors


def way_of(delay: float) -> str:
    """Return whether what has a ``delay`` [s] is behind something or ahead of it."""
    if delay > 0:
        return 'behind'
    return 'ahead of'


def delay_found(summary: Summary) -> float:
    """Return the delay [s] of the efforts that was found, 0 where it is not worth a word."""
    delay, error = summary.time_offset_found or 0.0, summary.time_offset_error or 0.0
    if abs(delay) < max(LATE_OF_ALL, NOTED_DELAY * error):
        return 0.0
    return delay


def delay_words(summary: Summary) -> str:
    """Return the delay that was found in words, with its error: "20.0 +- 0.1 ms behind"."""
    delay, error = summary.time_offset_found or 0.0, summary.time_offset_error or 0.0
    return f'{1e3 * abs(delay):.1f} +- {1e3 * error:.1g} ms {way_of(delay)}'
