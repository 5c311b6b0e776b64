"""
What drift found: as text, as JSON, and as tables for pandas, DuckDB and others.

Tables are Parquet where pyarrow is there, CSV without.  ``drift_series`` has one row for every
quantity of every bag, ``drift_findings`` one for every change, ``drift_robots`` one a robot.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
import csv
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .drift_findings import Finding, Hypotheses, RATE, Series
from ..errors import RecordingError
from ..measurement.bags.object_store import path_of

FINDING = ('what', 'name', 'joint', 'law', 'kind', 'size', 'error', 'unit', 'percent', 'sigmas',
           'at_day', 'p_value', 'says')
NAMED = 20  # robots, at most, that are shown without a change


@dataclass(frozen=True)
class RobotDrift:
    """
    What changed in one robot.

    robot : name of its folder; start_s : of its first bag since 1970; paths : its bags
    days : (n,) since the first
    temperature : (n,) [deg C] or None; series : all quantities; hypotheses : about these
    findings : what changed significantly
    adjusted : p-value of the robot without a change, adjusted for the number of robots
    """

    robot: str
    start_s: float
    days: np.ndarray
    paths: tuple[str, ...]
    temperature: np.ndarray | None
    series: tuple[Series, ...]
    hypotheses: Hypotheses
    findings: tuple[Finding, ...] = ()
    adjusted: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {'days': self.days.tolist(), 'bags': list(self.paths),
                'adjusted_p_value': self.adjusted,
                'findings': [f.to_dict() for f in self.findings],
                'series': [{'name': s.name, 'joint': s.joint, 'law': s.law, 'unit': s.unit,
                            'values': s.values.tolist(), 'errors': s.errors.tolist(),
                            'usual': s.usual} for s in self.series]}


@dataclass(frozen=True, repr=False)
class Drift:
    """
    What changed in a fleet.

    robots : RobotDrift of each; left_out : {path: why}
    cached, read : bags that took part, found in the cache and read
    rate : false-discovery rate that was asked for, see drift_findings
    """

    robots: tuple[RobotDrift, ...]
    left_out: Mapping[str, str]
    cached: int
    read: int
    rate: float = RATE

    def __repr__(self) -> str:
        return self.to_text()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {'false_discovery_rate': self.rate,
                'bags': {'read': self.read, 'from_cache': self.cached},
                'robots': {r.robot: r.to_dict() for r in self.robots},
                'left_out': dict(self.left_out)}

    def brief(self) -> 'Drift':
        """Return the Drift of the robots that changed, of all where they are few."""
        if len(self.robots) <= NAMED:
            return self
        return replace(self, robots=tuple(r for r in self.robots if r.findings))

    def write_tables(self, folder: str | Path) -> dict[str, str]:
        """Write the tables into a ``folder``, see ``write_tables``; return {name: path}."""
        return write_tables(self, folder)

    def to_text(self) -> str:
        """Return what changed, robot by robot, and which bags were left out."""
        lines = [f'{r.robot}: {f.sentence()}' for r in self.robots for f in r.findings]
        quiet = [r.robot for r in self.robots if not r.findings]
        if quiet:
            named = ', '.join(quiet) if len(quiet) <= NAMED else f'{len(quiet)} robots'
            lines.append(f'no significant change: {named}')
        lines.append(f'false-discovery rate over {len(self.robots)} robots: at most '
                     f'{100.0 * self.rate:g} % of those with a change (Benjamini-Hochberg)')
        lines.append(f'{self.read} bags read, {self.cached} from the cache')
        return '\n'.join([*lines, *(f'left out: {p}: {why}' for p, why in self.left_out.items())])


def write_tables(drift: Drift, folder: str | Path) -> dict[str, str]:
    """
    Write the tables of a ``drift`` into a ``folder``, also a URL; return {name: path}.

    RecordingError where one cannot be written.
    """
    goal, written = path_of(folder), {}
    found = [(robot, finding.to_dict()) for robot in drift.robots for finding in robot.findings]
    tables: dict[str, Iterable[Mapping[str, Any]]] = {
        'drift_series': map(_series, drift.robots),
        'drift_findings': [{'robot': [robot.robot for robot, _ in found],
                            **{name: [values[name] for _, values in found] for name in FINDING}}],
        'drift_robots': [{'robot': [r.robot for r in drift.robots],
                          'bags': [len(r.days) for r in drift.robots],
                          'findings': [len(r.findings) for r in drift.robots],
                          'adjusted_p_value': [r.adjusted for r in drift.robots]}]}
    try:
        goal.mkdir(parents=True, exist_ok=True)
        for name, parts in tables.items():
            written[name] = _write(goal, name, parts)
    except OSError as error:
        raise RecordingError(f'the tables cannot be written to {folder}',
                             found=error.strerror or error) from error
    return written


def _series(robot: RobotDrift) -> dict[str, np.ndarray]:
    """Return the columns of the series of one robot, all bags of a series one after the other."""
    bags, series = len(robot.days), robot.series
    seconds = robot.start_s + 86400.0 * robot.days
    warm = np.full(bags, np.nan) if robot.temperature is None else robot.temperature
    out = {'robot': np.full(bags * len(series), robot.robot, dtype=object),
           'bag': np.tile(np.array(robot.paths, dtype=object), len(series)),
           'time': np.tile((1e6 * seconds).astype('datetime64[us]'), len(series)),
           'temperature': np.tile(warm, len(series))}
    for name in ('name', 'joint', 'law', 'unit'):
        out[name] = np.repeat(np.array([getattr(s, name) for s in series], dtype=object), bags)
    out['mean'] = np.repeat([s.usual for s in series], bags)
    out['change'] = np.concatenate([s.values for s in series])
    out['standard_error'] = np.concatenate([s.errors for s in series])
    return out


def _write(folder: Path, name: str, parts: Iterable[Mapping[str, Any]]) -> str:
    """Write a table, whose rows come in ``parts`` of columns, into a folder; return its path."""
    try:
        from pyarrow import parquet, Table
    except ModuleNotFoundError:
        path = folder / f'{name}.csv'
        with path.open('w', newline='', encoding='utf-8') as stream:
            writer = csv.writer(stream)
            for number, columns in enumerate(parts):
                if not number:
                    writer.writerow(columns)
                writer.writerows(zip(*columns.values()))
        return str(path)
    path = folder / f'{name}.parquet'
    with path.open('wb') as stream, ExitStack() as opened:
        table = None
        for columns in parts:
            part = Table.from_pydict(dict(columns))
            table = table or opened.enter_context(parquet.ParquetWriter(stream, part.schema))
            table.write_table(part)
    return str(path)
