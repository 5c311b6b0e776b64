"""Alternatives of the efforts: their signs, order and delay."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .evidence import BADLY, Evidence, SURELY, WORTH
from .finding import CERTAIN, DOUBTFUL, WRONG
from .hypothesis import Candidate, Fitted, Hypothesis
from .samples import DELAYS, WIDTH

LATE = 0.004        # [s] of a delay that is
LATE_ALONE = 0.012  # [s] of one joint: less is what friction and elasticity lag by
LAG = 0.5           # of its friction, that a joint's friction which lags may change efforts by
OF_LOAD = 0.1       # of the load: what a gear's friction may grow by
SLOW = 0.1          # [rad/s] in which friction falls from that of rest


def signs(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the efforts of joints, or all, negated: the signs with the best ``evidence``."""
    names, count = evidence.samples.robot.joint_names, len(evidence.samples.robot)
    ratio, error = evidence.own_ratios
    guess = np.where(ratio < -2.0 * error, -1.0, 1.0)
    best: dict[tuple, Fitted] = {tuple(np.ones(count)): evidence.base}
    driven = np.array([evidence.driving(j) > CERTAIN for j in range(count)])
    for sign in (guess, -np.ones(count), np.where(driven, -1.0, 1.0)):
        best.setdefault(tuple(sign), evidence.fit(evidence.hypothesis(scale=sign)))
    _fewest(evidence, best, tuple(guess))

    def cost(sign: tuple) -> float:  # all or one are usual, some of them are not
        negated = sum(s < 0 for s in sign)
        return 0.0 if negated == count else negated * float(np.log(2 * count))

    def nats(sign: tuple) -> float:
        return best[sign].evidence - cost(sign)

    while min(best[s].relative for s in best) > BADLY:
        now = np.array(max(best, key=nats))
        new = [s for s in (tuple(np.where(np.arange(count) == j, -now, now))
                           for j in range(count)) if s not in best]
        if not new:
            break
        best.update({s: evidence.fit(evidence.hypothesis(scale=np.array(s))) for s in new})
    # All of them is asked by itself: signs of joints with friction alone may be any, and of some
    # those that their own evidence demands.
    some = max(best, key=nats)
    if sum(x < 0.0 for x in some) < count:
        some = _fewest(evidence, best, some)
    for chosen in {some, tuple(-np.ones(count))}:
        negated = tuple(n for n, s in zip(names, chosen) if s < 0)
        every = len(negated) == count
        if negated:
            yield Candidate(
                'effort negated' if every else 'effort of a joint negated',
                f'the efforts of {"all joints" if every else ", ".join(negated)} are negated',
                'negate them in the driver, or change the sign by effort_kind: (link, '
                'link_negated) or drive_gain:', evidence.hypothesis(scale=np.array(chosen)),
                best[chosen], negated, cost=cost(chosen))


def _fewest(evidence: Evidence, best: dict[tuple, Fitted], sign: tuple) -> tuple:
    """Return a ``sign`` without negations that no evidence demands, all tried put in ``best``."""
    for j in [j for j, x in enumerate(sign) if x < 0.0]:
        fewer = tuple(1.0 if k == j else x for k, x in enumerate(sign))
        if fewer not in best:
            best[fewer] = evidence.fit(evidence.hypothesis(scale=np.array(fewer)))
        if best[sign].evidence - best[fewer].evidence < CERTAIN:
            sign = fewer
    return sign


