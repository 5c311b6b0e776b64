"""
Signal checks of samples: repeated, held, frozen, stuck, clipped, quantised and isolated ones.

Every check takes RawSignals and yields Findings; ``CHECKS`` lists them.
"""

from collections.abc import Iterator

import numpy as np

from .finding import DOUBTFUL, Finding, MASKED, NOTE, severity_of, WRONG
from .finding_kinds import found
from .signals import across, columns_alike, intervals_of, positive_median, Quantity, RawSignals
from .thresholds import CERTAIN_FINDING

# Samples that repeat
FROZEN = 0.05  # [s] of equal messages, and at least this many:
FEWEST_EQUAL = 5
MANY_RUNS = 20  # of equal messages: so many are the rhythm of a slow source
FROZEN_WRONG = 0.5  # of the samples: more are most of the recording
HELD_MESSAGES = 0.01  # of the messages: fewer that repeat change nothing
HELD_CHANNEL = 0.2  # of the values of all joints at once
NEVER_CHANGES = 0.999  # of the values at once: a constant
HELD_DOUBTFUL = 0.3  # of the values: more take from the bandwidth of a motion
STUCK_SECONDS = 0.3  # of one value while the joint moves
BEYOND_USUAL = 20  # times the usual run of equal values: coarse steps keep their values, too
TOO_MUCH_LOST = 0.2  # of the samples: a fit without more of them is not the robot's
BY_SHARE = 'frozen', 'stuck', 'clipped'  # end the names of findings that few samples only mask

# Motion
AROUND = 0.05  # [s] on both sides in which a joint that moves goes a way
STANDSTILL_SHARE = 0.1  # of what is usual: less is standstill

# Samples at an extreme value
CLIPPED = 0.8  # of the samples near an extreme value that are exactly there
CLIPPED_SAMPLES = 20  # at an extreme value, and in a row:
CLIPPED_RUN = 5
FEW_VALUES = 4  # at most: of a place that is held, rounding makes two or three
NEAR_EXTREME = 0.03  # of the range
UNCLIPPED_SECONDS = 0.5  # without clipping that a filter can use
NEARLY_ALL = 0.98  # of the samples at an extreme: a constant with exceptions

# Quantisation, step over standard deviation
COARSE_STEP = 0.02  # worth a note
ROUGH_STEP = 0.2  # doubtful
STEP_SAMPLES = 1000  # of which some are equal where there are steps

# Spikes
ISOLATED = 12.0  # standard deviations by which a spike leaves both neighbours
NOISE_BLOCK = 100  # samples of which the noise is taken: ten spikes among them are none
VISIBLE_SPIKE = 0.05  # of the range of its signal that a spike must have
SPIKES_SHARE = 0.02  # of the samples: more are how the signal is
ENDS = 5  # first and last samples that may be broken together, as a driver starts
END_JUMP = 4.0  # times the steps that one in a hundred exceeds: a jump that no motion makes
NORMAL_MEDIAN, NORMAL_90 = 1.4826, 1.645  # |x| / sigma: 1 / median, 90 % quantile


def frozen(signals: RawSignals) -> Iterator[Finding]:
    """Yield stretches in which messages of ``signals`` repeat while the robot moves."""
    moving = _moves_at(signals, signals.position.t)
    intervals = across(intervals_of(_long(signals, signals.repeats)))
    intervals = intervals[moving[intervals].any(axis=1)]
    if not len(intervals):
        return
    lost = np.diff(intervals).sum()
    count = len(signals.position.t)
    severity = MASKED
    if lost >= FROZEN_WRONG * count:
        severity = WRONG
    windows = signals.position.windows(intervals)
    yield found('frozen', signals.joints, lost, windows, severity, percent=100 * lost / count)


