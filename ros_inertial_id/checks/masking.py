"""
Masking: a recording without the samples that checks found bad.

An isolated sample of one joint is dropped for that joint and bridged like a lost message; a window
is dropped for all joints and becomes a gap, on both sides of which the filter starts anew.  The
recording itself is returned where nothing is dropped.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .contacts import MARGIN
from .finding import Finding, MASKED
from ..measurement.joints.channels import JOINT_STATE
from ..measurement.recording import Channel, empty, page_out, Recording

PIECE = 100_000  # samples that are copied together
BRIDGED = 0.04  # [s] that a straight line follows the motion; longer is a gap


def without_bad(recording: Recording, findings: Sequence[Finding]) -> tuple[Recording, float]:
    """
    Return a ``recording`` without what ``findings`` mask, and the share of samples it lost.

    An isolated bad sample counts with its joint alone, a window with all joints.
    """
    masked = [f for f in findings if f.severity == MASKED and f.windows]
    if not masked:
        return recording, 0.0
    origin, channels, share = recording.origin_ns(), {}, 0.0
    for topic, channel in recording.channels.items():
        joints = {name for f in masked for name in f.joints} & set(channel.names)
        if channel.type != JOINT_STATE or not joints:
            channels[topic] = channel
            continue
        channels[topic], lost = _without(channel, masked, origin)
        share = max(share, lost)
    return replace(recording, channels=channels), share


def _without(channel: Channel, masked: Sequence[Finding], origin: int) -> tuple[Channel, float]:
    t = (channel.stamp_ns - origin) * 1e-9
    bad = np.zeros((len(t), len(channel.names)), dtype=bool)
    ordered = bool(np.all(t[1:] >= t[:-1]))
    for finding in masked:
        columns = [channel.names.index(j) for j in finding.joints if j in channel.names]
        for start, end in finding.windows:
            margin = MARGIN if finding.name == 'contact' else 1e-6
            if ordered:  # thousands of windows of hours
                inside = np.arange(np.searchsorted(t, start - margin),
                                   np.searchsorted(t, end + margin, 'right'))
            else:
                inside = np.flatnonzero((t >= start - margin) & (t <= end + margin))
            if end - start > BRIDGED:
                bad[inside] = True
            else:
                bad[inside[:, None], columns] = True
    fields = {name: _masked(values, bad) if values.ndim == 2 else values
              for name, values in channel.fields.items()}
    return replace(channel, fields=fields), float(bad.mean())


def _masked(values: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """Return values (N, k) with NaN where they are ``bad``, piece by piece."""
    out = empty(values.shape, values.dtype)
    for low in range(0, len(values), PIECE):
        page_out()
        part = slice(low, low + PIECE)
        out[part] = np.where(bad[part], np.nan, values[part])
    return out
