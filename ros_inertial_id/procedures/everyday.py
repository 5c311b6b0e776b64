"""
Everyday motion: a year of it is the same few motions again and again.

Two stretches whose information per row about the base parameters is alike show the same thing
with the same model error, which no repetition averages out.  They are a cluster, and a cluster
counts once: m stretches of it have the weight 1/m each.  Under a budget of seconds the stretches
are chosen one after the other, always the one that adds most to log det of the information per
second (D-optimal; greedy, at least 63 % of the best because log det is submodular: Nemhauser,
Wolsey and Fisher 1978; Krause and Guestrin 2007).
"""

from collections.abc import Callable, Sequence
import heapq

import numpy as np

from .bag_map import all_leaves, Leaf
from .mapped_bags import Mapped
from ..errors import ConfigError
from ..identification.reduce.bag_factors import read_factors
from ..identification.reduce.plan import Plan

ALIKE = 0.1  # nats of Jensen-Bregman divergence per parameter: the same motion
NOISE = 0.02  # of the torque: residual by which information is counted, before any is known


def everyday(count_once: bool, budget: float
             ) -> Callable[[Plan, Sequence[Mapped]], Sequence[Leaf]] | None:
    """
    Return the choice of stretches for ``identify_many``, None where all count alike.

    count_once : motion in the same place counts once; budget : [s] of motion that is used, 0: all
    ConfigError for a budget below zero.
    """
    if budget < 0.0:
        raise ConfigError('budget', expected='seconds of motion, 0 for all', found=budget)
    if not (count_once or budget):
        return None

    def selected(plan: Plan, bags: Sequence[Mapped]) -> Sequence[Leaf]:
        leaves = all_leaves(bags)
        grams = information(plan, leaves)
        seconds = np.array([bag.notes['span_s'] / bag.stretches for bag in bags
                            for _ in range(bag.stretches)])
        kept = (within_budget(grams, seconds, budget) if budget else list(range(len(leaves))))
        weights = once_each(grams[kept]) if count_once else np.ones(len(kept))
        return [(*leaves[k][:2], float(w)) for k, w in zip(kept, weights)]

    return selected


def information(plan: Plan, leaves: Sequence[Leaf]) -> np.ndarray:
    """
    Return (leaves, b, b) information about the base parameters, in units of their prior.

    plan : of the factors; leaves : stretches in the order of their files
    """
    base = plan.structure.base
    scale, size = np.sqrt(np.diag(base.prior_covariance())), len(base)
    out, path, factors = [], '', None
    for file, number, _ in leaves:
        if file != path:
            path, factors = file, read_factors(file)
        assert factors is not None
        gram = np.zeros((size, size))
        for group in factors.stretches[number].groups.values():
            rows = group.equations(factors.stretches[number].size)[:, :size] * scale
            sigma = NOISE * group.target() / np.sqrt(group.rows)
            gram += rows.T @ rows / max(sigma, 1e-12) ** 2
        out.append(gram)
    return np.array(out)


def once_each(grams: np.ndarray) -> np.ndarray:
    """
    Return weights (n,): one over the number of stretches that show the same, by ``grams``.

    grams : (n, b, b) information in units of the prior
    """
    size, identity = grams.shape[1], np.eye(grams.shape[1])
    trace = np.maximum(np.trace(grams, axis1=1, axis2=2), 1e-300)
    # Of the same size: that a stretch is longer does not make it another motion.
    alike = grams / trace[:, None, None] * np.median(trace) + identity
    logdet = np.linalg.slogdet(alike)[1]
    leaders: list[int] = []
    member = np.empty(len(grams), dtype=int)
    for k, gram in enumerate(alike):
        middle = np.linalg.slogdet((alike[leaders] + gram) / 2.0)[1] if leaders else np.empty(0)
        apart = middle - (logdet[leaders] + logdet[k]) / 2.0
        near = int(np.argmin(apart)) if leaders else -1
        if leaders and apart[near] < ALIKE * size / 2.0:
            member[k] = near
        else:
            member[k] = len(leaders)
            leaders.append(k)
    return 1.0 / np.bincount(member)[member]


def within_budget(grams: np.ndarray, seconds: np.ndarray, budget: float) -> list[int]:
    """
    Return the numbers of the stretches that together show most within a budget, in order.

    grams : (n, b, b) information in units of the prior; seconds : (n,) of the stretches
    budget : [s]; at least one stretch is chosen
    """
    total = np.eye(grams.shape[1])
    before = 0.0

    def gain(k: int) -> float:
        return float((np.linalg.slogdet(total + grams[k])[1] - before) / seconds[k])

    # Lazy greedy: a gain can only shrink, so the largest that is up to date is the largest.
    queue: list[tuple[float, int, int]] = [(-gain(k), k, 0) for k in range(len(grams))]
    heapq.heapify(queue)
    chosen: list[int] = []
    spent = 0.0
    while queue:
        _, k, round_ = heapq.heappop(queue)
        if chosen and spent + seconds[k] > budget:
            continue
        if round_ < len(chosen):
            heapq.heappush(queue, (-gain(k), k, len(chosen)))
            continue
        chosen.append(k)
        spent += seconds[k]
        total = total + grams[k]
        before = float(np.linalg.slogdet(total)[1])
    return sorted(chosen)