def _long(signals: RawSignals, rows: np.ndarray) -> np.ndarray:
    """Return (N - 1,) the equal steps in ``rows`` (N - 1,) of a source that is frozen or rests."""
    least = fewest_equal(signals.position)
    lengths = np.diff(intervals_of(rows)) + 1
    if len(lengths) > MANY_RUNS:  # of a slow source
        least = max(least, int(3 * np.quantile(lengths, 0.9)))
    out = np.zeros_like(rows)
    for first, last in intervals_of(rows, least):
        out[first : last + 1] = True
    return out


def fewest_equal(x: Quantity) -> int:
    """Return the number of equal steps of ``x`` in a row that a frozen source has."""
    return max(FEWEST_EQUAL, int(FROZEN / x.period))


def held(signals: RawSignals) -> Iterator[Finding]:
    """Yield channels of ``signals`` whose joints all keep their values together in motion."""
    moving = _moves_at(signals, signals.position.t)
    rows = signals.repeats & (np.diff(signals.position.t) > 0.0)  # a message may come twice
    rows = (rows & ~_long(signals, rows))[moving[1:]]
    if rows.sum() > HELD_MESSAGES * len(rows):
        yield _held('samples held', signals, rows.sum(), rows.mean())
        return
    for name, x in signals.quantities().items():
        yield from _held_together(signals, name, x)


def _held_together(signals: RawSignals, name: str, x: Quantity) -> Iterator[Finding]:
    """Yield a quantity ``x`` whose joints keep values together more often than by chance."""
    changing = ~signals.rests  # what moves must change
    if name == 'effort':
        changing = np.ones_like(changing)
    same = np.diff(x.values[:, changing], axis=0) == 0
    informative = _moves_at(signals, x.t)[1:] & (np.diff(x.t) > 0.0)
    informative &= ~_long(signals, same.all(axis=1))
    same = same[informative]
    if not len(same):
        return
    share = float(same.all(axis=1).mean())
    chance = float(np.prod(same.mean(axis=0)))
    if not max(HELD_CHANNEL, chance) < share < NEVER_CHANGES:
        return
    evidence = len(same) * _divergence(share, chance)
    if evidence > CERTAIN_FINDING:
        yield _held(f'{name} held', signals, evidence, share)


def _held(kind: str, signals: RawSignals, amount: float, share: float) -> Finding:
    severity = severity_of(share, HELD_DOUBTFUL, within=NOTE, beyond=DOUBTFUL)
    return found(kind, signals.joints, amount, severity=severity, percent=100 * share)


def _divergence(share: float, chance: float) -> float:
    """Return the log-likelihood difference per sample of a ``share`` against one by ``chance``."""
    p, q = np.clip((share, chance), 1e-12, 1 - 1e-12)
    return float(p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)))


def _moves_at(signals: RawSignals, t: np.ndarray) -> np.ndarray:
    """Return (N,) whether any joint goes a way that shows around the times t (N,) [s]."""
    stamps = signals.position.t
    q = signals.position.values
    near = max(1, int(round(AROUND / signals.position.period)))
    last = len(stamps) - 1
    before = np.clip(np.arange(len(stamps)) - near, 0, last)
    after = np.clip(np.arange(len(stamps)) + near, 0, last)
    way = np.abs(q[after] - q[before])
    typical = np.sqrt((way**2).mean(axis=0))
    moves = ((way > STANDSTILL_SHARE * typical) & ~signals.rests).any(axis=1)
    return np.asarray(moves[np.searchsorted(stamps, t).clip(max=last)])


def stuck(signals: RawSignals) -> Iterator[Finding]:
    """Yield joints of ``signals`` with a quantity that keeps one value while the joint moves."""
    for name, x in signals.quantities().items():
        for j, joint in enumerate(signals.joints):
            intervals = _stuck_intervals(signals, name, x, j)
            if not len(intervals):
                continue
            lost = np.diff(intervals).sum()
            too_much = TOO_MUCH_LOST * len(signals.position.t)
            severity = severity_of(lost, too_much, within=MASKED, beyond=WRONG)
            windows = x.windows(intervals)
            seconds = lost * x.period
            yield found(f'{name} stuck', (joint,), lost, windows, severity, seconds=seconds)


