"""The page of a drift: what changed in every robot, and the series behind it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .drawings import Drawings
from .page import fill, provenance
from ..identification.files import write_text
from ..procedures.drift import Drift, RobotDrift
from ..procedures.drift_findings import Series

DAYS = {'drift': 'drifts', 'jump': 'jumps', 'temperature': 'follows the temperature'}


def write_drift(drift: Drift, path: str | Path, words: Sequence[str]) -> str:
    """
    Write a ``drift`` as one self-contained HTML file; return its path.

    path : of the file; words : of the command line that made it
    """
    drawings = Drawings()
    robots = []
    for robot in drift.robots:
        named = {f.name for f in robot.findings}
        shown = [s for s in robot.series if s.name in named or not named and s.law == 'viscous']
        robots.append({'name': robot.robot, 'days': len(robot.days),
                       'findings': [(f, DAYS[f.kind], f.sentence()) for f in robot.findings],
                       'charts': [_chart(drawings, robot, s) for s in shown]})
    changed = sum(bool(r.findings) for r in drift.robots)
    write_text(path, fill('drift.html', {
        'title': 'Drift of robots', 'robots': robots, 'left_out': drift.left_out,
        'changed': changed, **provenance(words)}, drawings))
    return str(path)


def _chart(drawings: Drawings, robot: RobotDrift, series: Series) -> str:
    """Return the number of a chart of a series over the days."""
    order = np.argsort(robot.days)
    title = f'{series.name} of {series.joint}'
    return drawings.over_time({'name': title, 'unit': series.unit,
                               'values': (series.usual + series.values)[order],
                               'errors': series.errors[order]}, robot.days[order])
