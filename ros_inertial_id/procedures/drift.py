"""
Drift: what changes in robots from day to day, by the cached factors of their bags.

    model -> plan -> wide factor per bag (cached) -> per robot: changes of every day -> trends

Of every day friction (viscous, Coulomb, offset), what the last link carries and the direction of
gravity are estimated anew, all other base parameters held at what all days of the robot together
say.  Bags in one folder are of one robot.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from .bag_factors import read_factors
from .bag_map import Engine, first_reasons, map_bags, some
from .changes import change_over, changes_of
from .drift_result import adjusted, Change, change_of, DATED, DAY, Drift, RobotDrift, Series
from .mapped_bags import Mapped
from .plan import model_columns, Plan, plan_of
from ..dynamics.friction import LAWS
from ..errors import RecordingError
from ..estimation.base_parameters import BaseParameters
from ..estimation.estimators import prior_rows
from ..identification.identified_model import IdentifiedModel
from ..identification.prepare.mounting import check_robot
from ..identification.reduce.model_columns import ModelColumns
from ..measurement.bags.bag import split_window
from ..measurement.summary import Summary
from ..methods import METHODS
from ..processes import Lost

CARRIED_SPREAD = (5.0,) + (1.5,) * 3 + (0.05,) * 6  # [kg, kg m, kg m^2] of what is carried
DAILY_TILT = 0.2  # [rad] prior of a tilt
FRICTION_CHANGE = 0.03  # of friction: a change that matters, ...
SMALLEST_CHANGE = {'kg': 0.03, 'kg m': 0.009, 'rad': 0.002}  # ... and of others; of inertias none
SAME_GRAVITY = 0.02  # [m/s^2] of gravity: the same mounting


def drift(model: IdentifiedModel, paths: Sequence[str], engine: Engine | None = None) -> Drift:
    """
    Return the Drift of the robots of a ``model`` over their bags.

    paths : of bags, the folder around each is the name of its robot; engine : where the work is
    done, here by default
    RecordingError where no bag can be used; RobotModelError where the model is of other robots.
    A single robot that cannot be compared is left out.
    """
    engine, plan = engine or Engine(), plan_of(model)
    bags, left_out = map_bags(paths, plan, engine)
    robots = _by_robot(bags, paths)
    names = _names(list(robots))
    check_robot(model, _robot_of(plan, bags[0]))
    tasks = [(names[folder], of_robot) for folder, of_robot in robots.items()]
    results = engine.run(robot_drift, (plan, model), tasks, 'drift')
    compared = []
    for folder, result in zip(robots, results):
        if isinstance(result, Lost):
            left_out[folder] = result.reason
        else:
            compared.append(result)
    if not compared:
        raise RecordingError(
            'none of the robots can be compared with the model', found=first_reasons(left_out)
        )
    order = sorted(adjusted(compared), key=lambda r: r.robot)
    cached = sum(bag.cached for bag in bags)
    return Drift(tuple(order), left_out, cached, len(bags) - cached)


def _by_robot(bags: Sequence[Mapped], paths: Sequence[str]) -> dict[str, list[Mapped]]:
    """
    Return {folder: bags of one robot}, in the order of time, or as given where stamps say none.

    bags : in the order of time; paths : in the order given
    """
    robots: dict[str, list[Mapped]] = {}
    for bag in bags:
        folder = str(split_window(bag.path)[0].resolve().parent)
        robots.setdefault(folder, []).append(bag)
    for folder, of_robot in robots.items():
        given = sorted(of_robot, key=lambda bag: paths.index(bag.path))
        if not are_dated(given):
            robots[folder] = given
    return robots


def are_dated(bags: Sequence[Mapped]) -> bool:
    """
    Return whether the stamps of ``bags`` of one robot say when they were recorded.

    Stamps that count from a start, as those of logs and simulators do, say it where they follow
    one another in the order of the bags: a robot is not recorded twice at once.
    """
    start = np.array([bag.notes['start_s'] for bag in bags])
    seconds = np.array([Summary.of(bag.notes['summary']).duration for bag in bags])
    return bool((start > DATED).all() or (np.diff(start) >= seconds[:-1]).all())


def _names(folders: Sequence[str]) -> dict[str, str]:
    """Return {folder: the last part of its path}, the whole path where that is not unique."""
    names = {}
    count = Counter(Path(folder).name for folder in folders)
    for folder in folders:
        name = Path(folder).name
        names[folder] = name if count[name] == 1 else folder
    return names


def robot_drift(
    shared: tuple[Plan, IdentifiedModel], task: tuple[str, Sequence[Mapped]]
) -> RobotDrift:
    """
    Return the RobotDrift of one robot, before p-values are adjusted for the others.

    shared : plan, model; task : name, bags, of which those under the mounting of the first count
    RobotModelError where the model is of another robot.
    """
    (plan, model), (robot, bags) = shared, task
    gravity = bags[0].notes['gravity_base']
    bags = [b for b in bags if np.allclose(b.notes['gravity_base'], gravity, atol=SAME_GRAVITY)]
    base, systems = day_systems(plan, model, bags)
    columns = change_columns(base)
    S = np.array([column.direction for column in columns]).T
    spread = np.array([column.spread for column in columns])
    dry = {c.owner: c for c in reversed(columns) if c.is_dry}  # the first of each joint
    values, errors, common = changes_of(systems, S, spread, prior_rows(base))
    series = tuple(
        Series(
            column.name,
            column.owner,
            column.law,
            column.unit,
            values[:, k],
            errors[:, k],
            column.usual(common),
            _least(column, dry, common),
        )
        for k, column in enumerate(columns)
    )
    start, dated = np.array([b.notes['start_s'] for b in bags]), are_dated(bags)
    begin, days = np.nan, np.arange(len(bags), dtype=float)
    if dated:
        begin, days = float(start[0]), start / DAY
    return RobotDrift(
        robot,
        begin,
        days - days[0],
        tuple(b.path for b in bags),
        series,
        _changes(series, days, dated, [_when(bag, number) for number, bag in enumerate(bags, 1)]),
    )


def _when(bag: Mapped, number: int) -> str:
    """Return when a ``bag`` was recorded: its date, or its ``number`` where stamps say none."""
    start = bag.notes['start_s']
    if start > DATED:
        moment = datetime.fromtimestamp(start, timezone.utc)
        return f'{moment:%Y-%m-%d %H:%M} UTC ({Path(bag.path).name})'
    return f'recording {number} ({Path(bag.path).name})'


def _changes(
    series: Sequence[Series], days: np.ndarray, dated: bool, when: Sequence[str]
) -> tuple[Change, ...]:
    """Return the Change of each of the ``series`` over ``days``; ``when`` : each is, in words."""
    changes = []
    for quantity in series:
        found = change_over(days, quantity.values, quantity.errors)
        if not found:
            continue
        change = change_of(quantity, found, float(days[-1] - days[0]), dated)
        if found.since is not None:
            change = replace(change, since=when[found.since])
        changes.append(change)
    return tuple(changes)


def day_systems(
    plan: Plan, model: IdentifiedModel, bags: Sequence[Mapped]
) -> tuple[BaseParameters, list[tuple[np.ndarray, np.ndarray]]]:
    """
    Return base parameters (b), and of each bag a system (A (k, b + 2), target (k,)).

    Its columns are those of the base and of two tilts of gravity, its rows of unit variance and
    independent: what lasts in residuals is asked of some bags.
    plan, model : of this kind of robot; RobotModelError where the model is of another robot
    """
    robot = _robot_of(plan, bags[0])
    check_robot(model, robot)
    wides = [read_factors(b.file, plan.structure) for b in some(bags)]
    base, columns = model_columns(plan, model, wides[0], robot.gravity_base)
    plain = np.flatnonzero(columns[: wides[0].places].any(axis=1))
    squares = [ModelColumns(w, robot.gravity_base, plain).sd ** 2 for w in wides]
    sd = dict(zip(wides[0].groups, np.sqrt(np.mean(squares, axis=0)).tolist()))
    return base, [
        read_factors(b.file, plan.structure).total.combine(columns).system(sd)[:2] for b in bags
    ]


def _robot_of(plan: Plan, bag: Mapped) -> Any:
    """Return the robot of a plan as it was mounted in a bag."""
    return METHODS[plan.method].build(plan.urdf, plan.options, np.array(bag.notes['gravity_base']))


@dataclass(frozen=True)
class ChangeColumn:
    """
    What may change from day to day.

    name, unit : of the quantity; owner : joint, link or base
    law : of friction, payload or gravity
    direction : (b + 2,) what it changes of the base parameters and of two tilts
    spread : prior standard deviation; place : of its base parameter, None where it is no one's
    """

    name: str
    owner: str
    law: str
    unit: str
    direction: np.ndarray
    spread: float
    place: int | None = None

    @property
    def is_dry(self) -> bool:
        """Return whether it is dry friction of a joint."""
        return self.law in LAWS and LAWS[self.law].dry

    def usual(self, common: np.ndarray) -> float:
        """Return the value by base parameters ``common`` (b,) to all days, 0 without one."""
        if self.place is None:
            return 0.0
        return float(common[self.place])


def change_columns(base: BaseParameters) -> list[ChangeColumn]:
    """Return the ChangeColumns of a ``base``: friction that wears, what is carried, two tilts."""
    return [*_worn(base), *_carried(base), *_tilted(base)]


def _worn(base: BaseParameters) -> Iterator[ChangeColumn]:
    identity = np.eye(len(base) + 2)
    for place, k in enumerate(base.independent):
        p = base.parameters[k]
        if p.law and LAWS[p.law].wears:
            yield ChangeColumn(p.name, p.owner, p.law, p.unit, identity[place], p.prior_sd, place)


def _carried(base: BaseParameters) -> Iterator[ChangeColumn]:
    """Yield the columns of the last body's parameters, as what is fixed to it has them."""
    of_bodies = [k for k, p in enumerate(base.parameters) if not p.law]
    matrix = base.matrix()
    for k, spread in zip(of_bodies[-10:], CARRIED_SPREAD):
        p = base.parameters[k]
        direction = np.append(matrix[:, k], [0.0, 0.0])
        yield ChangeColumn(f'carried {p.name}', p.owner, 'payload', p.unit, direction, spread)


def _tilted(base: BaseParameters) -> Iterator[ChangeColumn]:
    for number, direction in enumerate(np.eye(len(base) + 2)[-2:], 1):
        yield ChangeColumn(f'tilt {number}', 'base', 'gravity', 'rad', direction, DAILY_TILT)


def _least(column: ChangeColumn, dry: Mapping[str, ChangeColumn], common: np.ndarray) -> float:
    """
    Return the change of a ``column``'s quantity that is large enough to matter.

    dry : {joint: its dry friction}; common : (b,) base parameters common to all days
    """
    if column.place is None:
        return SMALLEST_CHANGE.get(column.unit, np.inf)
    compared: ChangeColumn | None = column
    if LAWS[column.law].signed:  # an offset counts against dry friction
        compared = dry.get(column.owner)
    if compared is None:
        return 0.0
    return FRICTION_CHANGE * abs(compared.usual(common))
