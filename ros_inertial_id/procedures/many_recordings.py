"""
Many recordings: a model of a year of bags, each accumulated once and kept as R factors.

    bags -> plan (of the first ones) -> factors per bag (cached) -> merged in a tree -> model

The map over bags and the merging run here, in processes or on a cluster (execution.py), with the
same result: stretches are merged in the order of time, whoever does it and when.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .execution import Lost, run_tasks
from .mapped_bags import accumulate_bag, decided_plan, Mapped, NOT_KEPT, Shared
from ..errors import RecordingError
from ..estimation.r_factors import GroupFactor, RFactors
from ..estimation.residuals import Residuals
from ..identification.bag_factors import merged_residuals
from ..identification.cached_factors import read_factors
from ..identification.from_factors import solve_merged
from ..identification.model import IdentifiedModel
from ..identification.plan import check_options, Plan
from ..identification.stretches import STRETCHES

Report = Callable[[str, int, int], None]
Leaf = tuple[str, int, float]


@dataclass(frozen=True)
class Engine:
    """
    Where work is done and what is kept.

    jobs : processes; scheduler : address of a Dask scheduler, '' for this machine
    cache : folder of the factors, '' for beside the bags; keep_all : use also what checks mask
    progress : called with (stage, done, in all), or None
    """

    jobs: int = 1
    scheduler: str = ''
    cache: str = ''
    keep_all: bool = False
    progress: Report | None = None

    def run(self, function: Any, shared: Any, tasks: Sequence[Any], stage: str) -> list[Any]:
        """
        Return function(shared, task), or Lost, of all ``tasks`` in their order.

        function, shared : see ``run_tasks``; stage : of the progress
        """
        out: list[Any] = [None] * len(tasks)
        done = 0
        for number, result in run_tasks(function, shared, tasks, jobs=self.jobs,
                                        scheduler=self.scheduler):
            out[number], done = result, done + 1
            if self.progress:
                self.progress(stage, done, len(tasks))
        return out


@dataclass(frozen=True)
class Many:
    """
    A model of many recordings.

    model : identified; bags : Mapped of those that take part, in the order of time
    left_out : {path: why}; plan : what was held
    seconds : {path: how much of its motion counts [s]}, see ``selected``
    alone_percent : relative residual of the bags, each under an estimate of its own
    """

    model: IdentifiedModel
    bags: tuple[Mapped, ...]
    left_out: Mapping[str, str]
    plan: Plan
    seconds: Mapping[str, float]
    alone_percent: float


def identify_many(paths: Sequence[str], options: Any, *, method: str = 'serial_arm',
                  urdf: str = '', engine: Engine | None = None,
                  selected: Callable[[Plan, Sequence[Mapped]], Sequence[Leaf]] | None = None
                  ) -> Many:
    """
    Return the Many of the bags at ``paths``, in the order that decides which come first.

    options : of the method, by its name, with EstimationOptions; urdf : text of the description,
    '' for the first bag's own; engine : where the work is done, here by default
    selected : which stretches count and by how much, all of them by default
    ConfigError for options that need the data again; RecordingError where no bag can be used.
    """
    check_options(method, options)
    engine = engine or Engine()
    plan = _plan(paths, options, urdf, engine)
    bags, left_out = map_bags(paths, plan, engine)
    leaves = list(selected(plan, bags) if selected else all_leaves(bags))
    groups, residuals, ranges = merged(bags, leaves, engine)
    model = solve_merged(plan, groups, [b.notes for b in bags], residuals, ranges)
    model.provenance['left_out'] = dict(left_out)
    return Many(model, tuple(bags), left_out, plan, _seconds(bags, leaves),
                residuals.summary()['filtered']['relative_percent'])


def _seconds(bags: Sequence[Mapped], leaves: Sequence[Leaf]) -> dict[str, float]:
    """Return {path: how much of its motion counts [s]} of bags of which leaves count."""
    weights: dict[str, float] = {}
    for file, _, weight in leaves:
        weights[file] = weights.get(file, 0.0) + weight
    return {bag.path: weights.get(bag.file, 0.0) / bag.stretches * bag.notes['span_s']
            for bag in bags}


def _plan(paths: Sequence[str], options: Any, urdf: str, engine: Engine) -> Plan:
    """Return the Plan by the first bags that can be used."""
    if engine.progress:
        engine.progress('plan', 0, 1)
    shared = (options, urdf, engine.cache, engine.keep_all)
    found = engine.run(decided_plan, shared, [tuple(paths)], 'plan')[0]
    if isinstance(found, Lost):
        raise RecordingError('no plan by the first bags', found=found.reason)
    if not isinstance(found, Plan):
        raise RecordingError('none of the bags can be used',
                             found=[f'{path}: {why}' for path, why in list(found.items())[:5]])
    return replace(found, options=replace(options, **{
        name: getattr(found.options, name)
        for name in ('cutoff', 'velocity', 'time_offset', 'find_time_offset', 'mounting')}))


def map_bags(paths: Sequence[str], plan: Plan, engine: Engine
             ) -> tuple[list[Mapped], dict[str, str]]:
    """
    Return (Mapped of the bags that take part in the order of time, {path: why it is left out}).

    paths : of bags, each counted once by its content; plan : of all; engine : see Engine
    RecordingError where no bag can be used, or factors cannot be kept.
    """
    shared = Shared(plan, engine.cache, engine.keep_all)
    results = engine.run(accumulate_bag, shared, list(paths), 'bags')
    kept: list[Mapped] = []
    left_out: dict[str, str] = {}
    for path, result in zip(paths, results):
        if isinstance(result, Lost):
            left_out[path] = result.reason
        elif result.reason.startswith(NOT_KEPT):
            raise RecordingError(f'{path}: {result.reason}', do='make room, or give another '
                                 '--cache; what was kept before is used again')
        elif result.reason:
            left_out[path] = result.reason
        else:
            same = next((k for k in kept if k.overlaps(result)), None)
            if same:
                left_out[path] = f'the same samples as {same.path}: they count once'
            else:
                kept.append(result)
    if not kept:
        raise RecordingError('none of the bags can be used',
                             found=[f'{p}: {why}' for p, why in list(left_out.items())[:5]])
    return sorted(kept, key=lambda b: (b.notes['start_s'], b.path)), left_out


def all_leaves(bags: Sequence[Mapped]) -> list[Leaf]:
    """Return (file, number of a stretch, weight) of all stretches of ``bags``, each once."""
    return [(bag.file, k, 1.0) for bag in bags for k in range(bag.stretches)]


def merged(bags: Sequence[Mapped], leaves: Sequence[Leaf], engine: Engine
           ) -> tuple[list[RFactors], Residuals, dict[str, Any]]:
    """
    Return (RFactors of STRETCHES successive parts, Residuals and ranges of all).

    bags : in the order of time; leaves : stretches that count; engine : see Engine
    """
    count = min(STRETCHES, len(leaves))
    bounds = np.linspace(0, len(leaves), count + 1).astype(int)
    tasks = [tuple(leaves[a:b]) for a, b in zip(bounds[:-1], bounds[1:])]
    results = engine.run(merge_leaves, None, tasks, 'merge')
    lost = next((r for r in results if isinstance(r, Lost)), None)
    if lost:
        raise RecordingError('cached factors cannot be merged', found=lost.reason,
                             do='bags and their cache must be seen by all workers')
    ranges: dict[str, Any] = {}

    def read() -> Iterator[Residuals]:  # one after the other: they need not lie side by side
        for bag in bags:
            factors = read_factors(bag.file)
            extend(ranges, factors.ranges)
            yield factors.residuals

    return results, merged_residuals(read()), ranges


def extend(ranges: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Extend ``ranges`` joint -> {q, v, a: [smallest, largest]} by those of one ``more`` bag."""
    for joint, own in more.items():
        entry = ranges.setdefault(joint, {})
        for name, (low, high) in own.items():
            before = entry.get(name, (low, high))
            entry[name] = [min(low, before[0]), max(high, before[1])]


def merge_leaves(shared: None, leaves: Sequence[Leaf]) -> RFactors:
    """
    Return the RFactors of ``leaves`` together, merged in a tree whose depth is that of log2.

    shared : nothing; leaves : (file, number of a stretch, weight); no more than one per level of
    the tree is held
    """
    stack: list[tuple[int, RFactors]] = []
    path, factors = '', None
    for file, number, weight in leaves:
        if file != path:
            path, factors = file, read_factors(file)
        assert factors is not None
        level, own = 0, weighted(factors.stretches[number], weight)
        while stack and stack[-1][0] == level:
            level, own = level + 1, stack.pop()[1].merge(own)
        stack.append((level, own))
    total = stack.pop()[1]
    while stack:
        total = stack.pop()[1].merge(total)
    return total


def weighted(factors: RFactors, weight: float) -> RFactors:
    """Return RFactors whose rows count ``weight`` times those of ``factors``."""
    if weight == 1.0:
        return factors
    root = np.sqrt(weight)
    return RFactors(factors.size, {
        name: GroupFactor(g.unit, g.columns, np.asfortranarray(root * g.R),
                          max(1, round(weight * g.rows))) for name, g in factors.groups.items()})
