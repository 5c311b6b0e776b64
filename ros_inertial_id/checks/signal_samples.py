"""
Signal checks of samples: repeated, held, frozen, stuck, clipped, quantised and isolated ones.

Every check takes RawSignals and yields Findings; ``CHECKS`` lists them.
"""

from collections.abc import Iterator

import numpy as np

from .finding import DOUBTFUL, Finding, MASKED, NOTE, WRONG
from .signals import Quantity, RawSignals, runs
from .thresholds import CERTAIN

FROZEN = 0.05  # [s] of equal messages, and at least this many samples:
SOME = 5
MANY = 20  # stretches: so many are the rhythm of a slow source
AROUND = 0.05  # [s] on both sides in which a joint that moves goes a way
SLOW = 0.1  # of what is usual: less is standstill
STUCK = 0.3  # [s] of one value while the joint moves
CLIPPED = 0.8  # of the samples near an extreme value that are exactly there
NEAR = 0.03  # of the range: near it
MOST = 0.2  # of the samples: a fit with more of them clipped is not the robot's
STRETCH = 0.5  # [s] without clipping that a filter can use
BY_SHARE = 'frozen', 'stuck', 'clipped'  # end the names of findings that few samples only mask
NEARLY_ALL = 0.98  # of the samples at an extreme: a constant with exceptions
ISOLATED = 12.0  # standard deviations by which a spike leaves both neighbours
BLOCK = 100  # samples of which the noise is taken: ten spikes among them are none
VISIBLE = 0.05  # of the range of its signal that a spike must have
ENDS = 5  # first and last samples that may be broken together, as a driver starts
JUMP = 4.0  # times the steps that one in a hundred exceeds: a jump that no motion makes
SOME_OF = 1000  # samples
COARSE, ROUGH = 0.02, 0.2  # quantisation step over standard deviation: worth a note, doubtful


def _long(signals: RawSignals, rows: np.ndarray) -> np.ndarray:
    """Return (N - 1,) the equal steps in ``rows`` (N - 1,) of a source that is frozen or rests."""
    out, found = np.zeros_like(rows), runs(rows)
    lengths = np.array([b - a + 1 for a, b in found])
    usual = int(3 * np.quantile(lengths, 0.9)) if len(lengths) > MANY else 0  # of a slow source
    least = max(SOME, int(FROZEN / signals.position.period), usual)
    for a, b in found:
        out[a : b + 1] = b - a + 1 >= least
    return out


def frozen(signals: RawSignals) -> Iterator[Finding]:
    """Yield stretches in which messages of ``signals`` repeat while the robot moves."""
    q, moving = signals.position.values, _moves_at(signals, signals.position.t)
    found = [
        (a, b + 1) for a, b in runs(_long(signals, signals.repeats)) if moving[a] or moving[b + 1]
    ]
    if found:
        lost = sum(b - a for a, b in found)
        yield Finding(
            'frozen',
            f'intervals in which no value changes ({100 * lost / len(q):.2g} % of the samples)',
            'equal messages in a row',
            float(lost),
            'samples',
            signals.joints,
            MASKED if lost < 0.5 * len(q) else WRONG,
            'look for a blocked driver',
            signals.position.windows(found),
        )


def held(signals: RawSignals) -> Iterator[Finding]:
    """Yield channels of ``signals`` whose joints all keep their values together in motion."""
    moving = _moves_at(signals, signals.position.t)
    rows = signals.repeats & (np.diff(signals.position.t) > 0.0)  # a message may come twice
    rows = (rows & ~_long(signals, rows))[moving[1:]]
    if len(rows) and rows.mean() > 0.01:
        yield _held('messages', float(rows.sum()), 'samples', signals, float(rows.mean()))
        return
    for name, x in signals.quantities().items():
        chosen = ~signals.rests | (name == 'effort')  # what moves must change
        same = np.diff(x.values[:, chosen], axis=0) == 0
        same = same[
            ~_long(signals, same.all(axis=1)) & _moves_at(signals, x.t)[1:] & (np.diff(x.t) > 0.0)
        ]
        if not len(same):
            continue
        alone, together = same.mean(axis=0), same.all(axis=1).mean()
        by_chance = float(np.prod(alone))
        if together > 0.2 and chosen.sum() > 1 and together < 0.999:
            chance, here = np.clip((by_chance, together), 1e-12, 1 - 1e-12)
            nats = len(same) * (
                here * np.log(here / chance) + (1 - here) * np.log((1 - here) / (1 - chance))
            )
            if nats > CERTAIN and together > by_chance:
                yield _held(name, float(nats), 'nats', signals, float(together))


