"""The page of a drift: what changed in every robot, and the series behind it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .drawings import Drawings
from .knowledge import significant
from .sheet import Card, Section, Sheet, Table
from ..dynamics.friction import law_of

if TYPE_CHECKING:  # scipy.signal behind them takes a third of the time to start
    from ..procedures.drift_result import Drift, RobotDrift, Series


def head(drift: 'Drift', _: Drawings) -> Sheet:
    """Return title, how many robots changed, and how many bags were left out."""
    changed = sum(bool(robot.significant) for robot in drift.robots)
    bags = sum(len(robot.days) for robot in drift.robots)
    return Sheet(
        'Drift of robots',
        f'{bags} bags',
        (
            Card(f'{changed} of {len(drift.robots)}', 'robots changed significantly', changed > 0),
            Card(str(len(drift.left_out)), 'bags left out', bool(drift.left_out)),
        ),
        numbers=drift.brief().to_dict(),
    )


def robots(drift: 'Drift', drawings: Drawings) -> Iterator[Section]:
    """Yield the changes of each robot, with charts of the series that they are of."""
    for robot in drift.brief().robots:
        changes, digest = robot.significant, ''
        if not changes:
            digest = robot.unchanged
        rows = [
            (change.name, change.joint, change.sentence(), significant(change.p_value))
            for change in changes
        ]
        yield Section(
            f'{robot.robot}, {len(robot.days)} bags',
            digest,
            tables=[Table(('series', 'joint', 'change', 'p-value'), rows, (1, 2))],
            charts=[
                drawings.over_time(
                    f'{series.name} of {series.joint}',
                    series.unit,
                    robot.days,
                    series.usual + series.values,
                    series.errors,
                )
                for series in _shown_series(robot)
            ],
            note='Base parameters of each day with two standard errors, all others '
            'held at their mean over the days; load and tilt of gravity as changes from their '
            'mean.',
        )


def _shown_series(robot: 'RobotDrift') -> 'list[Series]':
    """Return the series that changed; of a ``robot`` that did not, the damping of all joints."""
    changed = {change.name for change in robot.significant}
    if not changed:
        damping = law_of('damping')
        return [series for series in robot.series if series.law == damping]
    return [series for series in robot.series if series.name in changed]


def bags_left_out(drift: 'Drift', _: Drawings) -> Iterator[Section]:
    """Yield which bags were left out, and why."""
    rows = list(drift.left_out.items())
    yield Section('Bags left out', tables=[Table(('bag', 'reason'), rows, (1,))])
