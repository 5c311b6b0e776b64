"""
The times of a log in nanoseconds: exact from text, and in the unit that its rates allow.

No log of a motion has less than a sample in a second.  Times without a unit that count faster are
ms, us or ns: what the velocities say, or else the unit that makes 5 to 5000 samples a second.
"""

from collections.abc import Mapping
from decimal import Decimal, DecimalException
from typing import Any

import numpy as np

from .log_columns import clocks, JointColumns, SECONDS
from ...errors import RecordingError

LAST_NS = 2 ** 31 * 10 ** 9  # of builtin_interfaces/Time
SLOWEST = 0.2  # [s] between two samples of a motion
FEW = 10  # steps that say nothing about a rate
AGREES = 1.3  # factor within which positions and velocities are of one clock
REPEATED = 0.1  # of the stamps: more of them are of a clock with too few digits


def read_stamps(where: str, table: Mapping[str, Any], joints: JointColumns | None
                ) -> tuple[Any, tuple[str, ...], str]:
    """
    Return the stamps (N,) int64 [ns] of all rows, the columns of the clock, its unit.

    where : of the log, for messages; table : {name: (N,)}; joints : in it; None, () and ''
    without a time

    Raises RecordingError for times that are none, or that repeat.
    """
    found: tuple[Any, tuple[str, ...], str] = None, (), ''
    for names, unit in clocks(name for name, values in table.items() if values is not None):
        parts = [np.atleast_1d(table[name]) for name in names]
        if any(part.shape != parts[0].shape[:1] for part in parts) or (
                joints and len(parts[0]) == 1 < len(joints.rows)):  # a period is no time
            continue
        if len(names) == 2:
            stamp_ns = nanoseconds(where, parts[0]) + nanoseconds(where, parts[1], 1)
        else:
            unit = unit or _unit(where, names[0], parts[0], joints)
            stamp_ns = nanoseconds(where, parts[0], unit)
        found = stamp_ns, names, next(name for name, own in SECONDS.items() if own == unit)
        if stamp_ns.any():  # a header that nobody stamped is no clock
            break
    if joints and found[0] is not None and len(found[0]) == len(joints.rows):
        _refuse_repeated(where, found[1][0], found[0][joints.rows], joints)
    return found


def _refuse_repeated(where, name, stamp_ns, joints):
    """Raise RecordingError where rows that differ have one stamp: as many as nobody loses."""
    x = np.hstack(list(joints.fields.values()))
    again = (np.diff(stamp_ns) == 0) & (x[1:] != x[:-1]).any(axis=1)
    seconds = float(stamp_ns.max(initial=0) - stamp_ns.min(initial=LAST_NS)) * 1e-9
    if len(again) > FEW and again.mean() > REPEATED and seconds:
        raise RecordingError(
            f'{where}: {name} has too few digits', expected='a time of its own for every row',
            found=f'{again.sum()} of {len(stamp_ns)} rows with the time of the row before',
            do='log it with more digits, or give the rate in place of it: '
               f'--columns "-={name}" --rate {len(again) / seconds:.4g}')


def _unit(where, name, times, joints):
    """Return the unit [ns] of times (n,) whose name does not say it."""
    try:
        t = (np.char.replace(times, ',', '.') if times.dtype.kind == 'U' else times).astype(float)
    except (ValueError, TypeError):  # dates, or words of which the line is said later
        return 10 ** 9
    steps = np.diff(t[np.isfinite(t)])
    step = float(np.median(steps[steps >= 0])) if (steps > 0).sum() > FEW else 0.0
    if step < 1.0 or times.dtype.kind == 'M':
        return 10 ** 9
    ratio = _by_velocities(t, joints)
    for unit in (10 ** 9, 10 ** 6, 1000, 1):
        if 1.0 / AGREES < ratio / (unit * 1e-9) < AGREES:
            return unit
    if (steps == 1.0).all():
        raise RecordingError(f'{where}: {name} counts by 1', expected='a time, whose unit is said',
                             do=f'--columns "time_ms={name}" if these are milliseconds; if they '
                             f'count samples, --columns "-={name}" and --rate')
    return next((unit for unit in (10 ** 6, 1000) if step * unit * 1e-9 < SLOWEST), 1)


def _by_velocities(t, joints):
    """Return the seconds in a unit of times t (N,) by which positions have their velocities."""
    q, v = (joints.fields.get(name) if joints else None for name in ('position', 'velocity'))
    if q is None or v is None or t.shape != joints.rows.shape:
        return 0.0
    steps = np.diff(t[joints.rows])[:, None]
    with np.errstate(divide='ignore', invalid='ignore'):
        slope, v = np.diff(q, axis=0) / steps, 0.5 * (v[1:] + v[:-1])
    good = (steps > 0) & np.isfinite(slope) & np.isfinite(v)
    return float(slope[good] @ v[good] / (v[good] @ v[good])) if v[good].any() else 0.0


def nanoseconds(where: str, times: np.ndarray, unit: int = 10 ** 9) -> np.ndarray:
    """
    Return times as (n,) int64 [ns], exact to the nearest.

    where : they come from, for the message; times : (n,), texts or dates; unit : of them [ns]
    Whole seconds go apart: today's unix time in float, times 1e9, would be 128 ns off.
    """
    if times.dtype.kind == 'U':
        return np.array([_exact(f'{where}, sample {k}', text.strip(), unit)
                         for k, text in enumerate(times.tolist())], np.int64)
    if times.dtype.kind == 'M':
        times, unit = times.astype('datetime64[ns]').astype(np.int64), 1
    if times.dtype.kind not in 'fiu':
        raise RecordingError(f'{where}: time is not numeric', found=times.dtype)
    last = LAST_NS // unit
    wrong = np.flatnonzero(~((times > -last) & (times < last)))
    if wrong.size:
        raise _no_time(f'{where}, sample {wrong[0]}', times.flat[wrong[0]])
    whole = np.floor(times).astype(np.int64)
    return whole * unit + np.round((times - whole) * unit).astype(np.int64)


def _exact(where, text, unit):
    """Return a time as text in ns; a float of today's seconds would resolve 240 ns."""
    try:
        stamp_ns = int((Decimal(text.replace(',', '.')) * unit).to_integral_value())
    except (DecimalException, ValueError, OverflowError):
        try:  # 2024-05-01 10:00:00.005
            stamp_ns = int(np.datetime64(text.rstrip('Z'), 'ns').astype(np.int64))
        except ValueError:
            raise _no_time(where, text) from None
    if abs(stamp_ns) >= LAST_NS:
        raise _no_time(where, text)
    return stamp_ns


def _no_time(where, found):
    return RecordingError(f'{where}: no time', found=found, expected='seconds, or a name with '
                          'their unit, such as time_ms or stamp_ns')
