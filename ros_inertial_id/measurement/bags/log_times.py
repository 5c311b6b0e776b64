"""
The times of a log in nanoseconds: exact from text, and in the unit that its rates allow.

No log of a motion has less than a sample in a second.  Times without a unit that count faster are
ms, us or ns: what the velocities say, or else the unit that makes 5 to 5000 samples a second.
"""

from dataclasses import dataclass
from decimal import Decimal, DecimalException
import re

import numpy as np

from .log_columns import JointColumns, LogTable
from .log_pieces import PIECE
from .log_spellings import PAIRED_TIME, TIME, TIME_UNITS
from ..recording import empty, page_out
from ...errors import RecordingError

SECOND = 10**9  # [ns]
LAST_NS = 2**31 * SECOND  # of builtin_interfaces/Time
SLOWEST_SAMPLING = 0.2  # [s] between two samples of a motion
TOO_FEW_STEPS = 10  # between samples, to say anything about a rate
UNIT_AGREES = 1.3  # factor within which positions and velocities are of one clock
DAY = 86400 * SECOND  # [ns]
REPEATED_STAMPS = 0.1  # of the stamps: more of them are of a clock with too few digits
_SECONDS_NAME = re.compile(r'(.*?)(sec|secs)', re.I)  # nanoseconds may have a column of their own
UNIT_NAMES = {row.scale: row.spellings[0] for row in TIME_UNITS}
_OF_DAY = re.compile(r'(\d+):(\d\d):(\d\d)(?:[.,](\d{1,9}))?')  # 00:00:10.005
_NANOSECONDS_ENDINGS = ('nanosec', 'nsec', 'nsecs')


@dataclass(frozen=True)
class Clock:
    """Columns of one time, or of seconds and nanoseconds; unit [ns], 0 where no name says it."""

    columns: tuple[str, ...]
    unit: int
    rank: tuple[int, ...]


@dataclass(frozen=True)
class Stamps:
    """Stamps of all rows of a log (N,) int64 [ns], None without a time; columns, unit : their."""

    stamp_ns: np.ndarray | None
    columns: tuple[str, ...]
    unit: str


NO_TIME = Stamps(None, (), '')


def clocks(table: LogTable) -> list[Clock]:
    """Return the times in a ``table``, the best first."""
    times = table.names_of(TIME)
    result = []
    for name in times:
        meaning = table.meanings[name]
        result.append(Clock((name,), int(meaning.scale), meaning.rank))
        for rest in _nanoseconds_beside(name, times):
            result.append(Clock((name, rest), 1, (PAIRED_TIME,)))
    return sorted(result, key=lambda clock: clock.rank)


def _nanoseconds_beside(name: str, times: list[str]) -> list[str]:
    """Return the columns of the nanoseconds of seconds by their ``name``: sec, nanosec."""
    seconds = _SECONDS_NAME.fullmatch(name)
    if not seconds:
        return []
    wanted = {f'{seconds[1]}{ending}'.lower() for ending in _NANOSECONDS_ENDINGS}
    return [column for column in times if column.lower() in wanted]


def read_stamps(table: LogTable, joints: JointColumns) -> Stamps:
    """Return the stamps of a ``table`` with these ``joints``, NO_TIME without a time."""
    stamps = NO_TIME
    for clock in clocks(table):
        times = [table.columns[name] for name in clock.columns]
        if not _are_of_rows(times, joints):
            continue
        unit = clock.unit or _unit(table.where, clock.columns[0], times[0], joints)
        stamp_ns = _sum_ns(table.where, times, unit)
        stamps = Stamps(stamp_ns, clock.columns, UNIT_NAMES[unit])
        if stamp_ns.any():  # a header that nobody stamped is no clock
            break
    if stamps.stamp_ns is not None and stamps.stamp_ns.shape == joints.rows.shape:
        _refuse_repeated(table.where, stamps.columns[0], stamps.stamp_ns[joints.rows], joints)
    return stamps


def stamps_at_rate(count: int, rate: float) -> Stamps:
    """Return ``count`` stamps from 0 at a ``rate`` [Hz]."""
    return Stamps(nanoseconds('rate', np.arange(count) / rate), (), '')


