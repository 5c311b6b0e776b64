"""
Signal checks of values and stamps: units, signs, jumps, two publishers, velocity and position.

Every check takes RawSignals and yields Findings; ``CHECKS`` lists those that need no other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from .finding import DOUBTFUL, Finding, severity_of, Window
from .finding_kinds import found
from .signals import Quantity, RawSignals, steps_at
from ..measurement.sampling import longest_gap, moving_mean
from ..measurement.signals import begins_anew, longest_part

# Positions
DEGREES = 180.0 / np.pi
WHOLE_TURN = 2.0 * np.pi  # [rad]
BEYOND_LIMIT = 1.5  # times its limit: more is no error of the limit
WITHIN_LIMIT = 1.05  # times its limit, as far as a joint may run beyond
BEYOND_SHARE = 0.01  # of the samples: more are no outliers
LEAST_RANGE = 0.2  # [rad or degrees] of a motion that shows its unit
LARGEST_PERCENT = 101.0  # of a range, with what noise adds
TURN_TOLERANCE = 0.5  # [rad] between a jump and a whole turn
FASTEST_STEP = 1.0  # [rad] that a joint usually moves between two messages: more hides turns
ALTERNATING_SHARE = 0.1  # of the steps that turn back: more are no noise
ALTERNATING_STEP = 0.02  # of the range of the joint
ENCODER_STEPS = 10  # between which the position of an arm at rest may change

# Efforts
NEAR_ZERO = 0.02  # of the largest effort
VISITS = 4  # of zero, which an effort with a sign crosses

# Stamps
DAY = 86400.0  # [s] between two samples: no pause, but another clock
BURST_PERIODS = 10.0  # between messages that come some at a time, if most time is there
JITTER = 0.5  # of the period, from which a step is irregular
JITTER_SHARE = 0.2  # of the steps that are irregular: more is jitter
ON_PERIOD = 0.25  # of the period, within which a step is a whole number of periods
ON_GRID = 0.8  # of the steps that are whole periods where more than half of the messages are lost
FEW_MESSAGES = 0.01  # of all: fewer that lack or repeat change nothing
UNBRIDGED_SHARE = 0.2  # of the time in gaps that are not bridged, from which too little is left

# Velocities
REPEATED_SHARE = 0.05  # of the messages: fewer bend no comparison
RPM = 60.0 / WHOLE_TURN  # per rad/s
SERVO_RPM = RPM / 0.229  # what a count of the velocity of many a servo is
COUNTS = 4096.0 / WHOLE_TURN  # per rad, of encoders of 12 bits
VELOCITY_UNITS = {
    DEGREES: 'degrees per second',
    RPM: 'revolutions per minute',
    SERVO_RPM: 'counts of 0.229 rpm',
    1.0 / DEGREES: 'radians where the positions are degrees',
    RPM / DEGREES: 'revolutions per minute where the positions are degrees',
    1.0 / COUNTS: 'radians where the positions are counts of 4096 in a turn',
    DEGREES / COUNTS: 'degrees where the positions are counts of 4096 in a turn',
    RPM / COUNTS: 'revolutions per minute where the positions are counts of 4096 in a turn',
    SERVO_RPM / COUNTS: 'counts of 0.229 rpm where the positions are counts of 4096 in a turn',
    1e3: 'thousandths',
}
WRONG_SCALE = 1.1  # factor between two velocities from which one of them is wrong
SAME_SCALE = 0.03  # relative: scales of joints that are one scale
AVERAGED = 0.03  # [s] over which velocities are averaged before they are compared
LONGEST_DELAY = 0.15  # [s] that is looked for
FILTER_DELAY = 0.005  # [s] of a delay that is no delay of a filter
GAP_PERIODS = 5.0  # without a sample
LEAST_POWER = 1e-4  # of the joint that moves most: less is standstill
VELOCITIES_AGREE = 0.8  # squared correlation of two velocities of one motion
SAME_SHAPE = 0.9  # correlation of two velocities at their delay
DELAY_CERTAIN = 10.0  # log-likelihood difference
INDEPENDENT = 0.1  # [s] after which smoothed motion no longer repeats itself


def position_units(signals: RawSignals) -> Iterator[Finding]:
    """
    Yield positions of ``signals`` that are degrees, percent or counts of an encoder.

    They are beyond their limits, and within them as degrees.  Where one is beyond any turn that a
    joint with limits makes, too: limits may be too narrow.  Counts are whole numbers.
    """
    q = np.abs(signals.position.values)
    limits = np.abs(np.stack([signals.lower, signals.upper]))
    limit = np.where(np.isfinite(limits), limits, 0.0).max(axis=0)
    limit[limit == 0.0] = WHOLE_TURN
    outside = q > BEYOND_LIMIT * limit
    turns = q > BEYOND_LIMIT * np.maximum(limit, WHOLE_TURN)
    moves = ~signals.prismatic & (np.ptp(signals.position.values, axis=0) > LEAST_RANGE)
    suspect = moves & (outside.mean(axis=0) > BEYOND_SHARE)
    beyond_turns = suspect & (turns.mean(axis=0) > BEYOND_SHARE)
    within_as_degrees = q.max(axis=0) / DEGREES < WITHIN_LIMIT * limit
    suspect &= within_as_degrees
    # A crank may turn as often as it likes: without limits, only beside others that have them.
    if (beyond_turns & within_as_degrees & np.isfinite(signals.upper)).any():
        kind = 'position in degrees'
        if q[:, suspect].max() < LARGEST_PERCENT:
            kind = 'position in degrees or percent'
        yield found(
            kind, signals.names(suspect), outside[:, suspect].sum(), largest=q[:, suspect].max()
        )
    counts = beyond_turns & ~within_as_degrees & (q == np.round(q)).all(axis=0)
    if counts.any():
        largest = q[:, counts].max()
        yield found(
            'position in counts', signals.names(counts), turns[:, counts].sum(), largest=largest
        )


def unwrapped(signals: RawSignals) -> Iterator[Finding]:
    """Yield jumps of a whole turn in the positions of ``signals``."""
    steps = np.abs(np.diff(signals.position.values, axis=0))
    usual = 8.0 * np.median(steps, axis=0)
    jumps = np.abs(steps - WHOLE_TURN) < np.minimum(TURN_TOLERANCE, usual + 1e-3)
    jumps &= (usual < FASTEST_STEP) & ~signals.prismatic
    for j in np.flatnonzero(jumps.any(axis=0)):
        # Identification puts turns together again.
        kind = 'position not unwrapped within limits'
        q, lower, upper = signals.position.values[:, j], signals.lower[j], signals.upper[j]
        if np.isfinite(upper) and not _is_within_limits(np.unwrap(q), lower, upper):
            kind = 'position not unwrapped'
        intervals = steps_at(jumps[:, j])
        windows = signals.position.windows(intervals)
        yield found(kind, (signals.joints[j],), len(intervals), windows)


def _is_within_limits(q: np.ndarray, lower: float, upper: float) -> bool:
    """Return whether positions q (N,) [rad], up to whole turns of all, are within limits [rad]."""
    middle = 0.5 * (lower + upper)
    shift = WHOLE_TURN * np.round((np.median(q) - middle) / WHOLE_TURN)
    largest = WITHIN_LIMIT * 0.5 * (upper - lower)
    is_beyond = np.abs(q - shift - middle) > largest
    return bool(is_beyond.mean() <= BEYOND_SHARE)


def two_publishers(signals: RawSignals) -> Iterator[Finding]:
    """Yield positions of ``signals`` that jump to and fro between two motions."""
    q = signals.position.values
    steps = np.diff(q, axis=0)
    there, back = steps[:-1], steps[1:]
    away = np.minimum(np.abs(there), np.abs(back)) * (there * back < 0)
    turned = away > ALTERNATING_STEP * np.ptp(q, axis=0)
    if turned.any(axis=1).mean() <= ALTERNATING_SHARE:
        return
    # The samples of either robot are next to the one before the last.
    turned &= away > 20 * (np.quantile(np.abs(q[2:] - q[:-2]), 0.2, axis=0) + 1e-9)
    level_steps = np.diff(np.sort(q, axis=0), axis=0)
    resolution = level_steps.min(axis=0, initial=np.inf, where=level_steps > 1e-9)
    turned &= (away > ENCODER_STEPS * resolution) & ~signals.rests
    alternate = turned.any(axis=1)
    if alternate.mean() > ALTERNATING_SHARE:
        yield found('two robots on one topic', signals.joints, alternate.sum())


def unsigned(signals: RawSignals) -> Iterator[Finding]:
    """
    Yield efforts of ``signals`` that are never below zero, of all joints that move.

    Gravity may keep one joint's on one side; most of magnitudes come to zero again and again.
    """
    moves = ~signals.rests
    recorded = signals.quantities().get('effort')
    if recorded is None or moves.sum() < 2:
        return
    effort = recorded.values[:, moves]
    near = effort < NEAR_ZERO * np.quantile(effort, 0.99, axis=0)
    visits = (near[1:] & ~near[:-1]).sum(axis=0)
    if effort.min() >= 0.0 and np.median(visits) >= VISITS:
        yield found('efforts without sign', signals.names(moves), visits.sum())


def stamps(signals: RawSignals) -> Iterator[Finding]:
    """Yield what is wrong with the stamps of ``signals``, see ``stamp_findings``."""
    yield from stamp_findings(signals.position.t, signals.joints, signals.repeats)


def stamp_findings(t: np.ndarray, names: tuple[str, ...], equal: np.ndarray) -> Iterator[Finding]:
    """
    Yield stamps that repeat, run backwards, jump, jitter or miss messages.

    t : (N,) stamps of a channel [s]; names : of what it carries
    equal : (N - 1,) whether a message is known to hold what the one before does
    """
    steps = np.diff(t)
    backwards = int((steps < 0).sum())
    if backwards:
        kind = 'stamps run backwards'
        if begins_anew(t):
            kind = 'stamps begin anew'
        yield found(
            kind,
            names,
            backwards,
            steps_back=backwards,
            messages=len(t),
            cut=longest_part(t),
        )
        return
    longest = float(steps.max())
    if longest > DAY:
        before = int(np.argmax(steps)) + 1
        yield found('stamps jump', names, longest, seconds=longest, messages=before)
        return
    period = _shortest_period(steps)
    repeated = steps == 0
    irregular = _irregular(steps, period)
    if repeated.mean() > FEW_MESSAGES:
        # Messages that come twice count once where they are read.
        kind = 'stamps repeat'
        if equal[repeated].all():
            kind = 'messages twice'
        count = int(repeated.sum())
        yield found(kind, names, count, repeated=count, messages=len(t))
    elif irregular.mean() > JITTER_SHARE:
        percent = 100 * irregular.mean()
        yield found('stamps jitter', names, irregular.sum(), percent=percent, limit=100 * JITTER)
        return
    pauses = steps > BURST_PERIODS * period
    if pauses.mean() > FEW_MESSAGES and 2.0 * steps[pauses].sum() > steps.sum():
        yield found(
            'stamps in bursts',
            names,
            pauses.sum(),
            messages=1.0 / pauses.mean(),
            milliseconds=1e3 * np.median(steps[pauses]),
        )
        return
    yield from _lost(t[np.append(True, ~repeated)], period, names)


def _irregular(steps: np.ndarray, period: float) -> np.ndarray:
    """
    Return (N,) which ``steps`` (N,) [s] are neither one ``period`` [s] nor several.

    Whole periods without a message are losses, and no jitter.
    """
    whole_periods = period * np.maximum(1.0, np.round(steps / period))
    on_grid = np.abs(steps - whole_periods) < ON_PERIOD * period
    far = np.abs(steps - period) > JITTER * period
    return np.asarray(far & (steps < BURST_PERIODS * period) & ~on_grid)


def _shortest_period(steps: np.ndarray) -> float:
    """Return the period [s] of which ``steps`` (N,) [s] are multiples, else their median."""
    later = steps[steps > 0.0]
    if not later.size:
        return 1.0
    short = later[later < (2.0 - JITTER) * np.quantile(later, 0.1)]
    base = float(np.median(short))
    count = np.round(later / base)
    on_grid = np.abs(later - base * count) < ON_PERIOD * base
    if on_grid.mean() < ON_GRID:
        return float(np.median(later))
    return float(later[on_grid].sum() / max(1.0, count[on_grid].sum()))  # jitter averages out


def _lost(t: np.ndarray, period: float, names: tuple[str, ...]) -> Iterator[Finding]:
    """Yield messages that lack between increasing stamps t (N,) [s] that keep a ``period`` [s]."""
    steps = np.diff(t)
    lost = int((np.round(steps / period) - 1.0).clip(min=0.0).sum())
    messages = len(t) + lost
    if lost <= FEW_MESSAGES * messages:
        return
    gaps = steps[steps > longest_gap(steps)]
    if not len(gaps):
        yield found('messages lost', names, lost, lost=lost, messages=messages)
        return
    unbridged = UNBRIDGED_SHARE * (t[-1] - t[0])
    severity = severity_of(gaps.sum(), unbridged, within='', beyond=DOUBTFUL)
    yield found(
        'messages lost in long gaps',
        names,
        lost,
        severity=severity,
        lost=lost,
        messages=messages,
        gaps=len(gaps),
        longest=gaps.max(),
    )


def velocities(signals: RawSignals, bad: Sequence[Window] = ()) -> Iterator[Finding]:
    """
    Yield velocities that contradict the differentiated positions.

    signals : of joints, with stamps that increase
    bad : windows [s] in which samples are known to be wrong
    """
    position, velocity = signals.position, signals.velocity
    if velocity is None or len(velocity.t) != len(position.t):
        return
    fresh = np.append(True, ~signals.repeats)
    if 2 <= fresh.sum() <= (1.0 - REPEATED_SHARE) * len(fresh):
        position, velocity = position.at(fresh), velocity.at(fresh)
        signals = replace(signals, position=position, velocity=velocity)
    yield from _against_positions(signals, position, velocity, bad)


def _against_positions(
    signals: RawSignals, position: Quantity, velocity: Quantity, bad: Sequence[Window]
) -> Iterator[Finding]:
    """Yield what a ``velocity`` contradicts that is recorded with the ``position``."""
    gaps = position.windows(steps_at(np.diff(position.t) > GAP_PERIODS * position.period))
    # A line across a gap says nothing of the speed.
    measured, derived, step = _comparable(position, velocity, [*bad, *gaps])
    measured_power, power = (measured**2).sum(axis=0), (derived**2).sum(axis=0)
    moving = ~signals.rests & (power > LEAST_POWER * power.max()) & (measured_power > 0)
    if not moving.any():
        return
    products = (measured * derived).sum(axis=0)
    scale = np.where(moving, products / np.maximum(power, 1e-300), 1.0)
    with np.errstate(divide='ignore', invalid='ignore'):
        squared_correlation = scale**2 * power / measured_power
        # Noise of either lessens one of both slopes: what is wrong must be so by each.
        slopes = np.log(np.abs([scale, scale / squared_correlation]))
        off = (np.abs(slopes).min(axis=0) > np.log(WRONG_SCALE)) & (slopes.prod(axis=0) > 0.0)
    sure = moving & (squared_correlation > VELOCITIES_AGREE)
    yield from _signs(signals, scale, sure, len(measured))
    yield from _scales(signals, scale, sure, sure & off)
    lags = np.zeros((len(signals.joints), 3))
    for j in np.flatnonzero(moving):
        lags[j] = _lag(measured[:, j], derived[:, j], step)
    yield from _delays(signals, lags, moving & (scale > 0))


def _comparable(
    position: Quantity, velocity: Quantity, bad: Sequence[Window]
) -> tuple[np.ndarray, np.ndarray, float]:
    """
    Return velocities, differentiated positions (N, n), smoothed alike, and their step [s].

    Both are zero in the windows that are ``bad`` [s]: nothing is compared there.
    """
    t = position.t
    step = max(position.period, 1e-3)
    grid = np.arange(t[0], t[-1], step)
    width = max(1, int(round(AVERAGED / step)))
    measured = moving_mean(_at(grid, velocity), width)
    derived = moving_mean(np.gradient(_at(grid, position), step, axis=0), width)
    margin = AVERAGED + 2 * step
    for start, end in bad:
        inside = (grid > start - margin) & (grid < end + margin)
        measured[inside], derived[inside] = 0.0, 0.0
    return measured - measured.mean(axis=0), derived - derived.mean(axis=0), step


def _at(grid: np.ndarray, x: Quantity) -> np.ndarray:
    return np.stack([np.interp(grid, x.t, column) for column in x.values.T], axis=1)


def _lag(measured: np.ndarray, derived: np.ndarray, step: float) -> tuple[float, float, float]:
    """
    Return the delay [s] of a ``measured`` velocity (N,), by the peak of the cross-correlation.

    With the log-likelihood difference that it makes, and the correlation at the peak.
    """
    most = max(2, int(LONGEST_DELAY / step))
    length = 1 << (len(measured) + most).bit_length()
    spectrum = np.fft.rfft(measured, length) * np.conj(np.fft.rfft(derived, length))
    cross = np.fft.irfft(spectrum, length)
    power = (measured @ measured) * (derived @ derived)
    correlations = np.abs(np.concatenate([cross[-most:], cross[: most + 1]]))
    correlations /= max(np.sqrt(power), 1e-300)
    k = int(np.argmax(correlations))
    if k in (0, len(correlations) - 1):
        return 0.0, 0.0, 0.0
    before, peak, after = correlations[k - 1 : k + 2]
    vertex = 0.5 * (before - after) / min(before - 2 * peak + after, -1e-12)  # of a parabola
    best, undelayed = np.minimum([peak, correlations[most]], 1 - 1e-9)
    effective = max(1.0, len(measured) * step / INDEPENDENT)
    evidence = 0.5 * effective * np.log((1 - undelayed**2) / (1 - best**2))
    return float((k - most + vertex) * step), float(evidence), float(peak)


def _signs(
    signals: RawSignals, scale: np.ndarray, sure: np.ndarray, count: int
) -> Iterator[Finding]:
    negated = sure & (scale < 0)
    if negated.any():
        names = signals.names(negated)
        yield found('velocity or position negated', names, count * negated.sum())


def _scales(
    signals: RawSignals, scale: np.ndarray, sure: np.ndarray, wrong: np.ndarray
) -> Iterator[Finding]:
    """
    Yield a wrong rate where all joints are ``wrong`` alike, else another unit.

    scale : (n,) of velocities; sure : (n,) of which it is certain; wrong : (n,) of which it is off
    """
    if not wrong.any():
        return
    factors = np.abs(scale)
    names, amount = signals.names(wrong), len(signals.position.t) * wrong.sum()
    middle = float(np.median(factors[wrong]))
    usual_units = [
        unit for factor, unit in VELOCITY_UNITS.items() if _same_scale([middle, factor])
    ]
    if usual_units:
        kind = 'velocity in a unit that has a name'
        yield found(kind, names, amount, factor=middle, unit_of_velocity=usual_units[0])
    elif wrong[sure].all() and _same_scale(factors[sure]):
        yield found('wrong rate or stamps', names, amount, factor=1 / middle)
    else:
        yield found('velocity in another unit', names, amount, factor=middle)


def _same_scale(factors: Sequence[float] | np.ndarray) -> bool:
    return bool(np.ptp(np.log(factors)) < SAME_SCALE)


def _delays(signals: RawSignals, lags: np.ndarray, moving: np.ndarray) -> Iterator[Finding]:
    """Yield the delay of velocities; lags : (n, 3) of ``_lag``; moving : (n,) which joints do."""
    delays, evidence, correlation = lags.T
    late = moving & (correlation > SAME_SHAPE)
    late &= np.abs(delays) > max(FILTER_DELAY, 1.5 * signals.position.period)
    late &= evidence > DELAY_CERTAIN
    if not late.any():
        return
    middle = float(np.median(delays[late]))
    direction = 'ahead of'
    if middle > 0:
        direction = 'behind'
    yield found(
        'velocity delayed',
        signals.names(late),
        evidence[late].sum(),
        milliseconds=1e3 * abs(middle),
        direction=direction,
    )


# And ``velocities``, which wants the bad samples left out.
CHECKS = position_units, unwrapped, two_publishers, stamps, unsigned