def _moves_at(signals: RawSignals, t: np.ndarray) -> np.ndarray:
    """Return (N,) whether any joint goes a way that shows around the times t (N,) [s]."""
    at, q = signals.position.t, signals.position.values
    near = max(1, int(round(AROUND / signals.position.period)))
    ends = [np.clip(np.arange(len(at)) + k, 0, len(at) - 1) for k in (-near, near)]
    way = np.abs(q[ends[1]] - q[ends[0]])
    typical = np.sqrt((way**2).mean(axis=0))
    moves = ((way > SLOW * typical) & ~signals.rests).any(axis=1)
    return moves[np.searchsorted(at, t).clip(max=len(at) - 1)]


def _held(what: str, evidence: float, unit: str, signals: RawSignals, share: float) -> Finding:
    return Finding(
        'samples held',
        f'{100 * share:.0f} % of the {what} in motion repeat the '
        'previous one: the sensor is read less often than it is published',
        'equal values of all joints at once',
        evidence,
        unit,
        signals.joints,
        DOUBTFUL if share > 0.3 else NOTE,
        'record at the rate of the driver',
    )


def stuck(signals: RawSignals) -> Iterator[Finding]:
    """Yield joints of ``signals`` with a quantity that keeps one value while the joint moves."""
    q = signals.position
    rows = signals.repeats
    for name, x in signals.quantities().items():
        for j, joint in enumerate(signals.joints):
            same = np.diff(x.values[:, j]) == 0
            # Messages that repeat as a whole may stand between, but say nothing of this joint.
            informative = ~rows if len(same) == len(rows) else np.ones(len(same), dtype=bool)
            # Coarse steps keep their values too: only runs far beyond the usual ones are stuck.
            usual = len(same) / (1 + np.count_nonzero(~same))
            least = max(SOME, int(STUCK / x.period), int(20 * usual))
            long = [
                (a, b)
                for a, b in runs(same)
                if b - a + 1 >= least and informative[a : b + 1].sum() >= max(least, 0.3 * (b - a))
            ]
            if not long:
                continue
            moving = _moving(signals, x.t, j, name)
            found = [
                (a, b + 1)
                for a, b in long
                if moving[a : b + 1].mean() > 0.5
                and not _extreme(x.values[:, j], a)
                and not _one_step(x.values[:, j], b + 1)
            ]
            if not found:
                continue
            lost = sum(b - a for a, b in found)
            whole = lost > 0.2 * len(q.t)
            yield Finding(
                f'{name} stuck',
                f'the {name} of {joint} keeps one value for '
                f'{lost * x.period:.2g} s while the joint moves',
                'runs of one value',
                float(lost),
                'samples',
                (joint,),
                WRONG if whole else MASKED,
                f'look at the {name} of {joint} in the driver',
                x.windows(found),
            )


def _one_step(column: np.ndarray, last: int) -> bool:
    """Return whether ``column`` goes on after ``last`` by one quantisation step: it was alive."""
    step = _step(column)
    return (
        step > 0
        and last + 1 < len(column)
        and bool(abs(column[last + 1] - column[last]) < 1.5 * step)
    )


def _moving(signals: RawSignals, t: np.ndarray, j: int, name: str) -> np.ndarray:
    """Return (N,) whether joint j moves, by the position, or by the velocity where that is it."""
    source, speed = signals.position, np.gradient(signals.position.values[:, j])
    if name == 'position' and signals.velocity is not None:
        source, speed = signals.velocity, signals.velocity.values[:, j]
    return np.interp(t, source.t, np.abs(speed)) > SLOW * np.sqrt(np.mean(speed**2))


def _extreme(x: np.ndarray, place: int) -> bool:
    return bool(x[place] in (x.max(), x.min())) and np.ptp(x) > 0


