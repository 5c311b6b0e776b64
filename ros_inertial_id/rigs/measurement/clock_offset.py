"""The constant by which one sensor is stamped later than another that saw the same motion."""

import numpy as np

from ...errors import RecordingError
from ...measurement import signals


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

    t : (N,) [s] of reference (N, d); measured_t : (M,) [s] of measured (M, d)
    limit : largest offset believed [s]; topic : for the message

    Raises RecordingError when the best correlation lies at the limit.
    """
    centred = reference - reference.mean(0)
    inside = (t > measured_t[0] + limit) & (t < measured_t[-1] - limit)
    if inside.sum() < 10:
        raise RecordingError(
            'the sensors have too little time in common', found=f'{int(inside.sum())} samples'
        )

    # Interpolation halves white noise midway between samples: smooth it before, or the offset
    # is drawn there.
    measured = signals.smooth(measured, signals.zero_phase_kernel(1.0, 0.1))

    def correlation(offset):
        other = np.stack([np.interp(t[inside] + offset, measured_t, x) for x in measured.T], 1)
        other = other - other.mean(0)
        return float((centred[inside] * other).sum() / np.sqrt((other**2).sum()))

    grid = np.linspace(-limit, limit, 201)
    values = np.array([correlation(x) for x in grid])
    k = int(values.argmax())
    if k in (0, len(grid) - 1):
        raise RecordingError(
            'the sensors are not on one clock',
            found=f'no offset of {topic} that fits',
            expected=f'within +-{limit} s',
            do='raise largest_clock_offset:',
        )
    a, b, _ = np.polyfit(grid[k - 1 : k + 2] - grid[k], values[k - 1 : k + 2], 2)
    return float(grid[k] - b / (2 * a))
