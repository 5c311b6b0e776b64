"""
Signal checks of values and stamps: units, signs, jumps, two publishers, velocity and position.

Every check takes RawSignals and yields Findings; ``CHECKS`` lists those that need no other.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from .finding import DOUBTFUL, Finding, NOTE, WRONG
from .signals import Quantity, RawSignals
from ..measurement.sampling import longest_gap, moving_mean
from ..measurement.signals import longest_part

DEGREES = 180.0 / np.pi
UNITS = {
    DEGREES: 'degrees per second',
    60.0 / (2 * np.pi): 'revolutions per minute',
    1.0 / DEGREES: 'radians where the positions are degrees',
    1e3: 'thousandths',
}
OFF = 1.1  # factor between two velocities from which one of them is wrong
ALIKE = 0.03  # relative: scales of joints that are one scale
SMOOTH = 0.03  # [s] over which velocities are averaged before they are compared
LONGEST = 0.15  # [s] of a delay that is looked for
LATE = 0.005  # [s] of a delay that is no delay of a filter
GAP = 5.0  # periods without a sample
DAY = 86400.0  # [s] between two samples: no pause, but another clock
FAR = 10.0  # periods between messages that come some at a time, if most time is there
JITTER = 0.5  # of the period, from which a step is irregular
GRID = 0.25  # of the period, within which a step is a whole number of periods
ON_GRID = 0.8  # of the steps that are whole periods where more than half of the messages are lost
FEW = 0.01  # of the messages: fewer that lack or repeat change nothing
UNKNOWN = 0.2  # of the time in gaps that are not bridged, from which too little is left
NEAR_ZERO = 0.02  # of the largest effort
VISITS = 4  # of zero, which an effort with a sign crosses
STANDING = 10  # steps of an encoder between which the position of an arm at rest may change


def degrees(signals: RawSignals) -> Iterator[Finding]:
    """Yield positions of ``signals`` that the limits of the description do not allow as rad."""
    q = signals.position.values
    span = np.nanmax(
        np.abs(np.stack([signals.lower, signals.upper])),
        axis=0,
        initial=0.0,
        where=np.isfinite(np.stack([signals.lower, signals.upper])),
    )
    limit = np.where(span > 0.0, span, 2 * np.pi)
    outside = np.abs(q) > 1.5 * limit
    fits = np.abs(q).max(axis=0) / DEGREES < 1.05 * limit
    bad = ~signals.prismatic & fits & (outside.mean(axis=0) > 0.01) & (np.ptp(q, axis=0) > 0.2)
    # A crank may turn as often as it likes: without limits, only beside others that have them.
    limited = np.isfinite(signals.upper)
    bad &= limited | bool(np.any(bad & limited))
    if not bad.any():
        return
    names = signals.names(bad)
    yield Finding(
        'position in degrees',
        f'the positions of {", ".join(names)} are in degrees',
        'positions against the limits of the description',
        float(outside[:, bad].sum()),
        'samples',
        names,
        WRONG,
        'publish radians',
    )


def unwrapped(signals: RawSignals) -> Iterator[Finding]:
    """Yield jumps of a whole turn in the positions of ``signals``."""
    q, t = signals.position.values, signals.position.t
    steps = np.diff(q, axis=0)
    for j, joint in enumerate(signals.joints):
        if np.abs(steps[:, j]).max() < 2 * np.pi - 0.5:
            continue
        usual = 8.0 * np.median(np.abs(steps[:, j]))
        jumps = np.flatnonzero(np.abs(np.abs(steps[:, j]) - 2 * np.pi) < min(0.5, usual + 1e-3))
        if len(jumps) and usual < 1.0 and not signals.prismatic[j]:
            # Identification puts turns together again; a joint with limits has none to make.
            severity, do = (
                (WRONG, 'unwrap the position of this joint, which has limits')
                if np.isfinite(signals.upper[j])
                else (NOTE, 'nothing to do: turns are put together again')
            )
            yield Finding(
                'position not unwrapped',
                f'the position of {joint} jumps by whole turns',
                'jumps of 2 pi',
                float(len(jumps)),
                'samples',
                (joint,),
                severity,
                do,
                tuple((float(t[k]), float(t[k + 1])) for k in jumps),
            )


def two_publishers(signals: RawSignals) -> Iterator[Finding]:
    """Yield positions of ``signals`` that jump to and fro between two motions."""
    q = signals.position.values
    steps = np.diff(q, axis=0)
    there, back = steps[:-1], steps[1:]
    away = np.minimum(np.abs(there), np.abs(back)) * (there * back < 0)
    turned = away > 0.02 * np.ptp(q, axis=0)
    if turned.any(axis=1).mean() <= 0.1:
        return
    turned &= away > 20 * (np.quantile(np.abs(q[2:] - q[:-2]), 0.2, axis=0) + 1e-9)
    apart = np.diff(np.sort(q, axis=0), axis=0)
    resolution = apart.min(axis=0, initial=np.inf, where=apart > 1e-9)
    turned &= (away > STANDING * resolution) & ~signals.rests
    both = turned.any(axis=1)
    if both.mean() > 0.1:
        yield Finding(
            'two robots on one topic',
            'the positions alternate between two motions: two robots publish on one topic',
            'successive steps',
            float(both.sum()),
            'samples',
            signals.joints,
            WRONG,
            'give each robot a topic of its own',
        )


def unsigned(signals: RawSignals) -> Iterator[Finding]:
    """
    Yield efforts of ``signals`` that are never below zero, of all joints that move.

    Gravity may keep one joint's on one side; most of magnitudes come to zero again and again.
    """
    if signals.effort is None:
        return
    effort = signals.effort.values
    near = effort < NEAR_ZERO * np.quantile(effort, 0.99, axis=0)
    visits = (near[1:] & ~near[:-1]).sum(axis=0)
    moves = ~signals.rests
    if moves.sum() > 1 and effort[:, moves].min() >= 0.0 and np.median(visits[moves]) >= VISITS:
        names = signals.names(moves)
        yield Finding(
            'efforts without sign',
            f'the efforts of {", ".join(names)} are never below '
            'zero: magnitudes, as servos report their current',
            'visits of zero',
            float(visits[moves].sum()),
            'samples',
            names,
            WRONG,
            'have the driver report the direction: from magnitudes nothing is identified',
        )


def stamps(signals: RawSignals) -> Iterator[Finding]:
    """Yield what is wrong with the stamps of ``signals``, see ``stamp_findings``."""
    yield from stamp_findings(signals.position.t, signals.joints, signals.repeats)


def stamp_findings(
    t: np.ndarray, names: tuple[str, ...], equal: np.ndarray | None = None
) -> Iterator[Finding]:
    """
    Yield stamps that repeat, run backwards, jump, jitter or miss messages.

    t : (N,) stamps of a channel [s]; names : of what it carries
    equal : (N - 1,) whether a message holds what the one before does, None where unknown
    """
    steps = np.diff(t)
    period = _shortest_period(steps)
    back, same = int((steps < 0).sum()), steps == 0
    # Whole periods without a message are losses, and no jitter.
    on_grid = np.abs(steps - period * np.maximum(1.0, np.round(steps / period))) < GRID * period
    irregular = (np.abs(steps - period) > JITTER * period) & (steps < FAR * period) & ~on_grid
    if back:
        yield Finding(
            'stamps run backwards',
            f'the stamps run backwards {back} times in {len(t)} messages',
            'stamps',
            float(back),
            'samples',
            names,
            WRONG,
            'look for two publishers or two clocks on the topic, or a network that '
            'exchanges messages' + longest_part(t),
        )
        return
    if steps.max() > DAY:
        yield Finding(
            'stamps jump',
            f'the stamps jump by {steps.max():.2g} s after {int(np.argmax(steps)) + 1} messages',
            'stamps',
            float(steps.max()),
            's',
            names,
            WRONG,
            'two clocks stamp the topic, or it is stamped before its '
            'clock runs: cut the recording there with @START:END',
        )
        return
    if same.mean() > FEW:
        yield _repeated(
            int(same.sum()), len(t), names, equal is not None and bool(equal[same].all())
        )
    elif irregular.mean() > 0.2:
        yield Finding(
            'stamps jitter',
            f'{100 * irregular.mean():.0f} % of the stamps are more '
            f'than {100 * JITTER:.0f} % of the period off',
            'steps of the stamps',
            float(irregular.sum()),
            'samples',
            names,
            DOUBTFUL,
            'stamp messages when they are measured, not when they are published',
        )
        return
    far = steps > FAR * period
    if far.mean() > FEW and 2.0 * steps[far].sum() > steps.sum():
        yield Finding(
            'stamps jitter',
            f'messages come {1.0 / far.mean():.0f} at a time, then '
            f'none for {1e3 * np.median(steps[far]):.3g} ms',
            'steps of the stamps',
            float(far.sum()),
            'samples',
            names,
            DOUBTFUL,
            'stamp messages when they are measured, not when they are published; if '
            'they are, look at the load of the network and of the recorder',
        )
        return
    yield from _lost(t[np.append(True, ~same)], period, names)


def _shortest_period(steps: np.ndarray) -> float:
    """Return the period [s] of which ``steps`` (N,) [s] are multiples, else their median."""
    later = steps[steps > 0.0]
    if not later.size:
        return 1.0
    short = later[later < (2.0 - JITTER) * np.quantile(later, 0.1)]
    base = float(np.median(short))
    count = np.round(later / base)
    whole = np.abs(later - base * count) < GRID * base
    if whole.mean() < ON_GRID:
        return float(np.median(later))
    return float(later[whole].sum() / max(1.0, count[whole].sum()))  # jitter averages out


def _repeated(count: int, messages: int, names: tuple[str, ...], whole: bool) -> Finding:
    """Return the Finding of ``count`` stamps of ``messages`` that repeat, ``whole``: with all."""
    if whole:  # which count once where they are read
        return Finding(
            'messages twice',
            f'{count} of {messages} messages come twice',
            'messages with the stamp and all values of the one before',
            float(count),
            'samples',
            names,
            NOTE,
            'look for two recorders, bridges or repeated sends',
        )
    return Finding(
        'stamps repeat',
        f'{count} of {messages} messages have the stamp of the one before',
        'stamps',
        float(count),
        'samples',
        names,
        DOUBTFUL,
        'stamp messages when they are measured, at the full rate of the driver',
    )


def _lost(t: np.ndarray, period: float, names: tuple[str, ...]) -> Iterator[Finding]:
    """Yield messages that lack between increasing stamps t (N,) [s] that keep a ``period`` [s]."""
    steps = np.diff(t)
    lost = int((np.round(steps / period) - 1.0).clip(min=0.0).sum())
    if lost <= FEW * (len(t) + lost):
        return
    gaps = steps[steps > longest_gap(steps)]
    unknown = float(gaps.sum() / (t[-1] - t[0]))
    bridged = (
        f'; {len(gaps)} gaps, up to {gaps.max():.2g} s, are too long to interpolate'
        if len(gaps)
        else '; all gaps are interpolated'
    )
    yield Finding(
        'messages lost',
        f'{lost} of {len(t) + lost} messages are lost{bridged}',
        'whole periods between stamps',
        float(lost),
        'samples',
        names,
        DOUBTFUL if unknown > UNKNOWN else NOTE,
        'look at the load of the network and of the recorder',
    )


def velocities(signals: RawSignals, bad: Sequence[tuple[float, float]] = ()) -> Iterator[Finding]:
    """
    Yield velocities that contradict the differentiated positions.

    signals : of joints; bad : windows [s] in which samples are known to be wrong
    """
    if signals.velocity is None or len(signals.velocity.t) != len(signals.position.t):
        return
    v, d, step = _comparable(signals.position, signals.velocity, [*bad, *_gaps(signals.position)])
    power = (d * d).sum(axis=0)
    moving = ~signals.rests & (power > 1e-4 * power.max()) & ((v * v).sum(axis=0) > 0)
    if not moving.any():
        return
    lags = [
        _lag(v[:, j], d[:, j], step) if moving[j] else (0.0, 0.0, 0.0)
        for j in range(len(signals.joints))
    ]
    scale = np.where(moving, (v * d).sum(axis=0) / np.maximum(power, 1e-300), 1.0)
    strong = np.array([c for _, _, c in lags])
    with np.errstate(divide='ignore', invalid='ignore'):
        fit = scale**2 * power / (v * v).sum(axis=0)
        # Noise of either lessens one of both slopes: what is off must be so by each.
        slopes = np.log(np.abs([scale, scale / fit]))
        sure = moving & (fit > 0.8)
        off = sure & (np.abs(slopes).min(axis=0) > np.log(OFF)) & (slopes.prod(axis=0) > 0.0)
    yield from _signs(signals, scale, sure, len(v))
    yield from _scales(signals, scale, sure, off)
    yield from _delays(signals, lags, moving & (strong > 0.9), scale)


def _gaps(position: Quantity) -> list[tuple[float, float]]:
    """Return the windows [s] without samples: a line across them says nothing of the speed."""
    t = position.t
    return [
        (float(t[k]), float(t[k + 1])) for k in np.flatnonzero(np.diff(t) > GAP * position.period)
    ]


def _comparable(
    position: Quantity, velocity: Quantity, bad: Sequence[tuple[float, float]]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return velocities and differentiated positions (N, n), smoothed alike, and the step [s]."""
    t, period = position.t, position.period
    step = max(period, 1e-3)
    grid = np.arange(t[0], t[-1], step)
    size = max(1, int(round(SMOOTH / step)))
    order = np.all(np.diff(t) >= 0)
    columns = []
    for x in (position.values, velocity.values):
        on = np.stack([np.interp(grid, t, c) for c in x.T], axis=1) if order else x
        columns.append(on)
    d = np.gradient(columns[0], step, axis=0)
    v, d = (moving_mean(x, size) for x in (columns[1], d))
    for start, end in bad if order else ():  # nothing there, in both
        inside = (grid > start - SMOOTH - 2 * step) & (grid < end + SMOOTH + 2 * step)
        v[inside], d[inside] = 0.0, 0.0
    return v - v.mean(axis=0), d - d.mean(axis=0), step