def clipped(signals: RawSignals) -> Iterator[Finding]:
    """Yield joints of ``signals`` whose effort or velocity stops at one extreme value."""
    for name, x in signals.quantities().items():
        if name == 'position':
            continue
        for j, joint in enumerate(signals.joints):
            column = x.values[:, j]
            at = clipped_at(column)
            if at is None or signals.rests[j] or _step(column) > COARSE * column.std():
                continue
            share = float(at.mean())
            found = [(a, b) for a, b in runs(at) if b > a]
            yield Finding(
                f'{name} clipped',
                f'the {name} of {joint} is clipped at '
                f'{np.abs(column[at]).max():.4g} in {100 * share:.2g} % of the samples',
                'samples exactly at an extreme value',
                float(at.sum()),
                'samples',
                (joint,),
                MASKED
                if _enough_without(x.t, at)
                else WRONG
                if share > MOST and name == 'effort'
                else DOUBTFUL,
                'move with smaller efforts or widen the range of the sensor',
                x.windows(found),
            )


def _enough_without(t: np.ndarray, bad: np.ndarray) -> bool:
    """Return whether stretches without samples that are ``bad`` (N,) are most of the data."""
    whole = sum(t[b] - t[a] for a, b in runs(~bad) if t[b] - t[a] > STRETCH)
    return bool(whole > 0.5 * (t[-1] - t[0]))


def clipped_at(column: np.ndarray) -> np.ndarray | None:
    """
    Return (N,) which samples stop at the largest or smallest value, None where none does.

    column : (N,) of one quantity; zero is where it rests, not where it stops
    """
    span = np.ptp(column)
    out = np.zeros(len(column), dtype=bool)
    for extreme in (column.max(), column.min()):
        exact = column == extreme
        near = np.abs(column - extreme) < NEAR * span
        if (
            extreme
            and exact.sum() >= 20
            and exact.sum() > CLIPPED * near.sum()
            and max(b - a for a, b in runs(exact)) >= 4
        ):
            out |= exact
    return out if out.any() and out.mean() < NEARLY_ALL else None


def quantised(signals: RawSignals) -> Iterator[Finding]:
    """Yield channels of ``signals`` with steps that are coarse against the signal."""
    for name, x in signals.quantities().items():
        ratios = np.array([_step(c) / max(c.std(), 1e-300) for c in x.values.T])
        ratios[signals.rests] = 0.0  # of a joint at rest there is nothing but steps
        bad = ratios > COARSE
        if bad.any():
            names = signals.names(bad)
            yield Finding(
                f'{name} quantised',
                f'the {name} of {", ".join(names)} comes in steps '
                f'of up to {100 * ratios[bad].max():.2g} % of its standard deviation',
                'gaps between the values that occur',
                float(len(x.t) * bad.sum()),
                'samples',
                names,
                DOUBTFUL if ratios.max() > ROUGH else NOTE,
                'record with more digits',
            )


