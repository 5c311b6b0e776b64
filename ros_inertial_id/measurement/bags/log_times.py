"""
The times of a log in nanoseconds: exact from text, and in the unit that its rates allow.

No log of a motion has less than a sample in a second.  Times without a unit that count faster are
ms, us or ns: what the velocities say, or else the unit that makes 5 to 5000 samples a second.
"""

from contextlib import suppress
from decimal import Decimal, DecimalException
from typing import Any

import numpy as np

from .log_columns import clocks, JointColumns, SECONDS, Table
from ...errors import RecordingError

LAST_NS = 2**31 * 10**9  # of builtin_interfaces/Time
SLOWEST = 0.2  # [s] between two samples of a motion
FEW = 10  # steps that say nothing about a rate
AGREES = 1.3  # factor within which positions and velocities are of one clock
REPEATED = 0.1  # of the stamps: more of them are of a clock with too few digits


def read_stamps(
    where: str, table: Table, joints: JointColumns | None
) -> tuple[Any, tuple[str, ...], str]:
    """
    Return the stamps (N,) int64 [ns] of all rows, the columns of the clock, its unit.

    where : of the log; joints : in the ``table``; None, () and '' without a time
    """
    found: tuple[Any, tuple[str, ...], str] = None, (), ''
    for names, unit in clocks(table):
        parts = [np.atleast_1d(table[name]) for name in names]
        if any(part.shape != parts[0].shape[:1] for part in parts) or (
            joints and len(parts[0]) == 1 < len(joints.rows)
        ):  # a period is no time
            continue
        unit = unit or _unit(where, names[0], parts[0], joints)
        stamp_ns = nanoseconds(where, parts[0], unit if len(names) == 1 else 10**9)
        stamp_ns = stamp_ns + sum(nanoseconds(where, part, 1) for part in parts[1:])
        found = stamp_ns, names, next(name for name, own in SECONDS.items() if own == unit)
        if joints and len(stamp_ns) == len(joints.rows):
            _refuse_repeated(where, names[0], stamp_ns[joints.rows], joints)
        if stamp_ns.any():  # a header that nobody stamped is no clock
            break
    return found


def _refuse_repeated(where, name, stamp_ns, joints):
    """Raise RecordingError where many rows that differ have the stamp of the row before."""
    same, steps = np.flatnonzero(np.diff(stamp_ns) == 0), len(stamp_ns) - 1
    again = np.any([(x[same + 1] != x[same]).any(axis=1) for x in joints.fields.values()], axis=0)
    if steps > FEW and again.sum() > REPEATED * steps and np.ptp(stamp_ns):
        rate = 1e9 * steps / np.ptp(stamp_ns)
        raise RecordingError(
            f'{where}: {name} has too few digits',
            expected='a time of its own for every row',
            found=f'{again.sum()} of {len(stamp_ns)} rows with the time of the row before',
            do='log it with more digits, or give the rate in place of it: '
            f'--columns "-={name}" --rate {rate:.4g}',
        )


def _unit(where, name, times, joints):
    """Return the unit [ns] of times (n,) whose name does not say it."""
    try:
        t = (np.char.replace(times, ',', '.') if times.dtype.kind == 'U' else times).astype(float)
    except (ValueError, TypeError):  # dates, or words of which the line is said later
        return 10**9
    steps = np.diff(t[np.isfinite(t)])
    if (
        times.dtype.kind == 'M'
        or (steps > 0).sum() <= FEW
        or (step := float(np.median(steps[steps >= 0]))) < 1.0
    ):
        return 10**9
    q, v = (joints.fields.get(name) if joints else None for name in ('position', 'velocity'))
    if q is not None and v is not None and t.shape == joints.rows.shape:
        mean, way = 0.5 * (v[1:] + v[:-1]), np.diff(q, axis=0)
        due = mean * np.diff(t[joints.rows])[:, None]  # the way, if the unit were a second
        good = np.isfinite(due) & np.isfinite(way)
        ratio = float(way[good] @ due[good]) / (float(due[good] @ due[good]) or 1.0)
        for unit in (10**9, 10**6, 1000, 1):
            if 1.0 / AGREES < ratio / (unit * 1e-9) < AGREES:
                return unit
    if (steps == 1.0).all():
        raise RecordingError(
            f'{where}: {name} counts by 1',
            expected='a time, whose unit is said',
            do=f'--columns "time_ms={name}" if these are milliseconds; if they '
            f'count samples, --columns "-={name}" and --rate',
        )
    return next((unit for unit in (10**6, 1000) if step * unit * 1e-9 < SLOWEST), 1)


def nanoseconds(where: str, times: np.ndarray, unit: int = 10**9) -> np.ndarray:
    """Return ``times`` (n,), texts or dates, in a ``unit`` [ns], as int64 [ns]; ``where``: of."""
    if times.dtype.kind == 'M':
        times, unit = times.astype('datetime64[ns]').astype(np.int64), 1
    if times.dtype.kind == 'U':
        with suppress(ValueError):
            ns = times.astype(float) * unit
            if (np.abs(ns) < 2.0**50).all():  # to a quarter of one; today's seconds are not
                return np.round(ns).astype(np.int64)
        exact = [_exact(text.strip(), unit) for text in times.tolist()]
        good = np.array([stamp is not None for stamp in exact], bool)
    elif times.dtype.kind in 'fiu':
        good = np.abs(times) < LAST_NS // unit
    else:
        raise RecordingError(f'{where}: time is not numeric', found=times.dtype)
    if not good.all():
        k = int(np.argmin(good))
        raise RecordingError(
            f'{where}, sample {k}: no time',
            found=times[k],
            expected='seconds, or a name with their unit, such as time_ms or stamp_ns',
        )
    if times.dtype.kind == 'U':
        return np.array(exact, np.int64)
    whole = np.floor(times).astype(np.int64)  # apart: unix time in float, times 1e9, is 128 ns off
    return whole * unit + np.round((times - whole) * unit).astype(np.int64)


def _exact(text, unit):
    """Return a time as text in ns, None for no time."""
    try:
        stamp_ns = int((Decimal(text.replace(',', '.')) * unit).to_integral_value())
    except (DecimalException, ValueError, OverflowError):
        try:  # 2024-05-01 10:00:00.005
            stamp_ns = int(np.datetime64(text.rstrip('Z'), 'ns').astype(np.int64))
        except ValueError:
            return None
    return stamp_ns if abs(stamp_ns) < LAST_NS else None