def _are_of_rows(times: list[np.ndarray], joints: JointColumns) -> bool:
    """Return whether columns of a time are alike, and no period T beside many rows."""
    first = times[0]
    if any(part.shape != (len(first),) for part in times):
        return False
    return len(first) != 1 or len(joints.rows) <= 1


def _sum_ns(where: str, times: list[np.ndarray], unit: int) -> np.ndarray:
    """Return one time in a ``unit`` [ns], or seconds and nanoseconds, as int64 [ns]."""
    if len(times) == 1:
        return nanoseconds(where, times[0], unit)
    seconds, nanosecs = times
    return nanoseconds(where, seconds) + nanoseconds(where, nanosecs, 1)


def _refuse_repeated(where: str, name: str, stamp_ns: np.ndarray, joints: JointColumns) -> None:
    """Raise RecordingError where many rows that differ have the stamp of the row before."""
    steps = len(stamp_ns) - 1
    if steps <= TOO_FEW_STEPS:
        return
    same = np.flatnonzero(np.diff(stamp_ns) == 0)
    changed = [(x[same + 1] != x[same]).any(axis=1) for x in joints.fields.values()]
    repeated = np.any(changed, axis=0).sum()
    if repeated <= REPEATED_STAMPS * steps:
        return
    rate = 'HZ'
    if steps - len(same) > TOO_FEW_STEPS:  # else the clock does not say how long the log is
        rate = f'{1e9 * steps / np.ptp(stamp_ns):.4g}'
    raise RecordingError(
        f'{where}: {name} has too few digits',
        expected='a time of its own for every row',
        found=f'{repeated} of {len(stamp_ns)} rows with the time of the row before',
        do='log it with more digits, as unix time in 64 bits, or give the rate in place of it: '
        f'--columns "-={name}" --rate {rate}',
    )


def _unit(where: str, name: str, times: np.ndarray, joints: JointColumns) -> int:
    """Return the unit [ns] of times (n,) whose name does not say it."""
    if times.dtype.kind == 'M' or not times.size:
        return SECOND
    try:
        t = _floats(times)
    except (ValueError, TypeError):  # dates, or words of which the line is said later
        return SECOND
    steps = np.diff(t[np.isfinite(t)])
    if np.count_nonzero(steps > 0) <= TOO_FEW_STEPS:
        return SECOND
    step = float(np.median(steps[steps >= 0]))
    if step < 1.0:
        return SECOND
    unit = _unit_by_velocities(t, joints)
    if unit:
        return unit
    if (steps == 1.0).all():
        raise RecordingError(
            f'{where}: {name} counts by 1',
            expected='a time, whose unit is said',
            do=f'--columns "time_ms={name}" if these are milliseconds; if they '
            f'count samples, --columns "-={name}" and --rate',
        )
    return _unit_by_rate(step)


def _floats(times: np.ndarray) -> np.ndarray:
    """Return ``times`` (n,), numbers or texts with a point or comma, as floats."""
    t = np.empty(len(times))
    for begin in range(0, len(times), PIECE):
        piece = times[begin : begin + PIECE]
        if times.dtype.kind == 'U':
            piece = np.char.replace(piece, ',', '.')
        t[begin : begin + PIECE] = piece
    return t


def _unit_by_velocities(t: np.ndarray, joints: JointColumns) -> int:
    """Return the unit [ns] of t (N,) in which velocities make the way of the positions, or 0."""
    q, v = joints.fields.get('position'), joints.fields.get('velocity')
    if q is None or v is None or t.shape != joints.rows.shape:
        return 0
    way = np.diff(q, axis=0)
    due = 0.5 * (v[1:] + v[:-1]) * np.diff(t[joints.rows])[:, None]  # were the unit a second
    good = np.isfinite(due) & np.isfinite(way)
    seconds = float(way[good] @ due[good]) / (float(due[good] @ due[good]) or 1.0)
    for unit in TIME_UNITS:
        if 1.0 / UNIT_AGREES < seconds / (unit.scale * 1e-9) < UNIT_AGREES:
            return int(unit.scale)
    return 0