def _step(column: np.ndarray) -> float:
    """Return the quantisation step of a column (N,), 0 where its values are no multiples."""
    some = column[:: max(1, len(column) // SOME_OF)]
    if len(some) >= SOME_OF and len(np.unique(some)) == len(some):
        return 0.0  # of so few levels as steps have, some would occur twice
    levels = np.unique(column)
    if not 1 < len(levels) <= len(column) / 4:
        return 0.0
    gaps = np.diff(levels)
    step = float(np.median(gaps))
    whole = gaps / step
    return step if np.mean(np.abs(whole - np.round(whole)) < 0.05) > 0.9 else 0.0


def spikes(signals: RawSignals) -> Iterator[Finding]:
    """Yield samples of ``signals`` that leave both neighbours, or are parted at an end."""
    for name, x in signals.quantities().items():
        alike: dict[bytes, list[str]] = {}  # a broken message spoils many joints at once
        for j, joint in enumerate(signals.joints):
            bad = isolated(x, j)
            if name == 'velocity' and len(x.t) == len(signals.position.t):
                bad &= ~_shown(signals, x.values[:, j], j, bad)
            if not bad.any() or bad.mean() > 0.02:
                continue
            if (
                name != 'effort'
                and signals.rests[j]
                and np.ptp(x.values[:, j]) < VISIBLE * np.ptp(x.values, axis=0).max()
            ):
                continue  # steps of an encoder at rest
            alike.setdefault(bad.tobytes(), []).append(joint)
        for mask, joints in alike.items():
            bad, names = np.frombuffer(mask, dtype=bool), ', '.join(joints)
            ends = not bad[ENDS:-ENDS].any()
            yield Finding(
                f'{name} spikes',
                f'the {name} of {names} jumps where the recording begins or ends'
                if ends
                else f'spikes in the {name} of {names}',
                'samples that a jump parts from their neighbours',
                float(bad.sum()),
                'samples',
                tuple(joints),
                MASKED,
                'look for broken messages or cables'
                + (', unless friction sets in there' if ends and name == 'effort' else ''),
                x.windows(runs(bad)),
            )


def _shown(signals: RawSignals, v: np.ndarray, j: int, bad: np.ndarray) -> np.ndarray:
    """
    Return (N,) which ``bad`` samples (N,) of a velocity ``v`` (N,) the positions of joint j show.

    Where backlash or elasticity lets a joint jerk, the way between the neighbours is that of the
    velocities as they are; where a message is broken, that of a line across it.
    """
    t, q = signals.position.t, signals.position.values[:, j]
    out = np.zeros_like(bad)
    for a, b in runs(bad):
        part = slice(max(0, a - 1), min(len(v), b + 2))
        ends = [v[k] for k in (a - 1, b + 1) if 0 <= k < len(v)]
        steps, way = np.diff(t[part]), q[part][-1] - q[part][0]
        recorded = float((0.5 * (v[part][1:] + v[part][:-1]) * steps).sum())
        out[a : b + 1] = abs(way - recorded) < abs(way - float(np.mean(ends)) * steps.sum())
    return out


def isolated(x: Quantity, j: int) -> np.ndarray:
    """
    Return (N,) which samples of column ``j`` of a Quantity ``x`` are spikes of 1 or 2.

    Or up to ENDS at its beginning or end that a jump parts from all others.
    """
    column = x.values[:, j]
    low, high = np.quantile(column, (0.005, 0.995))
    out = np.zeros(len(column), dtype=bool)
    for width in (1, 2):
        before = column[width:-width] - column[: -2 * width]
        after = column[width:-width] - column[2 * width :]
        away = np.minimum(np.abs(before), np.abs(after)) * (before * after > 0)
        if high > low and away.max() > VISIBLE * (high - low):
            noise = np.maximum(_local_noise(0.5 * np.abs(before + after)), _usual(column) / 4)
            out[width:-width] |= away > np.maximum(ISOLATED * noise, VISIBLE * (high - low))
    return out | _broken_ends(column, VISIBLE * (high - low), out)


def _broken_ends(column: np.ndarray, visible: float, spikes: np.ndarray) -> np.ndarray:
    """
    Return (N,) the first and last samples of a ``column`` (N,) beyond a ``visible`` jump.

    spikes : (N,) of it; as far as it steps elsewhere and stays, as at a reversal, it may here
    """
    out = np.zeros(len(column), dtype=bool)
    steps = np.abs(np.diff(column))
    stays = np.where(spikes[1:] | spikes[:-1], 0.0, steps)[ENDS:-ENDS].max(initial=0.0)
    jumps = np.flatnonzero(
        steps > max(JUMP * np.quantile(steps, 0.99), visible, 1.5 * stays, 1e-12)
    )
    out[: max(jumps[jumps < ENDS], default=-1) + 1] = True
    out[min(jumps[jumps >= len(steps) - ENDS], default=len(column)) + 1 :] = True
    return out


def _usual(column: np.ndarray) -> float:
    """Return the median of the steps of a ``column`` (N,) that are not zero, or 0."""
    steps = np.abs(np.diff(column))
    return float(np.median(steps[steps > 0])) if np.any(steps > 0) else 0.0


def _local_noise(deviation: np.ndarray) -> np.ndarray:
    """
    Return (N,) the standard deviation around each sample of a ``deviation`` (N,), not negative.

    From quantiles, which spikes hardly change; of a block and those beside it, as noise comes and
    goes with the motion.
    """
    count = max(1, len(deviation) // BLOCK)
    blocks = deviation[: count * BLOCK].reshape(count, -1)
    middle, high = np.quantile(blocks, (0.5, 0.9), axis=1)
    noise = np.maximum(1.4826 * middle, high / 1.645)  # of a normal distribution
    noise = np.maximum.reduce([noise, np.roll(noise, 1), np.roll(noise, -1)])
    return noise[np.minimum(np.arange(len(deviation)) // BLOCK, count - 1)]


CHECKS = frozen, held, stuck, clipped, quantised, spikes
