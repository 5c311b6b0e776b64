"""
Many recordings: a model of a year of bags, each accumulated once and kept as a wide factor.

    bags -> plan (of the first ones) -> wide factor per bag (cached) -> the spine -> model

The first pass of the spine over such bags merges what was kept, stretch by stretch.  The second
one reads them again, some of them where there are many.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import SimpleNamespace
from typing import Any

import numpy as np

from .bag_factors import read_factors
from .bag_map import Engine, first_reasons, map_bags, merged_stretch, some
from .mapped_bags import decided_plan, Mapped, over_bag
from .plan import check_options, model_columns, Plan
from ..dynamics.inertial_parameters import Parameter
from ..errors import RecordingError
from ..estimation.estimators import Problem, ridge
from ..estimation.residuals import merged
from ..identification.fit.gravity import with_angles
from ..identification.identified_model import IdentifiedModel
from ..identification.identify import Identification, identify_data, RowReader
from ..identification.judge.validation import explained, Folds, ResidualPass
from ..identification.prepare.dataset import Dataset
from ..identification.reduce.stretches import STRETCHES
from ..identification.reduce.structure import Structure
from ..identification.reduce.wide_factor import WideFactor
from ..measurement.recording import Recording
from ..measurement.summary import Summary
from ..methods import DEFAULT_METHOD, METHODS
from ..processes import Lost

FEW_TASKS = 8  # of these passes, which cost less than processes take to start


class BagPasses(RowReader):
    """
    The passes over bags.

    plan : of all; bags : Mapped in the order of time; unused : {path: why}
    engine : where the work is done
    """

    def __init__(self, paths: Sequence[str], plan: Plan, engine: Engine) -> None:
        """Accumulate the bags at ``paths``; RecordingError where no bag can be used."""
        self.plan, self.engine = plan, engine
        self.bags, self.unused = map_bags(paths, plan, engine)

    def columns(self, data: Dataset, parameters: Sequence[Parameter]) -> Sequence[Parameter]:
        """Return all of ``parameters``: bags that come later may hold what these do not."""
        return parameters

    def reduced(self, data: Dataset, structure: Structure) -> WideFactor:
        """Return the WideFactor of all bags; see RowReader."""
        shared = structure, [bag.file for bag in self.bags]
        few = 1
        if len(self.bags) <= FEW_TASKS:
            few = STRETCHES  # all are merged in this process
        parts = self.run(
            merged_stretch,
            shared,
            range(STRETCHES),
            [f'one of {len(self.bags)} bags'] * STRETCHES,
            few,
        )
        stretches = list(enumerate(parts))  # of each part only its own stretch has rows
        return replace(
            parts[0],
            by_number=tuple(part.by_number[k] for k, part in stretches),
            speed=np.array([part.speed[k] for k, part in stretches]),
            distance=np.array([part.distance[k] for k, part in stretches]),
        )

    def explained(
        self,
        data: Dataset,
        parameters: Sequence[Parameter],
        values: np.ndarray,
        folds: Folds | None = None,
    ) -> ResidualPass:
        """Return the rows of some bags as parameters explain them; see RowReader."""
        bags = some(self.bags)
        folds_of_bags: list[Folds | None] = [None] * len(self.bags)
        if folds:
            folds_of_bags = [replace(folds, numbers=(n,)) for n in folds.numbers]
        plan = replace(
            self.plan, options=replace(self.plan.options, mounting=data.options.mounting)
        )
        common = self.engine.shared(plan)
        whole = sum(bag.notes['samples'] for bag in bags)
        parts = self.run(
            over_bag,
            (common, explained_of, (parameters, values, whole)),
            list(zip(bags, some(folds_of_bags))),
            [bag.path for bag in bags],
            FEW_TASKS,
        )
        return ResidualPass(
            merged(part.residuals for part in parts),
            (),
            {},
            tuple(chain.from_iterable(part.left_out for part in parts)),
        )

    def run(
        self, function: Any, shared: Any, tasks: Sequence[Any], of: Sequence[str], few: int
    ) -> list[Any]:
        """Return what a function gives for all tasks; RecordingError that names a lost one."""
        results = self.engine.run(function, shared, tasks, 'merge', few)
        for bag, result in zip(of, results):
            if isinstance(result, Lost):
                raise RecordingError(
                    f'{bag}: it or its kept factors cannot be read again',
                    found=result.reason,
                    do='bags and their cache must be seen by all workers',
                )
        return results


def explained_of(
    data: Dataset,
    parameters: Sequence[Parameter],
    values: np.ndarray,
    whole: int,
    folds: Folds | None,
) -> ResidualPass:
    """
    Return the ResidualPass rows of one recording, without curves: a report reads what it shows.

    values : (p,) of the parameters; whole : samples of all recordings
    """
    rows = explained(data, parameters, values, whole, folds=folds)
    return replace(rows, curves=())


def squares_alone(shared: tuple[Plan, IdentifiedModel], bag: Mapped) -> tuple[float, float]:
    """
    Return the squares of residual and torque of a bag under an estimate of its own.

    shared : plan, model whose columns and two angles of gravity are estimated
    """
    plan, model = shared
    wide = read_factors(bag.file, plan.structure)
    base, columns = model_columns(plan, model, wide, np.array(bag.notes['gravity_base']))
    factors = wide.total.combine(columns)
    params = ridge(Problem(factors, with_angles(base), {})).params
    residual = sum(group.residual(params) ** 2 for group in factors.groups.values())
    measured = sum(group.target() ** 2 for group in factors.groups.values())
    return float(residual), float(measured)


@dataclass(frozen=True)
class Many:
    """
    A model of many recordings.

    identification : model, and thinned out rows of the validation
    bags : Mapped of those that take part, in the order of time
    left_out : {path: why}; plan : what was held
    alone_percent : relative residual of the bags, each under an estimate of its own
    """

    identification: Identification
    bags: tuple[Mapped, ...]
    left_out: Mapping[str, str]
    plan: Plan
    alone_percent: float

    @property
    def model(self) -> IdentifiedModel:
        """Return the identified model."""
        return self.identification.model


def identify_many(
    paths: Sequence[str],
    options: Any,
    *,
    method: str = DEFAULT_METHOD,
    urdf: str = '',
    engine: Engine | None = None,
    validate: Sequence[Recording] = (),
) -> Many:
    """
    Return the Many of the bags at ``paths``, in the order that decides which come first.

    options : of the method, by its name, with EstimationOptions; urdf : text of the description,
    '' for the first bag's own; engine : where the work is done, here by default
    validate : Recordings to validate on
    ConfigError for options that need the data again; RecordingError where no bag can be used.
    """
    check_options(method, options)
    engine = engine or Engine()
    passes = BagPasses(paths, _plan(paths, (method, options, urdf), engine), engine)
    found = identify_data(_light(passes.plan, passes.bags), validate, passes)
    provenance = found.model.provenance
    provenance['plan'] = passes.plan.to_dict()
    provenance['left_out'] = dict(passes.unused)
    alone = passes.run(
        squares_alone,
        (passes.plan, found.model),
        passes.bags,
        [bag.path for bag in passes.bags],
        FEW_TASKS,
    )
    residual, measured = np.sum(alone, axis=0)
    return Many(
        found,
        tuple(passes.bags),
        passes.unused,
        passes.plan,
        float(100.0 * np.sqrt(residual / max(measured, 1e-300))),
    )


def _light(plan: Plan, bags: Sequence[Mapped]) -> Dataset:
    """Return a Dataset of bags without their data: the passes read them."""
    method, recordings, summaries = METHODS[plan.method], [], []
    gravities = []
    for bag in bags:
        notes = bag.notes
        gravities.append(tuple(notes['gravity_base']))
        summaries.append(SimpleNamespace(summary=Summary.of(notes['summary'])))
        recordings.append(
            Recording({}, mounting=notes['mounting'], provenance=notes['provenance'])
        )
    robots = {g: method.build(plan.urdf, plan.options, np.array(g)) for g in set(gravities)}
    return Dataset(
        method,
        tuple(robots[gravity] for gravity in gravities),
        tuple(summaries),
        plan.options,
        recordings=tuple(recordings),
    )


def _plan(paths: Sequence[str], asked: tuple[str, Any, str], engine: Engine) -> Plan:
    """Return the Plan by the first bags that can be used; asked : method, options, description."""
    if engine.progress:
        engine.progress('plan', 0, 1)
    shared = (*asked, engine.cache, engine.keep_all, engine.log_format)
    found = engine.run(decided_plan, shared, [tuple(paths)], 'plan')[0]
    if isinstance(found, Lost):
        raise RecordingError('no plan by the first bags', found=found.reason)
    if not isinstance(found, Plan):
        raise RecordingError(
            'none of the bags can be used',
            found=first_reasons(found),
        )
    return found
