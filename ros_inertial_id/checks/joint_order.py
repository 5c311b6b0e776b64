"""
Order of the joints: whether motion and efforts stand in the columns of other joints.

Efforts alone in another order are a cause like others, by algebra; where joints are exchanged
whole, rows are other ones.  Few of them are written anew, for every pair of joints that could be
exchanged, for other orders that people use, and again from the best order on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from .arm import Arm, LEFT_OUT
from .finding import Finding, REMOVED, WRONG
from .thresholds import BEYOND_NOISE, HALF, SURE, SYSTEMATIC, TENTH
from ..identification.choose.choice import log_ratio
from ..identification.reduce.wide_factor import wide_factor

FEW = 400  # samples that show which order is best


def exchanged(arm: Arm, errors: np.ndarray, noise: np.ndarray) -> list[Finding]:
    """
    Return a Finding where joints in another order explain an arm far better.

    errors : left out beside the causes that were found; noise : (n,) that the sensors leave

    Asked where much is left that is no noise, and the described bodies do not explain the efforts.
    """
    left, (torque, _, nominal) = np.linalg.norm(arm.left(errors)), arm.rms()
    least = max(SYSTEMATIC * np.linalg.norm(torque), BEYOND_NOISE * np.linalg.norm(noise))
    if left < least or (
            arm.described and np.linalg.norm(nominal) < TENTH * np.linalg.norm(torque)):
        return []
    every = -(-arm.data.samples(training=True) // FEW)
    plain = tuple(range(arm.count))
    few, tried = _left_out(_ordered(arm, plain, every)), {plain: 0.0}
    by_name = np.argsort(np.argsort(arm.names)).tolist()
    best, orders = plain, {plain[::-1], tuple(by_name), *_swapped(plain),
                           *(plain[k:] + plain[:k] for k in plain[1:])}
    while orders:
        tried |= {order: log_ratio(_left_out(_ordered(arm, order, every)), few)[0]
                  for order in orders}
        before, best = best, min(tried, key=lambda order: tried[order])
        orders = set(_swapped(best)) - set(tried) if best != before else set()
    if best == plain:
        return []
    other = _ordered(arm, best, 1)
    gap, error = log_ratio(_left_out(other), _left_out(arm))
    _, free, described = map(np.linalg.norm, other.rms())
    if (gap > -SURE * error or free > HALF * left or arm.described and described > min(
            HALF * np.linalg.norm(torque), np.linalg.norm(nominal))):
        return []
    moved = [j for j in plain if best[j] != j]
    words = ', '.join(f'{arm.names[best[j]]} holds {arm.names[j]}' for j in moved)
    columns = ','.join(arm.names[best.index(k)] for k in plain)
    return [Finding('joints exchanged', f'the joints are exchanged: what is called {words}',
                    LEFT_OUT, float(100.0 * (1.0 - np.exp(0.5 * gap))), REMOVED,
                    tuple(arm.names[j] for j in moved), WRONG,
                    f'name them in the order of the columns: --joints {columns}')]


def _swapped(order: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield an ``order`` with two of its numbers exchanged, for all pairs."""
    for pair in combinations(range(len(order)), 2):
        yield tuple(order[pair[1 - pair.index(j)]] if j in pair else order[j]
                    for j in range(len(order)))


def _ordered(arm: Arm, order: Sequence[int], every: int) -> Arm:
    """Return the Arm whose joint j moved, and was driven, as that of number ``order[j]`` was."""
    def taken(series):
        return {name: series[arm.names[k]] for name, k in zip(arm.names, order)} if series else {}

    data = arm.data.observed([replace(o, position=taken(o.position), velocity=taken(o.velocity),
                                      effort=taken(o.effort)) for o in arm.data.observations])
    return Arm(data, wide_factor(data, arm.wide.structure, every), arm.nominal)


def _left_out(arm: Arm) -> np.ndarray:
    """Return the errors (sets, stretches) of free bodies, of all joints alike."""
    return arm.left_out([arm.plain], LEFT_OUT)[0].mean(2)
