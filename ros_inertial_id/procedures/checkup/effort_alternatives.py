"""
Alternatives of the efforts: their signs, order, gains and delay.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .candidate import Candidate
from .evidence import Evidence, Fitted
from .finding import DOUBTFUL, WRONG
from .rows import DELAYS

SMALL = 0.005       # relative residual that leaves no room for a gain of one joint
BADLY = 0.1         # relative residual from which costly alternatives are asked
OFF_COMMON, OFF_ONE = 1.5, 1.15  # factors between efforts and torques that are worth a word
PER_GAIN = 3.0      # nats that a free gain costs: it could be anything within a factor of 20
LATE = 0.004        # [s] of a delay that is


def signs(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the efforts of joints, or all, negated: the signs with the best ``evidence``."""
    names = evidence.rows.robot.joint_names
    count = len(names)
    ratio, weight = _nominal_ratio(evidence)
    guess = np.where((ratio < 0) & (weight > 0.1), -1.0, 1.0)
    best: dict[tuple, Fitted] = {tuple(np.ones(count)): evidence.base}
    for sign in (guess, -np.ones(count)):
        best.setdefault(tuple(sign), evidence.fit(evidence.hypothesis(scale=sign)))
    while min(best[s].relative for s in best) > BADLY:
        sign = np.array(max(best, key=lambda s: best[s].evidence))
        new = [s for s in (tuple(np.where(np.arange(count) == j, -sign, sign))
                           for j in range(count)) if s not in best]
        if not new:
            break
        best.update({s: evidence.fit(evidence.hypothesis(scale=np.array(s))) for s in new})
    chosen = max(best, key=lambda s: best[s].evidence)
    negated = tuple(n for n, s in zip(names, chosen) if s < 0)
    if negated:
        every = len(negated) == count
        yield Candidate(
            'effort negated' if every else 'effort of a joint negated',
            f'the efforts of {"all joints" if every else ", ".join(negated)} are negated',
            'negate them in the driver', evidence.hypothesis(scale=np.array(chosen)),
            best[chosen], negated)


