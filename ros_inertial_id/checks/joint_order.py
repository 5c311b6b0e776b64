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

from .arm import Arm, LEFT_OUT
from .finding import Finding, REMOVED, WRONG
from .thresholds import BEYOND_NOISE, HALF, SURE, SYSTEMATIC, TENTH
from ..estimation.r_factors import triangle
from ..identification.choose.choice import log_ratio
from ..identification.reduce.wide_factor import wide_factor

FEW = 3000  # rows that show which order is best


def exchanged(arm: Arm, errors: np.ndarray, noise: np.ndarray) -> list[Finding]:
    """
    Return a Finding where joints in another order explain an arm far better.

    errors : left out beside the causes that were found; noise : (n,) that the sensors leave

    Asked where much is left that is no noise, and the described bodies do not explain the efforts.
    """
    left, (torque, _, nominal) = np.linalg.norm(arm.left(errors)), arm.rms()
    least = max(SYSTEMATIC * np.linalg.norm(torque), BEYOND_NOISE * np.linalg.norm(noise))
    if left < least or (
        arm.described and np.linalg.norm(nominal) < TENTH * np.linalg.norm(torque)
    ):
        return []
    plain, residual = tuple(range(arm.count)), _few_rows(arm)
    by_name = np.argsort(np.argsort(arm.names)).tolist()
    best, tried = plain, {plain: residual(plain)}
    orders = {
        plain[::-1],
        tuple(by_name),
        *_swapped(plain),
        *(plain[k:] + plain[:k] for k in plain[1:]),
    }
    while orders:
        tried |= {order: residual(order) for order in orders - set(tried)}
        before, best = best, min(tried, key=lambda order: tried[order])
        orders = set(_swapped(best)) if tried[best] < (1.0 - TENTH) * tried[before] else set()
    if best == plain:
        return []
    other = _ordered(arm, best)
    gap, error = log_ratio(_left_out(other), _left_out(arm))
    _, free, described = map(np.linalg.norm, other.rms())
    if (
        gap > -SURE * error
        or free > HALF * left
        or arm.described
        and described > min(HALF * np.linalg.norm(torque), np.linalg.norm(nominal))
    ):
        return []
    moved = [j for j in plain if best[j] != j]
    words = ', '.join(f'{arm.names[best[j]]} holds {arm.names[j]}' for j in moved)
    columns = ','.join(arm.names[best.index(k)] for k in plain)
    return [
        Finding(
            'joints exchanged',
            f'the joints are exchanged: what is called {words}',
            LEFT_OUT,
            float(100.0 * (1.0 - np.exp(0.5 * gap))),
            REMOVED,
            tuple(arm.names[j] for j in moved),
            WRONG,
            f'name them in the order of the columns: --joints {columns}',
        )
    ]


def _swapped(order: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield an ``order`` with two of its numbers exchanged, for all pairs."""
    for pair in combinations(range(len(order)), 2):
        yield tuple(
            order[pair[1 - pair.index(j)]] if j in pair else order[j] for j in range(len(order))
        )


def _few_rows(arm: Arm) -> Callable[[Sequence[int]], float]:
    """Return a function of an order: what free bodies leave of few rows in relation to all."""
    data, structure = arm.data, arm.wide.structure
    places = np.full(structure.keep.max() + 2, -1)  # the last one for columns that have none
    places[arm.places] = np.arange(len(arm.places))
    places, turn = places[structure.keep], data.observations[0].effort_source.to_joint
    every = -(-data.samples(training=True) * arm.count // FEW)
    whole: Any = data.states(training=True)
    states = [
        (robot, replace(state.rows(slice(None, None, every)), around=None))
        for robot, state in whole
    ]
    driven = [state.tau @ np.linalg.inv(turn).T for _, state in states]
    size = np.maximum(np.sqrt(np.mean(np.square(np.concatenate(driven)), axis=0)), 1e-300)

    def residual(order: Sequence[int]) -> float:
        rows = []
        for (robot, state), efforts in zip(states, driven):
            q, v, a = (x[:, order] for x in (state.q, state.v, state.a))
            tau = efforts[:, order] @ turn.T
            moved = replace(state, q=q, v=v, a=a, tau=tau, tau_raw=tau)
            for block in data.method.regress(moved, robot, structure.columns, places >= 0):
                for g, joint in zip(block.groups, order):
                    at = places[g.columns]
                    W = np.zeros((len(g.y), len(arm.places) + 1))
                    W[:, at[at >= 0]], W[:, -1] = g.W[:, at >= 0], g.y
                    rows.append(W / size[joint])
        return abs(float(triangle(np.asfortranarray(np.concatenate(rows)))[-1, -1]))

    return residual


def _ordered(arm: Arm, order: Sequence[int]) -> Arm:
    """Return the Arm whose joint j moved, and was driven, as that of number ``order[j]`` was."""

    def taken(series):
        return {name: series[arm.names[k]] for name, k in zip(arm.names, order)} if series else {}

    data = arm.data.observed(
        [
            replace(
                o, position=taken(o.position), velocity=taken(o.velocity), effort=taken(o.effort)
            )
            for o in arm.data.observations
        ]
    )
    return Arm(data, wide_factor(data, arm.wide.structure), arm.nominal)


def _left_out(arm: Arm) -> np.ndarray:
    """Return the errors (sets, stretches) of free bodies, of all joints alike."""
    return arm.left_out([arm.plain], LEFT_OUT)[0].mean(2)