def _lag(v: np.ndarray, d: np.ndarray, step: float) -> tuple[float, float, float]:
    """Return (delay of v [s], evidence [nats], correlation at it) from the cross-correlation."""
    most = max(2, int(LONGEST / step))
    size = 1 << (len(v) + most).bit_length()
    cross = np.fft.irfft(np.fft.rfft(v, size) * np.conj(np.fft.rfft(d, size)), size)
    rho = np.concatenate([cross[-most:], cross[: most + 1]])
    rho = rho / max(np.sqrt((v @ v) * (d @ d)), 1e-300)
    k = int(np.argmax(np.abs(rho)))
    if not 0 < k < len(rho) - 1:
        return 0.0, 0.0, 0.0
    a, b, c = np.abs(rho[k - 1 : k + 2])
    peak = k - most + 0.5 * (a - c) / min(a - 2 * b + c, -1e-12)
    best, now = min(abs(b), 1 - 1e-9), min(abs(rho[most]), 1 - 1e-9)
    seconds = len(v) * step
    effective = max(1.0, seconds / 0.1)  # smoothed motion repeats itself for about a tenth
    return (
        float(peak * step),
        0.5 * effective * float(np.log((1 - now**2) / (1 - best**2))),
        float(b),
    )


def _signs(
    signals: RawSignals, scale: np.ndarray, sure: np.ndarray, count: int
) -> Iterator[Finding]:
    bad = sure & (scale < 0)
    if bad.any():
        names = signals.names(bad)
        yield Finding(
            'velocity or position negated',
            f'velocity and position of {", ".join(names)} have opposite signs',
            'velocity against differentiated position',
            float(count * bad.sum()),
            'samples',
            names,
            DOUBTFUL,
            'correct the sign of the one that contradicts the description',
        )


