"""
Order of the joints: whether motion and efforts stand in the columns of other joints.

Efforts alone in another order are a cause like others, by algebra; where joints are exchanged
whole, rows are other ones.  Few of them are written anew, for every pair of joints that could be
exchanged, for other orders that people use, and again from the best order on; the best alone is
judged by stretches that are left out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from .alternatives import exchanged_pair
from .causes import removed_percent
from .finding import Finding
from .finding_kinds import found
from .recording_under_test import FREE, RecordingUnderTest
from .thresholds import (
    BEYOND_NOISE,
    SURE,
    SYSTEMATIC_OF_ALL,
    SYSTEMATIC_RESIDUAL,
    UNUSABLE_RESIDUAL,
)
from ..estimation.r_factors import triangle
from ..identification.choose.choice import log_ratio
from ..identification.reduce.wide_factor import wide_factor

ROWS = 3000  # that show which order is best
BETTER = 0.9  # of the residual of an order, below which its neighbours are asked as well
HALVED = 0.5  # of the residual and of what described bodies leave, that is left at most

Order = tuple[int, ...]


def exchanged(test: RecordingUnderTest, residual: np.ndarray) -> list[Finding]:
    """
    Return a Finding where joints in another order explain an arm far better.

    residual : (n,) rms left beside the causes that were found [N m, N]
    Asked where much is left that is no noise, and the described bodies do not explain the efforts.
    """
    as_named = tuple(range(test.count))
    if not _leaves_much(test, residual):
        return []
    best = _best_order(test)
    if best == as_named:
        return []
    other = _ordered(test, best)
    if not _explains_more(test, other, residual):
        return []
    moved = [j for j in as_named if best[j] != j]
    columns = ', '.join(f'{test.names[best[j]]} holds {test.names[j]}' for j in moved)
    order = ','.join(test.names[best.index(k)] for k in as_named)
    joints = [test.names[j] for j in moved]
    gap, _ = _gap(test, other)
    return [found('joints exchanged', joints, removed_percent(gap), columns=columns, order=order)]


def _leaves_much(test, residual):
    """Return whether much is left that is no noise, and the description does not explain it."""
    left, torque = np.linalg.norm(residual), np.linalg.norm(test.torque)
    noise = np.linalg.norm(test.noise())
    if left < max(SYSTEMATIC_OF_ALL * torque, BEYOND_NOISE * noise):
        return False
    described = np.linalg.norm(test.described_residual)
    return not test.described or described >= SYSTEMATIC_RESIDUAL * torque


def _explains_more(test, other, residual):
    """Return whether the recording in another order, ``other``, is explained far better."""
    gap, error = _gap(test, other)
    if gap > -SURE * error:
        return False
    if np.linalg.norm(other.free_residual) > HALVED * np.linalg.norm(residual):
        return False
    if not test.described:
        return True
    torque, described = np.linalg.norm(test.torque), np.linalg.norm(test.described_residual)
    described_then = np.linalg.norm(other.described_residual)
    return bool(described_then <= min(UNUSABLE_RESIDUAL * torque, described))


def _gap(test, other):
    """Return the mean log ratio of errors of free bodies, all joints alike, and its error."""
    errors, recorded = (x.as_recorded[FREE].mean(2) for x in (other, test))
    return log_ratio(errors, recorded)


def _best_order(test):
    """Return the order of least residual among those that are tried."""
    as_named, residual = tuple(range(test.count)), _residual_of_order(test)
    alphabetical = np.argsort(np.argsort(test.names)).tolist()
    best, tried = as_named, {as_named: residual(as_named)}
    orders = {as_named[::-1], tuple(alphabetical), *_neighbours(as_named)}
    orders |= {as_named[k:] + as_named[:k] for k in as_named[1:]}
    while orders:
        for order in orders - set(tried):
            tried[order] = residual(order)
        before, best = best, min(tried, key=lambda order: tried[order])
        orders = set()
        if tried[best] < BETTER * tried[before]:
            orders = set(_neighbours(best))
    return best


def _neighbours(order: Order) -> Iterator[Order]:
    """Yield an ``order`` with two of its numbers exchanged, for all pairs."""
    for first, second in combinations(range(len(order)), 2):
        yield exchanged_pair(order, first, second)


def _residual_of_order(test: RecordingUnderTest) -> Callable[[Sequence[int]], float]:
    """Return a function of an order: what free bodies leave of few rows in relation to all."""
    data, structure = test.data, test.wide.structure
    unknowns = len(test.column_indices)
    rank = np.full(structure.keep.max() + 2, -1)  # the last one for columns that have none
    rank[test.column_indices] = np.arange(unknowns)
    rank = rank[structure.keep]
    turn = data.first.effort_source.to_joint
    every = -(-data.samples(training=True) * test.count // ROWS)
    whole: Any = data.states(training=True)
    states = [
        (robot, replace(state.rows(slice(None, None, every)), around=None))
        for robot, state in whole
    ]
    driven = [state.tau @ np.linalg.inv(turn).T for _, state in states]
    size = np.sqrt(np.mean(np.square(np.concatenate(driven)), axis=0))
    size = np.maximum(size, 1e-300)

    def residual(order: Sequence[int]) -> float:
        rows = []
        for (robot, state), efforts in zip(states, driven):
            q, v, a = (x[:, order] for x in (state.q, state.v, state.a))
            tau = efforts[:, order] @ turn.T
            moved = replace(state, q=q, v=v, a=a, tau=tau, tau_raw=tau)
            for block in data.method.regress(moved, robot, structure.columns, rank >= 0):
                for group, joint in zip(block.groups, order):
                    rows.append(_equations(group, rank, unknowns) / size[joint])
        R = triangle(np.asfortranarray(np.concatenate(rows)))
        return abs(float(R[-1, -1]))

    return residual


def _equations(group, rank, unknowns):
    """Return the rows (N, unknowns + 1) of a row group, the measured torque last."""
    columns = rank[group.columns]
    chosen = columns >= 0
    out = np.zeros((len(group.y), unknowns + 1))
    out[:, columns[chosen]] = group.W[:, chosen]
    out[:, -1] = group.y
    return out


def _ordered(test: RecordingUnderTest, order: Order) -> RecordingUnderTest:
    """Return the recording whose joint j moved, and was driven, as joint ``order[j]`` was."""

    def reordered(series):
        if not series:
            return {}
        return {name: series[test.names[k]] for name, k in zip(test.names, order)}

    observations = [
        replace(
            o,
            position=reordered(o.position),
            velocity=reordered(o.velocity),
            effort=reordered(o.effort),
        )
        for o in test.data.observations
    ]
    data = test.data.observed(observations)
    return RecordingUnderTest(data, wide_factor(data, test.wide.structure), test.nominal)
