"""
Clocks of markers: which topics have one of their own, and all of them on one.

Detectors stamp what they saw by clocks of their own, late by some milliseconds.
"""

from dataclasses import replace
from typing import Mapping, Sequence

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from .markers import Marker
from ...errors import RecordingError
from ...measurement import signals

ONE_CLOCK = 0.5    # share of stamps that two topics of one camera have in common
SLOW = 0.5         # of the samples of the fastest topic: too slow to be the clock
GAP = 1.6          # periods: between samples further apart nothing is interpolated


def own_clocks(markers: Sequence[Marker]) -> list[str]:
    """
    Return the topics of ``markers`` that do not share the stamps of the first one's, in order.

    They are of detectors that stamp their results themselves: each has a clock of its own, and an
    offset.  Where another topic is much faster than the first, it is the clock.
    """
    stamps = _stamps(markers)
    clock = next(iter(stamps.values()))
    return [topic for topic, t in stamps.items() if np.isin(t, clock).mean() < ONE_CLOCK]


def _stamps(markers):
    """Return topic -> its stamps (n,) [s]; first the topic that is the clock."""
    out: dict[str, np.ndarray] = {}
    for marker in markers:
        out[marker.topic] = np.union1d(out.get(marker.topic, marker.t), marker.t)
    most = max(len(t) for t in out.values())
    first = next(topic for topic, t in out.items() if len(t) > SLOW * most)
    return {first: out.pop(first), **out}


def on_one_clock(markers: Sequence[Marker], offsets: Mapping[str, float]) -> list[Marker]:
    """
    Return the Markers on the stamps of those without an offset.

    offsets : topic -> [s] that it is stamped late; these are interpolated, the others untouched

    A topic slower than the others gets a value only on the stamp nearest to each of its samples.
    """
    t = np.unique(np.concatenate([m.t for m in markers if m.topic not in offsets]))
    near = 0.5 * float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    return [_at(m, t, offsets[m.topic], near) if m.topic in offsets else m for m in markers]


def _at(marker, t, offset, near):
    """Return a Marker at the times t (M,) where samples, ``offset`` late, lie around them."""
    stamps, first = np.unique(marker.t, return_index=True)
    if len(stamps) < 4:
        raise RecordingError(f'marker {marker.name} was seen {len(stamps)} times')
    wanted, period = t + offset, float(np.median(np.diff(stamps)))
    after = np.clip(np.searchsorted(stamps, wanted), 1, len(stamps) - 1)
    left, right = stamps[after - 1], stamps[after]
    aside = np.minimum(np.abs(wanted - left), np.abs(wanted - right))
    inside = (wanted >= left) & (wanted <= right) & (right - left < GAP * period)
    # The stamp nearest to a sample is at most half a step of the slower of the two away from it.
    kept = inside & (aside <= max(near, 1e-9) * (1 + 1e-6))
    wanted = wanted[kept]
    position = CubicSpline(stamps, marker.position[first])(wanted)
    rotation = None
    if marker.rotation is not None:
        seen = np.isfinite(marker.rotation[first]).all((1, 2))
        turned = CubicSpline(stamps[seen], marker.rotation[first][seen])(wanted)
        rotation = Rotation.from_matrix(turned).as_matrix()  # orthogonal again
    return replace(marker, t=t[kept], position=position, rotation=rotation)


def clock_offset(t: np.ndarray, reference: np.ndarray, measured_t: np.ndarray,
                 measured: np.ndarray, limit: float, topic: str) -> float:
    """
    Return the offset [s] that ``measured`` is stamped late, by correlation with ``reference``.

    t : (N,) [s] of reference (N, d); measured_t : (M,) [s] of measured (M, d)
    limit : largest offset believed [s]; topic : for the message

    Raises RecordingError when the best correlation lies at the limit.
    """
    centred = reference - reference.mean(0)
    inside = (t > measured_t[0] + limit) & (t < measured_t[-1] - limit)
    if inside.sum() < 10:
        raise RecordingError('the sensors have too little time in common',
                             found=f'{int(inside.sum())} samples')

    # Interpolation halves white noise midway between samples: smooth it before, or the offset
    # is drawn there.
    measured = signals.smooth(measured, signals.zero_phase_kernel(1.0, 0.1))

    def correlation(offset):
        other = np.stack([np.interp(t[inside] + offset, measured_t, x) for x in measured.T], 1)
        other = other - other.mean(0)
        return float((centred[inside] * other).sum() / np.sqrt((other ** 2).sum()))

    grid = np.linspace(-limit, limit, 201)
    values = np.array([correlation(x) for x in grid])
    k = int(values.argmax())
    if k in (0, len(grid) - 1):
        raise RecordingError('the sensors are not on one clock',
                             found=f'no offset of {topic} that fits',
                             expected=f'within +-{limit} s', do='raise largest_clock_offset:')
    a, b, _ = np.polyfit(grid[k - 1:k + 2] - grid[k], values[k - 1:k + 2], 2)
    return float(grid[k] - b / (2 * a))
