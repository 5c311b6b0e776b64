"""signal_findings: all signal checks of one recording's joints, without echoes."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from . import signal_samples, signal_values
from .finding import Finding, MASKED
from .raw_signals import Quantity, RawSignals

LEAST = 20  # samples: fewer show no rate and no noise

REPEATED = 0.05  # share of the messages: fewer bend no comparison


def signal_findings(signals: RawSignals) -> list[Finding]:
    """
    Return the Findings of the signal checks of the ``signals`` of joints.

    None where there is too little to compare: the identification says why it cannot be used.
    """
    t = signals.position.t
    if len(t) < LEAST or not t[-1] > t[0]:
        return list(signals.broken)
    found = [f for one in (*signal_samples.CHECKS.values(), *signal_values.CHECKS.values())
             for f in one(signals)]
    # Bad samples contradict the positions too: velocities are compared without them.
    bad = [w for f in found if f.severity == MASKED and not f.name.startswith('effort')
           for w in f.windows]
    found += signal_values.velocities(_without_repeats(signals), bad)
    return [*signals.broken, *_without_echoes(found)]


def _without_repeats(signals: RawSignals) -> RawSignals:
    """Return ``signals`` without positions and velocities of messages like the one before."""
    position, velocity = signals.position, signals.velocity
    if velocity is None or len(velocity.t) != len(position.t):
        return signals
    keep = np.append(True, ~signal_samples.still_rows(signals))
    if keep.mean() > 1.0 - REPEATED or keep.sum() < 2:
        return signals
    return replace(signals, position=Quantity(position.t[keep], position.values[keep]),
                   velocity=Quantity(velocity.t[keep], velocity.values[keep]))


def _without_echoes(findings: Sequence[Finding]) -> list[Finding]:
    """Return ``findings`` without those that another one causes: jumps are no spikes."""
    names = {f.name for f in findings}
    if 'two robots on one topic' in names or 'stamps run backwards' in names:
        return [f for f in findings if f.name in ('two robots on one topic',
                                                  'stamps run backwards')]
    if 'position not unwrapped' in names:
        return [f for f in findings if 'velocity' not in f.name and 'position sp' not in f.name
                and f.name != 'wrong rate or stamps']
    if 'stamps jitter' in names:
        return [f for f in findings if f.name != 'wrong rate or stamps']
    if 'position in degrees' in names:
        return [f for f in findings if f.name != 'velocity in another unit'
                and f.name != 'wrong rate or stamps']
    return list(findings)