def _stuck_intervals(signals: RawSignals, name: str, x: Quantity, j: int) -> np.ndarray:
    """Return (R, 2) first and last samples in which ``x`` of joint j keeps a value in motion."""
    column = x.values[:, j]
    long = _long_runs(column, x.period, signals.repeats)
    if not len(long):
        return long
    moving = _moving(signals, x.t, j, name)
    in_motion = [_is_stuck(column, moving, *interval) for interval in long]
    return across(long[in_motion])


def _is_stuck(column: np.ndarray, moving: np.ndarray, first: int, last: int) -> bool:
    """Return whether equal steps of a ``column`` (N,) are a fault; moving : (N,) of its joint."""
    if moving[first : last + 1].mean() <= 0.5:
        return False
    return not _extreme(column, first) and not _one_step(column, last + 1)


def _long_runs(column: np.ndarray, period: float, repeats: np.ndarray) -> np.ndarray:
    """
    Return (R, 2) first and last steps in which a ``column`` (N,) keeps a value unusually long.

    period : of its samples [s]
    repeats : (M,) messages like the one before: they may stand between, but say nothing of it
    """
    same = np.diff(column) == 0
    informative = np.ones(len(same), dtype=bool)
    if len(same) == len(repeats):
        informative = ~repeats
    usual = len(same) / (1 + np.count_nonzero(~same))
    least = max(FEWEST_EQUAL, int(STUCK_SECONDS / period), int(BEYOND_USUAL * usual))
    long = intervals_of(same, least)
    counted = np.append(0, np.cumsum(informative))
    first, last = long.T
    return long[counted[last + 1] - counted[first] >= np.maximum(least, 0.3 * (last - first))]


def _one_step(column: np.ndarray, last: int) -> bool:
    """Return whether ``column`` goes on after ``last`` by one quantisation step: it was alive."""
    step_after = np.abs(np.diff(column[last : last + 2]))
    return bool(np.any(step_after < 1.5 * _step(column)))


def _moving(signals: RawSignals, t: np.ndarray, j: int, name: str) -> np.ndarray:
    """Return (N,) whether joint j moves, by the position, or by the velocity where that is it."""
    source = signals.position
    speed = np.gradient(source.values[:, j])
    if name == 'position' and signals.velocity is not None:
        source = signals.velocity
        speed = source.values[:, j]
    standstill = STANDSTILL_SHARE * np.sqrt(np.mean(speed**2))
    return np.asarray(np.interp(t, source.t, np.abs(speed)) > standstill)


def _extreme(column: np.ndarray, sample: int) -> bool:
    """Return whether a ``column`` (N,) that changes is clipped at a ``sample``."""
    low = column.min()
    high = column.max()
    if low == high:
        return False
    return column[sample] in (low, high)


def clipped(signals: RawSignals) -> Iterator[Finding]:
    """Yield joints of ``signals`` whose effort or velocity stops at one extreme value."""
    quantities = signals.quantities()
    quantities.pop('position', None)
    for name, x in quantities.items():
        for j in np.flatnonzero(~signals.rests):
            column = x.values[:, j]
            at = clipped_at(column)
            if not at.any() or _step(column) > COARSE_STEP * column.std():
                continue
            windows = x.windows(intervals_of(at, 2))
            severity = _clipped_severity(name, x.t, at)
            yield found(
                f'{name} clipped',
                (signals.joints[j],),
                at.sum(),
                windows,
                severity,
                largest=np.abs(column[at]).max(),
                percent=100 * at.mean(),
            )


def _clipped_severity(name: str, t: np.ndarray, at: np.ndarray) -> str:
    unclipped = np.diff(t[intervals_of(~at)])
    usable = unclipped[unclipped > UNCLIPPED_SECONDS].sum()
    if usable > 0.5 * (t[-1] - t[0]):
        return MASKED
    if name == 'effort' and at.mean() > TOO_MUCH_LOST:
        return WRONG
    return DOUBTFUL


