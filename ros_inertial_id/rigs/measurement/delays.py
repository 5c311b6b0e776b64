"""
How late one signal is behind another, roughly: on a grid of delays.

No step from zero finds a delay that is longer than the motion lasts.  What is left is linear, and
estimated with the model: of torques and wrenches by the core's time offset, of IMUs by the fusion.
"""

import numpy as np

from ...errors import RecordingError
from ...measurement import signals

OFFSETS = 201  # of an IMU's clock that are tried
SMOOTHED = 0.1  # cutoff, share of the rate, of what is read at other times
FEWEST_IN_COMMON = 10  # samples


def before_reading(values: np.ndarray) -> np.ndarray:
    """
    Return ``values`` (N, k) smoothed, to be read between their stamps.

    Interpolation halves white noise midway between samples: a delay would be drawn there.
    """
    return signals.smooth(values, signals.zero_phase_kernel(1.0, SMOOTHED))


def delay_of_least(delays: np.ndarray, misfit: np.ndarray) -> float | None:
    """
    Return the delay [s] of the least misfit, between steps as well, None at an end.

    delays : (d,) equal steps [s]; misfit : (d,) at these
    """
    k = int(misfit.argmin())
    if k in (0, len(delays) - 1):
        return None
    before, least, after = misfit[k - 1 : k + 2]
    bend = before - 2.0 * least + after
    if bend <= 0.0:
        return float(delays[k])
    return float(delays[k] + 0.5 * (before - after) / bend * (delays[1] - delays[0]))


def clock_offset(
    t: np.ndarray,
    reference: np.ndarray,
    measured_t: np.ndarray,
    measured: np.ndarray,
    limit: float,
    topic: str,
) -> float:
    """
    Return the offset [s] that ``measured`` is stamped late, by correlation with ``reference``.

    t : (N,) [s] of reference (N,); measured_t : (M,) [s] of measured (M,), the same quantity
    limit : largest offset believed [s]; topic : for the message

    Raises RecordingError when the best correlation lies at the limit.
    """
    inside = (t > measured_t[0] + limit) & (t < measured_t[-1] - limit)
    if inside.sum() < FEWEST_IN_COMMON:
        raise RecordingError(
            'the sensors have too little time in common', found=f'{int(inside.sum())} samples'
        )
    offsets, smooth = np.linspace(-limit, limit, OFFSETS), before_reading(measured[:, None])[:, 0]
    read = np.array([np.interp(t[inside] + x, measured_t, smooth) for x in offsets])
    read -= read.mean(1, keepdims=True)
    correlation = read @ (reference - reference.mean())[inside] / np.linalg.norm(read, axis=1)
    offset = delay_of_least(offsets, -correlation)
    if offset is None:
        raise RecordingError(
            'the sensors are not on one clock',
            found=f'no offset of {topic} that fits',
            expected=f'within +-{limit} s',
            do='stamp both by one clock; of bodies largest_clock_offset: may be raised',
        )
    return offset