def order(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the efforts permuted: by ``evidence`` every column explains another joint best."""
    names = evidence.rows.robot.joint_names
    count = len(names)
    cost = np.log(evidence.own_fits()[:, :count])
    _, target = linear_sum_assignment(np.minimum(evidence.effective, 1000.0)[:, None] * cost)
    moved = np.flatnonzero(target != np.arange(count))
    if not moved.size:
        return
    h = evidence.hypothesis(target=target)
    words = ', '.join(f'{names[k]} holds {names[j]}' for j, k in enumerate(target) if j != k)
    # log of the number of permutations of those that moved (Stirling)
    free = len(moved) * np.log(len(moved))
    yield Candidate('efforts permuted', f'the efforts are permuted: the column of {words}',
                    'name the joints in the order of the efforts', h, evidence.fit(h),
                    tuple(names[j] for j in moved), cost=float(free))


def gains(evidence: Evidence) -> Iterator[Candidate]:
    """Yield efforts in another unit: by ``evidence`` one factor, percent, or one per joint."""
    robot, prior = evidence.rows.robot, evidence.rows.prior
    if not prior.nominal:
        return
    ratio, weight = _nominal_ratio(evidence)
    size = np.abs(ratio)
    sure = weight > 0.3
    if not sure.any():
        return
    middle = float(np.exp(np.median(np.log(size[sure]))))
    if abs(np.log(middle)) > np.log(OFF_COMMON):
        unit = ' (N mm, or mN m)' if abs(np.log(middle / 1e3)) < 0.7 else ''
        yield _gain(evidence, np.full(len(size), 1 / middle), PER_GAIN, 'effort in another unit',
                    f'the efforts of all joints are about {middle:.3g} times torques{unit}')
    if np.all(np.isfinite(robot.effort)) and np.all(robot.effort > 0):
        yield _gain(evidence, robot.effort / 100.0, 0.0, 'effort in percent',
                    'the efforts are percent of the limits')
    if np.ptp(np.log(size[sure])) > np.log(1.5):
        each = np.where(sure, 1 / size, 1 / middle)
        yield _gain(evidence, each, PER_GAIN * len(size), 'effort is a current',
                    'the efforts are no torques: every joint has a gain of its own, as motor '
                    'currents have')
    if evidence.base.relative > SMALL:
        yield from _one_gain(evidence)


def _gain(evidence: Evidence, scale: np.ndarray, cost: float, name: str, says: str) -> Candidate:
    h = evidence.hypothesis(scale=scale)
    return Candidate(name, says, 'publish torques, or give effort_kind: and drive_gain:', h,
                     evidence.fit(h), evidence.rows.robot.joint_names, cost=cost)


def _nominal_ratio(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """Return (n,) efforts over nominal torques, friction apart, and how well they correlate."""
    rows, ratio, weight = evidence.rows, [], []
    for j, at in enumerate(rows.places):
        A = rows.columns(j, rows.gravity)
        nominal = A @ rows.prior.mean[at]
        X = np.column_stack([nominal, A[:, -4:-1]])
        y = rows.targets[j][:, j]
        size = np.maximum(np.linalg.norm(X, axis=0), 1e-300)
        x, *_ = np.linalg.lstsq(X / size, y, rcond=1e-10)
        ratio.append(x[0] / size[0] if x[0] else 1e-12)
        away = y - (X[:, 1:] / size[1:]) @ np.linalg.lstsq(X[:, 1:] / size[1:], y, rcond=1e-10)[0]
        left = y - (X / size) @ x
        weight.append(1.0 - (left @ left) / max(away @ away, 1e-300))
    return np.array(ratio), np.array(weight)


def _one_gain(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the one joint whose gain does not fit what the others show of the same bodies."""
    rows = evidence.rows
    names, count = rows.robot.joint_names, len(rows.robot)
    best: Any = None
    for j in range(count):
        factor: Any = 1.0
        for _ in range(3):  # the fit without the joint, then its own gain, and again with it
            scale = np.ones(count)
            scale[j] = 1 / factor
            others = [k for k in range(count) if k != j]
            fit = evidence.fit(evidence.hypothesis(scale=scale), joints=others) \
                if factor == 1.0 else evidence.fit(evidence.hypothesis(scale=scale))
            predicted = rows.columns(j, rows.gravity)[:, :-4] @ fit.values[rows.places[j][:-4]]
            X = np.column_stack([predicted, rows.columns(j, rows.gravity)[:, -4:-1]])
            x, *_ = np.linalg.lstsq(X, rows.targets[j][:, j], rcond=1e-10)
            factor = abs(x[0]) if x[0] else 1.0
            factor = float(np.clip(factor, 1e-4, 1e4))
        if abs(np.log(factor)) < np.log(OFF_ONE):
            continue
        scale = np.ones(count)
        scale[j] = 1 / factor
        fit = evidence.fit(evidence.hypothesis(scale=scale))
        if best is None or fit.evidence > best[2].evidence:
            best = j, factor, fit, evidence.hypothesis(scale=scale)
    if best:
        j, factor, fit, h = best
        yield Candidate('gain of a joint', f'the effort of {names[j]} is {factor:.3g} times what '
                        'the other joints say of the same bodies',
                        f'check the torque constant and gear ratio of {names[j]}', h, fit,
                        (names[j],), cost=PER_GAIN + np.log(count))


def delays(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the efforts of all joints late or early, by the delay of best ``evidence``."""
    count = len(evidence.rows.robot)
    own = evidence.own_fits()
    shares = np.column_stack([own[:, count:], np.diagonal(own[:, :count])])
    values = -(evidence.effective @ np.log(shares))
    k = int(np.argmax(values))
    if k == len(DELAYS):
        return
    seconds = _peak(np.append(DELAYS, 0.0), values)
    h = evidence.hypothesis(target=np.full(count, count + k))
    if abs(seconds) < LATE:
        return
    yield Candidate('effort delayed', f'the efforts are {1e3 * abs(seconds):.0f} ms '
                    f'{"behind" if seconds > 0 else "ahead of"} the motion',
                    'stamp both when they are measured', h, evidence.fit(h),
                    evidence.rows.robot.joint_names, cost=float(np.log(len(DELAYS))),
                    severity=WRONG if abs(seconds) > 0.02 else DOUBTFUL)


def _peak(x: np.ndarray, y: np.ndarray) -> float:
    """Return where a parabola through the largest of points and its neighbours peaks."""
    by = np.argsort(x)
    x, y = x[by], y[by]
    k = int(np.argmax(y))
    if not 0 < k < len(x) - 1:
        return float(x[k])
    a, b, _ = np.polyfit(x[k - 1:k + 2], y[k - 1:k + 2], 2)
    return float(np.clip(-b / (2 * a), x[k - 1], x[k + 1])) if a < 0 else float(x[k])
