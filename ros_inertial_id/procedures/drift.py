"""
Drift: what changes in robots from day to day, by the cached factors of their bags.

    model -> plan -> wide factor per bag (cached) -> per robot: changes of every day -> trends

Of every day friction (viscous, Coulomb, offset), what the last link carries and the direction of
gravity are estimated anew, all other base parameters held at what all days of the robot together
say.  Bags in one folder are of one robot.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .bag_factors import read_factors
from .bag_map import Engine, map_bags, some
from .changes import changes_of, trend_of
from .drift_result import adjusted, change_of, DATED, DAY, Drift, RobotDrift, Series
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

CARRIED = (5.0,) + (1.5,) * 3 + (0.05,) * 6  # [kg, kg m, kg m^2] prior of what is carried
DAILY_TILT = 0.2  # [rad] prior of a tilt
FRICTION_CHANGE = 0.03  # of friction: a change that matters, ...
SMALLEST_CHANGE = {'kg': 0.03, 'kg m': 0.009, 'rad': 0.002}  # ... and of others; of inertias none
SAME_GRAVITY = 0.02  # [m/s^2] of gravity: the same mounting
Entry = tuple[str, str, str, str, int | None]  # name, joint, law, unit, place of a change


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
    robots: dict[str, list[Mapped]] = {}
    for bag in bags:
        robots.setdefault(str(split_window(bag.path)[0].resolve().parent), []).append(bag)
    for folder, own in robots.items():
        given = sorted(own, key=lambda bag: paths.index(bag.path))
        robots[folder] = own if are_dated(given) else given
    names = _names(list(robots))
    check_robot(model, _robot_of(plan, bags[0]))
    tasks = [(names[folder], own) for folder, own in robots.items()]
    found = []
    for folder, one in zip(robots, engine.run(robot_drift, (plan, model), tasks, 'drift')):
        if isinstance(one, Lost):
            left_out[folder] = one.reason
        else:
            found.append(one)
    if not found:
        raise RecordingError(
            'none of the robots can be compared with the model',
            found=[f'{p}: {why}' for p, why in list(left_out.items())[:5]],
        )
    order = sorted(adjusted(found), key=lambda r: r.robot)
    cached = sum(b.cached for b in bags)
    return Drift(tuple(order), left_out, cached, len(bags) - cached)


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
    last = [Path(f).name for f in folders]
    return {f: name if last.count(name) == 1 else f for f, name in zip(folders, last)}


def robot_drift(
    shared: tuple[Plan, IdentifiedModel], task: tuple[str, Sequence[Mapped]]
) -> RobotDrift:
    """
    Return the RobotDrift of one robot, before p-values are adjusted for the others.

    shared : plan, model; task : name, bags, of which those under the mounting of the first count
    RobotModelError where the model is of another robot.
    """
    (plan, model), (robot, bags) = shared, task
    own = [
        b
        for b in bags
        if np.allclose(b.notes['gravity_base'], bags[0].notes['gravity_base'], atol=SAME_GRAVITY)
    ]
    base, model_columns = day_systems(plan, model, own)
    entries, S, spread = change_columns(base)
    values, errors, common = changes_of(model_columns, S, spread, prior_rows(base))
    series = [
        Series(name, joint, law, unit, values[:, k], errors[:, k], *_usual(entries, common, k))
        for k, (name, joint, law, unit, _) in enumerate(entries)
    ]
    start, dated = np.array([b.notes['start_s'] for b in own]), are_dated(own)
    days = start / DAY if dated else np.arange(len(own), dtype=float)
    trends = [trend_of(days, one.values, one.errors) for one in series]
    return RobotDrift(
        robot,
        float(start[0]) if dated else np.nan,
        days - days[0],
        tuple(b.path for b in own),
        tuple(series),
        tuple(
            change_of(one, trend, float(days[-1] - days[0]), dated)
            for one, trend in zip(series, trends)
            if trend
        ),
    )


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


def change_columns(base: BaseParameters) -> tuple[list[Entry], np.ndarray, np.ndarray]:
    """
    Return (name, joint, law, unit, place) of the changes, their columns and prior.

    base : BaseParameters; columns : (b + 2, m), the last rows and columns those of two tilts
    """
    size, columns, spread = len(base), [], []
    entries: list[Entry] = []
    for place, k in enumerate(base.independent):
        parameter = base.parameters[k]
        if parameter.law and LAWS[parameter.law].wears:
            entries.append((parameter.name, parameter.owner, parameter.law, parameter.unit, place))
            columns.append(np.eye(size + 2)[place])
            spread.append(parameter.prior_sd)
    bodies = [p for p in base.parameters if not p.law]
    last, K = len(bodies) - 10, base.matrix()
    for k in range(10):
        entries.append(
            (
                f'carried {bodies[last + k].name}',
                bodies[last + k].owner,
                'payload',
                bodies[last + k].unit,
                None,
            )
        )
        columns.append(np.append(K[:, last + k], [0.0, 0.0]))
        spread.append(CARRIED[k])
    for k in range(2):
        entries.append((f'tilt {k + 1}', 'base', 'gravity', 'rad', None))
        columns.append(np.eye(size + 2)[size + k])
        spread.append(DAILY_TILT)
    return entries, np.array(columns).T, np.array(spread)


def _usual(entries: Sequence[Entry], common: np.ndarray, k: int) -> tuple[float, float]:
    """
    Return the usual value of entry ``k`` and the change of it that is large enough to matter.

    common : (b,) base parameters
    """
    _, joint, law, unit, place = entries[k]
    if place is None:
        return 0.0, SMALLEST_CHANGE.get(unit, np.inf)
    usual = float(common[place])
    if LAWS[law].signed:  # an offset counts against dry friction
        dry = [
            float(common[p])
            for _, owner, other, _, p in entries
            if p is not None and owner == joint and LAWS[other].dry
        ]
        return usual, FRICTION_CHANGE * abs(dry[0]) if dry else 0.0
    return usual, FRICTION_CHANGE * abs(usual)