def clipped_at(column: np.ndarray) -> np.ndarray:
    """
    Return (N,) which samples stop at the largest or smallest value.

    column : (N,) of one quantity; zero is where it rests, not where it stops, and what has
        FEW_VALUES is rounded, or held
    """
    out = np.zeros(len(column), dtype=bool)
    for extreme in (column.max(), column.min()):
        if extreme and _stops_at(column, extreme):
            out |= column == extreme
    if out.mean() >= NEARLY_ALL:
        return np.zeros_like(out)
    return out


def _stops_at(column: np.ndarray, extreme: float) -> bool:
    exact = column == extreme
    near = np.abs(column - extreme) < NEAR_EXTREME * np.ptp(column)
    count = exact.sum()
    if count < CLIPPED_SAMPLES or count <= CLIPPED * near.sum():
        return False
    if len(np.unique(column)) <= FEW_VALUES:
        return False
    in_a_row = intervals_of(exact, CLIPPED_RUN)
    return len(in_a_row) > 0


def quantised(signals: RawSignals) -> Iterator[Finding]:
    """Yield channels of ``signals`` with steps that are coarse against the signal."""
    for name, x in signals.quantities().items():
        steps = np.apply_along_axis(_step, 0, x.values)
        ratios = steps / np.maximum(x.values.std(axis=0), 1e-300)
        ratios[signals.rests] = 0.0  # of a joint at rest there is nothing but steps
        coarse = ratios > COARSE_STEP
        if not coarse.any():
            continue
        largest = ratios.max()
        severity = severity_of(largest, ROUGH_STEP, within='', beyond=DOUBTFUL)
        names = signals.names(coarse)
        amount = len(x.t) * coarse.sum()
        yield found(f'{name} quantised', names, amount, severity=severity, percent=100 * largest)