def order(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the efforts permuted: by ``evidence`` every column explains another joint best."""
    targets, names = _assignments(evidence), evidence.samples.robot.joint_names
    if not targets:
        return
    best, fit = max(((t, evidence.fit(evidence.hypothesis(target=t))) for t in targets),
                    key=lambda one: one[1].evidence)
    target, fit = _needed(evidence, best, fit)
    moved = np.flatnonzero(target != np.arange(len(names)))
    if not moved.size or not _better_described(evidence, target, moved):
        return
    words = ', '.join(f'{names[k]} holds {names[j]}' for j, k in enumerate(target) if j != k)
    # log of the number of permutations of those that moved (Stirling)
    free = len(moved) * np.log(len(moved))
    yield Candidate('efforts permuted', f'the efforts are permuted: the column of {words}',
                    'name the joints in the order of the efforts',
                    evidence.hypothesis(target=target), fit,
                    tuple(names[j] for j in moved), cost=float(free))


def _assignments(evidence: Evidence) -> list[np.ndarray]:
    """Return the orders in which every joint alone, or the description, explains the efforts."""
    count = len(evidence.samples.robot)
    starts = [evidence.effective[:, None] * np.log(evidence.own_fits[:, :count])]
    if evidence.samples.described:
        starts.append(-_described_share(evidence))
    from scipy.optimize import linear_sum_assignment  # takes long to import: when needed
    targets = [linear_sum_assignment(start)[1] for start in starts]
    return [t for t in targets if np.any(t != np.arange(count))]


def _needed(evidence: Evidence, target: np.ndarray, fit: Fitted) -> tuple[np.ndarray, Fitted]:
    """
    Return an order and its Fitted without the cycles that no sure evidence demands.

    Where two joints are exchanged, the best order of small joints, which friction rules, may be
    any: a cycle that leaves others counts where it is worth SURELY by itself.
    """
    for cycle in _cycles(target):
        fewer = target.copy()
        fewer[cycle] = cycle
        if np.any(fewer != np.arange(len(fewer))):
            there = evidence.fit(evidence.hypothesis(target=fewer))
            if fit.evidence - there.evidence < SURELY:
                target, fit = fewer, there
    return target, fit


def _cycles(target: np.ndarray) -> list[list[int]]:
    """Return the cycles of a permutation that are longer than one."""
    out: list[list[int]] = []
    for start in range(len(target)):
        if target[start] != start and not any(start in cycle for cycle in out):
            cycle = [start]
            while target[cycle[-1]] != start:
                cycle.append(int(target[cycle[-1]]))
            out.append(cycle)
    return out


def _described_share(evidence: Evidence) -> np.ndarray:
    """Return (n, n) the nats by which described torques explain each effort column, or none."""
    ratio, error = evidence.ratios(evidence.samples.gravity)
    sure = (ratio / np.maximum(error, 1e-300)) ** 2 / evidence.effective[:, None]
    return 0.5 * evidence.effective[:, None] * np.log1p(sure) * np.where(ratio > 0, 1.0, 0.2)


def _better_described(evidence: Evidence, target: np.ndarray, moved: np.ndarray) -> bool:
    """
    Return whether the description explains the ``moved`` columns better by ``target``.

    Free bodies follow any slow torque of a wrist: they alone are no witness.  Two columns that
    were exchanged keep their signs; of many, the search leaves some in wrong places.
    """
    if not evidence.samples.described:
        return True
    share = _described_share(evidence)
    if moved.size <= 2:
        share = share * (evidence.ratios(evidence.samples.gravity)[0] > 0)
    return bool(share[moved, target[moved]].sum() > share[moved, moved].sum())


def delays(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the efforts of all joints, or of one, late or early, by the best ``evidence``."""
    yield from _one_delay(evidence)
    count, own = len(evidence.samples.robot), evidence.own_fits
    shares = np.column_stack([own[:, count:], np.diagonal(own[:, :count])])
    values = -(evidence.effective @ np.log(shares))
    if np.argmax(values) == len(DELAYS):
        return
    # Joints alone hardly tell late from early in a slow motion, the bodies that they share do.
    tried = []
    for side in (np.flatnonzero(DELAYS > 0.0), np.flatnonzero(DELAYS < 0.0)):
        k = int(side[np.argmax(values[side])])
        h = evidence.hypothesis(target=np.full(count, count + k))
        tried.append((k, h, evidence.fit(h)))
    k, h, fit = max(tried, key=lambda one: one[2].evidence)
    seconds = _peak(np.append(DELAYS, 0.0), values, k)
    worse = evidence.effective * np.log(fit.residual / fit.torque
                                        / evidence.base.residual * evidence.base.torque)
    # Friction's lag is a joint's own: none speaks against a delay of all.
    if (abs(seconds) < LATE or np.any(worse > CERTAIN + np.log(count))
            or _load_friction(evidence).evidence > fit.evidence):
        return
    yield Candidate('effort delayed', f'the efforts are {1e3 * abs(seconds):.0f} ms '
                    f'{"behind" if seconds > 0 else "ahead of"} the motion',
                    'stamp both when they are measured', h, fit,
                    evidence.samples.robot.joint_names, cost=float(np.log(len(DELAYS))),
                    severity=WRONG if abs(seconds) > 0.02 else DOUBTFUL)


def _one_delay(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the one joint whose effort is late or early by more than the others' friction lags."""
    s, found = evidence.samples, own_delays(evidence)
    names, count = s.robot.joint_names, len(s.robot)
    # One joint has stamps of its own; where several are late or early, each by its own, the model
    # lacks something of the robot.
    second = sorted([0.0, 0.0, *(nats for _, _, nats in found.values())])[-2]
    alone = max(SURELY, 2.0 * second)
    tried = []
    for j, (k, seconds, beyond) in found.items():
        h = _delayed(evidence, j, k)
        fit = evidence.fit(h)
        gone = evidence.base.residual[j] ** 2 - fit.residual[j] ** 2
        # RMS of the joint's Coulomb friction about its mean.
        coulomb = np.std(s.columns(j)[:, -3]) * abs(evidence.base.values[s.places[j][-3]])
        surely = beyond > alone and 0 < k < len(DELAYS) - 1
        if surely:
            fit = replace(fit, evidence=max(fit.evidence, evidence.base.evidence + beyond))
        if abs(seconds) > LATE_ALONE and (surely or (
                gone > (LAG * coulomb) ** 2 and _load_friction(evidence).evidence < fit.evidence)):
            tried.append((fit.evidence, seconds, j, h, fit, surely))
    if not tried:
        return
    _, seconds, j, h, fit, surely = max(tried, key=lambda one: one[0])
    yield Candidate('effort of a joint delayed', f'the efforts of {names[j]} are '
                    f'{1e3 * abs(seconds):.0f} ms {"behind" if seconds > 0 else "ahead of"} its '
                    'motion and the other joints', f'look at the filter and the stamps of '
                    f'{names[j]}', h, fit, (names[j],), cost=float(np.log(len(DELAYS) * count)),
                    severity=WRONG if abs(seconds) > 0.02 else DOUBTFUL, surely=surely)


def own_delays(evidence: Evidence) -> dict[int, tuple[int, float, float]]:
    """Return ``_beyond_friction`` of the joints of whose residual a delay explains some."""
    joints = np.arange(len(evidence.samples.robot))
    nats, values = evidence.score([slope_of(evidence, j)[:, None] * (joints == j)
                                   for j in range(len(joints))]).each()
    # What is late by d lacks d times its slope.
    return {j: _beyond_friction(evidence, j, -float(values[j]))
            for j in map(int, np.flatnonzero(~evidence.samples.still & (nats > WORTH)))}


def slope_of(evidence: Evidence, j: int) -> np.ndarray:
    """
    Return (N,) the slope in time [N m/s or N/s] of the effort that a fit predicts of joint ``j``.

    Not of the measured effort: noise that comes late shows nothing.
    """
    s = evidence.samples
    return np.gradient(s.columns(j) @ evidence.base.values[s.places[j]], s.motion.t)


def _delayed(evidence: Evidence, j: int, k: int, **changes: Any) -> Hypothesis:
    """Return the Hypothesis that joint ``j`` alone has delay ``k``, and other ``changes``."""
    joints = np.arange(len(evidence.samples.robot))
    return evidence.hypothesis(target=np.where(joints == j, len(joints) + k, joints), **changes)


def _beyond_friction(evidence: Evidence, j: int, side: float) -> tuple[int, float, float]:
    """
    Return which delay of joint ``j`` fits best beside richer friction, in seconds, and its nats.

    Friction that follows its velocity late, grows with the load, falls with the speed or is
    quadratic in it takes part in both fits, so that a delay is asked for what these leave.
    side : positive for late efforts, negative for early ones
    """
    extra = evidence.of_joint(j, friction_columns(evidence, j))
    without = evidence.fit(evidence.hypothesis(extra=extra)).evidence
    chosen = np.flatnonzero(np.sign(DELAYS) == np.sign(side))
    nats = np.array([evidence.fit(_delayed(evidence, j, int(k), extra=extra)).evidence
                     for k in chosen]) - without
    best = int(np.argmax(nats))
    seconds = _peak(np.append(DELAYS[chosen], 0.0), np.append(nats, 0.0), best)
    return int(chosen[best]), seconds, float(nats[best])


def friction_columns(evidence: Evidence, j: int) -> np.ndarray:
    """Return (N, 6) [N m or N] of friction of joint ``j`` that the laws of a fit lack."""
    s = evidence.samples
    v, load = s.motion.v[:, j], np.abs(s.torque(j, evidence.base.values))
    step = np.tanh(v / WIDTH)
    return np.asarray(OF_LOAD * evidence.base.torque[j] * np.column_stack([
        np.tanh(s.motion.before[:, j] / WIDTH), load / max(load.max(), 1e-300) * step,
        step * np.exp(-np.abs(v) / SLOW), v * np.abs(v) / max(np.abs(v).max() ** 2, 1e-300)]))


def _load_friction(evidence: Evidence) -> Fitted:
    """
    Return the fit of friction that grows with the load of its joint.

    In a slow motion it lags like a delay: both change the efforts by what is odd in the speed
    (Bittencourt and Gunnarsson 2012).
    """
    s, count, columns = evidence.samples, len(evidence.samples.robot), []
    for j in range(count):
        X = np.zeros((len(s.fold), count))
        X[:, j] = OF_LOAD * np.abs(s.torque(j, evidence.base.values)) * s.columns(j)[:, -3]
        columns.append(X)
    return evidence.fit(evidence.hypothesis(extra=tuple(columns)))


def _peak(x: np.ndarray, y: np.ndarray, place: int) -> float:
    """Return where a parabola through the point at ``place`` and its neighbours peaks."""
    by = np.argsort(x)
    x, y, k = x[by], y[by], int(np.flatnonzero(by == place)[0])
    if not 0 < k < len(x) - 1:
        return float(x[k])
    a, b, _ = np.polyfit(x[k - 1:k + 2], y[k - 1:k + 2], 2)
    return float(np.clip(-b / (2 * a), x[k - 1], x[k + 1])) if a < 0 else float(x[k])
