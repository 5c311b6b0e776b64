"""
Order of the joints: whether motion and efforts stand in the columns of other joints.

Efforts alone in another order are a cause like others, by algebra; where joints are exchanged
whole, rows are other ones.  Few of them are written anew, for every pair of joints that could be
exchanged, for other orders that people use, and again from the best order on; the best alone is
judged by stretches that are left out.

Branches that are alike, two legs or arms, explain much of each other's torques: their order is
asked of good recordings, too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from .alternatives import exchanged_pair
from .causes import removed_percent
from .finding import Finding
from .finding_kinds import found
from .joint_kind import gap_of_free_bodies, surely_better
from .recording_under_test import FREE, RecordingUnderTest
from .thresholds import (
    BEYOND_NOISE,
    SURE_OF_CAUSE,
    SYSTEMATIC_OF_ALL,
    SYSTEMATIC_RESIDUAL,
    UNUSABLE_RESIDUAL,
)
from ..dynamics.branches import alike_branches, Branch
from ..dynamics.robot_model import RobotModel
from ..estimation.r_factors import triangle
from ..identification.reduce.wide_factor import wide_factor
from ..measurement.bags.log_joint_names import ORDERED

ROWS = 3000  # that show which order is best
BETTER = 0.9  # of the residual of an order, below which its neighbours are asked as well
LEAST_GAP = 0.02  # of log squares, 1 % of the residual: branches that are alike in all leave none
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
    reordered = _ordered(test, best)
    if not _explains_more(test, reordered, residual):
        return []
    return [_finding(test, reordered, best)]


def _finding(test, reordered, order):
    """Return the Finding of joints whose data, ``reordered``, are those of an ``order``."""
    names = np.array(test.names)
    moved = np.flatnonzero(np.not_equal(order, range(test.count)))
    columns = ', '.join(f'{names[order[j]]} holds {names[j]}' for j in moved)
    in_columns = ','.join(names[np.argsort(order)])
    gap, _ = gap_of_free_bodies(test, reordered)
    return found(
        'joints exchanged',
        names[moved].tolist(),
        removed_percent(gap),
        columns=columns,
        order=in_columns,
    )


def exchanged_branches(test: RecordingUnderTest) -> list[Finding]:
    """
    Return a Finding where branches that are alike explain more in another order.

    Free bodies are to be sure of it, while described ones do not contradict.  Of a log that does
    not name its joints a note says where neither order is sure.
    """
    robot = test.data.robot
    if not isinstance(robot, RobotModel) or not test.moved.all():
        return []
    pairs = alike_branches(robot)
    if not pairs:
        return []
    best = _best_of_branches(test, pairs)
    reordered = _ordered(test, best)
    gap, error = test.gap(reordered.as_recorded[FREE], test.as_recorded[FREE])
    least = max(SURE_OF_CAUSE * error, LEAST_GAP)
    if gap < -least and surely_better(test, reordered):
        return [_finding(test, reordered, best)]
    if gap > least or not _is_without_names(test):
        return []
    branches = '; '.join(_names_of(test, pair) for pair in pairs)
    return [found('branches alike', test.names, len(pairs), branches=branches)]


def _is_without_names(test):
    """Return whether the recording is a log whose joints are taken in the order of the URDF."""
    columns = test.data.recordings[0].provenance.get('columns', {})
    return any(source.startswith(ORDERED) for source in columns)


def _names_of(test, pair):
    first, second = (', '.join(test.names[j] for j in branch) for branch in pair)
    return f'{first} and {second}'


def _best_of_branches(test, pairs):
    """Return the order of least residual in which one pair of branches, or more, is exchanged."""
    residual = _residual_of_order(test)
    as_named = tuple(range(test.count))
    tried = {_with_branches(as_named, pair): 0.0 for pair in pairs}
    tried = {order: residual(order) for order in tried}
    best = min(tried, key=tried.__getitem__)
    for pair in pairs:
        order = _with_branches(best, pair)
        if order != as_named and residual(order) < residual(best):
            best = order
    return best


def _with_branches(order: Order, pair: tuple[Branch, Branch]) -> Order:
    """Return an ``order`` with two branches exchanged."""
    out = list(order)
    for first, second in zip(*pair):
        out[first], out[second] = out[second], out[first]
    return tuple(out)


def _leaves_much(test, residual):
    """Return whether much is left that is no noise, and the description does not explain it."""
    torque = np.linalg.norm(test.torque)
    noise = np.linalg.norm(test.noise())
    least = max(SYSTEMATIC_OF_ALL * torque, BEYOND_NOISE * noise)
    if np.linalg.norm(residual) < least:
        return False
    if not test.described:
        return True
    described = np.linalg.norm(test.described_residual)
    return bool(described >= SYSTEMATIC_RESIDUAL * torque)


def _explains_more(test, other, residual):
    """Return whether the recording in another order, ``other``, is explained far better."""
    gap, error = gap_of_free_bodies(test, other)
    if gap > -SURE_OF_CAUSE * error:
        return False
    if np.linalg.norm(other.free_residual) > HALVED * np.linalg.norm(residual):
        return False
    if not test.described:
        return True
    torque = np.linalg.norm(test.torque)
    described = np.linalg.norm(test.described_residual)
    described_then = np.linalg.norm(other.described_residual)
    return bool(described_then <= min(UNUSABLE_RESIDUAL * torque, described))


def _best_order(test):
    """Return the order of least residual among those that are tried."""
    as_named = tuple(range(test.count))
    alphabetical = np.argsort(np.argsort(test.names)).tolist()
    rotated = [as_named[k:] + as_named[:k] for k in as_named[1:]]
    orders = {as_named[::-1], tuple(alphabetical), *rotated, *_neighbours(as_named)}
    residual = _residual_of_order(test)
    tried = {as_named: residual(as_named)}
    best = as_named
    before = np.inf
    while tried[best] < BETTER * before:
        before = tried[best]
        for order in orders.difference(tried):
            tried[order] = residual(order)
        best = min(tried, key=tried.__getitem__)
        orders = set(_neighbours(best))
    return best


def _neighbours(order: Order) -> Iterator[Order]:
    """Yield an ``order`` with two of its numbers exchanged, for all pairs."""
    for first, second in combinations(range(len(order)), 2):
        yield exchanged_pair(order, first, second)


def _residual_of_order(test: RecordingUnderTest) -> Callable[[Sequence[int]], float]:
    """Return a function of an order: what free bodies leave of few rows in relation to all."""
    data = test.data
    structure = test.wide.structure
    unknowns = len(test.column_indices)
    rank = np.full(structure.keep.max() + 2, -1)  # the last one for columns that have none
    rank[test.column_indices] = np.arange(unknowns)
    rank = rank[structure.keep]
    turn = data.first.effort_source.to_joint
    every = -(-data.samples(training=True) * test.count // ROWS)
    to_drives = np.linalg.inv(turn).T
    all_states: Any = data.states(training=True)
    states = []
    driven = []
    for robot, state in all_states:
        few = replace(state.rows(slice(None, None, every)), around=None)
        states.append((robot, few))
        driven.append(few.tau @ to_drives)
    scale = np.sqrt(np.mean(np.square(np.concatenate(driven)), axis=0))
    scale = np.maximum(scale, 1e-300)

    def residual(order: Sequence[int]) -> float:
        rows = []
        for (robot, state), efforts in zip(states, driven):
            q = state.q[:, order]
            v = state.v[:, order]
            a = state.a[:, order]
            tau = efforts[:, order] @ turn.T
            moved = replace(state, q=q, v=v, a=a, tau=tau, tau_raw=tau)
            for block in data.method.regress(moved, robot, structure.columns, rank >= 0):
                for group, joint in zip(block.groups, order):
                    rows.append(_equations(group, rank, unknowns) / scale[joint])
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
    sources = dict(zip(test.names, [test.names[k] for k in order]))
    observations = []
    for observation in test.data.observations:
        position = _reordered(observation.position, sources)
        velocity = _reordered(observation.velocity, sources)
        effort = _reordered(observation.effort, sources)
        reordered = replace(observation, position=position, velocity=velocity, effort=effort)
        observations.append(reordered)
    data = test.data.observed(observations)
    return RecordingUnderTest(data, wide_factor(data, test.wide.structure), test.nominal)


def _reordered(series: Mapping[str, Any], sources: Mapping[str, str]) -> dict[str, Any]:
    """Return the ``series`` of joints that ``sources`` name for each, empty where it is."""
    if not series:
        return {}
    return {name: series[source] for name, source in sources.items()}
