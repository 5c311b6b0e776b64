"""The page of a drift: what changed in every robot, and the series behind it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .digits import significant
from .drawings import Drawings
from .sheet import Card, Sheet, Table, write_sheet
from ..procedures.drift import Drift, RobotDrift
from ..procedures.drift_findings import Series

DAYS = {'drift': 'drifts', 'jump': 'jumps', 'temperature': 'follows the temperature'}


def write_drift(drift: Drift, path: str | Path, words: Sequence[str]) -> str:
    """
    Write a ``drift`` as one self-contained HTML file; return its path.

    path : of the file; words : of the command line that made it
    """
    drawings = Drawings()
    changed = sum(bool(robot.findings) for robot in drift.robots)
    cards = (Card(f'{changed} of {len(drift.robots)}', 'robots changed beyond doubt', changed > 0),
             Card(str(len(drift.left_out)), 'bags left out', bool(drift.left_out)))
    tables = [_table(drawings, robot) for robot in drift.robots]
    tables.append(Table('Bags left out', ('bag', 'reason'), [*drift.left_out.items()], (1,)))
    about = f'{sum(len(robot.days) for robot in drift.robots)} bags'
    return write_sheet(Sheet('Drift of robots', about, cards, (), tables), path, words, drawings)


def _table(drawings: Drawings, robot: RobotDrift) -> Table:
    named = {f.name for f in robot.findings}
    shown = [s for s in robot.series if s.name in named or not named and s.law == 'viscous']
    return Table(
        f'{robot.robot}, {len(robot.days)} bags',
        ('series', 'joint', 'kind', 'change', 'evidence [nats]'),
        [(f.name, f.joint, DAYS[f.kind], f.sentence(), significant(f.evidence))
         for f in robot.findings], (1, 2, 3),
        note=('' if named else 'No change beyond doubt. ') + 'Base parameters of the day with two '
        'standard errors, all else held at what all days say; what is carried and the tilt of '
        'gravity as changes from their mean.',
        charts=[_chart(drawings, robot, series) for series in shown])


def _chart(drawings: Drawings, robot: RobotDrift, series: Series) -> str:
    """Return the number of a chart of a series over the days."""
    order = np.argsort(robot.days)
    title = f'{series.name} of {series.joint}'
    return drawings.over_time({'name': title, 'unit': series.unit,
                               'values': (series.usual + series.values)[order],
                               'errors': series.errors[order]}, robot.days[order])