def _unit_by_rate(step: float) -> int:
    """Return the unit [ns] in which a ``step`` is one between samples of a motion."""
    for unit in (10**6, 1000):
        if step * unit * 1e-9 < SLOWEST_SAMPLING:
            return unit
    return 1


def nanoseconds(where: str, times: np.ndarray, unit: int = SECOND) -> np.ndarray:
    """Return ``times`` (n,), texts or dates, in a ``unit`` [ns], as int64 [ns]; ``where``: of."""
    if times.dtype.kind == 'U':
        return _nanoseconds_of_texts(where, times, unit)
    numbers = times
    if times.dtype.kind == 'M':
        numbers, unit = times.astype('datetime64[ns]').astype(np.int64), 1
    if numbers.dtype.kind not in 'fiu':
        raise RecordingError(f'{where}: time is not numeric', found=times.dtype)
    last = LAST_NS // unit
    # Not by abs: that of NaT, the least of int64, is negative.
    _refuse_no_times(where, times, (-last < numbers) & (numbers < last))
    stamp_ns = empty(numbers.shape, np.int64)
    for begin in range(0, len(numbers), PIECE):
        piece = numbers[begin : begin + PIECE]
        # Apart: unix time in float, times 1e9, is 128 ns off.
        integers = np.floor(piece).astype(np.int64)
        rest = np.round((piece - integers) * unit).astype(np.int64)
        stamp_ns[begin : begin + PIECE] = integers * unit + rest
    return stamp_ns


def _nanoseconds_of_texts(where: str, texts: np.ndarray, unit: int) -> np.ndarray:
    """Return ``texts`` (n,) of numbers in a ``unit`` [ns], or of dates, as int64 [ns]."""
    stamp_ns, good = empty(texts.shape, np.int64), np.ones(len(texts), bool)
    are_of_day = True
    for begin in range(0, len(texts), PIECE):
        piece = slice(begin, begin + PIECE)
        page_out()
        small = _small_times(texts[piece], unit)
        if small is not None:
            stamp_ns[piece], are_of_day = small, False
            continue
        stripped = list(map(str.strip, texts[piece].tolist()))
        exact = [_exact(text, unit) for text in stripped]
        good[piece] = [stamp is not None for stamp in exact]
        _refuse_no_times(where, texts, good)
        stamp_ns[piece] = np.array(exact, np.int64)
        are_of_day = are_of_day and all(map(_OF_DAY.fullmatch, stripped))
    if are_of_day:
        stamp_ns += DAY * np.cumsum(np.diff(stamp_ns, prepend=stamp_ns[:1]) < -DAY // 2)
    return stamp_ns


def _small_times(texts: np.ndarray, unit: int) -> np.ndarray | None:
    """Return ``texts`` (n,) of numbers in a ``unit`` as [ns] that floats hold, else None."""
    try:
        ns = texts.astype(float) * unit
    except ValueError:
        return None
    if (np.abs(ns) < 2.0**50).all():  # to a quarter of one; today's seconds are not
        return np.round(ns)
    return None


def _refuse_no_times(where: str, times: np.ndarray, good: np.ndarray) -> None:
    """Raise RecordingError with the first of the times (n,) that are not ``good`` (n,)."""
    if good.all():
        return
    k = int(np.argmin(good))
    raise RecordingError(
        f'{where}, sample {k}: no time',
        found=times[k],
        expected='seconds, or a name with their unit, such as time_ms or stamp_ns',
    )


def _exact(text: str, unit: int) -> int | None:
    """Return a time as text in ns, None for no time."""
    if of_day := _OF_DAY.fullmatch(text):
        hours, minutes, seconds = map(int, of_day.groups()[:3])
        whole = 3600 * hours + 60 * minutes + seconds
        return whole * SECOND + int((of_day[4] or '').ljust(9, '0'))
    try:
        stamp_ns = int((Decimal(text.replace(',', '.')) * unit).to_integral_value())
    except (DecimalException, ValueError, OverflowError):
        try:  # 2024-05-01 10:00:00.005
            stamp_ns = int(np.datetime64(text.rstrip('Z'), 'ns').astype(np.int64))
        except ValueError:
            return None
    return stamp_ns if abs(stamp_ns) < LAST_NS else None
