"""
Many recordings: a model of a year of bags, each accumulated once and kept as R factors.

    bags -> plan (of the first ones) -> factors per bag (cached) -> the spine -> model

The passes of the spine over such bags take rows from the kept R factors.  What depends on all bags
together (residuals of their common estimate, stretches of distinct motion) is read again, from
some where there are many.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from .bag_map import Engine, map_bags, merge_fold
from .mapped_bags import decided_plan, Mapped, over_bag, Shared
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import RegressorBlock
from ..errors import RecordingError
from ..estimation.base_parameters import BaseParameters
from ..estimation.residuals import merged, Residuals
from ..identification.identified_model import IdentifiedModel
from ..identification.identify import Identification, identify_data
from ..identification.judge.prediction import left_out
from ..identification.judge.validation import evaluate, extend
from ..identification.passes import Accumulated, Passes, some
from ..identification.prepare.dataset import Dataset
from ..identification.reduce.bag_factors import read_factors
from ..identification.reduce.plan import check_options, Plan
from ..identification.reduce.stretches import (FEW, rows_of_stretches, shares_of, Stretches,
                                               stretches_of, THIN, thinning)
from ..identification.reduce.structure import Structure
from ..measurement.recording import Recording
from ..methods import DEFAULT_METHOD, METHODS
from ..processes import Lost

FEW_TASKS = 8  # of these passes, which cost less than processes take to start


class BagPasses(Passes):
    """
    The passes over bags.

    plan : of all; bags : Mapped in the order of time; unused : {path: why}
    engine : where the work is done
    """

    def __init__(self, paths: Sequence[str], plan: Plan, engine: Engine) -> None:
        """Accumulate the bags at ``paths``; RecordingError where no bag can be used."""
        self.engine, self._paths = engine, paths
        self._map(plan)

    def _map(self, plan: Plan) -> None:
        self.plan = plan
        self.bags, self.unused = map_bags(self._paths, plan, self.engine)

    def accumulated(self, data: Dataset, structure: Structure) -> Accumulated:
        """Return the Accumulated rows of all bags; see Passes."""
        if data.options.mounting != self.plan.options.mounting:  # other rows: once more
            self._map(replace(self.plan, options=replace(self.plan.options,
                                                         mounting=data.options.mounting)))
        places, ranges = structure.places_in(self.plan.structure), dict[str, Any]()
        for bag in self.bags:
            extend(ranges, read_factors(bag.file).ranges)
        kept = [(bag.file, bag.stretches) for bag in self.bags]
        numbers = range(max(count for _, count in kept))
        folds = self._run(merge_fold, kept, numbers, [f'one of {len(kept)} bags'] * len(numbers))
        return Accumulated([f.select(places) for f in folds], ranges)

    def residuals(self, data: Dataset, parameters: Sequence[Parameter],
                  values: np.ndarray) -> Residuals:
        """Return the Residuals of parameters; see Passes."""
        whole = sum(b.notes['samples'] for b in self.bags)
        return merged(self._over(residuals_of, (parameters, values, whole), some(self.bags)))

    def stretches(self, data: Dataset, base: BaseParameters, values: np.ndarray,
                  across: np.ndarray) -> Stretches:
        """Return the Stretches of distinct motion; see Passes."""
        bags, whole = some(self.bags), sum(b.notes['samples'] for b in self.bags)
        thin = thinning(whole)
        motions = [read_factors(b.file).motion.thinned(
            1 if b.notes['samples'] >= THIN * FEW else thin) for b in bags]
        shares = shares_of(motions, thin, whole / sum(b.notes['samples'] for b in bags))
        parts = self._over(rows_of_stretches, (base, values, across), bags, shares)
        return stretches_of(parts, motions, shares)

    def left_out(self, data: Dataset, parameters: Sequence[Parameter],
                 values: np.ndarray) -> list[dict[str, np.ndarray]]:
        """Return what is left of stretches of some bags, predicted from the others; see Passes."""
        bags = some(self.bags)
        whole = sum(b.notes['samples'] for b in bags)
        return self._over(left_out, (parameters, values, whole), bags)

    def readers(self, data: Dataset) -> tuple[None, None]:
        """Return nothing: estimators that read every sample again are refused."""
        return None, None

    def curves(self, data: Dataset, model: IdentifiedModel) -> tuple[RegressorBlock, ...]:
        """Return nothing: a report reads the bag that it shows."""
        return ()

    def _over(self, function: Any, arguments: Sequence[Any], bags: Sequence[Mapped],
              *own: Sequence[Any]) -> list[Any]:
        """Return function(data, *arguments, of own) of ``bags``, which are read again."""
        common = Shared(self.plan, self.engine.cache, self.engine.keep_all)
        return self._run(over_bag, (common, function, arguments), list(zip(bags, *own)),
                         [b.path for b in bags])

    def _run(self, function: Any, shared: Any, tasks: Sequence[Any], of: Sequence[str]
             ) -> list[Any]:
        """Return what a function gives for all tasks; RecordingError that names a lost one."""
        results = self.engine.run(function, shared, tasks, 'merge', FEW_TASKS)
        for bag, result in zip(of, results):
            if isinstance(result, Lost):
                raise RecordingError(f'{bag}: it or its kept factors cannot be read again',
                                     found=result.reason,
                                     do='bags and their cache must be seen by all workers')
        return results


def residuals_of(data: Dataset, parameters: Sequence[Parameter], values: np.ndarray,
                 whole: int) -> Residuals:
    """
    Return the Residuals of parameters in one recording.

    values : (p,) of the parameters; whole : samples of all recordings
    """
    return evaluate(data, parameters, values, True, whole=whole)[0]


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


def identify_many(paths: Sequence[str], options: Any, *, method: str = DEFAULT_METHOD,
                  urdf: str = '', engine: Engine | None = None,
                  validate: Sequence[Recording] = ()) -> Many:
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
    alone = merged(read_factors(b.file).residuals for b in passes.bags)
    return Many(found, tuple(passes.bags), passes.unused, passes.plan,
                alone.filtered.relative_percent or 0.0)


def _light(plan: Plan, bags: Sequence[Mapped]) -> Dataset:
    """Return a Dataset of bags without their data: the passes read them."""
    method, robots = METHODS[plan.method], dict[tuple[float, ...], Any]()
    notes = [bag.notes for bag in bags]
    for note in notes:
        gravity = tuple(note['gravity_base'])
        if gravity not in robots:
            robots[gravity] = method.build(plan.urdf, plan.options, np.array(gravity))
    return Dataset(method, tuple(robots[tuple(n['gravity_base'])] for n in notes),
                   tuple(SimpleNamespace(summary=n['summary']) for n in notes), plan.options,
                   recordings=tuple(Recording({}, mounting=n['mounting'],
                                              provenance=n['provenance']) for n in notes))


def _plan(paths: Sequence[str], asked: tuple[str, Any, str], engine: Engine) -> Plan:
    """Return the Plan by the first bags that can be used; asked : method, options, description."""
    if engine.progress:
        engine.progress('plan', 0, 1)
    shared = (*asked, engine.cache, engine.keep_all)
    found = engine.run(decided_plan, shared, [tuple(paths)], 'plan')[0]
    if isinstance(found, Lost):
        raise RecordingError('no plan by the first bags', found=found.reason)
    if not isinstance(found, Plan):
        raise RecordingError('none of the bags can be used',
                             found=[f'{path}: {why}' for path, why in list(found.items())[:5]])
    return replace(found, options=replace(asked[1], **{
        name: getattr(found.options, name)
        for name in ('cutoff', 'velocity', 'time_offset', 'find_time_offset')}))
