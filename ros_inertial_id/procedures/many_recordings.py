"""
Many recordings: a model of a year of bags, each accumulated once and kept as R factors.

    bags -> plan (of the first ones) -> factors per bag (cached) -> the spine -> model
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .bag_map import Engine, Leaf
from .bag_passes import BagPasses, MappedBags
from .mapped_bags import decided_plan, Mapped
from ..errors import RecordingError
from ..estimation.residuals import merged
from ..identification.identify import Identification, identify_data
from ..identification.model.identified_model import IdentifiedModel
from ..identification.prepare.dataset import Dataset
from ..identification.reduce.bag_factors import read_factors
from ..identification.reduce.plan import check_options, Plan
from ..measurement.recording import Recording
from ..methods import DEFAULT_METHOD, METHODS
from ..processes import Lost


@dataclass(frozen=True)
class Many:
    """
    A model of many recordings.

    identification : model, and thinned out rows of the validation
    bags : Mapped of those that take part, in the order of time
    left_out : {path: why}; plan : what was held
    seconds : {path: how much of its motion counts [s]}, see Engine
    alone_percent : relative residual of the bags, each under an estimate of its own
    """

    identification: Identification
    bags: tuple[Mapped, ...]
    left_out: Mapping[str, str]
    plan: Plan
    seconds: Mapping[str, float]
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
    found = identify_data(_light(passes.mapped), validate, passes)
    mapped, provenance = passes.mapped, found.model.provenance
    provenance['plan'] = mapped.plan.to_dict()
    provenance['left_out'] = dict(mapped.left_out)
    alone = merged(read_factors(b.file).residuals for b in mapped.bags)
    return Many(found, tuple(mapped.bags), mapped.left_out, mapped.plan,
                _seconds(mapped.bags, passes.leaves), alone.filtered.relative_percent or 0.0)


def _light(mapped: MappedBags) -> Dataset:
    """Return a Dataset of bags without their data: the passes read them."""
    plan, method, robots = mapped.plan, METHODS[mapped.plan.method], dict[tuple[float, ...], Any]()
    notes = [bag.notes for bag in mapped.bags]
    for note in notes:
        gravity = tuple(note['gravity_base'])
        if gravity not in robots:
            robots[gravity] = method.build(plan.urdf, plan.options, np.array(gravity))
    return Dataset(method, tuple(robots[tuple(n['gravity_base'])] for n in notes),
                   tuple(_Summary(n['summary']) for n in notes), plan.options,
                   recordings=tuple(Recording({}, mounting=n['mounting'],
                                              provenance=n['provenance']) for n in notes))


@dataclass(frozen=True)
class _Summary:
    """What a model file needs of a recording that was accumulated before."""

    summary: Mapping[str, Any]


def _seconds(bags: Sequence[Mapped], leaves: Sequence[Leaf]) -> dict[str, float]:
    """Return {path: how much of its motion counts [s]} of bags of which leaves count."""
    weights: dict[str, float] = {}
    for file, _, weight in leaves:
        weights[file] = weights.get(file, 0.0) + weight
    return {bag.path: weights.get(bag.file, 0.0) / bag.stretches * bag.notes['span_s']
            for bag in bags}


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
