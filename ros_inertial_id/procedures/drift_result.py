"""
What drift found: series of every quantity of a robot, by how much each changed, tables of both.

Of the tables ``drift_series.csv`` has one row for every quantity of every bag,
``drift_trends.csv`` one for every quantity.
"""

from collections.abc import Iterator, Mapping, Sequence
import csv
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .changes import Trend
from ..dynamics.friction import LAWS
from ..errors import file_errors
from ..identification.identified_model import plain
from ..representation import brief

FALSE_DISCOVERIES = 0.01  # expected share of changes that are none among those that are named
NOT_TESTED = 'not tested, one recording; give another of the same robot, in the same folder'
NAMED_ROBOTS = 20  # robots, at most, that are shown without a change
DAY = 86400.0  # [s]
DATED = 1e9  # [s] since 1970: earlier stamps count from a start, as logs and simulators do


@dataclass(frozen=True)
class Series:
    """
    One quantity of a robot over its days.

    name : with the joint's number, carried m ... or tilt 1; joint : its owner
    law : of friction, or payload or gravity; unit
    values, errors : (n,) changes from their mean and standard errors
    usual : the value of all days together, 0 where there is none
    least : change that is large enough to matter
    """

    name: str
    joint: str
    law: str
    unit: str
    values: np.ndarray
    errors: np.ndarray
    usual: float
    least: float


