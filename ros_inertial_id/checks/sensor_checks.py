"""
Sensor checks: stamps and values of IMUs, markers, poses and wrenches, channel by channel.

A message whose values all lack is a sensor that says so; a value that lacks beside others that
are there is broken.
"""

from collections.abc import Iterator

import numpy as np

from .finding import DOUBTFUL, Finding, NOTE
from .raw_signals import Quantity, runs, windows_of
from .signal_samples import clipped_at, FROZEN, isolated, SOME
from .signal_values import stamp_findings
from ..measurement.recording import Channel

SILENT = 0.2  # share of the messages whose values may repeat before it is worth more than a note
ANGLES = 'orientation'  # a quaternion may change its sign from one message to the next


def sensor_findings(channel: Channel, origin: int) -> Iterator[Finding]:
    """
    Yield what is wrong with stamps and values of a ``channel`` of any sensor.

    origin : zero of time [ns]
    """
    t = (channel.stamp_ns - origin) * 1e-9
    yield from stamp_findings(t, (channel.topic,))
    for name, values in channel.fields.items():
        if values.dtype.kind != 'f':
            continue
        columns = values.reshape(len(values), -1)
        whole = np.isfinite(columns).all(axis=1)
        if whole.sum() > SOME:
            yield from _values(f'{name} on {channel.topic}', channel.topic,
                               Quantity(t[whole], columns[whole]), not name.startswith(ANGLES))


def _values(what: str, topic: str, x: Quantity, jumps: bool) -> Iterator[Finding]:
    still = np.asarray(~np.diff(x.values, axis=0).any(axis=1))
    least = max(SOME, int(FROZEN / x.period))
    found = [(a, b + 1) for a, b in runs(still) if b - a + 1 >= least]
    if found and not still.all():  # what never changes is a constant, not a sensor that froze
        lost = sum(b - a for a, b in found)
        yield Finding('frozen', f'{what} repeats the same values '
                      f'({100 * lost / len(x.t):.2g} % of the messages)',
                      'equal messages in a row',
                      float(lost), 'samples', (topic,),
                      DOUBTFUL if lost > SILENT * len(x.t) else NOTE,
                      'look for a blocked driver', windows_of(x.t, found))
    columns = range(x.values.shape[1])
    ends = [at for at in (clipped_at(x.values[:, k]) for k in columns) if at is not None]
    if ends:
        at = np.any(ends, axis=0)
        yield Finding('clipped', f'{what} stops at its largest value in {100 * at.mean():.2g} % '
                      'of the messages', 'samples exactly at an extreme value', float(at.sum()),
                      'samples', (topic,), DOUBTFUL, 'widen the range of the sensor',
                      windows_of(x.t, [(a, b) for a, b in runs(at) if b > a]))
    bad = np.any([isolated(x, k) for k in columns], axis=0)
    if jumps and bad.any() and bad.mean() < 0.02:
        yield Finding('spikes', f'{what} has spikes',
                      'samples that leave both neighbours', float(bad.sum()), 'samples', (topic,),
                      NOTE, 'look for broken messages or exchanged markers',
                      windows_of(x.t, runs(bad)))
