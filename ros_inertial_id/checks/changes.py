"""
Alternatives in time: an offset that jumps, drifts, or is there for a while; a load picked up.

The residual is asked for steps, ramps and windows of a constant torque at once, by scores on
successive pieces of time; the best shapes are fitted.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from .contacts import BEGIN
from .evidence import CERTAIN, Evidence, WORTH
from .finding import DOUBTFUL, MASKED
from .hypothesis import Candidate, Fitted, LOAD, Score
from .samples import correlation_of, FRICTION

PIECES = 24      # of time, in which a constant torque is looked for
FEWEST = 20      # samples of a piece
RARE = 0.2       # of the time: what is there for longer cannot be left out
SLOW = 60.0      # [s] from which a drift may be temperature
FLOOR = 1e-4     # of the squared residual that is left at least
FITTED = 4       # shapes of best score that are fitted
LESS = 0.9       # of its residual: a joint that is concerned
STEPS = np.linspace(0.1, 0.9, 9)  # when a payload could have been picked up, as shares


def effort_changes(evidence: Evidence) -> Iterator[Candidate]:
    """Yield joints whose offset drifts, jumps or is off for a while, by ``evidence``."""
    samples = len(evidence.samples.fold)
    count = min(PIECES, samples // FEWEST)
    if count < 3:
        return
    piece = np.arange(samples) * count // samples
    windows = [*combinations(range(1, count), 2)]
    kinds = [(_constant, [(k, count) for k in range(1, count)]), (_constant, windows),
             (_bump, windows)]
    best: list[tuple] = []
    for j in map(int, np.flatnonzero(~evidence.samples.still)):
        own = evidence.score(evidence.of_joint(
            j, evidence.base.torque[j] * (piece[:, None] == np.arange(count))))
        bare = own.information - np.eye(count)  # without the prior of each column
        for shape, bounds in kinds:
            T = np.array([shape(count, a, b) for a, b in bounds]).T
            each = 1.0 + np.einsum('km,kl,lm->m', T, bare, T)
            nats = 0.5 * (own.toward @ T) ** 2 / each
            k = int(np.argmax(nats))
            low, high = (int(x) for x in np.searchsorted(piece, bounds[k]))
            nats = _of_shares(evidence, j, nats[k], shape(samples, low, high)) - np.log(
                len(bounds))
            best.append((float(nats), len(best), shape, j, low, high, len(bounds)))
    tried, t = [*drift(evidence)], evidence.samples.motion.t
    for gain, _, shape, j, low, high, choices in sorted(best)[-FITTED:]:
        low, high = _edges(evidence.left[:, j], shape, (low, high), samples // count)
        if gain <= 0.0 or t[low] - t[0] < BEGIN or t[-1] - t[low] < BEGIN:
            continue  # as the motion begins or ends friction does what no law describes
        column, cost = shape(samples, low, high), float(np.log(choices))
        tried.append(_candidate(evidence, (j,), column, (low, high), cost))
        if high < samples:  # a push on a link loads every joint that carries it
            tried.append(_candidate(evidence, tuple(np.flatnonzero(~evidence.samples.still)),
                                    column, (low, high), cost))
    yield from _counted_anew(evidence, [c for c in tried if c.joints])


def _constant(count: int, low: int, high: int) -> np.ndarray:
    """Return (count,) ones from ``low`` to ``high``, zeros elsewhere."""
    k = np.arange(count)
    return ((k >= low) & (k < high)).astype(float)


def _bump(count: int, low: int, high: int) -> np.ndarray:
    """Return (count,) half a sine from ``low`` to ``high``, zeros elsewhere."""
    return _constant(count, low, high) * np.sin(np.pi * (np.arange(count) + 0.5 - low)
                                                / (high - low))


def _candidate(evidence: Evidence, joints: tuple[int, ...], column: np.ndarray,
               edges: tuple[int, int], cost: float) -> Candidate:
    """Return the Candidate of a torque ``column`` (N,) of ``joints``, within ``edges``."""
    s, t, (low, high) = evidence.samples, evidence.samples.motion.t, edges
    columns = np.outer(column, [evidence.base.torque[j] for j in joints])
    h = evidence.hypothesis(extra=tuple(columns * (np.array(joints) == j)
                                        for j in range(len(s.robot))))
    fit, cost = evidence.fit(h), cost + float(np.log(len(s.robot)))
    sizes = fit.values[len(s.mean):] * [evidence.base.torque[j] for j in joints]
    concerned = [(j, x) for j, x in zip(joints, sizes)
                 if len(joints) == 1 or fit.residual[j] < LESS * evidence.base.residual[j]]
    names = tuple(s.robot.joint_names[j] for j, _ in concerned)
    torques = ', '.join(f'{x:+.2g} {"N" if s.robot.prismatic[j] else "N m"}'
                        for j, x in concerned)
    start, end = float(t[low]), float(t[min(high, len(t)) - 1])
    if high >= len(t):
        return Candidate('effort offset jumps', f'the offset of the effort of {names[0]} jumps by '
                         f'{torques} at {start:.1f} s',
                         'look whether its torque sensor was set to zero there or something began '
                         'to push; cut the recording there with @START:END', h, fit, names,
                         severity=DOUBTFUL, cost=cost, surely=True)
    return Candidate('contact', f'the efforts of {", ".join(names)} are about {torques} off from '
                     f'{start:.1f} to {end:.1f} s: contact, a push or a load',
                     'move without touching anything', h, fit, names,
                     severity=MASKED if high - low < RARE * len(t) else DOUBTFUL, cost=cost,
                     windows=((start, end),))


def _counted_anew(evidence: Evidence, tried: Sequence[Candidate]) -> Iterator[Candidate]:
    """
    Yield what was ``tried``, its evidence by the independent samples that the best of it leaves.

    A torque that is there for long correlates the residual without it, so that few samples seem
    independent, though they are where it is known.
    """
    if not tried:
        return
    best = min(tried, key=lambda c: c.fit.relative)
    other = Evidence(evidence.samples, np.maximum(
        evidence.effective, evidence.effective_of(best.hypothesis, best.fit)))
    for c in tried:
        fit = other.fit(c.hypothesis)
        nats = evidence.base.evidence + fit.evidence - other.base.evidence
        yield replace(c, fit=replace(fit, evidence=nats))


def _edges(residual: np.ndarray, shape: Callable[[int, int, int], np.ndarray],
           edges: tuple[int, int], width: int) -> tuple[int, int]:
    """Return ``edges`` moved by up to ``width`` to where a shape fits a ``residual`` (N,) best."""
    (low, high), end = edges, len(residual)

    def explained(a: int, b: int) -> float:
        column = shape(end, a, b) - shape(end, a, b).mean()
        return float((residual @ column) ** 2 / max(float(column @ column), 1e-300))

    for _ in range(2):
        near = range(max(1, low - width), min(high, low + width + 1))
        low = max(near, key=lambda a: explained(a, high), default=low)
        if high < end:
            near = range(max(low + 1, high - width), min(end, high + width + 1))
            high = max(near, key=lambda b: explained(low, b), default=high)
    return low, high


def drift(evidence: Evidence) -> Iterator[Candidate]:
    """Yield joints whose offset or friction changes steadily with time, by ``evidence``."""
    s = evidence.samples
    t, names = s.motion.t, s.robot.joint_names
    time = (t - t.mean()) / max(np.ptp(t), 1e-9)
    columns = {}
    for j in map(int, np.flatnonzero(~s.still)):
        X = s.columns(j)[:, -FRICTION:-1] * time[:, None] * evidence.base.torque[j]
        free = X.shape[1]
        nats = evidence.score(evidence.of_joint(j, X)).together() + free
        if _of_shares(evidence, j, nats) - free > WORTH:
            h = evidence.hypothesis(extra=evidence.of_joint(j, X))
            columns[j] = X, h, evidence.fit(h)
    # Each by itself; together those that are certain, or they would be stronger than any one.
    gain = {j: fit.evidence - evidence.base.evidence for j, (_, _, fit) in columns.items()}
    chosen = [j for j in columns if gain[j] > CERTAIN + np.log(len(names))] or sorted(
        columns, key=lambda j: gain[j])[-1:]
    if not chosen:
        return
    _, h, fit = columns[chosen[0]]
    if len(chosen) > 1:
        h = evidence.hypothesis(extra=tuple(np.hstack([
            columns[j][0] * (k == j) for j in chosen]) for k in range(len(names))))
        fit = evidence.fit(h)
    concerned = tuple(names[j] for j in chosen
                      if fit.residual[j] < LESS * evidence.base.residual[j])
    if concerned:
        slow = float(np.ptp(t)) > SLOW
        yield Candidate('drift', f'offset or friction of {", ".join(concerned)} drifts with time'
                        + (', as with temperature' if slow else ''),
                        'warm the robot up first, or record shorter' if slow else
                        'look at the zero of its torque sensor', h, fit, concerned,
                        severity=DOUBTFUL, cost=float(np.log(len(names))))


def _of_shares(evidence: Evidence, j: int, nats: float, column: np.ndarray | None = None) -> float:
    """
    Return the ``nats`` of a score as those of a fit that removes as much of the residual.

    column : (N,) that it is of; independent samples are counted in what it leaves, as what is
        there for long correlates the residual
    """
    whole = evidence.base.weight[j] * float(evidence.left[:, j] @ evidence.left[:, j])
    gone, count = min(2.0 * nats / max(whole, 1e-300), 1.0 - FLOOR), evidence.effective[j]
    if column is not None:
        shape = column - column.mean()
        left = evidence.left[:, j] - shape * (shape @ evidence.left[:, j]) / max(
            float(shape @ shape), 1e-300)
        count = max(count, len(left) / correlation_of(left))
    return float(-0.5 * count * np.log1p(-gone))


def picked_up(evidence: Evidence) -> Iterator[Candidate]:
    """Yield, by ``evidence``, something picked up or put down during the recording."""
    s = evidence.samples
    order, loads = np.arange(len(s.fold)), [s.load(j) * LOAD for j in range(len(s.robot))]
    starts = (STEPS * (len(order) - 1)).astype(int)
    # All steps at once: the columns of step k are the ten from 10 k on.
    score = evidence.score([((order[:, None] >= starts)[:, :, None] * X[:, None])
                            .reshape(len(X), -1) for X in loads])
    parts = [slice(10 * k, 10 * k + 10) for k in range(len(STEPS))]
    nats = [Score(score.information[p, p], score.toward[p]).together() for p in parts]
    if max(nats) < WORTH:
        return
    k = int(starts[int(np.argmax(nats))])
    for again in range(3):
        h = evidence.hypothesis(extra=tuple(X * (order >= k)[:, None] for X in loads))
        fit = evidence.fit(h)
        if again < 2:
            k = _moment(evidence, fit, loads)
    mass = float(fit.values[len(s.mean)] * LOAD[0])
    when, end = float(s.motion.t[k]), float(s.motion.t[-1])
    yield Candidate('payload changed', f'a payload of about {mass:+.2g} kg is '
                    f'{"picked up" if mass > 0 else "put down"} at {when:.2f} s',
                    'cut the recording there with @START:END', h, fit, s.robot.joint_names,
                    cost=float(np.log(len(STEPS)) + 5.0), windows=((when, end),))


def _moment(evidence: Evidence, fit: Fitted, loads: Sequence[np.ndarray]) -> int:
    """Return the sample from which the changed parameters explain more than those before."""
    s, before = evidence.samples, np.zeros(len(evidence.samples.fold))
    for j, (at, load) in enumerate(zip(s.places, loads)):
        r0 = s.motion.tau[:, j] - s.columns(j) @ fit.values[at]
        r1 = r0 - load @ fit.values[len(s.mean):]
        before += (r0 ** 2 - r1 ** 2) / max(fit.residual[j], 0.01 * fit.torque[j]) ** 2
    return int(np.argmin(np.cumsum(before)))