@dataclass(frozen=True)
class Change:
    """
    By how much one quantity changed.

    name, joint, law, unit : see Series; size, error : change over the ``days``, standard error
    percent : of the usual value, None where it means nothing
    p_value : of so large a change without one, 1 where it is too small to matter
    adjusted : p-value adjusted for the number of changes that were looked for
    since : the recording from which on it differs, '' of a change that grows evenly
    """

    name: str
    joint: str
    law: str
    unit: str
    size: float
    error: float
    percent: float | None
    days: float
    p_value: float
    adjusted: float = 1.0
    dated: bool = True
    since: str = ''

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with the sentence."""
        entry = {**asdict(self), 'says': self.sentence()}
        if not self.dated:
            entry['days'] = None
        return entry

    def sentence(self) -> str:
        """Return in words what changed and by how much."""
        share = ''
        if self.percent is not None:
            share = f' ({self.percent:+.0f} %)'
        return (
            f'{self.joint} {self._cause()} {self.size:+.3g} +- '
            f'{self.error:.2g} {self.unit}{share} {self._span()}'
        )

    def _cause(self) -> str:
        """Return what changed: friction or offset of a joint, the load on a link, gravity."""
        if self.law in LAWS:
            return LAWS[self.law].wears
        if self.unit == 'kg':
            return 'load, mass'
        return self.name.replace('carried', 'load,')

    def _span(self) -> str:
        """Return in words over what time it changed."""
        if self.since:
            return f'from {self.since} on'
        if not self.dated:
            return f'in {self.days + 1:.0f} recordings in their order, which have no date'
        if self.days < 1.0:
            return f'in {24.0 * self.days:.0f} hours'
        return f'in {self.days:.0f} days'


def change_of(series: Series, trend: Trend, days: float, dated: bool) -> Change:
    """Return the Change of a ``series`` by its ``trend`` over ``days``, or recordings."""
    percent = None
    if series.usual and not LAWS[series.law].signed:
        percent = 100.0 * trend.size / abs(series.usual)
    p_value = 1.0
    if abs(trend.size) > series.least:
        p_value = trend.p_value
    return Change(
        series.name,
        series.joint,
        series.law,
        series.unit,
        trend.size,
        trend.error,
        percent,
        days,
        p_value,
        dated=dated,
    )


@dataclass(frozen=True)
class RobotDrift:
    """
    What changed in one robot.

    robot : name of its folder; start_s : of its first bag since 1970, NaN without dates
    paths : its bags; days : (n,) since the first, or their numbers
    series : all quantities; changes : of these
    """

    robot: str
    start_s: float
    days: np.ndarray
    paths: tuple[str, ...]
    series: tuple[Series, ...]
    changes: tuple[Change, ...]

    @property
    def unchanged(self) -> str:
        """Return what to say where no change is significant: a single one cannot be compared."""
        if len(self.paths) < 2:
            return NOT_TESTED
        return 'no significant change'

    @property
    def significant(self) -> list[Change]:
        """Return the changes beyond chance, the surest first."""
        return sorted(
            (c for c in self.changes if c.adjusted <= FALSE_DISCOVERIES), key=lambda c: c.p_value
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of the table of series."""
        times = (1e3 * (self.start_s + DAY * self.days)).astype('datetime64[ms]').tolist()
        for one in self.series:
            for bag, time, change, error in zip(self.paths, times, one.values, one.errors):
                yield {
                    'robot': self.robot,
                    'bag': bag,
                    'time': time,
                    'name': one.name,
                    'joint': one.joint,
                    'law': one.law,
                    'unit': one.unit,
                    'mean': one.usual,
                    'change': float(change),
                    'standard_error': float(error),
                }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; days are None where stamps say none."""
        days = None
        if np.isfinite(self.start_s):
            days = self.days.tolist()
        return {
            'days': days,
            'bags': list(self.paths),
            'changes': [c.to_dict() for c in self.significant],
            'series': [plain(asdict(s)) for s in self.series],
        }


def adjusted(robots: Sequence[RobotDrift]) -> list[RobotDrift]:
    """
    Return ``robots`` with p-values adjusted for all of their changes together.

    Of changes whose adjusted p-value is below a rate, at most that share is expected to be none
    (Benjamini and Hochberg 1995), also where they depend on each other as errors of one fit do
    (Reiner-Benaim 2007).
    """
    from scipy.stats import false_discovery_control  # takes long to import: when needed

    p = [change.p_value for robot in robots for change in robot.changes]
    if not p:
        return list(robots)
    adjusted_values = iter(false_discovery_control(p).tolist())
    out = []
    for robot in robots:
        changes = tuple(replace(c, adjusted=next(adjusted_values)) for c in robot.changes)
        out.append(replace(robot, changes=changes))
    return out


@dataclass(frozen=True, repr=False)
class Drift:
    """
    What changed in a fleet.

    robots : RobotDrift of each; left_out : {path: why}
    cached, read : bags that took part, found in the cache and read
    """

    robots: tuple[RobotDrift, ...]
    left_out: Mapping[str, str]
    cached: int
    read: int

    def __repr__(self) -> str:
        return brief(self.to_text())

    def __str__(self) -> str:
        return self.to_text()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            'bags': {'read': self.read, 'from_cache': self.cached},
            'robots': {r.robot: r.to_dict() for r in self.robots},
            'left_out': dict(self.left_out),
        }

    def brief(self) -> 'Drift':
        """Return the Drift of the robots that changed, of all where they are few."""
        if len(self.robots) <= NAMED_ROBOTS:
            return self
        return replace(self, robots=tuple(r for r in self.robots if r.significant))

    def to_text(self) -> str:
        """Return what changed, robot by robot, and which bags were left out."""
        lines, quiet = [], []
        for robot in self.robots:
            lines += [f'{robot.robot}: {change.sentence()}' for change in robot.significant]
            if len(robot.paths) < 2:
                lines.append(f'{robot.robot}: {robot.unchanged}')
            elif not robot.significant:
                quiet.append(robot.robot)
        if quiet:
            named = ', '.join(quiet)
            if len(quiet) > NAMED_ROBOTS:
                named = f'{len(quiet)} robots'
            lines.append(f'no significant change: {named}')
        lines.append(f'{self.read} bags read, {self.cached} from the cache')
        lines += [f'left out: {path}: {reason}' for path, reason in self.left_out.items()]
        return '\n'.join(lines)

    def write_tables(self, folder: str | Path) -> dict[str, str]:
        """
        Write the tables into a ``folder``; return {name: path}.

        ConfigError where one cannot be written.
        """
        tables: dict[str, list[dict[str, Any]]] = {'drift_series': [], 'drift_trends': []}
        for robot in self.robots:
            tables['drift_series'] += robot.rows()
            changes = [{'robot': robot.robot, **change.to_dict()} for change in robot.changes]
            tables['drift_trends'] += changes
        paths = {name: Path(folder, f'{name}.csv') for name in tables}
        with file_errors(f'the tables in {folder}', 'written'):
            Path(folder).mkdir(parents=True, exist_ok=True)
            for name, rows in tables.items():
                _write_table(paths[name], rows)
        return {name: str(path) for name, path in paths.items()}


def _write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write ``rows`` as CSV, the names of the columns from the first."""
    columns = list(rows[0]) if rows else []
    with path.open('w', newline='', encoding='utf-8') as stream:
        writer = csv.DictWriter(stream, columns)
        writer.writeheader()
        writer.writerows(rows)
