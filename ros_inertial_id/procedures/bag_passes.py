"""
Bag passes: the passes of the spine over bags of which each is accumulated once and kept.

Rows come from the kept R factors.  What depends on all bags together (residuals of their common
estimate, stretches of distinct motion) is read again, from some where there are many.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .bag_map import all_leaves, Engine, Leaf, map_bags, merge_leaves
from .mapped_bags import bag_dataset, Mapped, Shared
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import RegressorBlock
from ..errors import RecordingError
from ..estimation.base_parameters import BaseParameters
from ..estimation.cross_validation import fold_of, FOLDS
from ..estimation.r_factors import RFactors
from ..estimation.residuals import merged, Residuals
from ..identification.judge.prediction import left_out
from ..identification.judge.validation import evaluate, extend
from ..identification.model.identified_model import IdentifiedModel
from ..identification.passes import Accumulated, merged_stretches, Passes, some
from ..identification.prepare.dataset import Dataset
from ..identification.reduce.bag_factors import read_factors
from ..identification.reduce.plan import Plan
from ..identification.reduce.stretches import (FEW, rows_of_stretches, Share, shares_of, THIN,
                                               thinning)
from ..identification.reduce.structure import Structure
from ..processes import Lost

FEW_TASKS = 8  # of these passes, which cost less than processes take to start


@dataclass(frozen=True)
class MappedBags:
    """plan : of all; bags : Mapped in the order of time; left_out : {path: why}."""

    plan: Plan
    bags: Sequence[Mapped]
    left_out: dict[str, str]


class BagPasses(Passes):
    """
    The passes over bags.

    mapped : the MappedBags; engine : where the work is done
    """

    def __init__(self, paths: Sequence[str], plan: Plan, engine: Engine) -> None:
        """Accumulate the bags at ``paths``; RecordingError where no bag can be used."""
        self.engine, self._paths = engine, paths
        self.mapped = MappedBags(plan, *map_bags(paths, plan, engine))

    @property
    def leaves(self) -> list[Leaf]:
        """Return (file, number of a stretch, weight) of the stretches that count."""
        mapped = self.mapped
        selected = self.engine.selected
        return list(selected(mapped.plan, mapped.bags) if selected else all_leaves(mapped.bags))

    def accumulated(self, data: Dataset, structure: Structure) -> Accumulated:
        """Return the Accumulated rows of all bags; see Passes."""
        plan = self.mapped.plan
        if data.options.mounting != plan.options.mounting:  # other rows: once more
            plan = replace(plan, options=replace(plan.options, mounting=data.options.mounting))
            self.mapped = MappedBags(plan, *map_bags(self._paths, plan, self.engine))
        leaves = self.leaves
        tasks = [leaf for leaf in ([x for x in leaves if x[1] == k] for k in range(FOLDS)) if leaf]
        places, ranges = structure.places_in(plan.structure), dict[str, Any]()
        for bag in self.mapped.bags:
            extend(ranges, read_factors(bag.file).ranges)
        folds = self._run(merge_leaves, None, tasks, [f'one of {len(t)} bags' for t in tasks])
        return Accumulated([f.select(places) for f in folds], ranges)

    def residuals(self, data: Dataset, parameters: Sequence[Parameter],
                  values: np.ndarray) -> Residuals:
        """Return the Residuals of parameters; see Passes."""
        bags = self.mapped.bags
        shared = self._shared(), parameters, values, sum(b.notes['samples'] for b in bags)
        seen = some(bags)
        return merged(self._run(bag_residuals, shared, seen, [b.path for b in seen]))

    def stretches(self, data: Dataset, base: BaseParameters, values: np.ndarray,
                  across: np.ndarray) -> list[RFactors]:
        """Return RFactors of stretches of distinct motion; see Passes."""
        bags, whole = some(self.mapped.bags), sum(b.notes['samples'] for b in self.mapped.bags)
        thin = thinning(whole)
        motions = [read_factors(b.file).motion.thinned(
            1 if b.notes['samples'] >= THIN * FEW else thin) for b in bags]
        shares = shares_of(motions, thin, whole / sum(b.notes['samples'] for b in bags))
        weights = {leaf[:2]: leaf[2] for leaf in self.leaves}
        tasks = [(bag, _weighted(share, np.array([weights.get((bag.file, k), 0.0)
                                                  for k in range(FOLDS)]), bag.notes['span_s']))
                 for bag, share in zip(bags, shares)]
        return merged_stretches(self._run(bag_stretches, (self._shared(), base, values, across),
                                          tasks, [b.path for b in bags]))

    def left_out(self, data: Dataset, parameters: Sequence[Parameter],
                 values: np.ndarray) -> list[dict[str, np.ndarray]]:
        """Return what is left of stretches of some bags, predicted from the others; see Passes."""
        seen = some(self.mapped.bags)
        shared = self._shared(), parameters, values, sum(b.notes['samples'] for b in seen)
        return self._run(bag_left_out, shared, seen, [b.path for b in seen])

    def readers(self, data: Dataset) -> tuple[None, None]:
        """Return nothing: estimators that read every sample again are refused."""
        return None, None

    def curves(self, data: Dataset, model: IdentifiedModel) -> tuple[RegressorBlock, ...]:
        """Return nothing: a report reads the bag that it shows."""
        return ()

    def _shared(self) -> Shared:
        return Shared(self.mapped.plan, self.engine.cache, self.engine.keep_all)

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


def bag_residuals(shared: tuple[Shared, Sequence[Parameter], np.ndarray, int], bag: Mapped
                  ) -> Residuals:
    """
    Return the Residuals of parameters in one ``bag``.

    shared : (what holds for all bags, parameters, their values (p,), samples of all bags)
    """
    common, parameters, values, whole = shared
    return evaluate(bag_dataset(common, bag), parameters, values, True, whole=whole)[0]


def bag_left_out(shared: tuple[Shared, Sequence[Parameter], np.ndarray, int], bag: Mapped
                 ) -> dict[str, np.ndarray]:
    """
    Return the residuals of one ``bag`` left out; see ``prediction_band.left_out``.

    shared : (what holds for all bags, parameters, their values (FOLDS, p), samples of the bags)
    """
    common, parameters, values, whole = shared
    return left_out(bag_dataset(common, bag), parameters, values, whole)


def bag_stretches(shared: tuple[Shared, BaseParameters, np.ndarray, np.ndarray],
                  task: tuple[Mapped, Share]) -> list[RFactors]:
    """
    Return the RFactors of stretches in one bag; see ``rows_of_stretches``.

    shared : (what holds for all bags, base, values (p,), across (3, 2)); task : (bag, its Share)
    """
    common, base, values, across = shared
    bag, share = task
    return rows_of_stretches(bag_dataset(common, bag), base, values, across, share)


def _weighted(share: Share, weights: np.ndarray, seconds: float) -> Share:
    """Return a ``share`` of ``seconds`` whose samples count by the ``weights`` of their folds."""
    count = len(share.stretch)
    own = weights[fold_of(np.arange(count), count, seconds)]
    return replace(share, stretch=np.where(own > 0.0, share.stretch, -1),
                   weight=share.weight * own)