def _step(column: np.ndarray) -> float:
    """Return the quantisation step of a column (N,), 0 where its values are no multiples."""
    some = column[:: max(1, len(column) // STEP_SAMPLES)]
    if len(some) >= STEP_SAMPLES and len(np.unique(some)) == len(some):
        return 0.0  # of so few levels as steps have, some would occur twice
    levels = np.unique(column)
    if not 1 < len(levels) <= len(column) / 4:
        return 0.0
    gaps = np.diff(levels)
    step = float(np.median(gaps))
    multiples = gaps / step
    if np.mean(np.abs(multiples - np.round(multiples)) < 0.05) <= 0.9:
        return 0.0
    return step


def spikes(signals: RawSignals) -> Iterator[Finding]:
    """Yield samples of ``signals`` that leave both neighbours, or are parted at an end."""
    for name, x in signals.quantities().items():
        masks = [_spikes_of(signals, name, x, j) for j in range(len(signals.joints))]
        spoiled = np.stack(masks, axis=1)
        concerned = np.flatnonzero(spoiled.any(axis=0))
        # A broken message spoils many joints at once.
        for bad, columns in columns_alike(spoiled, concerned):
            kind = f'{name} spikes'
            if not bad[ENDS:-ENDS].any():
                kind = f'{name} jumps at an end'
            joints = [signals.joints[j] for j in columns]
            windows = x.windows(intervals_of(bad))
            yield found(kind, joints, bad.sum(), windows)


def _spikes_of(signals: RawSignals, name: str, x: Quantity, j: int) -> np.ndarray:
    """Return (N,) the spikes of a quantity ``x`` of joint j, none where so many are no faults."""
    column = x.values[:, j]
    bad = isolated(column)
    if name == 'velocity' and len(x.t) == len(signals.position.t):
        bad &= ~_shown(signals, column, j, bad)
    if bad.mean() > SPIKES_SHARE:
        return np.zeros_like(bad)
    if name == 'effort' or not signals.rests[j]:
        return bad
    least = VISIBLE_SPIKE * np.ptp(x.values, axis=0).max()
    if np.ptp(column) < least:  # steps of an encoder at rest
        return np.zeros_like(bad)
    return bad


def _shown(signals: RawSignals, v: np.ndarray, j: int, bad: np.ndarray) -> np.ndarray:
    """
    Return (N,) which ``bad`` samples (N,) of a velocity ``v`` (N,) the positions of joint j show.

    Where backlash or elasticity lets a joint jerk, the way between the neighbours is that of the
    velocities as they are; where a message is broken, that of a line across it.
    """
    t = signals.position.t
    q = signals.position.values[:, j]
    out = np.zeros_like(bad)
    for first, last in intervals_of(bad):
        before = max(0, first - 1)
        after = min(len(v) - 1, last + 1)
        part = slice(before, after + 1)
        neighbours = np.array([before, after])
        good = v[neighbours[~bad[neighbours]]]
        steps = np.diff(t[part])
        way = q[after] - q[before]
        recorded = float((0.5 * (v[part][1:] + v[part][:-1]) * steps).sum())
        interpolated = float(np.mean(good)) * steps.sum()
        out[first : last + 1] = abs(way - recorded) < abs(way - interpolated)
    return out


def isolated(column: np.ndarray) -> np.ndarray:
    """
    Return (N,) which samples of a ``column`` (N,) are spikes of 1 or 2.

    Or up to ENDS at its beginning or end that a jump parts from all others.
    """
    low, high = np.quantile(column, (0.005, 0.995))
    visible = VISIBLE_SPIKE * (high - low)
    out = np.zeros(len(column), dtype=bool)
    for width in (1, 2):
        before = column[width:-width] - column[: -2 * width]
        after = column[width:-width] - column[2 * width :]
        away = np.minimum(np.abs(before), np.abs(after)) * (before * after > 0)
        if high > low and away.max() > visible:
            usual_step = positive_median(np.abs(np.diff(column)), 0.0)
            noise = np.maximum(_local_noise(0.5 * np.abs(before + after)), usual_step / 4)
            out[width:-width] |= away > np.maximum(ISOLATED * noise, visible)
    return out | _broken_ends(column, visible, out)


def _broken_ends(column: np.ndarray, visible: float, spikes: np.ndarray) -> np.ndarray:
    """
    Return (N,) the first and last samples of a ``column`` (N,) beyond a ``visible`` jump.

    spikes : (N,) of it; as far as it steps elsewhere and stays, as at a reversal, it may here
    """
    out = np.zeros(len(column), dtype=bool)
    steps = np.abs(np.diff(column))
    lasting = np.where(spikes[1:] | spikes[:-1], 0.0, steps)[ENDS:-ENDS].max(initial=0.0)
    least = max(END_JUMP * np.quantile(steps, 0.99), visible, 1.5 * lasting, 1e-12)
    jumps = np.flatnonzero(steps > least)
    first = max(jumps[jumps < ENDS], default=-1) + 1
    last = min(jumps[jumps >= len(steps) - ENDS], default=len(steps))
    out[:first], out[last + 1 :] = True, True
    return out


def _local_noise(deviation: np.ndarray) -> np.ndarray:
    """
    Return (N,) the standard deviation around each sample of a ``deviation`` (N,), not negative.

    From quantiles, which spikes hardly change; of a block and those beside it, as noise comes and
    goes with the motion.
    """
    count = max(1, len(deviation) // NOISE_BLOCK)
    blocks = deviation[: count * NOISE_BLOCK].reshape(count, -1)
    middle, high = np.quantile(blocks, (0.5, 0.9), axis=1)
    noise = np.maximum(NORMAL_MEDIAN * middle, high / NORMAL_90)
    noise = np.maximum.reduce([noise, np.roll(noise, 1), np.roll(noise, -1)])
    return noise[np.minimum(np.arange(len(deviation)) // NOISE_BLOCK, count - 1)]


CHECKS = frozen, held, stuck, clipped, quantised, spikes
