"""
signal_findings: all signal checks of the joints of one recording, without each other's echoes.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .finding import Finding, MASKED
from . import signal_samples, signal_values
from .raw_signals import Quantity, RawSignals


def signal_findings(signals: RawSignals) -> list[Finding]:
    """Return the Findings of the signal checks of the ``signals`` of joints."""
    found = [f for one in (*signal_samples.CHECKS.values(), *signal_values.CHECKS.values())
             for f in one(signals)]
    # Bad samples contradict the positions too: velocities are compared without them.
    found += signal_values.velocities(_whole(signals, [
        w for f in found if f.severity == MASKED for w in f.windows]))
    return _without_echoes(found)


def _whole(signals: RawSignals, windows: Sequence[tuple[float, float]]) -> RawSignals:
    """Return ``signals`` without the positions and velocities of some ``windows`` [s]."""
    if not windows or signals.velocity is None:
        return signals
    t = signals.position.t
    keep = np.ones(len(t), dtype=bool)
    for start, end in windows:
        keep[np.searchsorted(t, start - 1e-9):np.searchsorted(t, end + 1e-9)] = False
    if len(signals.velocity.t) != len(t) or keep.sum() < len(t) / 2:
        return signals
    cut = (Quantity(t[keep], x.values[keep]) for x in (signals.position, signals.velocity))
    return replace(signals, position=next(cut), velocity=next(cut))


def _without_echoes(findings: Sequence[Finding]) -> list[Finding]:
    """Return ``findings`` without those that another one causes: jumps are no spikes."""
    names = {f.name for f in findings}
    if 'two robots on one topic' in names or 'stamps run backwards' in names:
        return [f for f in findings if f.name in ('two robots on one topic',
                                                  'stamps run backwards')]
    if 'position not unwrapped' in names:
        return [f for f in findings if 'velocity' not in f.name and 'position sp' not in f.name
                and f.name != 'wrong rate or stamps']
    if 'position in degrees' in names:
        return [f for f in findings if f.name != 'velocity in another unit'
                and f.name != 'wrong rate or stamps']
    return list(findings)