def _scales(
    signals: RawSignals, scale: np.ndarray, sure: np.ndarray, bad: np.ndarray
) -> Iterator[Finding]:
    size, count = np.abs(scale), len(signals.position.t)
    if not bad.any():
        return
    names = signals.names(bad)
    middle = float(np.median(size[bad]))
    unit = next(
        (text for factor, text in UNITS.items() if abs(np.log(middle / factor)) < ALIKE), ''
    )
    alike = bool(np.all(bad[sure]) and np.ptp(np.log(size[sure])) < ALIKE)
    tests, evidence = 'velocity against differentiated position', float(count * bad.sum())
    if alike and not unit:
        yield Finding(
            'wrong rate or stamps',
            f'the positions change {1 / middle:.3g} times as '
            'fast as the velocities of all joints say: the stamps are wrong',
            tests,
            evidence,
            'samples',
            names,
            WRONG,
            'correct the rate or the stamps',
        )
        return
    yield Finding(
        'velocity in another unit',
        f'the velocities of {", ".join(names)} are '
        f'{middle:.3g} times what the positions say' + (f': {unit}' if unit else ''),
        tests,
        evidence,
        'samples',
        names,
        DOUBTFUL,
        'publish velocities in rad/s; velocity: auto differentiates positions',
    )


def _delays(
    signals: RawSignals,
    lags: list[tuple[float, float, float]],
    sure: np.ndarray,
    scale: np.ndarray,
) -> Iterator[Finding]:
    late = np.array([abs(x) for x, _, _ in lags])
    nats = np.array([e for _, e, _ in lags])
    limit = max(LATE, 1.5 * signals.position.period)
    bad = sure & (late > limit) & (nats > 10.0) & (scale > 0)
    if bad.any():
        names = signals.names(bad)
        middle = float(np.median(np.array([x for x, _, _ in lags])[bad]))
        yield Finding(
            'velocity delayed',
            f'the velocities of {", ".join(names)} are '
            f'{1e3 * abs(middle):.0f} ms {"behind" if middle > 0 else "ahead of"} the '
            'positions',
            'cross-correlation with differentiated position',
            float(nats[bad].sum()),
            'nats',
            names,
            NOTE,
            'look for a filter of the velocities in the driver',
        )


# And ``velocities``, which wants the bad samples left out.
CHECKS = degrees, unwrapped, two_publishers, stamps, unsigned
